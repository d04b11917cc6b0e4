"""Bringing points back towards their applicants as far as a test allows.

A point moves feature by feature (a one-hot group is one feature): first each change is undone that
can be, the least first; then what is left of each is halved a few times, the largest first; at last
changes are undone for which another feature can make up. All of this happens on values that the
schema allows. All points of all applicants take their steps together, so that many are tested at
once; none depends on the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Bools, Floats
from robx.methods.point_tests import PointTest
from robx.problem import Applicants
from robx.schema import Norm

Ints = NDArray[np.intp]

#: Parts of what undoing a change saves that another feature may take up.
PARTS = (0.1125, 0.225, 0.45, 0.9)


@dataclass(eq=False)
class Pullback:
    """Points on their way back: n of them, for some applicants.

    Parameters
    ----------
    applicants : Applicants
    owner : (n,) int
        The applicant of each point.
    points : (n, d) float64
        Where they are. They pass the test, and always will.
    test : PointTest
    norm : {1, 2}
    tests_left : (n,) int64
        How many tests each point may still take.
    """

    applicants: Applicants
    owner: Ints
    points: Floats
    test: PointTest
    norm: Norm
    tests_left: NDArray[np.int64]

    def __post_init__(self) -> None:
        self._x = self.applicants.matrix[self.owner]

    def undo(self) -> None:
        """Set features back to what the applicants have, where that passes; the least first.

        What passes the rest of the test is nearly always stable under noise, which is the dearest
        part. So it is left out here; `confirm` asks about it.
        """
        self._before, test = self.points.copy(), self.test.without_noise
        self._is_sure = np.full(len(self.points), test is None)
        self._undo(np.arange(len(self.points)), test or self.test)

    def confirm(self, rows: Ints) -> bool:
        """Undo again with every step tested in full where points turn out not to be stable.

        Returns whether all of these points were confirmed before.
        """
        unsure = rows[~self._is_sure[rows]]
        failed = unsure[~self.test(self.points[unsure])]
        self.points[failed] = self._before[failed]
        self._undo(failed, self.test)
        self._is_sure[unsure] = True
        return len(unsure) == 0

    def _undo(self, rows: Ints, test: PointTest) -> None:
        for feature in np.argsort(self._shares()[rows], axis=1, kind="stable").T:
            undone = np.where(self._columns[feature], self._x[rows], self.points[rows])
            self._move(rows, undone, test)

    def keep(self, rows: Ints) -> None:
        """Go on with some of the points."""
        self.owner, self.points, self._x = self.owner[rows], self.points[rows], self._x[rows]
        self.tests_left = self.tests_left[rows]

    def halve(self, halvings: int) -> None:
        """Move features towards the applicants, as near as passes; the largest first."""
        for feature in np.argsort(-self._shares(), axis=1, kind="stable").T:
            self._halve(feature, halvings)

    def trade(self, price: float) -> None:
        """Undo changes that another feature can make up for, where that lowers `worth`.

        The least is tried first. The other feature, which is changed as well, goes further out by a
        part of what is saved.
        """
        for feature in np.argsort(self._shares(), axis=1, kind="stable").T:
            self._trade(feature, price)

    def worth(self, price: float) -> Floats:
        """Cost of each point, with a price for each feature that it changes: (n,)."""
        return self._worth(np.arange(len(self.points)), self.points, price)

    # --- moves -----------------------------------------------------------------------------------

    def _trade(self, feature: Ints, price: float) -> None:
        """Undo one feature of each point, and move the others by turns to make up for it."""
        rules, gate = self.test.problem.rules, self.test.problem.gate
        changed = rules.changed_features(self.points, self._x)
        others = changed & self._has_between[self._first_column]
        others[np.arange(len(others)), feature] = False
        others &= changed[np.arange(len(others)), feature][:, None]
        rows, other = np.nonzero(others)
        rows, other = np.repeat(rows, len(PARTS)), np.repeat(other, len(PARTS))
        now = self._worth(rows, self.points[rows], price)
        wanted = np.where(self._columns[feature[rows]], self._x[rows], self.points[rows])
        saved = now - self._worth(rows, wanted, price)
        place, column = np.arange(len(rows)), self._first_column[other]
        value = wanted[place, column]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            outwards = np.sign(value - self._x[rows, column])
            further = outwards * np.tile(PARTS, len(rows) // len(PARTS)) * saved
            further /= rules.unit(1)[column]
        wanted[place, column] += np.where(np.isfinite(further), further, 0.0)
        wanted, legal = gate.admit(wanted, self.applicants, self.owner[rows])
        worth = self._worth(rows, wanted, price)
        # A value may be rounded back to what it was, which is known not to be enough.
        asked = np.flatnonzero(legal & (worth < now) & (wanted[place, column] != value))
        asked = asked[self._takes_tests(rows[asked])]
        passed = asked[self.test(wanted[asked])]
        passed = passed[np.lexsort((worth[passed], rows[passed]))]
        first = passed[np.unique(rows[passed], return_index=True)[1]]
        self.points[rows[first]] = wanted[first]

    def _worth(self, rows: Ints, points: Floats, price: float) -> Floats:
        rules, x = self.test.problem.rules, self._x[rows]
        return rules.cost(points, x, self.norm) + price * rules.n_changes(points, x)

    def _halve(self, feature: Ints, halvings: int) -> None:
        """Move one feature of each point, by half of the way that may be left each time."""
        column = self._first_column[feature]
        rows = np.flatnonzero(self._has_between[column])
        column = column[rows]
        failed, passes = self._x[rows, column], self.points[rows, column].copy()
        for _ in range(halvings):
            middle = failed / 2 + passes / 2
            going = np.flatnonzero((middle != failed) & (middle != passes) & ~np.isnan(middle))
            if len(going) == 0:
                return
            wanted = self.points[rows[going]]
            wanted[np.arange(len(going)), column[going]] = middle[going]
            moved = self._move(rows[going], wanted)
            passes[going[moved]] = self.points[rows[going[moved]], column[going[moved]]]
            failed[going[~moved]] = middle[going[~moved]]

    def _move(self, rows: Ints, wanted: Floats, test: PointTest | None = None) -> Bools:
        """Move points to where they are wanted if that is allowed, nearer and passes; say which."""
        problem = self.test.problem
        wanted, legal = problem.gate.admit(wanted, self.applicants, self.owner[rows])
        nearer = problem.rules.cost(wanted, self._x[rows], self.norm) < self._cost(rows)
        nearer &= legal
        nearer[nearer] = self._takes_tests(rows[nearer])
        passed = nearer
        passed[nearer] = (test or self.test)(wanted[nearer])
        self.points[rows[passed]] = wanted[passed]
        return passed

    def _takes_tests(self, rows: Ints) -> Bools:
        """Tell which moves of some points may still be tested, and count them: (n,) bool."""
        left = place_in_line(rows) < self.tests_left[rows]
        np.subtract.at(self.tests_left, rows[left], 1)
        return left

    # --- what is where ---------------------------------------------------------------------------

    def _cost(self, rows: Ints) -> Floats:
        return self.test.problem.rules.cost(self.points[rows], self._x[rows], self.norm)

    def _shares(self) -> Floats:
        """How far each feature of each point is from the applicant's: (n, features)."""
        rules, x = self.test.problem.rules, self._x
        out = np.empty((len(self.points), len(self._columns)))
        for k, columns in enumerate(self._columns):
            out[:, k] = rules.cost(np.where(columns, self.points, x), x, 1)
        return out

    @cached_property
    def _columns(self) -> Bools:
        """Columns of each feature: (features, d) bool."""
        return self.test.problem.rules.features_of_columns

    @cached_property
    def _first_column(self) -> Ints:
        return np.asarray(self._columns.argmax(axis=1))

    @property
    def _has_between(self) -> Bools:
        return self.test.problem.rules.has_between


def place_in_line(owner: Ints) -> Ints:
    """Count, for each of some points, those of the same applicant before it: (n,)."""
    order = np.argsort(owner, kind="stable")
    place = np.empty(len(owner), dtype=np.intp)
    place[order] = np.arange(len(owner)) - np.searchsorted(owner[order], owner[order])
    return place

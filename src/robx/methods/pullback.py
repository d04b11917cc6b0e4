"""Bringing points back towards their applicants, as far as a test allows.

A point moves feature by feature (a one-hot group is one feature): first each change is undone that
can be, the least first; then what is left of each is halved a few times, the largest first, always
on values that the schema allows. All points of all applicants take their steps together, so that
many are tested at once; none depends on the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Bools, Floats
from robx.methods.stable import Test
from robx.problem import Applicants, Problem
from robx.schema import Norm

Ints = NDArray[np.intp]


@dataclass(eq=False)
class Pulling:
    """Points on their way back: n of them, for some applicants.

    Parameters
    ----------
    people : Applicants
    whose : (n,) int
        The applicant of each point.
    points : (n, d) float64
        Where they are. They pass the test, and always will.
    test : Test
    norm : {1, 2}
    tests_left : (m,) int64
        How many tests each applicant's points may still take together.
    """

    people: Applicants
    whose: Ints
    points: Floats
    test: Test
    norm: Norm
    tests_left: NDArray[np.int64]

    def __post_init__(self) -> None:
        self._own = self.people.matrix[self.whose]

    def undo(self) -> None:
        """Set features back to what the applicants have, where that passes; the least first."""
        for feature in np.argsort(self._shares(), axis=1, kind="stable").T:
            undone = np.where(self._columns[feature], self._own, self.points)
            self._move(np.arange(len(self.points)), undone)

    def keep(self, rows: Ints) -> None:
        """Go on with some of the points."""
        self.whose, self.points, self._own = self.whose[rows], self.points[rows], self._own[rows]

    def halve(self, halvings: int) -> None:
        """Move features towards the applicants, as near as passes; the largest first."""
        for feature in np.argsort(-self._shares(), axis=1, kind="stable").T:
            self._halve(feature, halvings)

    # --- moves -----------------------------------------------------------------------------------

    def _halve(self, feature: Ints, halvings: int) -> None:
        """Move one feature of each point, by half of the way that may be left each time."""
        column = self._first_column[feature]
        rows = np.flatnonzero(self._has_between[column])
        column = column[rows]
        failed, passes = self._own[rows, column], self.points[rows, column].copy()
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

    def _move(self, rows: Ints, wanted: Floats) -> Bools:
        """Move points to where they are wanted if that is allowed, nearer and passes; say which."""
        problem, own = self.test.problem, self._own[rows]
        low, high = self.people.low[self.whose[rows]], self.people.high[self.whose[rows]]
        wanted = problem.rules.snap(wanted, own, (low, high))
        nearer = problem.rules.cost(wanted, own, self.norm) < self._cost(rows)
        nearer[nearer] = _is_allowed(problem, wanted[nearer], own[nearer])
        asking = self.whose[rows[nearer]]
        nearer[nearer] = place_in_line(asking) < self.tests_left[asking]
        np.subtract.at(self.tests_left, self.whose[rows[nearer]], 1)
        passed = nearer
        passed[nearer] = self.test(wanted[nearer])
        self.points[rows[passed]] = wanted[passed]
        return passed

    # --- what is where ---------------------------------------------------------------------------

    def _cost(self, rows: Ints) -> Floats:
        return self.test.problem.rules.cost(self.points[rows], self._own[rows], self.norm)

    def _shares(self) -> Floats:
        """How far each feature of each point is from the applicant's: (n, features)."""
        rules, own = self.test.problem.rules, self._own
        out = np.empty((len(self.points), len(self._columns)))
        for k, columns in enumerate(self._columns):
            out[:, k] = rules.cost(np.where(columns, self.points, own), own, 1)
        return out

    @cached_property
    def _columns(self) -> Bools:
        """Columns of each feature: (features, d) bool."""
        return self.test.problem.rules.features_of_columns

    @cached_property
    def _first_column(self) -> Ints:
        return np.asarray(self._columns.argmax(axis=1))

    @cached_property
    def _has_between(self) -> Bools:
        """Columns of numbers, where there is a way between two values: (d,) bool."""
        rules = self.test.problem.rules
        alone = np.array([feature.group is None for feature in rules.features], dtype=bool)
        return alone & ~rules.is_label


def place_in_line(whose: Ints) -> Ints:
    """Count, for each of some points, those of the same applicant before it: (n,)."""
    order = np.argsort(whose, kind="stable")
    place = np.empty(len(whose), dtype=np.intp)
    place[order] = np.arange(len(whose)) - np.searchsorted(whose[order], whose[order])
    return place


def _is_allowed(problem: Problem, points: Floats, own: Floats) -> Bools:
    return problem.rules.keeps_relations(points) & problem.is_readable(points, own)

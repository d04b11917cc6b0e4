"""`Gate`: the only place that makes points legal for applicants, tells which are, and scores them.

A point is legal for an applicant if every column holds a value that it may come to hold (on its
grid, within its bounds, one member of a one-hot group), if what follows from a change has followed,
if all relations hold, and if no known value becomes one that means "missing" to the model. Methods,
searches and plots want points; what they get back is what the gate admits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from robx.arrays import Bools, Floats, Ints
from robx.problem.applicants import Applicants
from robx.problem.model_view import ModelView
from robx.robustness import Noise, Stability
from robx.schema import Rules, project

#: From this many points on, a bound on all of them is cheaper than their scores.
MANY = 128


class Admitted(NamedTuple):
    """n points as the applicants may have them, and which of them are legal: (n, d), (n,) bool."""

    points: Floats
    legal: Bools


@dataclass(frozen=True, eq=False)
class Gate:
    """The schema's rules and the model, asked together.

    Parameters
    ----------
    rules : Rules
    view : ModelView
    threshold : float
        A point with a score above this is accepted.
    """

    rules: Rules
    view: ModelView
    threshold: float

    def admit(self, wanted: Floats, applicants: Applicants, owner: Ints | None = None) -> Admitted:
        """Bring wanted points onto what the applicants may have, and tell which are legal.

        Parameters
        ----------
        wanted : (n, d) float64
        applicants : Applicants
        owner : (n,) int, optional
            The applicant of each point; row i is for applicant i unless given.
        """
        X, low, high = applicants.matrix, applicants.low, applicants.high
        if owner is not None:
            X, low, high = X[owner], low[owner], high[owner]
        points = self.rules.settle(wanted, X, (low, high))
        return Admitted(points, self._is_legal(points, X))

    def project(self, wanted: Floats, applicants: Applicants) -> Admitted:
        """Do as `admit` does, and look further for the nearest legal point where relations bind.

        What was seen in training bounds our own advice, not what others bring. A value that means
        "missing" to the model asks for nothing, as a missing one does.
        """
        X = applicants.matrix
        wanted = self.view.without_markers(wanted, X, self.rules)
        points, possible = project(self.rules, wanted, X, self.rules.stated_bounds(X))
        return Admitted(points, possible & self._is_legal(points, X))

    def holds(self, points: Floats, applicants: Applicants, owner: Ints) -> Bools:
        """Tell which points hold no value that means "missing" and is new: (n,) bool.

        For searches that choose column by column, and look at what ties columns by themselves.
        """
        return self.view.readable(points, applicants.matrix[owner], self.rules)

    def keeps(self, rows: Floats) -> Bools:
        """Tell which rows, nobody's in particular, break nothing that ties columns: (n,) bool."""
        finite = ~np.isinf(rows).any(axis=1)
        return np.asarray(finite & self.rules.keeps(rows, rows))

    def settled(self, wanted: Floats) -> Admitted:
        """Bring rows, nobody's in particular, onto allowed values, and tell which are legal.

        What is missing stays missing, and what is no level stays what it is.
        """
        free = {"change": "any", "max_increase": None, "max_decrease": None}
        features = tuple(feature.replaced(**free) for feature in self.rules.features)
        rules = replace(self.rules, features=features, effects=())
        nobody = np.where(np.isnan(wanted), np.nan, np.inf)
        points = rules.settle(wanted, nobody, Applicants.anywhere(wanted).bounds)
        points = np.where(self.view.unknown(wanted), wanted, points)
        return Admitted(points, self.keeps(points) & self.view.readable(points, nobody, rules))

    def is_open_for(self, rows: Floats) -> bool:
        """Whether all rows, as they are, are legal for everybody who misses no values."""
        if not self.rules.is_free or np.isnan(rows).any():
            return False
        nobody = Applicants.anywhere(np.full_like(rows, np.inf))  # the grids alone decide
        open_for_all = self.view.readable(rows, nobody.matrix, self.rules).all()
        settled = self.rules.settle(rows, nobody.matrix, nobody.bounds)
        return bool(open_for_all and (settled == rows).all())

    def explains(self, points: Floats, applicants: Applicants) -> list[list[str]]:
        """Name what each point breaks for its applicant; nothing where it is legal."""
        broken = self.rules.broken(points, applicants.matrix)
        readable = self.view.readable(points, applicants.matrix, self.rules)
        for names, is_read in zip(broken, readable, strict=True):
            names.extend([] if is_read else ["a known value would mean 'missing' to the model"])
        return broken

    def breaks(self, points: Floats, X: Floats) -> Bools:
        """Tell which points break something for their applicants X: (n,); `explains` names it."""
        return self.rules.breaks(points, X) | ~self.view.readable(points, X, self.rules)

    def _is_legal(self, points: Floats, X: Floats) -> Bools:
        return self.rules.keeps(points, X) & self.view.readable(points, X, self.rules)

    # --- scores ----------------------------------------------------------------------------------

    def cutoff(self, gamma: float | None = None) -> float:
        """Return the score that an answer must be above: the threshold, or a higher gamma."""
        return self.threshold if gamma is None else max(gamma, self.threshold)

    def score(self, points: Floats) -> Floats:
        """Score points: (n,) float64."""
        return self.view.score(points) if len(points) else np.zeros(0)

    def accepts(self, points: Floats, gamma: float | None = None) -> Bools:
        """Tell which points score above the cutoff: (n,) bool."""
        return self.exceeds(points, self.cutoff(gamma))

    def exceeds(self, points: Floats, cutoff: float) -> Bools:
        """Tell which points score above a score: (n,) bool.

        Of many points, only those are scored that a bound does not rule out.
        """
        if len(points) < MANY:
            return np.asarray(self.score(points) > cutoff)
        above = self.view.may_exceed(points, cutoff)
        above[above] = self.score(points[above]) > cutoff
        return above

    def spread(self, noise: Noise) -> Floats:
        """Standard deviation of the noise on each column of the model: (d,) float64."""
        return self.view.spread(noise, self.rules.noise)

    def stability(self, points: Floats, noise: Noise) -> Stability:
        """Measure the stability of points."""
        if len(points) == 0:
            return Stability(np.zeros(0), np.zeros(0), np.zeros(0), 0)
        probe = self.view.probe(points, noise, self.rules.noise)
        return noise.measure(probe, self.view.draws(noise))

    def passes(self, points: Floats, tau: float, noise: Noise) -> Bools:
        """Tell which points pass the stability test: (n,) bool."""
        if len(points) == 0:
            return np.zeros(0, dtype=bool)
        probe = self.view.probe(points, noise, self.rules.noise)
        return noise.passes(probe, tau, self.view.draws(noise))

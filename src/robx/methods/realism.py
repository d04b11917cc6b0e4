"""How typical a point is among the accepted rows: as a condition, by a rank among these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from robx.arrays import Floats
from robx.metrics import Outliers
from robx.problem import Problem, coordinates

Kind = Literal["lof", "forest"]

#: The local outlier factor as the evaluation takes it.
NEIGHBOURS = 20
#: Fewer accepted rows tell nothing about what is typical.
LEAST_ROWS = 10


class Realism:
    """Oddity of points among the accepted rows: the greater, the less typical.

    Parameters
    ----------
    problem : Problem
    kind : {"lof", "forest"}
        The local outlier factor, where a row is compared with the others; or how early an isolation
        forest cuts a point off.

    Attributes
    ----------
    own : (n,) float64
        Oddity of the accepted rows themselves.
    """

    def __init__(self, problem: Problem, kind: Kind) -> None:
        self._problem = problem
        rows = coordinates(problem, problem.support.rows)
        self._measure: Callable[[Floats], Any] = _forest(rows) if kind == "forest" else _lof(rows)
        self.own = self.oddity(problem.support.rows)

    @classmethod
    def of(cls, problem: Problem, kind: Kind) -> Realism | None:
        """Return the problem's, made on first use; None where too few rows are accepted."""
        if len(problem.support) < LEAST_ROWS:
            return None
        made: Realism = problem.cached(("realism", kind), lambda: cls(problem, kind))
        return made

    def oddity(self, points: Floats) -> Floats:
        """Measure points: (n,) float64."""
        if len(points) == 0:
            return np.zeros(0)
        return np.asarray(self._measure(coordinates(self._problem, points)))


def _lof(rows: Floats) -> Callable[[Floats], Any]:
    return Outliers(n_neighbors=NEIGHBOURS).fit(rows).factor


def _forest(rows: Floats) -> Callable[[Floats], Any]:
    from sklearn.ensemble import IsolationForest  # noqa: PLC0415 - takes long to load

    forest = IsolationForest(random_state=0).fit(rows)
    return lambda places: -forest.score_samples(places)

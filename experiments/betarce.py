"""BetaRCE: a bound on the share of changed models that accept, raised by growing spheres."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from robx.answers import Status
from robx.arrays import Bools, Floats
from robx.methods import NearestNeighbour
from robx.methods.base import Method, Need
from robx.parameters import check_number, check_whole
from robx.problem import Applicants, Problem, SearchResult
from robx.retrained import Panel

__all__ = ["BetaRce"]


@dataclass(frozen=True, kw_only=True)
class BetaRce(Method):
    """The point nearest to a base counterfactual that enough changed models accept (BetaRCE).

    Of k changed models, some accept a point. With a uniform prior, the share of all such models
    that accept it has a Beta distribution; its lower `credibility` bound must reach `tau`. Where
    the base counterfactual falls short, points are drawn in growing spheres around it, until one
    does.

    Written from the paper, for tables with a schema: points that are drawn are brought onto it.

    Parameters
    ----------
    norm : {1, 2}
        Of the base, and of the distance by which the nearest point is chosen.
    models : sequence of models
        The changed models.
    tau : float
        The share that must accept (delta in the paper).
    credibility : float
        Of the bound (alpha in the paper).
    step, n_spheres, n_draws
        Growth of the radius in units of the features' scales, how often, and points in a sphere.
    seed : int

    References
    ----------
    Stępka, Stefanowski, Lango: Counterfactual Explanations with Probabilistic Guarantees on their
    Robustness to Model Change, KDD 2025.
    """

    models: Any = ()
    tau: float = 0.8
    credibility: float = 0.9
    step: float = 0.1
    n_spheres: int = 20
    n_draws: int = 200
    seed: int = 0
    base: Method = field(default_factory=NearestNeighbour)
    needs: ClassVar[frozenset[Need]] = frozenset({"retrained models"})

    def check(self, problem: Problem, n_applicants: int) -> None:
        """See `Method.check`."""
        super().check(problem, n_applicants)
        check_number(self.tau, "tau", "BetaRce", least=0, below=1)
        check_number(self.credibility, "credibility", "BetaRce", above=0, below=1)
        check_number(self.step, "step", "BetaRce", above=0)
        for name in ("n_spheres", "n_draws"):
            check_whole(getattr(self, name), name, "BetaRce")

    def search(
        self, problem: Problem, applicants: Applicants, rows: NDArray[np.intp]
    ) -> SearchResult:
        """See `Method.search`."""
        found = SearchResult.nothing(applicants)
        problem.used_models.add(Panel.of(problem, self.models).models)
        found.base = base = self.base.search(problem, applicants, rows)
        for i in range(len(applicants)):
            if not base.ok[i]:
                found.refuse(i, base.status[i], base.reason[i])
                continue
            point = self._near(problem, applicants.take(np.array([i])), base.points[i])
            if point is None:
                reason = "no point in the spheres around the base is robust enough"
                found.refuse(i, Status.BUDGET, reason)
            else:
                found.answer(i, point)
        return found

    def _near(self, problem: Problem, person: Applicants, centre: Floats) -> Floats | None:
        """Give the nearest robust point to a centre, in the first sphere that has one."""
        if self.passes(problem, centre[None])[0]:
            return centre
        rng, unit = np.random.default_rng(self.seed), problem.rules.unit(self.norm)
        free = np.flatnonzero(np.isfinite(centre) & (unit > 0) & ~problem.rules.is_label)
        owner = np.zeros(self.n_draws, dtype=np.int64)
        for k in range(self.n_spheres):
            way = rng.normal(size=(self.n_draws, len(free)))
            way /= np.linalg.norm(way, axis=1, keepdims=True)
            length = self.step * (k + rng.random((self.n_draws, 1)))
            drawn = np.repeat(centre[None], self.n_draws, axis=0)
            drawn[:, free] += way * length / unit[free]
            points, legal = problem.gate.admit(drawn, person, owner)
            points = points[legal]
            points = points[problem.gate.accepts(points)]
            points = points[self.passes(problem, points)]
            if len(points):
                far = problem.rules.cost(points, np.repeat(centre[None], len(points), 0), self.norm)
                return np.asarray(points[int(far.argmin())])
        return None

    def passes(self, problem: Problem, points: Floats) -> Bools:
        """Tell for which points the lower bound reaches tau: (n,) bool."""
        if len(points) == 0:
            return np.zeros(0, dtype=bool)
        panel = Panel.of(problem, self.models)
        rejecting = panel.rejecting(points)
        low = beta.ppf(1 - self.credibility, 1 + len(panel) - rejecting, 1 + rejecting)
        return np.asarray(low >= self.tau)

"""RobX: Algorithm 1 of the paper.

The paper's symbols: p is `norm`, K `n_draws`, sigma `sigma`, tau `tau`, alpha `step` and c
`n_targets`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from robx.answers import Counterfactuals, Status
from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.methods.base import Method
from robx.methods.conservative import give_most_stable, passing_points
from robx.methods.given import Given
from robx.methods.nearest import NearestNeighbour
from robx.methods.neighbours import blocked_by
from robx.methods.stable import Stable, Test
from robx.methods.tau import Tau, check_tau, tau_in_numbers
from robx.methods.walks import Walks
from robx.parameters import check_number, check_whole
from robx.problem import Applicants, Problem, SearchResult
from robx.robustness import Noise
from robx.robustness.draws import DrawKind

#: Walks of smaller steps have too many of them.
LEAST_STEP = 1e-3


@dataclass(frozen=True, kw_only=True)
class RobX(Method):
    """Robust counterfactuals: a base method's, moved towards stable rows until they are stable.

    Algorithm 1 of Dutta et al. (2022). A base counterfactual that passes the stability test is the
    answer. Else its `n_targets` nearest conservative counterfactuals are found (accepted, stable
    rows of the support); the point walks towards each by ``x' <- step * target + (1 - step) * x'``
    and stops at the first place that passes; the one nearest to the applicant is the answer. A walk
    that never passes ends at its target, which does.

    Every place is first brought onto allowed values, must be accepted by the model as it is, and
    all places meet the same draws.

    Parameters
    ----------
    base : Method, table or None
        Where to start: a method, counterfactuals made elsewhere (row i for applicant i), or None to
        start from the applicants themselves.
    norm : {1, 2}
        Distance in which targets are near and the answer is close.
    tau : float or "auto"
        The least stability that passes. "auto" takes a quantile of that of the accepted support;
        ``answer.settings["tau"]`` says what came of it.
    step : float
        Share of the remaining way that one step goes, alpha in the paper.
    n_targets : int
        Number of conservative counterfactuals to walk to, c in the paper.
    sigma : float or mapping from names
        Standard deviation of the noise in units of each column's scale.
    n_draws, draws, rng
        As for `robx.stability`.
    staged : bool
        Whether the test may rule out clear cases with fewer draws.
    max_tries : int
        Rows of the support to look at for each applicant.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from robx import Problem
    >>> X = np.random.default_rng(0).random((300, 3))
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, X[:, 0] > 0.5)
    >>> answer = RobX(tau=0.8).explain(Problem(forest, X), [[0.2, 0.5, 0.5], [0.9, 0.5, 0.5]])
    >>> answer.status.tolist()
    [<Status.OK: 'ok'>, <Status.ACCEPTED: 'already accepted'>]
    >>> bool(answer.stability[0] >= 0.8 > answer.base.stability[0])
    True

    References
    ----------
    Dutta, Long, Mishra, Tilli, Magazzeni: Robust Counterfactual Explanations for Tree-Based
    Ensembles, ICML 2022.
    """

    base: Any = NearestNeighbour()  # noqa: RUF009 - frozen, so it can be shared
    tau: Tau = "auto"
    step: float = 0.1
    n_targets: int = 5
    sigma: float = 0.1
    n_draws: int | None = None
    draws: DrawKind = "sobol"
    rng: int | None = None
    staged: bool = True
    max_tries: int = 100_000

    def __post_init__(self) -> None:
        base = self.base.points if isinstance(self.base, Counterfactuals) else self.base
        if isinstance(base, str | type) or (callable(base) and not isinstance(base, Method)):
            raise InvalidInput(
                "The 'base' parameter of RobX must be a method, such as NearestNeighbour(), a "
                f"table of counterfactuals, or None. Got {base!r} instead."
            )
        if base is not None and not isinstance(base, Method):
            base = Given(points=base, norm=self.norm)
        object.__setattr__(self, "base", base)

    @classmethod
    def paper(cls, *, tau: Tau, base: Any = NearestNeighbour(), **parameters: Any) -> Self:  # noqa: B008
        """Algorithm 1 to the letter: 1000 Gaussian draws, sigma 0.1, every test in full.

        The paper's data are scaled to [0, 1] and continuous: with others, sigma is in units of the
        columns' scales, and categories get no noise. It does not give alpha and c: `step` and
        `n_targets` are ours. Two things are asked beyond it: an answer must be accepted, which
        R >= tau alone does not promise for a tau below the threshold, and targets must differ,
        which tells where the support repeats rows.
        """
        literal = {"n_draws": 1000, "draws": "gaussian", "sigma": 0.1, "staged": False}
        return cls(tau=tau, base=base, **{**literal, **parameters})

    def check(self, problem: Problem, n_people: int) -> None:
        """See `Method.check`."""
        super().check(problem, n_people)
        check_tau(self.tau, "RobX")
        check_number(self.step, "step", "RobX", above=0, most=1)
        if self.step < LEAST_STEP:
            raise InvalidInput(
                f"The 'step' parameter of RobX must be at least {LEAST_STEP:g}: a walk of smaller "
                f"steps has too many. Got {self.step!r} instead."
            )
        check_whole(self.n_targets, "n_targets", "RobX")
        check_whole(self.max_tries, "max_tries", "RobX")
        self.noise().check(problem.names)
        if self.base is not None:
            self.base.check(problem, n_people)

    def noise(self) -> Noise:
        """See `Method.noise`."""
        return Noise(self.sigma, self.n_draws, self.draws, self.rng or 0, self.staged)

    def search(self, problem: Problem, people: Applicants, rows: NDArray[np.intp]) -> SearchResult:
        """See `Method.search`."""
        found = SearchResult.nothing(people)
        noise = self.noise()
        tau, why = tau_in_numbers(self.tau, problem, noise)
        found.notes = {"tau": tau, "tau_reason": why}
        start = people.matrix.copy()
        if self.base is not None:
            found.base = self.base.search(problem, people, rows)
            start[found.base.ok] = found.base.points[found.base.ok]
        self.refine(people, start, found, Stable(problem, tau, noise))
        give_most_stable(problem, people, start, found, self, f"tau = {tau:.4g}")
        return found

    def refine(
        self, people: Applicants, start: Floats, found: SearchResult, test: Test
    ) -> list[list[Floats]]:
        """Answer with starts that pass; from others walk to conservative counterfactuals near.

        Returns the points that were walked to for each applicant.
        """
        problem = test.problem
        targets: list[list[Floats]] = [[] for _ in range(len(people))]
        for i in np.flatnonzero(test(start)):
            found.answer(i, start[i])
        rows = np.flatnonzero(~found.ok)
        some = people.take(rows)
        near = passing_points(
            some,
            start[rows],
            test,
            norm=self.norm,
            n_wanted=self.n_targets,
            max_tries=self.max_tries,
        )
        for row, points in zip(rows, near.points, strict=True):
            targets[row] = points
        moving = np.array([k for k in range(len(rows)) if near.points[k]], dtype=np.intp)
        at_once = Walks.most_at_once(self.step, self.n_targets, len(problem.names))
        for first in range(0, len(moving), at_once):
            group = moving[first : first + at_once]
            walks = Walks.towards(
                problem,
                some.take(group),
                start[rows[group]],
                [near.points[k] for k in group],
                self.step,
                self.norm,
            )
            for k, point in zip(group, walks.first_passing(test), strict=True):
                found.answer(rows[k], point)
        for k in np.flatnonzero([not points for points in near.points]):
            if near.complete[k]:
                reason = blocked_by(problem, some, int(k), problem.threshold)
                found.refuse(rows[k], Status.INFEASIBLE, reason)
            else:
                reason = f"none of the {near.tried[k]} nearest rows is accepted and stable"
                found.refuse(rows[k], Status.BUDGET, reason)
        return targets

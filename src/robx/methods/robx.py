"""RobX: Algorithm 1 of the paper.

The paper's symbols: p is `norm`, K and sigma are in `noise`, tau is `tau`, alpha `step` and c
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
from robx.kernels.search import ANY, Settings
from robx.methods.base import Method, check_noise
from robx.methods.conservative import RowOrder, give_most_stable, passing_points
from robx.methods.function import as_method
from robx.methods.given import Given
from robx.methods.nearest import NearestNeighbour
from robx.methods.neighbours import why_none
from robx.methods.point_tests import PointTest, StabilityTest, Tau, check_tau, tau_in_numbers
from robx.methods.walks import Walks, steps_to_go
from robx.parameters import MOST_COUNT, check_number, check_whole
from robx.problem import Applicants, Problem, SearchResult
from robx.robustness import Noise

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
    base : Method, function, table or None
        Where to start: a method, a function of (problem, X) that returns points, counterfactuals
        made elsewhere (row i for applicant i), or None to start from the applicants themselves.
    norm : {1, 2}
        Distance in which targets are near and the answer is close.
    tau : float or "auto"
        The minimum stability that passes. "auto" takes a quantile of that of the accepted support;
        ``answer.settings["tau"]`` says what came of it.
    step : float
        Share of the remaining way that one step goes, alpha in the paper.
    n_targets : int
        Number of conservative counterfactuals to walk to, c in the paper.
    noise : Noise
        How points are perturbed when their stability is measured.
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
    noise: Noise = Noise()  # noqa: RUF009 - frozen, so it can be shared
    max_tries: int = 100_000

    def __post_init__(self) -> None:
        base = self.base.points if isinstance(self.base, Counterfactuals) else self.base
        base = as_method(base) or base
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
        noise = Noise(sigma=0.1, n_draws=1000, draws="gaussian", staged=False)
        return cls(tau=tau, base=base, **{"noise": noise, **parameters})

    def check(self, problem: Problem, n_applicants: int) -> None:
        """See `Method.check`."""
        super().check(problem, n_applicants)
        check_tau(self.tau, "RobX")
        check_number(self.step, "step", "RobX", above=0, most=1)
        if self.step < LEAST_STEP:
            raise InvalidInput(
                f"The 'step' parameter of RobX must be at least {LEAST_STEP:g}: a walk of smaller "
                f"steps has too many. Got {self.step!r} instead."
            )
        check_whole(self.n_targets, "n_targets", "RobX", most=MOST_COUNT)
        check_whole(self.max_tries, "max_tries", "RobX", most=MOST_COUNT)
        check_noise(self.noise, problem, "RobX")
        if self.base is not None:
            self.base.check(problem, n_applicants)

    def search(
        self, problem: Problem, applicants: Applicants, rows: NDArray[np.intp]
    ) -> SearchResult:
        """See `Method.search`."""
        found = SearchResult.nothing(applicants)
        tau, why = tau_in_numbers(self.tau, problem, self.noise)
        found.notes = {"tau": tau, "tau_reason": why}
        start = applicants.matrix.copy()
        if self.base is not None:
            found.base = self.base.search(problem, applicants, rows)
            start[found.base.ok] = found.base.points[found.base.ok]
        self.refine(applicants, start, found, StabilityTest(problem, tau, self.noise))
        give_most_stable(problem, applicants, start, found, self, f"tau = {tau:.4g}")
        return found

    @property
    def search_settings(self) -> Settings:
        """The parameters as the compiled search takes them, without those of `Frugal`."""
        walk = self.step, steps_to_go(self.step)
        return Settings(self.n_targets, self.max_tries, ANY, *walk, 0, 0, 0, 0.0)

    def refine(
        self,
        applicants: Applicants,
        start: Floats,
        found: SearchResult,
        test: PointTest,
        *,
        order: RowOrder = "any",
    ) -> list[list[Floats]]:
        """Answer with starts that pass; from others walk to conservative counterfactuals near.

        For `order` see `passing_points`. Returns the points that were walked to for each
        applicant.
        """
        problem = test.problem
        targets: list[list[Floats]] = [[] for _ in range(len(applicants))]
        for i in np.flatnonzero(test(start)):
            found.answer(i, start[i])
        rows = np.flatnonzero(~found.ok)
        some = applicants.take(rows)
        near = passing_points(
            some,
            start[rows],
            test,
            norm=self.norm,
            n_wanted=self.n_targets,
            max_tries=self.max_tries,
            order=order,
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
                known = bool(near.none_above[k])
                cutoff = problem.threshold
                why = why_none(problem, some, int(k), cutoff, none_accepted=known)
                found.refuse(rows[k], *why)
            else:
                reason = f"none of the {near.tried[k]} nearest rows is accepted and stable"
                found.refuse(rows[k], Status.BUDGET, reason)
        return targets

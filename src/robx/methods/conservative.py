"""Conservative counterfactuals: the nearest accepted rows of the support that are stable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robx.answers import Status
from robx.arrays import Bools, Floats
from robx.methods.base import Method
from robx.methods.neighbours import Neighbours, nearest_points, report
from robx.methods.stable import Stable, Test
from robx.methods.tau import Tau, check_tau, tau_in_numbers
from robx.parameters import check_whole
from robx.problem import Applicants, Problem, SearchResult
from robx.robustness import Noise
from robx.robustness.draws import DrawKind
from robx.schema import Norm

#: How many accepted points are measured where none passed the test.
SEEN = 64


@dataclass(frozen=True, kw_only=True)
class Conservative(Method):
    """The nearest row of the support that is accepted and stable (Definition 6 of the paper).

    Rows are tested as they are come across, and every test is remembered by the problem.

    Parameters
    ----------
    norm : {1, 2}
    tau : float or "auto"
        The least stability that passes; "auto" takes a quantile of the accepted support's.
    sigma : float or mapping from names
        Standard deviation of the noise, in units of each column's scale.
    n_draws, draws, rng
        As for `robx.stability`.
    max_tries : int
        Rows to look at for each applicant before giving up.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from robx import Problem
    >>> X = np.random.default_rng(0).random((300, 3))
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, X[:, 0] > 0.5)
    >>> answer = Conservative(tau=0.9).explain(Problem(forest, X), [[0.2, 0.5, 0.5]])
    >>> bool(answer.stability[0] >= 0.9)
    True
    """

    tau: Tau = "auto"
    sigma: float = 0.1
    n_draws: int | None = None
    draws: DrawKind = "sobol"
    rng: int | None = None
    max_tries: int = 100_000

    def check(self, problem: Problem, n_people: int) -> None:
        """See `Method.check`."""
        super().check(problem, n_people)
        check_tau(self.tau, "Conservative")
        check_whole(self.max_tries, "max_tries", "Conservative")
        self.noise().check(problem.names)

    def noise(self) -> Noise:
        """See `Method.noise`."""
        return Noise(self.sigma, self.n_draws, self.draws, self.rng or 0)

    def search(self, problem: Problem, people: Applicants, rows: NDArray[np.intp]) -> SearchResult:  # noqa: ARG002
        """See `Method.search`."""
        found = SearchResult.nothing(people)
        tau, why = tau_in_numbers(self.tau, problem, self.noise())
        found.notes = {"tau": tau, "tau_reason": why}
        near = passing_points(
            people,
            people.matrix,
            Stable(problem, tau, self.noise()),
            norm=self.norm,
            n_wanted=1,
            max_tries=self.max_tries,
        )
        report(problem, people, near, found, problem.threshold)
        give_most_stable(problem, people, people.matrix, found, self, f"tau = {tau:.4g}")
        return found


def passing_points(
    people: Applicants,
    start: Floats,
    test: Test,
    *,
    norm: Norm,
    n_wanted: int,
    max_tries: int,
) -> Neighbours:
    """Find the nearest accepted points that pass a test.

    What is found out about a row of the support, as it is, is kept for everybody.
    """
    problem = test.problem
    state = problem.tested_rows(test.key)

    def passes(points: Floats, origin: NDArray[np.int64]) -> Bools:
        known = np.where(origin >= 0, state[origin], 0)
        new_rows = np.unique(origin[(origin >= 0) & (known == 0)])
        if len(new_rows):
            passed = test(problem.support.rows[new_rows])
            state[new_rows] = np.where(passed, 1, 2)
        out = np.where(origin >= 0, state[origin], 0) == 1
        own = origin < 0
        out[own] = test(points[own])
        return np.asarray(out)

    return nearest_points(
        problem,
        people,
        start,
        norm=norm,
        n_wanted=n_wanted,
        bar=problem.threshold,
        test=passes,
        skip=lambda: state == 2,
        max_tries=max_tries,
    )


def give_most_stable(
    problem: Problem,
    people: Applicants,
    start: Floats,
    found: SearchResult,
    method: Method,
    asked: str,
) -> None:
    """Where nothing passed, answer with the most stable of the nearest accepted points, and say so.

    The points are where the search started and its neighbours. Where none of them is accepted,
    what was found stays.
    """
    rows = np.flatnonzero(~found.ok)
    if len(rows) == 0:
        return
    some, noise = people.take(rows), method.noise()
    near = nearest_points(
        problem, some, start[rows], norm=method.norm, n_wanted=SEEN, bar=problem.threshold
    )
    accepted = problem.accepts(start[rows])
    for k, i in enumerate(rows):
        seen = near.points[k] + ([start[i]] if accepted[k] else [])
        if not seen:
            continue
        value = problem.stability(np.array(seen), noise).value
        best = int(value.argmax())
        found.points[i] = seen[best]
        found.refuse(
            i,
            Status.UNSTABLE,
            f"no point passed {asked}; the best seen has R = {value[best]:.4g}",
        )

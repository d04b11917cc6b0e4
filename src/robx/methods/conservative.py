"""Conservative counterfactuals: the nearest accepted rows of the support that are stable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from robx.answers import Status
from robx.arrays import Bools, Floats
from robx.kernels.search import ANY, MOST_OTHERS, SURE, SURE_FIRST
from robx.methods.base import Method, check_noise
from robx.methods.neighbours import Neighbours, nearest_points, report, takes_rows
from robx.methods.point_tests import (
    FAILS,
    PASSES,
    PointTest,
    StabilityTest,
    Tau,
    check_tau,
    say_failing,
    tau_in_numbers,
    tested_rows,
)
from robx.parameters import MOST_COUNT, check_whole
from robx.problem import Applicants, Problem, SearchResult
from robx.robustness import Noise
from robx.schema import Norm

#: Which rows of the support come first: see `passing_points`.
RowOrder = Literal["any", "sure first", "sure"]
#: The same for the compiled search.
ORDERS: dict[RowOrder, int] = {"any": ANY, "sure first": SURE_FIRST, "sure": SURE}
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
        The minimum stability that passes; "auto" takes a quantile of the accepted support's.
    noise : Noise
        How points are perturbed when their stability is measured.
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
    noise: Noise = Noise()  # noqa: RUF009 - frozen, so it can be shared
    max_tries: int = 100_000

    def check(self, problem: Problem, n_applicants: int) -> None:
        """See `Method.check`."""
        super().check(problem, n_applicants)
        check_tau(self.tau, "Conservative")
        check_whole(self.max_tries, "max_tries", "Conservative", most=MOST_COUNT)
        check_noise(self.noise, problem, "Conservative")

    def search(
        self, problem: Problem, applicants: Applicants, rows: NDArray[np.intp]
    ) -> SearchResult:
        """See `Method.search`."""
        found = SearchResult.nothing(applicants)
        tau, why = tau_in_numbers(self.tau, problem, self.noise)
        found.notes = {"tau": tau, "tau_reason": why}
        near = passing_points(
            applicants,
            applicants.matrix,
            StabilityTest(problem, tau, self.noise),
            norm=self.norm,
            n_wanted=1,
            max_tries=self.max_tries,
        )
        report(problem, applicants, near, found, problem.threshold)
        give_most_stable(problem, applicants, applicants.matrix, found, self, f"tau = {tau:.4g}")
        return found


def passing_points(
    applicants: Applicants,
    start: Floats,
    test: PointTest,
    *,
    norm: Norm,
    n_wanted: int,
    max_tries: int,
    order: RowOrder = "any",
) -> Neighbours:
    """Find the nearest accepted points that pass a test.

    What is found out about a row of the support, as it is, is kept for everybody. With the order
    "sure first", rows that are known to pass as they are come before all others, of which the
    nearest are looked at for those who find nothing among them; with "sure" they are not looked at.
    """
    problem = test.problem
    state = tested_rows(test)

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

    def search(
        people: Applicants, start: Floats, skip: Callable[[], Bools], most: int = max_tries
    ) -> Neighbours:
        return nearest_points(
            problem,
            people,
            start,
            norm=norm,
            n_wanted=n_wanted,
            cutoff=problem.threshold,
            test=passes,
            skip=skip,
            is_brief=order != "any",
            max_tries=most,
        )

    if order == "any":
        return search(applicants, start, lambda: state == FAILS)
    near = search(applicants, start, lambda: state != PASSES)
    if order == "sure":
        return near
    rest = np.flatnonzero([not points for points in near.points])
    rest = rest[~takes_rows(problem, applicants.take(rest))]  # others know that no other row passes
    most = min(max_tries, MOST_OTHERS)
    near.put(rest, search(applicants.take(rest), start[rest], lambda: state == PASSES, most))
    return near


def give_most_stable(
    problem: Problem,
    applicants: Applicants,
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
    some, noise = applicants.take(rows), method.noise
    near = nearest_points(
        problem, some, start[rows], norm=method.norm, n_wanted=SEEN, cutoff=problem.threshold
    )
    accepted = problem.gate.accepts(start[rows])
    for k, i in enumerate(rows):
        seen = near.points[k] + ([start[i]] if accepted[k] else [])
        if not seen:
            continue
        value = problem.gate.stability(np.array(seen), noise).value
        best = int(value.argmax())
        found.points[i] = seen[best]
        found.refuse(
            i,
            Status.UNSTABLE,
            f"no point passed {asked}; the best seen has R = {say_failing(value[best])}",
        )

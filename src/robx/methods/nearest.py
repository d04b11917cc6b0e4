"""Nearest neighbours: the nearest accepted rows, and the nearest stable ones.

A row of the support is an answer only as far as the applicant can follow it: what they cannot
change is kept, the rest is brought onto allowed values. Without constraints that is the row itself.
The model then decides about the point as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robx.methods.base import Method, check_gamma, check_whole
from robx.methods.tau import Tau, check_tau, tau_in_numbers
from robx.problem import Applicants, Found, Problem, Status
from robx.robustness import Noise
from robx.robustness.draws import Kind
from robx.schema import Norm

__all__ = ["Conservative", "NearestNeighbour", "Neighbours", "blocked_by", "nearest_points"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
#: Tells, for points and the support rows they equal (-1 for none), which of them count.
Test = Callable[[Floats, NDArray[np.int64]], Bools]

MOST_PAGE = 512


@dataclass(eq=False)
class Neighbours:
    """Points near m applicants that passed a test, nearest first.

    Parameters
    ----------
    points : m lists of (d,) float64
    tried : (m,) int64
        Number of rows that were looked at.
    complete : (m,) bool
        Whether there were enough, or all rows were looked at.
    """

    points: list[list[Floats]]
    tried: NDArray[np.int64]
    complete: Bools


def nearest_points(
    problem: Problem,
    people: Applicants,
    start: Floats,
    *,
    norm: Norm,
    n_wanted: int,
    bar: float,
    test: Test | None = None,
    skip: Callable[[], Bools] | None = None,
    max_tries: int = 10_000,
) -> Neighbours:
    """Walk through the support from near to far until enough points pass.

    Parameters
    ----------
    problem : Problem
    people : m Applicants
    start : (m, d) float64
        From where to look.
    norm : {1, 2}
    n_wanted : int
        How many points an applicant needs.
    bar : float
        The score that a point must be above.
    test : function, optional
        Further condition on points.
    skip : function, optional
        Gives the rows that are known not to pass, as they are; asked again for every page.
    max_tries : int
        Rows to look at for each applicant. Where rows are answers as they are, all may be looked
        at: what is found out about them serves everybody.
    """
    m = len(people)
    out = Neighbours([[] for _ in range(m)], np.zeros(m, dtype=np.int64), np.zeros(m, dtype=bool))
    if len(problem.support) == 0:
        out.complete[:] = True
        return out
    plain = ~np.isnan(people.matrix).any(axis=1) & problem.support.is_plain
    for group, left_out, most in (
        (np.flatnonzero(plain), skip, len(problem.support) + 1),
        (np.flatnonzero(~plain), None, max_tries),
    ):
        _page_through(problem, people, start, group, out, norm, n_wanted, bar, test, left_out, most)
    return out


def _page_through(
    problem: Problem,
    people: Applicants,
    start: Floats,
    waiting: NDArray[np.intp],
    out: Neighbours,
    norm: Norm,
    n_wanted: int,
    bar: float,
    test: Test | None,
    skip: Callable[[], Bools] | None,
    max_tries: int,
) -> None:
    """Ask for longer and longer pages of neighbours until nobody is waiting."""
    m, support = len(people), problem.support
    after_distance, after_row = np.full(m, -1.0), np.full(m, -1, dtype=np.int64)
    page = n_wanted if test is None else 2 * n_wanted + 2
    while len(waiting):
        some = people.take(waiting)
        rows, distance = support.near(
            start[waiting],
            some,
            norm,
            min(page, len(support)),
            None if skip is None else skip(),
            (after_distance[waiting], after_row[waiting]),
        )
        points, owner, origin = _as_allowed(problem, some, rows)
        passed = _decide(problem, points, origin, bar, test)
        for k in np.flatnonzero(passed):
            have = out.points[waiting[owner[k]]]
            # Rows that differ only in what the applicant cannot change are one point.
            if len(have) < n_wanted and not (have and _is_among(points[k], have)):
                have.append(points[k])
        out.tried[waiting] += (rows >= 0).sum(axis=1)
        after_distance[waiting], after_row[waiting] = distance[:, -1], rows[:, -1]
        enough = np.array([len(out.points[i]) >= n_wanted for i in waiting], dtype=bool)
        at_end = rows[:, -1] < 0
        out.complete[waiting] = enough | at_end
        waiting = waiting[~(enough | at_end) & (out.tried[waiting] < max_tries)]
        page = min(2 * page, MOST_PAGE)


def _as_allowed(
    problem: Problem, people: Applicants, rows: NDArray[np.int64]
) -> tuple[Floats, NDArray[np.intp], NDArray[np.int64]]:
    """Make rows fit the applicants: the points, whose each is, and the row that it equals or -1.

    Rows that break a relation once they are made to fit, and the applicants' own, are left out.
    """
    owner, place = np.nonzero(rows >= 0)
    origin = rows[owner, place]
    wanted = problem.support.rows[origin]
    own = people.matrix[owner]
    points = problem.rules.snap(wanted, own, (people.low[owner], people.high[owner]))
    unchanged = ((points == wanted) | (np.isnan(points) & np.isnan(wanted))).all(axis=1)
    moved = problem.rules.changed(points, own).any(axis=1)
    fits = moved & (unchanged | problem.rules.keeps_relations(points))
    origin = np.where(unchanged, origin, -1)
    return points[fits], owner[fits], origin[fits]


def _is_among(point: Floats, others: list[Floats]) -> bool:
    same = (others == point) | (np.isnan(others) & np.isnan(point))
    return bool(same.all(axis=1).any())


def _decide(
    problem: Problem, points: Floats, origin: NDArray[np.int64], bar: float, test: Test | None
) -> Bools:
    """Tell which points pass; what is known of rows of the support is used."""
    score = np.empty(len(points))
    known = origin >= 0
    score[known] = problem.support.score[origin[known]]
    score[~known] = problem.score(points[~known])
    passed = score > bar
    if test is not None:
        passed[passed] = test(points[passed], origin[passed])
    return passed


def blocked_by(problem: Problem, people: Applicants, i: int, bar: float) -> str:
    """Name what keeps an applicant from the accepted row that asks for the fewest exceptions."""
    rows = problem.support.rows[problem.support.score > bar]
    if len(rows) == 0:
        return f"no row of the support scores above {bar:g}"
    x = np.broadcast_to(people.matrix[i], rows.shape)
    low, high = (np.broadcast_to(b[i], rows.shape) for b in people.bounds)
    fitted = problem.rules.snap(
        rows, np.ascontiguousarray(x), (np.ascontiguousarray(low), np.ascontiguousarray(high))
    )
    kept_back = problem.rules.changed(fitted, rows)
    best = int(kept_back.sum(axis=1).argmin())
    names: dict[str, None] = {}
    for j in np.flatnonzero(kept_back[best]):
        feature = problem.schema.features[j]
        how = "missing" if np.isnan(people.matrix[i, j]) else feature.constraint()
        names[f"{feature.group or feature.name} ({how})"] = None
    if not problem.rules.keeps_relations(fitted[best : best + 1])[0]:
        names |= {relation.text: None for relation in problem.schema.relations}
    return f"no accepted point keeps {', '.join(names)}" if names else "no accepted row is in reach"


@dataclass(frozen=True, kw_only=True)
class NearestNeighbour(Method):
    """The nearest row of the support that is accepted (Definition 2 of the paper).

    Parameters
    ----------
    norm : {1, 2}
    gamma : float, optional
        Look for scores above this instead of the problem's threshold, if it is higher.
    max_tries : int
        Rows to look at for each applicant before giving up.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from robx import Problem
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [4.0, 0.0]])
    >>> tree = DecisionTreeClassifier().fit(X, [0, 0, 1, 1])
    >>> NearestNeighbour().explain(Problem(tree, X), X[:1]).points
    array([[3., 0.]])
    """

    gamma: float | None = None
    max_tries: int = 10_000

    def check(self, problem: Problem, n_people: int) -> None:
        """See `Method.check`."""
        super().check(problem, n_people)
        check_gamma(self.gamma, "NearestNeighbour")
        check_whole(self.max_tries, "max_tries", "NearestNeighbour")

    def search(self, problem: Problem, people: Applicants, rows: NDArray[np.intp]) -> Found:  # noqa: ARG002
        """See `Method.search`."""
        found = Found.nothing(people)
        level = problem.bar(self.gamma)
        below = problem.support.score <= level
        near = nearest_points(
            problem,
            people,
            people.matrix,
            norm=self.norm,
            n_wanted=1,
            bar=level,
            skip=lambda: below,
            max_tries=self.max_tries,
        )
        report(problem, people, near, found, level)
        return found


def report(
    problem: Problem, people: Applicants, near: Neighbours, found: Found, bar: float
) -> None:
    """Turn neighbours into answers; where there are none, say why."""
    for i in range(len(people)):
        if near.points[i]:
            found.answer(i, near.points[i][0])
        elif near.complete[i]:
            found.refuse(i, Status.INFEASIBLE, blocked_by(problem, people, i, bar))
        else:
            found.refuse(i, Status.BUDGET, f"none of the {near.tried[i]} nearest rows is accepted")


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
    draws: Kind = "sobol"
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

    def search(self, problem: Problem, people: Applicants, rows: NDArray[np.intp]) -> Found:  # noqa: ARG002
        """See `Method.search`."""
        found = Found.nothing(people)
        tau, why = tau_in_numbers(self.tau, problem, self.noise())
        found.notes = {"tau": tau, "tau_reason": why}
        near = stable_points(
            problem,
            people,
            people.matrix,
            norm=self.norm,
            n_wanted=1,
            tau=tau,
            noise=self.noise(),
            max_tries=self.max_tries,
        )
        report(problem, people, near, found, problem.threshold)
        give_most_stable(problem, people, people.matrix, found, self, tau)
        return found


#: How many accepted points are measured where none passed the test.
SEEN = 64


def stable_points(
    problem: Problem,
    people: Applicants,
    start: Floats,
    *,
    norm: Norm,
    n_wanted: int,
    tau: float,
    noise: Noise,
    max_tries: int,
) -> Neighbours:
    """Find the nearest accepted points that pass the stability test.

    What is found out about a row of the support, as it is, is kept for everybody.
    """
    state = problem.stable_rows(tau, noise)

    def test(points: Floats, origin: NDArray[np.int64]) -> Bools:
        known = np.where(origin >= 0, state[origin], 0)
        new_rows = np.unique(origin[(origin >= 0) & (known == 0)])
        if len(new_rows):
            passed = problem.passes(problem.support.rows[new_rows], tau, noise)
            state[new_rows] = np.where(passed, 1, 2)
        out = np.where(origin >= 0, state[origin], 0) == 1
        own = origin < 0
        out[own] = problem.passes(points[own], tau, noise)
        return np.asarray(out)

    return nearest_points(
        problem,
        people,
        start,
        norm=norm,
        n_wanted=n_wanted,
        bar=problem.threshold,
        test=test,
        skip=lambda: state == 2,
        max_tries=max_tries,
    )


def give_most_stable(
    problem: Problem,
    people: Applicants,
    start: Floats,
    found: Found,
    method: Method,
    tau: float,
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
            f"no point passed tau = {tau:.4g}; the best seen has R = {value[best]:.4g}",
        )

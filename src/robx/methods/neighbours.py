"""Rows of the support near applicants, made to fit them and tested, from near to far.

A row of the support is an answer only as far as the applicant can follow it: what they cannot
change is kept, the rest is brought onto allowed values. Without constraints that is the row itself.
The model then decides about the point as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robx.answers import Status
from robx.arrays import Bools, Floats
from robx.problem import Applicants, Problem, SearchResult
from robx.schema import Norm

#: Tells, for points and the support rows they equal (-1 for none), which of them count.
Test = Callable[[Floats, NDArray[np.int64]], Bools]

#: Neighbours to ask for at a time, and numbers to hold for all who wait.
MOST_PAGE = 1024
MOST_NUMBERS = 2**23
#: Of more accepted rows than this, so many spread over them tell what stands in the way.
MOST_ROWS = 2000


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
        Gives the rows that are known not to pass, as they are; asked again for every page. Unless
        given, those that score no more than `bar`.
    max_tries : int
        Rows to look at for each applicant. Where rows are answers as they are, all may be looked
        at: what is found out about them serves everybody.
    """
    m = len(people)
    out = Neighbours([[] for _ in range(m)], np.zeros(m, dtype=np.int64), np.zeros(m, dtype=bool))
    if len(problem.support) == 0:
        out.complete[:] = True
        return out
    below = problem.support.score <= bar
    plain = ~np.isnan(people.matrix).any(axis=1) & problem.support.is_plain
    plain &= (people.low < people.high).all(axis=1)  # nothing is held fixed for them alone
    at_once = max(MOST_NUMBERS // (MOST_PAGE * len(problem.names)), 1)
    for group, left_out, most in (
        (np.flatnonzero(plain), skip or (lambda: below), len(problem.support) + 1),
        (np.flatnonzero(~plain), None, max_tries),
    ):
        for first in range(0, len(group), at_once):
            some = group[first : first + at_once]
            _page_through(
                problem, people, start, some, out, norm, n_wanted, bar, test, left_out, most
            )
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
        page = min(3 * page, MOST_PAGE)


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
    fits &= problem.is_readable(points, own)
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
    if len(rows) > MOST_ROWS:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_ROWS).astype(int)]
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
    if not names:
        return "no accepted row is in reach"
    return f"no row of the support is accepted once it keeps {', '.join(names)}"


def report(
    problem: Problem, people: Applicants, near: Neighbours, found: SearchResult, bar: float
) -> None:
    """Turn neighbours into answers; where there are none, say why."""
    for i in range(len(people)):
        if near.points[i]:
            found.answer(i, near.points[i][0])
        elif near.complete[i]:
            found.refuse(i, Status.INFEASIBLE, blocked_by(problem, people, i, bar))
        else:
            found.refuse(i, Status.BUDGET, f"none of the {near.tried[i]} nearest rows is accepted")

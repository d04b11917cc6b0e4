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
from robx.arrays import Bools, Floats, Ints, same_rows
from robx.kernels.search import LEAST_ROWS
from robx.problem import Applicants, Problem, Refusal, SearchResult
from robx.schema import Norm

#: Tells, for points and the support rows they equal (-1 for none), which of them count.
RowTest = Callable[[Floats, Ints], Bools]

#: Neighbours to ask for at a time, and numbers to hold for all who wait.
MOST_PAGE = 1024
MOST_NUMBERS = 2**23
#: Rows are made to fit in parts of about this many numbers, but of so many rows at least.
CACHED_NUMBERS, LEAST_PART = 2**16, 512
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
    none_above : (m,) bool
        Whether no row that was looked at scored above the cutoff once it fitted the applicant.
    """

    points: list[list[Floats]]
    tried: Ints
    complete: Bools
    none_above: Bools

    def put(self, rows: NDArray[np.intp], others: Neighbours) -> None:
        """Put what was found for some of the applicants in another search."""
        for row, points in zip(rows, others.points, strict=True):
            self.points[row] = points
        self.tried[rows] += others.tried
        self.complete[rows] &= others.complete
        self.none_above[rows] &= others.none_above


@dataclass(frozen=True, eq=False)
class _Walk:
    """How `nearest_points` goes through the support; see there."""

    problem: Problem
    applicants: Applicants
    start: Floats
    norm: Norm
    n_wanted: int
    cutoff: float
    test: RowTest | None
    is_brief: bool


def nearest_points(
    problem: Problem,
    applicants: Applicants,
    start: Floats,
    *,
    norm: Norm,
    n_wanted: int,
    cutoff: float,
    test: RowTest | None = None,
    skip: Callable[[], Bools] | None = None,
    is_brief: bool = False,
    max_tries: int = 10_000,
) -> Neighbours:
    """Walk through the support from near to far until enough points pass.

    Parameters
    ----------
    problem : Problem
    applicants : m Applicants
    start : (m, d) float64
        From where to look.
    norm : {1, 2}
    n_wanted : int
        How many points an applicant needs.
    cutoff : float
        The score that a point must be above.
    test : function, optional
        Further condition on points.
    skip : function, optional
        Gives the rows that are known not to pass, as they are; asked again for every page. Unless
        given, those that score no more than `cutoff`.
    is_brief : bool
        Whether these rows are left out also for applicants who cannot have rows as they are, and
        a search ends with the page in which the first point was found, if `LEAST_ROWS` were looked
        at.
    max_tries : int
        Rows to look at for each applicant. Where rows are answers as they are, all may be looked
        at: what is found out about them serves everybody.
    """
    m, support = len(applicants), problem.support
    out = Neighbours(
        [[] for _ in range(m)],
        np.zeros(m, dtype=np.int64),
        np.zeros(m, dtype=bool),
        np.ones(m, dtype=bool),
    )
    if len(support) == 0:
        out.complete[:] = True
        return out
    below = support.score <= cutoff
    plain = takes_rows(problem, applicants)
    if skip is not None:  # what it leaves out may be accepted
        out.none_above[plain] = False
    at_once = max(MOST_NUMBERS // (MOST_PAGE * len(problem.names)), 1)
    walk = _Walk(problem, applicants, start, norm, n_wanted, cutoff, test, is_brief)
    for group, left_out, most in (
        (np.flatnonzero(plain), skip or (lambda: below), len(support) + 1),
        (np.flatnonzero(~plain), skip if is_brief else None, max_tries),
    ):
        for first in range(0, len(group), at_once):
            _page_through(walk, group[first : first + at_once], out, left_out, most)
    return out


def takes_rows(problem: Problem, applicants: Applicants) -> Bools:
    """Tell which applicants may have any row of the support as it is: (m,) bool."""
    plain = ~np.isnan(applicants.matrix).any(axis=1) & problem.support.is_plain
    return np.asarray(plain & (applicants.low < applicants.high).all(axis=1))  # nothing is fixed


def _page_through(
    walk: _Walk,
    waiting: NDArray[np.intp],
    out: Neighbours,
    skip: Callable[[], Bools] | None,
    max_tries: int,
) -> None:
    """Ask for longer and longer pages of neighbours until nobody is waiting."""
    m, support, n_wanted = len(walk.applicants), walk.problem.support, walk.n_wanted
    after_distance, after_row = np.full(m, -1.0), np.full(m, -1, dtype=np.int64)
    page, asked = n_wanted if walk.test is None else 2 * n_wanted + 2, 0
    while len(waiting):
        some = walk.applicants.take(waiting)
        rows, distance = support.near(
            walk.start[waiting],
            some,
            walk.norm,
            min(page, len(support)),
            None if skip is None else skip(),
            (after_distance[waiting], after_row[waiting]),
        )
        points, owner, origin = _accepted(walk, some, rows)
        out.none_above[waiting[owner]] = False
        passed = np.ones(len(points), dtype=bool)
        if walk.test is not None:
            passed = walk.test(points, origin)
        for k in np.flatnonzero(passed):
            have = out.points[waiting[owner[k]]]
            # Rows that differ only in what the applicant cannot change are one point.
            if len(have) < n_wanted and not (have and same_rows(np.array(have), points[k]).any()):
                have.append(points[k])
        out.tried[waiting] += (rows >= 0).sum(axis=1)
        after_distance[waiting], after_row[waiting] = distance[:, -1], rows[:, -1]
        n_found = np.array([len(out.points[i]) for i in waiting])
        enough = n_found >= n_wanted
        if walk.is_brief:
            enough |= (n_found > 0) & (out.tried[waiting] >= LEAST_ROWS)
        at_end = rows[:, -1] < 0
        out.complete[waiting] = enough | at_end
        waiting = waiting[~(enough | at_end) & (out.tried[waiting] < max_tries)]
        asked += page
        page = min(3 * page, MOST_PAGE, max(max_tries - asked, 1))


def _accepted(
    walk: _Walk, applicants: Applicants, rows: Ints
) -> tuple[Floats, NDArray[np.intp], Ints]:
    """Make rows fit the applicants: what then scores above the cutoff, whose, and from which row.

    The row is -1 unless the point equals it. Points that are not legal, and the applicants' own,
    are left out. Few are made at a time, so that they stay in the cache: most are gone at once.
    """
    owner, place = np.nonzero(rows >= 0)
    size = max(CACHED_NUMBERS // len(walk.problem.names), LEAST_PART)
    parts = []
    for first in range(0, max(len(owner), 1), size):
        whose = owner[first : first + size]
        origin = rows[whose, place[first : first + size]]
        wanted = walk.problem.support.rows[origin]
        points, legal = walk.problem.gate.admit(wanted, applicants, whose)
        fits = np.flatnonzero(legal & ~same_rows(points, applicants.matrix[whose]))
        origin = np.where(same_rows(points, wanted), origin, -1)
        fits = fits[_above(walk, points[fits], origin[fits])]
        parts.append((points[fits], whose[fits], origin[fits]))
    all_points, all_owners, all_origins = (
        np.concatenate(part) for part in zip(*parts, strict=True)
    )
    return all_points, all_owners, all_origins


def _above(walk: _Walk, points: Floats, origin: Ints) -> Bools:
    """Tell which points score above the cutoff; what is known of rows of the support is used."""
    above = np.empty(len(points), dtype=bool)
    known = origin >= 0
    above[known] = walk.problem.support.score[origin[known]] > walk.cutoff
    above[~known] = walk.problem.gate.exceeds(points[~known], walk.cutoff)
    return above


def why_none(
    problem: Problem, applicants: Applicants, i: int, cutoff: float, *, none_accepted: bool = False
) -> Refusal:
    """Say why no row of the support is an answer for an applicant.

    Where rows are accepted once they fit the applicant, it is not their constraints that stand in
    the way. Else what keeps them from the row that asks for the fewest exceptions is named.

    Parameters
    ----------
    problem : Problem
    applicants : Applicants
    i : int
        Whose question it is.
    cutoff : float
        The score that a point had to be above.
    none_accepted : bool
        Whether it is known that no row is accepted once it fits the applicant.
    """
    rows = problem.support.rows[problem.support.score > cutoff]
    if len(rows) == 0:
        return Refusal(Status.NOT_FOUND, f"no row of the support scores above {cutoff:g}")
    if len(rows) > MOST_ROWS:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_ROWS).astype(int)]
    fitted, legal = problem.gate.admit(rows, applicants, np.full(len(rows), i))
    accepted = np.zeros(len(rows), dtype=bool)
    if not none_accepted:
        accepted = legal & problem.gate.accepts(fitted)
    if accepted.any():
        reason = f"{accepted.sum()} rows of the support are accepted once they fit the applicant"
        reason += ", but none passes all that the method asks for"
        return Refusal(Status.NOT_FOUND, reason)
    kept_back = problem.rules.changed(fitted, rows) & ~problem.rules.follows
    best = int(kept_back.sum(axis=1).argmin())
    names: dict[str, None] = {}
    for j in np.flatnonzero(kept_back[best]):
        feature = problem.schema.features[j]
        how = "missing" if np.isnan(applicants.matrix[i, j]) else feature.constraint()
        names[f"{feature.group or feature.name} ({how})"] = None
    if not legal[best]:
        names |= dict.fromkeys(name for tie in problem.rules.constraints for name in tie.names)
    if not names:
        return Refusal(Status.NOT_FOUND, "no accepted row is in reach")
    reason = f"no row of the support is accepted once it keeps {', '.join(names)}"
    return Refusal(Status.INFEASIBLE, reason, tuple(names))


def report(
    problem: Problem,
    applicants: Applicants,
    near: Neighbours,
    found: SearchResult,
    cutoff: float,
) -> None:
    """Turn neighbours into answers; where there are none, say why."""
    for i in range(len(applicants)):
        if near.points[i]:
            found.answer(i, near.points[i][0])
        elif near.complete[i]:
            known = near.none_above[i] and cutoff <= problem.threshold
            found.refuse(i, *why_none(problem, applicants, i, cutoff, none_accepted=known))
        else:
            found.refuse(i, Status.BUDGET, f"none of the {near.tried[i]} nearest rows is accepted")

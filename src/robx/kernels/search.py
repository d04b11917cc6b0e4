"""The search of `Frugal` for one applicant after the other, compiled.

What `robx.methods` does for many applicants at a time, in the same order and with the same results:
`nearest_passing` is `methods.conservative`, `walk_to` is `methods.walks`, and `Pull` with its verbs
is `methods.pullback`. Those modules say why; `tests/methods/test_compiled.py` holds the two
together.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robx.arrays import AnyFloats, AnyInts, Bools
from robx.kernels import nearest
from robx.kernels.compiling import njit
from robx.kernels.conditions import (
    Conditions,
    People,
    admit,
    cost,
    is_changed,
    n_changes,
    same_point,
    share,
)
from robx.kernels.references import borrowed
from robx.kernels.trial import (
    IS_QUIET,
    TESTS,
    Asked,
    Trial,
    begin_at,
    is_stable,
    new_trial,
    passes,
    use_ranks,
)

#: Orders in which rows are looked at: the nearest first; those that pass as they are before all
#: others; or these alone.
ANY, SURE_FIRST, SURE = range(3)
#: What became of a search: nothing in the whole support, an answer, or nothing within the limit.
NOTHING, FOUND, GIVEN_UP = range(3)
#: Neighbours to ask for at a time at most.
MOST_PAGE = 1024
#: Rows that are looked at in any case, if fewer pass than are wanted.
LEAST_ROWS = 40
#: Rows that do not pass as they are, and are looked at once none of the others was found.
MOST_OTHERS = 500
#: Starts that are pulled to the end.
FINALISTS = 2
#: Parts of what undoing a change saves that another feature may take up.
PARTS = (0.1125, 0.225, 0.45, 0.9)


class SupportRows(NamedTuple):
    """n accepted rows of the support.

    Parameters
    ----------
    rows : (n, d) float64
    ranks : (n, u) uint32
        Their ranks, as `robx.kernels.forests.rank` writes them; of no rows where that takes too
        much room.
    fails : (n,) bool
        Whether each row is known not to pass as it is.
    is_plain : bool
        Whether every row, as it is, is an allowed answer for all who miss no values.
    order, cells, first, last, least, right, box
        See `robx.kernels.nearest.build`.
    """

    rows: AnyFloats
    ranks: AnyInts
    fails: Bools
    is_plain: bool
    order: AnyInts
    cells: AnyFloats
    first: AnyInts
    last: AnyInts
    least: AnyInts
    right: AnyInts
    box: AnyFloats


class Settings(NamedTuple):
    """Parameters of a search.

    Parameters
    ----------
    n_targets, max_tries : int
        Rows to walk to, and to look at.
    order : int
        `ANY`, `SURE_FIRST` or `SURE`.
    step, n_steps
        Share of the remaining way that one step goes, and how many steps a walk has.
    halvings, max_tests, most_changes : int
    price : float
        What a changed feature costs beside how far it moves.
    """

    n_targets: int
    max_tries: int
    order: int
    step: float
    n_steps: int
    halvings: int
    max_tests: int
    most_changes: int
    price: float


@njit(nogil=True, cache=True)
def search(
    people: People,
    start: AnyFloats,
    conditions: Conditions,
    support: SupportRows,
    others: SupportRows,
    asked: Asked,
    settings: Settings,
    offered: AnyFloats,
    n_offered: AnyInts,
    points: AnyFloats,
    outcome: AnyInts,
    tried: AnyInts,
    none_above: Bools,
) -> None:
    """Search for m applicants.

    Parameters
    ----------
    people : People
    start : (m, d) float64
        Where each search starts.
    conditions, asked, settings
        See `Conditions`, `Asked` and `Settings`.
    support, others : SupportRows
        By `ANY`, all rows and none; else those that pass as they are, and the others.
    offered, n_offered : (m, w, k, d) float64, (m, w) int64
        Places on the way to other starts, and how many there are: of each way the first that
        passes is one.
    points : (m, d) float64
        Receives the answers.
    outcome : (m,) int8
        Receives `NOTHING`, `FOUND` or `GIVEN_UP`.
    tried : (m,) int64
        Receives the number of rows that were looked at.
    none_above : (m,) bool
        Receives whether no row was accepted once it fitted the applicant.
    """
    _search(
        borrowed(people), start, borrowed(conditions), borrowed(support), borrowed(others),
        borrowed(asked), settings, offered, n_offered, points, outcome, tried, none_above,
    )  # fmt: skip


@njit(nogil=True, cache=True)
def _search(
    people: People,
    start: AnyFloats,
    conditions: Conditions,
    support: SupportRows,
    others: SupportRows,
    asked: Asked,
    settings: Settings,
    offered: AnyFloats,
    n_offered: AnyInts,
    points: AnyFloats,
    outcome: AnyInts,
    tried: AnyInts,
    none_above: Bools,
) -> None:
    m, d = start.shape
    room = new_trial(asked, d)
    trial = borrowed(room)
    starts = np.empty((settings.n_targets + 1 + n_offered.shape[1], d))
    for i in range(m):
        tried[i], none_above[i], outcome[i] = 0, True, FOUND
        starts[0] = start[i]
        n_starts = 1
        if not passes(start[i], i, people, conditions, asked, trial):
            found, outcome[i], tried[i], none_above[i] = nearest_passing(
                i, start[i], people, conditions, support, settings.max_tries, asked, settings,
                trial, starts[1 : settings.n_targets + 1],
            )  # fmt: skip
            if found == 0 and settings.order == SURE_FIRST:
                had_enough = outcome[i] == GIVEN_UP
                most = min(settings.max_tries, MOST_OTHERS)
                found, outcome[i], looked_at, none = nearest_passing(
                    i, start[i], people, conditions, others, most, asked, settings, trial,
                    starts[1 : settings.n_targets + 1],
                )  # fmt: skip
                if had_enough:
                    outcome[i] = GIVEN_UP
                tried[i] += looked_at
                none_above[i] = none_above[i] and none
            if found > 0:
                walk_to(i, start[i], starts[1 : found + 1], people, conditions, asked, settings,
                        trial, starts[0])  # fmt: skip
            n_starts = found + (found > 0)
        for w in range(n_offered.shape[1]):
            for k in range(n_offered[i, w]):
                if passes(offered[i, w, k], i, people, conditions, asked, trial):
                    starts[n_starts] = offered[i, w, k]
                    n_starts += 1
                    break
        if n_starts == 0:
            continue
        outcome[i] = FOUND
        pull(i, starts[:n_starts], people, conditions, asked, settings, trial)
        points[i] = starts[0]
    room.counts[TESTS] += 0  # until here the arrays of `trial` are alive


# --- rows of the support -------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def nearest_passing(
    i: int,
    start: AnyFloats,
    people: People,
    conditions: Conditions,
    support: SupportRows,
    most: int,
    asked: Asked,
    settings: Settings,
    trial: Trial,
    out: AnyFloats,
) -> tuple[int, int, int, bool]:
    """Find the nearest rows that pass once they fit the applicant.

    But for `ANY`, the search ends with the page in which the first was found, if `LEAST_ROWS` were
    looked at. Returns how many there are, `NOTHING` or `GIVEN_UP`, the number of rows that were
    looked at, and whether none of them was accepted.
    """
    n, d = support.rows.shape
    x, n_wanted, fails = people.rows[i], settings.n_targets, support.fails
    is_plain = support.is_plain
    for j in range(d):
        is_plain = is_plain and x[j] == x[j] and people.low[i, j] < people.high[i, j]
    if is_plain:
        most = n + 1
    # What is known of a row counts for those who may have it.
    skip = fails if is_plain else np.zeros(n, np.bool_)
    low, high = np.empty((1, d)), np.empty((1, d))
    for j in range(d):  # who is outside of a range may stay there: rows beside them are near
        low[0, j] = people.low[i, j] if not x[j] < people.low[i, j] else x[j]
        high[0, j] = people.high[i, j] if not x[j] > people.high[i, j] else x[j]
    here, after_raw, after_row = np.empty((1, d)), np.empty(1), np.empty(1, np.int64)
    here[0], after_raw[0], after_row[0] = start, -1.0, -1
    wanted, point, spare = np.empty((1, d)), np.empty((1, d)), np.empty((1, d))
    found, none_above, outcome = 0, not is_plain, NOTHING
    page, looked_at, is_at_end = min(2 * n_wanted + 2, n), 0, n == 0
    while found < n_wanted and not is_at_end:
        if looked_at >= most:
            outcome = GIVEN_UP
            break
        rows, raw = np.empty((1, page), np.int64), np.empty((1, page))
        nearest.query(
            support.order, support.cells, support.first, support.last, support.least,
            support.right, support.box, conditions.unit, conditions.is_label, here, low, high,
            conditions.may_fill, conditions.fill_cost, conditions.norm, skip, after_raw,
            after_row, rows, raw,
        )  # fmt: skip
        for row in rows[0]:
            is_at_end = row < 0
            if is_at_end or found == n_wanted:
                break
            looked_at += 1
            wanted[0] = support.rows[row]
            legal = admit(wanted, i, people, conditions, point, spare)
            if not legal or same_point(point[0], x):
                continue
            if same_point(point[0], wanted[0]):
                none_above = False
                passed = not fails[row]
            else:
                if support.ranks.shape[0] > 0:
                    use_ranks(point[0], wanted[0], support.ranks[row], conditions, asked, trial)
                passed = passes(point[0], i, people, conditions, asked, trial)
                none_above = none_above and trial.scores[0] <= asked.threshold
            for k in range(found):  # rows that differ in what cannot change are one point
                passed = passed and not same_point(out[k], point[0])
            if passed:
                out[found] = point[0]
                found += 1
        is_at_end = is_at_end or looked_at == n
        after_raw[0], after_row[0] = raw[0, -1], rows[0, -1]
        page = min(3 * page, MOST_PAGE, n, max(most - looked_at, 1))
        if settings.order != ANY and found > 0 and looked_at >= LEAST_ROWS:
            break
    return found, outcome, looked_at, none_above


# --- walks ---------------------------------------------------------------------------------------


@njit(nogil=True, cache=True, inline="always")
def walk_to(
    i: int,
    start: AnyFloats,
    targets: AnyFloats,
    people: People,
    conditions: Conditions,
    asked: Asked,
    settings: Settings,
    trial: Trial,
    out: AnyFloats,
) -> None:
    """Write the cheapest of the places where walks to the targets first pass."""
    c, d = targets.shape
    x, n_steps, step = people.rows[i], settings.n_steps, settings.step
    places, price = np.empty((c, n_steps, d)), np.empty((c, n_steps))
    wanted, point, spare = np.empty((1, d)), np.empty((1, d)), np.empty((1, d))
    here = np.empty(d)
    for w in range(c):
        here[:] = start
        left = 1.0
        for k in range(n_steps):
            left *= 1 - step
            for j in range(d):
                goal = targets[w, j]
                jumps = conditions.is_label[j] or start[j] != start[j] or goal != goal
                here[j] = step * goal + (1 - step) * here[j]
                wanted[0, j] = here[j]
                if jumps:  # what has no way between jumps at half of it
                    wanted[0, j] = goal if left < 0.5 else start[j]
                if k == n_steps - 1:
                    wanted[0, j] = goal
            legal = admit(wanted, i, people, conditions, point, spare)
            places[w, k] = point[0]
            price[w, k] = cost(point[0], x, conditions) if legal else math.inf
    to_come = price.copy()
    for w in range(c):
        for k in range(n_steps - 2, -1, -1):
            to_come[w, k] = min(to_come[w, k], to_come[w, k + 1])
    at = np.zeros(c, np.int64)
    best_cost, best_walk = math.inf, c
    out[:] = places[0, -1]
    while True:
        w, least = 0, math.inf
        for walk in range(c):
            if at[walk] < n_steps and to_come[walk, at[walk]] < least:
                w, least = walk, to_come[walk, at[walk]]
        if not (least < best_cost or (least == best_cost and w < best_walk and least < math.inf)):
            return
        k = at[w]
        place = places[w, k]
        passed = k == n_steps - 1 and same_point(place, targets[w])
        repeats = k > 0 and same_point(place, places[w, k - 1])
        if not passed and not repeats and price[w, k] < math.inf:
            passed = passes(place, i, people, conditions, asked, trial)
        at[w] = n_steps if passed else k + 1
        cheaper = price[w, k] < best_cost or (price[w, k] == best_cost and w < best_walk)
        if passed and cheaper:
            best_cost, best_walk = price[w, k], w
            out[:] = place


# --- pulling back --------------------------------------------------------------------------------


class Pull(NamedTuple):
    """A point on its way back to its applicant, and what its steps write to.

    Parameters
    ----------
    point : (d,) float64
        Where it is. It passes, and always will.
    left : (1,) int64
        How many tests it may still take.
    wanted, moved, spare : (1, d) float64
    """

    point: AnyFloats
    left: AnyInts
    wanted: AnyFloats
    moved: AnyFloats
    spare: AnyFloats


@njit(nogil=True, cache=True, inline="always")
def pull(
    i: int,
    starts: AnyFloats,
    people: People,
    conditions: Conditions,
    asked: Asked,
    settings: Settings,
    trial: Trial,
) -> None:
    """Pull all starts back; the best of them is written to the first."""
    n, d = starts.shape
    left = np.full(n, settings.max_tests // n)
    room = np.empty((3, 1, d))
    has_models = asked.forests.link.shape[0] > asked.n_must
    before, is_sure = starts.copy(), np.full(n, not has_models)
    trial.counts[IS_QUIET] = has_models
    for s in range(n):
        one = Pull(starts[s], left[s : s + 1], room[0], room[1], room[2])
        begin_at(starts[s], i, people, conditions, asked, trial)
        _undo(i, one, people, conditions, asked, trial)
    trial.counts[IS_QUIET] = 0
    best = _best(i, starts, people, conditions, settings)[:FINALISTS]
    while not is_sure[best].all():
        for s in best:
            if not is_sure[s] and not is_stable(starts[s], i, people, conditions, asked, trial):
                starts[s] = before[s]
                one = Pull(starts[s], left[s : s + 1], room[0], room[1], room[2])
                begin_at(starts[s], i, people, conditions, asked, trial)
                _undo(i, one, people, conditions, asked, trial)
            is_sure[s] = True
        best = _best(i, starts, people, conditions, settings)[:FINALISTS]
    for s in best:
        one = Pull(starts[s], left[s : s + 1], room[0], room[1], room[2])
        begin_at(starts[s], i, people, conditions, asked, trial)
        _halve(i, one, settings.halvings, people, conditions, asked, trial)
    kept = starts[best]
    s = _best(i, kept, people, conditions, settings)[0]
    starts[0], left[0] = kept[s], left[best[s]]
    one = Pull(starts[0], left[:1], room[0], room[1], room[2])
    begin_at(starts[0], i, people, conditions, asked, trial)
    _trade(i, one, settings.price, people, conditions, asked, trial)


@njit(nogil=True, cache=True, inline="always")
def _best(
    i: int, points: AnyFloats, people: People, conditions: Conditions, settings: Settings
) -> AnyInts:
    """Order points: those within the limit of changes first, then by what they are worth."""
    n = points.shape[0]
    beyond, worth, order = np.empty(n), np.empty(n), np.empty(n, np.int64)
    for s in range(n):
        changes = n_changes(points[s], people.rows[i], conditions.features)
        beyond[s] = max(changes - settings.most_changes, 0)
        worth[s] = _worth(points[s], people.rows[i], settings.price, conditions)
        place = s
        while place > 0 and (
            beyond[order[place - 1]] > beyond[s]
            or (beyond[order[place - 1]] == beyond[s] and worth[order[place - 1]] > worth[s])
        ):
            order[place] = order[place - 1]
            place -= 1
        order[place] = s
    return order


@njit(nogil=True, cache=True)
def _worth(z: AnyFloats, x: AnyFloats, price: float, conditions: Conditions) -> float:
    """Cost of a point, with a price for each feature that it changes."""
    return cost(z, x, conditions) + price * n_changes(z, x, conditions.features)


@njit(nogil=True, cache=True)
def _order_of_shares(z: AnyFloats, x: AnyFloats, sign: float, conditions: Conditions) -> AnyInts:
    """Order features by how far they are from the applicant's: the least first for a sign of 1."""
    n = conditions.features.shape[0]
    shares, order = np.empty(n), np.empty(n, np.int64)
    for feature in range(n):
        shares[feature] = sign * share(feature, z, x, conditions)
        place = feature
        while place > 0 and shares[order[place - 1]] > shares[feature]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = feature
    return order


@njit(nogil=True, cache=True)
def _move(
    i: int,
    one: Pull,
    people: People,
    conditions: Conditions,
    asked: Asked,
    trial: Trial,
) -> bool:
    """Move a point to where it is wanted if that is allowed, nearer and passes."""
    x = people.rows[i]
    if not admit(one.wanted, i, people, conditions, one.moved, one.spare):
        return False
    nearer = cost(one.moved[0], x, conditions) < cost(one.point, x, conditions)
    if not nearer or one.left[0] == 0:
        return False
    one.left[0] -= 1
    if not passes(one.moved[0], i, people, conditions, asked, trial):
        return False
    one.point[:] = one.moved[0]
    return True


@njit(nogil=True, cache=True, inline="always")
def _undo(
    i: int,
    one: Pull,
    people: People,
    conditions: Conditions,
    asked: Asked,
    trial: Trial,
) -> None:
    """Set features back to what the applicant has, where that passes; the least first."""
    x, features = people.rows[i], conditions.features
    for feature in _order_of_shares(one.point, x, 1.0, conditions):
        if is_changed(feature, one.point, x, features):
            for j in range(x.shape[0]):
                one.wanted[0, j] = x[j] if features[feature, j] else one.point[j]
            _move(i, one, people, conditions, asked, trial)


@njit(nogil=True, cache=True, inline="always")
def _halve(
    i: int,
    one: Pull,
    halvings: int,
    people: People,
    conditions: Conditions,
    asked: Asked,
    trial: Trial,
) -> None:
    """Move features towards the applicant, as near as passes; the largest first."""
    x = people.rows[i]
    for feature in _order_of_shares(one.point, x, -1.0, conditions):
        if not conditions.has_between[feature]:
            continue
        j = conditions.first_column[feature]
        failed, passed = x[j], one.point[j]
        for _ in range(halvings):
            middle = failed / 2 + passed / 2
            if middle == failed or middle == passed or middle != middle:
                break
            one.wanted[0] = one.point
            one.wanted[0, j] = middle
            if _move(i, one, people, conditions, asked, trial):
                passed = one.point[j]
            else:
                failed = middle


@njit(nogil=True, cache=True, inline="always")
def _trade(
    i: int,
    one: Pull,
    price: float,
    people: People,
    conditions: Conditions,
    asked: Asked,
    trial: Trial,
) -> None:
    """Undo changes that another feature can make up for, where that lowers what a point is worth.

    The other feature, which is changed as well, goes further out by a part of what is saved.
    """
    x, features = people.rows[i], conditions.features
    n, d = features.shape
    options, worths = np.empty((n * len(PARTS), d)), np.empty(n * len(PARTS))
    for feature in _order_of_shares(one.point, x, 1.0, conditions):
        if not is_changed(feature, one.point, x, features):
            continue
        now, count = _worth(one.point, x, price, conditions), 0
        for other in range(n):
            if other == feature or not conditions.has_between[other]:
                continue
            if not is_changed(other, one.point, x, features):
                continue
            column = conditions.first_column[other]
            value = one.point[column]
            for part in PARTS:
                for j in range(d):
                    one.wanted[0, j] = x[j] if features[feature, j] else one.point[j]
                saved = now - _worth(one.wanted[0], x, price, conditions)
                further = np.sign(value - x[column]) * part * saved
                if conditions.unit_of_share[column] > 0:
                    further = further / conditions.unit_of_share[column]
                    if math.isfinite(further):
                        one.wanted[0, column] += further
                legal = admit(one.wanted, i, people, conditions, one.moved, one.spare)
                worth = _worth(one.moved[0], x, price, conditions)
                # A value may be rounded back to what it was, which is known not to be enough.
                if legal and worth < now and one.moved[0, column] != value:
                    options[count], worths[count] = one.moved[0], worth
                    count += 1
        count = min(count, one.left[0])
        one.left[0] -= count
        for _ in range(count):
            best = worths[:count].argmin()
            if passes(options[best], i, people, conditions, asked, trial):
                one.point[:] = options[best]
                break
            worths[best] = math.inf

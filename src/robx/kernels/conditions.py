"""One point at a time: what an applicant may have, what it costs, and what the model reads.

The same rules as `robx.schema.rules` applies to many points, for the compiled search, which asks
about one after the other. Grids and one-hot groups are those of `robx.kernels.grids`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from robx.arrays import AnyFloats, AnyInts, Bools
from robx.kernels import grids
from robx.kernels.compiling import njit

#: Sums of a relation may be off by so much of their terms; see `robx.schema.relation`.
SLACK = 1e-9


class Ties(NamedTuple):
    """Features that go together, t of them: see `robx.schema.together.Tie`.

    Parameters
    ----------
    leader_start, follower_start, key_start, value_start : (t + 1,) int64
        Where the leading columns, the followers, the keys and the values of each begin.
    leaders, followers : (l,), (f,) int64
        Columns.
    keys, values : float64
        Row by row: a key has a number for each leader, its values one for each follower.
    is_number : (t,) bool
    """

    leader_start: AnyInts
    follower_start: AnyInts
    key_start: AnyInts
    value_start: AnyInts
    leaders: AnyInts
    followers: AnyInts
    keys: AnyFloats
    values: AnyFloats
    is_number: Bools


class Conditions(NamedTuple):
    """What a schema and a model ask of points with d columns.

    Parameters
    ----------
    may_fill : (d,) bool
    kind, numerator, denominator, single, level_start, level_value
        The grids, as `robx.kernels.grids.snap` takes them.
    group_start, group_member, optional
        One-hot groups, as `robx.kernels.grids.settle_groups` takes them.
    is_member : (d,) bool
        Columns of one-hot groups.
    is_tied : bool
        Whether anything ties columns: what goes together, effects or relations.
    ties : Ties
    targets, causes, storable : (e,) int64, (e, d) float64, (2, d) float64
        Effects: the columns that follow, the factors of what they follow from, and what columns
        can store.
    relations, relation_bound, slack : (r, d), (r,), (d,) float64
        Sums, their upper bounds, and how far a column's term may be rounded.
    code_start, code_level, code_value : (d + 1,) int64, float64, float64
        For columns of categories, where their levels begin, the levels' numbers, ascending, and the
        model's codes for them.
    missing_low, missing_high : (d,) float64
        From where to where numbers mean "missing" to the model; NaN where none do.
    is_read : (d,) bool
        Columns that have codes, or numbers that mean "missing".
    needs_reading : bool
        Whether there are any.
    unit, unit_of_share, is_label, fill_cost, first_place : (d,)
        What changes cost in the search's norm and in L1; see `robx.schema.rules.Rules.cost`.
    norm : int
    features : (f, d) bool
        Columns of each feature.
    first_column : (f,) int64
        The first column of each feature.
    has_between : (f,) bool
        Features that are one column of numbers, in which there is a way between two values.
    """

    may_fill: Bools
    kind: AnyInts
    numerator: AnyFloats
    denominator: AnyFloats
    single: Bools
    level_start: AnyInts
    level_value: AnyFloats
    group_start: AnyInts
    group_member: AnyInts
    optional: Bools
    is_member: Bools
    is_tied: bool
    ties: Ties
    targets: AnyInts
    causes: AnyFloats
    storable: AnyFloats
    relations: AnyFloats
    relation_bound: AnyFloats
    slack: AnyFloats
    code_start: AnyInts
    code_level: AnyFloats
    code_value: AnyFloats
    missing_low: AnyFloats
    missing_high: AnyFloats
    is_read: Bools
    needs_reading: bool
    unit: AnyFloats
    unit_of_share: AnyFloats
    is_label: Bools
    fill_cost: AnyFloats
    first_place: AnyFloats
    norm: int
    features: Bools
    first_column: AnyInts
    has_between: Bools


class People(NamedTuple):
    """m applicants: (m, d) arrays.

    Parameters
    ----------
    rows, low, high
        See `robx.problem.Applicants`.
    numbers : float64
        The rows as the model reads them.
    stated_low, stated_high : float64
        What each value may become as it is stated, for what goes together.
    effect_low, effect_high : float64
        What each column may come to hold as an effect.
    has_no_place : bool
        Values that are no level of an ordered column.
    """

    rows: AnyFloats
    low: AnyFloats
    high: AnyFloats
    numbers: AnyFloats
    stated_low: AnyFloats
    stated_high: AnyFloats
    effect_low: AnyFloats
    effect_high: AnyFloats
    has_no_place: Bools

    def part(self, rows: slice) -> People:
        """Some of them."""
        arrays: list[Any] = [array[rows] for array in self]
        return People(*arrays)


@njit(nogil=True, cache=True)
def _differ(a: float, b: float) -> bool:
    return a != b and (a == a or b == b)


@njit(nogil=True, cache=True)
def same_point(a: AnyFloats, b: AnyFloats) -> bool:
    """Whether two points hold the same values."""
    for j in range(a.shape[0]):
        if _differ(a[j], b[j]):
            return False
    return True


# --- what may be ---------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def admit(
    wanted: AnyFloats,
    i: int,
    people: People,
    conditions: Conditions,
    out: AnyFloats,
    spare: AnyFloats,
) -> bool:
    """Bring a wanted point onto what applicant i may have, and tell whether it is legal.

    Parameters
    ----------
    wanted, out, spare : (1, d) float64
        `out` receives the point; `spare` is written over.
    """
    rows, low, high = people.rows[i : i + 1], people.low[i : i + 1], people.high[i : i + 1]
    grids.snap(
        wanted, rows, low, high, conditions.may_fill, conditions.kind, conditions.numerator,
        conditions.denominator, conditions.single, conditions.level_start,
        conditions.level_value, out,
    )  # fmt: skip
    if conditions.group_start.shape[0] > 1:
        grids.settle_groups(
            wanted, rows, low, high, conditions.group_start, conditions.group_member,
            conditions.optional, out,
        )  # fmt: skip
    if conditions.is_tied:
        _settle(out[0], i, people, conditions)
        if _breaks(out[0], i, people, conditions, spare[0]):
            return False
    return not conditions.needs_reading or read(out[0], i, people, conditions, spare[0])


@njit(nogil=True, cache=True)
def _settle(z: AnyFloats, i: int, people: People, conditions: Conditions) -> None:
    """Write what goes together and what follows."""
    for t in range(conditions.ties.is_number.shape[0]):
        _settle_tie(t, z, i, people, conditions.ties)
    x = people.rows[i]
    for e in range(conditions.targets.shape[0]):
        z[conditions.targets[e]] = _effect(e, z, x, conditions)


@njit(nogil=True, cache=True)
def _breaks(z: AnyFloats, i: int, people: People, conditions: Conditions, spare: AnyFloats) -> bool:
    """Whether a settled point breaks something that ties columns."""
    x, ties = people.rows[i], conditions.ties
    for t in range(ties.is_number.shape[0]):
        spare[:] = z
        _settle_tie(t, spare, i, people, ties)
        if not same_point(spare, z):
            return True
    spare[:] = z
    for e in range(conditions.targets.shape[0]):
        j = conditions.targets[e]
        spare[j] = _effect(e, spare, x, conditions)
        beyond = z[j] < people.effect_low[i, j] or z[j] > people.effect_high[i, j]
        if _differ(spare[j], z[j]) or (beyond and _differ(z[j], x[j])):
            return True
    for r in range(conditions.relation_bound.shape[0]):
        total, rounding = 0.0, SLACK * abs(conditions.relation_bound[r])
        for j in range(z.shape[0]):
            if conditions.relations[r, j] != 0:
                term = z[j] * conditions.relations[r, j]
                total += term
                rounding += abs(term) * conditions.slack[j]
        if total - conditions.relation_bound[r] - rounding > 0:  # False where one is missing
            return True
    return False


@njit(nogil=True, cache=True)
def _effect(e: int, z: AnyFloats, x: AnyFloats, conditions: Conditions) -> float:
    """Value of a column that follows from others, on its grid."""
    j, change = conditions.targets[e], 0.0
    for cause in range(z.shape[0]):
        factor = conditions.causes[e, cause]
        if factor != 0:
            part = (z[cause] - x[cause]) * factor
            if part == part:
                change += min(max(part, -1.7976931348623157e308), 1.7976931348623157e308)
    own, wanted = x[j], x[j] + change
    if own != own or wanted == own:
        return float(own)
    levels = conditions.level_value[conditions.level_start[j] : conditions.level_start[j + 1]]
    found = grids.nearest_allowed(
        wanted, conditions.storable[0, j], conditions.storable[1, j], conditions.kind[j],
        conditions.numerator[j], conditions.denominator[j], conditions.single[j], levels,
    )  # fmt: skip
    if found != found or abs(wanted - own) <= abs(wanted - found):
        return float(own)
    return found


@njit(nogil=True, cache=True)
def _settle_tie(t: int, z: AnyFloats, i: int, people: People, ties: Ties) -> None:
    """Write what follows from the leading feature, or leave both as they were."""
    x = people.rows[i]
    leaders = ties.leaders[ties.leader_start[t] : ties.leader_start[t + 1]]
    followers = ties.followers[ties.follower_start[t] : ties.follower_start[t + 1]]
    for j in followers:
        z[j] = x[j]
    has_moved = False
    for j in leaders:
        has_moved = has_moved or _differ(z[j], x[j])
    if not has_moved:
        return
    keys = ties.keys[ties.key_start[t] : ties.key_start[t + 1]]
    values = ties.values[ties.value_start[t] : ties.value_start[t + 1]]
    n_keys, chosen = keys.shape[0] // leaders.shape[0], -1
    for key in range(n_keys):
        fits = True
        for place in range(leaders.shape[0]):
            fits = fits and keys[key * leaders.shape[0] + place] == z[leaders[place]]
        if fits:
            chosen = key
            break
    if chosen >= 0 and not _allows(values, chosen, followers, i, people):
        chosen = -1
    if chosen < 0 and ties.is_number[t]:
        chosen = _nearest_key(keys, values, leaders[0], z[leaders[0]], followers, i, people)
    if chosen < 0:
        for j in leaders:
            z[j] = x[j]
        return
    for place in range(leaders.shape[0]):
        z[leaders[place]] = keys[chosen * leaders.shape[0] + place]
    for place in range(followers.shape[0]):
        j = followers[place]
        if x[j] == x[j]:  # who lacks a value still lacks it
            z[j] = values[chosen * followers.shape[0] + place]


@njit(nogil=True, cache=True)
def _allows(values: AnyFloats, key: int, followers: AnyInts, i: int, people: People) -> bool:
    """Whether an applicant may have what follows from a key."""
    for place in range(followers.shape[0]):
        j = followers[place]
        value, x = values[key * followers.shape[0] + place], people.rows[i, j]
        if x == x and value != x:
            if not people.stated_low[i, j] <= value <= people.stated_high[i, j]:
                return False
    return True


@njit(nogil=True, cache=True)
def _nearest_key(
    keys: AnyFloats,
    values: AnyFloats,
    leader: int,
    wanted: float,
    followers: AnyInts,
    i: int,
    people: People,
) -> int:
    """Find the key between an applicant's value and the wanted one that is nearest to it."""
    x = people.rows[i, leader]
    if not math.isfinite(x):
        return -1
    low = max(min(x, wanted), people.stated_low[i, leader])
    high = min(max(x, wanted), people.stated_high[i, leader])
    chosen = -1
    for key in range(keys.shape[0]):
        if low <= keys[key] <= high and keys[key] != x:
            if chosen < 0 or abs(keys[key] - wanted) < abs(keys[chosen] - wanted):
                if _allows(values, key, followers, i, people):
                    chosen = key
    return chosen


# --- what the model reads ------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def read(z: AnyFloats, i: int, people: People, conditions: Conditions, out: AnyFloats) -> bool:
    """Write a point as the model reads it.

    Returns whether no known value has become one that means "missing" to the model. A one-hot
    column at 0 is not missing, but another is set.
    """
    is_read, is_member = conditions.is_read, conditions.is_member
    x, own = people.rows[i], people.numbers[i]
    start, level, code = conditions.code_start, conditions.code_level, conditions.code_value
    low, high = conditions.missing_low, conditions.missing_high
    is_readable = True
    for j in range(z.shape[0]):
        value = z[j]
        out[j] = value
        if not is_read[j]:
            continue
        if not _differ(value, x[j]):
            out[j] = own[j]
            continue
        if start[j] < start[j + 1] and value == value:
            place, end = start[j], start[j + 1]
            while place < end and level[place] < value:
                place += 1
            value = code[place] if place < end and level[place] == value else math.nan
        if low[j] <= value <= high[j]:
            value = math.nan
        out[j] = value
        if value != value and z[j] == z[j] and not is_member[j]:
            is_readable = False
    return is_readable


# --- what it costs -------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def moved(
    z: float, x: float, unit: float, is_label: bool, fill_cost: float, first_place: float
) -> float:
    """Cost of changing one value to another."""
    if z == x or (z != z and x != x):
        return 0.0
    if z != z or x != x or z < first_place or x < first_place:
        return fill_cost
    if is_label:
        return unit
    if math.isinf(z - x):  # a difference that is too large to be a number may still be a cost
        return abs(z * unit - x * unit)
    return abs(z - x) * unit


@njit(nogil=True, cache=True)
def cost_of(
    z: AnyFloats,
    x: AnyFloats,
    unit: AnyFloats,
    is_label: Bools,
    fill_cost: AnyFloats,
    first_place: AnyFloats,
    norm: int,
) -> float:
    """Distance between an applicant and a point, in units of the features' scales."""
    total, largest = 0.0, 0.0
    for j in range(z.shape[0]):
        one = moved(z[j], x[j], unit[j], is_label[j], fill_cost[j], first_place[j])
        total += one if norm == 1 else one * one
        largest = max(largest, one)
    if norm == 1:
        return total
    if largest <= 1e100 and (largest >= 1e-100 or largest == 0):
        return math.sqrt(total)
    total = 0.0  # squares of the smallest and the largest numbers are none
    for j in range(z.shape[0]):
        one = moved(z[j], x[j], unit[j], is_label[j], fill_cost[j], first_place[j]) / largest
        total += one * one
    return largest * math.sqrt(total)


@njit(nogil=True, cache=True)
def costs(
    Z: AnyFloats,
    X: AnyFloats,
    unit: AnyFloats,
    is_label: Bools,
    fill_cost: AnyFloats,
    first_place: AnyFloats,
    norm: int,
    out: AnyFloats,
) -> None:
    """Write the cost of each point: see `cost_of`."""
    for i in range(Z.shape[0]):
        out[i] = cost_of(Z[i], X[i], unit, is_label, fill_cost, first_place, norm)


@njit(nogil=True, cache=True)
def cost(z: AnyFloats, x: AnyFloats, c: Conditions) -> float:
    """Cost of a point in the search's norm."""
    return cost_of(z, x, c.unit, c.is_label, c.fill_cost, c.first_place, c.norm)


@njit(nogil=True, cache=True)
def share(feature: int, z: AnyFloats, x: AnyFloats, c: Conditions) -> float:
    """How far one feature is from the applicant's, in L1."""
    total = 0.0
    for j in range(z.shape[0]):
        if c.features[feature, j]:
            total += moved(
                z[j], x[j], c.unit_of_share[j], c.is_label[j], c.fill_cost[j], c.first_place[j]
            )
    return total


@njit(nogil=True, cache=True)
def is_changed(feature: int, z: AnyFloats, x: AnyFloats, features: Bools) -> bool:
    """Whether a feature differs from the applicant's."""
    for j in range(z.shape[0]):
        if features[feature, j] and _differ(z[j], x[j]):
            return True
    return False


@njit(nogil=True, cache=True)
def n_changes(z: AnyFloats, x: AnyFloats, features: Bools) -> int:
    """Number of features that differ."""
    count = 0
    for feature in range(features.shape[0]):
        count += is_changed(feature, z, x, features)
    return count

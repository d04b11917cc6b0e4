"""Where the columns of an applicant can go, within what a path through a tree asks.

A leaf is a box: its path asks ``low < x <= high`` of numbers, and of a category to be one of some
codes. The conditions of a path are intersected as the tree is walked, and a subtree is left out as
soon as one column has no allowed value left. What a path asks of a missing value is which way it
goes: a value that stays missing either follows the path or does not. A number that means "missing"
to the model is one that nobody comes to have, but for a one-hot column that is not set.

Two kinds of numbers
--------------------
Points are in the schema's numbers, where categories stand by level. Splits are in the model's,
where they stand by code, and values that mean "missing" are NaN. The two differ in columns of
categories only, for which `Moves` lists each level with its code.

Where a walk is
---------------
``path[k]`` is the split at depth k above it and ``side[k]`` whether it went left (0) or right (1).
A row of `box` holds, for a column, what the path asks (`LOW`, `HIGH`), how many of its conditions
the value of now fails (`AGAINST`) and how many a missing one would (`UNKNOWN`), where a number goes
that fails any (`VALUE`), and what a number in there costs at least (`FLOOR`). ``dead[k]`` counts
what rules out the k-th listed level. `columns` holds what does not change during a walk.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robx.arrays import AnyFloats, AnyInts, Bools, Words
from robx.kernels.compiling import njit
from robx.kernels.grids import FREE, LEVELS, nearest_allowed
from robx.kernels.trees import Trees

LOW, HIGH, VALUE, AGAINST, FLOOR, UNKNOWN = range(6)
OWN, LEAST, MOST, FILL, KIND, NUMERATOR, DENOMINATOR, SINGLE, INSIDE = range(9)
MISSING, TO_MISSING, UNIT, UNSET = range(9, 13)


class RankedTrees(NamedTuple):
    """An ensemble, and what its leaves do to the score.

    ``sign[tree]`` is 1 where larger leaf values raise the score and -1 where they lower it; `best`
    is what `best_below` makes of that, and `longest` the greatest depth.
    """

    trees: Trees
    sign: AnyFloats
    best: AnyFloats
    longest: int


class Moves(NamedTuple):
    """Which values columns may take, and what a move costs.

    The grids are those of `robx.kernels.grids`. ``inside`` is how far inside a box a number is put.
    Values from ``missing_from`` to ``missing_to`` mean "missing" (NaN where there are none). Levels
    of a column that the model splits by category, with their codes, are at ``code_start[j]`` to
    ``code_start[j + 1]``; ``group[j]`` is the one-hot group of a column or -1.
    """

    kind: AnyInts
    numerator: AnyFloats
    denominator: AnyFloats
    single: Bools
    level_start: AnyInts
    level_value: AnyFloats
    inside: AnyFloats
    missing_from: AnyFloats
    missing_to: AnyFloats
    code_start: AnyInts
    code_level: AnyFloats
    code: AnyFloats
    group: AnyInts
    group_start: AnyInts
    group_member: AnyInts
    group_optional: Bools
    unit: AnyFloats
    fill_cost: AnyFloats
    is_label: Bools
    norm: int


class Person(NamedTuple):
    """An applicant, their bounds, which of their missing values may be filled, and where they are.

    ``now`` is the point from which they move and ``now_numbers`` the same in the model's numbers.
    """

    own: AnyFloats
    low: AnyFloats
    high: AnyFloats
    may_fill: Bools
    now: AnyFloats
    now_numbers: AnyFloats


# --- made ready for a walk -----------------------------------------------------------------------


@njit(nogil=True, cache=True)
def column_table(person: Person, moves: Moves) -> AnyFloats:
    """What a walk needs to know of each column, side by side: (d, 13)."""
    out = np.empty((person.own.shape[0], 13))
    for j in range(person.own.shape[0]):
        out[j, OWN] = person.own[j]
        out[j, LEAST], out[j, MOST] = person.low[j], person.high[j]
        out[j, FILL] = person.may_fill[j]
        out[j, KIND], out[j, SINGLE] = moves.kind[j], moves.single[j]
        out[j, NUMERATOR], out[j, DENOMINATOR] = moves.numerator[j], moves.denominator[j]
        out[j, INSIDE] = moves.inside[j]
        out[j, MISSING], out[j, TO_MISSING] = moves.missing_from[j], moves.missing_to[j]
        # What means "missing" may follow a path at no cost, or as 0, wherever its box lies.
        lost = moves.missing_from[j] <= person.own[j] <= moves.missing_to[j]
        unset = moves.group[j] >= 0 and moves.missing_from[j] <= 0 <= moves.missing_to[j]
        out[j, UNSET] = unset and person.low[j] <= 0 <= person.high[j]
        bounded = not moves.is_label[j] and not lost and not unset
        out[j, UNIT] = moves.unit[j] if bounded else 0.0
    return out


@njit(nogil=True, cache=True)
def open_box(person: Person) -> AnyFloats:
    """No conditions: (d, 6)."""
    box = np.zeros((person.own.shape[0], 6))
    box[:, LOW], box[:, HIGH] = -np.inf, np.inf
    return box


@njit(nogil=True, cache=True)
def dead_levels(person: Person, moves: Moves) -> AnyInts:
    """1 for each listed level that the applicant cannot have or the model does not know."""
    dead = np.zeros(moves.code.shape[0], dtype=np.int64)
    for j in range(person.own.shape[0]):
        stays_missing = person.own[j] != person.own[j] and not person.may_fill[j]
        for k in range(moves.code_start[j], moves.code_start[j + 1]):
            allowed = person.low[j] <= moves.code_level[k] <= person.high[j]
            allowed = allowed or moves.code_level[k] == person.own[j]
            if stays_missing or not allowed or moves.code[k] != moves.code[k]:
                dead[k] = 1
    return dead


@njit(nogil=True, cache=True)
def sides(person: Person, trees: Trees) -> Bools:
    """Whether the person's point of now goes left, for each split."""
    feature, threshold, missing_left, category_row, category_bits = trees[:5]
    left = np.empty(feature.shape[0], dtype=np.bool_)
    for split in range(feature.shape[0]):
        value = person.now_numbers[feature[split]]
        if value != value:
            left[split] = missing_left[split]
        elif category_row[split] < 0:
            left[split] = value <= threshold[split]
        else:
            left[split] = has_code(category_bits, category_row[split], value)
    return left


@njit(nogil=True, cache=True)
def has_code(category_bits: Words, row: int, value: float) -> bool:
    """Whether a set of categories has a code."""
    code = int(value)
    return bool((category_bits[row, code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != 0)


# --- where a column can go -----------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _on_grid(
    wanted: float,
    low: float,
    high: float,
    columns: AnyFloats,
    j: int,
    level_start: AnyInts,
    level_value: AnyFloats,
) -> float:
    kind, single = int(columns[j, KIND]), columns[j, SINGLE] != 0
    step, parts = float(columns[j, NUMERATOR]), float(columns[j, DENOMINATOR])
    levels = level_value
    if kind == LEVELS:
        levels = level_value[level_start[j] : level_start[j + 1]]
    return float(nearest_allowed(wanted, low, high, kind, step, parts, single, levels))


@njit(nogil=True, cache=True)
def place(
    columns: AnyFloats,
    box: AnyFloats,
    j: int,
    level_start: AnyInts,
    level_value: AnyFloats,
) -> float:
    """Where a number goes that must be in the column's box; NaN if it cannot be.

    The applicant's own value where that will do. Else just inside the side that is nearer to it, or
    in the middle of a narrow box; of what they lack, in the middle of what is possible.
    """
    low, high = float(box[j, LOW]), float(box[j, HIGH])
    x = float(columns[j, OWN])
    first, last = float(columns[j, MISSING]), float(columns[j, TO_MISSING])
    least = max(float(np.nextafter(low, np.inf)), float(columns[j, LEAST]))
    most = min(high, float(columns[j, MOST]))
    if low < x <= high and not first <= x <= last:
        return x
    if box[j, UNKNOWN] == 0:  # the path is that of a missing value
        if first <= x <= last:
            return x
        if columns[j, UNSET] != 0 and x == x:
            return 0.0
    if not least <= most or (x != x and columns[j, FILL] == 0):
        return math.nan
    inside = float(columns[j, INSIDE])
    if x != x:
        wanted = 0.5 * least + 0.5 * most
    elif low < x <= high:  # which means "missing"
        wanted = x
    elif high - low < 2 * inside:
        wanted = 0.5 * low + 0.5 * high
    elif x <= low:
        wanted = low + inside
    else:
        wanted = high - inside
    found = _on_grid(wanted, least, most, columns, j, level_start, level_value)
    if not first <= found <= last:
        return found
    # It would mean "missing": go round it.
    away = inside if columns[j, KIND] == FREE else 0.0
    before, after = float(np.nextafter(first, -np.inf)), float(np.nextafter(last, np.inf))
    below = _on_grid(first - away, least, before, columns, j, level_start, level_value)
    above = _on_grid(last + away, after, most, columns, j, level_start, level_value)
    return above if below != below or abs(above - wanted) < abs(below - wanted) else below


@njit(nogil=True, cache=True)
def count_levels(
    j: int, own: float, code_start: AnyInts, code_level: AnyFloats, dead: AnyInts
) -> int:
    """Number of levels that the path leaves; only their own, where it is among them."""
    count = 0
    for k in range(code_start[j], code_start[j + 1]):
        if dead[k] == 0:
            if code_level[k] == own:
                return 1
            count += 1
    return count


@njit(nogil=True, cache=True)
def nth_level(
    j: int, own: float, code_start: AnyInts, code_level: AnyFloats, dead: AnyInts, n: int
) -> float:
    """Level number n of those, counted round and round."""
    at = n % count_levels(j, own, code_start, code_level, dead)
    found = math.nan
    for k in range(code_start[j], code_start[j + 1]):
        if dead[k] == 0:
            if code_level[k] == own:
                return float(own)
            if at == 0:
                found = float(code_level[k])
            at -= 1
    return found


@njit(nogil=True, cache=True)
def _may_be(
    value: float,
    j: int,
    columns: AnyFloats,
    box: AnyFloats,
    code_start: AnyInts,
    code_level: AnyFloats,
    dead: AnyInts,
) -> bool:
    """Whether a member of a group may be off (0) or set (1), and then follows the path."""
    if value == 1 and not columns[j, LEAST] <= 1 <= columns[j, MOST]:
        return False
    for k in range(code_start[j], code_start[j + 1]):
        if code_level[k] == value:
            return bool(dead[k] == 0)
    if columns[j, MISSING] <= value <= columns[j, TO_MISSING]:
        return bool(box[j, UNKNOWN] == 0)
    return bool(box[j, LOW] < value <= box[j, HIGH])


@njit(nogil=True, cache=True)
def choose_member(
    members: AnyInts,
    optional: bool,
    n: int,
    columns: AnyFloats,
    box: AnyFloats,
    code_start: AnyInts,
    code_level: AnyFloats,
    dead: AnyInts,
) -> tuple[int, int]:
    """Count the ways to settle a one-hot group as the path asks, and give the n-th of them.

    A way is the member that is set, or -1 for none in an optional group. A member that must be set
    is the only way, and so is the applicant's own if it will do.
    """
    n_must, must = 0, -1
    for j in members:
        if not _may_be(0.0, j, columns, box, code_start, code_level, dead):
            n_must += 1
            must = j
    if n_must > 1:
        return 0, -1
    none = 1 if optional and n_must == 0 else 0
    count, own = none, -1
    for j in members:
        if must in (-1, j) and _may_be(1.0, j, columns, box, code_start, code_level, dead):
            count += 1
            own = j if columns[j, OWN] == 1 else own
    if count == 0 or own >= 0:
        return min(count, 1), own
    at, chosen = n % count - none, -1
    for j in members:
        if must in (-1, j) and _may_be(1.0, j, columns, box, code_start, code_level, dead):
            chosen = j if at == 0 else chosen
            at -= 1
    return count, chosen

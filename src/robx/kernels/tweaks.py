"""Moving an applicant into better leaves, and how good their leaves can get.

A leaf is a box: its path asks ``low < x <= high`` of numbers, and of a category to be one of some
codes. The conditions of a path are intersected as the tree is walked, and a subtree is left out as
soon as one column has no allowed value left. What a path asks of a missing value is which way it
goes: a value that stays missing either follows the path or does not. To some models zero means
"missing" as well, and that is a value which one can come to have.

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
from numba import njit

from robx.kernels.grids import FREE, LEVELS, nearest_allowed
from robx.kernels.types import BoolArray, FloatArray, IntArray, WordArray

__all__ = ["CHOICES", "Moves", "Person", "Trees", "best_below", "best_reachable", "candidates"]

#: Where a path leaves a choice of categories, at most so many are tried.
CHOICES = 16

LOW, HIGH, VALUE, AGAINST, FLOOR, UNKNOWN = range(6)
OWN, LEAST, MOST, FILL, KIND, NUMERATOR, DENOMINATOR, SINGLE, INSIDE = range(9)
MISSING, TO_MISSING, ZERO, UNIT = range(9, 13)


class Trees(NamedTuple):
    """An ensemble's arrays (see `robx.kernels.trees`), and what its leaves do to the score.

    ``sign[tree]`` is 1 where larger leaf values raise the score and -1 where they lower it; `best`
    is what `best_below` makes of that, and `longest` the greatest depth.
    """

    feature: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    category_row: IntArray
    category_bits: WordArray
    tree_start: IntArray
    tree_class: IntArray
    node_split: IntArray
    node_right: IntArray
    leaf_value: FloatArray
    sign: FloatArray
    best: FloatArray
    longest: int


class Moves(NamedTuple):
    """Which values columns may take, and what a move costs.

    The grids are those of `robx.kernels.grids`. ``inside`` is how far inside a box a number is put.
    Values from ``missing_from`` to ``missing_to`` mean "missing" (NaN where there are none). Levels
    of a column that the model splits by category, with their codes, are at ``code_start[j]`` to
    ``code_start[j + 1]``; ``group[j]`` is the one-hot group of a column or -1.
    """

    kind: IntArray
    numerator: FloatArray
    denominator: FloatArray
    single: BoolArray
    level_start: IntArray
    level_value: FloatArray
    inside: FloatArray
    missing_from: FloatArray
    missing_to: FloatArray
    code_start: IntArray
    code_level: FloatArray
    code: FloatArray
    group: IntArray
    group_start: IntArray
    group_member: IntArray
    group_optional: BoolArray
    unit: FloatArray
    fill_cost: FloatArray
    is_label: BoolArray
    norm: int


class Person(NamedTuple):
    """An applicant, their bounds, which of their missing values may be filled, and where they are.

    ``now`` is the point from which they move and ``now_numbers`` the same in the model's numbers.
    """

    own: FloatArray
    low: FloatArray
    high: FloatArray
    may_fill: BoolArray
    now: FloatArray
    now_numbers: FloatArray


# --- made ready for a walk -----------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _columns(person: Person, moves: Moves) -> FloatArray:
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
        out[j, ZERO] = _zero(out, j, moves.level_start, moves.level_value)
        bounded = not moves.is_label[j] and out[j, ZERO] != out[j, ZERO]
        out[j, UNIT] = moves.unit[j] if bounded else 0.0
    return out


@njit(nogil=True, cache=True)
def _open_box(person: Person) -> FloatArray:
    """No conditions: (d, 6)."""
    box = np.zeros((person.own.shape[0], 6))
    box[:, LOW], box[:, HIGH] = -np.inf, np.inf
    return box


@njit(nogil=True, cache=True)
def _dead_levels(person: Person, moves: Moves) -> IntArray:
    """1 for each listed level that the applicant cannot have or the model does not know."""
    dead = np.zeros(moves.code.shape[0], dtype=np.int64)
    for j in range(person.own.shape[0]):
        stays_missing = person.own[j] != person.own[j] and not person.may_fill[j]
        for k in range(moves.code_start[j], moves.code_start[j + 1]):
            allowed = person.low[j] <= moves.code_level[k] <= person.high[j]
            if stays_missing or not allowed or moves.code[k] != moves.code[k]:
                dead[k] = 1
    return dead


@njit(nogil=True, cache=True)
def _sides(person: Person, trees: Trees) -> BoolArray:
    """Whether the person's point of now goes left, for each split."""
    left = np.empty(trees.feature.shape[0], dtype=np.bool_)
    for split in range(trees.feature.shape[0]):
        value = person.now_numbers[trees.feature[split]]
        if value != value:
            left[split] = trees.missing_left[split]
        elif trees.category_row[split] < 0:
            left[split] = value <= trees.threshold[split]
        else:
            left[split] = _has_code(trees.category_bits, trees.category_row[split], value)
    return left


@njit(nogil=True, cache=True)
def _has_code(category_bits: WordArray, row: int, value: float) -> bool:
    code = int(value)
    return bool((category_bits[row, code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != 0)


# --- where a column can go -----------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _on_grid(
    wanted: float,
    low: float,
    high: float,
    columns: FloatArray,
    j: int,
    level_start: IntArray,
    level_value: FloatArray,
) -> float:
    kind, single = int(columns[j, KIND]), columns[j, SINGLE] != 0
    step, parts = float(columns[j, NUMERATOR]), float(columns[j, DENOMINATOR])
    levels = level_value
    if kind == LEVELS:
        levels = level_value[level_start[j] : level_start[j + 1]]
    return float(nearest_allowed(wanted, low, high, kind, step, parts, single, levels))


@njit(nogil=True, cache=True)
def _zero(columns: FloatArray, j: int, level_start: IntArray, level_value: FloatArray) -> float:
    """Value that the applicant may have and that means "missing", where zero does; else NaN."""
    x, first, last = columns[j, OWN], columns[j, MISSING], columns[j, TO_MISSING]
    if x != x or not first <= 0 <= last:
        return math.nan
    least, most = max(first, columns[j, LEAST]), min(last, columns[j, MOST])
    if least <= x <= most:
        return float(x)
    return _on_grid(0.0, float(least), float(most), columns, j, level_start, level_value)


@njit(nogil=True, cache=True)
def _place(
    low: float,
    high: float,
    columns: FloatArray,
    j: int,
    level_start: IntArray,
    level_value: FloatArray,
) -> float:
    """Where a number goes that must be above `low` and at most `high`; NaN if it cannot.

    The applicant's own value where that will do. Else just inside the side that is nearer to it, or
    in the middle of a narrow box; of what they lack, in the middle of what is possible.
    """
    x = float(columns[j, OWN])
    first, last = float(columns[j, MISSING]), float(columns[j, TO_MISSING])
    least = max(float(np.nextafter(low, np.inf)), float(columns[j, LEAST]))
    most = min(high, float(columns[j, MOST]))
    if least <= x <= most and not first <= x <= last:
        return x
    if not least <= most or (x != x and columns[j, FILL] == 0):
        return math.nan
    inside = float(columns[j, INSIDE])
    if x != x:
        wanted = 0.5 * least + 0.5 * most
    elif low < x <= high:  # which is not allowed, or means "missing"
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
def _place_or_lose(
    columns: FloatArray, box: FloatArray, j: int, level_start: IntArray, level_value: FloatArray
) -> float:
    """Where a number goes, or if that is nearer and the path allows it, a zero that is missing."""
    low, high = float(box[j, LOW]), float(box[j, HIGH])
    found = _place(low, high, columns, j, level_start, level_value)
    x, zero = float(columns[j, OWN]), float(columns[j, ZERO])
    if box[j, UNKNOWN] > 0 or zero != zero or abs(found - x) <= abs(zero - x):
        return found
    return zero


@njit(nogil=True, cache=True)
def _count_levels(
    j: int, own: float, code_start: IntArray, code_level: FloatArray, dead: IntArray
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
def _nth_level(
    j: int, own: float, code_start: IntArray, code_level: FloatArray, dead: IntArray, n: int
) -> float:
    """Level number n of those, counted round and round."""
    at = n % _count_levels(j, own, code_start, code_level, dead)
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
    columns: FloatArray,
    box: FloatArray,
    code_start: IntArray,
    code_level: FloatArray,
    dead: IntArray,
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
def _choose_member(
    members: IntArray,
    optional: bool,
    n: int,
    columns: FloatArray,
    box: FloatArray,
    code_start: IntArray,
    code_level: FloatArray,
    dead: IntArray,
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


# --- walking -------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _rule_out(
    j: int,
    row: int,
    left: bool,
    by: int,
    category_bits: WordArray,
    code_start: IntArray,
    code: FloatArray,
    dead: IntArray,
) -> None:
    """Count a split by category against the levels that go the other way, or no longer."""
    for k in range(code_start[j], code_start[j + 1]):
        if code[k] == code[k] and _has_code(category_bits, row, code[k]) != left:
            dead[k] += by


@njit(nogil=True, cache=True)
def _next_leaf(
    root: int,
    depth: int,
    now_left: BoolArray,
    columns: FloatArray,
    level_start: IntArray,
    level_value: FloatArray,
    code_start: IntArray,
    code_level: FloatArray,
    code: FloatArray,
    feature: IntArray,
    threshold: FloatArray,
    missing_left: BoolArray,
    category_row: IntArray,
    category_bits: WordArray,
    node_split: IntArray,
    node_right: IntArray,
    best: FloatArray,
    path: IntArray,
    side: IntArray,
    saved: FloatArray,
    box: FloatArray,
    dead: IntArray,
    worth: float,
    budget: float,
    norm: int,
) -> tuple[int, int]:
    """Go on from a leaf at a depth, or begin at -1, to the next leaf that can be reached.

    Branches with no leaf worth more than `worth` are left out, and those that are sure to cost
    `budget` or more. Returns the leaf, or -1 if there is no more, and its depth. The walk then
    holds its box.
    """
    node = -1
    if depth < 0:
        node, depth = root, 0
        saved[0, 6] = 0.0
    while True:
        if node >= 0:
            if node_split[node] < 0:
                return -1 - node_split[node], depth
            path[depth] = node
            depth += 1
            left = best[node + 1] > worth
        else:  # nothing below: take the last condition back, and go to its other side or up
            if depth == 0:
                return -1, 0
            at = depth - 1
            split = node_split[path[at]]
            j = feature[split]
            for k in range(6):
                box[j, k] = saved[at, k]
            if category_row[split] >= 0:
                row = category_row[split]
                _rule_out(j, row, side[at] == 0, -1, category_bits, code_start, code, dead)
            if side[at] == 1:
                depth -= 1
                continue
            left = False
        at = depth - 1
        below = path[at] + 1 if left else node_right[path[at]]
        node = -1
        if not best[below] > worth:
            depth -= 1
            continue
        # Add the condition at the end of the path; go on below if it can be met.
        side[at] = 0 if left else 1
        split = node_split[path[at]]
        j = feature[split]
        for k in range(6):
            saved[at, k] = box[j, k]
        if now_left[split] != left:
            box[j, AGAINST] += 1
        if missing_left[split] != left:
            box[j, UNKNOWN] += 1
        met = box[j, AGAINST] == 0
        if category_row[split] >= 0:
            _rule_out(j, category_row[split], left, 1, category_bits, code_start, code, dead)
            own = columns[j, OWN]
            met = met or _count_levels(j, own, code_start, code_level, dead) > 0
        else:
            if left:
                box[j, HIGH] = min(box[j, HIGH], threshold[split])
            else:
                box[j, LOW] = max(box[j, LOW], threshold[split])
            own, unit = float(columns[j, OWN]), float(columns[j, UNIT])
            away = max(float(box[j, LOW]) - own, own - float(box[j, HIGH]))
            if away > 0 and unit > 0:
                box[j, FLOOR] = away * unit if norm == 1 else (away * unit) ** 2
        saved[depth, 6] = saved[at, 6] + (box[j, FLOOR] - saved[at, FLOOR])
        if not saved[depth, 6] < budget:
            continue
        if not met and category_row[split] < 0:
            box[j, VALUE] = _place_or_lose(columns, box, j, level_start, level_value)
            met = box[j, VALUE] == box[j, VALUE]
        if met:
            node = below


# --- the best that can be reached ----------------------------------------------------------------


@njit(nogil=True, cache=True)
def best_below(
    tree_start: IntArray,
    node_split: IntArray,
    node_right: IntArray,
    leaf_value: FloatArray,
    sign: FloatArray,
) -> FloatArray:
    """Largest leaf value below each node, times the tree's sign: (N,) float64."""
    out = np.empty(node_split.shape[0])
    for tree in range(sign.shape[0]):
        for node in range(tree_start[tree + 1] - 1, tree_start[tree] - 1, -1):
            if node_split[node] < 0:
                out[node] = sign[tree] * float(leaf_value[-1 - node_split[node]])
            else:
                out[node] = max(out[node + 1], out[node_right[node]])
    return out


@njit(nogil=True, cache=True)
def best_reachable(
    X: FloatArray,
    numbers: FloatArray,
    low: FloatArray,
    high: FloatArray,
    may_fill: BoolArray,
    trees: Trees,
    moves: Moves,
    out: FloatArray,
) -> None:
    """Add to ``out[row, class]`` for each tree the best leaf that an applicant can reach.

    Summed as `robx.kernels.trees.margins` sums, so that no allowed point has better sums, to the
    last bit. The bound is tight for one tree without one-hot groups; relations are not looked at.

    Parameters
    ----------
    X, numbers : (n, d) float64
        The applicants in the schema's numbers and in the model's. Where their own values are not
        allowed, the nearest that are.
    low, high : (n, d) float64
        Their bounds.
    may_fill : (n, d) bool
        Which of their missing values may be filled; the others stay missing.
    trees, moves
        See `Trees` and `Moves`.
    out : (n, C)
        Sums of leaf values; starts as the base.
    """
    # Taken out once: a tuple counts its arrays' users at every look.
    feature, threshold, category_row = trees.feature, trees.threshold, trees.category_row
    category_bits, node_split, node_right = trees.category_bits, trees.node_split, trees.node_right
    level_start, level_value, code_start = moves.level_start, moves.level_value, moves.code_start
    code_level, code, best, sign = moves.code_level, moves.code, trees.best, trees.sign
    leaf_value, tree_start, missing_left = trees.leaf_value, trees.tree_start, trees.missing_left
    path, side = np.empty(trees.longest + 1, np.int64), np.empty(trees.longest + 1, np.int64)
    saved = np.empty((trees.longest + 1, 7))
    for i in range(X.shape[0]):
        person = Person(X[i], low[i], high[i], may_fill[i], X[i], numbers[i])
        columns, box, dead = _columns(person, moves), _open_box(person), _dead_levels(person, moves)
        now_left = _sides(person, trees)
        for tree in range(trees.tree_class.shape[0]):
            found, depth, worth = -1, -1, -np.inf
            while True:
                leaf, depth = _next_leaf(
                    tree_start[tree], depth, now_left, columns, level_start,
                    level_value, code_start, code_level, code,
                    feature, threshold, missing_left, category_row, category_bits,
                    node_split, node_right, best, path, side, saved, box, dead,
                    worth, np.inf, 1,
                )  # fmt: skip
                if leaf < 0:
                    break
                found, worth = leaf, sign[tree] * float(leaf_value[leaf])
            out[i, trees.tree_class[tree]] += leaf_value[found]


# --- candidates ----------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def candidates(
    person: Person, trees: Trees, moves: Moves, points: FloatArray, costs: FloatArray
) -> int:
    """Write the cheapest points that lie in a better leaf of some tree than the person does now.

    For each such leaf, those columns that are outside its box are moved into it, and the rest stays
    as it is now. Where the path leaves a choice of categories, up to `CHOICES` of them are written.

    Parameters
    ----------
    person, trees, moves
        See `Person`, `Trees` and `Moves`.
    points : (m, d) float64
        Receives up to m points, the cheapest if there are more, in no order.
    costs : (m,) float64
        Receives what each costs, measured from the person's own values; squared for norm 2.

    Returns
    -------
    int
        Number of points.
    """
    # Taken out once: a tuple counts its arrays' users at every look.
    feature, threshold, category_row = trees.feature, trees.threshold, trees.category_row
    category_bits, node_split, node_right = trees.category_bits, trees.node_split, trees.node_right
    level_start, level_value, code_start = moves.level_start, moves.level_value, moves.code_start
    code_level, code, best, sign = moves.code_level, moves.code, trees.best, trees.sign
    leaf_value, tree_start, missing_left = trees.leaf_value, trees.tree_start, trees.missing_left
    group, group_start, group_member = moves.group, moves.group_start, moves.group_member
    group_optional, unit, fill_cost = moves.group_optional, moves.unit, moves.fill_cost
    is_label, norm, own, now = moves.is_label, moves.norm, person.own, person.now
    path, side = np.empty(trees.longest + 1, np.int64), np.empty(trees.longest + 1, np.int64)
    saved = np.empty((trees.longest + 1, 7))
    columns, box, dead = _columns(person, moves), _open_box(person), _dead_levels(person, moves)
    now_left = _sides(person, trees)
    heap = np.empty(costs.shape[0], dtype=np.int64)
    place, value = np.empty(own.shape[0], np.int64), np.empty(own.shape[0])
    count, base = 0, 0.0
    spent = np.empty(own.shape[0])
    for j in range(own.shape[0]):
        spent[j] = _cost(
            own[j], now[j], unit[j], fill_cost[j], is_label[j],
            norm,
        )  # fmt: skip
        base += spent[j]
    for tree in range(trees.tree_class.shape[0]):
        here = _leaf_of(tree_start[tree], now_left, node_split, node_right)
        worth, depth = sign[tree] * float(leaf_value[here]), -1
        if not best[tree_start[tree]] > worth:
            continue
        while True:
            leaf, depth = _next_leaf(
                tree_start[tree], depth, now_left, columns, level_start,
                level_value, code_start, code_level, code, feature,
                threshold, missing_left, category_row, category_bits, node_split,
                node_right, best, path, side, saved, box, dead, worth,
                costs[heap[0]] if count == costs.shape[0] else np.inf, norm,
            )  # fmt: skip
            if leaf < 0:
                break
            n, n_ways = 0, 1
            while n < min(n_ways, CHOICES):
                n_moves, ways = _list_moves(
                    n, path[:depth], feature, node_split, columns, box, dead,
                    code_start, code_level, group, group_start,
                    group_member, group_optional, place, value,
                )  # fmt: skip
                n_ways = ways
                n += 1
                if n_ways == 0:
                    break
                cost = base
                for k in range(n_moves):
                    j = place[k]
                    cost -= spent[j]
                    cost += _cost(
                        own[j], value[k], unit[j], fill_cost[j],
                        is_label[j], norm,
                    )  # fmt: skip
                slot = _take_slot(heap, costs, count, cost)
                if slot < 0:
                    continue
                count = min(count + 1, costs.shape[0])
                for j in range(now.shape[0]):
                    points[slot, j] = now[j]
                for k in range(n_moves):
                    points[slot, place[k]] = value[k]
    return count


@njit(nogil=True, cache=True)
def _leaf_of(root: int, now_left: BoolArray, node_split: IntArray, node_right: IntArray) -> int:
    node = root
    while node_split[node] >= 0:
        node = node + 1 if now_left[node_split[node]] else node_right[node]
    return int(-1 - node_split[node])


@njit(nogil=True, cache=True)
def _cost(
    own: float, value: float, unit: float, fill_cost: float, is_label: bool, norm: int
) -> float:
    """Cost of having a value instead of one's own, squared for norm 2."""
    if own != own or value != value:
        cost = fill_cost if (own != own) != (value != value) else 0.0
    elif is_label:
        cost = unit if value != own else 0.0
    else:
        cost = abs(value - own) * unit
    return cost if norm == 1 else cost * cost


@njit(nogil=True, cache=True)
def _list_moves(
    n: int,
    path: IntArray,
    feature: IntArray,
    node_split: IntArray,
    columns: FloatArray,
    box: FloatArray,
    dead: IntArray,
    code_start: IntArray,
    code_level: FloatArray,
    group: IntArray,
    group_start: IntArray,
    group_member: IntArray,
    group_optional: BoolArray,
    place: IntArray,
    value: FloatArray,
) -> tuple[int, int]:
    """List the columns that move into a leaf in its n-th way, and where to.

    Returns their number, and the number of ways: as many as the column or group with the most of
    them has, or 0 if one has none.
    """
    count, most = 0, 1
    for node in path:
        j = feature[node_split[node]]
        known = box[j, AGAINST] == 0
        for k in range(count):
            known = known or place[k] == j
        if known:
            continue
        ways = 1
        if group[j] >= 0:
            members = group_member[group_start[group[j]] : group_start[group[j] + 1]]
            ways, chosen = _choose_member(
                members, group_optional[group[j]], n, columns, box, code_start, code_level, dead
            )
            for member in members:
                place[count], value[count] = member, 1.0 if member == chosen else 0.0
                count += 1
        elif code_start[j] < code_start[j + 1]:
            own = columns[j, OWN]
            ways = _count_levels(j, own, code_start, code_level, dead)
            place[count] = j
            value[count] = _nth_level(j, own, code_start, code_level, dead, n)
            count += 1
        else:
            place[count], value[count] = j, box[j, VALUE]
            count += 1
        if ways == 0:
            return 0, 0
        most = max(most, ways)
    return count, most


@njit(nogil=True, cache=True)
def _take_slot(heap: IntArray, costs: FloatArray, count: int, cost: float) -> int:
    """Find room for a candidate among the cheapest, and note its cost; -1 if it is not one.

    ``heap`` orders the slots, the dearest first: no parent is cheaper than its children.
    """
    if count < heap.shape[0]:
        at = count
        while at > 0 and costs[heap[(at - 1) // 2]] < cost:
            heap[at] = heap[(at - 1) // 2]
            at = (at - 1) // 2
        heap[at] = count
        costs[count] = cost
        return count
    slot = heap[0]
    if not cost < costs[slot]:
        return -1
    costs[slot] = cost
    at = 0
    while 2 * at + 1 < count:
        child = 2 * at + 1
        if child + 1 < count and costs[heap[child + 1]] > costs[heap[child]]:
            child += 1
        if costs[heap[child]] <= cost:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = slot
    return int(slot)

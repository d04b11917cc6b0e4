"""Moving an applicant into better leaves: the points that do it, from cheap to dear.

The words are those of `robx.kernels.leaf_boxes`.
"""

from __future__ import annotations

import numpy as np

from robx.arrays import AnyFloats, AnyInts, Bools
from robx.kernels.compiling import njit
from robx.kernels.leaf_boxes import (
    AGAINST,
    OWN,
    VALUE,
    Moves,
    Person,
    RankedTrees,
    choose_member,
    column_table,
    count_levels,
    dead_levels,
    nth_level,
    open_box,
    sides,
)
from robx.kernels.reachable_leaves import next_leaf

#: Where a path leaves a choice of categories, at most so many are tried.
CHOICES = 16


@njit(nogil=True, cache=True)
def candidates(
    person: Person, ranked: RankedTrees, moves: Moves, points: AnyFloats, costs: AnyFloats
) -> int:
    """Write the cheapest points that lie in a better leaf of some tree than the person does now.

    For each such leaf, those columns that are outside its box are moved into it, and the rest stays
    as it is now. Where the path leaves a choice of categories, up to `CHOICES` of them are written.

    Parameters
    ----------
    person, ranked, moves
        See `Person`, `RankedTrees` and `Moves`.
    points : (m, d) float64
        Receives up to m points, the cheapest if there are more, in no order.
    costs : (m,) float64
        Receives what each costs, measured from the person's own values; squared for norm 2.

    Returns
    -------
    int
        Number of points.
    """
    trees, sign, best, longest = ranked
    feature, threshold, missing_left, category_row, category_bits = trees[:5]
    tree_start, tree_class, node_split, node_right, leaf_value = trees[5:]
    level_start, level_value, code_start = moves.level_start, moves.level_value, moves.code_start
    code_level, code = moves.code_level, moves.code
    group, group_start, group_member = moves.group, moves.group_start, moves.group_member
    group_optional, unit, fill_cost = moves.group_optional, moves.unit, moves.fill_cost
    is_label, norm, own, now = moves.is_label, moves.norm, person.own, person.now
    path, side = np.empty(longest + 1, np.int64), np.empty(longest + 1, np.int64)
    saved = np.empty((longest + 1, 7))
    columns, box, dead = column_table(person, moves), open_box(person), dead_levels(person, moves)
    now_left = sides(person, trees)
    heap = np.empty(costs.shape[0], dtype=np.int64)
    place, value = np.empty(own.shape[0], np.int64), np.empty(own.shape[0])
    count, base = 0, 0.0
    spent = np.empty(own.shape[0])
    for j in range(own.shape[0]):
        spent[j] = _cost(own[j], now[j], unit[j], fill_cost[j], is_label[j], norm)
        base += spent[j]
    for tree in range(tree_class.shape[0]):
        here = _leaf_of(tree_start[tree], now_left, node_split, node_right)
        worth, depth = sign[tree] * float(leaf_value[here]), -1
        if not best[tree_start[tree]] > worth:
            continue
        while True:
            leaf, depth = next_leaf(
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
                    cost += _cost(own[j], value[k], unit[j], fill_cost[j], is_label[j], norm)
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
def _leaf_of(root: int, now_left: Bools, node_split: AnyInts, node_right: AnyInts) -> int:
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
    path: AnyInts,
    feature: AnyInts,
    node_split: AnyInts,
    columns: AnyFloats,
    box: AnyFloats,
    dead: AnyInts,
    code_start: AnyInts,
    code_level: AnyFloats,
    group: AnyInts,
    group_start: AnyInts,
    group_member: AnyInts,
    group_optional: Bools,
    place: AnyInts,
    value: AnyFloats,
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
            ways, chosen = choose_member(
                members, group_optional[group[j]], n, columns, box, code_start, code_level, dead
            )
            for member in members:
                place[count], value[count] = member, 1.0 if member == chosen else 0.0
                count += 1
        elif code_start[j] < code_start[j + 1]:
            own = columns[j, OWN]
            ways = count_levels(j, own, code_start, code_level, dead)
            place[count] = j
            value[count] = nth_level(j, own, code_start, code_level, dead, n)
            count += 1
        else:
            place[count], value[count] = j, box[j, VALUE]
            count += 1
        if ways == 0:
            return 0, 0
        most = max(most, ways)
    return count, most


@njit(nogil=True, cache=True)
def _take_slot(heap: AnyInts, costs: AnyFloats, count: int, cost: float) -> int:
    """Find a slot for a candidate among the cheapest, and note its cost; -1 if it is not one.

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

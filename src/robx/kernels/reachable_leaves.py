"""Walking to the leaves that an applicant can reach, and the best score among them.

A subtree is left out as soon as one column has no allowed value left (`leaf_boxes`).
"""

from __future__ import annotations

import numpy as np

from robx.arrays import AnyFloats, AnyInts, Bools, Words
from robx.kernels.compiling import njit
from robx.kernels.leaf_boxes import (
    AGAINST,
    FLOOR,
    HIGH,
    LOW,
    OWN,
    UNIT,
    UNKNOWN,
    VALUE,
    Moves,
    Person,
    RankedTrees,
    column_table,
    count_levels,
    dead_levels,
    has_code,
    open_box,
    place,
    sides,
)
from robx.kernels.trees import Trees


@njit(nogil=True, cache=True)
def _rule_out(
    j: int,
    row: int,
    left: bool,
    by: int,
    category_bits: Words,
    code_start: AnyInts,
    code: AnyFloats,
    dead: AnyInts,
) -> None:
    """Count a split by category against the levels that go the other way, or no longer."""
    for k in range(code_start[j], code_start[j + 1]):
        if code[k] == code[k] and has_code(category_bits, row, code[k]) != left:
            dead[k] += by


@njit(nogil=True, cache=True)
def next_leaf(
    root: int,
    depth: int,
    now_left: Bools,
    columns: AnyFloats,
    level_start: AnyInts,
    level_value: AnyFloats,
    code_start: AnyInts,
    code_level: AnyFloats,
    code: AnyFloats,
    feature: AnyInts,
    threshold: AnyFloats,
    missing_left: Bools,
    category_row: AnyInts,
    category_bits: Words,
    node_split: AnyInts,
    node_right: AnyInts,
    best: AnyFloats,
    path: AnyInts,
    side: AnyInts,
    saved: AnyFloats,
    box: AnyFloats,
    dead: AnyInts,
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
            met = met or count_levels(j, own, code_start, code_level, dead) > 0
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
            box[j, VALUE] = place(columns, box, j, level_start, level_value)
            met = box[j, VALUE] == box[j, VALUE]
        if met:
            node = below


@njit(nogil=True, cache=True)
def best_below(trees: Trees, sign: AnyFloats) -> AnyFloats:
    """Largest leaf value below each node, times the tree's sign: (N,) float64."""
    tree_start, _, node_split, node_right, leaf_value = trees[5:]
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
    X: AnyFloats,
    numbers: AnyFloats,
    low: AnyFloats,
    high: AnyFloats,
    may_fill: Bools,
    ranked: RankedTrees,
    moves: Moves,
    out: AnyFloats,
) -> None:
    """Add to ``out[row, class]`` for each tree the best leaf that an applicant can reach.

    Summed as `robx.kernels.trees.margins` sums, so that no allowed point has better sums, to the
    last bit. The bound is tight for one tree without one-hot groups; relations are not looked at.

    Parameters
    ----------
    X, numbers : (n, d) float64
        The applicants in the schema's numbers and in the model's.
    low, high : (n, d) float64
        Their bounds.
    may_fill : (n, d) bool
        Which of their missing values may be filled; the others stay missing.
    ranked, moves
        See `RankedTrees` and `Moves`.
    out : (n, C)
        Sums of leaf values; starts as the base.
    """
    trees, sign, best, longest = ranked
    feature, threshold, missing_left, category_row, category_bits = trees[:5]
    tree_start, tree_class, node_split, node_right, leaf_value = trees[5:]
    level_start, level_value, code_start = moves.level_start, moves.level_value, moves.code_start
    code_level, code = moves.code_level, moves.code
    path, side = np.empty(longest + 1, np.int64), np.empty(longest + 1, np.int64)
    saved = np.empty((longest + 1, 7))
    for i in range(X.shape[0]):
        person = Person(X[i], low[i], high[i], may_fill[i], X[i], numbers[i])
        columns, box = column_table(person, moves), open_box(person)
        dead, now_left = dead_levels(person, moves), sides(person, trees)
        for tree in range(tree_class.shape[0]):
            found, depth, worth = -1, -1, -np.inf
            while True:
                leaf, depth = next_leaf(
                    tree_start[tree], depth, now_left, columns, level_start,
                    level_value, code_start, code_level, code,
                    feature, threshold, missing_left, category_row, category_bits,
                    node_split, node_right, best, path, side, saved, box, dead,
                    worth, np.inf, 1,
                )  # fmt: skip
                if leaf < 0:
                    break
                found, worth = leaf, sign[tree] * float(leaf_value[leaf])
            out[i, tree_class[tree]] += leaf_value[found]

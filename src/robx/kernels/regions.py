"""Where a model's output is constant, and the values that a column can take there.

A row falls into one leaf of every tree. All points that take the same way at every split which the
row comes by have the same leaves, and so the same score: they are the row's live region, a box with
sets of categories for sides. Thresholds cut a column into cells, and within a cell no split tells
two values apart.

Splits and trees are laid out as in `robx.kernels.trees`, grids as in `robx.kernels.grids`.
"""

from __future__ import annotations

import math

import numpy as np

from robx.arrays import AnyFloats, AnyInts, Bools, Words
from robx.kernels.compiling import njit
from robx.kernels.grids import nearest_allowed
from robx.kernels.trees import Trees

# --- live regions --------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def clip_into_regions(
    X: AnyFloats,
    numbers: AnyFloats,
    low: AnyFloats,
    high: AnyFloats,
    points: AnyFloats,
    point_numbers: AnyFloats,
    missing_from: AnyFloats,
    missing_to: AnyFloats,
    kind: AnyInts,
    numerator: AnyFloats,
    denominator: AnyFloats,
    single: Bools,
    level_start: AnyInts,
    level_value: AnyFloats,
    group_start: AnyInts,
    group_member: AnyInts,
    trees: Trees,
    out: AnyFloats,
) -> None:
    """Bring each applicant as near to home as the live region of a point of theirs reaches.

    Parameters
    ----------
    X, numbers : (n, d) float64
        The applicants, in the schema's numbers and in the model's.
    low, high : (n, d) float64
        Their bounds.
    points, point_numbers : (n, d) float64
        A point that each may have, in both kinds of numbers.
    missing_from, missing_to : (d,) float64
        Numbers that mean "missing" to the model; NaN where none do.
    out : (n, d) float64
        Receives points in the same leaves.
    """
    d = X.shape[1]
    least, most, same = np.empty(d), np.empty(d), np.empty(d, dtype=np.bool_)
    for i in range(X.shape[0]):
        _live_region(numbers[i], point_numbers[i], trees, least, most, same)
        for j in range(d):
            x, z = X[i, j], points[i, j]
            out[i, j] = z
            # The applicant's own value, where it takes the same ways.
            if same[j]:
                out[i, j] = x
            elif x == x and z == point_numbers[i, j] and least[j] < most[j]:
                found = nearest_allowed(
                    x,
                    max(low[i, j], float(np.nextafter(least[j], np.inf))),
                    min(high[i, j], most[j]),
                    kind[j],
                    numerator[j],
                    denominator[j],
                    single[j],
                    level_value[level_start[j] : level_start[j + 1]],
                )
                is_missing = missing_from[j] <= found <= missing_to[j]
                if abs(found - x) < abs(z - x) and not is_missing:
                    out[i, j] = found
        for g in range(group_start.shape[0] - 1):
            members = group_member[group_start[g] : group_start[g + 1]]
            stays = True
            for j in members:
                stays = stays and same[j]
            for j in members:  # all of a group, or nothing
                out[i, j] = X[i, j] if stays else points[i, j]


@njit(nogil=True, cache=True)
def _live_region(
    own: AnyFloats,
    point: AnyFloats,
    trees: Trees,
    least: AnyFloats,
    most: AnyFloats,
    same: Bools,
) -> None:
    """Walk a point through all trees: numbers above `least`, up to `most`, go with it.

    ``same[j]`` tells whether the other row's value goes with it. A column that the model splits by
    category, or in which the point has nothing, gets an empty box: only `same` counts there.
    """
    feature, threshold, missing_left, category_row, category_bits = trees[:5]
    tree_start, node_split, node_right = trees.tree_start, trees.node_split, trees.node_right
    least[:], most[:], same[:] = -np.inf, np.inf, True
    for tree in range(tree_start.shape[0] - 1):
        node = tree_start[tree]
        split = node_split[node]
        while split >= 0:
            j = feature[split]
            x, cut = point[j], threshold[split]
            if x == x and own[j] == own[j] and category_row[split] < 0:
                left = x <= cut
                if left:
                    most[j] = min(most[j], cut)
                else:
                    least[j] = max(least[j], cut)
            else:
                left = _goes_left(x, split, threshold, missing_left, category_row, category_bits)
                mine = _goes_left(
                    own[j], split, threshold, missing_left, category_row, category_bits
                )  # fmt: skip
                same[j] = same[j] and mine == left
                if category_row[split] >= 0 or x != x:
                    least[j], most[j] = np.inf, -np.inf
                elif left:
                    most[j] = min(most[j], cut)
                else:
                    least[j] = max(least[j], cut)
            node = node + 1 if left else node_right[node]
            split = node_split[node]
    for j in range(own.shape[0]):
        if least[j] <= most[j] and own[j] == own[j]:
            same[j] = least[j] < own[j] <= most[j]


@njit(nogil=True, cache=True)
def _goes_left(
    value: float,
    split: int,
    threshold: AnyFloats,
    missing_left: Bools,
    category_row: AnyInts,
    category_bits: Words,
) -> bool:
    row = category_row[split]
    if value != value:
        return bool(missing_left[split])
    if row < 0:
        return bool(value <= threshold[split])
    code = int(value)
    return bool((category_bits[row, code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != 0)


# --- cells ---------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def cell_values(
    wanted: AnyFloats,
    low: float,
    high: float,
    cuts: AnyFloats,
    kind: int,
    numerator: float,
    denominator: float,
    single: bool,
    levels: AnyFloats,
    out: AnyFloats,
) -> None:
    """Write for each cell between cuts the allowed value nearest to what is wanted there.

    Cell k holds the numbers above ``cuts[k - 1]`` and up to ``cuts[k]``. NaN where it holds no
    allowed value; where NaN is wanted, the middle of what is possible is.
    """
    for k in range(cuts.shape[0] + 1):
        least, most = low, high
        if k > 0:
            least = max(low, float(np.nextafter(cuts[k - 1], np.inf)))
        if k < cuts.shape[0]:
            most = min(high, cuts[k])
        out[k] = math.nan
        if least <= most:
            value = wanted[k]
            if value != value:
                value = 0.5 * least + 0.5 * most
            out[k] = nearest_allowed(
                value, least, most, kind, numerator, denominator, single, levels
            )  # fmt: skip


@njit(nogil=True, cache=True)
def sides(numbers: AnyFloats, splits: AnyInts, trees: Trees) -> Bools:
    """Tell which rows, in the model's numbers, go left at some splits: (n, len(splits)) bool."""
    feature, threshold, missing_left, category_row, category_bits = trees[:5]
    out = np.empty((numbers.shape[0], splits.shape[0]), dtype=np.bool_)
    for i in range(numbers.shape[0]):
        for k in range(splits.shape[0]):
            value = numbers[i, feature[splits[k]]]
            out[i, k] = _goes_left(
                value, splits[k], threshold, missing_left, category_row, category_bits
            )  # fmt: skip
    return out


@njit(nogil=True, cache=True)
def leaf_options(
    root: int,
    node_split: AnyInts,
    node_right: AnyInts,
    split_axis: AnyInts,
    axis_start: AnyInts,
    left_start: AnyInts,
    left: Bools,
    leaves: AnyInts,
    alive: Bools,
) -> int:
    """List the leaves of a tree that some choice of options reaches, and which options do.

    An axis is what is chosen by itself: a column, or a one-hot group. Its options stand at
    ``axis_start[a]`` to ``axis_start[a + 1]``; ``left[left_start[s] + k]`` tells whether its k-th
    option goes left at split s.

    Parameters
    ----------
    leaves : (m,) int64
        Receives the leaves; as long as the tree has leaves.
    alive : (m, options) bool
        Receives, for each, the options that its path allows.

    Returns
    -------
    int
        Number of leaves.
    """
    dead = np.zeros(alive.shape[1], dtype=np.int64)
    n_alive = axis_start[1:] - axis_start[:-1]
    path, side = np.empty(leaves.shape[0] + 1, np.int64), np.zeros(leaves.shape[0] + 1, np.int64)
    path[0], side[0] = root, 0
    depth, count = 0, 0
    while depth >= 0:
        node = path[depth]
        split = node_split[node]
        if split < 0:
            leaves[count] = -1 - split
            for k in range(alive.shape[1]):
                alive[count, k] = dead[k] == 0
            count += 1
            depth -= 1
            continue
        axis = split_axis[split]
        first, start = axis_start[axis], left_start[split]
        if side[depth] > 0:  # back from a side: bring to life what it ruled out
            for k in range(axis_start[axis + 1] - first):
                if left[start + k] != (side[depth] == 1):
                    dead[first + k] -= 1
                    n_alive[axis] += dead[first + k] == 0
        if side[depth] == 2:
            depth -= 1
            continue
        side[depth] += 1
        for k in range(axis_start[axis + 1] - first):
            if left[start + k] != (side[depth] == 1):
                n_alive[axis] -= dead[first + k] == 0
                dead[first + k] += 1
        if n_alive[axis] > 0:
            path[depth + 1] = node + 1 if side[depth] == 1 else node_right[node]
            side[depth + 1] = 0
            depth += 1
    return count

"""What one feature can do: the margin of many trees as a function of one column at a time.

With all other columns as they are, the sum of the trees' leaf values is a step function of a
column. A single walk gives it for every column: on its way, a point passes splits; behind the other
side of each lies what it would reach if that column alone were another. So each tree is asked about
a few more nodes than a score takes, and no point has to be made.

A column of numbers has a *cell* for every value between two thresholds, from the lowest on; one of
categories has a cell for each code.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robx.arrays import AnyFloats, AnyInts, Bools, Words
from robx.kernels.compiling import njit

#: Columns with more codes have no profile: their codes are one bit each of a word.
MOST_CODES = 64


class Sum(NamedTuple):
    """Trees whose leaf values are added up.

    Parameters
    ----------
    feature, missing_left : (S,) int64, bool
        The column of each split, and where missing values go.
    cell : (S,) int64
        Of a split of numbers, the last cell of its column that goes left; -1 for categories.
    category_row, category_bits : (S,) int64, (B, W) uint64
        Of a split by category, the codes that go left, one bit each, as in `robx.kernels.trees`.
    tree_start, node_split, node_right
        As in `robx.kernels.trees`.
    value : (L,) float64
        What each leaf adds.
    base : float
        Start of the sum.
    cell_start : (d + 1,) int64
        Where the cells of each column begin; columns without a profile have none.
    threshold_start, threshold : (d + 1,) int64, float64
        The thresholds of each column of numbers, ascending.
    depth : int
        Splits above the deepest leaf.
    """

    feature: AnyInts
    missing_left: Bools
    cell: AnyInts
    category_row: AnyInts
    category_bits: Words
    tree_start: AnyInts
    node_split: AnyInts
    node_right: AnyInts
    value: AnyFloats
    base: float
    cell_start: AnyInts
    threshold_start: AnyInts
    threshold: AnyFloats
    depth: int


@njit(nogil=True, cache=True)
def cell_of(j: int, value: float, trees: Sum) -> int:
    """Cell of a value among those of its column; -1 where it is missing."""
    if value != value:
        return -1
    first, last = trees.threshold_start[j], trees.threshold_start[j + 1]
    if first == last:
        return int(value)
    low, n = first, last - first
    while n > 0:
        half = (n + 1) >> 1
        low += half * (trees.threshold[low + half - 1] < value)
        n -= half
    return int(low - first)


@njit(nogil=True, cache=True)
def profiles(
    x: AnyFloats, trees: Sum, cells: AnyInts, waiting: AnyInts, sets: Words, gains: AnyFloats
) -> float:
    """Write how the sum changes if one column alone moves to another cell.

    Parameters
    ----------
    x : (d,) float64
        The point, as the model reads it.
    trees : Sum
    cells : (d,) int64
        Written over.
    waiting, sets : (4, 3 * depth + 4) int64, (3 * depth + 4,) uint64
        Written over.
    gains : (c,) float64
        Receives the change for every cell of every column.

    Returns
    -------
    float
        The sum at the point itself.
    """
    feature, missing_left, last_left = trees.feature, trees.missing_left, trees.cell
    row, bits = trees.category_row, trees.category_bits
    node_split, node_right = trees.node_split, trees.node_right
    value, cell_start = trees.value, trees.cell_start
    node_of, column_of, low_of, high_of = waiting[0], waiting[1], waiting[2], waiting[3]
    d, one = x.shape[0], np.uint64(1)
    # Where each column may go and still come by the nodes that the point comes by.
    reach_low, reach_high = np.zeros(d, np.int64), np.empty(d, np.int64)
    reach, passed = np.full(d, ~np.uint64(0)), np.empty(trees.depth + 1, np.int64)
    for j in range(d):
        cells[j] = cell_of(j, x[j], trees)
        reach_high[j] = cell_start[j + 1] - cell_start[j] - 1
    gains[:] = 0.0
    total = trees.base
    for tree in range(trees.tree_start.shape[0] - 1):
        node, n, n_passed = trees.tree_start[tree], 0, 0
        split = node_split[node]
        while split >= 0:
            j = feature[split]
            here, by_code = cells[j], last_left[split] < 0
            left = _goes_left(split, here, missing_left, last_left, row, bits)
            if cell_start[j] < cell_start[j + 1] and (here >= 0 or reach_low[j] == 0):
                # What a number would do where one is missing is told from the first split on.
                for side in range(2):
                    if here >= 0 and (side == 0) == left:
                        continue
                    node_of[n], column_of[n] = (node + 1 if side == 0 else node_right[node]), j
                    if by_code:
                        codes = bits[row[split], 0]
                        sets[n] = reach[j] & (codes if side == 0 else ~codes)
                        n += sets[n] != 0
                    else:
                        low_of[n] = reach_low[j] if side == 0 else last_left[split] + 1
                        high_of[n] = last_left[split] if side == 0 else reach_high[j]
                        n += low_of[n] <= high_of[n]
                if here < 0:
                    reach_low[j] = 1
                elif by_code:
                    codes = bits[row[split], 0]
                    reach[j] &= codes if left else ~codes
                elif left:
                    reach_high[j] = last_left[split]
                else:
                    reach_low[j] = last_left[split] + 1
                passed[n_passed] = j
                n_passed += 1
            node = node + 1 if left else node_right[node]
            split = node_split[node]
        own = value[-1 - split]
        total += own
        for k in range(n_passed):
            j = passed[k]
            reach_low[j], reach_high[j] = 0, cell_start[j + 1] - cell_start[j] - 1
            reach[j] = ~np.uint64(0)
        while n > 0:
            n -= 1
            node, j, low, high, some = node_of[n], column_of[n], low_of[n], high_of[n], sets[n]
            split = node_split[node]
            while split >= 0:
                other, by_code = feature[split], last_left[split] < 0
                if other != j:
                    left = _goes_left(split, cells[other], missing_left, last_left, row, bits)
                elif by_code:
                    codes = bits[row[split], 0]
                    here_left, here_right = some & codes, some & ~codes
                    left = here_left != 0
                    if left and here_right != 0:
                        node_of[n], column_of[n], sets[n] = node_right[node], j, here_right
                        n += 1
                    some = here_left if left else here_right
                else:
                    left = low <= last_left[split]
                    if left and high > last_left[split]:
                        node_of[n], column_of[n] = node_right[node], j
                        low_of[n], high_of[n] = last_left[split] + 1, high
                        n += 1
                        high = last_left[split]
                node = node + 1 if left else node_right[node]
                split = node_split[node]
            gain = value[-1 - split] - own
            first, last = cell_start[j], cell_start[j + 1]
            if trees.threshold_start[j] == trees.threshold_start[j + 1]:
                for code in range(last - first):
                    if (some >> np.uint64(code)) & one != 0:
                        gains[first + code] += gain
            else:  # as a difference to the cell before, which is summed up in the end
                gains[first + low] += gain
                if first + high + 1 < last:
                    gains[first + high + 1] -= gain
    for j in range(d):
        if trees.threshold_start[j] < trees.threshold_start[j + 1]:
            for c in range(cell_start[j] + 1, cell_start[j + 1]):
                gains[c] += gains[c - 1]
    return total


@njit(nogil=True, cache=True, inline="always")
def _goes_left(
    split: int, cell: int, missing_left: Bools, last_left: AnyInts, row: AnyInts, bits: Words
) -> bool:
    """Whether a split sends a cell of its column left; a cell below 0 is a missing value."""
    if cell < 0:
        return bool(missing_left[split])
    if last_left[split] < 0:
        word = bits[row[split], cell >> 6]
        return bool((word >> np.uint64(cell & 63)) & np.uint64(1) != 0)
    return bool(cell <= last_left[split])


@njit(nogil=True, cache=True)
def logit(score: float) -> float:
    """Margin of a score, within reason."""
    score = min(max(score, 1e-4), 1 - 1e-4)
    return math.log(score / (1 - score))

"""Scoring many rows at once, roughly: sets of rows go down the trees.

As `robx.kernels.neighbourhood` does with draws: a set of 512 rows, one bit a row, is cut in two at
each split, and the value of a leaf is added to all rows that reach it. A column that holds one
value in all rows, such as one that an applicant cannot change, decides a split for all of them
without a look at the rows.

Sums are made in float32, and not in the order of the source. They tell which rows are far from a
cutoff; the others are scored by `robx.kernels.trees.margins`.
"""

from __future__ import annotations

import numpy as np

from robx.arrays import AnyFloats, Words
from robx.kernels.compiling import njit
from robx.kernels.neighbourhood import LEFT_LEAF, MISSING_LEFT, RIGHT_LEAF, Walk
from robx.kernels.sets import (
    HALF,
    Index,
    Width,
    add_sets,
    aligned,
    compare_or_missing,
    compare_set,
    cut_set,
)

#: Rows in a set, and a set's words.
BLOCK = 512
WIDTH: Width = (0,) * (BLOCK // 64)
#: What a split sends left: none of the rows, all of them, or those that were looked up.
NONE, ALL, SOME = range(3)


@njit(nogil=True, cache=True)
def _survey(columns: AnyFloats, first: int, ends: AnyFloats) -> None:
    """Write the smallest and the largest value of each column; NaN where one is missing."""
    for j in range(columns.shape[0]):
        low, high, lacks = np.inf, -np.inf, False
        for value in columns[j, first : first + BLOCK]:
            low = value if value < low else low
            high = value if value > high else high
            lacks |= value != value
        ends[j, 0], ends[j, 1] = (np.nan, np.nan) if lacks else (low, high)


@njit(nogil=True, cache=True)
def _known_codes(
    values: AnyFloats, row: Index, missing_left: bool, category_bits: Words, chosen: Words
) -> None:
    """Write to the last set of `chosen` the rows whose category goes left."""
    n_words = values.shape[0] // 64
    for w in range(n_words):
        word = np.uint64(0)
        for k in range(64):
            value = values[64 * w + k]
            left = missing_left
            if value == value:
                code = int(value)
                bit = category_bits[row, code >> 6] >> np.uint64(code & 63)
                left = bit & np.uint64(1) != np.uint64(0)
            if left:
                word |= np.uint64(1) << np.uint64(k)
        chosen[SOME * n_words + w] = word


@njit(nogil=True, cache=True)
def _choose(
    width: Width,
    column: AnyFloats,
    first: int,
    low: float,
    high: float,
    threshold: float,
    row: Index,
    by_category: bool,
    missing_left: bool,
    category_bits: Words,
    chosen: Words,
) -> int:
    """Say which of the sets in `chosen` goes left at a split."""
    if by_category:
        _known_codes(column[first : first + BLOCK], row, missing_left, category_bits, chosen)
        return SOME
    if high <= threshold:  # never where a value is missing
        return ALL
    if low > threshold:
        return NONE
    if missing_left:
        compare_or_missing(width, column, first, threshold, chosen, SOME)
    else:
        compare_set(width, column, first, threshold, chosen, SOME)
    return SOME


@njit(nogil=True, cache=True)
def rough_sums(columns: AnyFloats, n_rows: int, walk: Walk, width: Width, out: AnyFloats) -> None:
    """Add to ``out[class, row]`` the values of the leaves that each row reaches.

    Parameters
    ----------
    columns : (u, m) float64
        Rows in the columns of the walk, column by column; m is a multiple of `BLOCK`.
    n_rows : int
        How many of them count.
    walk : Walk
    width : WIDTH
    out : (C, m) float32
        Starts as the base.
    """
    by_category, category_bits, nodes, thresholds, roots = walk[1:6]
    group_start, group_class, group_nodes = walk[6:9]
    n_words = len(width)
    half, upper = np.uint64(HALF), np.uint64(32)
    chosen, sets = aligned(3 * n_words), aligned((2 * group_nodes + 1) * n_words)
    chosen[:n_words], chosen[n_words : 2 * n_words] = np.uint64(0), ~np.uint64(0)
    items = np.empty(3 * group_nodes + 2, dtype=np.uint64)
    ends = np.empty((columns.shape[0], 2))
    for first in range(0, columns.shape[1], BLOCK):
        _survey(columns, first, ends)
        for w in range(n_words):
            filled = min(max(n_rows - first - 64 * w, 0), 64)
            full = ~np.uint64(0)
            sets[w] = full if filled == 64 else ~(full << np.uint64(filled))
        for g in range(group_class.shape[0]):
            tail, leaves = 0, items.shape[0]
            for root in roots[group_start[g] : group_start[g + 1]]:
                items[tail] = root
                tail += 1
            head = 0
            while head < tail:  # as `neighbourhood.moments` goes
                item = items[head]
                node = 3 * np.int64(item & half)
                about = nodes[node + 2]
                j, flags = np.int64(about & half), np.int64(about >> upper)
                which = _choose(
                    width, columns[j], first, ends[j, 0], ends[j, 1], thresholds[node],
                    np.int64(nodes[node]), by_category[j], flags & MISSING_LEFT != 0,
                    category_bits, chosen,
                )  # fmt: skip
                place = 2 * head + 1
                at = np.int64(item >> upper)
                occupied = cut_set(width, sets, at, chosen, which, place, place + 1)
                children = nodes[node + 1]
                for side in range(2):
                    some = (occupied >> side) & 1
                    leaf = flags & (LEFT_LEAF if side == 0 else RIGHT_LEAF) != 0
                    where = leaves - 1 if leaf else tail
                    items[where] = (children & half) | (np.uint64(place + side) << upper)
                    children >>= upper
                    leaves -= some if leaf else 0
                    tail += 0 if leaf else some
                head += 1
            add_sets(width, sets, items[leaves:], out[group_class[g], first : first + BLOCK])

"""Scoring every noisy copy of a row at once, without making the copies.

The draws of noise are the same for all rows. For each feature they are sorted once, so the draws
that send a row left at a threshold are always a prefix of that order, and one table holds every
prefix as a set of draws, one bit a draw. For a row:

1. `_rank_splits` looks up, for each distinct split, which prefix goes left there;
2. `_walk` sends the full set of draws down the trees: a node's set is cut in two by its split's
   prefix, and subtrees that no draw reaches are never seen;
3. `add_sets` adds the value of each leaf that was reached to the draws that reached it;
4. `_add_moments` applies the link and adds up the first two moments.

Draws come in blocks of 64, 256 or 512: the number of 64-bit words in a set is a compile-time
constant, the length of the tuple `width`, so that a set is one vector register. Memory grows with
the largest tree, not with the number of rows or draws.

Steps 2 and 3 rest on the vector instructions in `robx.kernels.sets`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robx.arrays import AnyFloats, AnyInts, Bools, Words
from robx.kernels.compiling import njit
from robx.kernels.sets import HALF, Width, add_sets, aligned, cut_set

IDENTITY, SIGMOID, ONE_MINUS_SIGMOID, SOFTMAX = range(4)


class Walk(NamedTuple):
    """An ensemble as it is walked with sets of draws.

    Parameters
    ----------
    first_split, first_category : (d + 1,), (d,) int64
        Where each feature's splits begin, and those among them that are by category.
    threshold, missing_left, category_row, category_bits
        The splits: see `robx.kernels.trees`.
    nodes : (I, 4) uint32
        For each split node: its split; its left and its right child, as a node or, for a leaf, as
        the bits of its float32 value; and 1 if the left child is a leaf plus 2 if the right is.
    roots : (R,) uint32
        The first node of each tree that has any.
    group_start, group_class : (G + 1,), (G,) int64
        Runs of trees that are walked together, all of one class, with at most `group_nodes` nodes.
    base : (C,) float64
        Start of each margin, with the values of trees that are one leaf.
    divisor, slope, link, target
        How margins become a score.
    """

    first_split: AnyInts
    first_category: AnyInts
    threshold: AnyFloats
    missing_left: Bools
    category_row: AnyInts
    category_bits: Words
    nodes: AnyInts
    roots: AnyInts
    group_start: AnyInts
    group_class: AnyInts
    group_nodes: int
    base: AnyFloats
    divisor: float
    slope: float
    link: int
    target: int


class Tables(NamedTuple):
    """Lookup tables of B blocks of m = 64 * n_words draws each, as `prefix_tables` fills them.

    Of `width` only the length counts: the number of words in a set of draws. `prefix` is (B, d *
    (m + 1) * n_words), `ranked` (B, d, m + 1) and `start` (B, d, cells); `steps` is the largest
    number of draws in a cell of `start`.
    """

    width: Width
    prefix: Words
    ranked: AnyFloats
    start: AnyInts
    steps: int


# --- tables of draws ----------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _cell(z: float, low: float, high: float, cells: int) -> int:
    """Number of the cell that a value falls into, between the smallest and the largest draw."""
    if not low < high:  # a single draw
        return 0
    cell: int = int(min(max((z - low) * (cells / (high - low)), 0.0), cells - 1.0))
    return cell


@njit(nogil=True, cache=True)
def prefix_tables(
    noise: AnyFloats, order: AnyInts, prefix: Words, ranked: AnyFloats, start: AnyInts
) -> int:
    """Fill the lookup tables for one block of draws.

    Parameters
    ----------
    noise : (d, k) float64
        The draws of each feature.
    order : (d, k) int64
        Positions that sort them.
    prefix : (d, m + 1, m / 64) uint64
        For block size m: receives, at [j, r], the set of the r smallest draws of feature j. With
        fewer draws than m the last ones never occur; rows past k repeat row k.
    ranked : (d, m + 1) float64
        Receives the sorted draws; from position k on NaN, which no threshold exceeds.
    start : (d, cells) uint16
        Receives a first guess of the rank: how many draws lie in lower ones of the equal cells
        between the smallest and the largest draw.

    Returns
    -------
    int
        The largest number of draws in a cell: how far off a guess can be.
    """
    n_features, n_draws = noise.shape
    cells = start.shape[1]
    most = 0
    for j in range(n_features):
        prefix[j, 0] = 0
        ranked[j] = np.nan
        for r in range(prefix.shape[1] - 1):
            prefix[j, r + 1] = prefix[j, r]
            if r < n_draws:
                k = order[j, r]
                ranked[j, r] = noise[j, k]
                prefix[j, r + 1, k >> 6] |= np.uint64(1) << np.uint64(k & 63)
        low, high = ranked[j, 0], ranked[j, n_draws - 1]
        rank = 0
        for cell in range(cells):
            start[j, cell] = rank
            # By the same rounding as in the look-up, so that a guess is never too high.
            while rank < n_draws and _cell(ranked[j, rank], low, high, cells) == cell:
                rank += 1
            most = max(most, rank - start[j, cell])
    return most


# --- one row ------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _rank_splits(
    x: AnyFloats,
    spread: AnyFloats,
    walk: Walk,
    ranked: AnyFloats,
    start: AnyInts,
    steps: int,
    n_draws: int,
    row_of_split: AnyInts,
) -> None:
    """Find, for each split, the row of the prefix table that holds the draws which go left."""
    first_split, first_category, threshold, missing_left, category_row, category_bits = walk[:6]
    n_rows = ranked.shape[1]
    cells = start.shape[1]
    for j in range(x.shape[0]):
        first, last = first_split[j], first_split[j + 1]
        if first == last:
            continue
        value = x[j]
        none = j * n_rows
        if value != value:
            for s in range(first, last):
                row_of_split[s] = none + n_draws if missing_left[s] else none
            continue
        numeric_end = first_category[j]
        if spread[j] == 0 or math.isinf(value):
            for s in range(first, numeric_end):
                row_of_split[s] = none + n_draws if value <= threshold[s] else none
        else:
            inverse = 1 / spread[j]
            low, high = ranked[j, 0], ranked[j, n_draws - 1]
            for s in range(first, numeric_end):
                z = (threshold[s] - value) * inverse
                rank = int(start[j, _cell(z, low, high, cells)])
                for _ in range(steps):  # always all of them: cheaper than a branch
                    rank += ranked[j, rank] <= z
                row_of_split[s] = none + rank
        for s in range(numeric_end, last):
            code = int(value)
            bit = (category_bits[category_row[s], code >> 6] >> np.uint64(code & 63)) & np.uint64(1)
            row_of_split[s] = none + n_draws if bit else none


@njit(nogil=True, cache=True)
def _walk(
    width: Width,
    roots: AnyInts,
    nodes: AnyInts,
    row_of_split: AnyInts,
    prefix: Words,
    sets: Words,
    items: Words,
) -> int:
    """Send the full set of draws, ``sets[0]``, down a few trees, breadth first.

    ``items`` is a queue of nodes to visit at its front, and a list of leaves that were reached,
    which grows from its end. An item is a node's number or a leaf's value, with the place of its
    set in the upper half. The v-th visit leaves its two sets at ``2 v + 1`` and ``2 v + 2``. No
    branch depends on the data: what is not wanted is overwritten by the next.

    Returns where in ``items`` the leaves begin.
    """
    tail = 0
    for root in roots:
        items[tail] = root
        tail += 1
    leaves = items.shape[0]
    head = 0
    while head < tail:
        item = items[head]
        node = item & np.uint64(HALF)
        at = item >> np.uint64(32)
        place = 2 * head + 1
        occupied = cut_set(width, sets, at, prefix, row_of_split[nodes[node, 0]], place, place + 1)
        is_leaf = nodes[node, 3]
        for side in range(2):
            some = (occupied >> side) & 1
            leaf = (is_leaf >> side) & 1
            where = leaves - 1 if leaf else tail
            items[where] = np.uint64(nodes[node, 1 + side]) | (
                np.uint64(place + side) << np.uint64(32)
            )
            leaves -= some & leaf
            tail += some & (1 - leaf)
        head += 1
    return int(leaves)


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _add_moments(
    total: AnyFloats,
    n: int,
    divisor: float,
    slope: float,
    link: int,
    target: int,
    first_draw: int,
    n_draws: int,
    is_first: bool,
    centre: AnyFloats,
    sums: AnyFloats,
) -> None:
    """Turn the margins of one block into scores, and add up their moments around ``centre[0]``.

    ``sums[b]`` holds, for the b-th of equal runs of draws, the sum of differences from the centre
    and of their squares. The centre is the first score: a row with a constant neighbourhood gets a
    variance of exactly zero.
    """
    factor = slope / divisor
    n_runs = sums.shape[0]
    score = np.empty(n)
    if link == IDENTITY:
        for k in range(n):
            score[k] = total[0, k] * factor
    elif link == SOFTMAX:
        for k in range(n):
            below = 0.0
            for c in range(total.shape[0]):
                below += math.exp((total[c, k] - total[target, k]) * factor)
            score[k] = 1 / below
    else:
        sign = -factor if link == SIGMOID else factor
        for k in range(n):
            score[k] = 1 / (1 + math.exp(total[0, k] * sign))
    if is_first:
        centre[0] = score[0]
    for run in range(n_runs):
        begin = max(run * n_draws // n_runs - first_draw, 0)
        end = min((run + 1) * n_draws // n_runs - first_draw, n)
        one = 0.0
        two = 0.0
        for k in range(begin, end):
            difference = score[k] - centre[0]
            one += difference
            two += difference * difference
        sums[run, 0] += one
        sums[run, 1] += two


@njit(nogil=True, cache=True)
def moments(
    X: AnyFloats,
    spread: AnyFloats,
    walk: Walk,
    tables: Tables,
    n_draws: int,
    centre: AnyFloats,
    sums: AnyFloats,
) -> None:
    """Add up the moments of the score over all noisy copies of each row.

    Parameters
    ----------
    X : (n, d) float64
        Rows; NaN is missing and stays missing.
    spread : (d,) float64
        Standard deviation of each feature's noise.
    walk, tables
        See `Walk` and `Tables`.
    n_draws : int
        The number of draws in all; the last block may be part filled.
    centre : (n, 1) float64
        Receives the score of each row's first noisy copy.
    sums : (n, runs, 2) float64
        Receives sums of the differences from it and of their squares, over equal runs of draws.
    """
    nodes, roots, group_start, group_class, group_nodes, base = walk[6:12]
    divisor, slope, link, target = walk[12:]
    width, prefix, ranked, start, steps = tables
    n_words = len(width)
    block = 64 * n_words
    row_of_split = np.empty(walk.threshold.shape[0], dtype=np.uint32)
    sets = aligned((2 * group_nodes + 1) * n_words)
    # All nodes and all leaves of a group (n splits have at most 2 n leaves); one more is written
    # and not kept.
    items = np.empty(3 * group_nodes + 2, dtype=np.uint64)
    total = np.empty((base.shape[0], block), dtype=np.float32)
    for b in range(prefix.shape[0]):
        first_draw = b * block
        n_here = min(block, n_draws - first_draw)
        for w in range(n_words):
            filled = min(max(n_here - 64 * w, 0), 64)
            full = ~np.uint64(0)
            sets[w] = full if filled == 64 else ~(full << np.uint64(filled))
        for i in range(X.shape[0]):
            _rank_splits(X[i], spread, walk, ranked[b], start[b], steps, n_here, row_of_split)
            for c in range(base.shape[0]):
                total[c] = base[c]
            for g in range(group_class.shape[0]):
                some = roots[group_start[g] : group_start[g + 1]]
                leaves = _walk(width, some, nodes, row_of_split, prefix[b], sets, items)
                add_sets(width, sets, items[leaves:], total[group_class[g]])
            _add_moments(
                total, n_here, divisor, slope, link, target, first_draw, n_draws, b == 0,
                centre[i], sums[i],
            )  # fmt: skip

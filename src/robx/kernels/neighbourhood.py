"""Scoring every noisy copy of a row at once, without making the copies.

The draws of noise are the same for all rows. For each feature they are sorted once, so the draws
that send a row left at a threshold are always a prefix of that order, and one table holds every
prefix as a set of draws, one bit a draw. For a row:

1. `walk_trees` sends the full set of draws down the trees: at each node it looks up which prefix
   goes left and cuts the node's set in two by it; subtrees that no draw reaches are never seen;
2. `add_sets` adds the value of each leaf that was reached to the draws that reached it;
3. `_add_moments` applies the link and adds up the first two moments.

Draws come in blocks of 64, 256 or 512: the number of 64-bit words in a set is a compile-time
constant, the length of the tuple `width`, so that a set is one vector register. Memory grows with
the largest tree, not with the number of rows or draws.

Steps 1 and 2 rest on the vector instructions in `robx.kernels.sets`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robx.arrays import AnyFloats, AnyInts, Bools, Words
from robx.kernels.compiling import njit
from robx.kernels.sets import HALF, Index, Width, add_sets, aligned, cut_set, fetch_ahead

IDENTITY, SIGMOID, ONE_MINUS_SIGMOID, SOFTMAX = range(4)
#: What a node says of its children, and of missing values.
LEFT_LEAF, RIGHT_LEAF, MISSING_LEFT = 1, 2, 4
#: Rows that are walked through a group of trees before the next group, and nodes that are visited
#: before their children are queued.
ROWS_AT_ONCE, AT_ONCE = 16, 16


class Walk(NamedTuple):
    """An ensemble as it is walked with sets of draws.

    Parameters
    ----------
    columns : (u,) int64
        The columns that have splits. Rows, spreads and tables come with these columns alone.
    by_category : (u,) bool
        Which of them are split by category.
    category_bits : (B, W) uint64
        See `robx.kernels.trees`.
    nodes : (3 * I,) uint64
        Three words for each split node: its threshold, as bits, or its row of `category_bits`; its
        left child and, in the upper half, its right one, as a node or, for a leaf, as the bits of
        its float32 value; and its place in `columns`, with `LEFT_LEAF`, `RIGHT_LEAF` and
        `MISSING_LEFT` in the upper half. All that a visit needs lies side by side: a deep forest
        is larger than any cache, and what counts there is the number of looks into memory.
    thresholds : (3 * I,) float64
        The same memory as numbers.
    roots : (R,) uint32
        The first node of each tree that has any.
    group_start, group_class : (G + 1,), (G,) int64
        Runs of trees that are walked together, all of one class, with at most `group_nodes` nodes.
    base : (C,) float64
        Start of each margin, with the values of trees that are one leaf.
    rounding : (C,) float64
        How far sums in float32 may be apart, and from what the source sums.
    divisor, slope, link, target
        How margins become a score.
    """

    columns: AnyInts
    by_category: Bools
    category_bits: Words
    nodes: Words
    thresholds: AnyFloats
    roots: AnyInts
    group_start: AnyInts
    group_class: AnyInts
    group_nodes: int
    base: AnyFloats
    rounding: AnyFloats
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
def _cells_per_unit(low: float, high: float, cells: int) -> float:
    """How many of the equal cells between the smallest and the largest draw a unit has."""
    return float(cells / (high - low)) if low < high else 0.0  # a single draw has one cell


@njit(nogil=True, cache=True)
def _cell(z: float, low: float, per_unit: float, cells: int) -> int:
    """Number of the cell that a value falls into."""
    if per_unit == 0:
        return 0
    cell: int = int(min(max((z - low) * per_unit, 0.0), cells - 1.0))
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
        low = ranked[j, 0]
        per_unit = _cells_per_unit(low, ranked[j, n_draws - 1], cells)
        rank = 0
        for cell in range(cells):
            start[j, cell] = rank
            # By the same rounding as in the look-up, so that a guess is never too high.
            while rank < n_draws and _cell(ranked[j, rank], low, per_unit, cells) == cell:
                rank += 1
            most = max(most, rank - start[j, cell])
    return most


# --- one row ------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def open_columns(
    x: AnyFloats,
    spread: AnyFloats,
    by_category: Bools,
    ranked: AnyFloats,
    n_draws: int,
    cells: int,
    columns: AnyFloats,
) -> None:
    """Write what a visit needs of each column, four numbers side by side.

    The row's value; one over its spread, or 0 where noise changes nothing; the smallest draw, and
    the number of cells to a unit.
    """
    for j in range(x.shape[0]):
        columns[4 * j] = x[j]
        moves = spread[j] > 0 and not by_category[j] and math.isfinite(x[j])
        columns[4 * j + 1] = 1 / spread[j] if moves else 0.0
        columns[4 * j + 2] = ranked[j, 0]
        columns[4 * j + 3] = _cells_per_unit(ranked[j, 0], ranked[j, n_draws - 1], cells)


@njit(nogil=True, cache=True)
def _goes_left(
    value: float, threshold: float, row: Index, by_category: bool, missing_left: bool, bits: Words
) -> bool:
    """Whether all draws go left at a split that noise does not touch; else none does."""
    if value != value:
        return missing_left
    if not by_category:
        return value <= threshold
    code = int(value)
    return bool((bits[row, code >> 6] >> np.uint64(code & 63)) & np.uint64(1))


@njit(nogil=True, cache=True)
def walk_trees(
    width: Width,
    roots: AnyInts,
    nodes: Words,
    thresholds: AnyFloats,
    by_category: Bools,
    category_bits: Words,
    columns: AnyFloats,
    ranked: AnyFloats,
    start: AnyInts,
    cells: int,
    steps: int,
    n_draws: int,
    prefix: Words,
    sets: Words,
    items: Words,
    visits: Words,
) -> int:
    """Send the full set of draws, ``sets[0]``, down a few trees, breadth first.

    ``items`` is a queue of nodes to visit at its front, and a list of leaves that were reached,
    which grows from its end. An item is a node's number or a leaf's value, with the place of its
    set in the upper half. The v-th visit leaves its two sets at ``2 v + 1`` and ``2 v + 2``. Where
    children go does not branch: what is not wanted is overwritten by the next.

    Which prefix goes left is looked up at each visit: of the splits of a deep forest, a row's draws
    come by few. A few visits are made before their children are queued, so that one need not wait
    for the other; ``visits`` holds what they found.

    Numbers are unsigned, which saves a look at their sign in every index. Returns where in
    ``items`` the leaves begin, and leaves in ``visits[0]`` how many nodes were visited.
    """
    zero, one, two, three = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
    half, upper, most = np.uint64(HALF), np.uint64(32), np.uint64(AT_ONCE)
    n_cells, n_rows = np.uint64(cells), np.uint64(ranked.shape[0] // by_category.shape[0])
    last_cell = cells - 1.0
    tail = zero
    for root in roots:
        items[tail] = root
        tail += one
    leaves, head = np.uint64(items.shape[0]), zero
    while head < tail:
        count = tail - head
        count = count if count < most else most
        for k in range(count):
            item = items[head + k]
            node = three * (item & half)
            about = nodes[node + two]
            j = about & half
            column = j << two
            threshold = thresholds[node]
            row = j * n_rows
            if columns[column + one] != 0:
                z = (threshold - columns[column]) * columns[column + one]
                cell = (z - columns[column + two]) * columns[column + three]
                cell = cell if cell > 0.0 else 0.0
                cell = cell if cell < last_cell else last_cell
                row += np.uint64(start[j * n_cells + np.uint64(np.int64(cell))])
                for _ in range(steps):  # always all of them: cheaper than a branch
                    row += np.uint64(ranked[row] <= z)
            else:
                missing_left = (about >> upper) & np.uint64(MISSING_LEFT) != zero
                word = np.int64(nodes[node])
                if _goes_left(
                    columns[column], threshold, word, by_category[j], missing_left, category_bits
                ):
                    row += np.uint64(n_draws)
            place = two * (head + k) + one
            occupied = cut_set(width, sets, item >> upper, prefix, row, place, place + one)
            visits[two * k] = np.uint64(occupied) | ((about >> upper) << two)
            visits[two * k + one] = nodes[node + one]
        for k in range(count):
            found, children = visits[two * k], visits[two * k + one]
            place = two * (head + k) + one
            for _ in range(2):
                some, leaf = found & one, (found >> two) & one
                where = leaves - one if leaf else tail
                child = children & half
                fetch_ahead(nodes, zero if leaf else three * child)
                items[where] = child | (place << upper)
                leaves -= some & leaf
                tail += some & (one - leaf)
                found, children, place = found >> one, children >> upper, place + one
        head += count
    visits[zero] = tail
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

    A few rows at a time go through each group of trees, while its nodes are at hand.

    Parameters
    ----------
    X : (n, u) float64
        Rows, in the columns of the walk; NaN is missing and stays missing.
    spread : (u,) float64
        Standard deviation of each column's noise.
    walk, tables
        See `Walk` and `Tables`.
    n_draws : int
        The number of draws in all; the last block may be part filled.
    centre : (n, 1) float64
        Receives the score of each row's first noisy copy.
    sums : (n, runs, 2) float64
        Receives sums of the differences from it and of their squares, over equal runs of draws.
    """
    by_category, category_bits, nodes = walk.by_category, walk.category_bits, walk.nodes
    thresholds, roots, base = walk.thresholds, walk.roots, walk.base
    group_start, group_class, group_nodes = walk.group_start, walk.group_class, walk.group_nodes
    divisor, slope, link, target = walk.divisor, walk.slope, walk.link, walk.target
    width, prefix, ranked = tables.width, tables.prefix, tables.ranked
    start, steps = tables.start, tables.steps
    n_words, n_classes, cells = len(width), base.shape[0], start.shape[2]
    block = 64 * n_words
    sets = aligned((2 * group_nodes + 1) * n_words)
    # All nodes and all leaves of a group (n splits have at most 2 n leaves); one more is written
    # and not kept.
    items = np.empty(3 * group_nodes + 2, dtype=np.uint64)
    visits = np.empty(2 * AT_ONCE, dtype=np.uint64)
    columns = np.empty((ROWS_AT_ONCE, 4 * X.shape[1]))
    total = np.empty((ROWS_AT_ONCE, n_classes, block), dtype=np.float32)
    for b in range(prefix.shape[0]):
        first_draw = b * block
        n_here = min(block, n_draws - first_draw)
        for w in range(n_words):
            filled = min(max(n_here - 64 * w, 0), 64)
            full = ~np.uint64(0)
            sets[w] = full if filled == 64 else ~(full << np.uint64(filled))
        flat_ranked, flat_start = ranked[b].reshape(-1), start[b].reshape(-1)
        for first in range(0, X.shape[0], ROWS_AT_ONCE):
            n_rows = min(ROWS_AT_ONCE, X.shape[0] - first)
            for i in range(n_rows):
                x = X[first + i]
                open_columns(x, spread, by_category, ranked[b], n_here, cells, columns[i])
                for c in range(n_classes):
                    total[i, c] = base[c]
            for g in range(group_class.shape[0]):
                some = roots[group_start[g] : group_start[g + 1]]
                for i in range(n_rows):
                    leaves = walk_trees(
                        width, some, nodes, thresholds, by_category, category_bits, columns[i],
                        flat_ranked, flat_start, cells, steps, n_here, prefix[b], sets, items,
                        visits,
                    )  # fmt: skip
                    add_sets(width, sets, items[leaves:], total[i, group_class[g]])
            for i in range(n_rows):
                _add_moments(
                    total[i], n_here, divisor, slope, link, target, first_draw, n_draws, b == 0,
                    centre[first + i], sums[first + i],
                )  # fmt: skip

"""Several ensembles that read the same columns, scored for one point after the other.

Small trees are asked by their masks (`robx.kernels.leaf_masks`), large ones are walked: a point
that differs from the one before in a few columns takes the same way through most of them. So of
every tree its leaf's value is kept, and which columns its way asked about, one bit a column (of
more than 64 columns several share a bit). Only trees whose way asked about a column that moved are
walked again. Sums are made anew, in the order and the precision of each ensemble's source.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robx.arrays import AnyFloats, AnyInts, Bools, Words
from robx.kernels.compiling import njit
from robx.kernels.leaf_masks import (
    LANES,
    MISSING,
    LeafMasks,
    Lookups,
    combine,
    look_up,
    sum_leaves,
)
from robx.kernels.neighbourhood import IDENTITY, ONE_MINUS_SIGMOID, SOFTMAX
from robx.kernels.trees import exponential

#: Where the parts of a word about a node begin: whether missing values go left, its column, and how
#: far away its right child is. Before them stands the rank of its threshold.
MISSING_LEFT, COLUMN, RIGHT = 23, 24, 40
#: A rank that no threshold reaches; that of a missing value has all bits before `MISSING_LEFT`.
BEYOND = MISSING - 1
#: What rounding explains in a comparison of means.
TINY = 1e-9
#: Trees that are walked side by side.
AT_ONCE = 8


class Forests(NamedTuple):
    """E ensembles with T trees in all, which share their thresholds.

    A value of a column is known by its rank: how many of the thresholds that any of the ensembles
    has for this column are below it. A comparison is then one of two small whole numbers, and a
    node is one word.

    Parameters
    ----------
    words : (N,) uint64
        A node: the rank of its threshold, and from `MISSING_LEFT`, `COLUMN` and `RIGHT` on whether
        missing values go left, its place among the columns, and how far away its right child is.
        The left child is the next node. A leaf has its number within the tree for a rank, asks
        about a column that is always `BEYOND`, and has itself for a right child, so that a walk
        that has ended goes nowhere.
    leaf_value : (L,) float64
    root, first_leaf : (T,) int64
        The first node and the first leaf of each tree.
    depth : (T,) int64
    column : (u,) int64
        The columns that have splits.
    threshold_start, threshold : (u + 1,) int64, float64
        The thresholds of each, ascending.
    is_category : (u,) bool
        Columns that are split by category; their rank is the category.
    category_start, category_first : (u + 1,), (B,) int64
        In trees that are walked, a split by category is one by a column of its own, whose rank is 0
        for categories that go left and 1 for others: where those of each column begin, and where in
        `category_bits` the bits of each do. Behind the u columns comes the one of the leaves, and
        then these.
    category_bits : (W,) uint64
    bit : (u + 1 + B,) uint64
        The bit that says that a tree's way asked about a column.
    tree_class : (T,) int32
    first_tree : (E + 1,) int64
        Where the trees of each ensemble begin.
    base : (E, C) float64
        Start of each margin; unused classes are 0.
    n_classes, link, target, is_single : (E,) int64
        How the margins of each become a score; whether they are summed in float32.
    divisor, slope : (E,) float64
    masks : LeafMasks
        The same trees, where they are small: see `robx.kernels.leaf_masks`.
    """

    words: Words
    leaf_value: AnyFloats
    root: AnyInts
    first_leaf: AnyInts
    depth: AnyInts
    column: AnyInts
    threshold_start: AnyInts
    threshold: AnyFloats
    is_category: Bools
    category_start: AnyInts
    category_first: AnyInts
    category_bits: Words
    bit: Words
    tree_class: AnyInts
    first_tree: AnyInts
    base: AnyFloats
    n_classes: AnyInts
    link: AnyInts
    target: AnyInts
    is_single: AnyInts
    divisor: AnyFloats
    slope: AnyFloats
    masks: LeafMasks


@njit(nogil=True, cache=True)
def rank(x: AnyFloats, known: AnyFloats, forests: Forests, ranks: Words) -> None:
    """Bring the ranks of a point up to date.

    Parameters
    ----------
    x : (d,) float64
        The point, as the model reads it.
    known : (u,) float64
        The values of the columns that `ranks` is about; they become those of x.
    forests : Forests
    ranks : (u + 1 + B,) uint64
    """
    column, start, threshold = forests.column, forests.threshold_start, forests.threshold
    is_category, category_start = forests.is_category, forests.category_start
    category_first, category_bits = forests.category_first, forests.category_bits
    n_columns, six, bits = column.shape[0], np.uint64(6), np.uint64(63)
    for u in range(n_columns):
        value = x[column[u]]
        if value == known[u] or (value != value and known[u] != known[u]):
            continue
        known[u] = value
        for k in range(category_start[u], category_start[u + 1]):
            where = n_columns + 1 + k
            if value != value:
                ranks[where] = np.uint64(MISSING)
                continue
            code = np.uint64(value)
            word = category_bits[np.uint64(category_first[k]) + (code >> six)]
            ranks[where] = np.uint64(1) - ((word >> (code & bits)) & np.uint64(1))
        if value != value:
            ranks[u] = np.uint64(MISSING)
            continue
        if is_category[u]:
            ranks[u] = np.uint64(value)
            continue
        low, n = start[u], start[u + 1] - start[u]
        while n > 0:  # without a branch: which half it is in cannot be guessed
            half = (n + 1) >> 1
            low += half * (threshold[low + half - 1] < value)
            n -= half
        ranks[u] = np.uint64(low - start[u])


@njit(nogil=True, cache=True)
def walk_again(
    ranks: Words,
    moved: np.uint64,
    first: int,
    last: int,
    words: Words,
    leaf_value: AnyFloats,
    root: AnyInts,
    first_leaf: AnyInts,
    depth: AnyInts,
    bit: Words,
    leaf: AnyFloats,
    way: Words,
    kept_way: Words,
    changed: AnyInts,
    count: int,
    at: Words,
) -> int:
    """Find the leaves of some trees whose way asked about a column that moved.

    A few trees are walked side by side, so that one need not wait for the other, and nothing
    branches: which way a point goes cannot be guessed.

    Parameters
    ----------
    ranks : (u + 1 + B,) uint64
        The point, as `rank` writes it.
    moved : uint64
        Bits of the columns that differ from the point before.
    first, last : int
        Which trees.
    words, leaf_value, root, first_leaf, depth, bit
        See `Forests`.
    leaf, way : (T,) float64, (T,) uint64
        Values and ways of this point: written for trees that are walked.
    kept_way : (T,) uint64
        Ways of the point before.
    changed : (T + 1,) int64
        Receives the trees that were walked, from `count` on.
    at : (2 * AT_ONCE,) uint64
        Written over.

    Returns
    -------
    int
        The new count.
    """
    one, low, column = np.uint64(1), np.uint64(MISSING), np.uint64(2 ** (RIGHT - COLUMN) - 1)
    to_missing, to_column = np.uint64(MISSING_LEFT), np.uint64(COLUMN)
    to_right = np.uint64(RIGHT)
    known = count
    for tree in range(first, last):
        changed[count] = tree  # overwritten by the next if it is not wanted
        count += kept_way[tree] & moved != 0
    for begin in range(known, count, AT_ONCE):
        n = min(AT_ONCE, count - begin)
        steps = 0
        for q in range(n):
            tree = changed[begin + q]
            at[q], at[AT_ONCE + q] = np.uint64(root[tree]), np.uint64(0)
            steps = max(steps, depth[tree])
        for _ in range(steps):
            for q in range(n):
                node = at[q]
                word = words[node]
                u = (word >> to_column) & column
                value = ranks[u]
                at[AT_ONCE + q] |= bit[u]
                left = np.uint64(value <= word & low)
                left |= np.uint64(value == low) & (word >> to_missing) & one
                right = word >> to_right
                at[q] = node + left + right * (one - left)
        for q in range(n):
            tree = changed[begin + q]
            number = np.uint64(first_leaf[tree]) + (words[at[q]] & low)
            leaf[tree], way[tree] = leaf_value[number], at[AT_ONCE + q]
    return count


@njit(nogil=True, cache=True)
def linked(total: float, is_single: int, divisor: float, slope: float, link: int) -> float:
    """Turn a sum of leaf values into a score, in the precision of its source."""
    if is_single:
        short = np.float32(total)
        if divisor != 1:
            short /= np.float32(divisor)
        if slope != 1:
            short *= np.float32(slope)
        if link == IDENTITY:
            return float(short)
        decay = np.float32(exponential(-np.float64(short)))  # `float` leaves it short once compiled
        chance = np.float32(1) / (np.float32(1) + decay)
        return float(np.float32(1) - chance if link == ONE_MINUS_SIGMOID else chance)
    if divisor != 1:
        total /= divisor
    if slope != 1:
        total *= slope
    if link == IDENTITY:
        return total
    likely = 1 / (1 + exponential(-total))
    return 1 - likely if link == ONE_MINUS_SIGMOID else likely


@njit(nogil=True, cache=True)
def _sum_walked(e: int, forests: Forests, leaf: AnyFloats, sums: AnyFloats) -> None:
    """Add an ensemble's leaves, whose values are known, to its sums."""
    begin, end = forests.first_tree[e], forests.first_tree[e + 1]
    is_single, tree_class = forests.is_single[e], forests.tree_class
    if forests.n_classes[e] > 1:
        for tree in range(begin, end):
            added = sums[tree_class[tree]] + leaf[tree]
            sums[tree_class[tree]] = float(np.float32(added)) if is_single else added
    elif is_single:
        short = np.float32(sums[0])
        for tree in range(begin, end):
            short += np.float32(leaf[tree])
        sums[0] = np.float64(short)
    else:
        total = sums[0]
        for tree in range(begin, end):
            total += leaf[tree]
        sums[0] = total


@njit(nogil=True, cache=True)
def _of_classes(
    n_classes: int, target: int, divisor: float, slope: float, sums: AnyFloats
) -> float:
    """Turn the sums of several classes into the score of one."""
    below = 0.0
    for c in range(n_classes):
        below += exponential((sums[c] - sums[target]) / divisor * slope)
    return 1 / below


@njit(nogil=True, cache=True)
def scores_again(
    ranks: Words,
    moved: np.uint64,
    n: int,
    forests: Forests,
    leaf: AnyFloats,
    way: Words,
    kept_way: Words,
    changed: AnyInts,
    count: int,
    at: Words,
    n_must: int,
    threshold: float,
    min_mean: float,
    most_rejecting: int,
    turn: AnyInts,
    lookups: Lookups,
    scores: AnyFloats,
) -> tuple[int, bool]:
    """Score a point with ensembles, as long as it can still be robust.

    The first, the model and its challengers, must accept it. The others, retrained models, must
    have a mean score, and not too many of them may reject it: after each it is known how high the
    mean can still get. Those that decided it
    when a point was given up are asked before the others from then on: one that rejects it, or the
    lowest of the retrained ones. This changes how soon, and not which, points are given up.

    Parameters
    ----------
    ranks, moved, leaf, way, kept_way, changed, count, at
        See `walk_again`.
    n : int
        How many of the ensembles to ask.
    n_must : int
        How many of them must accept.
    threshold, min_mean : float
        What these must be above, and what the mean of the others must reach.
    most_rejecting : int
        How many of the others may reject.
    turn : (E,) int64
        The ensembles in the order in which they are asked.
    lookups : Lookups
        See `robx.kernels.leaf_masks`.
    scores : (E,) float64
        Receives the scores; NaN of those that were not asked.

    Returns
    -------
    int, bool
        The new count, and whether the point is accepted and has the mean score.
    """
    words, leaf_value, bit = forests.words, forests.leaf_value, forests.bit
    root, first_leaf, depth = forests.root, forests.first_leaf, forests.depth
    first_tree, base, n_classes = forests.first_tree, forests.base, forests.n_classes
    is_single, masks = forests.is_single, forests.masks
    part_start, piece_start, asked_start = masks.part_start, masks.piece_start, masks.asked_start
    table, piece_class, value = masks.masks, masks.piece_class, masks.value
    column, divisor, slope, link = masks.column, forests.divisor, forests.slope, forests.link
    target = forests.target
    ranked, row, possible, sums = lookups.ranked, lookups.row, lookups.possible, lookups.sums
    has_masks = part_start.shape[0] > 1
    scores[:] = math.nan
    total, k, lowest, rejecting = 0.0, 0, -1, 0
    for place in range(n):
        e = turn[place]
        for c in range(n_classes[e]):
            sums[c] = base[e, c]
        if has_masks:
            for part in range(part_start[e], part_start[e + 1]):
                piece, n_pieces = piece_start[part], piece_start[part + 1] - piece_start[part]
                begin, end = asked_start[part], asked_start[part + 1]
                look_up(begin, end, ranks, column, masks, ranked, row)
                for lane in range(0, n_pieces, LANES):
                    combine(table, row, begin, end, lane, possible)
                sum_leaves(
                    piece, n_pieces, n_classes[e], is_single[e], piece_class, value, possible, sums
                )
        else:
            count = walk_again(
                ranks, moved, first_tree[e], first_tree[e + 1], words, leaf_value, root,
                first_leaf, depth, bit, leaf, way, kept_way, changed, count, at,
            )  # fmt: skip
            _sum_walked(e, forests, leaf, sums)
        if link[e] == SOFTMAX:
            score = _of_classes(n_classes[e], target[e], divisor[e], slope[e], sums)
        else:
            score = linked(sums[0], is_single[e], divisor[e], slope[e], link[e])
        scores[e] = score
        if e < n_must:
            if not score > threshold:
                _ask_first(e, turn)
                return count, False
            continue
        rejecting += not score > threshold
        if rejecting > most_rejecting:
            _ask_first(e, turn)
            return count, False
        k += 1
        total += score
        lowest = e if lowest < 0 or score < scores[lowest] else lowest
        if total + (n - n_must - k) < (min_mean - TINY) * (n - n_must):
            _ask_first(lowest, turn)
            return count, False
    return count, n == n_must or mean_score(scores[n_must:n]) >= min_mean


@njit(nogil=True, cache=True)
def _ask_first(e: int, turn: AnyInts) -> None:
    """Put an ensemble before all others."""
    before = e
    for place in range(turn.shape[0]):
        here = turn[place]
        turn[place] = before
        before = here
        if here == e:
            return


@njit(nogil=True, cache=True)
def mean_score(scores: AnyFloats) -> float:
    """Mean of some scores, added up in their order."""
    total = 0.0
    for score in scores:
        total += score
    return float(total / scores.shape[0])


@njit(nogil=True, cache=True)
def mean_scores(scores: AnyFloats, out: AnyFloats) -> None:
    """Write the mean of each row of scores, (n, models)."""
    for i in range(scores.shape[0]):
        out[i] = mean_score(scores[i])

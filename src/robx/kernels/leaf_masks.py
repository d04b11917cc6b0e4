"""Scores of ensembles of small trees, without walking them.

A point reaches the one leaf whose box holds it in every column. So of every column, and of every
rank that its value can have among the thresholds of some trees, it is tabled which leaves of each
tree it leaves possible, one bit a leaf. What all columns leave possible is the leaf: a handful of
vector instructions for many trees at once. Trees of more leaves than a mask has bits are cut into
pieces; of these all but one reach nothing, which adds nothing.

This is QuickScorer (Lucchese et al., SIGIR 2015) with tables in place of its lists of thresholds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from robx.arrays import AnyFloats, AnyInts, Bools, Words
from robx.kernels.compiling import njit

#: The rank of a missing value.
MISSING = 2**23 - 1
#: Leaves of a piece: bits of a mask.
BITS = 32
#: Values of a piece: its leaves', and what it is worth if none of them is reached.
WIDTH = BITS + 1
#: Pieces of a part, at most.
MOST_PIECES = 128
#: Pieces whose masks are one vector; rows of masks have room for a whole number of them.
LANES = 16
#: Ranks of a column fall into so many buckets, each of which knows where to look.
BUCKETS = 64


class LeafMasks(NamedTuple):
    """Pieces of trees in P parts, each of which belongs to one ensemble.

    A part asks about some columns. All questions of all parts are numbered through: A of them.

    Parameters
    ----------
    part_start : (E + 1,) int64
        Where the parts of each ensemble begin; a single 0 where there are no masks.
    piece_start : (P + 1,) int64
        Where the pieces of each part begin.
    piece_class : (N,) int64
        The class of the tree that each piece is of.
    value : (N * WIDTH,) float64
        The leaves of each piece, and 0 for none of them.
    masks : (M, W) uint32
        Rows of masks, one for each piece of a part; W is a multiple of `LANES`.
    asked_start : (P + 1,) int64
        Where the questions of each part begin.
    column : (A,) int64
        Their columns: places in `Forests.column`.
    first_row, n_rows : (A,) int64
        Where their rows of masks begin, one for each rank or category, and one more for what is
        missing.
    own_start, own : (A + 1,) int64, (K,) uint64
        The thresholds of each, as ranks among those of all ensembles, ascending.
    bucket : (A, BUCKETS + 1) int64
        How many of them are below the first rank of each bucket.
    shift : (u,) uint64
        The bits of a column's ranks that do not tell its bucket.
    is_category : (u,) bool
        Columns whose rows are numbered by category.
    """

    part_start: AnyInts
    piece_start: AnyInts
    piece_class: AnyInts
    value: AnyFloats
    masks: Any
    asked_start: AnyInts
    column: AnyInts
    first_row: AnyInts
    n_rows: AnyInts
    own_start: AnyInts
    own: Words
    bucket: AnyInts
    shift: Words
    is_category: Bools


class Lookups(NamedTuple):
    """What was last looked up, and room for the next.

    Parameters
    ----------
    ranked, row : (A,) uint64, (A,) int64
        The rank that each question was last asked about, and its row of masks.
    possible : (W,) uint32
    sums : (C,) float64
    """

    ranked: Words
    row: AnyInts
    possible: Any
    sums: AnyFloats


class Nodes(NamedTuple):
    """The trees of one ensemble, for `fill`.

    Parameters
    ----------
    tree_start, node_split, node_right
        See `robx.trees.TreeEnsemble`.
    column : (S,) int64
        Places of the splits' columns in `Forests.column`.
    rank : (S,) uint64
        Their thresholds' ranks.
    missing_left, by_category : (S,) bool
    category_row : (S,) int64
        Rows of `category_bits`.
    category_bits : (R, w) uint64
    """

    tree_start: AnyInts
    node_split: AnyInts
    node_right: AnyInts
    column: AnyInts
    rank: Words
    missing_left: Bools
    by_category: Bools
    category_row: AnyInts
    category_bits: Words


# --- making them ---------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def fill(
    nodes: Nodes, tree: AnyInts, number: AnyInts, part: AnyInts, place: AnyInts, question: AnyInts,
    masks: LeafMasks,
) -> None:  # fmt: skip
    """Write the masks of an ensemble's pieces, whose rows hold all of their leaves.

    Parameters
    ----------
    nodes : Nodes
    tree, number, part, place : (n,) int64
        The tree of each piece, which of its pieces it is, its part, and its place there.
    question : (P, u) int64
        The question of each part about each column.
    masks : LeafMasks
    """
    for piece in range(tree.shape[0]):
        begin, end = nodes.tree_start[tree[piece]], nodes.tree_start[tree[piece] + 1]
        n_leaves, before = np.zeros(end - begin, np.int64), np.zeros(end - begin, np.int64)
        for node in range(end - 1, begin - 1, -1):
            n_leaves[node - begin] = 1
            if nodes.node_split[node] >= 0:
                right = nodes.node_right[node] - begin
                n_leaves[node - begin] = n_leaves[node + 1 - begin] + n_leaves[right]
        for node in range(begin, end):
            split = nodes.node_split[node]
            if split < 0:
                continue
            right, first = nodes.node_right[node] - begin, before[node - begin]
            middle = first + n_leaves[node + 1 - begin]
            before[node + 1 - begin], before[right] = first, middle
            least = BITS * number[piece]
            left_bits = _bits(first - least, middle - least)
            right_bits = _bits(middle - least, middle + n_leaves[right] - least)
            asked = question[part[piece], nodes.column[split]]
            _fill_rows(nodes, split, asked, place[piece], left_bits, right_bits, masks)


@njit(nogil=True, cache=True)
def _fill_rows(
    nodes: Nodes, split: int, asked: int, place: int, left_bits: np.uint32, right_bits: np.uint32,
    masks: LeafMasks,
) -> None:  # fmt: skip
    """Take out of every row the leaves on the side of a split to which it does not go."""
    first, n = masks.first_row[asked], masks.n_rows[asked]
    own = masks.own[masks.own_start[asked] : masks.own_start[asked + 1]]
    for row in range(n):
        if row == n - 1:
            left = nodes.missing_left[split]
        elif nodes.by_category[split]:
            word = nodes.category_bits[nodes.category_row[split], row >> 6]
            left = (word >> np.uint64(row & 63)) & np.uint64(1) != 0
        else:
            left = row == 0 or own[row - 1] < nodes.rank[split]
        masks.masks[first + row, place] &= ~(right_bits if left else left_bits)


@njit(nogil=True, cache=True)
def _bits(first: int, last: int) -> np.uint32:
    """Bits from the first up to the last, which is not one of them, as far as a mask has them."""
    first, last = min(max(first, 0), BITS), min(max(last, 0), BITS)
    one = np.uint64(1)
    return np.uint32((one << np.uint64(last)) - (one << np.uint64(first)))


# --- asking them ---------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def new_lookups(masks: LeafMasks, n_classes: int) -> Lookups:
    """Make room for one thread."""
    n = masks.column.shape[0]
    return Lookups(
        np.full(n, ~np.uint64(0)),
        np.zeros(n, np.int64),
        np.empty(masks.masks.shape[1], np.uint32),
        np.empty(n_classes),
    )


@njit(nogil=True, cache=True)
def look_up(
    begin: int, end: int, ranks: Words, column: AnyInts, masks: LeafMasks, ranked: Words,
    row: AnyInts,
) -> None:  # fmt: skip
    """Find the rows of masks for some questions about a point, where the answer has changed.

    Parameters
    ----------
    begin, end : int
        Which questions.
    ranks : (u + 1 + B,) uint64
        The point, as `robx.kernels.forests.rank` writes it.
    column, masks, ranked, row
        See `LeafMasks` and `Lookups`.
    """
    for asked in range(begin, end):
        rank = ranks[column[asked]]
        if rank != ranked[asked]:
            ranked[asked], row[asked] = rank, _row_of(asked, rank, masks)


@njit(nogil=True, cache=True)
def sum_leaves(
    first: int, n: int, n_classes: int, is_single: int, piece_class: AnyInts, value: AnyFloats,
    possible: Any, sums: AnyFloats,
) -> None:  # fmt: skip
    """Add the leaves of n pieces to the sums of their classes, in the precision of their source."""
    if n_classes > 1:
        for piece in range(n):
            c = piece_class[first + piece]
            added = sums[c] + value[WIDTH * (first + piece) + lowest_bit(possible[piece])]
            sums[c] = np.float64(np.float32(added)) if is_single else added
    elif is_single:
        short = np.float32(sums[0])
        for piece in range(n):
            short += np.float32(value[WIDTH * (first + piece) + lowest_bit(possible[piece])])
        sums[0] = np.float64(short)
    else:
        total = sums[0]
        for piece in range(n):
            total += value[WIDTH * (first + piece) + lowest_bit(possible[piece])]
        sums[0] = total


@njit(nogil=True, cache=True)
def _row_of(asked: int, rank: np.uint64, masks: LeafMasks) -> int:
    """Find the row of masks for a rank, for a category, or for a missing value."""
    first, n, u = masks.first_row[asked], masks.n_rows[asked], masks.column[asked]
    if rank == np.uint64(MISSING):
        return int(first + n - 1)
    if masks.is_category[u]:
        return int(first + np.int64(rank))
    begin, end = masks.own_start[asked], masks.own_start[asked + 1]
    at = begin + masks.bucket[asked, np.int64(rank >> masks.shift[u])]
    while at < end and masks.own[at] < rank:
        at += 1
    return int(first + at - begin)


def combine(masks: Any, row: AnyInts, begin: int, end: int, first: int, possible: Any) -> None:
    """Write what some rows of masks all leave possible, of `LANES` pieces from the first on."""
    some = masks[row[begin:end], first : first + LANES]
    possible[first : first + LANES] = np.bitwise_and.reduce(some, axis=0)


@intrinsic
def _combine_vector(
    _typing: Any, masks: Any, row: Any, begin: Any, end: Any, first: Any, possible: Any
) -> Any:
    index = types.intp
    signature = types.void(masks, row, index, index, index, possible)
    word = ir.IntType(64)
    vector = ir.VectorType(ir.IntType(32), LANES)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        masks, row, begin, end, first, possible = args
        table = context.make_array(sig.args[0])(context, builder, value=masks)
        rows = context.make_array(sig.args[1])(context, builder, value=row).data
        out = context.make_array(sig.args[5])(context, builder, value=possible).data
        width = builder.extract_value(table.shape, 1)
        together = cgutils.alloca_once_value(builder, ir.Constant(vector, [0xFFFFFFFF] * LANES))
        one = ir.Constant(word, 1)
        with cgutils.for_range_slice(builder, begin, end, one) as (k, _):
            at = builder.add(builder.mul(builder.load(builder.gep(rows, [k])), width), first)
            here = builder.bitcast(builder.gep(table.data, [at]), vector.as_pointer())
            both = builder.and_(builder.load(together), builder.load(here, align=4))
            builder.store(both, together)
        there = builder.bitcast(builder.gep(out, [first]), vector.as_pointer())
        builder.store(builder.load(together), there, align=4)
        return context.get_dummy_value()

    return signature, codegen


@overload(combine, strict=False)
def _compile_combine(masks: Any, row: Any, begin: Any, end: Any, first: Any, possible: Any) -> Any:
    return lambda masks, row, begin, end, first, possible: _combine_vector(
        masks, row, begin, end, first, possible
    )


def lowest_bit(mask: Any) -> int:
    """Number of the lowest bit that is set; `BITS` where none is."""
    bits = int(mask)
    return (bits & -bits).bit_length() - 1 if bits else BITS


@intrinsic
def _count_trailing_zeros(_typing: Any, mask: Any) -> Any:
    def codegen(_context: Any, builder: Any, _sig: Any, args: Any) -> Any:
        zeros = builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))
        return builder.zext(zeros, ir.IntType(64))

    return types.int64(types.uint32), codegen


@overload(lowest_bit, strict=False)
def _compile_lowest_bit(mask: Any) -> Any:
    return lambda mask: _count_trailing_zeros(mask)

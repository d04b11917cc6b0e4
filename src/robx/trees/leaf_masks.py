"""Ensembles of small trees as the masks that `robx.kernels.leaf_masks` asks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Bools, Floats, Ints
from robx.kernels.leaf_masks import BITS, BUCKETS, LANES, MOST_PIECES, LeafMasks, Nodes, fill

if TYPE_CHECKING:
    from robx.trees.ensemble import TreeEnsemble

#: Trees of more pieces than this on average are walked, and so are those whose masks take more.
MOST_PIECES_OF_A_TREE, MOST_BYTES = 4, 2**26
#: Masks in a line of the cache.
LINE = 16


class Splits(NamedTuple):
    """The splits of all ensembles, one ensemble after the other.

    Parameters
    ----------
    place : (S,) int64
        Their columns, by their places among those that have splits.
    rank : (S,) int64
        The ranks of their thresholds among those of the column.
    by_category : (S,) bool
    n_ranks : (u,) int64
        Number of thresholds of each column.
    is_category : (u,) bool
        Columns that are split by category.
    n_codes : (u,) int64
        Number of categories of each.
    """

    place: NDArray[np.intp]
    rank: Ints
    by_category: Bools
    n_ranks: Ints
    is_category: Bools
    n_codes: Ints


class _Pieces(NamedTuple):
    """Pieces of an ensemble's trees: the tree of each, which of its pieces it is, and its part."""

    tree: Ints
    number: Ints
    part: Ints
    place: Ints


def make_leaf_masks(ensembles: Sequence[TreeEnsemble], splits: Splits) -> LeafMasks:
    """Table what each column leaves possible; without rows where that would take too much."""
    n_leaves = [np.diff(e.tree_start) // 2 + 1 for e in ensembles]
    n_pieces = sum(int(np.ceil(n / BITS).sum()) for n in n_leaves)
    if n_pieces > MOST_PIECES_OF_A_TREE * sum(map(len, n_leaves)):
        return _empty()
    parts, pieces = [0], []
    for n in n_leaves:
        pieces.append(_cut(n, parts[-1]))
        parts.append(int(pieces[-1].part[-1]) + 1)
    first_split = np.cumsum([0, *(len(e.split_feature) for e in ensembles)])
    n_columns = len(splits.n_ranks)
    keys = [
        _asked(e, some, splits.place[a:b], n_columns)
        for e, some, (a, b) in zip(ensembles, pieces, pairwise(first_split), strict=True)
    ]
    # A question is a part and a column; it has the thresholds of its part's trees, once each.
    most = int(splits.n_ranks.max(initial=0)) + 1
    asked, own = _thresholds(keys, splits, first_split, most)
    column, own_question = asked % n_columns, np.searchsorted(asked, own // most)
    own_start = np.searchsorted(own_question, np.arange(len(asked) + 1))
    n_own = np.diff(own_start)
    n_rows = np.where(splits.is_category[column], splits.n_codes[column], n_own) + 2
    width = max(int(np.bincount(some.part).max()) for some in pieces)
    width = -(-width // LANES) * LANES
    if 4 * width * int(n_rows.sum()) > MOST_BYTES:
        return _empty()
    question = np.full((parts[-1], n_columns), -1, dtype=np.int64)
    question.reshape(-1)[asked] = np.arange(len(asked))
    shift = np.array([max(int(n).bit_length() - 6, 0) for n in splits.n_ranks], dtype=np.int64)
    ranks = (own % most).astype(np.uint64)
    of_piece = np.concatenate([some.part for some in pieces])
    masks = LeafMasks(
        part_start=np.array(parts, dtype=np.int64),
        piece_start=np.searchsorted(of_piece, np.arange(parts[-1] + 1)).astype(np.int64),
        piece_class=np.concatenate(
            [e.tree_class[some.tree] for e, some in zip(ensembles, pieces, strict=True)]
        ).astype(np.int64),
        value=np.concatenate([_values(e, n) for e, n in zip(ensembles, n_leaves, strict=True)]),
        masks=_full(int(n_rows.sum()), width),
        asked_start=np.searchsorted(asked // n_columns, np.arange(parts[-1] + 1)).astype(np.int64),
        column=column.astype(np.int64),
        first_row=np.cumsum([0, *n_rows[:-1]]).astype(np.int64),
        n_rows=n_rows.astype(np.int64),
        own_start=own_start.astype(np.int64),
        own=ranks,
        bucket=_buckets(ranks, own_start, shift[column]),
        shift=shift.astype(np.uint64),
        is_category=splits.is_category,
    )
    for e, some, (a, b) in zip(ensembles, pieces, pairwise(first_split), strict=True):
        nodes = Nodes(
            e.tree_start.astype(np.int64),
            e.node_split.astype(np.int64),
            e.node_right.astype(np.int64),
            splits.place[a:b].astype(np.int64),
            splits.rank[a:b].astype(np.uint64),
            e.split_missing_left,
            splits.by_category[a:b],
            e.split_category.astype(np.int64),
            e.category_bits,
        )
        fill(nodes, *some, question, masks)
    return masks


def _cut(n_leaves: Ints, first_part: int) -> _Pieces:
    """Cut trees into pieces, and these into parts of about the same size."""
    n_pieces = -(-n_leaves // BITS)
    tree = np.repeat(np.arange(len(n_leaves)), n_pieces)
    number = np.arange(len(tree)) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces)
    size = -(-len(tree) // -(-len(tree) // MOST_PIECES))
    part = np.arange(len(tree)) // size
    return _Pieces(tree, number, first_part + part, np.arange(len(tree)) - size * part)


def _asked(e: TreeEnsemble, pieces: _Pieces, place: NDArray[np.intp], n_columns: int) -> Ints:
    """Tell which splits the parts of an ensemble ask about: part and column, and the split."""
    n_nodes = np.diff(e.tree_start)
    part_of_tree = np.stack([pieces.tree, pieces.part])[:, np.argsort(pieces.tree, kind="stable")]
    tree, part = np.unique(part_of_tree, axis=1)
    node = np.concatenate(
        [np.arange(e.tree_start[t], e.tree_start[t] + n_nodes[t]) for t in tree.tolist()]
    )
    split, whose = e.node_split[node].astype(np.int64), np.repeat(part, n_nodes[tree])
    is_split = split >= 0
    split, whose = split[is_split], whose[is_split]
    return np.unique(np.stack([whose * n_columns + place[split], split]), axis=1)


def _thresholds(
    keys: list[Ints], splits: Splits, first_split: Ints, most: int
) -> tuple[Ints, Ints]:
    """Give all questions, and all thresholds as numbers that tell question and rank, ascending."""
    questions = [key for key, _ in keys]
    listed = []
    for (key, split), first in zip(keys, first_split[:-1], strict=True):
        number = ~splits.by_category[split + first]
        listed.append(key[number] * most + splits.rank[split[number] + first])
    return np.unique(np.concatenate(questions)), np.unique(np.concatenate(listed))


def _buckets(ranks: NDArray[np.uint64], own_start: Ints, shift: Ints) -> Ints:
    """Count, for each question, the thresholds below the first rank of each bucket: (A, b + 1)."""
    out = np.zeros((len(shift), BUCKETS + 1), dtype=np.int64)
    for k, (a, b) in enumerate(pairwise(own_start)):
        first = np.arange(BUCKETS + 1, dtype=np.uint64) << np.uint64(shift[k])
        out[k] = np.searchsorted(ranks[a:b], first)
    return out


def _values(e: TreeEnsemble, n_leaves: Ints) -> Floats:
    """Values of the leaves of each piece, in the order of the nodes, and 0 for none of them."""
    leaf = e.leaf_value[-1 - e.node_split[e.node_split < 0]].astype(np.float64)
    n_pieces = -(-n_leaves // BITS)
    first_piece = np.cumsum(n_pieces) - n_pieces
    out = np.zeros((int(n_pieces.sum()), BITS + 1))
    number = np.arange(len(leaf)) - np.repeat(np.cumsum(n_leaves) - n_leaves, n_leaves)
    out[np.repeat(first_piece, n_leaves) + number // BITS, number % BITS] = leaf
    return out.reshape(-1)


def _full(n_rows: int, width: int) -> NDArray[np.uint32]:
    """Masks in which all leaves are possible, from the beginning of a cache line on."""
    room = np.full(n_rows * width + LINE, 0xFFFFFFFF, dtype=np.uint32)
    first = (-room.ctypes.data // room.itemsize) % LINE
    return room[first : first + n_rows * width].reshape(n_rows, width)


def _empty() -> LeafMasks:
    none, words = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
    return LeafMasks(
        part_start=np.zeros(1, dtype=np.int64),
        piece_start=none,
        piece_class=none,
        value=np.zeros(0),
        masks=np.zeros((0, 0), dtype=np.uint32),
        asked_start=none,
        column=none,
        first_row=none,
        n_rows=none,
        own_start=none,
        own=words,
        bucket=np.zeros((0, BUCKETS + 1), dtype=np.int64),
        shift=words,
        is_category=np.zeros(0, dtype=bool),
    )

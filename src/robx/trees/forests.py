"""Several ensembles that read the same columns as one set of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robx.kernels.forests import BEYOND, COLUMN, MISSING_LEFT, RIGHT, Forests
from robx.kernels.trees import depths
from robx.trees.leaf_masks import Splits, make_leaf_masks

if TYPE_CHECKING:
    from robx.trees.ensemble import TreeEnsemble


def make_forests(ensembles: Sequence[TreeEnsemble]) -> Forests | None:
    """Lay out ensembles as `robx.kernels.forests` walks them, one after the other.

    None for trees, columns or thresholds that are too many for a word.
    """
    by_category = np.concatenate([e.split_category >= 0 for e in ensembles])
    feature = np.concatenate([e.split_feature for e in ensembles])
    column, place = np.unique(feature, return_inverse=True)
    split_rank, threshold_start, threshold = _ranks(ensembles, place, by_category)
    first_word = np.cumsum([0, *(e.category_bits.size for e in ensembles)])
    rows = [
        n + e.split_category.astype(np.int64) * e.category_bits.shape[1]
        for e, n in zip(ensembles, first_word[:-1], strict=True)
    ]
    # Splits by category become columns of their own, those of one column side by side.
    which = np.flatnonzero(by_category)
    which = which[np.argsort(place[which], kind="stable")]
    own_place = place.copy()
    own_place[which] = len(column) + 1 + np.arange(len(which))
    sizes = [int(n) for e in ensembles for n in np.diff(e.tree_start)]
    largest = max(len(threshold), *sizes)
    if largest >= BEYOND or len(column) + 1 + len(which) >= 2 ** (RIGHT - COLUMN):
        return None
    first_split = np.cumsum([0, *(len(e.split_feature) for e in ensembles)])
    words = [
        _words(e, own_place[n : n + len(e.split_feature)], split_rank[n:], len(column))
        for e, n in zip(ensembles, first_split[:-1], strict=True)
    ]
    base = np.zeros((len(ensembles), max(len(e.base) for e in ensembles)))
    for row, e in zip(base, ensembles, strict=True):
        row[: len(e.base)] = e.base
    n_codes = np.array([ensembles[0].columns[j].n_codes for j in column], dtype=np.int64)
    is_category = np.bincount(place[which], minlength=len(column)) > 0
    n_ranks = np.diff(threshold_start)
    masks = make_leaf_masks(
        ensembles, Splits(place, split_rank, by_category, n_ranks, is_category, n_codes)
    )
    if len(masks.value):  # then no tree is walked
        which = which[:0]
    asked = np.concatenate([column, [len(ensembles[0].columns)], feature[which]])

    def after(parts: list[NDArray[Any]], sizes: list[int]) -> NDArray[np.int64]:
        starts = np.cumsum([0, *sizes[:-1]])
        return np.concatenate([p + n for p, n in zip(parts, starts, strict=True)]).astype(np.int64)

    def each(values: list[Any], kind: Any = np.int64) -> NDArray[Any]:
        return np.array(values, dtype=kind)

    return Forests(
        words=np.concatenate(words),
        leaf_value=np.concatenate([_leaf_values(e) for e in ensembles]),
        root=after([e.tree_start[:-1] for e in ensembles], [len(e.node_split) for e in ensembles]),
        first_leaf=after([_first_leaves(e) for e in ensembles], [e.n_leaves for e in ensembles]),
        depth=np.concatenate([_depths(e) for e in ensembles]),
        column=column.astype(np.int64),
        threshold_start=threshold_start,
        threshold=threshold,
        is_category=is_category,
        category_start=np.searchsorted(place[which], np.arange(len(column) + 1)).astype(np.int64),
        category_first=np.concatenate(rows)[which],
        category_bits=np.concatenate([e.category_bits.reshape(-1) for e in ensembles]),
        bit=np.uint64(1) << (asked % 64).astype(np.uint64),
        tree_class=np.concatenate([e.tree_class for e in ensembles]).astype(np.int32),
        first_tree=np.cumsum([0, *(e.n_trees for e in ensembles)]).astype(np.int64),
        base=base,
        n_classes=each([len(e.base) for e in ensembles]),
        link=each([e.walk.link for e in ensembles]),
        target=each([e.target_index for e in ensembles]),
        is_single=each([int(e.leaf_value.dtype == np.float32) for e in ensembles]),
        divisor=each([e.divisor for e in ensembles], np.float64),
        slope=each([e.slope for e in ensembles], np.float64),
        masks=masks,
    )


def _ranks(
    ensembles: Sequence[TreeEnsemble], place: NDArray[np.intp], by_category: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Rank each split's threshold among those of its column; and list these, column by column."""
    values = np.concatenate([e.split_threshold for e in ensembles]) + 0.0  # no negative zero
    out, start, listed = np.zeros(len(values), dtype=np.int64), [0], [np.zeros(0)]
    order = np.argsort(place, kind="stable")
    bounds = np.searchsorted(place[order], np.arange(place.max(initial=-1) + 2))
    for first, last in pairwise(bounds):
        splits = order[first:last]
        splits = splits[~by_category[splits]]
        distinct, out[splits] = np.unique(values[splits], return_inverse=True)
        listed.append(distinct)
        start.append(start[-1] + len(distinct))
    return out, np.array(start, dtype=np.int64), np.concatenate(listed)


def _words(
    e: TreeEnsemble, column: NDArray[np.intp], rank: NDArray[np.int64], leaf_column: int
) -> NDArray[np.uint64]:
    """Lay out the nodes of an ensemble, of whose splits columns and ranks are given."""
    at, leaves = np.flatnonzero(e.node_split >= 0), np.flatnonzero(e.node_split < 0)
    split = e.node_split[at]
    words = np.zeros(len(e.node_split), dtype=np.uint64)
    words[at] = rank[split]
    words[at] |= e.split_missing_left[split].astype(np.uint64) << np.uint64(MISSING_LEFT)
    words[at] |= column[split].astype(np.uint64) << np.uint64(COLUMN)
    words[at] |= (e.node_right[at] - at).astype(np.uint64) << np.uint64(RIGHT)
    number = np.arange(len(leaves)) - np.repeat(_first_leaves(e), _n_leaves(e))
    words[leaves] = number.astype(np.uint64) | (np.uint64(leaf_column) << np.uint64(COLUMN))
    return words


def _n_leaves(e: TreeEnsemble) -> NDArray[np.int64]:
    return np.add.reduceat((e.node_split < 0).astype(np.int64), e.tree_start[:-1])


def _first_leaves(e: TreeEnsemble) -> NDArray[np.int64]:
    """Number of leaves before each tree: (T,)."""
    return np.concatenate([[0], np.cumsum(_n_leaves(e))[:-1]])


def _leaf_values(e: TreeEnsemble) -> NDArray[np.float64]:
    """Values of the leaves in the order of the nodes: (L,)."""
    return e.leaf_value[-1 - e.node_split[e.node_split < 0]].astype(np.float64)


def _depths(e: TreeEnsemble) -> NDArray[np.int64]:
    """Number of splits above the deepest leaf of each tree: (T,)."""
    deepest = np.maximum.reduceat(depths(e.node_split >= 0), e.tree_start[:-1])
    return np.asarray(deepest, dtype=np.int64)

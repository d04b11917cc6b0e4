"""Other views of the trees: for walking them with sets of draws, and for scoring rows.

`robx.kernels.neighbourhood` visits split nodes only; each holds what the walk needs of its
children, so that a visit costs one look into memory. Trees are walked in groups.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robx.kernels import trees
from robx.kernels.neighbourhood import LEFT_LEAF, MISSING_LEFT, RIGHT_LEAF, Walk
from robx.kernels.trees import depths

if TYPE_CHECKING:
    from robx.trees.ensemble import TreeEnsemble

#: Trees are walked in groups of about this many nodes, so that their sets stay in the fast cache.
GROUP_NODES = 512


def packed_nodes(e: TreeEnsemble) -> NDArray[np.uint64] | None:
    """Lay out nodes as `robx.kernels.trees.margins_of_numbers` takes them; None for categories.

    A step down a tree is then one look into memory, where it was four.
    """
    if (e.split_category >= 0).any():
        return None
    at, leaves = np.flatnonzero(e.node_split >= 0), np.flatnonzero(e.node_split < 0)
    split = e.node_split[at]
    nodes = np.zeros((len(e.node_split), 2), dtype=np.uint64)
    nodes[leaves, 0] = -1 - e.node_split[leaves]
    nodes.view(np.float64)[at, 0] = e.split_threshold[split]
    nodes[at, 1] = e.node_right[at].astype(np.uint64) << np.uint64(32)
    nodes[at, 1] |= e.split_feature[split].astype(np.uint64)
    nodes[at, 1] |= np.uint64(trees.MISSING_LEFT) * e.split_missing_left[split]
    nodes.flags.writeable = False
    return nodes.reshape(-1)


def make_walk(e: TreeEnsemble, link: int) -> Walk:
    """Work out the walk of an ensemble, whose link has a number for kernels."""
    is_split = e.node_split >= 0
    # Level by level within each tree, as they are visited: siblings stand side by side in memory.
    tree = np.repeat(np.arange(e.n_trees), np.diff(e.tree_start))
    at = np.flatnonzero(is_split)
    at = at[np.lexsort((at, depths(is_split)[at], tree[at]))]
    # What a parent holds of its child: a split node's number, or a leaf's value as bits.
    held = np.empty(len(e.node_split), dtype=np.uint32)
    held[at] = np.arange(len(at))
    with np.errstate(over="ignore"):
        values = e.leaf_value[-1 - e.node_split[~is_split]].astype(np.float32)
    held[~is_split] = values.view(np.uint32)
    columns = np.unique(e.split_feature).astype(np.int64)
    by_category = np.array([e.columns[j].is_category for j in columns], dtype=bool)
    nodes = _nodes(e, at, held, columns).reshape(-1)
    first = e.tree_start[:-1]
    stumps = ~is_split[first]
    base = e.base.astype(np.float64)
    np.add.at(base, e.tree_class[stumps], e.leaf_value[-1 - e.node_split[first[stumps]]])
    walked = np.flatnonzero(~stumps)
    order = walked[np.argsort(e.tree_class[walked], kind="stable")]
    sizes = np.add.reduceat(is_split.astype(np.int64), first)[order]
    bounds = _group(sizes, e.tree_class[order])
    walk = Walk(
        columns=columns,
        by_category=by_category,
        category_bits=e.category_bits,
        nodes=nodes,
        thresholds=nodes.view(np.float64),
        roots=held[first[order]],
        group_start=np.array(bounds, dtype=np.int64),
        group_class=e.tree_class[order][bounds[:-1]].astype(np.int64),
        group_nodes=max((int(sizes[a:b].sum()) for a, b in pairwise(bounds)), default=0),
        base=base,
        rounding=_rounding(e),
        divisor=e.divisor,
        slope=e.slope,
        link=link,
        target=e.target_index,
    )
    for part in walk:
        if isinstance(part, np.ndarray):
            part.flags.writeable = False
    return walk


def _rounding(e: TreeEnsemble) -> NDArray[np.float64]:
    """How far two sums of a row's leaf values can be apart that are made in float32: (C,)."""
    leaf = np.where(
        e.node_split < 0, np.abs(e.leaf_value[np.minimum(e.node_split, -1) * -1 - 1]), 0
    )
    largest = np.maximum.reduceat(leaf, e.tree_start[:-1]).astype(np.float64)
    total = np.abs(e.base).astype(np.float64)
    np.add.at(total, e.tree_class, largest)
    # Each addition, and each value, rounds by half a unit of what the sum can at most be.
    return np.asarray(1.1 * 2 * (e.n_trees + 2) * 2.0**-24 * total)


def _nodes(
    e: TreeEnsemble, at: NDArray[np.intp], held: NDArray[np.uint32], columns: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Lay out split nodes as `Walk.nodes` has them: (I, 3) uint64."""
    split, left, right = e.node_split[at], at + 1, e.node_right[at]
    is_leaf = e.node_split < 0
    flags = LEFT_LEAF * is_leaf[left] + RIGHT_LEAF * is_leaf[right]
    flags += MISSING_LEFT * e.split_missing_left[split]
    row = e.split_category[split]
    nodes = np.empty((len(at), 3), dtype=np.uint64)
    nodes.view(np.float64)[:, 0] = e.split_threshold[split]
    nodes[row >= 0, 0] = row[row >= 0]
    nodes[:, 1] = held[left] | (held[right].astype(np.uint64) << np.uint64(32))
    place = np.searchsorted(columns, e.split_feature[split])
    nodes[:, 2] = place.astype(np.uint64) | (flags.astype(np.uint64) << np.uint64(32))
    return nodes


def _group(sizes: NDArray[np.int64], classes: NDArray[np.int32]) -> list[int]:
    """Bounds of runs of trees of one class with few nodes; a larger tree stands alone."""
    bounds, nodes = [0], 0
    for tree, (size, class_index) in enumerate(zip(sizes.tolist(), classes.tolist(), strict=True)):
        new_class = tree > 0 and class_index != classes[tree - 1]
        if new_class or (nodes and nodes + size > GROUP_NODES):
            bounds.append(tree)
            nodes = 0
        nodes += size
    return [*bounds, len(sizes)] if len(sizes) else [0]

"""A second view of the trees, for walking them with sets of draws.

`robx.kernels.neighbourhood` visits split nodes only; each holds what the walk needs of its
children, so that a visit costs one look into memory. Trees are walked in groups.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robx.kernels.neighbourhood import Walk
from robx.kernels.trees import depths

if TYPE_CHECKING:
    from robx.trees.ensemble import TreeEnsemble

#: Trees are walked in groups of about this many nodes, so that their sets stay in the fast cache.
GROUP_NODES = 512


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
    left, right = at + 1, e.node_right[at]
    leaves = ~is_split[left] + 2 * ~is_split[right]
    nodes = np.stack([e.node_split[at], held[left], held[right], leaves], axis=1)
    first = e.tree_start[:-1]
    stumps = ~is_split[first]
    base = e.base.astype(np.float64)
    np.add.at(base, e.tree_class[stumps], e.leaf_value[-1 - e.node_split[first[stumps]]])
    walked = np.flatnonzero(~stumps)
    order = walked[np.argsort(e.tree_class[walked], kind="stable")]
    sizes = np.add.reduceat(is_split.astype(np.int64), first)[order]
    bounds = _group(sizes, e.tree_class[order])
    by_category = np.array([column.is_category for column in e.columns], dtype=bool)
    walk = Walk(
        first_split=e.first_split,
        first_category=np.where(by_category, e.first_split[:-1], e.first_split[1:]),
        threshold=e.split_threshold,
        missing_left=e.split_missing_left,
        category_row=e.split_category,
        category_bits=e.category_bits,
        nodes=np.ascontiguousarray(nodes, dtype=np.uint32),
        roots=held[first[order]],
        group_start=np.array(bounds, dtype=np.int64),
        group_class=e.tree_class[order][bounds[:-1]].astype(np.int64),
        group_nodes=max((int(sizes[a:b].sum()) for a, b in pairwise(bounds)), default=0),
        base=base,
        divisor=e.divisor,
        slope=e.slope,
        link=link,
        target=e.target_index,
    )
    for part in walk:
        if isinstance(part, np.ndarray):
            part.flags.writeable = False
    return walk


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

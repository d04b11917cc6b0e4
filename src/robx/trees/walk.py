"""A second view of the trees, for walking them with sets of draws.

`robx.kernels.neighbourhood` visits split nodes only; each holds what the walk needs of its
children, so that a visit costs one look into memory. Trees are walked in groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.kernels.trees import depths

#: Trees are walked in groups of about this many nodes, so that their sets stay in the fast cache.
GROUP_NODES = 512


@dataclass(frozen=True)
class Walk:
    """Split nodes and groups of trees, as `robx.kernels.neighbourhood.moments` takes them."""

    nodes: NDArray[np.uint32]
    roots: NDArray[np.uint32]
    group_start: NDArray[np.int64]
    group_class: NDArray[np.int64]
    group_nodes: int
    base: NDArray[np.float64]

    def __post_init__(self) -> None:
        for array in (self.nodes, self.roots, self.group_start, self.group_class, self.base):
            array.flags.writeable = False


def make_walk(
    node_split: NDArray[np.int32],
    node_right: NDArray[np.int32],
    leaf_value: NDArray[Any],
    tree_start: NDArray[np.int64],
    tree_class: NDArray[np.int32],
    base: NDArray[Any],
) -> Walk:
    """Work out the walk of an ensemble from its arrays (see `TreeEnsemble`)."""
    is_split = node_split >= 0
    # Level by level within each tree, as they are visited: siblings stand side by side in memory.
    tree = np.repeat(np.arange(len(tree_class)), np.diff(tree_start))
    at = np.flatnonzero(is_split)
    at = at[np.lexsort((at, depths(is_split)[at], tree[at]))]
    # What a parent holds of its child: a split node's number, or a leaf's value as bits.
    held = np.empty(len(node_split), dtype=np.uint32)
    held[at] = np.arange(len(at))
    with np.errstate(over="ignore"):
        values = leaf_value[-1 - node_split[~is_split]].astype(np.float32)
    held[~is_split] = values.view(np.uint32)
    left, right = at + 1, node_right[at]
    leaves = ~is_split[left] + 2 * ~is_split[right]
    nodes = np.stack([node_split[at], held[left], held[right], leaves], axis=1)
    first = tree_start[:-1]
    stumps = ~is_split[first]
    start = base.astype(np.float64)
    np.add.at(start, tree_class[stumps], leaf_value[-1 - node_split[first[stumps]]])
    walked = np.flatnonzero(~stumps)
    order = walked[np.argsort(tree_class[walked], kind="stable")]
    sizes = np.add.reduceat(is_split.astype(np.int64), first)[order]
    bounds = _group(sizes, tree_class[order])
    return Walk(
        nodes=np.ascontiguousarray(nodes, dtype=np.uint32),
        roots=held[first[order]],
        group_start=np.array(bounds, dtype=np.int64),
        group_class=tree_class[order][bounds[:-1]].astype(np.int64),
        group_nodes=max((int(sizes[a:b].sum()) for a, b in pairwise(bounds)), default=0),
        base=start,
    )


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

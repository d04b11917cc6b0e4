"""A second view of the trees, for walking them with sets of draws.

`robx.kernels.neighbourhood` visits split nodes only and adds, for every draw that goes left at one,
the difference between what the left and the right side would end in if nothing else went left. This
module works those differences out once for a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.kernels.trees import rightmost_values

__all__ = ["Walk", "make_walk"]

#: Trees are walked in groups of about this many nodes, so that their sets stay in the fast cache.
GROUP_NODES = 512


@dataclass(frozen=True)
class Walk:
    """Split nodes and groups of trees, as `robx.kernels.neighbourhood.moments` takes them."""

    nodes: NDArray[np.int32]
    roots: NDArray[np.int32]
    group_start: NDArray[np.int64]
    group_class: NDArray[np.int64]
    group_nodes: int
    base: NDArray[np.float64]


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
    number = np.where(is_split, np.cumsum(is_split) - 1, -1).astype(np.int32)
    value = rightmost_values(node_split, node_right, leaf_value)
    at = np.flatnonzero(is_split)
    gain = (value[at + 1] - value[node_right[at]]).astype(np.float32)
    nodes = np.stack(
        [node_split[at], number[at + 1], number[node_right[at]], gain.view(np.int32)], 1
    )
    first = tree_start[:-1]
    order = np.argsort(tree_class, kind="stable")
    sizes = np.add.reduceat(is_split.astype(np.int64), first)[order]
    bounds = _group(sizes, tree_class[order])
    start_value = np.zeros(len(base))
    np.add.at(start_value, tree_class, value[first])
    return Walk(
        nodes=np.ascontiguousarray(nodes, dtype=np.int32),
        roots=number[first][order],
        group_start=np.array(bounds, dtype=np.int64),
        group_class=tree_class[order][bounds[:-1]].astype(np.int64),
        group_nodes=int(np.add.reduceat(sizes, bounds[:-1]).max()),
        base=base.astype(np.float64) + start_value,
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
    return [*bounds, len(sizes)]

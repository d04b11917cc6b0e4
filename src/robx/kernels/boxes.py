"""Exact expectations under Gaussian noise.

A leaf is a box; the chance that a noisy row falls into it is a product over features of differences
of the normal distribution function. Walking a tree, one keeps for every feature the part of its
distribution that is still possible, as two cumulative probabilities; a split narrows one of them.
What a split does to a missing value or a category is certain: a probability of zero or one.
"""

from __future__ import annotations

import math

import numpy as np

from robx.arrays import AnyFloats, AnyInts
from robx.kernels.compiling import njit
from robx.kernels.trees import Trees


@njit(nogil=True, cache=True)
def _left_probabilities(x: AnyFloats, spread: AnyFloats, trees: Trees, out: AnyFloats) -> None:
    """Chance that a noisy copy of x goes left, for each split."""
    feature, threshold, missing_left, category_row, category_bits = trees[:5]
    for s in range(feature.shape[0]):
        j = feature[s]
        value = x[j]
        if value != value:
            out[s] = 1.0 if missing_left[s] else 0.0
        elif category_row[s] >= 0:
            code = int(value)
            word = category_bits[category_row[s], code >> 6]
            out[s] = 1.0 if (word >> np.uint64(code & 63)) & np.uint64(1) else 0.0
        elif spread[j] == 0 or math.isinf(value):
            out[s] = 1.0 if value <= threshold[s] else 0.0
        else:
            z = (threshold[s] - value) / spread[j]
            out[s] = 0.5 * math.erfc(-z / math.sqrt(2.0))


@njit(nogil=True, cache=True)
def _next_leaf(
    depth: int,
    stack_node: AnyInts,
    stack_feature: AnyInts,
    stack_bounds: AnyFloats,
    low: AnyFloats,
    high: AnyFloats,
    left_probability: AnyFloats,
    feature: AnyInts,
    node_split: AnyInts,
    node_right: AnyInts,
) -> tuple[int, int, float]:
    """Go on to the next leaf that a noisy row can reach.

    An entry of the stack says: first set the bounds of a feature, then visit a node (or none, when
    the bounds are only put back). Returns the new depth, the leaf (-1 if there is no more) and its
    probability; `low` and `high` are then the leaf's box.
    """
    while depth > 0:
        depth -= 1
        j = stack_feature[depth]
        if j >= 0:
            low[j], high[j] = stack_bounds[depth, 0], stack_bounds[depth, 1]
        node = stack_node[depth]
        if node < 0:
            continue
        chance = stack_bounds[depth, 2]
        split = node_split[node]
        if split < 0:
            return depth, -1 - split, chance
        j = feature[split]
        below, above = low[j], high[j]
        cut = min(max(left_probability[split], below), above)
        share = (cut - below) / (above - below)
        stack_node[depth], stack_feature[depth] = -1, j
        stack_bounds[depth, 0], stack_bounds[depth, 1] = below, above
        depth += 1
        if share < 1:
            stack_node[depth], stack_feature[depth] = node_right[node], j
            stack_bounds[depth, 0], stack_bounds[depth, 1] = cut, above
            stack_bounds[depth, 2] = chance * (1 - share)
            depth += 1
        if share > 0:
            stack_node[depth], stack_feature[depth] = node + 1, j
            stack_bounds[depth, 0], stack_bounds[depth, 1] = below, cut
            stack_bounds[depth, 2] = chance * share
            depth += 1
    return 0, -1, 0.0


@njit(nogil=True, cache=True)
def _start(root: int, chance: float, node: AnyInts, feature: AnyInts, bounds: AnyFloats) -> int:
    node[0], feature[0], bounds[0, 2] = root, -1, chance
    return 1


@njit(nogil=True, cache=True)
def _tree_mean(
    root: int,
    stack_node: AnyInts,
    stack_feature: AnyInts,
    stack_bounds: AnyFloats,
    low: AnyFloats,
    high: AnyFloats,
    left_probability: AnyFloats,
    feature: AnyInts,
    node_split: AnyInts,
    node_right: AnyInts,
    leaf_value: AnyFloats,
) -> float:
    """Expected value of one tree."""
    mean = 0.0
    depth = _start(root, 1.0, stack_node, stack_feature, stack_bounds)
    while True:
        depth, leaf, chance = _next_leaf(
            depth, stack_node, stack_feature, stack_bounds, low, high, left_probability, feature,
            node_split, node_right,
        )  # fmt: skip
        if leaf < 0:
            return mean
        mean += chance * leaf_value[leaf]


@njit(nogil=True, cache=True)
def expected_sums(
    X: AnyFloats, spread: AnyFloats, trees: Trees, stack_size: int, out: AnyFloats
) -> None:
    """Add to ``out[row, class]`` the expected sum of leaf values under noise.

    ``stack_size`` is three times the depth of the deepest tree, and one.
    """
    feature, tree_start, tree_class = trees.feature, trees.tree_start, trees.tree_class
    node_split, node_right, leaf_value = trees.node_split, trees.node_right, trees.leaf_value
    left_probability = np.empty(feature.shape[0])
    low, high = np.zeros(X.shape[1]), np.ones(X.shape[1])
    node, of = np.empty(stack_size, np.int64), np.empty(stack_size, np.int64)
    bounds = np.empty((stack_size, 3))
    for i in range(X.shape[0]):
        _left_probabilities(X[i], spread, trees, left_probability)
        for tree in range(tree_class.shape[0]):
            out[i, tree_class[tree]] += _tree_mean(
                tree_start[tree], node, of, bounds, low, high, left_probability, feature,
                node_split, node_right, leaf_value,
            )  # fmt: skip


@njit(nogil=True, cache=True)
def variances(
    X: AnyFloats, spread: AnyFloats, trees: Trees, stack_size: int, out: AnyFloats
) -> None:
    """Write to ``out[row]`` the variance of the sum of leaf values under noise.

    Every pair of trees is walked together: below each leaf of the one, the other is walked inside
    that leaf's box. Values are taken as differences from their tree's mean, so that a tree which
    noise does not touch adds exactly nothing.
    """
    feature, tree_start = trees.feature, trees.tree_start
    node_split, node_right, leaf_value = trees.node_split, trees.node_right, trees.leaf_value
    n_trees = tree_start.shape[0] - 1
    left_probability = np.empty(feature.shape[0])
    low, high = np.zeros(X.shape[1]), np.ones(X.shape[1])
    node, of = np.empty(stack_size, np.int64), np.empty(stack_size, np.int64)
    bounds = np.empty((stack_size, 3))
    node_2, of_2 = np.empty(stack_size, np.int64), np.empty(stack_size, np.int64)
    bounds_2 = np.empty((stack_size, 3))
    mean = np.empty(n_trees)
    for i in range(X.shape[0]):
        _left_probabilities(X[i], spread, trees, left_probability)
        for tree in range(n_trees):
            mean[tree] = _tree_mean(
                tree_start[tree], node, of, bounds, low, high, left_probability, feature,
                node_split, node_right, leaf_value,
            )  # fmt: skip
        total = 0.0
        for tree in range(n_trees):
            depth = _start(tree_start[tree], 1.0, node, of, bounds)
            while True:
                depth, leaf, chance = _next_leaf(
                    depth, node, of, bounds, low, high, left_probability, feature, node_split,
                    node_right,
                )  # fmt: skip
                if leaf < 0:
                    break
                away = leaf_value[leaf] - mean[tree]
                total += chance * away * away
                for other in range(tree + 1, n_trees):
                    depth_2 = _start(tree_start[other], chance, node_2, of_2, bounds_2)
                    while True:
                        depth_2, leaf_2, chance_2 = _next_leaf(
                            depth_2, node_2, of_2, bounds_2, low, high, left_probability, feature,
                            node_split, node_right,
                        )  # fmt: skip
                        if leaf_2 < 0:
                            break
                        total += 2 * chance_2 * away * (leaf_value[leaf_2] - mean[other])
        out[i] = total

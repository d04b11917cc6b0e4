"""Slow, obvious twin of `robx.methods.baselines.kernels.soft`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from naive import goes_left
from robx.trees import TreeEnsemble

Floats = NDArray[np.float64]


def chance_right(ensemble: TreeEnsemble, split: int, z: Floats, steepness: Floats) -> float:
    """Chance of going right at a split, 0 or 1 where it is hard."""
    j = int(ensemble.split_feature[split])
    threshold = float(ensemble.split_threshold[split])
    by_category = ensemble.split_category[split] >= 0
    if by_category or math.isnan(z[j]) or steepness[j] == 0 or math.isinf(threshold):
        return 0.0 if goes_left(ensemble, split, z) else 1.0
    return 0.5 + 0.5 * math.tanh(0.5 * steepness[j] * (z[j] - threshold))


def soft_sums(ensemble: TreeEnsemble, z: Floats, steepness: Floats) -> Floats:
    """Soft sum of leaf values for each class, from the base: (C,)."""

    def value(node: int) -> float:
        split = int(ensemble.node_split[node])
        if split < 0:
            return float(ensemble.leaf_value[-1 - split])
        right = chance_right(ensemble, split, z, steepness)
        return (1 - right) * value(node + 1) + right * value(int(ensemble.node_right[node]))

    total = ensemble.base.astype(np.float64)
    for tree in range(ensemble.n_trees):
        total[ensemble.tree_class[tree]] += value(int(ensemble.tree_start[tree]))
    return total


def soft_gradient(ensemble: TreeEnsemble, z: Floats, steepness: Floats) -> Floats:
    """Derivative of each soft sum in each coordinate, by the product rule: (C, d)."""

    def value_and_slope(node: int) -> tuple[float, Floats]:
        split = int(ensemble.node_split[node])
        if split < 0:
            return float(ensemble.leaf_value[-1 - split]), np.zeros(len(z))
        left, left_slope = value_and_slope(node + 1)
        right, right_slope = value_and_slope(int(ensemble.node_right[node]))
        p = chance_right(ensemble, split, z, steepness)
        slope = (1 - p) * left_slope + p * right_slope
        j = int(ensemble.split_feature[split])
        slope[j] += steepness[j] * p * (1 - p) * (right - left)
        return (1 - p) * left + p * right, slope

    total = np.zeros((len(ensemble.base), len(z)))
    for tree in range(ensemble.n_trees):
        total[ensemble.tree_class[tree]] += value_and_slope(int(ensemble.tree_start[tree]))[1]
    return total

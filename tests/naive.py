"""Slow, obvious twins of every kernel: what the fast code must equal."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from robx.trees import TreeEnsemble

Floats = NDArray[np.float64]


def leaf_of(ensemble: TreeEnsemble, tree: int, x: Floats) -> int:
    """The leaf that a row ends in, following the definitions one by one."""
    node = int(ensemble.tree_start[tree])
    while (split := int(ensemble.node_split[node])) >= 0:
        node = node + 1 if goes_left(ensemble, split, x) else int(ensemble.node_right[node])
    return -1 - split


def goes_left(ensemble: TreeEnsemble, split: int, x: Floats) -> bool:
    value = x[ensemble.split_feature[split]]
    if math.isnan(value):
        return bool(ensemble.split_missing_left[split])
    row = ensemble.split_category[split]
    if row < 0:
        return bool(value <= ensemble.split_threshold[split])
    word, bit = divmod(int(value), 64)
    return bool(int(ensemble.category_bits[row, word]) >> bit & 1)


def margins(ensemble: TreeEnsemble, x: Floats) -> Floats:
    """Sum of leaf values for each class, in float64."""
    total = ensemble.base.astype(np.float64)
    for tree in range(ensemble.n_trees):
        leaf = leaf_of(ensemble, tree, x)
        total[ensemble.tree_class[tree]] += ensemble.leaf_value[leaf]
    return total / ensemble.divisor * ensemble.slope


def score(ensemble: TreeEnsemble, x: Floats) -> float:
    margin = margins(ensemble, x)
    match ensemble.link:
        case "identity":
            return float(margin[0])
        case "sigmoid":
            return 1 / (1 + math.exp(-margin[0]))
        case "one_minus_sigmoid":
            return 1 - 1 / (1 + math.exp(-margin[0]))
        case _:
            weights = np.exp(margin - margin.max())
            return float(weights[ensemble.target_index] / weights.sum())


def stability(
    score_rows: Callable[[Floats], Any], x: Floats, spread: Floats, noise: Floats
) -> tuple[float, float]:
    """Definition 4, to the letter: make the copies, score them, take mean and deviation."""
    scores = np.asarray(score_rows(x + spread * noise), dtype=np.float64)
    mean = scores.sum() / len(scores)
    return float(mean), float(math.sqrt(((scores - mean) ** 2).sum() / len(scores)))


def leaf_boxes(
    ensemble: TreeEnsemble, tree: int
) -> list[tuple[float, dict[int, tuple[float, float]]]]:
    """Each leaf's value and its box, ``low < x <= high`` for each column that it bounds."""
    found: list[tuple[float, dict[int, tuple[float, float]]]] = []

    def visit(node: int, box: dict[int, tuple[float, float]]) -> None:
        split = int(ensemble.node_split[node])
        if split < 0:
            found.append((float(ensemble.leaf_value[-1 - split]), box))
            return
        j, t = int(ensemble.split_feature[split]), float(ensemble.split_threshold[split])
        low, high = box.get(j, (-math.inf, math.inf))
        visit(node + 1, {**box, j: (low, min(high, t))})
        visit(int(ensemble.node_right[node]), {**box, j: (max(low, t), high)})

    visit(int(ensemble.tree_start[tree]), {})
    return found


def box_probability(box: dict[int, tuple[float, float]], x: Floats, spread: Floats) -> float:
    """Chance that Gaussian noise around x falls into a box."""
    chance = 1.0
    for j, (low, high) in box.items():
        above, below = norm.cdf(high, x[j], spread[j]), norm.cdf(low, x[j], spread[j])
        chance *= max(float(above - below), 0.0)
    return chance


def exact_margin(ensemble: TreeEnsemble, x: Floats, spread: Floats) -> float:
    """Expected margin of a one-margin ensemble on numbers, leaf by leaf."""
    total = float(ensemble.base[0])
    for tree in range(ensemble.n_trees):
        for value, box in leaf_boxes(ensemble, tree):
            total += value * box_probability(box, x, spread)
    return total / ensemble.divisor * ensemble.slope


def exact_moments(ensemble: TreeEnsemble, x: Floats, spread: Floats) -> tuple[float, float]:
    """Mean and deviation of an averaged forest's score, over all pairs of leaves of all trees."""
    trees = [leaf_boxes(ensemble, tree) for tree in range(ensemble.n_trees)]
    mean = exact_margin(ensemble, x, spread)
    square = 0.0
    for one, other in itertools.product(trees, trees):
        for (value, box), (value_2, box_2) in itertools.product(one, other):
            both = dict(box)
            for j, (low, high) in box_2.items():
                have = both.get(j, (-math.inf, math.inf))
                both[j] = (max(low, have[0]), min(high, have[1]))
            square += value * value_2 * box_probability(both, x, spread)
    return mean, math.sqrt(max(square / ensemble.divisor**2 - mean**2, 0.0))


def robx(
    score_rows: Callable[[Floats], Any],
    support: Floats,
    x: Floats,
    base: Floats,
    noise: Floats,
    *,
    tau: float,
    alpha: float,
    c: int,
    p: int,
    stable: NDArray[np.bool_] | None = None,
    spread: float = 0.1,
) -> Floats:
    """Algorithm 1, to the letter, on columns of scale 1 and with one shared set of draws.

    `stable` are the rows of the support that pass the test, where they are known already. A walk
    ends at its target once it is within a thousandth of the way.
    """

    def passes(point: Floats) -> bool:
        mean, std = stability(score_rows, point, np.full(len(x), spread), noise)
        return mean - std >= tau

    if passes(base):
        return base
    if stable is None:
        stable = stable_rows(score_rows, support, noise, tau, spread)
    rows = support[stable]
    nearest = np.argsort(np.linalg.norm(rows - base, ord=p, axis=1), kind="stable")[:c]
    found: list[Floats] = []
    for target in rows[nearest]:
        point, left = base, 1.0
        while True:
            point, left = alpha * target + (1 - alpha) * point, left * (1 - alpha)
            if left < 1e-3:
                point = target
            if left < 1e-3 or passes(point):
                break
        found.append(point)
    costs = [np.linalg.norm(x - point, ord=p) for point in found]
    return found[int(np.argmin(costs))]


def stable_rows(
    score_rows: Callable[[Floats], Any], support: Floats, noise: Floats, tau: float, spread: float
) -> NDArray[np.bool_]:
    """Which rows of the support are conservative counterfactuals: accepted, and R >= tau."""
    accepted = np.asarray(score_rows(support)) > 0.5
    passed = np.zeros(len(support), dtype=bool)
    for i in np.flatnonzero(accepted):
        mean, std = stability(score_rows, support[i], np.full(support.shape[1], spread), noise)
        passed[i] = mean - std >= tau
    return passed

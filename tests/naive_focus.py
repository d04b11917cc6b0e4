"""Slow, obvious twin of `robx.methods.baselines.focus`: one applicant, one column at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import naive
import naive_soft
from robx.methods.baselines.focus import Focus
from robx.problem import Problem
from robx.trees import TreeEnsemble

Floats = NDArray[np.float64]


def soft_score(ensemble: TreeEnsemble, sums: Floats, temperature: float) -> float:
    """The link, as it is defined, on margins times the temperature."""
    margin = [float(total) / ensemble.divisor * ensemble.slope for total in sums]
    if ensemble.link == "identity":
        return margin[0]
    weights = [math.exp(temperature * m) for m in margin]
    if ensemble.link == "softmax":
        return weights[ensemble.target_index] / sum(weights)
    chance = weights[0] / (1 + weights[0])
    return chance if ensemble.link == "sigmoid" else 1 - chance


def push(ensemble: TreeEnsemble, sums: Floats, temperature: float) -> float:
    """What the descent makes smaller while the model does not accept."""
    score = soft_score(ensemble, sums, temperature)
    if ensemble.link == "identity":
        return -score
    return -math.log(score / (1 - score))


def push_slope(ensemble: TreeEnsemble, z: Floats, steepness: Floats, temperature: float) -> Floats:
    """Its derivative in each column: through the trees by rule, through the link by differences."""
    sums = naive_soft.soft_sums(ensemble, z, steepness)
    through_trees = naive_soft.soft_gradient(ensemble, z, steepness)
    slope = np.zeros(len(z))
    for k in range(len(sums)):
        h = 1e-5 * np.eye(len(sums))[k]
        above, below = (push(ensemble, sums + way, temperature) for way in (h, -h))
        slope += (above - below) / 2e-5 * through_trees[k]
    return slope


def focus(method: Focus, problem: Problem, x: Floats) -> tuple[Floats | None, list[Floats]]:
    """The closest accepted point, and all the places that the descent came by.

    For problems without relations, and few enough steps that patience does not run out.
    """
    ensemble, rules = problem.model, problem.rules
    assert isinstance(ensemble, TreeEnsemble)
    low, high = (bound[0] for bound in rules.bounds(x[None]))
    scale, d = rules.scale, len(x)
    fixed = [
        f.kind == "categorical" or f.change == "none" or c.is_category
        for f, c in zip(rules.features, ensemble.columns, strict=True)
    ]
    steepness = np.array([0.0 if fixed[j] else method.sigma / scale[j] for j in range(d)])
    moving = [j for j in range(d) if not fixed[j] and not math.isnan(x[j]) and low[j] < high[j]]
    z, accepted = x.copy(), False
    mean, square = [0.0] * d, [0.0] * d
    best: Floats | None = None
    least, places = math.inf, []
    for t in range(1, method.n_steps + 1):
        weight = method.distance_weight
        if best is None:
            weight *= 0.5 ** (8 * t / method.n_steps)
        slope = np.zeros(d)
        if not accepted:
            slope = push_slope(ensemble, z, steepness, method.temperature) * scale
            slope /= max(abs(slope[j]) for j in moving) or 1.0
        step = np.zeros(d)
        for j in moving:
            g = total_slope(method, rules, weight, slope[j], z, x, j)
            mean[j] = 0.9 * mean[j] + 0.1 * g
            square[j] = 0.999 * square[j] + 0.001 * g**2
            unbiased = mean[j] / (1 - 0.9**t), square[j] / (1 - 0.999**t)
            step[j] = -method.learning_rate * unbiased[0] / (math.sqrt(unbiased[1]) + 1e-8)
        for j in moving:
            after = z[j] + step[j] * scale[j]
            if method.norm == 1 and (z[j] - x[j]) * (after - x[j]) < 0:
                after, mean[j] = x[j], 0.0
            z[j] = min(max(after, low[j]), high[j])
        places.append(z.copy())
        point = rules.settle(z[None], x[None], (low[None], high[None]))[0]
        accepted = naive.score(ensemble, point) > problem.gate.cutoff(method.gamma)
        cost = float(rules.cost(point[None], x[None], method.norm)[0])
        if accepted and cost < least:
            best, least = point, cost
    return best, places


def total_slope(
    method: Focus, rules: Any, weight: float, push: float, z: Floats, x: Floats, j: int
) -> float:
    """Slope of the loss in column j; where the distance has a kink, the least that there is."""
    unit = rules.unit(method.norm) * rules.scale
    away = (z - x) / rules.scale
    if method.norm == 2:
        length = math.sqrt(float(np.nansum((unit * away) ** 2)))
        return push + (weight * float(unit[j] ** 2 * away[j]) / length if length > 0 else 0.0)
    pull = weight * float(unit[j])
    if away[j] != 0:
        return push + pull * float(np.sign(away[j]))
    lowest, highest = push - pull, push + pull
    return lowest if lowest > 0 else highest if highest < 0 else 0.0

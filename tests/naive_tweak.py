"""Slow, obvious twin of feature tweaking: every leaf of every tree, one after the other."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import naive
from robx.kernels import grids
from robx.problem import Problem
from robx.problem.model_view import EnsembleView
from robx.schema import Norm
from robx.trees import TreeEnsemble

Floats = NDArray[np.float64]
#: A leaf, and the splits above it with the side that leads to it.
Path = tuple[int, list[tuple[int, bool]]]

CHOICES = 16


@dataclass(frozen=True)
class Asked:
    """What a path asks of a column: an interval, and the splits by category with their sides."""

    low: float
    high: float
    sides: tuple[tuple[int, bool], ...]


@dataclass(frozen=True)
class Applicant:
    """Somebody, what they may have, and where they are on their way."""

    own: Floats
    low: Floats
    high: Floats
    now: Floats


def view_of(problem: Problem) -> EnsembleView:
    assert isinstance(problem.view, EnsembleView)
    return problem.view


def ensemble_of(problem: Problem) -> TreeEnsemble:
    assert isinstance(problem.model, TreeEnsemble)
    return problem.model


def paths(ensemble: TreeEnsemble, tree: int) -> list[Path]:
    found: list[Path] = []

    def visit(node: int, above: list[tuple[int, bool]]) -> None:
        split = int(ensemble.node_split[node])
        if split < 0:
            found.append((-1 - split, above))
            return
        visit(node + 1, [*above, (split, True)])
        visit(int(ensemble.node_right[node]), [*above, (split, False)])

    visit(int(ensemble.tree_start[tree]), [])
    return found


def worth(ensemble: TreeEnsemble, tree: int, leaf: int) -> float:
    """What a leaf adds to the target's margin."""
    value = float(ensemble.leaf_value[leaf])
    if ensemble.link == "one_minus_sigmoid":
        return -value
    if ensemble.link == "softmax" and ensemble.tree_class[tree] != ensemble.target_index:
        return -value
    return value


def asked_of(ensemble: TreeEnsemble, path: list[tuple[int, bool]], j: int) -> Asked:
    low, high, sides = -math.inf, math.inf, []
    for split, left in path:
        if ensemble.split_feature[split] != j:
            continue
        if ensemble.split_category[split] >= 0:
            sides.append((split, left))
        elif left:
            high = min(high, float(ensemble.split_threshold[split]))
        else:
            low = max(low, float(ensemble.split_threshold[split]))
    return Asked(low, high, tuple(sides))


def follows(problem: Problem, path: list[tuple[int, bool]], point: Floats, j: int) -> bool:
    """Whether a point's value of a column goes the way of the path at each split on it."""
    ensemble = ensemble_of(problem)
    numbers = problem.view.numbers(point[None])[0]
    return all(
        naive.goes_left(ensemble, split, numbers) == left
        for split, left in path
        if ensemble.split_feature[split] == j
    )


def values_of_grid(problem: Problem, j: int, low: float, high: float) -> list[float] | None:
    """All values of a column's grid in a range, or None for all numbers."""
    kind, numerator, denominator, single, start, levels = problem.rules.grid
    if kind[j] == grids.FREE:
        return None
    if kind[j] == grids.LEVELS:
        values = [float(v) for v in levels[start[j] : start[j + 1]]]
    else:
        step = numerator[j] / denominator[j]
        first, last = math.floor(low / step) - 2, math.ceil(high / step) + 2
        values = [k * numerator[j] / denominator[j] for k in range(first, last + 1)]
    if single[j]:
        values = [float(np.float32(v)) for v in values]
    return [v for v in values if low <= v <= high]


def options(
    problem: Problem, who: Applicant, path: list[tuple[int, bool]], j: int, epsilon: float
) -> list[float]:
    """Values that a column may move to so that it follows a path; the first is the usual one."""
    ensemble = ensemble_of(problem)
    asked = asked_of(ensemble, path, j)
    x = float(who.own[j])
    if math.isnan(x) and not problem.rules.may_fill[j]:
        return []

    def possible(value: float) -> bool:
        point = who.now.copy()
        point[j] = value
        return not means_missing(problem, value, j) and follows(problem, path, point, j)

    there = who.now.copy()
    there[j] = x
    if not math.isnan(x) and follows(problem, path, there, j):
        return [x]
    if ensemble.columns[j].is_category:
        codes = view_of(problem).codes
        levels = codes[j][0] if j in codes else np.zeros(0)
        return [float(v) for v in levels if who.low[j] <= v <= who.high[j] and possible(v)]
    found = _numbers(problem, who, asked, j, epsilon * float(problem.rules.scale[j]))
    # A member that is not set may mean "missing", and follows as a missing value.
    there[j] = 0.0
    may_be_unset = problem.rules.is_member[j] and who.low[j] <= 0 <= who.high[j]
    if may_be_unset and means_missing(problem, 0.0, j) and follows(problem, path, there, j):
        found.append(0.0)
    return found[:1]


def _numbers(problem: Problem, who: Applicant, asked: Asked, j: int, inside: float) -> list[float]:
    """The number in an interval that is nearest to a place just inside it, if there is one."""
    x = float(who.own[j])
    least = max(math.nextafter(asked.low, math.inf), float(who.low[j]))
    most = min(asked.high, float(who.high[j]))
    if least > most:
        return []
    if math.isnan(x):
        wanted = 0.5 * least + 0.5 * most
    elif asked.low < x <= asked.high:
        wanted = x
    elif asked.high - asked.low < 2 * inside:
        wanted = 0.5 * asked.low + 0.5 * asked.high
    else:
        wanted = asked.low + inside if x <= asked.low else asked.high - inside
    values = values_of_grid(problem, j, least, most)
    if values is None:
        value = min(max(wanted, least), most)
        values = [value]
        if means_missing(problem, value, j):
            values = [min(max(v, least), most) for v in (value - inside, value + inside)]
        if problem.rules.single[j]:
            near = np.float32(value)
            around = [np.nextafter(near, np.float32(w)) for w in (-np.inf, np.inf)]
            values = [float(v) for v in (near, *around) if least <= v <= most]
    kind, numerator, denominator, *_ = problem.rules.grid
    step = numerator[j] / denominator[j] if kind[j] == grids.STEP else math.inf

    def far(value: float) -> tuple[float, float]:
        if step == math.inf:
            return abs(value - wanted), 0.0
        place = round(value / step)
        return abs(place - wanted / step), place % 2  # ties go to even multiples

    return sorted((v for v in values if not means_missing(problem, v, j)), key=far)[:1]


def means_missing(problem: Problem, value: float, j: int) -> bool:
    row = np.zeros((1, len(problem.names)))
    row[0, j] = value
    return bool(np.isnan(problem.view.numbers(row)[0, j]))


def ways_of_group(
    problem: Problem, who: Applicant, path: list[tuple[int, bool]], name: str
) -> list[dict[int, float]]:
    """Settings of a one-hot group that follow a path, among those that leave one member set."""
    members = [int(j) for j in problem.rules.groups[name]]
    settings = [{j: float(j == k) for j in members} for k in members]
    if name in problem.rules.optional_groups:
        settings.insert(0, dict.fromkeys(members, 0.0))
    found = []
    for setting in settings:
        point = who.now.copy()
        point[members] = [setting[j] for j in members]
        chosen = [j for j in members if setting[j] == 1]
        in_bounds = all(who.low[j] <= 1 <= who.high[j] for j in chosen)
        if in_bounds and all(follows(problem, path, point, j) for j in members):
            found.append(setting)
    mine = [s for s in found if any(s[j] == 1 and who.own[j] == 1 for j in members)]
    return mine or found


def candidates(
    problem: Problem, own: Floats, now: Floats, epsilon: float
) -> list[tuple[Floats, Path]]:
    """Points in better leaves, each with the path to its leaf."""
    ensemble = ensemble_of(problem)
    low, high = (bound[0] for bound in problem.rules.bounds(own[None]))
    who = Applicant(own, low, high, now)
    numbers = problem.view.numbers(now[None])[0]
    found = []
    for tree in range(ensemble.n_trees):
        here = worth(ensemble, tree, naive.leaf_of(ensemble, tree, numbers))
        for leaf, path in paths(ensemble, tree):
            if worth(ensemble, tree, leaf) > here:
                found += [(p, (leaf, path)) for p in _into(problem, who, path, epsilon)]
    return found


def _into(
    problem: Problem, who: Applicant, path: list[tuple[int, bool]], epsilon: float
) -> list[Floats]:
    ensemble = ensemble_of(problem)
    columns = {int(ensemble.split_feature[split]) for split, _ in path}
    ways: list[list[dict[int, float]]] = []
    groups = dict.fromkeys(
        problem.schema.features[j].group
        for j in sorted(columns)
        if not follows(problem, path, who.now, j)
    )
    for j in sorted(columns):
        if not follows(problem, path, who.now, j):
            values = options(problem, who, path, j, epsilon)
            if problem.schema.features[j].group is None or not values:
                ways.append([{j: value} for value in values])
    ways += [ways_of_group(problem, who, path, name) for name in groups if name is not None]
    if not all(ways):
        return []
    found = []
    for n in range(min(max(map(len, ways)), CHOICES)):
        point = who.now.copy()
        for way in ways:
            for j, value in way[n % len(way)].items():
                point[j] = value
        found.append(point)
    return found


def one_step(problem: Problem, own: Floats, epsilon: float, norm: Norm, cutoff: float) -> float:
    """Cost of the cheapest accepted tweak, or infinity."""
    points = [point for point, _ in candidates(problem, own, own, epsilon)]
    stack = np.array([own, *points])
    good = (problem.gate.score(stack) > cutoff) & problem.rules.keeps(stack, stack)
    cost = problem.rules.cost(stack, np.tile(own, (len(stack), 1)), norm)
    return float(cost[good].min(initial=np.inf))


def lead(ensemble: TreeEnsemble, numbers: Floats) -> float:
    """The target's margin over the other classes together."""
    margin = naive.margins(ensemble, numbers)
    if ensemble.link == "softmax":
        others = np.delete(margin, ensemble.target_index)
        return float(margin[ensemble.target_index] - np.log(np.exp(others).sum()))
    return float(-margin[0] if ensemble.link == "one_minus_sigmoid" else margin[0])


def chain(
    problem: Problem, own: Floats, epsilon: float, norm: Norm, cutoff: float, max_steps: int
) -> tuple[int, float]:
    """Number of steps to the first accepted point, and its cost; infinite if there is none."""
    ensemble, now = ensemble_of(problem), own

    def cost(point: Floats) -> float:
        return float(problem.rules.cost(point[None], own[None], norm)[0])

    def margin(point: Floats) -> float:
        return lead(ensemble, problem.view.numbers(point[None])[0])

    for step in range(1, max_steps + 1):
        points = [point for point, _ in candidates(problem, own, now, epsilon)]
        accepted = [p for p in points if problem.gate.score(p[None])[0] > cutoff]
        if accepted:
            return step, min(map(cost, accepted))
        better = [p for p in points if margin(p) > margin(now)]
        if not better:
            break
        here = now
        now = max(
            better, key=lambda p: (margin(p) - margin(here)) / max(cost(p) - cost(here), 1e-6)
        )
    return max_steps + 1, math.inf


def best_sums(problem: Problem, own: Floats) -> Floats:
    """The best leaf of each tree that can be reached, summed by class. For columns of numbers."""
    ensemble = ensemble_of(problem)
    low, high = (bound[0] for bound in problem.rules.bounds(own[None]))
    who = Applicant(own, low, high, own)
    sums = ensemble.base.copy()
    for tree in range(ensemble.n_trees):
        reached = [
            leaf for leaf, path in paths(ensemble, tree) if _into_or_there(problem, who, path)
        ]
        best = max(reached, key=lambda leaf: worth(ensemble, tree, leaf))
        sums[ensemble.tree_class[tree]] += ensemble.leaf_value[best]
    return np.asarray(sums)


def _into_or_there(problem: Problem, who: Applicant, path: list[tuple[int, bool]]) -> bool:
    ensemble = ensemble_of(problem)
    columns = {int(ensemble.split_feature[split]) for split, _ in path}
    away = [j for j in columns if not follows(problem, path, who.now, j)]
    return all(options(problem, who, path, j, 0.1) for j in away)


def every_point(values: list[list[float]]) -> Floats:
    """All combinations of values."""
    return np.array(list(itertools.product(*values)))

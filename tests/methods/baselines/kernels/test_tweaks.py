"""These tests are small enough to run with the JIT off as well."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import naive
import naive_tweak
from oracles import toy_data, with_missing
from robx import Feature, Problem, Schema
from robx.kernels import leaf_boxes, reachable_leaves
from robx.methods.baselines.feature_tweaking import _candidates
from robx.methods.baselines.kernels import tweaks
from robx.methods.leaf_space import LeafSpace
from robx.problem import Applicants
from robx.trees import TreeEnsemble

Floats = NDArray[np.float64]

RAW, Y = toy_data(60, 3)
THREE = np.arange(60) % 3
HOLES = with_missing(RAW)
TELLING = np.arange(60) % 3 + 3 * np.where(np.arange(60) % 7 > 0, Y, 1 - Y)
BY_CATEGORY = pd.DataFrame({"a": RAW[:, 0], "b": pd.Categorical(TELLING), "c": RAW[:, 2]})
ONE_HOT = np.column_stack([RAW[:, 0], np.eye(6)[TELLING]])


def boosted(X: Any, y: Any, **traits: Any) -> Any:
    return xgb.XGBClassifier(
        n_estimators=4, max_depth=3, min_child_weight=0.1, n_jobs=1, **traits
    ).fit(X, y)


def light(X: Any, categories: Any = "auto", **traits: Any) -> Any:
    return lgb.LGBMClassifier(
        n_estimators=6, num_leaves=7, min_child_samples=3, min_data_per_group=2, cat_smooth=1,
        cat_l2=0, min_data_in_bin=1, n_jobs=1, verbose=-1, **traits,
    ).fit(X, Y, categorical_feature=categories)  # fmt: skip


def free(d: int, **changes: Any) -> Schema:
    return Schema(tuple(Feature(f"x{j}", **changes.get(f"x{j}", {})) for j in range(d)))


def one_hot(*optional: str) -> Schema:
    members = tuple(Feature(f"x{j}", "onehot", group="job") for j in range(1, 7))
    return Schema((Feature("x0"), *members), optional_groups=optional)


PROBLEMS: dict[str, Problem] = {
    "boosted": Problem(boosted(RAW, Y), RAW, free(3)),
    "steps": Problem(
        boosted(RAW, Y), RAW,
        free(3, x0={"resolution": 0.3}, x1={"kind": "integer"}, x2={"change": "increase"}),
    ),
    "narrow": Problem(
        boosted(RAW.astype(np.float32), Y), RAW.astype(np.float32),
        free(3, x0={"resolution": 0.1}, x1={"low": 1.0, "high": 4.0}, x2={"change": "decrease"}),
    ),
    "holes": Problem(boosted(HOLES, Y), HOLES, free(3, x0={"may_fill": True})),
    "zero means missing": Problem(
        light(RAW, zero_as_missing=True), RAW,
        free(3, x1={"kind": "integer"}, x2={"resolution": 0.1}),
    ),
    "three classes": Problem(boosted(RAW, THREE), RAW, free(3), target=1, threshold=0.3),
    "the other class": Problem(boosted(RAW, Y), RAW, free(3), target=0),
    "forest": Problem(RandomForestClassifier(4, max_depth=5, random_state=0).fit(RAW, Y), RAW,
                      free(3, x1={"change": "none"})),
    "labels": Problem(
        boosted(RAW, Y), RAW,
        free(3, x1={"kind": "categorical", "levels": (0, 1, 2, 3, 4, 5), "weight": 0.1}),
    ),
    "categories": Problem(light(BY_CATEGORY), BY_CATEGORY),
    "one-hot": Problem(boosted(ONE_HOT, Y, base_score=0.5), ONE_HOT, one_hot()),
    "one-hot, zero means missing": Problem(
        light(ONE_HOT, zero_as_missing=True), ONE_HOT, one_hot()
    ),
    "one-hot by category": Problem(
        light(ONE_HOT, categories=[1, 2, 3, 4, 5, 6]), ONE_HOT, one_hot()
    ),
    "optional": Problem(boosted(ONE_HOT, Y, base_score=0.5), ONE_HOT, one_hot("job")),
}  # fmt: skip

ROOMS = (1, 2, 3, 5, 7, 11, 16)
GROUPED = {name for name, problem in PROBLEMS.items() if problem.rules.groups}


def declined(problem: Problem, n: int) -> Applicants:
    people = problem.read(problem.codec.write(problem.training))
    sound = np.array([not trouble for trouble in people.trouble])
    return people.take(np.flatnonzero(sound & (people.score <= problem.threshold))[:n])


def distinct(points: Any) -> set[tuple[float, ...]]:
    """Points as tuples, rounded, with -1e9 for what is missing."""
    return {tuple(np.nan_to_num(p, nan=-1e9).round(9).tolist()) for p in points}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("epsilon", [0.05, 0.4])
def test_candidates_equal_the_twin_s(name: str, epsilon: float) -> None:
    problem = PROBLEMS[name]
    space, people = LeafSpace.of(problem, 1, epsilon), declined(problem, 6)
    n_all = 0
    for i in range(len(people)):
        now = people.matrix[i]
        for _ in range(2):  # from the applicant, and from a candidate
            points = _candidates(space, people.take(np.array([i])), now, 10_000)
            twin = [p for p, _ in naive_tweak.candidates(problem, people.matrix[i], now, epsilon)]
            assert distinct(points) == distinct(twin)
            n_all += len(points)
            now = points[len(points) // 2] if len(points) else now
    assert n_all > 12


@pytest.mark.parametrize("name", PROBLEMS)
def test_candidates_are_allowed_and_come_from_cheap_to_dear(name: str) -> None:
    problem = PROBLEMS[name]
    people = declined(problem, 4)
    for norm in (1, 2):
        space = LeafSpace.of(problem, norm)
        for i in range(len(people)):
            now = people.matrix[i]
            points = _candidates(space, people.take(np.array([i])), now, 10_000)
            own = np.tile(people.matrix[i], (len(points), 1))
            assert problem.rules.broken(points, own) == [[]] * len(points)
            cost = problem.rules.cost(points, own, norm)
            assert (np.diff(cost) >= -1e-9).all()
            assert len(distinct(points)) == len(points)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("norm", [1, 2])
def test_the_cheapest_are_kept_where_there_is_little_room(name: str, norm: Any) -> None:
    problem = PROBLEMS[name]
    people, space = declined(problem, 3), LeafSpace.of(problem, norm)
    for i in range(len(people)):
        person = leaf_boxes.Person(
            people.matrix[i], people.low[i], people.high[i], problem.rules.may_fill,
            people.matrix[i], problem.view.numbers(people.matrix[i : i + 1])[0],
        )  # fmt: skip
        costs = {}
        for room in (*ROOMS, 10_000):
            points, cost = np.empty((room, len(people.matrix[i]))), np.empty(room)
            count = tweaks.candidates(person, space.trees, space.moves, points, cost)
            costs[room] = np.sort(cost[:count])
        for room in ROOMS:
            np.testing.assert_allclose(costs[room], costs[10_000][:room], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name not in GROUPED])
def test_the_bound_equals_the_twin_s(name: str) -> None:
    problem = PROBLEMS[name]
    people, space = declined(problem, 4), LeafSpace.of(problem)
    sums = np.tile(space.ensemble.base, (len(people), 1))
    fill = np.tile(problem.rules.may_fill, (len(people), 1))
    numbers = problem.view.numbers(people.matrix)
    reachable_leaves.best_reachable(
        people.matrix, numbers, *people.bounds, fill, space.trees, space.moves, sums
    )
    expected = [naive_tweak.best_sums(problem, x) for x in people.matrix]
    np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_allowed_point_scores_above_the_bound(name: str) -> None:
    problem = PROBLEMS[name]
    people, rng = declined(problem, 4), np.random.default_rng(0)
    bound = LeafSpace.of(problem).bound(people)
    rows = problem.training
    for i in range(len(people)):
        wild = np.array([rng.permutation(column) for column in rows.T]).T
        own, low, high = (np.tile(v[i], (len(wild), 1)) for v in (people.matrix, *people.bounds))
        points = problem.rules.settle(wild, own, (low, high))
        assert (problem.gate.score(points) <= bound[i]).all()


def test_the_bound_of_one_tree_is_reached() -> None:
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(RAW[:, :2], Y)
    schema = free(2, x0={"change": "increase", "resolution": 0.25}, x1={"low": 1.0, "high": 4.0})
    problem = Problem(tree, RAW[:, :2], schema.override(x1={"kind": "integer"}), threshold=0.9)
    people = problem.read(RAW[:8, :2])
    sound = [i for i in range(len(people)) if not people.trouble[i]]
    bound = LeafSpace.of(problem).bound(people)
    assert len(sound) > 4
    for i in sound:
        ladder = [k * 0.25 for k in range(-16, 17)]
        first = [v for v in ladder if people.low[i, 0] <= v <= people.high[i, 0]]
        points = naive_tweak.every_point([[float(people.matrix[i, 0]), *first], [1, 2, 3, 4]])
        assert problem.gate.score(points).max() == bound[i]


def test_best_below_is_the_best_leaf_of_each_subtree() -> None:
    space = LeafSpace.of(PROBLEMS["three classes"])
    ensemble = space.ensemble
    assert isinstance(ensemble, TreeEnsemble)
    assert set(space.trees.sign) == {-1.0, 1.0}
    for tree in range(ensemble.n_trees):
        values = [
            naive_tweak.worth(ensemble, tree, leaf) for leaf, _ in naive_tweak.paths(ensemble, tree)
        ]
        assert space.trees.best[ensemble.tree_start[tree]] == max(values)


def test_a_better_leaf_is_where_a_candidate_lands() -> None:
    problem = PROBLEMS["boosted"]
    ensemble, people = naive_tweak.ensemble_of(problem), declined(problem, 2)
    for x in people.matrix:
        for point, (leaf, _) in naive_tweak.candidates(problem, x, x, 0.1):
            landed = [naive.leaf_of(ensemble, tree, point) for tree in range(ensemble.n_trees)]
            assert leaf in landed


def test_a_loose_condition_does_not_widen_a_tight_one() -> None:
    line = np.linspace(0, 1, 101)[:, None]
    window = (line[:, 0] > 0.295) & (line[:, 0] < 0.595)
    problem = Problem(DecisionTreeClassifier(max_depth=2).fit(line, window), line, free(1))
    ensemble = naive_tweak.ensemble_of(problem)
    np.testing.assert_allclose(ensemble.split_threshold[ensemble.node_split[:2]], [0.595, 0.295])
    # Now x <= 0.595, then x <= 0.95, leads to the leaf that is worth something.
    loose = replace(
        ensemble,
        split_threshold=np.where(ensemble.split_threshold < 0.5, 0.95, ensemble.split_threshold),
        leaf_value=np.array([1.0, 0.0, 0.0]),
    )
    naive_tweak.view_of(problem).trees = loose
    person = problem.read([[0.8]])
    points = _candidates(LeafSpace.of(problem, 1, 0.01), person, person.matrix[0], 100)
    np.testing.assert_allclose(points, [[0.585]])

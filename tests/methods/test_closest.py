from __future__ import annotations

import itertools
import sys
from functools import cache
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.linear_model import LogisticRegression

import robx
from contracts import MethodContract, assert_same_answers
from robx import Closest, Feature, InvalidInput, Problem, Schema, Status, UnsupportedModel
from robx.methods.exact import program, search


class TestClosest(MethodContract):
    # Little effort: some proofs are finished and some are not, and all of it is repeatable.
    method = Closest(effort=0.05)
    needs_trees = True
    n_schemas = 4


# --- numbers without a grid ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_number_without_a_grid_goes_to_the_next_one_that_its_column_holds(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.random((300, 3)).astype(dtype), columns=list("abc"))
    y = (X["a"] + X["b"] * X["c"] > 0.8).astype(int)
    model = xgb.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1).fit(X, y)
    problem = Problem(model, X, Schema(tuple(Feature(name, scale=1.0) for name in "abc")))
    low = np.flatnonzero(problem.read(X).score <= 0.5)[:4]
    answer = Closest().explain(problem, X.iloc[low])
    assert (answer.points.dtypes == dtype).all()
    e: Any = problem.model
    for i, x in zip(range(4), X.iloc[low].to_numpy(), strict=True):
        columns = []
        for j in range(3):
            cuts = e.split_threshold[e.split_feature == j]
            near = cuts.astype(dtype)
            around = [near, np.nextafter(near, dtype(-np.inf)), np.nextafter(near, dtype(np.inf))]
            # In single precision a split lies between two numbers, in double on one.
            around += [np.nextafter(cuts, np.inf).astype(dtype)]
            values = np.unique(np.concatenate([*around, [x[j]]]).astype(dtype))
            inside = (values >= X.iloc[:, j].min()) & (values <= X.iloc[:, j].max())
            # Of each cell only the nearest counts.
            cell = np.searchsorted(cuts, values[inside].astype(float))
            order = np.argsort(np.abs(values[inside].astype(float) - float(x[j])), kind="stable")
            columns.append(values[inside][order][np.unique(cell[order], return_index=True)[1]])
        points = np.stack(np.meshgrid(*columns, indexing="ij"), axis=-1).reshape(-1, 3)
        accepted = model.predict_proba(pd.DataFrame(points, columns=list("abc")))[:, 1] > 0.5
        cost = np.abs(points.astype(float) - x.astype(float)).sum(axis=1)
        assert answer.cost[i] == pytest.approx(cost[accepted].min(), abs=1e-12)
        assert answer.measured["bound"][i] <= answer.cost[i]


def marked(mark: float) -> Problem:
    """A model to which a number means "missing", and which accepts who lacks a value."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice([-1.0, 0.0, 1.0, 2.0], 400), rng.integers(0, 5, 400)])
    y = (X[:, 0] == mark) | (X[:, 1] >= 4)
    model = xgb.XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1, missing=mark).fit(X, y)
    steps = (Feature("a", resolution=0.5, scale=1.0), Feature("b", "integer", scale=1.0))
    return Problem(model, X, Schema(steps))


@pytest.mark.parametrize("mark", [0.0, 1.0])
@pytest.mark.parametrize("x", [[0.5, 2.0], [2.0, 2.0], [-1.0, 2.0]])
def test_no_number_may_come_to_mean_missing(mark: float, x: list[float]) -> None:
    problem = marked(mark)
    assert problem.gate.accepts(np.array([[mark, 2.0]])).all()
    answer = Closest().explain(problem, [x])
    assert answer.points[0].tolist() == [x[0], 4.0]
    assert answer.measured["bound"][0] == pytest.approx(2.0) == answer.cost[0]


def test_nor_may_one_of_the_small_numbers_around_zero() -> None:
    # To LightGBM anything up to 1e-35 may be "missing".
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(-1, 3, 400) * rng.uniform(0.5, 1, 400), np.arange(400) % 5])
    model = lgb.LGBMClassifier(
        n_estimators=20, num_leaves=6, n_jobs=1, verbose=-1, zero_as_missing=True
    ).fit(X, (X[:, 0] == 0) | (X[:, 1] >= 4))
    schema = Schema((Feature("a", scale=1.0), Feature("b", "integer", scale=1.0)))
    problem = Problem(model, X, schema)
    assert problem.gate.accepts(np.array([[0.0, 2.0], [1e-40, 3.0]])).all()
    answer = Closest().explain(problem, [[0.7, 2.0], [-0.6, 3.0]])
    assert answer.points.tolist() == [[0.7, 4.0], [-0.6, 4.0]]
    np.testing.assert_allclose(answer.measured["bound"], [2.0, 1.0])


# --- relations -----------------------------------------------------------------------------------


def related(resolution: float | None) -> tuple[Any, Problem]:
    rng = np.random.default_rng(0)
    X = rng.random((300, 2)).round(2)
    model = xgb.XGBClassifier(n_estimators=10, max_depth=2, n_jobs=1).fit(X, X[:, 0] > 0.5)
    features = tuple(Feature(n, resolution=resolution, scale=1.0, low=0, high=1) for n in "ab")
    return model, Problem(model, X, Schema(features).override(relations=["a <= b"]))


def test_a_relation_that_binds_is_paid_for() -> None:
    model, problem = related(0.01)
    grid = np.array(list(itertools.product(np.arange(101) / 100, repeat=2)))
    accepted = (model.predict_proba(grid)[:, 1] > 0.5) & (grid[:, 0] <= grid[:, 1])
    answer = Closest().explain(problem, [[0.2, 0.3]])
    best = np.abs(grid[accepted] - [0.2, 0.3]).sum(axis=1).min()
    assert answer.cost[0] == pytest.approx(best)
    assert answer.measured["bound"][0] == pytest.approx(best)
    assert answer.points[0, 1] > 0.3


def test_a_relation_of_uncountable_values_leaves_an_honest_bound() -> None:
    _, problem = related(None)
    answer = Closest().explain(problem, [[0.2, 0.3], [0.3, 0.9]])
    assert answer.ok.all()
    assert (answer.points[:, 0] <= answer.points[:, 1]).all()
    exact = Closest().explain(related(0.01)[1], [[0.2, 0.3], [0.3, 0.9]])
    # Where the closest point breaks the relation, the bound is not reached ...
    assert answer.measured["bound"][0] < answer.cost[0] - 0.1
    assert answer.measured["bound"][0] <= exact.cost[0]
    # ... and where it keeps it, it is.
    assert answer.measured["bound"][1] == pytest.approx(answer.cost[1])
    assert answer.cost[1] <= exact.cost[1]


def test_a_relation_that_cannot_be_kept_is_named_where_no_row_helps() -> None:
    _, problem = related(None)
    gamma = float(problem.support.score.max())
    problem.support.score[:] = 0.0  # no row of the support is good enough
    answer = Closest(gamma=gamma - 1e-6).explain(problem, [[0.2, 0.3]])
    assert answer.status[0] == Status.BUDGET
    assert answer.reason[0] == (
        "the closest point breaks a rule that ties uncountable values together"
    )


# --- proofs, and what others find ----------------------------------------------------------------


@cache
def german() -> tuple[Problem, Any]:
    X, y, schema = robx.datasets.load_german()
    model = xgb.XGBClassifier(n_estimators=100, max_depth=4, n_jobs=1, random_state=0)
    problem = Problem(model.fit(X[:700], y[:700]), X[:700], schema)
    people = X[700:]
    return problem, people[problem.read(people).score <= 0.5][:20]


@pytest.mark.slow
def test_no_method_is_cheaper_than_the_bound() -> None:
    problem, people = german()
    answer = Closest().explain(problem, people)
    bound = answer.measured["bound"]
    assert answer.ok.all()
    np.testing.assert_allclose(bound, answer.cost, atol=1e-8)
    others = [robx.NearestNeighbour(), robx.LiveRegion(), robx.Focus(), robx.Face()]
    for method in [*others, robx.FeatureTweaking(), robx.FeatureTweaking(epsilon=1e-9)]:
        found = method.explain(problem, people)
        assert found.ok.sum() >= 10
        assert (found.cost[found.ok] >= bound[found.ok] - 1e-9).all(), type(method).__name__


def test_bounds_are_the_same_bytes_in_any_batch() -> None:
    problem, people = german()
    method = Closest(effort=0.005)
    whole = method.explain(problem, people)
    assert (whole.measured["bound"] < whole.cost - 1e-6).any()
    for i in range(0, 20, 7):
        part = method.explain(problem, people.iloc[i : i + 1])
        assert_same_answers(whole, part, [i])
        assert whole.measured["bound"][[i]].tobytes() == part.measured["bound"].tobytes()


# --- the budget ----------------------------------------------------------------------------------


def test_effort_bounds_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, people = german()
    spent: list[float] = []
    solve = program.Program.solve

    def counted(self: Any, effort: float) -> Any:
        solved = solve(self, effort)
        spent.append(solved.effort)
        return solved

    monkeypatch.setattr(program.Program, "solve", counted)
    Closest(effort=10.0).explain(problem, people[:3])
    enough = sum(spent)
    spent.clear()
    little = Closest(effort=enough / 30).explain(problem, people[:3])
    assert 0 < sum(spent) < enough
    assert little.ok.all()
    assert (little.measured["bound"] <= little.cost).all()
    assert (little.measured["bound"] < little.cost - 1e-6).any()


def test_without_effort_and_without_a_row_nearby_there_is_no_answer() -> None:
    X = np.random.default_rng(0).random((300, 3)).round(2)
    model = xgb.XGBClassifier(n_estimators=60, max_depth=3, n_jobs=1).fit(X, X.sum(axis=1) > 1.5)
    features = tuple(Feature(n, resolution=0.01) for n in "abc")
    problem = Problem(model, X, Schema(features))
    gamma = float(problem.support.score.max())
    answer = Closest(gamma=gamma, effort=1e-6).explain(problem, [[0.1, 0.1, 0.1]])
    assert answer.status[0] == Status.BUDGET
    assert answer.reason[0] == "no point was found with an effort of 1e-06"
    assert np.isnan(answer.measured["bound"][0])
    assert Closest(gamma=gamma).explain(problem, [[0.1, 0.1, 0.1]]).status[0] != Status.BUDGET


def test_a_model_of_too_many_leaves_leaves_the_answer_of_live_regions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem, people = german()
    for module in (program, search):
        monkeypatch.setattr(module, "MOST_LEAVES", 5)
    answer = Closest().explain(problem, people[:3])
    np.testing.assert_array_equal(answer.cost, robx.LiveRegion().explain(problem, people[:3]).cost)
    assert (answer.measured["bound"] == 0).all()
    gamma = 0.9995  # which no row, also made to fit, is above
    assert not robx.LiveRegion(gamma=gamma).explain(problem, people[:1]).ok.any()
    alone = Closest(gamma=gamma).explain(problem, people[:1])
    assert (alone.status[0], alone.reason[0]) == (
        Status.BUDGET,
        "more than 5 leaves are in reach",
    )


# --- why there is none ---------------------------------------------------------------------------


def test_what_stands_in_the_way_is_named() -> None:
    X = np.random.default_rng(0).random((300, 2)).round(2)
    model = xgb.XGBClassifier(n_estimators=10, max_depth=2, n_jobs=1).fit(X, X[:, 0] > 0.5)
    fixed = Schema((Feature("a", change="none"), Feature("b")))
    answer = Closest().explain(Problem(model, X, fixed), [[0.2, 0.5]])
    assert answer.status[0] == Status.PRECLUDED
    assert answer.reason[0] == "no accepted point keeps a (fixed)"
    steps = tuple(Feature(n, resolution=0.01) for n in "ab")
    tie = Schema(steps).override(relations=["a + b <= 0.4"])
    answer = Closest().explain(Problem(model, X, tie), [[0.2, 0.1]])
    assert answer.status[0] == Status.PRECLUDED  # by all trees together, of which each allows it
    assert answer.reason[0] == "no point that keeps every rule scores above 0.5"
    asked = Closest(gamma=0.6).explain(Problem(model, X, tie), [[0.2, 0.1]])
    assert asked.status[0] == Status.NOT_FOUND
    assert asked.reason[0] == "no point that keeps every rule scores above 0.6"


# --- errors ---------------------------------------------------------------------------------------


def test_a_black_box_is_refused() -> None:
    X = np.random.default_rng(0).random((50, 2))
    model = LogisticRegression().fit(X, X[:, 0] > 0.5)
    with pytest.raises(UnsupportedModel, match=r"Closest needs the trees.*NearestNeighbour"):
        Closest().explain(Problem(model, X), X[:1])


def test_who_lacks_the_solver_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, people = german()
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(InvalidInput, match=r"pip install robx\[exact\]"):
        Closest().explain(problem, people)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"norm": 2}, "The 'norm' parameter of Closest must be 1: .* in L1 only. Got 2 instead"),
        ({"norm": 3}, "The 'norm' parameter of Closest must be 1 or 2"),
        ({"gamma": 1.0}, "The 'gamma' parameter of Closest must be"),
        ({"effort": 0}, "The 'effort' parameter of Closest must be a number above 0"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: Any, sentence: str) -> None:
    problem, people = german()
    with pytest.raises(InvalidInput, match=sentence):
        Closest(**parameters).explain(problem, people)

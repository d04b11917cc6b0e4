from __future__ import annotations

from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import naive_focus
import naive_soft
import robx
from oracles import toy_data, with_missing
from robx import InvalidInput, NearestNeighbour, Problem, RobX, Schema, Status, UnsupportedModel
from robx.datasets import load_german
from robx.methods.baselines.focus import Focus, soft_log_odds
from robx.trees import TreeEnsemble
from speed import slow_but

Floats = NDArray[np.float64]

RAW, Y = toy_data(300, 4)
THREE = np.digitize(RAW[:, 0] + 0.3 * RAW[:, 1], [0.0, 1.2])


def boosted(n: int = 30, depth: int = 3, **traits: Any) -> Any:
    return xgb.XGBClassifier(n_estimators=n, max_depth=depth, n_jobs=1, **traits)


SMALL: dict[str, tuple[Any, int]] = {
    "sigmoid": (boosted(4).fit(RAW, Y), 1),
    "one minus sigmoid": (boosted(4).fit(RAW, Y), 0),
    "softmax": (boosted(3, 2).fit(RAW, THREE), 2),
    "identity": (RandomForestClassifier(4, max_depth=5, random_state=0).fit(RAW, Y), 1),
}
STEEPNESS = np.array([2.0, 0.7, 9.0, 0.0])


def ensemble_of(name: str) -> TreeEnsemble:
    model, target = SMALL[name]
    ensemble = robx.import_model(model, target)
    assert isinstance(ensemble, TreeEnsemble)
    return ensemble


def declined(problem: Problem, X: Any, n: int = 1000) -> Any:
    """The first n rows that the model turns down."""
    rows = np.flatnonzero(~(problem.read(X).score > problem.threshold))[:n]
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


# --- the soft model ------------------------------------------------------------------------------


def test_each_link_is_among_the_small_models() -> None:
    links = [ensemble_of(name).link for name in SMALL]
    assert links == ["sigmoid", "one_minus_sigmoid", "softmax", "identity"]


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_the_soft_log_odds_are_those_of_the_soft_score(name: str, temperature: float) -> None:
    ensemble = ensemble_of(name)
    odds, _ = soft_log_odds(ensemble, RAW[:20], STEEPNESS, temperature)
    for i, z in enumerate(RAW[:20]):
        sums = naive_soft.soft_sums(ensemble, z, STEEPNESS)
        assert odds[i] == pytest.approx(-naive_focus.push(ensemble, sums, temperature), abs=1e-9)


@pytest.mark.parametrize("name", SMALL)
def test_their_gradient_equals_finite_differences(name: str) -> None:
    ensemble, Z, h = ensemble_of(name), RAW[:20], 1e-5
    _, gradient = soft_log_odds(ensemble, Z, STEEPNESS, 1.5)
    assert (np.abs(gradient[:, :2]).max(axis=0) > 0.01).all()
    for j in range(4):
        step = h * np.eye(4)[j]
        if STEEPNESS[j] == 0:
            assert (gradient[:, j] == 0).all()
            continue
        above, below = (
            soft_log_odds(ensemble, Z + way, STEEPNESS, 1.5)[0] for way in (step, -step)
        )
        np.testing.assert_allclose(gradient[:, j], (above - below) / (2 * h), atol=1e-6)


@pytest.mark.parametrize("name", SMALL)
def test_steep_soft_models_decide_as_the_model_does(name: str) -> None:
    ensemble = ensemble_of(name)
    Z = RAW + 0.0123
    odds, _ = soft_log_odds(ensemble, Z, np.full(4, 1e7))
    score = ensemble.score_matrix(Z)
    clear = np.abs(score - 0.5) > 1e-6
    assert clear.sum() > 200
    boundary = 0.5 if ensemble.link == "identity" else 0.0
    assert ((odds > boundary) == (score > 0.5))[clear].all()


# --- the twin ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("norm", [1, 2])
def test_answers_are_the_twin_s(name: str, norm: Any) -> None:
    model, target = SMALL[name]
    schema = Schema.infer(RAW).override({"1": {"weight": 3.0}, "3": {"change": "none"}})
    problem = Problem(model, RAW, schema, target=target)
    # An odd number of steps keeps places off the middle between two allowed values.
    method = Focus(norm=norm, learning_rate=0.0313, n_steps=25, sigma=7.0, temperature=1.3)
    people = declined(problem, RAW, 6)
    answer = method.explain(problem, people)
    assert answer.ok.any()
    for i, x in enumerate(people):
        best, places = naive_focus.focus(method, problem, x)
        assert answer.ok[i] == (best is not None)
        np.testing.assert_allclose(answer.points[i], x if best is None else best, atol=1e-6)
        assert len(places) == 25


def test_missing_values_and_bounds_are_the_twin_s_too() -> None:
    X = with_missing(RAW)
    schema = Schema.infer(X).override(
        {"0": {"change": "increase"}, "2": {"low": -1.0, "high": 0.5}}
    )
    problem = Problem(boosted(4).fit(X, Y), X, schema)
    method = Focus(learning_rate=0.0313, n_steps=25, gamma=0.6)
    people = declined(problem, X, 12)
    answer = method.explain(problem, people)
    assert answer.ok.any()
    for i, x in enumerate(people):
        if answer.status[i] == Status.INFEASIBLE:
            continue
        best, _ = naive_focus.focus(method, problem, x)
        np.testing.assert_allclose(answer.points[i], x if best is None else best, atol=1e-6)


# --- answers -------------------------------------------------------------------------------------


def mixed_table(seed: int, n: int = 400) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """A column of every kind, and a rule that needs several of them."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    table = pd.DataFrame(
        {
            "income": rng.gamma(2.0, 900.0, n),
            "rate": rng.uniform(0, 5, n).round(1),
            "open": rng.integers(0, 9, n),
            "savings": rng.integers(0, 4, n),
            "age": rng.integers(19, 80, n),
            **{f"home_{name}": (kind == k).astype(float) for k, name in enumerate("abc")},
        }
    )
    table["all"] = table["open"] + rng.integers(0, 6, n)
    z = table["income"] / 900 - table["rate"] + table["savings"] + 1.5 * (kind == 2)
    z += 0.2 * (table["all"] - 2 * table["open"]) + 0.02 * table["age"]
    return table, np.asarray(z + rng.normal(size=n) > z.median() + 0.4, dtype=np.int64)


CONSTRAINTS: dict[str, list[dict[str, Any]]] = {
    "income": [{}, {"change": "increase"}, {"low": 100.0, "high": 4000.0}, {"resolution": 50.0}],
    "rate": [{}, {"change": "decrease"}, {"resolution": 0.5}, {"change": "none"}],
    "open": [{}, {"change": "decrease"}, {"weight": 2.0}],
    "savings": [{"kind": "ordinal", "levels": (0, 1, 2, 3)}, {"change": "increase"}],
    "age": [{"change": "none"}, {"change": "increase", "high": 90.0}],
}


@pytest.mark.parametrize("seed", slow_but(range(4), range(12)))
def test_answers_keep_random_schemas_and_convince_the_model_itself(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, y = mixed_table(seed)
    schema = Schema.infer(table).override(
        {name: options[rng.integers(len(options))] for name, options in CONSTRAINTS.items()},
        relations=["open <= all"] if seed % 2 else [],
    )
    assert {f.kind for f in schema.features} >= {"continuous", "integer", "onehot"}
    models = [boosted(), RandomForestClassifier(20, max_depth=6, random_state=0)]
    model = models[seed % 2].fit(table, y)
    problem = Problem(model, table, schema)
    people = declined(problem, table, 60)
    answer = Focus(norm=2 if seed % 2 else 1).explain(problem, people)
    assert answer.ok.mean() >= 0.9
    assert (model.predict_proba(answer.frame)[answer.ok, 1] > 0.5).all()
    Z, X = problem.read(answer.frame).matrix, problem.read(people).matrix
    assert problem.rules.broken(Z, X) == [[]] * len(people)
    assert (problem.rules.n_changes(Z, X)[answer.ok] > 0).all()
    assert (Z[~answer.ok] == X[~answer.ok]).all()


def test_one_hot_members_move() -> None:
    table, _ = mixed_table(3)
    y = (table["home_c"] == 1) | (table["income"] > 5000)
    schema = Schema.infer(table).override(income={"change": "none"})
    problem = Problem(boosted().fit(table, y), table, schema)
    answer = Focus().explain(problem, declined(problem, table, 20))
    assert answer.ok.all()
    assert (answer.frame["home_c"] == 1).all()
    assert answer.cost.mean() < 1.2  # a change of the group costs 1


def test_a_relation_takes_other_columns_along() -> None:
    X = np.random.default_rng(0).random((500, 2))
    X = np.column_stack([X.min(axis=1), X.max(axis=1)])
    table = pd.DataFrame(X, columns=["used", "limit"])
    schema = Schema.infer(table).override(relations=["used <= limit"])
    problem = Problem(boosted(20).fit(table, X[:, 0] > 0.6), table, schema)
    people = declined(problem, table[table["limit"] < 0.5], 20)
    answer = Focus().explain(problem, people)
    assert answer.ok.all()
    assert (answer.frame["used"] <= answer.frame["limit"]).all()
    assert (answer.frame["limit"] > people["limit"]).all()


def test_rounding_breaks_no_relation() -> None:
    X = np.random.default_rng(1).integers(0, 7, (800, 3)).astype(float)
    X = X[X.sum(axis=1) <= 10]
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    schema = Schema.infer(table).override(relations=["a + b + c <= 10"])
    problem = Problem(boosted(20).fit(table, X.sum(axis=1) > 8), table, schema)
    answer = Focus(norm=2, gamma=0.9).explain(problem, declined(problem, table, 100))
    assert Status.INFEASIBLE not in answer.status
    assert answer.ok.mean() > 0.4  # the way in is narrow: a sum of 9 or 10
    assert (answer.frame.sum(axis=1) <= 10).all()


def test_categories_stay_where_they_are() -> None:
    table, y = mixed_table(5)
    table["town"] = pd.Categorical(np.where(y ^ (np.arange(len(y)) % 5 == 0), "oslo", "rome"))
    model = lgb.LGBMClassifier(n_estimators=20, min_child_samples=5, n_jobs=1, verbose=-1)
    problem = Problem(model.fit(table, y), table)
    ensemble = problem.model
    assert isinstance(ensemble, TreeEnsemble)
    assert (ensemble.split_category >= 0).any()
    people = declined(problem, table, 40)
    answer = Focus().explain(problem, people)
    assert answer.ok.mean() > 0.8
    assert (np.asarray(model.predict_proba(answer.frame))[answer.ok, 1] > 0.5).all()
    assert (answer.frame["town"] == people["town"]).all()
    assert (answer.frame["town"].dtype) == people["town"].dtype


def test_missing_values_stay_missing() -> None:
    X = with_missing(RAW)
    schema = Schema.infer(X).override({"0": {"may_fill": True}})
    model = boosted().fit(X, Y)
    people = declined(problem := Problem(model, X, schema), X)
    answer = Focus().explain(problem, people)
    assert answer.ok.mean() > 0.9
    assert np.isnan(people[answer.ok]).any()
    assert (np.isnan(answer.points) == np.isnan(people)).all()
    assert (model.predict_proba(answer.points)[answer.ok, 1] > 0.5).all()


def test_a_number_that_the_model_takes_for_missing_is_no_answer() -> None:
    X = np.repeat(np.arange(-3.0, 4.0), 30)[:, None]
    holes = np.where(X == 0, np.nan, X)
    model = boosted(5, missing=0.0).fit(holes, np.isnan(holes[:, 0]) | (X[:, 0] > 1))
    problem = Problem(model, X)
    assert problem.gate.score(np.array([[np.nan], [-1.0]])).round().tolist() == [1, 0]
    answer = Focus().explain(problem, [[-1.0]])
    assert answer.ok.all()
    assert answer.points == [[2.0]]


@pytest.mark.parametrize("target", [0, 1, 2])
def test_three_classes(target: int) -> None:
    model = boosted(15).fit(RAW, THREE)
    problem = Problem(model, RAW, target=target)
    people = declined(problem, RAW, 60)
    answer = Focus().explain(problem, people)
    assert answer.ok.mean() >= 0.95
    assert (model.predict_proba(answer.points)[answer.ok, target] > 0.5).all()


def test_far_from_the_boundary_a_boosted_model_still_leads_somewhere() -> None:
    X = np.random.default_rng(0).random((600, 4))
    model = boosted(200, 3, learning_rate=0.3).fit(X, X[:, 0] + X[:, 1] > 1.2)
    problem = Problem(model, X)
    people = X[problem.gate.score(X) < 0.002][:30]
    assert len(people) == 30
    assert Focus().explain(problem, people).ok.all()


# --- how close -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def german() -> tuple[Problem, Any]:
    X, y, _ = load_german()
    model = boosted(50, 4, learning_rate=0.2).fit(X, y)
    problem = Problem(model, X)
    return problem, declined(problem, X, 80)


@pytest.mark.parametrize("norm", [1, 2])
def test_nearly_everybody_gets_an_answer_much_closer_than_the_nearest_row(
    german: tuple[Problem, Any], norm: Any
) -> None:
    problem, people = german
    answer = Focus(norm=norm).explain(problem, people)
    row = NearestNeighbour(norm=norm).explain(problem, people)
    assert answer.ok.mean() >= 0.95
    assert answer.cost[answer.ok].mean() < 0.6 * row.cost[answer.ok].mean()


def test_each_norm_is_best_in_its_own_distance() -> None:
    X = np.random.default_rng(0).random((900, 6))
    sums = X @ [3.0, 2.0, 1.0, 1.0, 1.0, 1.0]
    problem = Problem(boosted(100).fit(X, sums > 4.5), X)
    people = declined(problem, X, 80)
    few, many = (Focus(norm=norm).explain(problem, people).points for norm in (1, 2))
    assert problem.rules.cost(few, people, 1).mean() < problem.rules.cost(many, people, 1).mean()
    assert problem.rules.cost(many, people, 2).mean() < problem.rules.cost(few, people, 2).mean()
    assert (few != people).sum() < (many != people).sum()


def test_a_higher_gamma_is_reached_or_refused_and_costs_more(german: tuple[Problem, Any]) -> None:
    problem, people = german
    plain, high = (Focus(gamma=g).explain(problem, people) for g in (None, 0.8))
    assert high.ok.mean() > 0.9
    assert (high.score[high.ok] > 0.8).all()
    both = plain.ok & high.ok
    assert high.cost[both].mean() > 1.3 * plain.cost[both].mean()
    unheard_of = Focus(gamma=0.9999, n_steps=5).explain(problem, people)
    assert set(unheard_of.status) == {Status.BUDGET}
    assert set(unheard_of.reason) == {"no accepted point within 5 steps"}
    assert unheard_of.points.equals(people)


def test_a_gamma_below_the_threshold_changes_nothing(german: tuple[Problem, Any]) -> None:
    problem, people = german
    one, other = (Focus(gamma=g).explain(problem, people[:20]) for g in (None, 0.2))
    assert one.points.equals(other.points)


# --- laws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", slow_but([1], [1, 2]))
@pytest.mark.parametrize("name", slow_but(["identity"], ["softmax", "identity"]))
def test_the_batch_changes_no_byte(name: str, norm: Any) -> None:
    model, target = SMALL[name]
    X = RAW
    schema = Schema.infer(X).override(relations=["`0` + `2` <= 1"])
    problem = Problem(model, X, schema, target=target)
    people = declined(problem, X, 40)
    method = Focus(norm=norm, n_steps=120)
    whole = method.explain(problem, people).points
    for size in (1, 17, 33):
        parts = [
            method.explain(problem, people[first : first + size]).points
            for first in range(0, len(people), size)
        ]
        assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_nothing_is_written_to(german: tuple[Problem, Any]) -> None:
    problem, people = german
    read = problem.read(people)
    for array in (read.matrix, read.low, read.high, read.score, problem.training):
        array.flags.writeable = False
    found = Focus(n_steps=30).search(problem, read, np.arange(len(read)))
    assert found.ok.any()


def test_who_may_change_no_number_is_told_so() -> None:
    named = np.c_[RAW[:, :1], Y]
    home = robx.Feature("home", "categorical", levels=(0, 1), labels=("rent", "own"))
    schema = Schema((robx.Feature("0", change="none"), home))
    problem = Problem(boosted().fit(named, Y), named, schema)
    answer = Focus().explain(problem, declined(problem, named, 3))
    assert set(answer.status) == {Status.NOT_FOUND}
    assert set(answer.reason) == {"none of the applicant's numbers may change"}
    assert robx.NearestNeighbour().explain(problem, declined(problem, named, 3)).ok.all()


def test_no_applicants_no_answers() -> None:
    problem = Problem(boosted().fit(RAW, Y), RAW)
    assert len(Focus().explain(problem, RAW[:0])) == 0


def test_a_tree_without_splits_has_nowhere_to_lead() -> None:
    tree = DecisionTreeClassifier(max_depth=1, min_samples_leaf=250).fit(RAW, Y)
    problem = Problem(tree, RAW, target=int(1 - Y.mean().round()))
    assert set(Focus(n_steps=20).explain(problem, RAW[:3]).status) == {Status.PRECLUDED}


def test_robx_takes_it_as_a_base(german: tuple[Problem, Any]) -> None:
    problem, people = german
    answer = RobX(base=Focus(), tau=0.3).explain(problem, people[:10])
    assert answer.base is not None
    assert answer.base.method == "Focus"
    assert (answer.stability[answer.ok] >= 0.3).all()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"gamma": 1.0}, "The 'gamma' parameter of Focus must be a number from 0 to below 1"),
        ({"sigma": 0}, "The 'sigma' parameter of Focus must be a number above 0"),
        ({"sigma": np.inf}, "The 'sigma' parameter of Focus"),
        ({"temperature": -1.0}, "The 'temperature' parameter of Focus must be a number above 0"),
        ({"distance_weight": "x"}, "The 'distance_weight' parameter of Focus must be"),
        ({"learning_rate": np.nan}, "The 'learning_rate' parameter of Focus must be"),
        ({"n_steps": 0}, "The 'n_steps' parameter of Focus must be an integer from 1"),
        ({"n_steps": 1.5}, "The 'n_steps' parameter of Focus must be an integer from 1"),
        ({"norm": 3}, "'norm' parameter of Focus"),
    ],
)
def test_wrong_parameters_are_named(wrong: dict[str, Any], said: str) -> None:
    problem = Problem(SMALL["sigmoid"][0], RAW)
    with pytest.raises(InvalidInput, match=said):
        Focus(**wrong).explain(problem, RAW[:2])


def test_a_black_box_has_no_gradients() -> None:
    problem = Problem(robx.BlackBox(lambda X: 1 / (1 + np.exp(-np.asarray(X)[:, 0]))), RAW)
    with pytest.raises(
        UnsupportedModel, match="Focus needs the trees of the model.*Use NearestNeighbour"
    ):
        Focus().explain(problem, RAW[:2])

"""Closest with a panel against every allowed point, scored by the libraries of the models."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import robx
from closest_cases import (
    MODELS,
    MORE,
    Floats,
    costs,
    every_point,
    fitted,
    free_schema,
    outcome,
    schema,
    table,
)
from contracts import assert_same_answers
from robx import Closest, Feature, InvalidInput, Problem, Schema, Status
from robx.methods.exact import search
from robx.methods.exact.warm_start import warm_start
from speed import slow_but, tries


@cache
def panel_of(name: str, n: int = 3) -> list[Any]:
    """Models of the same kind as `fitted` gives, each trained on a fifth of the rows."""
    model, X, target = fitted(name)
    noise = 0.0 if name == "forest of votes" else 0.3
    y = outcome(X, 3 if target == 2 else 2, noise=noise)
    rng = np.random.default_rng(1)
    rows = [rng.permutation(len(X))[: len(X) // 5] for _ in range(n)]
    return [clone(model).fit(X.iloc[some], y[some]) for some in rows]


def probability(model: Any, target: Any, rows: Any) -> Floats:
    place = list(model.classes_).index(1 if target is None else target)
    return np.asarray(model.predict_proba(rows)[:, place], dtype=np.float64)


def accepted(
    problem: Problem, models: list[Any], target: Any, rows: Any, at_least: int, gamma: Any = None
) -> Any:
    """Ask the libraries: the first model, and at least some of the others."""
    own, *others = (probability(model, target, rows) for model in models)
    n_others = sum((score > problem.threshold).astype(int) for score in others)
    return (own > problem.gate.cutoff(gamma)) & (n_others >= at_least)


def assert_optimal(
    problem: Problem, model: Any, target: Any, method: Closest, people: Any
) -> robx.Counterfactuals:
    models = [model, *method.panel]
    at_least = len(method.panel) if method.at_least is None else method.at_least
    answer = method.explain(problem, people)
    X = problem.read(people).matrix
    for i in range(len(answer)):
        points, best = every_point(problem, X[i]), np.inf
        if len(points):
            rows = problem.codec.write(points)
            enough = accepted(problem, models, target, rows, at_least, method.gamma)
            best = costs(problem, points, X[i])[enough].min(initial=np.inf)
        assert answer.ok[i] == np.isfinite(best)
        bound = answer.measured["bound"][i]
        if answer.ok[i]:
            assert answer.cost[i] == pytest.approx(best, abs=1e-8)
            assert bound <= best + 1e-12
            assert bound == pytest.approx(best, abs=1e-7)
        else:
            assert answer.status[i] in {Status.NOT_FOUND, Status.PRECLUDED}
            assert np.isnan(bound)
    if answer.ok.any():
        rows = answer.points[answer.ok]
        assert accepted(problem, models, target, rows, at_least, method.gamma).all()
    return answer


def declined(problem: Problem, X: Any, n: int, skip: int = 0) -> Any:
    rows = np.flatnonzero(problem.read(X).score <= problem.threshold)[skip:][:n]
    return X.iloc[rows].reset_index(drop=True)


# --- every allowed point --------------------------------------------------------------------------


@pytest.mark.parametrize("name", slow_but(["XGBoost", "RandomForest"], MODELS, MORE))
def test_the_answer_is_the_cheapest_that_enough_models_accept(name: str) -> None:
    model, X, target = fitted(name)
    panel = panel_of(name)
    n_ok, dearer = 0, 0
    for seed in range(tries(9, few=4)):
        problem = Problem(
            model, X, schema(seed), target=target, threshold=[0.3, 0.5, 0.6][seed % 3]
        )
        people = declined(problem, X, 4, skip=seed)
        alone = Closest().explain(problem, people)
        for at_least in (1, 2, None):
            method = Closest(panel=panel, at_least=at_least)
            answer = assert_optimal(problem, model, target, method, people)
            n_ok += int(answer.ok.sum())
            dearer += int((answer.cost[answer.ok] > alone.cost[answer.ok] + 1e-6).sum())
    assert n_ok >= 10
    assert dearer >= 4  # so that the panel did rule something out


def test_models_of_another_library_sit_on_the_panel() -> None:
    # One sums in single precision and the other in double.
    model, X, target = fitted("XGBoost")
    X = table(250, 0)
    panel = [fitted("RandomForest")[0], fitted("forest of votes")[0], *panel_of("XGBoost", 1)]
    for base in (model, panel[0]):
        problem = Problem(base, X, free_schema(), target=target)
        people = declined(problem, X, 5)
        for at_least in (2, 3):
            method = Closest(panel=panel, at_least=at_least)
            assert assert_optimal(problem, base, target, method, people).ok.any()


@pytest.mark.parametrize("name", slow_but(["XGBoost"], ["XGBoost", "three classes"]))
def test_gamma_is_asked_of_the_problems_own_model(name: str) -> None:
    model, X, target = fitted(name)
    problem = Problem(model, X, free_schema(), target=target, threshold=0.4)
    method = Closest(panel=panel_of(name), at_least=2, gamma=0.7)
    answer = assert_optimal(problem, model, target, method, declined(problem, X, 6))
    assert answer.ok.any()
    assert (answer.score[answer.ok] > 0.7).all()


def test_a_panel_of_the_model_itself_asks_for_nothing_more() -> None:
    model, X, _ = fitted("XGBoost")
    problem = Problem(model, X, free_schema())
    people = declined(problem, X, 8)
    alone = Closest().explain(problem, people)
    twice = Closest(panel=[model]).explain(problem, people)
    assert alone.ok.all()
    np.testing.assert_allclose(twice.cost, alone.cost, atol=1e-9)
    np.testing.assert_allclose(twice.measured["bound"], alone.measured["bound"], atol=1e-7)


# --- rounding ------------------------------------------------------------------------------------


@cache
def tied() -> tuple[list[robx.TreeEnsemble], Floats, float]:
    """Models of seven columns worth some tenths each, where rounding alone parts 0.1 + 0.2 and 0.3.

    Gives the models, all points, and a threshold that parts a tie.
    """
    X = np.array(list(itertools.product([0.0, 1.0], repeat=7)))
    grown = xgb.XGBClassifier(n_estimators=60, max_depth=1, n_jobs=1, random_state=0)
    e: Any = robx.import_model(grown.fit(X, X.sum(axis=1) >= 4), X=X)
    models = []
    for turn in range(4):
        tenths = dict(enumerate(np.roll([0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1], turn)))
        worth = np.zeros(e.n_leaves)
        for root in e.tree_start[:-1]:
            column = int(e.split_feature[e.node_split[root]])
            worth[-1 - e.node_split[root + 2]] = tenths.pop(column, 0.0)
        assert not tenths
        models.append(replace(e, leaf_value=worth, base=np.zeros(1), link="identity", slope=1.0))
    known = np.unique(models[0].score(X))
    cutoffs = known[:-1][np.diff(known) < 1e-12]
    return models, X, float(cutoffs[len(cutoffs) // 2])


@pytest.mark.parametrize("most", [1, 20])
@pytest.mark.parametrize("at_least", [1, 2, 3])
def test_ties_that_rounding_decides_never_make_a_wrong_bound(
    most: int, at_least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MOST_EXCLUDED", most)
    (model, *panel), points, cutoff = tied()
    weights = [1.0, 1.1, 2.9, 1.3, 1.2, 2.6, 0.9]
    names = Schema.infer(points).names
    features = (Feature(n, "integer", weight=w) for n, w in zip(names, weights, strict=True))
    problem = Problem(model, points[[0, -1]], Schema(tuple(features)), threshold=cutoff)
    people = points[model.score(points) <= cutoff][::9]
    answer = Closest(panel=panel, at_least=at_least).explain(problem, people)
    accepts = np.array([one.score(points) > cutoff for one in (model, *panel)])
    enough = accepts[0] & (accepts[1:].sum(axis=0) >= at_least)
    assert answer.ok.all()
    for i, x in enumerate(people):
        cost = problem.rules.cost(points, np.tile(x, (128, 1)), 1)
        assert enough[(points == answer.points[i]).all(axis=1)].all()
        best = cost[enough].min()
        assert answer.measured["bound"][i] <= best + 1e-12 <= answer.cost[i] + 2e-12
        if most == 20:
            assert answer.cost[i] == pytest.approx(best)


# --- a real table --------------------------------------------------------------------------------


@cache
def german() -> tuple[Problem, list[Any], Any]:
    X, y, schema_ = robx.datasets.load_german()
    model = xgb.XGBClassifier(n_estimators=30, max_depth=3, n_jobs=1, random_state=0)
    panel = list(robx.retrainings(model, X[:700], y[:700], 4))
    problem = Problem(clone(model).fit(X[:700], y[:700]), X[:700], schema_)
    people = X[700:]
    return problem, panel, people[problem.read(people).score <= 0.5][:5]


def test_each_further_model_that_must_accept_costs_more_or_nothing() -> None:
    problem, panel, people = german()
    costs_ = [Closest().explain(problem, people).cost]
    for at_least in (1, 2, 3, 4):
        answer = Closest(panel=panel, at_least=at_least).explain(problem, people)
        assert answer.ok.all()
        accepts = np.array([probability(model, None, answer.points) > 0.5 for model in panel])
        assert (accepts.sum(axis=0) >= at_least).all()
        np.testing.assert_allclose(answer.measured["bound"], answer.cost, atol=1e-8)
        costs_.append(answer.cost)
    assert (np.diff(costs_, axis=0) >= -1e-8).all()
    assert costs_[-1].sum() > 2 * costs_[0].sum()


def test_no_answer_that_the_same_models_accept_is_cheaper() -> None:
    problem, panel, people = german()
    bound = Closest(panel=panel).explain(problem, people).measured["bound"]
    frugal = robx.Frugal(models=panel, noise=robx.Noise(n_draws=64)).explain(problem, people)
    all_accept = frugal.ok.copy()
    for model in panel:
        all_accept &= probability(model, None, frugal.points) > 0.5
    assert all_accept.sum() >= 3
    assert (frugal.cost[all_accept] >= bound[all_accept] - 1e-9).all()


def test_with_little_effort_the_answer_to_begin_with_is_given() -> None:
    problem, panel, people = german()
    method = Closest(panel=panel, at_least=3, effort=1e-4)
    answer = method.explain(problem, people)
    applicants = problem.read(people)
    start = np.array(warm_start(method.quorum(problem), applicants))
    assert answer.ok.all()
    np.testing.assert_array_equal(answer.cost, problem.rules.cost(start, applicants.matrix, 1))
    assert (answer.measured["bound"] < answer.cost - 1e-6).any()
    best = replace(method, effort=10.0).explain(problem, people)
    assert (best.cost <= answer.cost).all()
    assert (answer.measured["bound"] <= best.cost + 1e-9).all()
    for i in range(len(people)):
        assert_same_answers(answer, method.explain(problem, people.iloc[i : i + 1]), [i])


def test_the_panel_does_not_certify(tmp_path: Path) -> None:
    _, panel, people = german()
    X, y, schema_ = robx.datasets.load_german()
    model = clone(panel[0]).fit(X[:700], y[:700])
    problem, fresh = (Problem(model, X[:700], schema_) for _ in range(2))
    answer = Closest(panel=panel[:2], effort=0.1).explain(problem, people)
    with pytest.raises(InvalidInput, match="was used to choose"):
        robx.certify(problem, answer, panel[1:])
    answer.save(tmp_path / "answer.json")
    loaded = robx.Counterfactuals.load(tmp_path / "answer.json")
    with pytest.raises(InvalidInput, match="was used to choose"):
        robx.certify(fresh, loaded, panel[1:])
    assert robx.certify(fresh, loaded, panel[2:]).certificate is not None


# --- none ----------------------------------------------------------------------------------------

GRID = np.array([[a, b] for a in range(10) for b in range(10)], dtype=float)


def test_where_no_point_is_accepted_by_enough_that_is_said() -> None:
    model = DecisionTreeClassifier().fit(GRID, GRID[:, 0] >= 5)
    other = DecisionTreeClassifier().fit(GRID, GRID[:, 1] >= 8)
    features = (Feature("a", "integer"), Feature("b", "integer", change="none"))
    problem = Problem(model, GRID, Schema(features))
    assert Closest(panel=[model, other], at_least=1).explain(problem, [[0.0, 0.0]]).ok[0]
    answer = Closest(panel=[model, other]).explain(problem, [[0.0, 0.0], [0.0, 9.0]])
    assert answer.status.tolist() == [Status.NOT_FOUND, Status.OK]
    assert answer.reason[0] == (
        "no point that keeps every rule scores above 0.5 and is accepted by at least 2 of 2 "
        "retrained models"
    )


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        (
            {"at_least": 1},
            "The 'at_least' parameter of Closest must be None where there is no panel. Got 1",
        ),
        ({"n": 2, "at_least": 0}, "'at_least' parameter of Closest must be an integer from 1"),
        ({"n": 2, "at_least": 1.5}, "'at_least' parameter of Closest must be an integer from 1"),
        ({"n": 2, "at_least": True}, "'at_least' parameter of Closest must be an integer from 1"),
        (
            {"n": 2, "at_least": 3},
            "must be an integer from 1 to 2, the number of models in the panel. Got 3 instead",
        ),
        ({"panel": "models"}, "'panel' parameter of Closest must be a list of retrained models"),
        ({"panel": 3}, "'panel' parameter of Closest must be a list of retrained models. Got 3"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: Any, sentence: str) -> None:
    problem, panel, people = german()
    given = dict(parameters)
    n = given.pop("n", 0)
    with pytest.raises(InvalidInput, match=sentence):
        Closest(**{"panel": panel[:n], **given}).explain(problem, people)


def test_models_that_read_other_columns_are_refused() -> None:
    problem, panel, people = german()
    X, y, _ = robx.datasets.load_german()
    sentence = "Model 1 of 2 in the panel of Closest is not made of trees that read their columns"
    for other in (LogisticRegression(max_iter=5000), xgb.XGBClassifier(n_estimators=2, missing=0)):
        method = Closest(panel=[panel[0], other.fit(X, y)])
        with pytest.raises(InvalidInput, match=sentence):
            method.explain(problem, people)

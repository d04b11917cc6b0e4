"""Applicants in another order of columns than the training table get the same answers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from xgboost import XGBClassifier

import robx
from robx import Problem
from robx.tables import in_order

NAMES = ["income", "age", "debt"]
TURNED = ["debt", "age", "income"]


@cache
def data() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((300, 3)).round(2), columns=NAMES)
    return X, (X["income"] - 0.5 * X["debt"] > 0.3).astype(int)


def forest(seed: int, names: list[str] | None = None) -> Any:
    """A forest on half of the rows; without names it is fitted on an array."""
    X, y = data()
    half = np.random.default_rng(seed).permutation(300)[:150]
    table = X.to_numpy() if names is None else X[names]
    rows = table[half] if isinstance(table, np.ndarray) else table.iloc[half]
    return RandomForestClassifier(5, random_state=seed, n_jobs=1).fit(rows, y[half])


def declined() -> Any:
    X, y = data()
    return X[y == 0][:20]


def certificates(problem: Problem, people: Any, models: list[Any]) -> list[int]:
    answer = robx.NearestNeighbour().explain(problem, people)
    found = robx.certify(problem, answer, models).certificate
    assert found is not None
    return [int(count) for count in found.accepting]


def test_retrained_models_without_names_are_asked_in_the_training_order() -> None:
    problem, models = Problem(forest(0), data()[0]), [forest(k) for k in range(1, 7)]
    straight = certificates(problem, declined(), models)
    assert certificates(problem, declined()[TURNED], models) == straight
    assert certificates(problem, declined()[NAMES].to_numpy(), models) == straight
    assert 0 < np.mean(straight) < 6


def test_an_array_is_named_for_models_that_were_trained_in_another_order() -> None:
    X, _ = data()
    problem = Problem(forest(0, NAMES), X[TURNED])
    models = [forest(k, TURNED) for k in range(1, 7)]
    straight = certificates(problem, declined(), models)
    assert certificates(problem, declined()[NAMES].to_numpy(), models) == straight
    assert 0 < np.mean(straight) < 6


def test_a_sweep_asks_models_without_names_in_the_training_order() -> None:
    problem, models = Problem(forest(0), data()[0]), [forest(k) for k in range(1, 4)]
    method = robx.RobX(noise=robx.Noise(n_draws=16))
    tables = [
        robx.choose_tau(problem, people, models, method=method, taus=[0.5, 0.7]).table
        for people in (declined(), declined()[TURNED])
    ]
    pd.testing.assert_frame_equal(tables[0], tables[1])
    assert tables[0]["validity"].between(0.1, 0.99).any()


def test_an_evaluation_asks_models_without_names_in_the_training_order() -> None:
    problem, models = Problem(forest(0), data()[0]), [forest(k) for k in range(1, 4)]
    tables = [
        robx.evaluate(problem, {"near": robx.NearestNeighbour()}, models, applicants=people)
        for people in (declined(), declined()[TURNED])
    ]
    validity = [table[table["metric"] == "validity"]["value"].iloc[0] for table in tables]
    assert validity[0] == validity[1]
    assert 0 < validity[0] < 1


def test_codes_of_a_model_without_names_are_read_from_their_own_column() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"job": rng.integers(0, 3, 300).astype(float), "income": rng.random(300)})
    y = (X["income"] + 0.2 * (X["job"] == 1) > 0.6).astype(int)
    model = XGBClassifier(
        n_estimators=5, n_jobs=1, enable_categorical=True, feature_types=["c", "q"]
    ).fit(X.to_numpy(), y)
    problem = Problem(model, X)
    people = pd.DataFrame({"job": [0.0, 1.0], "income": [0.1, np.nan]})
    straight, turned = problem.read(people), problem.read(people[["income", "job"]])
    np.testing.assert_array_equal(turned.matrix, straight.matrix)
    np.testing.assert_array_equal(turned.score, straight.score)


def test_a_table_of_other_columns_is_left_as_it_is() -> None:
    X, _ = data()
    assert in_order(X[TURNED], NAMES).columns.tolist() == NAMES
    assert in_order(X[TURNED], ["income", "age", "wealth"]).columns.tolist() == TURNED
    assert in_order(X[TURNED], NAMES[:2]).columns.tolist() == TURNED
    array = X.to_numpy()
    assert in_order(array, TURNED) is array

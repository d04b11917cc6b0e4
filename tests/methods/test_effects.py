"""What a change brings about, from the schema's words to the answers of every method."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

import robx
from robx.methods import Method

METHODS: list[Method] = [
    robx.NearestNeighbour(),
    robx.Conservative(tau=0.3),
    robx.FeatureTweaking(),
    robx.Focus(n_steps=80),
    robx.Face(),
    robx.LiveRegion(),
    robx.Closest(effort=1.0),
    robx.RobX(tau=0.3),
    robx.Frugal(level=0.2),
    robx.Frugal(level=0.2, max_changes=2, norm=2),
]
NAMES = [f"{type(method).__name__}-L{method.norm}" for method in METHODS]


def people(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 70, n)
    return pd.DataFrame(
        {
            "age": age,
            "years_employed": np.minimum(rng.integers(0, 30, n), age - 18),
            "savings": rng.integers(0, 50, n) * 100,
            "debts": rng.integers(0, 40, n) * 100,
        }
    )


def labels(X: pd.DataFrame) -> np.ndarray[Any, Any]:
    worth = X["years_employed"] + X["savings"] / 500 - X["debts"] / 400 - (X["age"] - 45).abs() / 6
    return np.asarray(worth > worth.median())


SCHEMA = robx.Schema(
    [
        robx.Feature("age", "integer", change="none"),
        robx.Feature("years_employed", "integer", change="increase"),
        robx.Feature("savings", "continuous", resolution=100),
        robx.Feature("debts", "continuous", resolution=100),
    ],
    effects={"age": "+1 * years_employed", "debts": "-0.5 * savings"},
)
X = people(400)
MODEL = GradientBoostingClassifier(n_estimators=30, random_state=0).fit(X, labels(X))
PROBLEM = robx.Problem(MODEL, X, SCHEMA)
DECLINED = people(60, 1)[MODEL.predict(people(60, 1)) == 0]


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_every_method_brings_about_what_follows(method: Method) -> None:
    answer = method.explain(PROBLEM, DECLINED)
    assert answer.answered.sum() >= 20
    change = answer.points - DECLINED
    assert (change["age"] == change["years_employed"]).all()
    # Debts follow by half of what is saved, on their own grid of hundreds.
    np.testing.assert_allclose(change["debts"], -0.5 * change["savings"], atol=50)
    assert (MODEL.predict_proba(answer.points)[answer.ok, 1] > 0.5).all()
    assert not any(PROBLEM.schema.violations(answer.points, DECLINED))
    assert (change[["age", "debts"]] != 0).any(axis=None)


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_the_cost_and_the_number_of_changes_are_of_what_people_do(method: Method) -> None:
    answer = method.explain(PROBLEM, DECLINED)
    scale = {name: float(X[name].max() - X[name].min()) for name in X}
    done = [
        (answer.points[name] - DECLINED[name]).abs() / scale[name]
        for name in ("years_employed", "savings")
    ]
    cost = sum(done) if method.norm == 1 else np.sqrt(sum(part**2 for part in done))
    np.testing.assert_allclose(answer.cost, cost, atol=1e-12)
    assert answer.n_changes.tolist() == sum((part > 0).astype(int) for part in done).tolist()


def test_the_closest_point_is_the_closest_of_all_that_can_be_done() -> None:
    table = X.assign(savings=X["savings"] // 1000 * 1000, debts=X["debts"] // 1000 * 1000)
    schema = robx.Schema(
        [
            robx.Feature("age", "integer", change="none"),
            robx.Feature("years_employed", "integer", change="increase"),
            robx.Feature("savings", "continuous", resolution=1000),
            robx.Feature("debts", "continuous", resolution=1000),
        ],
        effects={"age": "years_employed", "debts": "-1*savings"},
    )
    forest = RandomForestClassifier(9, max_depth=4, random_state=0).fit(table, labels(table))
    problem = robx.Problem(forest, table, schema)
    declined = table[forest.predict(table) == 0][:25]
    answer = robx.Closest(effort=5.0).explain(problem, declined)
    units = {name: float(np.ptp(table[name])) for name in table}
    for i, (_, x) in enumerate(declined.iterrows()):
        years = range(int(x["years_employed"]), int(table["years_employed"].max()) + 1)
        tried = []
        for year, savings in itertools.product(years, range(0, 5000, 1000)):
            more, saved = year - x["years_employed"], savings - x["savings"]
            tried.append([x["age"] + more, year, savings, x["debts"] - saved])
        points = pd.DataFrame(tried, columns=table.columns)
        cost = (points["years_employed"] - x["years_employed"]) / units["years_employed"]
        cost += (points["savings"] - x["savings"]).abs() / units["savings"]
        accepted = forest.predict_proba(points)[:, 1] > 0.5
        best = cost[accepted].min() if accepted.any() else None
        if best is None:
            assert answer.status[i] in {"precluded", "nothing found"}
        else:
            assert answer.status[i] == "ok"
            assert answer.cost[i] == pytest.approx(best)
            assert answer.measured["bound"][i] == pytest.approx(best)


def test_what_follows_is_said_behind_its_cause() -> None:
    words = SCHEMA.words(
        pd.DataFrame({"age": [31], "years_employed": [4], "savings": [0], "debts": [900]}),
        pd.DataFrame({"age": [33], "years_employed": [6], "savings": [200], "debts": [800]}),
    )
    assert words == [
        [
            "years_employed: 4 → 6, which makes you 2 years older",
            "savings: 0 → 200, which brings debts from 900 to 800",
        ]
    ]


def test_nothing_that_is_proved_impossible_can_be_done() -> None:
    """Who would be too old by then is told so; the bound counts what follows."""
    strict = SCHEMA.override(
        age={"change": "none", "high": 45}, savings={"change": "none"}, debts={"change": "none"}
    )
    problem = robx.Problem(MODEL, X, strict)
    answer = robx.FeatureTweaking().explain(problem, DECLINED)
    for i, (_, x) in enumerate(DECLINED.iterrows()):
        last = int(X["years_employed"].max())
        years = np.arange(x["years_employed"], last + 1)
        ages = x["age"] + years - x["years_employed"]
        allowed = (ages <= 45) | (years == x["years_employed"])
        points = pd.DataFrame(
            {"age": ages, "years_employed": years, "savings": x["savings"], "debts": x["debts"]}
        )[allowed]
        possible = bool((MODEL.predict_proba(points)[:, 1] > 0.5).any())
        if answer.status[i] == "precluded":
            assert not possible
        if answer.status[i] == "ok":
            assert answer.points["age"].iloc[i] <= 45


def test_precomputed_points_are_brought_to_where_effects_hold() -> None:
    wanted = DECLINED.assign(years_employed=DECLINED["years_employed"] + 3, savings=4000)
    answer = robx.Given(points=wanted).explain(PROBLEM, DECLINED)
    assert answer.ok.any()
    some = answer.points[answer.ok]
    assert (some["age"] - DECLINED["age"][answer.ok] == 3).all()


def test_effects_and_relations_hold_together() -> None:
    """A relation that names a column that follows binds its causes."""
    tied = SCHEMA.override(relations=["years_employed <= age - 18", "age <= 60"])
    problem = robx.Problem(MODEL, X, tied)
    for method in METHODS:
        answer = method.explain(problem, DECLINED)
        moved = answer.answered
        assert (answer.points["age"][moved] <= 60).all()
    young = DECLINED[DECLINED["age"] <= 60]
    projected = problem.schema.project(young.assign(years_employed=25), young)
    change = projected - young
    assert (projected["age"] <= 60).all()
    assert (change["age"] == change["years_employed"]).all()
    assert (projected["years_employed"] == 25).any()
    assert (projected["years_employed"] < 25).any()


def test_alternatives_hold_a_cause_with_what_follows() -> None:
    answer = robx.alternatives(robx.Frugal(level=0.2), PROBLEM, DECLINED[:10], 2)
    for one in (answer, *answer.alternatives):
        change = one.points - DECLINED[:10]
        assert (change["age"] == change["years_employed"]).all()

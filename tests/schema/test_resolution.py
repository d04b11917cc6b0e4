"""Values in hundreds move by hundreds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import robx
from robx import Feature, Schema

RNG = np.random.default_rng(0)
PLACES = RNG.integers(0, 60, 400)


def guessed(values: Any) -> Feature:
    return Schema.infer(pd.DataFrame({"a": values}))["a"]


@pytest.mark.parametrize(
    "step", [10_000.0, 1000.0, 250.0, 100.0, 25.0, 5.0, 0.5, 0.25, 0.05, 0.025, 0.1, 0.001]
)
def test_multiples_of_a_round_number_show_it(step: float) -> None:
    for values in (
        np.round(PLACES * step, 3),
        PLACES * step,  # 3 * 0.05 is not 0.15
        np.round(PLACES * step, 3).astype(np.float32),
        -np.round(PLACES * step, 3),
        np.append(np.round(PLACES * step, 3), [np.nan, np.inf]),
    ):
        feature = guessed(values)
        assert feature.resolution == pytest.approx(step, rel=1e-12)
        assert feature.kind == ("integer" if step >= 1 else "continuous")


def test_a_few_other_values_do_not_hide_it_and_many_do() -> None:
    most = np.append(PLACES * 100, [123, 7])
    assert guessed(most).resolution == 100
    assert guessed(np.append(PLACES * 100.0, [123.4567])).resolution == 100
    assert guessed(np.append(PLACES * 100, np.arange(20) * 7)).resolution is None
    mostly_zero = np.where(RNG.random(3000) < 0.9, 0, RNG.integers(0, 60, 3000) * 500)
    assert guessed(mostly_zero).resolution == 500


@pytest.mark.parametrize(
    "values",
    [
        PLACES[:30] * 100,  # few rows
        np.tile([100, 200, 300], 50),  # few values
        np.tile([12, 24, 36, 48, 60], 50),
        RNG.integers(0, 10, 300) * 2,  # not more than chance
        RNG.integers(1950, 2010, 300),
        RNG.normal(size=300),
        PLACES / 3,
        np.zeros(100),
        PLACES * 1e300,
    ],
)
def test_it_is_not_guessed_from_little(values: Any) -> None:
    assert guessed(values).resolution is None


def test_answers_are_round_too() -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"income": 500 * rng.integers(20, 200, 400), "rate": rng.random(400)})
    X.loc[0, "income"] = 12_345
    forest = RandomForestClassifier(20, random_state=0).fit(X, X["income"] > 50_000 * X["rate"])
    declined = X[forest.predict(X) == 0][:20]
    problem = robx.Problem(forest, X, Schema.infer(X))
    for method in (robx.Frugal(level=0.2), robx.Closest(), robx.FeatureTweaking()):
        answer = method.explain(problem, declined)
        moved = answer.points["income"] != declined["income"]
        assert moved.sum() > 5
        assert (answer.points["income"][moved] % 500 == 0).all()


def test_an_integer_feature_may_have_one() -> None:
    amount = Feature("a", "integer", resolution=100)
    assert amount.constraint() == "in steps of 100"
    schema = Schema([amount])
    assert schema.project(np.array([[149.0], [151.0]]), np.full((2, 1), 7.0)).tolist() == [
        [100.0],
        [200.0],
    ]
    assert schema.override(a={"kind": "continuous"})["a"].resolution == 100
    assert schema.override(a={"kind": "ordinal", "levels": [1]})["a"].resolution is None
    finer = Schema([Feature("a", resolution=0.1)]).override(a={"kind": "integer"})
    assert finer["a"].resolution is None
    with pytest.raises(robx.InvalidInput, match="of an integer feature is an integer. Got 0.5."):
        Feature("a", "integer", resolution=0.5)

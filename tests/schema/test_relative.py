"""Limits relative to what an applicant has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import robx
from robx import Feature, Schema


def moves(feature: Feature, x: float, values: list[float], dtype: Any = float) -> list[float]:
    """Give the values that an applicant with x may come to have, of some."""
    schema = Schema([feature])
    points = pd.DataFrame({feature.name: np.array(values, dtype)})
    own = pd.DataFrame({feature.name: np.full(len(values), x, dtype)})
    broken = schema.violations(points, own)
    return [value for value, names in zip(values, broken, strict=True) if not names]


def test_a_number_moves_no_further_than_is_said() -> None:
    age = Feature("age", "integer", max_increase=5, max_decrease=2)
    assert moves(age, 40, [37, 38, 40, 45, 46]) == [38, 40, 45]
    assert moves(age.replaced(change="increase"), 40, [38, 41, 46]) == [41]
    assert moves(Feature("age", within=2), 40, [37.9, 38, 42, 42.1]) == [38, 42]
    assert moves(Feature("age", "integer", max_increase=0), 40, [3, 40, 41]) == [3, 40]
    assert moves(Feature("age", "integer", max_increase=2.5), 40, [42, 43]) == [42]


def test_levels_are_counted_in_steps_also_from_between_them() -> None:
    savings = Feature("s", "ordinal", levels=(0, 2, 5, 9), max_increase=1, max_decrease=2)
    assert moves(savings, 5, [0, 2, 5, 9]) == [0, 2, 5, 9]
    assert moves(savings, 2, [0, 2, 5, 9]) == [0, 2, 5]
    assert moves(savings, 3, [0, 2, 3, 5, 9]) == [0, 2, 3, 5]
    assert moves(savings, 9, [0, 2, 5, 9]) == [2, 5, 9]
    assert moves(savings.replaced(max_increase=0), 2, [0, 2, 5]) == [0, 2]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_takes_no_step_away_and_adds_none(dtype: Any) -> None:
    """0.7 + 0.1 is less than 0.8 in floating point."""
    rate = Feature("rate", resolution=0.1, within=0.1)
    for k in range(-30, 30):
        near = [round((k + step) / 10, 1) for step in (-2, -1, 1, 2)]
        assert moves(rate, k / 10, near, dtype) == near[1:3]


def test_a_range_holds_as_well_and_a_missing_value_may_be_filled() -> None:
    rate = Feature("rate", "integer", low=3, high=8, max_increase=4, may_fill=True)
    assert moves(rate, 1, [2, 3, 5, 6]) == [3, 5]
    assert moves(rate, 6, [8, 9]) == [8]
    assert moves(rate, np.nan, [2, 3, 8, 9]) == [3, 8]


def test_what_follows_from_others_is_bound_too() -> None:
    schema = Schema(
        [
            Feature("age", "integer", change="none", max_increase=3),
            Feature("years", "integer", change="increase"),
        ],
        effects={"age": "years"},
    )
    own = pd.DataFrame({"age": [30, 30], "years": [1, 1]})
    wanted = pd.DataFrame({"age": [33, 34], "years": [4, 5]})
    assert schema.violations(wanted, own) == [[], ["age (follows from years)"]]
    scaled = schema.override(age={"scale": 1}, years={"scale": 1})
    assert scaled.project(wanted, own).to_numpy().tolist() == [[33, 4], [30, 1]]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"max_increase": 5}, "may rise by at most 5"),
        ({"max_decrease": 2.5}, "may fall by at most 2.5"),
        ({"within": 2}, "may rise or fall by at most 2"),
        ({"max_increase": 5, "max_decrease": 1}, "may rise by at most 5, may fall by at most 1"),
        ({"max_increase": 5, "change": "increase"}, "may only rise, by at most 5"),
        ({"max_increase": 5, "change": "decrease"}, "may only fall"),
        ({"within": 5, "change": "none"}, "fixed"),
        ({"within": "2 years", "unit": "years"}, "may rise or fall by at most 2 years"),
        ({"max_increase": 1, "kind": "ordinal", "levels": [1, 2]}, "may rise by at most 1 step"),
        ({"max_increase": 2, "low": 0, "high": 9}, "may rise by at most 2, from 0 to 9"),
    ],
)
def test_it_is_said_in_words(fields: dict[str, Any], words: str) -> None:
    feature = Feature("a", **fields)
    assert feature.constraint() == words
    assert words in str(Schema([feature]))


def test_a_unit_is_said_with_what_changes() -> None:
    schema = Schema([Feature("term", "integer", unit="months"), Feature("b")])
    words = schema.words(np.array([[24, 1.5]]), np.array([[12, 2.5]]))
    assert words == [["term: 24 → 12 months", "b: 1.5 → 2.5"]]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"max_increase": -1}, "max_increase must not be negative. Got -1."),
        ({"max_decrease": "2"}, "max_decrease must be a finite number. Got '2'."),
        ({"max_decrease": float("inf")}, "max_decrease must be a finite number. Got inf."),
        ({"max_increase": True}, "max_increase must be a finite number. Got True."),
        (
            {"max_increase": 1.5, "kind": "ordinal", "levels": [1, 2]},
            "max_increase of an ordinal feature is a whole number of levels. Got 1.5.",
        ),
        (
            {"max_increase": 1, "kind": "categorical", "levels": ["a"]},
            "a categorical feature has no order, so no max_increase.",
        ),
        ({"within": 2, "max_increase": 3}, "within is both max_increase and max_decrease. State"),
        ({"within": "2 years"}, "within names the unit 'years'; declare it as 'unit: years'."),
        ({"within": "2 months", "unit": "years"}, "declare it as 'unit: months'. Got '2 months'."),
        ({"within": "soon"}, "within must be a number, or a number with the unit. Got 'soon'."),
        ({"within": "1.2.3"}, "within must be a number, or a number with the unit. Got '1.2.3'."),
        ({"within": [2]}, "within must be a number, or a number with the unit. Got [2]."),
        ({"within": -2}, "max_increase must not be negative. Got -2."),
        ({"unit": 3}, "its unit must be a word such as 'years'. Got 3."),
        ({"unit": " "}, "its unit must be a word such as 'years'. Got ' '."),
        (
            {"unit": "years", "kind": "ordinal", "levels": [1]},
            "only continuous and integer features have a unit. Got 'years'.",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(robx.InvalidInput) as caught:
        Feature("a", **fields)
    assert message in str(caught.value)
    assert str(caught.value).startswith("Feature 'a': ")


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_it_is_kept_in_a_file(tmp_path: Path, ending: str) -> None:
    schema = Schema(
        [
            Feature("a", "integer", max_increase=5, max_decrease=2.5, unit="years"),
            Feature("b", within="3 kg", unit="kg"),
        ]
    )
    schema.save(tmp_path / f"schema.{ending}")
    assert Schema.load(tmp_path / f"schema.{ending}") == schema
    (tmp_path / "by_hand.yaml").write_text(
        "features:\n- {name: a, kind: integer, within: 2 years, unit: years}\n", encoding="utf-8"
    )
    assert Schema.load(tmp_path / "by_hand.yaml")["a"].max_decrease == 2


def test_limits_can_be_overridden() -> None:
    schema = Schema([Feature("a", "integer", max_increase=5, max_decrease=2)])
    assert schema.override(a={"within": 1})["a"].max_increase == 1
    assert schema.override(a={"max_increase": None})["a"].constraint() == "may fall by at most 2"


def test_reasons_name_the_limit() -> None:
    """Who would have to save more than is allowed is told so."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"savings": rng.integers(0, 100, 300), "other": rng.integers(0, 5, 300)})
    forest = RandomForestClassifier(10, random_state=0).fit(X, X["savings"] > 60)
    schema = Schema.infer(X).override(savings={"max_increase": 20})
    poor = pd.DataFrame({"savings": [5, 50], "other": [1, 1]})
    for method in (robx.FeatureTweaking(), robx.NearestNeighbour(), robx.Closest()):
        answer = method.explain(robx.Problem(forest, X, schema), poor)
        assert not answer.ok[0]
        assert "savings (may rise by at most 20)" in answer.reason[0]
        assert answer.ok[1]
        assert answer.points["savings"][1] <= 70


def test_no_number_of_steps_limits_what_a_missing_level_is_filled_with() -> None:
    savings = Feature("s", "ordinal", levels=(0, 2, 5, 9), may_fill=True)
    for limit in ("max_increase", "max_decrease", "within"):
        assert moves(savings.replaced(**{limit: 1}), np.nan, [0, 2, 5, 9]) == [0, 2, 5, 9]


def test_single_precision_leads_no_step_further() -> None:
    debts = Feature("debts", "integer", max_increase=10)
    assert moves(debts, 9_000_000, [9_000_009, 9_000_010, 9_000_011, 9_000_012], np.float32) == [
        9_000_009,
        9_000_010,
    ]
    halves = Feature("debts", "integer", max_increase=10)
    assert moves(halves, 4_000_000.5, [4_000_010, 4_000_011], np.float32) == [4_000_010]
    rate = Feature("rate", resolution=0.1, max_increase=0.3)
    assert moves(rate, 0.1, [0.3, 0.4, 0.5], np.float32) == [0.3, 0.4]
    assert moves(rate, 800_000.0, [800_000.3125, 800_000.375], np.float32) == [800_000.3125]

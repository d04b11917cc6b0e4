from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest

import robx
from robx import Feature

SAVINGS = {0: "under 100", 1: "100 to 500", 2: "500 or more"}

EVERY_KIND = [
    Feature("a"),
    Feature("b", "continuous", resolution=0.5, low=-1, high=2.5, change="increase"),
    Feature("c", "integer", low=0, weight=2, scale=10, noise=0),
    Feature("d", "ordinal", levels=SAVINGS, change="decrease"),  # type: ignore[arg-type]
    Feature("e", "ordinal", levels=("low", "mid", "high"), change="none", high=1),
    Feature("f", "categorical", levels=(False, True), may_fill=True),
    Feature("g", "categorical", levels=("x", "y"), labels=("an x", "a y")),
    Feature("h_1", "onehot", group="h"),
]


@pytest.mark.parametrize("feature", EVERY_KIND, ids=lambda f: f.name)
def test_plain_values_give_the_same_feature(feature: Feature) -> None:
    plain = json.loads(json.dumps(feature.to_dict()))
    assert Feature(**plain) == feature
    assert hash(Feature(**plain)) == hash(feature)


def test_plain_values_leave_out_what_is_as_by_default() -> None:
    assert Feature("a").to_dict() == {"name": "a", "kind": "continuous"}
    assert Feature("a", "integer", low=1).to_dict() == {"name": "a", "kind": "integer", "low": 1.0}


def test_a_mapping_gives_levels_their_words() -> None:
    feature = Feature("savings", "ordinal", levels=SAVINGS)  # type: ignore[arg-type]
    assert feature.levels == (0, 1, 2)
    assert feature.labels == ("under 100", "100 to 500", "500 or more")
    assert [feature.say(v) for v in (0.0, 2.0, 7.0)] == ["under 100", "500 or more", "7"]


def test_levels_of_text_are_numbered_and_numbers_stand_for_themselves() -> None:
    assert Feature("a", "ordinal", levels=("low", "high")).level_numbers == (0.0, 1.0)
    assert Feature("a", "ordinal", levels=(-3, 2.5)).level_numbers == (-3.0, 2.5)
    assert Feature("a", "categorical", levels=(7, 3)).level_numbers == (7.0, 3.0)
    assert Feature("a", "categorical", levels=(False, True)).level_numbers == (0.0, 1.0)
    assert Feature("a").level_numbers == ()


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (math.nan, "missing"),
        (3.0, "3"),
        (-0.0, "0"),
        (0.1 + 0.2, "0.3"),
        (1e-7, "0.0000001"),
        (123456.789, "123457"),
        (2.0**70, "1180590000000000000000"),
        (math.inf, "infinity"),
        (-math.inf, "-infinity"),
    ],
)
def test_numbers_are_said_shortly(number: float, words: str) -> None:
    assert Feature("a").say(number) == words


def test_a_level_is_known_in_single_precision_too() -> None:
    feature = Feature("a", "ordinal", levels=(0.1, 0.2), labels=("low", "high"))
    assert feature.say(float(np.float32(0.1))) == "low"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "free"),
        ({"change": "none"}, "fixed"),
        ({"change": "increase"}, "may only rise"),
        ({"change": "decrease", "low": 2}, "may only fall, at least 2"),
        ({"low": 0, "high": 1.5}, "from 0 to 1.5"),
        ({"high": 3, "resolution": 0.5}, "at most 3, in steps of 0.5"),
        (
            {"kind": "ordinal", "levels": ("low", "mid", "high"), "low": 1, "high": 2},
            "from mid to high",
        ),
    ],
)
def test_constraints_are_put_in_words(fields: dict[str, Any], words: str) -> None:
    assert Feature("a", **fields).constraint() == words


def test_numbers_of_numpy_are_taken_as_plain_ones() -> None:
    fields: dict[str, Any] = {
        "levels": np.array([1, 2]),
        "low": np.int64(1),
        "scale": np.float32(2),
    }
    feature = Feature(np.str_("a"), "ordinal", **fields)
    plain = feature.to_dict()
    assert [type(plain[name]) for name in ("name", "low", "scale")] == [str, float, float]
    assert [type(level) for level in plain["levels"]] == [int, int]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": 3}, r"Feature 3: its name must be text. Got 3."),
        ({"kind": "number"}, "kind must be one of continuous, integer, ordinal, categorical, one"),
        ({"kind": []}, r"kind must be one of .* Got \[\]"),
        ({"change": "up"}, "change must be one of any, .*, may only fall, fixed. Got 'up'"),
        ({"low": "1"}, "low must be a finite number. Got '1'"),
        ({"high": math.inf}, "high must be a finite number. Got inf"),
        ({"scale": math.nan}, "scale must be a finite number. Got nan"),
        ({"scale": True}, "scale must be a finite number. Got True"),
        ({"scale": 10**400}, "scale must be a finite number. Got 1000"),
        ({"weight": None}, "weight must be a finite number. Got None"),
        ({"scale": 0}, "scale must be positive. Got 0"),
        ({"noise": -1}, "noise must not be negative. Got -1"),
        ({"weight": -1}, "weight must not be negative. Got -1"),
        ({"low": 2, "high": 1}, "low must not be above high. Got 2 and 1"),
        (
            {"resolution": 0},
            "a resolution is a positive step of a continuous or integer feature. Got 0",
        ),
        ({"kind": "integer", "resolution": 2.5}, "of an integer feature is an integer. Got 2.5"),
        (
            {"kind": "ordinal", "levels": (1, 2), "resolution": 1},
            "a resolution is a positive step of a continuous or integer feature. Got 1 for a",
        ),
        ({"may_fill": 1}, "may_fill must be true or false. Got 1"),
        ({"kind": "onehot"}, "a one-hot feature, and no other, names its group"),
        ({"group": "g"}, "a one-hot feature, and no other, names its group"),
        ({"kind": "onehot", "group": 5}, "its group must be text. Got 5"),
        ({"kind": "onehot", "group": "g", "low": 0}, "a onehot feature has no order, so no low"),
        ({"kind": "ordinal"}, "ordinal and categorical features, and no others, list their levels"),
        ({"levels": (1, 2)}, "ordinal and categorical features, and no others, list their levels"),
        ({"kind": "ordinal", "levels": "abc"}, "levels must be a list of values, or a mapping"),
        ({"kind": "ordinal", "levels": 5}, "levels must be a list of values, or a mapping"),
        ({"kind": "ordinal", "levels": ()}, "levels must be text or numbers, at least one"),
        ({"kind": "ordinal", "levels": (None, 1)}, "levels must be text or numbers, at least one"),
        ({"kind": "ordinal", "levels": ([1],)}, "levels must be text or numbers, at least one"),
        ({"kind": "ordinal", "levels": (1, 1.0)}, "levels must differ, and be all text or all num"),
        ({"kind": "ordinal", "levels": (1, "a")}, "levels must differ, and be all text or all num"),
        ({"kind": "ordinal", "levels": (2, 1)}, "ordinal levels that are numbers must rise"),
        (
            {"kind": "ordinal", "levels": (1, math.nan)},
            "numbers must be finite, and exact in float",
        ),
        ({"kind": "categorical", "levels": (2**53 + 1,)}, "must be finite, and exact in float64"),
        ({"kind": "categorical", "levels": (10**400,)}, "must be finite, and exact in float64"),
        ({"kind": "ordinal", "levels": (1, 2), "labels": ("a",)}, "labels must be as many as leve"),
        ({"kind": "ordinal", "levels": (1, 2), "labels": "ab"}, "labels must be a list of words"),
        ({"kind": "ordinal", "levels": (1, 2), "labels": 5}, "labels must be a list of words"),
        ({"kind": "categorical", "levels": (1, 2), "low": 1}, "has no order, so no low or high"),
        (
            {"kind": "categorical", "levels": (1, 2), "change": "increase"},
            "a categorical feature has no order, so it cannot only increase",
        ),
    ],
)
def test_a_feature_that_makes_no_sense_says_why(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(robx.InvalidInput, match=message):
        Feature(**{"name": "a", **fields})


def test_a_feature_is_changed_by_copying_it() -> None:
    feature = Feature("a", "integer")
    assert feature.replaced(low=3) == Feature("a", "integer", low=3)
    assert feature.low is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        feature.low = 3.0  # type: ignore[misc]
    with pytest.raises(
        robx.InvalidInput, match="A feature has no 'step'. It has kind, change, low"
    ):
        feature.replaced(step=1)


def test_new_levels_do_not_keep_old_words() -> None:
    feature = Feature("a", "ordinal", levels=SAVINGS)  # type: ignore[arg-type]
    assert feature.replaced(levels=(0, 1)).labels is None
    assert feature.replaced(levels={5: "five"}).labels == ("five",)


def test_a_fixed_feature_may_be_filled_in_and_says_so() -> None:
    born = Feature("born", "integer", change="none", may_fill=True)
    assert born.constraint() == "fixed, but may be filled in"
    schema = robx.Schema([born])
    known, missing = np.array([[1980.0]]), np.array([[np.nan]])
    assert schema.violations(known + 1, known) == [["born (fixed, but may be filled in)"]]
    assert schema.violations(known, missing) == [[]]


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("free", "any"),
        ("may only rise", "increase"),
        ("may only fall", "decrease"),
        ("fixed", "none"),
    ],
)
def test_the_words_that_tables_show_are_understood(words: Any, change: str) -> None:
    feature = Feature("a", change=words)
    assert feature.change == change
    assert feature == Feature("a").replaced(change=change)
    assert feature.constraint() == words
    assert feature.to_dict().get("change", "any") == change

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import robx
from robx import Feature, Schema
from robx.schema import Codec, Rules
from robx.tables import Layout
from schema_cases import Case, cases
from speed import examples

Floats = NDArray[np.float64]


def rules_of(
    *features: Feature,
    relations: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
    dtype: Any = np.float64,
    seen: Any = None,
) -> Rules:
    """Give the rules of a table of a dtype, of which some rows were seen."""
    schema = Schema(features, relations, optional)
    layout = Layout.of(np.zeros((1, len(features)), dtype), names=schema.names)
    matrix = None if seen is None else np.array(seen, dtype=np.float64)
    return schema.rules(Codec(schema.features, layout), matrix)


def number(name: str = "a", kind: Any = "integer", **fields: Any) -> Feature:
    return Feature(name, kind, **{"scale": 1.0, **fields})


def one_bound(feature: Feature, x: float, seen: Any = None, dtype: Any = np.float64) -> list[float]:
    low, high = rules_of(feature, seen=seen, dtype=dtype).bounds(np.array([[x]]))
    return [float(low[0, 0]), float(high[0, 0])]


@pytest.mark.parametrize(
    ("fields", "x", "bounds"),
    [
        ({}, 3.0, [0, 9]),  # what was seen
        ({}, 12.0, [0, 12]),  # who is beyond does not go further out
        ({}, -2.0, [-2, 9]),
        ({"change": "increase"}, 3.0, [3, 9]),
        ({"change": "decrease"}, 3.0, [0, 3]),
        ({"change": "none"}, 3.0, [3, 3]),
        ({"low": -5, "high": 20}, 3.0, [-5, 20]),  # what is stated counts, seen or not
        ({"low": 5}, 3.0, [5, 9]),
        ({"low": 5, "change": "none"}, 3.0, [3, 3]),  # what they have stays
        ({"low": 5, "change": "decrease"}, 3.0, [3, 3]),
        ({"high": 5, "change": "increase"}, 3.0, [3, 5]),
        ({}, math.nan, [0, 9]),
        ({"change": "none"}, math.nan, [0, 9]),
    ],
)
def test_bounds_follow_what_is_stated_seen_and_held(
    fields: dict[str, Any], x: float, bounds: list[float]
) -> None:
    assert one_bound(number(**fields), x, seen=[[0], [9], [np.nan], [np.inf]]) == bounds


def test_categories_and_members_of_groups_are_bounded_by_nothing_seen() -> None:
    label = Feature("a", "categorical", levels=(1, 2, 3), scale=1.0)
    assert one_bound(label, 1.0, seen=[[1]]) == [-math.inf, math.inf]
    fixed = Feature("a", "categorical", levels=(1, 2, 3), scale=1.0, change="none")
    assert one_bound(fixed, 2.0, seen=[[1]]) == [2, 2]
    hot = [Feature(f"g{k}", "onehot", group="g", scale=1.0) for k in range(2)]
    low, high = rules_of(*hot, seen=[[0, 1]]).bounds(np.array([[0.0, 1.0]]))
    assert low.tolist() == [[0, 0]]
    assert high.tolist() == [[1, 1]]


@pytest.mark.parametrize(
    ("dtype", "bounds"),
    [
        (np.int8, [-128, 127]),
        (np.uint8, [0, 255]),
        (np.int64, [-(2.0**63), np.nextafter(2.0**63, 0)]),
        (np.float32, [-1e30, 1e30]),
    ],
)
def test_no_bound_goes_beyond_what_the_dtype_holds(dtype: Any, bounds: list[float]) -> None:
    assert one_bound(number(low=-1e30, high=1e30), 1.0, dtype=dtype) == bounds
    assert one_bound(number(low=-1e30, high=1e30), 1000.0, dtype=np.int8) == [-128, 1000]


@given(cases(relations=False))
@examples(100, derandomize=True)
def test_a_settled_point_breaks_nothing(case: Case) -> None:
    rules = rules_of(*case.schema.features)
    x = case.applicant[None]
    bounds = rules.bounds(x)
    found = rules.settle(case.wanted[None], x, bounds)
    assert rules.broken(found, x) == [[]]
    again = rules.settle(found, x, bounds)
    assert again.tobytes() == found.tobytes()


@given(
    st.lists(st.floats(-50, 50, width=32), min_size=2, max_size=2),
    st.sampled_from([None, 0.1, 0.25, 1 / 3, 7.0]),
    st.sampled_from([np.float32, np.float64]),
)
@examples(100, derandomize=True)
def test_a_settled_point_survives_being_stored(
    pair: list[float], resolution: float | None, dtype: Any
) -> None:
    rules = rules_of(number(kind="continuous", resolution=resolution), dtype=dtype)
    z, x = np.array([[pair[0] + 0.01]]), np.array([[pair[1]]])
    found = rules.settle(z, x, rules.bounds(x))
    assert found.astype(dtype).astype(np.float64).tobytes() == found.tobytes()
    assert rules.broken(found, x) == [[]]


@pytest.mark.parametrize(
    ("resolution", "wanted", "expected"),
    [
        (0.1, 0.34, 0.3),
        (1 / 3, 0.6, 2 / 3),
        (7e-10, 1.5e-9, 1.4e-9),  # not rounded to a billionth
        (1e-12, 0.3, 0.3),
        (1e-320, 0.3, 0.3),
        (1e300, 0.6e300, 1e300),
        (0.123456789012, 0.13, 0.123456789012),
    ],
)
def test_any_resolution_is_a_grid(resolution: float, wanted: float, expected: float) -> None:
    rules = rules_of(number(kind="continuous", resolution=resolution))
    x = np.array([[-1e9]])
    assert rules.settle(np.array([[wanted]]), x, rules.bounds(x))[0, 0] == pytest.approx(
        expected, rel=1e-12, abs=0
    )


def test_whole_columns_take_whole_steps_whatever_the_resolution() -> None:
    for resolution, expected in ((0.5, 3.0), (1.5, 4.0)):
        rules = rules_of(number(kind="continuous", resolution=resolution), dtype=np.int64)
        x = np.array([[0.0]])
        assert rules.settle(np.array([[3.3]]), x, rules.bounds(x))[0, 0] == expected


def test_levels_are_taken_as_float32_stores_them() -> None:
    level = Feature("a", "ordinal", levels=(0.1, 0.2), scale=1.0, labels=("low", "high"))
    rules = rules_of(level, dtype=np.float32)
    x = np.array([[float(np.float32(0.1))]])
    found = rules.settle(np.array([[0.9]]), x, rules.bounds(x))
    assert found[0, 0] == np.float32(0.2)
    assert rules.words(found[0], x[0]) == ["a: low → high"]


def test_relations_allow_for_rounding_and_no_more() -> None:
    rules = rules_of(number("a", "continuous"), number("b", "continuous"), relations=("a <= b",))
    points = np.array([[0.1 + 0.2, 0.3], [1.0, 1.0], [1.0 + 1e-6, 1.0], [np.nan, 0.0], [2.0, 1.0]])
    assert rules.keeps(points, points).tolist() == [True, True, False, True, False]
    assert rules_of(number()).keeps(points[:, :1], points[:, :1]).all()


@given(cases(relations=False))
@examples(60, derandomize=True)
def test_features_are_counted_once_a_group(case: Case) -> None:
    rules = rules_of(*case.schema.features)
    z, x = case.wanted[None], case.applicant[None]
    names = {
        f.group or f.name for f, c in zip(case.schema, rules.changed(z, x)[0], strict=True) if c
    }
    assert rules.n_changes(z, x)[0] == len(names)
    assert len(rules.words(z[0], x[0])) == len(names)


def test_a_change_of_a_group_costs_as_much_as_one_of_a_category() -> None:
    hot = [Feature(f"g{k}", "onehot", group="g", scale=1.0, weight=3.0) for k in range(3)]
    label = Feature("a", "categorical", levels=(0, 1, 2), scale=1.0, weight=3.0)
    for norm in (1, 2):
        in_group = rules_of(*hot).cost(np.array([[1.0, 0, 0]]), np.array([[0.0, 0, 1]]), norm)
        in_column = rules_of(label).cost(np.array([[0.0]]), np.array([[2.0]]), norm)
        assert in_group[0] == pytest.approx(in_column[0])


def test_noise_is_for_numbers_alone() -> None:
    rules = rules_of(
        number("a", scale=4.0),
        number("b", scale=4.0, noise=0.5),
        Feature("c", "categorical", levels=(1, 2), scale=4.0),
    )
    assert rules.noise.tolist() == [4.0, 0.5, 0.0]


def test_common_beginnings_of_members_are_left_out_of_words() -> None:
    def said(*names: str) -> str:
        hot = [Feature(name, "onehot", group="g", scale=1.0) for name in names]
        return rules_of(*hot).words(np.array([1.0, 0.0]), np.array([0.0, 1.0]))[0]

    assert said("home_own", "home_rent") == "g: rent → own"
    assert said("own", "rent") == "g: rent → own"
    assert said("job: red", "job: rest") == "g: rest → red"


def test_a_scale_is_needed_for_a_cost_alone() -> None:
    rules = rules_of(Feature("a"))
    assert rules.broken(np.zeros((1, 1)), np.zeros((1, 1))) == [[]]
    with pytest.raises(robx.InvalidInput, match="Feature 'a' has no scale"):
        rules.cost(np.zeros((1, 1)), np.zeros((1, 1)), 1)


def test_rules_are_free_only_if_nothing_is_ruled_out() -> None:
    assert rules_of(number()).is_free
    assert not rules_of(number(low=0)).is_free
    assert not rules_of(number(change="none")).is_free
    assert not rules_of(number(), relations=("a <= 1",)).is_free


def test_a_one_hot_group_is_one_feature_at_the_place_of_its_first_column() -> None:
    hot = [Feature(f"g{k}", "onehot", group="g", scale=1.0) for k in range(2)]
    rules = rules_of(number("a"), hot[0], number("b"), hot[1], number("c"))
    assert rules.features_of_columns.astype(int).tolist() == [
        [1, 0, 0, 0, 0],
        [0, 1, 0, 1, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 0, 0, 1],
    ]
    x = np.array([[1.0, 1.0, 2.0, 0.0, math.nan]] * 4)
    z = x.copy()
    z[1, [1, 3]] = [0.0, 1.0]
    z[2, [0, 4]] = [5.0, 3.0]
    z[3, [0, 1, 2]] = [5.0, 0.0, 7.0]
    changed = rules.changed_features(z, x)
    assert changed.dtype == bool
    assert changed.astype(int).tolist() == [[0] * 4, [0, 1, 0, 0], [1, 0, 0, 1], [1, 1, 1, 0]]
    assert rules.n_changes(z, x).tolist() == [0, 1, 2, 3]


def test_a_group_without_room_between_its_bounds_stays() -> None:
    hot = [Feature(f"g{k}", "onehot", group="g", scale=1.0) for k in range(2)]
    rules = rules_of(*hot, number("b"), seen=[[0, 0, 0], [1, 1, 9]])
    x, z = np.array([[1.0, 0.0, 2.0]]), np.array([[0.0, 1.0, 5.0]])
    low, high = rules.bounds(x)
    assert rules.settle(z, x, (low, high)).tolist() == [[0, 1, 5]]
    held = np.array([[True, True, False]])
    bounds = np.where(held, x, low), np.where(held, x, high)
    assert rules.settle(z, x, bounds).tolist() == [[1, 0, 5]]

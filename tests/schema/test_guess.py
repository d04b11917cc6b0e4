from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import robx
from robx import Feature, Schema


def guessed(values: Any, name: str = "a") -> Feature:
    return Schema.infer(pd.DataFrame({name: values}))[name]


@pytest.mark.parametrize(
    ("values", "kind", "resolution"),
    [
        ([1, 2, 7], "integer", None),
        ([1.0, 2.0, np.nan], "integer", None),
        ([0, 1, 1], "integer", None),
        ([0.5, 1.0, 2.5], "continuous", 0.1),
        ([0.25, 1.0], "continuous", 0.01),
        ([0.125, 1.0], "continuous", 0.001),
        ([0.1234, 1.0], "continuous", None),
        ([0.5, np.inf], "continuous", 0.1),
        ([5e-324, 0.0], "continuous", None),
        ([1e308, -1e308], "integer", None),
        (pd.array([1, None, 3], dtype="Int64"), "integer", None),
        (np.array([0.1, 0.2], np.float32), "continuous", 0.1),
    ],
)
def test_numbers_get_the_grid_that_they_lie_on(
    values: Any, kind: str, resolution: float | None
) -> None:
    feature = guessed(values)
    assert feature.kind == kind
    assert feature.resolution == (None if resolution is None else pytest.approx(resolution))


@pytest.mark.parametrize(
    ("values", "kind", "levels"),
    [
        (["b", "a", "b", None], "categorical", ("a", "b")),
        (pd.Categorical(["x", "y"], categories=["y", "x", "z"]), "categorical", ("y", "x")),
        (pd.Categorical([7, None], categories=[9, 7]), "categorical", (7,)),
        (pd.Categorical(["low"], ["low", "high"], ordered=True), "ordinal", ("low", "high")),
        ([True, False], "categorical", (False, True)),
        (pd.array([True, None], dtype="boolean"), "categorical", (False, True)),
        (pd.array(["a", None], dtype="string"), "categorical", ("a",)),
    ],
)
def test_words_and_flags_are_categories(values: Any, kind: str, levels: tuple[Any, ...]) -> None:
    feature = guessed(values)
    assert feature.kind == kind
    assert feature.levels == levels
    assert feature.scale is not None


MAKERS: list[Callable[[dict[str, Any]], Any]] = [pd.DataFrame, pl.DataFrame, pa.table]


@pytest.mark.parametrize("make", MAKERS)
def test_a_guess_is_the_same_in_every_library(make: Callable[[dict[str, Any]], Any]) -> None:
    table = make({"term": [1, 5], "rate": [0.5, 1.5], "word": ["x", "y"], "flag": [True, False]})
    assert Schema.infer(table) == Schema(
        (
            Feature("term", "integer", scale=4.0),
            Feature("rate", "continuous", resolution=0.1, scale=1.0),
            Feature("word", "categorical", levels=("x", "y"), scale=1.0),
            Feature("flag", "categorical", levels=(False, True), scale=1.0),
        )
    )


def test_columns_of_which_each_row_has_one_are_a_group() -> None:
    table = pd.DataFrame(
        {
            "home_own": [1, 0, 0],
            "home_rent": [0, 1, 1],
            "job=a": [1, 1, 0],
            "job=b": [0, 1, 0],
            "plain": [1, 0, 1],
            "sex_m": [1, 0, 0],
        }
    )
    schema = Schema.infer(table)
    assert [f.group for f in schema] == ["home", "home", None, None, None, None]
    assert [f.kind for f in schema][2:] == ["integer"] * 4


def test_a_missing_or_other_value_makes_no_group() -> None:
    for odd in (np.nan, 2.0, 0.5):
        table = pd.DataFrame({"home_a": [1.0, 0.0, odd], "home_b": [0.0, 1.0, 1.0]})
        assert Schema.infer(table)["home_a"].group is None


def test_names_of_levels_may_hold_signs_that_part_words() -> None:
    hot = np.eye(3, dtype=int)[[0, 1, 2, 1]]
    names = ["purpose_used car", "purpose_radio or television", "purpose_repairs"]
    schema = Schema.infer(pd.DataFrame(hot, columns=names))
    assert [f.group for f in schema] == ["purpose"] * 3


def test_a_shorter_beginning_takes_no_column_of_a_group_away() -> None:
    table = pd.DataFrame(
        {
            "home_own": [1, 0, 0],
            "home_rent": [0, 1, 1],
            "home_own_garage": [1, 0, 0],
            "home_own_none": [0, 0, 0],
        }
    )
    assert [f.group for f in Schema.infer(table)] == ["home", "home", None, None]


def test_only_what_is_protected_is_guessed_to_be_fixed_and_guesses_can_be_mended() -> None:
    table = pd.DataFrame({"term": [20, 60], "sex": ["f", "m"], "home": ["a", "b"]})
    schema = Schema.infer(table)
    assert [f.change for f in schema] == ["any", "none", "any"]
    assert not any(f.may_fill for f in schema)
    assert "categorical" in str(schema)
    mended = schema.override(term={"change": "increase"}, sex={"change": "any"})
    assert mended["term"].constraint() == "may only rise"
    assert mended["sex"].constraint() == "free"
    assert mended["term"].scale == 40


def test_one_scale_can_be_given_for_all_numbers() -> None:
    schema = Schema.infer(pd.DataFrame({"a": [0.0, 9.0], "w": ["x", "y"]}), scale=2.0)
    assert [f.scale for f in schema] == [2.0, 1.0]


@pytest.mark.parametrize(
    "values",
    [
        [np.nan, np.nan],
        [np.inf, np.nan],
        pd.Series([None, None], dtype=object),
        pd.Series([None, None], dtype="str"),
        pd.Categorical([None, None], categories=["x", "y"]),
        pd.Categorical([None, None], categories=["x", "y"], ordered=True),
        pd.array([None, None], dtype="Int64"),
    ],
    ids=["NaN", "infinity", "object", "text", "category", "ordered", "nullable"],
)
def test_a_column_that_is_missing_in_every_row_is_fixed(values: Any) -> None:
    feature = guessed(values)
    assert (feature.kind, feature.change, feature.levels) == ("continuous", "none", None)


@pytest.mark.parametrize("dtype", [pl.Enum(["b", "a", "c"]), pl.Categorical, pl.String])
def test_levels_of_polars_are_those_that_occur(dtype: Any) -> None:
    table = pl.DataFrame({"a": pl.Series(["a", "b", None], dtype=dtype)})
    wanted = ("b", "a") if isinstance(dtype, pl.Enum) else ("a", "b")
    assert Schema.infer(table)["a"].levels == wanted


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((0, 2)), "The table has no rows, so nothing can be told of its columns."),
        (pd.DataFrame({"a": [[1], [2]]}), "Column 'a' must hold numbers, booleans, text or cat"),
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}), "Column 'a' must hold numbers, bool"),
        (pl.DataFrame({"a": [[1], [2]]}), "Column 'a' must hold numbers, booleans, text or cat"),
        (
            pd.DataFrame({"a": ["x", None, 1]}),
            "Column 'a' must hold text or numbers, not both. Got 'x' in row 0 and 1 in row 2.",
        ),
        (np.array([["x", "y"]]), "An array must hold numbers. Column 0 holds text: use a DataFr"),
        (np.array([["x", 1.0]], dtype=object), "An array must hold numbers. Column 0 holds text"),
        (np.zeros((2, 2), np.float16), "Column '0' must hold numbers of 32 bits or more"),
        (np.zeros((2, 2), complex), "Column '0' must hold numbers, booleans, text or categories"),
        (np.zeros(3), "X must have two dimensions"),
        (None, "X must have two dimensions"),
        (pd.DataFrame(), "X must have columns. Got none."),
    ],
)
def test_what_cannot_be_guessed_is_an_error(table: Any, message: str) -> None:
    with pytest.raises(robx.InvalidInput) as caught:
        Schema.infer(table)
    assert message in str(caught.value)


def test_five_hundred_one_hot_columns_are_one_group() -> None:
    hot = np.eye(500, dtype=int)[np.random.default_rng(0).integers(0, 500, 600)]
    hot[:500] = np.eye(500, dtype=int)
    schema = Schema.infer(pd.DataFrame(hot, columns=[f"town_{k}" for k in range(500)]))
    assert {f.group for f in schema} == {"town"}

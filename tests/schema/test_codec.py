from __future__ import annotations

import gc
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import robx
from robx import Feature, Schema
from robx.schema import Codec
from robx.tables import Layout

FRAME = pd.DataFrame(
    {
        "age": [31, 47, 20],
        "rate": np.array([0.5, np.nan, 0.25], np.float32),
        "word": ["x", None, "y"],
        "size": pd.Categorical(["mid", "low", None], categories=["mid", "low", "high"]),
        "flag": [True, False, True],
        "count": pd.array([1, None, 3], dtype="Int64"),
    }
)
FEATURES = (
    Feature("size", "ordinal", levels=("low", "mid", "high")),
    Feature("flag", "categorical", levels=(False, True)),
    Feature("age", "integer"),
    Feature("word", "categorical", levels=("y", "x")),
    Feature("rate"),
    Feature("count", "integer"),
)
nan = np.nan
NUMBERS = np.array([[1, 1, 31, 1, 0.5, 1], [0, 0, 47, nan, nan, nan], [nan, 1, 20, 0, 0.25, 3]])


def codec_of(table: Any, features: tuple[Feature, ...] = FEATURES) -> Codec:
    return Codec(features, Layout.of(table))


MAKERS: list[Any] = [lambda t: t, pl.from_pandas, pa.Table.from_pandas]


@pytest.mark.parametrize("make", MAKERS, ids=["pandas", "polars", "pyarrow"])
def test_levels_become_their_numbers_and_come_back(make: Any) -> None:
    table = make(FRAME)
    codec = codec_of(table)
    np.testing.assert_array_equal(codec.read(table, "X"), NUMBERS)
    again = codec.read(codec.write(NUMBERS), "X")
    np.testing.assert_array_equal(again, NUMBERS)


def test_what_is_written_has_the_kind_order_and_dtypes_of_training() -> None:
    whole = NUMBERS[:1]
    written = codec_of(FRAME).write(whole)
    assert written.columns.tolist() == FRAME.columns.tolist()
    assert (written.dtypes == FRAME.dtypes).all()
    assert written.loc[0].tolist() == [31, 0.5, "x", "mid", True, 1]


def test_columns_are_found_by_name_whatever_their_order() -> None:
    turned = FRAME[FRAME.columns[::-1]]
    np.testing.assert_array_equal(codec_of(FRAME).read(turned, "X"), NUMBERS)


def test_only_cells_that_differ_are_rewritten() -> None:
    table = FRAME.set_index(pd.Index(["p", "q", "r"]))[FRAME.columns[::-1]]
    after = NUMBERS.copy()
    after[1, 0], after[0, 3], after[2, 2] = 2, 0, 21
    found, stored = codec_of(FRAME).rewrite(table, NUMBERS, after)
    np.testing.assert_array_equal(stored, after)
    expected = table.copy()
    expected.loc["q", "size"], expected.loc["p", "word"], expected.loc["r", "age"] = "high", "y", 21
    pd.testing.assert_frame_equal(found, expected)


def test_an_array_comes_in_the_order_of_the_features() -> None:
    frame = pd.DataFrame({"b": [1.0, 2.0], "a": [10, 20]})
    codec = codec_of(frame, (Feature("a", "integer"), Feature("b")))
    array = np.array([[10.0, 1.0], [20.0, 2.0]])
    assert codec.read(array, "X").tolist() == codec.read(frame, "X").tolist() == array.tolist()
    after = array + np.array([[0, 0.5], [5, 0]])
    assert codec.rewrite(array, array, after)[0].tolist() == after.tolist()
    assert codec.rewrite(frame, array, after)[0]["a"].tolist() == [10, 25]


def test_reading_never_gives_out_the_callers_memory() -> None:
    array = np.ones((2, 1))
    codec = Codec((Feature("0"),), Layout.of(array))
    assert not np.shares_memory(codec.read(array, "X"), array)


def test_dtypes_say_what_a_column_can_hold() -> None:
    table = pd.DataFrame(
        {
            "a": np.array([1], np.int8),
            "b": [True],
            "c": [0.5],
            "d": np.array([1], np.uint64),
            "e": pd.array([1], dtype="Int16"),
        }
    )
    codec = codec_of(table, tuple(map(Feature, "acdeb")))
    low, high = codec.storable.tolist()
    assert low == [-128, -np.inf, 0, -32768, 0]
    assert high[0] == 127
    assert high[1:] == [np.inf, np.nextafter(2.0**64, 0), 32767, 1]
    assert int(high[2]) < 2**64
    assert codec.whole.tolist() == [True, False, True, True, True]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (FEATURES[:5], "Only in the schema: []; only in the table: ['count']."),
        ((*FEATURES[:5], Feature("sum")), "Only in the schema: ['sum']; only in the table: ['coun"),
        (
            (Feature("size"), *FEATURES[1:]),
            "Column 'size' holds text or categories, so its feature must be ordinal or categorical",
        ),
        (
            (*FEATURES[:5], Feature("count", "ordinal", levels=("one", "two"))),
            "Column 'count' holds numbers; the levels of its feature are text. Give the numbers as",
        ),
    ],
)
def test_a_schema_that_does_not_fit_the_table_is_refused(
    features: tuple[Feature, ...], message: str
) -> None:
    with pytest.raises(robx.InvalidInput) as caught:
        codec_of(FRAME, features)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "column", [np.array([1.0], np.float16), pd.to_datetime(["2020-01-01"]), np.array([1j])]
)
def test_columns_of_other_dtypes_are_refused(column: Any) -> None:
    with pytest.raises(robx.InvalidInput, match="Column 'a' must hold numbers of 32 bits or more"):
        codec_of(pd.DataFrame({"a": column}), (Feature("a"),))


def test_a_value_that_is_no_level_has_a_number_of_its_own() -> None:
    codec = codec_of(FRAME)
    j = [feature.name for feature in codec.features].index("word")
    table = FRAME.assign(word=["x", "z", "zz"])
    matrix = codec.read(table, "X")
    known = codec.features[j].level_numbers
    assert matrix[0, j] in known
    assert len({*known, *matrix[:, j]}) == len(known) + 2
    assert (matrix[1:, j] < 0).all()
    # It depends on nothing but the value, and is written back.
    assert codec_of(FRAME).read(table[1:2], "X")[0, j] == matrix[1, j]
    assert codec.write(matrix)["word"].tolist() == ["x", "z", "zz"]
    assert codec.holds_unlisted(matrix)[:, j].tolist() == [False, True, True]
    again = pickle.loads(pickle.dumps(codec))
    assert again.write(matrix)["word"].tolist() == ["x", "z", "zz"]


def test_values_of_rows_that_are_gone_are_forgotten() -> None:
    codec = codec_of(FRAME)
    j = [feature.name for feature in codec.features].index("word")
    read = codec.read_rows(FRAME.assign(word=["x", "z", "zz"]), "X")
    matrix = read.matrix
    assert codec.write(matrix)["word"].tolist() == ["x", "z", "zz"]
    assert {word.value for word in read.words.values()} == {"z", "zz"}
    del read
    gc.collect()
    assert codec.unlisted.find(j, matrix[1, j]) is None
    assert len(codec.unlisted) == 0


def test_every_kind_of_table_reads_as_its_guess() -> None:
    for make in MAKERS:
        table = make(FRAME)
        schema = Schema.infer(table)
        matrix = codec_of(table, schema.features).read(table, "X")
        assert schema.violations(table) == [[], [], []]
        assert np.isnan(matrix).sum() == 4


def test_threads_that_read_at_once_share_what_is_no_level() -> None:
    """Also where reading is the first thing that is done with a codec, or with a copy of one."""
    schema = Schema([Feature("t", "categorical", levels=("a", "b"))])
    table = pd.DataFrame({"t": ["a", "b"]})
    codec = Codec(schema.features, Layout.of(table))
    for one in (codec, pickle.loads(pickle.dumps(codec))):
        assert "unlisted" in vars(one)
        rows = one.read_rows(pd.DataFrame({"t": ["new"]}), "X")
        assert one.write(rows.matrix)["t"].tolist() == ["new"]


def test_text_beside_ordered_numbers_has_no_place_in_their_order() -> None:
    levels = (1, 2, 3, 4)
    schema = Schema([Feature("g", "ordinal", levels=levels, scale=1.0), Feature("z", scale=1.0)])

    def rows(*values: Any) -> pd.DataFrame:
        grades = pd.Categorical(values, categories=list(dict.fromkeys([*values, *levels])))
        return pd.DataFrame({"g": grades, "z": 0.0})

    own = rows("foo", -7, "foo", 2)
    asked = rows(4, 4, "foo", 4)
    assert schema.project(asked, own)["g"].tolist() == ["foo", 4, "foo", 4]
    assert schema.cost(asked, own).tolist() == [1, 11, 0, 2]

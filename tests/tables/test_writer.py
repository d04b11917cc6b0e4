from __future__ import annotations

import datetime as dt
import pickle
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

import robx
from robx.tables import Column, read_matrix
from robx.tables.columns import as_array
from robx.tables.writer import Layout, rewrite, rewrite_and_read, write
from speed import examples
from table_kinds import (
    BIG,
    COLOURS,
    EVERY,
    NAN,
    ORDERED,
    arrow,
    cells,
    dictionary,
    dtypes,
    one_column,
    same,
)

NONE = [[False, False]] * 3


# --- layouts --------------------------------------------------------------------------------------


def flags(dtype: Any, values: list[Any]) -> set[str]:
    column = Layout.of(one_column(dtype, values)).columns[0]
    names = ["number", "boolean", "integer", "single", "half", "text", "category", "ordered"]
    return {name for name in names if getattr(column, f"is_{name}")}


@pytest.mark.parametrize(
    ("dtypes_", "values", "wanted"),
    [
        (["int64", "uint8", "Int64", "UInt16", arrow(pa.int32())], [1], {"number", "integer"}),
        ([pl.Int8, pl.UInt64, pa.int64(), pl.Int128], [1], {"number", "integer"}),
        (["float64", "Float64", arrow(pa.float64()), pl.Float64, pa.float64()], [1.5], {"number"}),
        (["float32", "Float32", pl.Float32, pa.float32()], [1.5], {"number", "single"}),
        (["float16", pl.Float16, pa.float16()], [np.float16(1.5)], {"number", "half"}),
        ([pl.Decimal(10, 2)], [1], {"number"}),
        (["bool", "boolean", arrow(pa.bool_()), pl.Boolean, pa.bool_()], [True], {"boolean"}),
        (["str", "string", object, arrow(pa.string()), pl.String, pa.string()], ["x"], {"text"}),
        (["category", pl.Categorical, pl.Enum(["x"])], ["x"], {"category"}),
        ([pa.dictionary(pa.int8(), pa.string())], ["x"], {"category"}),
        ([pd.CategoricalDtype(["x"], ordered=True)], ["x"], {"category", "ordered"}),
        (["M8[ns]", pl.Null, pa.null()], [None], set()),
    ],
)
def test_a_layout_tells_what_each_dtype_holds(
    dtypes_: list[Any], values: list[Any], wanted: set[str]
) -> None:
    assert [flags(dtype, values) for dtype in dtypes_] == [wanted] * len(dtypes_)


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        ("category", ("a", "b")),
        (pd.CategoricalDtype(["c", "b", "a"]), ("c", "b", "a")),
        (pl.Enum(["c", "b", "a"]), ("c", "b", "a")),
        (pl.Categorical, ("a", "b")),
    ],
    ids=str,
)
def test_categories_stand_in_the_dtype_s_order(dtype: Any, wanted: tuple[str, ...]) -> None:
    assert Layout.of(one_column(dtype, ["b", "a", None])).columns[0].categories == wanted


def test_a_dictionary_s_categories_stand_in_its_order() -> None:
    more = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["c", "b"]))
    chunks = pa.chunked_array([dictionary(["a"]), more])
    table = pa.table({"a": chunks})
    assert Layout.of(table).columns[0].categories == ("b", "a", "c")
    held = pd.DataFrame({"a": pd.Series(chunks, dtype=arrow(chunks.type))})
    assert Layout.of(held).columns[0].categories == ("b", "a", "c")


def test_the_columns_of_an_array_share_its_dtype_and_are_numbered_or_named() -> None:
    layout = Layout.of(np.zeros((2, 3), dtype=np.float32))
    assert (layout.kind, layout.names, layout.named) == ("numpy", ("0", "1", "2"), False)
    assert all(column.is_single for column in layout.columns)
    named = Layout.of([[1, 2]], names=["a", "b"])
    assert (named.names, named.named, named.columns[1].is_integer) == (("a", "b"), True, True)
    with pytest.raises(robx.InvalidInput, match=r"names must be 2 names\. Got 1\."):
        Layout.of([[1, 2]], names=["a"])


def test_lists_with_text_keep_their_numbers_and_lists_with_none_are_numbers() -> None:
    mixed = Layout.of([["x", 1], [None, 2]])
    assert [(c.is_text, c.is_number) for c in mixed.columns] == [(True, False), (False, True)]
    assert Layout.of([[None, 1], [2, 3]]).columns[0].dtype == np.float64


every = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY.keys())


@every
def test_a_layout_can_be_pickled(make: Callable[[], Any]) -> None:
    layout = Layout.of(make())
    assert pickle.loads(pickle.dumps(layout)) == layout


# --- rewrite --------------------------------------------------------------------------------------


@every
def test_nothing_changed_gives_an_equal_table_of_the_same_dtypes(make: Callable[[], Any]) -> None:
    table = make()
    out = rewrite(table, Layout.of(table), NONE, [[NAN] * 3, [NAN] * 3])
    assert same(out, make())
    assert same(table, make())


@every
@pytest.mark.parametrize("n", [0, 1])
def test_the_dtypes_do_not_depend_on_the_rows(make: Callable[[], Any], n: int) -> None:
    table = make()
    out = rewrite(table[:n], Layout.of(table), np.zeros((n, 2), bool), [[None] * n] * 2)
    assert same(out, make()[:n])


@every
def test_a_cell_takes_the_value_of_another_row(make: Callable[[], Any]) -> None:
    table = make()
    before = cells(table)
    values = [[None, None, column[0]] for column in before]
    out = rewrite(table, Layout.of(table), [[False] * 2, [False] * 2, [True] * 2], values)
    assert repr(cells(out)) == repr([[*column[:2], column[0]] for column in before])
    assert dtypes(out) == dtypes(make())
    assert same(table, make())


@every
def test_the_copy_shares_no_memory_with_the_table(make: Callable[[], Any]) -> None:
    table = make()
    out = rewrite(table, Layout.of(table), NONE, [[None] * 3] * 2)
    if isinstance(table, np.ndarray):
        assert not np.shares_memory(out, table)
        assert out.flags.f_contiguous == table.flags.f_contiguous
    elif isinstance(table, pd.DataFrame):
        for name in "ab":
            mine, theirs = out[name].array, table[name].array
            if isinstance(table[name].dtype, np.dtype):
                assert not np.shares_memory(mine, theirs)
            if hasattr(mine, "_mask"):
                assert not np.shares_memory(mine._data, theirs._data)
                assert not np.shares_memory(mine._mask, theirs._mask)
    else:
        addresses = [
            {b.address for chunk in t.columns for c in chunk.chunks for b in c.buffers() if b}
            for t in (table, out)
            if isinstance(t, pa.Table)
        ]
        assert not addresses or not addresses[0] & addresses[1]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table, "numpy"])
@pytest.mark.parametrize("value", [3.0, -7.0, float(2**53)])
def test_a_whole_float_comes_out_as_an_integer_beside_exact_neighbours(
    library: Any, value: float
) -> None:
    rows = {"a": [1, BIG, 3], "b": [4, 5, 6]}
    table = np.array([*rows.values()]).T if library == "numpy" else library(rows)
    which = [[True, False], [False, False], [False, False]]
    out = rewrite(table, Layout.of(table), which, [np.array([value, NAN, 0.5]), np.ones(3)])
    assert repr(cells(out)) == repr([[int(value), BIG, 3], [4, 5, 6]])


@pytest.mark.parametrize(
    "dtype", ["float32", "Float32", arrow(pa.float32()), pl.Float32, pa.float32()]
)
def test_single_precision_takes_the_rounded_value(dtype: Any) -> None:
    table = one_column(dtype, [0.5, 1.5])
    out = rewrite(table, Layout.of(table), [[True], [False]], [np.array([0.1, 0.1])])
    assert cells(out) == [[float(np.float32(0.1)), 1.5]]
    assert dtypes(out) == dtypes(table)


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        (dtype, [1, 2])
        for dtype in ["float64", "Int64", "Float32", arrow(pa.int8()), pl.Int8, pa.int64()]
    ]
    + [
        (dtype, ["x", "y"])
        for dtype in ["str", "string", object, "category", pl.String, pa.string()]
    ]
    + [(dtype, ["x", "y"]) for dtype in [pl.Categorical, pl.Enum(["x", "y"]), arrow(pa.string())]]
    + [(dtype, [True, False]) for dtype in ["boolean", pl.Boolean, pa.bool_()]],
)
@pytest.mark.parametrize("missing", [None, NAN])
def test_a_missing_value_can_be_written(dtype: Any, values: list[Any], missing: Any) -> None:
    table = one_column(dtype, values)
    out = rewrite(table, Layout.of(table), [[True], [False]], [[missing, missing]])
    assert cells(out) == [[None, values[1]]]
    assert dtypes(out) == dtypes(table)


@pytest.mark.parametrize("blank", [None, NAN, pd.NA], ids=repr)
def test_an_object_column_gets_the_missing_value_that_it_was_trained_with(blank: Any) -> None:
    training = pd.DataFrame({"a": pd.Series(["x", blank], dtype=object)})
    for out in (
        rewrite(training[:1], Layout.of(training), [[True]], [[None]])["a"],
        write([[None]], Layout.of(training))["a"],
    ):
        assert out.dtype == object
        assert repr(out[0]) == repr(blank)


def test_whatever_an_object_column_holds_stays_there() -> None:
    table = pd.DataFrame({"a": pd.Series([[1, 2], {"x": 1}, "y"], dtype=object)})
    out = rewrite(table, Layout.of(table), [[False], [False], [True]], [["", "", "z"]])
    assert out["a"].tolist() == [[1, 2], {"x": 1}, "z"]
    text = Layout.of(pd.DataFrame({"a": pd.Categorical(["y", "z"])}))
    out = rewrite(table, text, [[False], [True], [False]], [["y"] * 3])
    assert out["a"].dtype == object
    assert out["a"].tolist() == [[1, 2], "y", "y"]


@pytest.mark.parametrize("training", ["int64", "float64", "Int64"])
def test_a_column_of_objects_stays_one_where_the_training_table_has_numbers(training: Any) -> None:
    cells_ = [1, "old", None, Decimal("2.5"), dt.date(2020, 1, 1)]
    layout = Layout.of(one_column(training, [1, 2]))
    table = pd.DataFrame({"a": pd.Series(cells_, dtype=object)}).set_axis(list("vwxyz"))
    which = np.array([[True], [False], [False], [False], [False]])
    out = rewrite(table, layout, which, [[7.0] * 5])
    assert out["a"].dtype == object
    assert out["a"].tolist() == [7, *cells_[1:]]
    assert out["a"].map(type).tolist()[1:] == table["a"].map(type).tolist()[1:]
    assert type(out["a"].iloc[0]) is (float if training == "float64" else int)
    assert same(out[:1], rewrite(table[:1], layout, which[:1], [[7.0]]))
    nothing = rewrite(table[2:3], layout, [[False]], [[0.0]])  # has no dtype to speak of
    assert nothing["a"].dtype != object


def test_objects_of_polars_stay_as_they_are_too() -> None:
    table = pl.DataFrame({"a": pl.Series([1, "old", None], dtype=pl.Object)})
    layout = Layout.of(pl.DataFrame({"a": [1.5]}))
    out = rewrite(table, layout, [[True], [False], [False]], [[7.0] * 3])
    assert out["a"].to_list() == [7.0, "old", None]
    assert out["a"].dtype == pl.Object


def test_an_array_of_objects_keeps_what_is_not_a_number() -> None:
    table = np.array([[1.5, "old"], [2, [3]]], dtype=object)
    changed = [[True, False], [False, False]]
    out = rewrite(table, Layout.of(np.zeros((1, 2))), changed, [[7.0, 0.0], [0.0, 0.0]])
    assert out.tolist() == [[7.0, "old"], [2, [3]]]


def test_a_category_column_takes_values_in_its_own_codes() -> None:
    table = pd.DataFrame({"a": pd.Series(["low", "mid"], dtype=ORDERED)})
    out = rewrite(table, Layout.of(table), [[True], [False]], [["high", None]])
    assert out["a"].dtype == ORDERED
    assert out["a"].cat.ordered
    assert out["a"].cat.codes.tolist() == [1, 2]


PAIRS: list[tuple[Any, Any, Any]] = [
    ("int64", "float64", "float64"),
    ("float64", "int64", "float64"),
    ("float32", "float64", "float64"),
    ("float64", "float32", "float64"),
    ("float32", "int8", "float32"),
    ("bool", "bool", "bool"),
    ("bool", "int64", "int64"),
    ("int8", "uint8", "int16"),
    ("Int64", "int64", "Int64"),
    ("int64", "Int64", "Int64"),
    ("Int64", "float64", "Float64"),
    ("float16", "Int8", "Float32"),
    ("boolean", "bool", "boolean"),
    ("int64[pyarrow]", "int64", "int64[pyarrow]"),
    ("int32", "int64[pyarrow]", "int64[pyarrow]"),
    ("Int64", "int64[pyarrow]", "Int64"),
    (pl.Int64, pl.Float64, pl.Float64),
    (pl.Float32, pl.Float64, pl.Float64),
    (pl.Boolean, pl.Int8, pl.Int8),
    (pl.Float64, pl.Decimal(10, 2), pl.Float64),
    (pa.int64(), pa.float64(), pa.float64()),
    (pa.int8(), pa.int64(), pa.int64()),
    (pa.int64(), pl.Float64, pl.Float64),
    ("float64", pl.Int64, pl.Float64),
    (pl.Float64, "Int64", "Float64"),
    (pl.Int64, "int64", "int64"),
]


@pytest.mark.parametrize(("training", "own", "wanted"), PAIRS, ids=str)
@pytest.mark.parametrize("n", [0, 1, 2])
def test_two_kinds_of_numbers_meet_in_one_dtype(
    training: Any, own: Any, wanted: Any, n: int
) -> None:
    table = one_column(own, [1, 0][:n])
    which = np.array([[True], [False]])[:n]
    out = rewrite(table, Layout.of(one_column(training, [])), which, [[0.0, 7.0][:n]])
    assert dtypes(out) == dtypes(one_column(wanted, []))
    assert cells(out) == [[0, 0][:n]]


WORDS: list[tuple[Any, Any, Any]] = [
    ("str", object, "str"),
    (object, "str", object),
    ("string", "str", "string"),
    ("category", "str", pd.CategoricalDtype(["x", "y"])),
    ("str", "category", "str"),
    ("category", pd.CategoricalDtype(["z", "y", "x"]), pd.CategoricalDtype(["x", "y", "z"])),
    (pd.CategoricalDtype(["y", "x"], ordered=True), "category", None),
    ("category", pl.String, pl.String),
    ("category", pl.Enum(["z", "x"]), pl.Enum(["x", "y", "z"])),
    (pl.Enum(["y", "x"]), pl.Enum(["x", "y"]), pl.Enum(["y", "x"])),
    (pl.Enum(["y", "x"]), pl.String, pl.Enum(["y", "x"])),
    (pl.Categorical, pl.String, pl.Categorical),
    (pl.String, pl.Categorical, pl.String),
    (pl.String, "category", pd.CategoricalDtype(["x"])),
    (pl.Enum(["y", "x"]), "category", pd.CategoricalDtype(["y", "x"])),
    (pl.String, pl.Null, pl.String),
    ("str", pl.Null, pl.String),
    (pa.string(), pa.dictionary(pa.int8(), pa.string()), pa.string()),
    (pa.dictionary(pa.int8(), pa.string()), pa.string(), pa.dictionary(pa.int8(), pa.string())),
    (pa.string(), pa.null(), pa.string()),
]


@pytest.mark.parametrize(("training", "own", "wanted"), WORDS, ids=str)
@pytest.mark.parametrize("n", [0, 2])
def test_text_and_categories_meet_in_the_training_dtype_or_stay(
    training: Any, own: Any, wanted: Any, n: int
) -> None:
    is_nothing = own in (pl.Null, pa.null())
    # A column whose categories are found from its values has them from a longer one.
    table = one_column(own, [None, None] if is_nothing else ["x", None])[:n]
    which = np.zeros((n, 1), dtype=bool)
    out = rewrite(table, Layout.of(one_column(training, ["x", "y"])), which, [[None, None][:n]])
    assert cells(out) == [[None if is_nothing else "x", None][:n]]
    assert dtypes(out) == dtypes(one_column(training if wanted is None else wanted, []))
    if isinstance(out, pd.DataFrame) and isinstance(out["a"].dtype, pd.CategoricalDtype):
        like = one_column(training if wanted is None else wanted, ["x"])["a"].cat
        if isinstance(wanted, pd.CategoricalDtype):
            assert list(out["a"].cat.categories) == list(wanted.categories)
        assert out["a"].cat.ordered == like.ordered


def test_a_category_recoded_to_another_order_keeps_its_values() -> None:
    training = one_column(pd.CategoricalDtype(["a", "b"]), ["a"])
    table = one_column(pd.CategoricalDtype(["b", "a"]), ["a", "b", None])
    out = rewrite(table, Layout.of(training), [[False]] * 3, [[None] * 3])
    assert list(out["a"].cat.categories) == ["a", "b"]
    assert cells(out) == [["a", "b", None]]


@pytest.mark.parametrize(
    ("training", "wanted"),
    [("int64", "float64"), ("bool", "float64"), ("float32", "float32"), ("Int64", "Int64")],
)
def test_a_column_of_nothing_takes_the_training_dtype_with_room_for_it(
    training: str, wanted: str
) -> None:
    layout = Layout.of(one_column(training, [1, 0]))
    out = rewrite(one_column(object, [None, None]), layout, [[True], [False]], [[1.0, NAN]])
    assert (str(out["a"].dtype), cells(out)) == (wanted, [[1, None]])


def test_an_array_has_one_dtype_for_what_all_columns_need() -> None:
    training = pd.DataFrame({"a": [1], "b": [1.5]})
    out = rewrite([[1, 2]], Layout.of(training), [[False, True]], [[NAN], [2.5]])
    assert (out.dtype, out.tolist()) == (np.float64, [[1, 2.5]])
    single = Layout.of(np.zeros((1, 2), np.float32))
    assert rewrite(np.zeros((1, 2), np.int8), single, [[True, False]], [[0.1]] * 2).dtype == "f4"
    flag = Layout.of(np.zeros((1, 1), bool))
    assert rewrite(np.zeros((2, 1), bool), flag, [[True], [False]], [[1.0, 5]]).tolist() == [
        [True],
        [False],
    ]
    none = rewrite([[None, 1.0]], Layout.of(np.zeros((1, 2), int)), [[False, True]], [[0], [3.0]])
    assert (none.dtype, cells(none)) == (np.float64, [[None], [3]])


def test_masked_values_are_missing() -> None:
    masked = np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]])
    out = rewrite(masked, Layout.of(masked), [[False, True]], [[0.0], [5.0]])
    assert cells(out) == [[None], [5]]


INDEXES: dict[str, Any] = {
    "labels": pd.Index(["x", "y", "y"], name="id"),
    "turned": pd.Index([30, 10, 20]),
    "levels": pd.MultiIndex.from_tuples([(1, "a"), (1, "a"), (2, "b")], names=["n", "l"]),
    "dates": pd.date_range("2020-01-01", periods=3, name="day"),
}


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES.keys())
def test_columns_are_found_by_name_and_keep_their_order_and_the_index(index: Any) -> None:
    training = pd.DataFrame({"a": [1], "b": ["x"], 0: [0.5]})
    table = pd.DataFrame({0: [1.5, 2.5, 3.5], "b": ["x", "y", "z"], "a": [4, 5, 6]}, index=index)
    table.attrs["source"] = "branch"
    which = [[True, False, False], [False, True, False], [False, False, True]]
    out = rewrite(table, Layout.of(training), which, [[9.0, 0, 0], ["", "w", ""], [0, 0, 0.25]])
    wanted = pd.DataFrame({0: [1.5, 2.5, 0.25], "b": ["x", "w", "z"], "a": [9, 5, 6]}, index=index)
    pd.testing.assert_frame_equal(out, wanted)
    assert out.columns.equals(table.columns)
    assert out.attrs == {"source": "branch"}


@pytest.mark.parametrize("library", [pl.DataFrame, pa.table])
def test_other_frames_are_matched_by_name_too(library: Any) -> None:
    layout = Layout.of(pd.DataFrame({"a": [1], "b": ["x"]}))
    out = rewrite(
        library({"b": ["x", "y"], "a": [1, 2]}), layout, [[1, 0], [0, 1]], [[7.0, 0], "uv"]
    )
    assert (Layout.of(out).names, cells(out)) == (("b", "a"), [["x", "v"], [7, 2]])


def test_a_pyarrow_schema_keeps_its_metadata() -> None:
    field = pa.field("a", pa.int64(), nullable=False, metadata={"unit": "years"})
    table = pa.table([pa.array([1, 2])], schema=pa.schema([field], metadata={"source": "x"}))
    out = rewrite(table, Layout.of(table), [[True], [False]], [[5.0, 0]])
    assert out.schema.equals(table.schema, check_metadata=True)
    assert cells(out) == [[5, 2]]


def test_a_frame_without_names_in_training_is_taken_as_it_stands() -> None:
    layout = Layout.of(np.zeros((1, 2)))
    table = pd.DataFrame({"b": [1.0], "a": [2.0]})
    assert cells(rewrite(table, layout, [[True, False]], [[5.0], [0.0]])) == [[5], [2]]
    named = Layout.of(np.zeros((1, 2)), names=["a", "b"])
    assert cells(rewrite(table, named, [[True, False]], [[5.0], [0.0]])) == [[1], [5]]


@pytest.mark.parametrize(
    ("dtype", "values", "value", "message"),
    [
        ("int64", [1], 1.5, r"Column 'a' holds int64; 1\.5 cannot be written to it\."),
        ("int64", [1], None, r"holds int64; None cannot"),
        ("int64", [1], NAN, r"holds int64; None cannot"),
        ("int64", [1], np.inf, r"holds int64; inf cannot"),
        ("int64", [1], 2.0**63, r"holds int64; 9\.2"),
        ("int64", [1], 2**63, r"holds int64; 9223372036854775808 cannot"),
        ("uint8", [1], 256.0, r"holds uint8; 256\.0 cannot"),
        ("uint8", [1], -1.0, r"holds uint8; -1\.0 cannot"),
        (pl.Int8, [1], 128, r"holds Int8; 128 cannot"),
        (pa.int8(), [1], -129.0, r"holds int8; -129\.0 cannot"),
        ("Int64", [1], 0.5, r"holds Int64; 0\.5 cannot"),
        ("bool", [True], 2.0, r"holds bool; 2\.0 cannot"),
        ("bool", [True], None, r"holds bool; None cannot"),
        ("float32", [1], 1e300, r"holds float32; 1e\+300 cannot"),
        ("float64", [1], "x", r"holds float64; 'x' cannot"),
        ("str", ["x"], 1.5, r"holds str; 1\.5 cannot"),
        (pl.String, ["x"], 1, r"holds String; 1 cannot"),
        ("category", ["x"], "y", r"Column 'a' has no category 'y'; it cannot be written to it\."),
        (pl.Enum(["x"]), ["x"], "y", r"has no category 'y'"),
    ],
)
def test_a_value_that_the_column_cannot_hold_is_an_error(
    dtype: Any, values: list[Any], value: Any, message: str
) -> None:
    table = one_column(dtype, values)
    with pytest.raises(robx.InvalidInput, match=message):
        rewrite(table, Layout.of(table), [[True]], [[value]])


def test_the_ends_of_an_integer_dtype_can_be_written() -> None:
    table = pd.DataFrame({"a": np.zeros(3, np.uint64), "b": np.zeros(3, np.int64)})
    for ends in (
        [[2**64 - 1, 0, 2**63], [2**63 - 1, -(2**63), 0]],
        [[2.0**63, 0.0, 2.0**64 - 2048], [-(2.0**63), 2.0**63 - 1024, 0.0]],
    ):
        out = rewrite(table, Layout.of(table), np.ones((3, 2), bool), ends)
        assert cells(out) == ends


@pytest.mark.parametrize(
    ("training", "own", "values", "message"),
    [
        ("str", "int64", [5], r"Column 'a' holds str; 5 cannot be written to it"),
        ("int64", "str", ["5"], r"holds float64; '5' cannot"),
        (pl.String, pl.Int64, [5], r"holds String; 5 cannot"),
        (pl.Int64, pl.String, ["5"], r"holds Int64; '5' cannot"),
    ],
)
def test_an_applicant_s_value_is_never_turned_into_another(
    training: Any, own: Any, values: list[Any], message: str
) -> None:
    layout = Layout.of(one_column(training, []))
    with pytest.raises(robx.InvalidInput, match=message):
        rewrite(one_column(own, values), layout, [[False]], [[None]])


@pytest.mark.parametrize(
    ("training", "own"),
    [
        (pd.CategoricalDtype(["x"]), "category"),
        (pd.CategoricalDtype(["x"]), "str"),
        (pd.CategoricalDtype(["x"]), object),
        (pl.Enum(["x"]), pl.String),
        (pl.Enum(["x"]), pl.Enum(["y", "z"])),
        (pd.CategoricalDtype(["x"]), pl.Enum(["y", "z"])),
    ],
    ids=str,
)
def test_an_unknown_category_stays_and_comes_behind_the_known_ones(training: Any, own: Any) -> None:
    layout = Layout.of(one_column(training, []))
    out = rewrite(one_column(own, ["y", "y"]), layout, [[False], [True]], [["", "x"]])
    assert cells(out) == [["y", "x"]]
    assert Layout.of(out).columns[0].categories[:2] == ("x", "y")
    # The dtype does not depend on which rows there are, where both dtypes list their categories.
    none = rewrite(one_column(own, ["y", "y"])[:0], layout, np.zeros((0, 1), bool), [[]])
    if own not in ("str", object, pl.String):
        assert dtypes(none) == dtypes(out)


def test_an_unknown_category_goes_where_its_cell_is_changed() -> None:
    layout = Layout.of(one_column(pd.CategoricalDtype(["x"]), []))
    out = rewrite(one_column("category", ["y"]), layout, [[True]], [["x"]])
    assert cells(out) == [["x"]]


@pytest.mark.parametrize(
    ("table", "which", "values", "message"),
    [
        ({"a": [1]}, [[False]], [[1], [1]], r"X lacks 1 of the model's columns: 'b'\."),
        ({"a": [1], "b": [1], "c": [1]}, [[False]], [[1]], r"not trained on: 'c'"),
        ({"a": [1], "b": [1]}, [[False]], [[1], [1]], r"changed must be of shape \(1, 2\)\. Got"),
        ({"a": [1], "b": [1]}, [[0, 0]], [[1]], r"values must be 2 columns of 1 values\. Got 1 of"),
        ({"a": [1], "b": [1]}, [[0, 0]], [[1], [1, 2]], r"Got 2 of lengths \[1, 2\]\."),
    ],
)
def test_shapes_and_names_that_do_not_fit_are_named(
    table: Any, which: Any, values: Any, message: str
) -> None:
    layout = Layout.of(pd.DataFrame({"a": [1], "b": [1]}))
    with pytest.raises(robx.InvalidInput, match=message):
        rewrite(pd.DataFrame(table), layout, which, values)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros(3), r"two dimensions \(rows, columns\)\. Got shape \(3,\)"),
        ([[1, 2], [3]], r"X must be a table of numbers, or a DataFrame\. Got list"),
        (np.zeros((3, 0)), r"X must have columns\. Got none\."),
        (pd.DataFrame(index=[1, 2]), r"X must have columns\. Got none\."),
        (np.zeros((1, 3)), r"X must have the 2 columns of the training table\. Got 3\."),
    ],
)
def test_what_is_no_table_is_an_error(table: Any, message: str) -> None:
    with pytest.raises(robx.InvalidInput, match=message):
        rewrite(table, Layout.of(np.zeros((1, 2))), [[False] * 2], [[0.0]] * 2)


INTEGERS = st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.booleans()), max_size=8)


@examples()
@given(INTEGERS, st.sampled_from(["int64", "Int64", "int64[pyarrow]", pl.Int64, pa.int64()]))
def test_unchanged_integers_stay_exact_and_the_others_are_written(
    rows: list[tuple[int, bool]], dtype: Any
) -> None:
    table = one_column(dtype, [number for number, _ in rows])
    which = np.array([[flag] for _, flag in rows], dtype=bool).reshape(-1, 1)
    out = rewrite(table, Layout.of(table), which, [np.where(which[:, 0], 12.0, NAN)])
    assert cells(out) == [[12 if flag else number for number, flag in rows]]
    assert cells(table) == [[number for number, _ in rows]]
    assert dtypes(out) == dtypes(table)


TEXTS = st.lists(st.tuples(st.none() | st.sampled_from(COLOURS), st.booleans()), max_size=8)
TEXT_DTYPES = ["str", "string", object, pd.CategoricalDtype(COLOURS), pl.String, pl.Enum(COLOURS)]


@examples()
@given(TEXTS, st.sampled_from([*TEXT_DTYPES, pl.Categorical, pa.string(), arrow(pa.string())]))
def test_unchanged_text_stays_and_the_rest_is_written(
    rows: list[tuple[str | None, bool]], dtype: Any
) -> None:
    table = one_column(dtype, [text for text, _ in rows])
    which = np.array([[flag] for _, flag in rows], dtype=bool).reshape(-1, 1)
    values = np.array(["green"] * len(rows), dtype=object)
    out = rewrite(table, Layout.of(table), which, [values])
    assert cells(out) == [["green" if flag else text for text, flag in rows]]
    assert dtypes(out) == dtypes(table)


# --- rewrite and read -----------------------------------------------------------------------------


def wanted_columns(layout: Layout, before: list[list[Any]]) -> list[Column]:
    """How to read a table back: numbers as they are, labels by their place among those there."""
    columns = []
    for name, store, values in zip(layout.names, layout.columns, before, strict=True):
        labels = tuple(sorted({value for value in values if value is not None}, key=str))
        is_label = not (store.number or store.family == "other")
        known = Column(name, len(labels), labels, by_value=True)
        columns.append(known if is_label else Column(name))
    return columns


def by_rows(values: Any) -> Callable[[int, Any], Any]:
    """The values of a column in some rows."""
    return lambda j, rows: as_array(values[j])[rows]


READABLE = {name: make for name, make in EVERY.items() if name not in {"objects", "text array"}}


@pytest.mark.parametrize("make", READABLE.values(), ids=READABLE.keys())
@pytest.mark.parametrize("row", [0, 1])
def test_what_is_stored_is_what_a_reader_finds(make: Callable[[], Any], row: int) -> None:
    table = make()
    layout, before = Layout.of(table), cells(table)
    columns = wanted_columns(layout, before)
    numbers = read_matrix(table, columns, named=layout.named)
    after = numbers.copy()
    after[2] = numbers[row]
    asked = after.copy()
    values = [[None, None, column[row]] for column in before]
    which = [[False] * 2, [False] * 2, [True] * 2]
    out, stored = rewrite_and_read(table, layout, which, by_rows(values), after)
    assert same(out, rewrite(table, layout, which, values))
    np.testing.assert_array_equal(stored, read_matrix(out, columns, named=layout.named))
    np.testing.assert_array_equal(after, asked)


SHORT: list[tuple[Any, Any]] = [
    *((dtype, dtype) for dtype in ("float16", "float32", "Float32", pl.Float32, pl.Float16)),
    *((dtype, dtype) for dtype in (pl.Decimal(10, 2), pa.float32(), pa.decimal128(10, 2))),
    *((dtype, dtype) for dtype in (arrow(pa.float32()), arrow(pa.decimal128(10, 2)), object)),
    *(("float32", "int16"), ("float32", "int64"), (pl.Float32, "Int8"), ("float16", pa.int8())),
    *((pa.float32(), "float32[pyarrow]"), ("float32", pl.Int8), ("float64", "float32")),
]


@pytest.mark.parametrize(("training", "own"), SHORT, ids=str)
@pytest.mark.parametrize("value", [0.1, 2.0 / 3, 1e-9, NAN])
def test_a_rounded_number_is_read_as_it_was_rounded(training: Any, own: Any, value: float) -> None:
    layout, table = Layout.of(short(training)), short(own)
    column = [Column("a")]
    numbers = read_matrix(table, column, named=layout.named)
    numbers[0] = value
    out, stored = rewrite_and_read(
        table, layout, [[True], [False]], by_rows([numbers[:, 0]]), numbers
    )
    np.testing.assert_array_equal(stored, read_matrix(out, column, named=layout.named))


def short(dtype: Any) -> Any:
    if dtype is object:
        return np.array([[1.5], [2]], dtype=object)
    values = pa.array([1.0, 0.0]).cast(dtype) if isinstance(dtype, pa.DataType) else [1, 0]
    return pa.table({"a": values}) if isinstance(dtype, pa.DataType) else one_column(dtype, [1, 0])


@examples()
@given(
    st.lists(st.tuples(st.floats(-1e30, 1e30), st.booleans()), min_size=1, max_size=6),
    st.sampled_from(["float32", "float64", "Float32", "double[pyarrow]", pl.Float32, pa.float32()]),
)
def test_any_number_is_read_as_it_is_stored(rows: list[tuple[float, bool]], dtype: Any) -> None:
    table = one_column(dtype, [float(np.float32(number)) for number, _ in rows])
    layout, column = Layout.of(table), [Column("a")]
    which = np.array([[flag] for _, flag in rows])
    after = np.where(which, np.array([[number] for number, _ in rows]) / 3, 0.0)
    after = np.where(which, after, read_matrix(table, column, named=True))
    out, stored = rewrite_and_read(table, layout, which, by_rows([after[:, 0]]), after)
    np.testing.assert_array_equal(stored, read_matrix(out, column, named=True))


# --- write ----------------------------------------------------------------------------------------


@every
def test_a_table_can_be_written_from_its_own_values(make: Callable[[], Any]) -> None:
    table = make()
    assert same(write(cells(table), Layout.of(table)), nulled(table))


def nulled(table: Any) -> Any:
    """The table with NaN as a missing value where its library tells the two apart."""
    if isinstance(table, pl.DataFrame):
        return table.with_columns(pl.col(pl.Float64).fill_nan(None))
    if isinstance(table, pa.Table) and table.schema.types[1] == pa.float64():
        return table.set_column(1, "b", pa.array(table["b"].to_pylist(), from_pandas=True))
    return table


@every
def test_a_table_of_no_rows_can_be_written(make: Callable[[], Any]) -> None:
    out = write([[], []], Layout.of(make()))
    assert same(out, make()[:0])


def test_labels_come_back_as_they_were() -> None:
    table = pd.DataFrame({0: [1.5], "b": [2]})
    assert list(write([[1.0], [2.0]], Layout.of(table)).columns) == [0, "b"]


def test_whole_numbers_with_a_missing_one_become_floats() -> None:
    layout = Layout.of(pd.DataFrame({"a": [1], "b": [2], "c": [True], "d": pd.array([1], "Int64")}))
    out = write([[NAN, 2.0], [1.0, 2.0], [None, 1.0], [3.0, NAN]], layout)
    assert [str(dtype) for dtype in out.dtypes] == ["float64", "int64", "float64", "Int64"]
    assert cells(out) == [[None, 2], [1, 2], [None, 1], [3, None]]
    array = write([[NAN], [2.0]], Layout.of(np.array([[1, 2]])))
    assert (array.dtype, cells(array)) == (np.float64, [[None], [2]])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table, "numpy"])
def test_what_is_written_shares_no_memory_with_the_values(library: Any) -> None:
    rows = {"a": [0.5], "b": [0.5]}
    table = np.array([[0.5, 0.5]]) if library == "numpy" else library(rows)
    values = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    out = write(values, Layout.of(table))
    values[0][:] = values[1][:] = 9.0
    assert cells(out) == [[1, 2], [3, 4]]


@pytest.mark.parametrize("values", [[[1.0]], [[1.0], [1.0, 2.0]]])
def test_values_that_make_no_table_are_refused(values: Any) -> None:
    with pytest.raises(robx.InvalidInput, match=r"values must be 2 columns of equally many values"):
        write(values, Layout.of(np.zeros((1, 2))))

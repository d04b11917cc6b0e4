from __future__ import annotations

import copy
import json
import sys
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
from hypothesis.extra import numpy as hnp

import robx
from robx.tables.serialization import pack, unpack
from robx.tables.writer import Layout
from speed import examples
from table_kinds import BIG, COLOURS, EVERY, NAN, ORDERED, arrow, cells, dtypes, one_column, same


def through_json(table: Any) -> Any:
    return unpack(json.loads(json.dumps(pack(table), allow_nan=False)))


PACKABLE = {name: make for name, make in EVERY.items() if name != "big-endian"}
MORE: dict[str, Callable[[], Any]] = {
    "halves": lambda: np.array([[1.5, NAN]], dtype=np.float16),
    "lone -0.0": lambda: pd.DataFrame({"a": [-0.0, np.inf, -np.inf, NAN]}),
    "objects of all kinds": lambda: pd.DataFrame(
        {"a": pd.Series(["x", None, NAN, pd.NA, True, BIG, 1.5, np.inf, "nan"], dtype=object)}
    ),
    "nullable NaN": lambda: pd.DataFrame(
        {"a": pd.arrays.FloatingArray(np.array([NAN, 1, 0]), np.array([False, False, True]))}
    ),
    "strings": lambda: pd.DataFrame(
        {
            "a": pd.array(["x", None], pd.StringDtype("pyarrow")),
            "b": pd.array(["x", None], pd.StringDtype("python")),
            "c": pd.array(["x", None], pd.StringDtype("pyarrow", NAN)),
            "d": pd.array(["x", None], pd.StringDtype("python", NAN)),
            "e": pd.Series(["x", None], dtype=arrow(pa.large_string())),
        }
    ),
    "categories of numbers": lambda: pd.DataFrame(
        {"a": pd.Categorical([3, 1, None]), "b": pd.Categorical([0.5, None, 1.5])}
    ),
    "categories of flags": lambda: pd.DataFrame({"a": pd.Categorical([True, None, False])}),
    "categories of objects": lambda: pd.DataFrame(
        {"a": pd.Categorical(["x"], categories=pd.Index(["y", "x"], dtype=object))}
    ),
    "ordered, some unused": lambda: pd.DataFrame({"a": pd.Series(["mid"], dtype=ORDERED)}),
    "ordered dictionary": lambda: pa.table(
        {"a": pa.DictionaryArray.from_arrays([1, None, 0], ["b", "a"], ordered=True)}
    ),
    "pandas over pyarrow, nothing": lambda: pd.DataFrame(
        {"a": pd.Series([None], dtype=arrow(pa.null()))}
    ),
    "labels that are numbers": lambda: pd.DataFrame([[1, 2.5]], columns=[7, "x"]),
}


@pytest.mark.parametrize("make", [*PACKABLE.values(), *MORE.values()], ids=[*PACKABLE, *MORE])
@pytest.mark.parametrize("n", [None, 0])
def test_a_table_comes_back_as_it_was(make: Callable[[], Any], n: int | None) -> None:
    table = make()[:n]
    out = through_json(table)
    assert same(out, table)
    assert same(table, make()[:n])
    before, after = Layout.of(table), Layout.of(out)
    assert (before.labels, before.columns) == (after.labels, after.columns)
    if isinstance(table, pd.DataFrame):
        pd.testing.assert_frame_equal(out, table)
        for mine, theirs in zip(out.dtypes, table.dtypes, strict=True):
            if isinstance(theirs, pd.CategoricalDtype):
                pd.testing.assert_index_equal(mine.categories, theirs.categories)
    elif isinstance(table, pl.DataFrame):
        assert out.equals(table)  # NaN and null told apart
    elif isinstance(table, pa.Table):
        assert repr(out.to_pylist()) == repr(table.to_pylist())
    else:
        assert repr(out.tolist()) == repr(table.tolist())


def test_missing_values_of_objects_come_back_as_what_they_were() -> None:
    out = through_json(MORE["objects of all kinds"]())["a"].tolist()
    assert repr(out) == "['x', None, nan, <NA>, True, 9007199254740993, 1.5, inf, 'nan']"


def test_an_array_of_the_other_byte_order_comes_back_in_the_machine_s() -> None:
    out = through_json(EVERY["big-endian"]())
    assert out.dtype == np.float64
    assert cells(out) == cells(EVERY["big-endian"]())


def test_lists_come_back_as_an_array() -> None:
    out = through_json([[1, None], [2, 3]])
    assert (out.dtype, cells(out)) == (np.float64, [[1, 2], [None, 3]])


FLOATS = ["float16", "float32", "float64"]
WHOLE = ["int8", "int64", "uint64", "bool"]


def plain_nan(column: Any) -> Any:
    """What NaN is made of is not told."""
    is_float = column.dtype.kind == "f"
    return np.where(np.isnan(column), column.dtype.type(NAN), column) if is_float else column


@examples()
@given(st.data(), st.sampled_from([*FLOATS, *WHOLE]))
def test_numbers_come_back_bit_for_bit(data: st.DataObject, dtype: str) -> None:
    column = data.draw(hnp.arrays(dtype, st.integers(0, 6)))
    column = plain_nan(column)
    out = through_json(pd.DataFrame({"a": column}))["a"]
    assert out.dtype == column.dtype
    assert plain_nan(out.to_numpy()).tobytes() == column.tobytes()
    two = column.reshape(-1, 1)
    back = through_json(two)
    assert (back.dtype, back.shape) == (two.dtype, two.shape)
    assert plain_nan(back).tobytes() == two.tobytes()
    polars = pl.DataFrame({"a": column})
    assert through_json(polars)["a"].to_numpy().tobytes() == column.tobytes()
    assert through_json(polars).schema == polars.schema
    table = pa.table({"a": column})
    assert through_json(table).equals(table) or repr(cells(through_json(table))) == repr(
        cells(table)
    )


TEXTS = st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=4))
TEXT_DTYPES = ["str", "string", object, "category", pl.String, pl.Categorical]


@examples()
@given(TEXTS, st.sampled_from([*TEXT_DTYPES, pa.string(), arrow(pa.string())]))
def test_any_text_comes_back(texts: list[str | None], dtype: Any) -> None:
    table = one_column(dtype, texts)
    out = through_json(table)
    assert cells(out) == [texts]
    assert dtypes(out) == dtypes(table)


INDEXES: dict[str, Any] = {
    "range": pd.RangeIndex(4, 10, 2, name="r"),
    "numbers": pd.Index([30, 10, 10]),
    "small numbers": pd.Index([3, 1, 1], dtype="uint8", name=0),
    "nullable": pd.Index(pd.array([3, 1, 2], "Int64")),
    "text": pd.Index(["x", "y", "y"], name="id"),
    "objects": pd.Index(["x", "y", "y"], dtype=object),
}


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES.keys())
def test_a_simple_index_comes_back(index: Any) -> None:
    frame = pd.DataFrame({"a": [1, 2, 3]}, index=index)
    frame.columns.name = "kind"
    pd.testing.assert_frame_equal(through_json(frame), frame, check_index_type=True)


@pytest.mark.parametrize(
    ("index", "wanted"),
    [
        (pd.MultiIndex.from_tuples([(1, "a"), (2, "b")]), ["(1, 'a')", "(2, 'b')"]),
        (pd.Index([0.5, 1.5]), ["0.5", "1.5"]),
        (
            pd.to_datetime(["2020-01-01", "2021-01-01"]),
            ["2020-01-01 00:00:00", "2021-01-01 00:00:00"],
        ),
        (pd.Index([True, False]), ["True", "False"]),
        (pd.Index(["x", 1], dtype=object), ["x", "1"]),
    ],
    ids=["levels", "floats", "dates", "flags", "mixed"],
)
def test_any_other_index_comes_back_as_text(index: Any, wanted: list[str]) -> None:
    assert through_json(pd.DataFrame({"a": [1, 2]}, index=index)).index.tolist() == wanted


def test_names_that_are_neither_numbers_nor_text_come_back_as_text() -> None:
    frame = pd.DataFrame([[1, 2]], columns=pd.Index([("a", 1), True], tupleize_cols=False))
    assert list(through_json(frame).columns) == ["('a', 1)", "True"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}),
            r"Column 'a' is of datetime64\[.*\], which cannot be saved: it holds .*\. Make it n",
        ),
        (pd.DataFrame({"a": pd.Categorical(pd.to_datetime(["2020-01-01"]))}), r"is of category, w"),
        (pl.DataFrame({"a": [[1]]}), r"Column 'a' is of List\(Int64\), which cannot be saved: "),
        (pl.DataFrame({"a": [1]}, schema={"a": pl.Decimal(9, 2)}), r"is of Decimal"),
        (pl.DataFrame({"a": [1]}, schema={"a": pl.Int128}), r"is of Int128"),
        (pa.table({"a": [b"x"]}), r"is of binary"),
        (np.zeros((1, 1), dtype="M8[D]"), r"Column '0' is of datetime64"),
        (np.zeros((1, 1), dtype=np.longdouble), r"Column '0' is of float128"),
    ],
)
def test_what_cannot_be_packed_is_named(table: Any, message: str) -> None:
    with pytest.raises(robx.InvalidInput, match=message):
        pack(table)


def test_a_cell_of_objects_that_json_has_no_word_for_is_kept_as_text() -> None:
    cells_ = [{}, [1, 2], b"x", Decimal("0.5"), 10**5000, pd.NaT, 2**70, "word", None]
    table = pd.DataFrame({"a": pd.Series(cells_, dtype=object)})
    back = unpack(json.loads(json.dumps(pack(table), allow_nan=False)))["a"].tolist()
    assert back[:4] == ["{}", "[1, 2]", "b'x'", 0.5]
    assert isinstance(back[4], str)
    assert back[5:] == [None, 2**70, "word", None]


def test_other_programs_find_names_and_plain_values() -> None:
    frame = pd.DataFrame(
        {"age": [31, 47], "job": pd.Categorical(["clerk", None])}, index=["a", "b"]
    )
    assert pack(frame) == {
        "kind": "pandas",
        "columns": [
            {"name": "age", "dtype": "int64", "type": "int64", "values": [31, 47]},
            {
                "name": "job",
                "dtype": "category",
                "ordered": False,
                "categories": {
                    "dtype": "string pyarrow nan",
                    "type": "large_string",
                    "values": ["clerk"],
                },
                "values": [0, None],
            },
        ],
        "index": {
            "name": None,
            "dtype": "string pyarrow nan",
            "type": "large_string",
            "values": ["a", "b"],
        },
        "axis": None,
    }


# --- a library that is not installed --------------------------------------------------------------


def test_without_polars_its_tables_come_back_in_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame(
        {"a": [BIG, None], "b": [True, None], "c": ["x", None], "d": ["red", None], "e": [None] * 2}
    ).with_columns(d=pl.col("d").cast(pl.Enum(COLOURS)), f=pl.col("c").cast(pl.Categorical))
    packed = pack(frame)
    monkeypatch.setitem(sys.modules, "polars", None)
    out = unpack(packed)
    assert isinstance(out, pd.DataFrame)
    assert all(isinstance(dtype, pd.ArrowDtype) for dtype in out.dtypes)
    assert Layout.of(out).columns[3].categories == tuple(COLOURS)
    assert cells(out) == cells(frame)


# --- damage ---------------------------------------------------------------------------------------


def good() -> dict[str, Any]:
    kinds = {"n": [1, 2], "x": [0.5, NAN], "c": pd.Categorical(["u", None]), "t": ["v", None]}
    return pack(pd.DataFrame(kinds, index=["p", "q"]))


DAMAGE: list[tuple[str, Any, str]] = [
    ("kind", "arrow", r"damaged: the table: the kind 'arrow' is not known\.$"),
    ("kind", None, r"the table: the kind None is not known"),
    ("kind", ..., r"the table: 'kind' is missing"),
    ("columns", [], r"the table: columns must be there, and of one length"),
    ("columns", [3], r"the table: 'int' object is not subscriptable"),
    ("columns/0", {}, r"the table: 'name' is missing"),
    ("columns/0/name", "x", r"the table: two columns have one name"),
    ("columns/0/name", 1.5, r"the table: a name is neither a number nor text"),
    ("columns/0/type", "int65", r"column 'n': No type alias for int65"),
    ("columns/0/type", ..., r"column 'n': 'type' is missing"),
    ("columns/0/dtype", "Int32", r"column 'n': the values are not Int32"),
    ("columns/0/dtype", "pickle", r"column 'n': the dtype 'pickle' is not known"),
    ("columns/0/values", [1], r"of one length"),
    ("columns/0/values", "12", r"column 'n': "),
    ("columns/0/values/1", None, r"column 'n': the values are not int64"),
    ("columns/0/values/1", 1.5, r"column 'n': the values are not int64"),
    ("columns/0/values/1", True, r"column 'n': "),
    ("columns/0/values/1", "2", r"column 'n': "),
    ("columns/0/values/1", 2**63, r"column 'n': "),
    ("columns/0/values/1", {"special": "nan"}, r"column 'n': "),
    ("columns/1/values/1", "NaN", r"column 'x': Could not convert 'NaN' with type str"),
    ("columns/1/values/1", {"special": "NaN"}, r"column 'x': 'NaN' is missing"),
    ("columns/1/values/1", [], r"column 'x': "),
    ("columns/1/values/1", 10**400, r"column 'x': "),
    ("columns/2/values/0", 1, r"column 'c': 1 is not in range"),
    ("columns/2/values/0", -1, r"column 'c': -1 is not in range"),
    ("columns/2/values/0", "u", r"column 'c': "),
    ("columns/2/ordered", 1, r"column 'c': 'ordered' must either be 'True' or 'False'"),
    ("columns/2/categories", ["u"], r"column 'c': "),
    ("columns/2/categories/values", ["u", "u"], r"column 'c': categories are not distinct"),
    ("columns/2/categories/values", [None], r"column 'c': categories are not distinct"),
    ("columns/2/categories/values", [1], r"column 'c': "),
    ("columns/2/categories/categories", {}, r"column 'c': categories have categories"),
    ("columns/2/dtype", "Enum", r"column 'c': 'type' is missing"),
    ("columns/3/values/0", 1, r"column 't': "),
    ("columns/3/dtype", "string python NaN", r"column 't': the values are not string python NaN"),
    ("columns/3/dtype", "string disk NA", r"column 't': "),
    ("index", ..., r"the table: 'index' is missing"),
    ("index/values", ["p"], r"the table: 1 labels of rows, where there are 2 rows"),
    ("index", {"range": [0, 2, 0], "name": None}, r"the table: Step must not be zero"),
    (
        "index",
        {"range": [0, 3, 1], "name": None},
        r"the table: 3 labels of rows, where there are 2",
    ),
]


def damaged(packed: Any, path: str, value: Any) -> Any:
    *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    packed = copy.deepcopy(packed)
    inner = packed
    for step in steps:
        inner = inner[step]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return packed


@pytest.mark.parametrize(("path", "value", "message"), DAMAGE, ids=str)
def test_damage_is_named(path: str, value: Any, message: str) -> None:
    assert isinstance(unpack(good()), pd.DataFrame)
    with pytest.raises(robx.InvalidInput, match=message):
        unpack(damaged(good(), path, value))


def test_a_number_that_its_dtype_would_round_is_damage() -> None:
    packed = pack(np.array([[0.1]], dtype=np.float32))
    for value in (0.1, 1e300):
        with pytest.raises(robx.InvalidInput, match=r"the values are not float\."):
            unpack(damaged(packed, "columns/0/values/0", value))


def test_an_array_s_columns_must_agree() -> None:
    packed = pack(np.ones((1, 2)))
    packed["columns"][0] |= {"type": "float", "dtype": "float32"}
    with pytest.raises(robx.InvalidInput, match=r"the table: an array must have one dtype"):
        unpack(packed)


@pytest.mark.parametrize("value", ["abc", None, 1])
def test_what_does_not_fit_into_an_array_of_text_is_damage(value: Any) -> None:
    text = damaged(pack(np.array([["ab"]])), "columns/0/values/0", value)
    with pytest.raises(robx.InvalidInput, match=r"damaged: column '0': "):
        unpack(text)


def test_a_claim_of_wide_text_takes_no_memory() -> None:
    text = damaged(pack(np.array([["ab"]])), "columns/0/dtype", "<U100000000")
    with pytest.raises(robx.InvalidInput, match=r"column '0': the values are not <U100000000"):
        unpack(text)


@pytest.mark.parametrize("packed", [None, [], "x", 3])
def test_what_is_no_dict_is_refused(packed: Any) -> None:
    with pytest.raises(robx.InvalidInput, match=r"The saved table is damaged: the table: "):
        unpack(packed)


def paths(packed: Any, path: str = "") -> list[str]:
    if isinstance(packed, dict | list):
        keys = packed if isinstance(packed, dict) else range(len(packed))
        inner = [each for key in keys for each in paths(packed[key], f"{path}/{key}")]
        return [*([path[1:]] if path else []), *inner]
    return [path[1:]]


SOUND = [pack(make()) for make in [*PACKABLE.values(), *MORE.values()]]
JUNK: list[Any] = [
    *(..., None, True, -1, 3, 1.5, "x", "nan", [], {}, {"special": "nan"}, "int8", "double"),
    *("null", "string", "object", "arrow", "category", "Enum", "Int64", "<U9", "period[D]"),
    *("timestamp[ns]", "datetime64[ns]", "i4,i4", "interval[int64]", "Sparse[int64]", 2**70),
]


@examples()
@given(st.data(), st.sampled_from(SOUND), st.sampled_from(JUNK))
def test_any_damage_is_an_error_of_ours_or_still_a_table(
    data: st.DataObject, packed: Any, junk: Any
) -> None:
    path = data.draw(st.sampled_from(paths(packed)))
    last = path.rsplit("/", 1)[-1]
    value = None if junk is ... and last.isdigit() else junk
    try:
        table = unpack(damaged(packed, path, value))
    except robx.InvalidInput as error:
        assert str(error).startswith("The saved table is damaged: ")
        assert "\n" not in str(error)
    else:
        assert Layout.of(table).names

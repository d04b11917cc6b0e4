from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
import xgboost as xgb
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import robx
from oracles import toy_data
from robx.tables import Column, column_names, positions, read_matrix, take
from robx.trees import TreeEnsemble

X, Y = toy_data(200, 3)
X[::9, 2] = np.nan
NAMES = ["a", "b", "c"]
FRAME = pd.DataFrame(X, columns=NAMES)
NAN = float("nan")
AB = [Column("a"), Column("b")]


def trained(table: Any = FRAME, **parameters: Any) -> TreeEnsemble:
    settings = {"n_estimators": 8, "max_depth": 3, "n_jobs": 1, **parameters}
    ensemble = robx.import_model(xgb.XGBClassifier(**settings).fit(table, Y), X=table)
    assert isinstance(ensemble, TreeEnsemble)
    return ensemble


ENSEMBLE = trained()
SCORES = ENSEMBLE.score(FRAME).tolist()


def rows_of(table: object, columns: list[Column] | None = None, *, named: bool = True) -> Any:
    """The matrix as nested lists, None for a missing value, so that equal means equal."""
    matrix = read_matrix(table, AB if columns is None else columns, named=named)
    assert matrix.dtype == np.float64
    assert matrix.flags.c_contiguous
    return [[None if np.isnan(value) else float(value) for value in row] for row in matrix]


# --- every kind of table --------------------------------------------------------------------------


TABLES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: FRAME,
    "polars": lambda: pl.DataFrame({name: X[:, j] for j, name in enumerate(NAMES)}),
    "polars with nulls": lambda: pl.from_pandas(FRAME, nan_to_null=True),
    "pyarrow": lambda: pa.table({name: X[:, j] for j, name in enumerate(NAMES)}),
    "pyarrow with nulls": lambda: pa.Table.from_pandas(FRAME, preserve_index=False),
    "pandas over pyarrow": lambda: FRAME.astype("double[pyarrow]"),
    "pandas nullable": lambda: FRAME.astype("Float64"),
    "numpy": lambda: X,
    "numpy by columns": lambda: np.asfortranarray(X),
    "numpy of objects": lambda: pd.DataFrame(X).astype(object).where(~np.isnan(X), None).to_numpy(),
    "a view": lambda: np.repeat(X, 2, axis=0)[::2],
    "lists": X.tolist,
    "tuples": lambda: tuple(map(tuple, X.tolist())),
    "other index": lambda: FRAME.set_index(FRAME.index[::-1] * 10),
    "read-only": lambda: np.frombuffer(X.tobytes()).reshape(X.shape),
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES.keys())
def test_every_kind_of_table_gives_the_same_scores(make: Callable[[], Any]) -> None:
    assert ENSEMBLE.score(make()).tolist() == SCORES


FRAMES = {name: make for name, make in TABLES.items() if column_names(make()) is not None}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())
def test_columns_are_found_by_name_in_any_order(make: Callable[[], Any]) -> None:
    turned = take(make(), np.arange(len(X)), ["c", "a", "b"])
    assert column_names(turned) == ("c", "a", "b")
    assert type(turned) is type(make())
    assert ENSEMBLE.score(turned).tolist() == SCORES


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES.keys())
def test_take_gives_the_asked_rows_in_the_asked_order(make: Callable[[], Any]) -> None:
    some = take(make(), np.array([7, 3, 3]))
    assert ENSEMBLE.score(some).tolist() == [SCORES[7], SCORES[3], SCORES[3]]


def test_take_finds_columns_by_the_model_s_spelling() -> None:
    frame = pd.DataFrame({"y": [1.0, 2.0], "a b": [3.0, 4.0], 0: [5.0, 6.0]})
    some = take(frame, np.array([1]), ["0", Column("a_b", blank="_"), "y"])
    assert list(some.columns) == [0, "a b", "y"]
    assert some.to_numpy().tolist() == [[6.0, 4.0, 2.0]]


def test_float32_and_integers_and_flags_are_numbers() -> None:
    whole = np.array([[1, 0], [0, 1]])
    assert rows_of(whole.astype(np.float32)) == rows_of(whole) == rows_of(whole.astype(bool))
    frame = pd.DataFrame({"a": np.array([1, 0], dtype=np.int8), "b": [False, True]})
    assert rows_of(frame) == rows_of(pl.from_pandas(frame)) == [[1, 0], [0, 1]]
    assert rows_of(np.array([[0.1, 2]], dtype=np.float32)) == [[float(np.float32(0.1)), 2]]
    decimals = pl.DataFrame({"a": ["1.50"], "b": [2]}).cast({"a": pl.Decimal(10, 2)})
    assert rows_of(decimals) == [[1.5, 2]]


NULLABLE: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(
        {"a": pd.array([1, None], dtype="Int64"), "b": pd.array([None, True], dtype="boolean")}
    ),
    "pandas over pyarrow": lambda: pd.DataFrame(
        {
            "a": pd.array([1, None], dtype="int64[pyarrow]"),
            "b": pd.array([None, True], dtype="bool[pyarrow]"),
        }
    ),
    "polars": lambda: pl.DataFrame({"a": [1, None], "b": [None, True]}),
    "pyarrow": lambda: pa.table({"a": [1, None], "b": [None, True]}),
}


@pytest.mark.parametrize("make", NULLABLE.values(), ids=NULLABLE.keys())
def test_missing_integers_and_flags_are_missing(make: Callable[[], Any]) -> None:
    assert rows_of(make()) == [[1, None], [None, 1]]


ALL_MISSING: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame({"a": [None, None], "b": [1.0, 2.0]}),
    "polars": lambda: pl.DataFrame({"a": [None, None], "b": [1.0, 2.0]}),
    "pyarrow": lambda: pa.table({"a": pa.nulls(2), "b": [1.0, 2.0]}),
    "lists": lambda: [[None, 1.0], [None, 2.0]],
}


@pytest.mark.parametrize("make", ALL_MISSING.values(), ids=ALL_MISSING.keys())
def test_a_column_with_nothing_in_it_is_missing(make: Callable[[], Any]) -> None:
    assert rows_of(make()) == [[None, 1], [None, 2]]


@pytest.mark.parametrize(
    "table",
    [
        FRAME.iloc[:0],
        pl.from_pandas(FRAME)[:0],
        pa.Table.from_pandas(FRAME, preserve_index=False)[:0],
        X[:0],
        pd.DataFrame(columns=NAMES),
    ],
    ids=["pandas", "polars", "pyarrow", "numpy", "pandas without types"],
)
def test_an_empty_table_has_no_scores(table: Any) -> None:
    assert ENSEMBLE.score(table).shape == (0,)


def test_masked_values_are_missing() -> None:
    masked = np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]])
    assert rows_of(masked) == [[None, 2]]


# --- names ----------------------------------------------------------------------------------------


def test_missing_and_unknown_columns_are_named() -> None:
    with pytest.raises(robx.InvalidInput, match=r"X lacks 1 of the model's columns: 'b'\.$"):
        ENSEMBLE.score(FRAME[["a", "c"]])
    with pytest.raises(
        robx.InvalidInput,
        match=r"X lacks 2 of the model's columns: 'a', 'b'\. "
        r"It has these that the model does not know: 'A', 'x'\.",
    ):
        ENSEMBLE.score(FRAME.rename(columns={"a": "A", "b": "x"}))
    with pytest.raises(
        robx.InvalidInput,
        match=r"X has columns that the model was not trained on: 'id'\. "
        r"Select the model's columns first, as in X\[list\(model\.names\)\]\.",
    ):
        ENSEMBLE.score(FRAME.assign(id=1))


def test_the_advice_for_extra_columns_works() -> None:
    assert ENSEMBLE.score(FRAME.assign(id=1)[list(ENSEMBLE.names)]).tolist() == SCORES


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]),
        pd.DataFrame([[1, 2, 3]], columns=["1", "b", 1]),
        pa.table([[1], [2], [3]], names=["a", "b", "a"]),
    ],
    ids=["pandas", "number and text", "pyarrow"],
)
def test_a_doubled_column_is_named(table: Any) -> None:
    with pytest.raises(robx.InvalidInput, match=r"X has more than one column named '[a1]'\."):
        read_matrix(table, AB, named=True)


def test_a_long_list_of_names_is_cut_short() -> None:
    columns = [Column(f"c{j}") for j in range(11)]
    with pytest.raises(robx.InvalidInput, match=r"'c7' and 3 more\."):
        read_matrix(pd.DataFrame({"a": [1]}), columns, named=True)


def test_the_table_is_called_by_what_it_is() -> None:
    with pytest.raises(robx.InvalidInput, match=r"^applicants lacks 1 .*: 'b'\."):
        read_matrix(pd.DataFrame({"a": [1]}), AB, named=True, what="applicants")


def test_numbers_as_column_labels_are_names_too() -> None:
    ensemble = trained(pd.DataFrame(X))
    assert ensemble.names == ("0", "1", "2")
    scores = ensemble.score(pd.DataFrame(X)).tolist()
    assert ensemble.score(pd.DataFrame(X)[[2, 0, 1]]).tolist() == scores
    assert ensemble.score(pd.DataFrame(X, columns=["0", "1", "2"])).tolist() == scores


def test_names_with_blanks_are_found_as_lightgbm_writes_them() -> None:
    frame = FRAME.rename(columns={"a": "a b"})
    model = lgb.LGBMClassifier(n_estimators=5, verbose=-1).fit(frame, Y)
    ensemble = robx.import_model(model, X=frame)
    assert ensemble.names == ("a_b", "b", "c")
    theirs = np.asarray(model.predict_proba(frame))[:, 1]
    np.testing.assert_allclose(ensemble.score(frame), theirs, atol=1e-12)
    turned = frame[["c", "a b", "b"]]
    assert ensemble.score(turned).tolist() == ensemble.score(frame).tolist()
    with pytest.raises(robx.InvalidInput, match=r"more than one column named 'a_b'"):
        ensemble.score(frame.assign(a_b=0.0))


def test_only_lightgbm_writes_an_underscore_for_a_blank() -> None:
    ensemble = trained(FRAME.rename(columns={"a": "a_b"}))
    with pytest.raises(robx.InvalidInput, match=r"columns: 'a_b'\. It has these .*: 'a b'\."):
        ensemble.score(FRAME.rename(columns={"a": "a b"}))


@pytest.mark.parametrize(
    ("names", "places"),
    [
        (["a b", "c d", "e f"], [0, 1, 2]),
        (["e f", "a_b", "c d"], [1, 2, 0]),
        (["c d", "e f", "a b"], [2, 0, 1]),
    ],
)
def test_positions_are_found_by_the_spelling_of_each_column(
    names: list[str], places: list[int]
) -> None:
    assert positions([Column("a_b", blank="_"), Column("c d"), "e f"], names) == places
    for wrong in ("c_d", "e_f"):
        with pytest.raises(robx.InvalidInput, match="lacks 1 of the model's columns"):
            positions([Column("a_b", blank="_"), Column("c d"), "e f"], [*names[:2], wrong])


def test_a_model_without_names_takes_columns_as_they_stand() -> None:
    ensemble = trained(X)
    assert not ensemble.named
    scores = ensemble.score(X).tolist()
    assert ensemble.score(FRAME).tolist() == scores
    assert ensemble.score(FRAME.rename(columns={"a": "zzz"})).tolist() == scores
    with pytest.raises(
        robx.InvalidInput,
        match=r"X must have the 3 columns that the model was trained on\. Got 2: 'a', 'b'\.",
    ):
        ensemble.score(FRAME[["a", "b"]])


def test_an_array_has_no_column_names() -> None:
    assert column_names(X) is None
    assert column_names(X.tolist()) is None
    assert column_names(pd.DataFrame(X)) == ("0", "1", "2")


# --- what is no table -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (sparse.csr_matrix(np.eye(3)), r"X is a sparse matrix; .* Use X\.toarray\(\) first"),
        (sparse.coo_array(np.eye(3)), r"X is a sparse matrix"),
        (pl.LazyFrame({"a": [1]}), r"X is a lazy frame; .* Call X\.collect\(\) first\."),
        (X[0], r"Got shape \(3,\)\. For a single row use X\.reshape\(1, -1\), or a dict"),
        (FRAME["a"], r"Got shape \(200,\)\. For a single row use a slice of the table"),
        (FRAME.iloc[0], r"Got shape \(3,\)\. For a single row use a slice of the table"),
        (pl.Series([1.0]), r"Got shape \(1,\)\. For a single row use a slice of the table"),
        ([], r"Got shape \(0,\)\. For no rows pass a table with columns and without rows"),
        (X[None], r"two dimensions \(rows, columns\)\. Got shape \(1, 200, 3\)\.$"),
        (None, r"Got shape \(\)"),
        (X[:, :2], r"must have the 3 columns that the model was trained on\. Got 2\."),
        (np.zeros((4, 0)), r"Got 0\."),
        ([[1, 2, 3], [4]], r"Got list that numpy cannot read as numbers"),
        ({"a": [1]}, r"X is a dict, which is one row: a value for each column\. Got list for 'a'"),
        ("X.csv", r"Got an array of <U5\. Read a file first, as with pandas\.read_csv\."),
        ([["x", 1, 2]], r"must hold numbers\. Got 'x' in row 0, which is not a number\."),
        (np.array([["1", "2", "3"]]), r"X must be a table of numbers"),
        (np.zeros((1, 3), dtype="M8[D]"), r"X must be a table of numbers"),
        (np.zeros((1, 3), dtype="m8[D]"), r"X must be a table of numbers"),
        (np.ones((1, 3)) * 1j, r"X must be a table of numbers"),
    ],
    ids=[
        *("csr", "coo", "lazy", "1-D", "pandas column", "pandas row", "polars column"),
        *("empty list", "3-D", "None", "narrow"),
        *("no columns", "ragged", "dict", "path", "list with text", "text", "dates", "durations"),
        "complex",
    ],
)
def test_what_is_no_table_of_numbers_is_an_error(table: Any, message: str) -> None:
    with pytest.raises(robx.InvalidInput, match=message):
        ENSEMBLE.score(table)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["x", "y"], "String"),
        (["1", "2"], "String"),
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), "Datetime"),
        (pd.to_timedelta([1, 2], unit="s"), "Duration"),
        (pd.Categorical([1, 2]), "Categorical"),
        (pd.Series(["x", None], dtype=object), "String"),
        (pd.Series([[1], [2]], dtype=object), "Object"),
    ],
)
def test_a_column_of_another_kind_is_named_with_its_kind(values: Any, kind: str) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": values})
    with pytest.raises(
        robx.InvalidInput,
        match=rf"Column 'b' of X must hold numbers, as the model was trained on\. Got {kind}.*, "
        "with .* in row 0. Convert the column to numbers",
    ):
        read_matrix(frame, AB, named=True)


def test_dates_of_polars_are_no_numbers() -> None:
    frame = pl.DataFrame({"a": [1], "b": [dt.date(2020, 1, 1)]})
    with pytest.raises(robx.InvalidInput, match=r"Column 'b' .* Got Date, with .* in row 0\."):
        read_matrix(frame, AB, named=True)


# --- categories -----------------------------------------------------------------------------------


COLOUR = [Column("c", n_codes=3, categories=("red", "green", "blue")), Column("b")]
HUES = ["green", None, "red", "blue"]
CODES = [[1, 0], [None, 0], [0, 0], [2, 0]]
COLOURS: dict[str, Callable[[], Any]] = {
    "text": lambda: pd.DataFrame({"c": HUES, "b": 0}),
    "objects": lambda: pd.DataFrame({"c": pd.Series(HUES, dtype=object), "b": 0}),
    "category": lambda: pd.DataFrame({"c": pd.Categorical(HUES), "b": 0}),
    "category in another order": lambda: pd.DataFrame(
        {"c": pd.Categorical(HUES, categories=["blue", "grey", "red", "green"]), "b": 0}
    ),
    "nullable text": lambda: pd.DataFrame({"c": pd.array(HUES, dtype="string"), "b": 0}),
    "text over pyarrow": lambda: pd.DataFrame(
        {"c": pd.Series(HUES, dtype=pd.ArrowDtype(pa.string())), "b": 0}
    ),
    "polars text": lambda: pl.DataFrame({"c": HUES, "b": 0}),
    "polars category": lambda: pl.DataFrame({"c": HUES, "b": 0}).cast({"c": pl.Categorical}),
    "polars enum": lambda: pl.DataFrame({"c": HUES, "b": 0}).cast(
        {"c": pl.Enum(["blue", "grey", "red", "green"])}
    ),
    "pyarrow text": lambda: pa.table({"c": HUES, "b": [0] * 4}),
    "pyarrow dictionary": lambda: pa.table({"c": pa.array(HUES).dictionary_encode(), "b": [0] * 4}),
}


@pytest.mark.parametrize("make", COLOURS.values(), ids=COLOURS.keys())
def test_categories_become_the_model_s_codes_whatever_their_own_order(
    make: Callable[[], Any],
) -> None:
    assert rows_of(make(), COLOUR) == CODES


@pytest.mark.parametrize("missing", [None, NAN, pd.NA, pd.NaT], ids=repr)
def test_everything_that_means_missing_is_missing(missing: Any) -> None:
    frame = pd.DataFrame({"c": pd.Series(["red", missing], dtype=object), "b": 0})
    assert rows_of(frame, COLOUR) == [[0, 0], [None, 0]]


STRICT = [replace(COLOUR[0], takes_unseen=False), COLOUR[1]]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_an_unseen_category_follows_the_model(library: Any) -> None:
    table = library({"c": ["red", "mauve", "blue"], "b": [0, 0, 0]})
    assert rows_of(table, COLOUR) == [[0, 0], [3, 0], [2, 0]]
    as_missing = [replace(COLOUR[0], unseen_is_missing=True), COLOUR[1]]
    assert rows_of(table, as_missing) == [[0, 0], [None, 0], [2, 0]]
    with pytest.raises(
        robx.InvalidInput,
        match=r"Column 'c' of X has the category 'mauve' in row 1, which the model was not trained "
        r"on and refuses\. It knows 'red', 'green', 'blue'\. Replace it with one of these, or with "
        r"a missing value\.",
    ):
        read_matrix(table, STRICT, named=True)
    reasons: dict[int, str] = {}
    read = read_matrix(table, STRICT, named=True, reasons=reasons)
    assert read[[0, 2]].tolist() == [[0, 0], [2, 0]]
    assert reasons == {1: "c is 'mauve', a category that the model was not trained on and refuses"}


@pytest.mark.parametrize("columns", [COLOUR, STRICT], ids=["takes unseen", "refuses unseen"])
@pytest.mark.parametrize(
    "value", [["red"], np.array(["red", "blue"]), {"red": 1}, b"red", dt.date(2020, 1, 1)], ids=repr
)
def test_what_can_be_no_category_is_refused(value: Any, columns: Any) -> None:
    frame = pd.DataFrame({"c": pd.Series(["red", value], dtype=object), "b": 0})
    with pytest.raises(
        robx.InvalidInput,
        match=r"Column 'c' of X must hold text, numbers or categories\. Got .* in row 1\.",
    ):
        read_matrix(frame, columns, named=True)
    reasons: dict[int, str] = {}
    assert read_matrix(frame, columns, named=True, reasons=reasons)[0].tolist() == [0, 0]
    assert list(reasons) == [1]
    assert reasons[1].endswith("which is neither text nor a number")


HOSTILE: list[tuple[Any, str]] = [
    ("old", "'old', which is not a number"),
    ("12", "'12', which is not a number"),
    (b"12", "b'12', which is not a number"),
    ([1, 2], "[1, 2], which is not a number"),
    (dt.date(2020, 1, 1), "datetime.date(2020, 1, 1), which is not a number"),
    (1j, "1j, which is not a number"),
    (Decimal("sNaN"), "Decimal('sNaN'), which is not a number"),
    (10**400, "1000000000000000000000000000000000000..., which is too large a number"),
]


@pytest.mark.parametrize("kind", ["pandas", "polars", "array", "lists"])
@pytest.mark.parametrize(("value", "said"), HOSTILE, ids=repr)
def test_a_cell_that_is_not_a_number_is_its_row_s_trouble(kind: str, value: Any, said: str) -> None:
    cells: list[Any] = [1, 2.5, value, Decimal("0.5"), None, True, 2**70]
    table: Any = np.empty((7, 2), dtype=object)
    table[:, 0], table[:, 1] = 0.0, cells
    if kind == "pandas":
        table = pd.DataFrame({"a": 0.0, "b": pd.Series(cells, dtype=object)})
    elif kind == "polars":
        table = pl.DataFrame({"a": [0.0] * 7, "b": pl.Series(cells, dtype=pl.Object)})
    elif kind == "lists":
        table = [[0.0, cell] for cell in cells]
    reasons: dict[int, str] = {}
    read = read_matrix(table, AB, named=True, reasons=reasons)
    np.testing.assert_array_equal(read[:, 1], [1, 2.5, NAN, 0.5, NAN, 1, 2.0**70])
    assert reasons == {2: f"b is {said}"}
    with pytest.raises(
        robx.InvalidInput, match=r"Column 'b' of X must hold numbers\. Got .* in row 2, which is"
    ):
        read_matrix(table, AB, named=True)


def test_a_table_that_a_model_refuses_in_part_is_read_in_part() -> None:
    columns = [Column("a", largest=100.0), Column("b", takes_missing=False)]
    reasons: dict[int, str] = {}
    table = np.array([[1.0, 2.0], [1e9, NAN], [3.0, NAN], [-1e3, 4.0]])
    read = read_matrix(table, columns, named=True, reasons=reasons)
    np.testing.assert_array_equal(read, table)
    assert reasons == {
        1: "b is missing, and the model takes no missing values",
        2: "b is missing, and the model takes no missing values",
        3: "a is larger than the model takes",
    }
    integers = [Column("a", largest_integer=2.0**24), Column("b")]
    reasons.clear()
    read_matrix(np.array([[1, 2], [2**30, 2]]), integers, named=True, reasons=reasons)
    assert list(reasons) == [1]
    assert reasons[1].startswith("a is an integer that the model's library would round")


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_numbers_in_a_column_of_named_categories_are_refused(library: Any) -> None:
    with pytest.raises(
        robx.InvalidInput,
        match=r"Column 'c' of X must hold the categories 'red', 'green', 'blue'\. Got Int64: codes "
        r"and categories cannot be told apart; convert the column to a category dtype\.",
    ):
        read_matrix(library({"c": [0, 1], "b": [0, 0]}), COLOUR, named=True)


def test_an_array_holds_codes_cut_to_whole_numbers_and_any_other_is_unseen() -> None:
    codes = [0, 1, 2, 3, -1, 1.7, -0.5, np.inf, -np.inf, NAN]
    table = np.column_stack([codes, np.zeros(10)])
    wanted = [0, 1, 2, 3, 3, 1, 0, 3, 3, None]
    assert [row[0] for row in rows_of(table, COLOUR)] == wanted
    missing = [Column("c", n_codes=3, unseen_is_missing=True), Column("b")]
    without = [None if code == 3 else code for code in wanted]
    assert [row[0] for row in rows_of(table, missing)] == without


NUMBERED = [Column("c", n_codes=2, categories=(3.0, 7.0), by_value=True)]


@pytest.mark.parametrize(
    "table",
    [
        np.array([[7.0], [3.0], [NAN]]),
        [[7], [3], [None]],
        pd.DataFrame({"c": [7, 3, NAN]}),
        pd.DataFrame({"c": pd.array([7, 3, None], dtype="Int64")}),
        pd.DataFrame({"c": pd.Categorical([7, 3, None])}),
        pl.DataFrame({"c": [7, 3, None]}),
    ],
    ids=["numpy", "lists", "pandas", "pandas nullable", "pandas category", "polars"],
)
def test_categories_given_by_value(table: Any) -> None:
    assert rows_of(table, NUMBERED) == [[1], [0], [None]]


def test_an_unseen_value_in_an_array_follows_the_model() -> None:
    table = np.array([[3.0], [4.0]])
    assert rows_of(table, NUMBERED) == [[0], [2]]
    with pytest.raises(
        robx.InvalidInput,
        match=r"has the category 4\.0 in row 1.*It knows 3\.0, 7\.0",
    ):
        read_matrix(table, [replace(NUMBERED[0], takes_unseen=False)], named=True)


BARE = [Column("c", n_codes=4)]


def test_a_model_that_knows_codes_alone_takes_them_from_a_category_column_s_own_order() -> None:
    order = ["y", "unused", "x", "z"]
    by_category = pd.DataFrame({"c": pd.Categorical(["x", "y", None, "z"], categories=order)})
    by_code = pd.DataFrame({"c": [2, 0, None, 3]})
    assert rows_of(by_code, BARE) == [[2], [0], [None], [3]]
    assert rows_of(by_category, BARE) == rows_of(by_code, BARE)
    enum = pl.DataFrame({"c": ["x", "y", None, "z"]}, schema={"c": pl.Enum(order)})
    assert rows_of(enum, BARE) == rows_of(by_code, BARE)
    numbers = pd.DataFrame({"c": pd.Categorical([30, 10, None], categories=[10, 20, 30])})
    assert rows_of(numbers, BARE) == [[2], [0], [None]]


def test_codes_of_a_category_column_are_the_ones_that_xgboost_takes() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, 300)
    table = np.column_stack([codes, rng.normal(size=300)])
    y = np.isin(codes, [1, 4]) ^ (table[:, 1] > 1)
    data = xgb.DMatrix(table, y, feature_types=["c", "float"], enable_categorical=True)
    booster = xgb.train({"max_depth": 3, "objective": "binary:logistic"}, data, 10)
    order = ["f", "e", "d", "c", "b", "a"]
    names = pd.Categorical.from_codes(codes, dtype=pd.CategoricalDtype(order))
    frame = pd.DataFrame({"c": names, "x": table[:, 1]})
    ensemble = robx.import_model(booster)
    theirs = booster.predict(data)
    np.testing.assert_allclose(ensemble.score(table), theirs, atol=1e-6)
    np.testing.assert_allclose(ensemble.score(frame), theirs, atol=1e-6)
    some = frame[frame["c"].isin(["a", "c"])]
    np.testing.assert_allclose(ensemble.score(some), theirs[np.isin(codes, [5, 3])], atol=1e-6)


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        (pd.DataFrame({"c": ["x"]}), "String"),
        (pd.DataFrame({"c": [True]}), "Boolean"),
        (pl.DataFrame({"c": ["x"]}, schema={"c": pl.Categorical}), "Categorical"),
        (pa.table({"c": pa.array(["x"]).dictionary_encode()}), "Categorical"),
    ],
    ids=["text", "flags", "polars category", "pyarrow dictionary"],
)
def test_a_column_without_an_order_of_its_own_has_no_codes(table: Any, kind: str) -> None:
    with pytest.raises(
        robx.InvalidInput,
        match=r"Column 'c' of X must hold category codes, or be a category column of fixed order "
        rf"\(pandas category, polars Enum\): .* Got {kind}\.",
    ):
        read_matrix(table, BARE, named=True)


# --- what a model makes of values -----------------------------------------------------------------


def test_a_range_of_values_can_mean_missing() -> None:
    columns = [Column("a", missing_range=(-1.0, 2.0)), Column("b")]
    values = [-1.0, 2.0, 0.0, np.nextafter(-1, -2), np.nextafter(2, 3), NAN]
    out = rows_of(np.column_stack([values, values]), columns)
    assert [row[0] for row in out] == [None, None, None, values[3], values[4], None]
    assert [row[1] for row in out] == [*values[:5], None]


def test_a_missing_value_that_the_model_does_not_take_is_an_error() -> None:
    columns = [Column("a"), Column("b", takes_missing=False)]
    assert rows_of([[NAN, 1.0]], columns) == [[None, 1]]
    message = (
        r"Column 'b' of X has a missing value in row 1; the model does not take missing values\. "
        r"Fill it first\."
    )
    with pytest.raises(robx.InvalidInput, match=message):
        read_matrix([[1, 1], [1, NAN]], columns, named=False)
    with pytest.raises(robx.InvalidInput, match=message):
        read_matrix(pl.DataFrame({"b": [1, None], "a": [1, 1]}), columns, named=True)


@pytest.mark.parametrize("value", [4.5, -4.5, np.inf, -np.inf])
def test_a_value_that_is_too_large_is_named(value: float) -> None:
    columns = [Column("a"), Column("b", largest=4.0)]
    assert rows_of([[value, 4.0], [0, -4.0], [0, NAN]], columns)[0] == [value, 4]
    message = rf"Column 'b' of X has the value {value} in row 1; the model takes values up to 4 in"
    with pytest.raises(robx.InvalidInput, match=message):
        read_matrix([[0, 4.0], [0, value]], columns, named=False)


def test_a_forest_refuses_what_scikit_learn_refuses() -> None:
    forest = RandomForestClassifier(3, random_state=0).fit(FRAME, Y)
    ensemble = robx.import_model(forest)
    with pytest.raises(robx.InvalidInput, match=r"Column 'c' of X has the value inf in row 5"):
        ensemble.score(FRAME.assign(c=np.where(np.arange(200) == 5, np.inf, X[:, 2])))


# --- the caller's table ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "columns",
    [
        [Column("a", missing_range=(0.0, 0.0)), Column("b")],
        [Column("a", n_codes=2), Column("b", n_codes=1)],
        [Column("a", n_codes=2, categories=(0.0, 2.5), by_value=True), Column("b")],
        AB,
    ],
    ids=["missing range", "codes", "by value", "numbers"],
)
@pytest.mark.parametrize("kind", ["numpy", "pandas"])
def test_the_caller_s_table_stays_as_it_was(columns: list[Column], kind: str) -> None:
    table = np.array([[0.0, 1.5], [2.5, -3.0]])
    frame = pd.DataFrame(table, columns=["a", "b"], copy=False)
    before = table.tobytes()
    read_matrix(table if kind == "numpy" else frame, columns, named=True)
    assert table.tobytes() == before


def test_an_array_of_numbers_is_not_copied() -> None:
    table = np.ones((3, 2))
    assert np.shares_memory(read_matrix(table, AB, named=False), table)


def test_scoring_leaves_a_table_with_categories_as_it_was() -> None:
    table = np.column_stack([np.arange(200) % 4 + 2.0, X])
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features=[0]).fit(table, Y)
    before = table.copy()
    scores = robx.import_model(model, X=table).score(table)
    np.testing.assert_array_equal(table, before)
    np.testing.assert_allclose(scores, model.predict_proba(table)[:, 1], atol=1e-6)

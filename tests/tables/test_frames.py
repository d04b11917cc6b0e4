from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import robx
from robx.tables import as_named_frame, column_names, count_rows, in_order, parts, take
from table_kinds import EVERY, cells, dtypes, same

every = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY.keys())
FRAMES = {name: make for name, make in EVERY.items() if not isinstance(make(), np.ndarray)}
frames = pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())


@every
def test_rows_are_taken_in_the_asked_order(make: Callable[[], Any]) -> None:
    table = make()
    some = take(table, np.array([2, 0, 2]))
    assert type(some) is type(table)
    assert dtypes(some) == dtypes(table)
    assert repr(cells(some)) == repr([[c[2], c[0], c[2]] for c in cells(table)])
    assert count_rows(take(table, np.arange(0))) == 0


@every
def test_a_table_is_cut_into_runs_of_rows(make: Callable[[], Any]) -> None:
    table = make()
    assert parts(table, 3)[0] is table
    runs = parts(table, 2)
    assert [count_rows(run) for run in runs] == [2, 1]
    assert same(runs[0], table[:2])
    assert same(runs[1], table[2:])


@frames
def test_columns_are_put_in_order_by_their_names(make: Callable[[], Any]) -> None:
    table = make()
    turned = in_order(table, ["b", "a"])
    assert column_names(turned) == ("b", "a")
    assert repr(cells(turned)) == repr(cells(table)[::-1])
    assert same(in_order(turned, ["a", "b"]), table)
    assert in_order(table, ["a", "c"]) is table
    assert same(take(turned, np.arange(3), ["a", "b"]), table)
    assert as_named_frame(table, ["x", "y"]) is table


def test_lists_and_arrays_have_rows_but_no_names() -> None:
    rows = [[1.0, 2.0], [3.0, 4.0]]
    assert (count_rows(rows), column_names(rows), count_rows(3.5), count_rows(None)) == (
        2,
        None,
        0,
        0,
    )
    assert in_order(rows, ["a", "b"]) is rows
    assert [part.tolist() for part in parts(rows, 1)] == [[[1.0, 2.0]], [[3.0, 4.0]]]
    assert as_named_frame(rows, ["a", "b"]).to_dict("list") == {"a": [1, 3], "b": [2, 4]}


def test_a_pandas_index_is_kept() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]}, index=["x", "y"])
    assert take(frame, np.array([1]), ["b", "a"]).to_dict("index") == {"y": {"b": 4, "a": 2}}


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame([[1, 2]], columns=[0, 0]),
        pa.table([[1], [2]], names=["a", "a"]),
    ],
)
def test_two_columns_of_one_name_are_refused(table: Any) -> None:
    for work in (column_names, count_rows, lambda X: take(X, np.arange(1))):
        with pytest.raises(robx.InvalidInput, match=r"X has more than one column named '[a0]'\."):
            work(table)


def test_lazy_frames_are_refused() -> None:
    with pytest.raises(robx.InvalidInput, match=r"X is a lazy frame; .* Call X\.collect\(\) first"):
        count_rows(pl.LazyFrame({"a": [1]}))


def test_a_frame_of_narwhals_is_the_one_that_it_wraps() -> None:
    frame = pl.DataFrame({"a": [1, 2]})
    assert take(nw.from_native(frame), np.array([1])).equals(frame[1:])

"""Small tables of every kind and dtype, and how to compare them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]

NAN = float("nan")
BIG = 2**53 + 1
COLOURS = ["red", "green", "blue"]
ORDERED = pd.CategoricalDtype(["low", "high", "mid"], ordered=True)


def arrow(dtype: Any) -> pd.ArrowDtype:
    return pd.ArrowDtype(dtype)


def dictionary(values: list[str | None]) -> Any:
    codes = pa.array([None if v is None else ["b", "a"].index(v) for v in values], type=pa.int8())
    return pa.DictionaryArray.from_arrays(codes, pa.array(["b", "a"]))


def cells(table: Any) -> list[list[Any]]:
    """A table's cells by column, with None for what is missing, so that equal means equal."""
    if isinstance(table, pa.Table):
        return [column.to_pylist() for column in table.columns]
    if isinstance(table, pl.DataFrame):
        return [column.to_list() for column in table.get_columns()]
    columns: Any
    if isinstance(table, np.ndarray):
        columns = [column.tolist() for column in table.T]
    else:
        columns = [table.iloc[:, j].tolist() for j in range(table.shape[1])]
    return [[None if pd.isna(value) else value for value in column] for column in columns]


def dtypes(table: Any) -> list[Any]:
    if isinstance(table, pa.Table):
        return list(table.schema.types)
    return list(table.dtypes) if hasattr(table, "dtypes") else [table.dtype]


def one_column(dtype: Any, values: list[Any], name: str = "a") -> Any:
    """A table of one column; the dtype says which library."""
    if isinstance(dtype, pa.DataType):
        return pa.table({name: pa.array(values, type=dtype)})
    if isinstance(dtype, pl.DataType) or (
        isinstance(dtype, type) and issubclass(dtype, pl.DataType)
    ):
        return pl.DataFrame({name: pl.Series(values, dtype=dtype)})
    return pd.DataFrame({name: pd.Series(values, dtype=dtype)})


def same(one: Any, other: Any) -> bool:
    return (
        type(one) is type(other)
        and repr(cells(one)) == repr(cells(other))
        and dtypes(one) == dtypes(other)
    )


EVERY: dict[str, Callable[[], Any]] = {
    "numpy": lambda: np.array([[1.5, 2], [NAN, 3], [4, 5]]),
    "float32": lambda: np.array([[1.5, 2], [NAN, 3], [4, 5]], dtype=np.float32),
    "integers": lambda: np.array([[1, BIG], [2, 3], [4, 5]]),
    "flags": lambda: np.array([[True, False], [False, False], [True, True]]),
    "objects": lambda: np.array([["x", 1], [None, BIG], ["y", 2.5]], dtype=object),
    "text array": lambda: np.array([["x", "yy"], ["a", "b"], ["c", "d"]]),
    "by columns": lambda: np.asfortranarray([[1.5, 2], [NAN, 3], [4, 5]]),
    "big-endian": lambda: np.array([[1.5, 2], [NAN, 3], [4, 5]], dtype=">f8"),
    "pandas numbers": lambda: pd.DataFrame({"a": [1.5, NAN, 2], "b": [BIG, 2, 3]}),
    "pandas nullable": lambda: pd.DataFrame(
        {"a": pd.array([BIG, None, 3], dtype="Int64"), "b": pd.array([1.5, None, 2], "Float32")}
    ),
    "pandas flags": lambda: pd.DataFrame(
        {"a": [True, False, True], "b": pd.array([True, None, False], dtype="boolean")}
    ),
    "pandas over pyarrow": lambda: pd.DataFrame(
        {
            "a": pd.Series([BIG, None, 3], dtype="int64[pyarrow]"),
            "b": pd.Series(["x", None, "y"], dtype=arrow(pa.string())),
        }
    ),
    "pandas dictionary": lambda: pd.DataFrame(
        {"a": pd.Series(dictionary(["a", None, "b"]), dtype=arrow(dictionary([]).type)), "b": 1.5}
    ),
    "pandas text": lambda: pd.DataFrame(
        {"a": ["x", None, "y"], "b": pd.Series(["x", None, "y"], dtype=object)}
    ),
    "pandas strings": lambda: pd.DataFrame(
        {"a": pd.array(["x", None, "y"], "string[python]"), "b": pd.array(["x"] * 3, "string")}
    ),
    "pandas categories": lambda: pd.DataFrame(
        {"a": pd.Series(["mid", None, "low"], dtype=ORDERED), "b": pd.Categorical([3, 1, 3])}
    ),
    "polars": lambda: pl.DataFrame({"a": [BIG, None, 3], "b": [1.5, NAN, None]}),
    "polars small": lambda: pl.DataFrame(
        {"a": [1, None, 3], "b": [True, None, False]}, schema={"a": pl.UInt8, "b": pl.Boolean}
    ),
    "polars floats": lambda: pl.DataFrame(
        {"a": [1.5, None, 3], "b": [1.5, None, 2]}, schema={"a": pl.Float32, "b": pl.Float16}
    ),
    "polars text": lambda: pl.DataFrame(
        {"a": ["x", None, "y"], "b": ["x", None, "y"]}, schema={"a": pl.String, "b": pl.Categorical}
    ),
    "polars enum": lambda: pl.DataFrame(
        {"a": ["red", None, "blue"], "b": 1}, schema={"a": pl.Enum(COLOURS), "b": pl.Int16}
    ),
    "polars nothing": lambda: pl.DataFrame({"a": [None, None, None], "b": [1, 2, 3]}),
    "pyarrow": lambda: pa.table({"a": [BIG, None, 3], "b": [1.5, NAN, None]}),
    "pyarrow small": lambda: pa.table(
        {"a": pa.array([1, None, 3], pa.float32()), "b": pa.array([True, None, False])}
    ),
    "pyarrow text": lambda: pa.table(
        {"a": ["x", None, "y"], "b": pa.array(["x", None, "y"], pa.large_string())}
    ),
    "pyarrow dictionary": lambda: pa.table({"a": dictionary(["a", None, "b"]), "b": [1, 2, 3]}),
}

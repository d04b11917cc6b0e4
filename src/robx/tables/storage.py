"""How one column is stored: its dtype in its own library, and the dtype that two of them share.

This module knows dtypes; `robx.tables.columns` knows values. Libraries are loaded when a table of
theirs comes by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from numbers import Real
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

Kind = Literal["numpy", "pandas", "polars", "pyarrow"]
Backing = Literal["plain", "nullable", "arrow"]
NUMBERS = frozenset(
    ["bool", *(f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64))]
    + [f"float{b}" for b in (16, 32, 64)]
)


@dataclass(frozen=True)
class Storage:
    """How one column is stored.

    Parameters
    ----------
    dtype : object
        The library's own dtype.
    family : str
        What the column holds; "other" is what no model takes, a date for one.
    number : str
        The numpy name of a number's or flag's dtype, "" for all else; float64 for what numpy has no
        dtype for, a decimal for one.
    categories : tuple
        A category column's categories: in the dtype's order where it has one (pandas, polars Enum,
        pyarrow dictionary), else those that occur, sorted.
    is_ordered : bool
        Whether the categories are ordered.
    blank : str
        What an object column holds where a value is missing: "nan", "None" or "NA".
    """

    dtype: Any
    family: Literal["boolean", "integer", "float", "text", "category", "other"]
    number: str = ""
    categories: tuple[Any, ...] = ()
    is_ordered: bool = False
    blank: str = "nan"

    @property
    def is_number(self) -> bool:
        """Whether the dtype is numeric; flags are not."""
        return self.family in {"integer", "float"}

    @property
    def is_boolean(self) -> bool:
        """Whether the column holds flags."""
        return self.family == "boolean"

    @property
    def is_integer(self) -> bool:
        """Whether the column holds whole numbers only."""
        return self.family == "integer"

    @property
    def is_single(self) -> bool:
        """Whether numbers are rounded to float32."""
        return self.number == "float32"

    @property
    def is_half(self) -> bool:
        """Whether numbers are rounded to float16."""
        return self.number == "float16"

    @property
    def is_text(self) -> bool:
        """Whether the column holds text; any object column of a frame counts as text."""
        return self.family == "text"

    @property
    def is_category(self) -> bool:
        """Whether the column has a category dtype."""
        return self.family == "category"

    @property
    def is_plain(self) -> bool:
        """Whether numpy itself holds the column, so that whole numbers cannot be missing."""
        return isinstance(self.dtype, np.dtype)

    @property
    def backing(self) -> Backing:
        """What holds a column of pandas."""
        if self.is_plain:
            return "plain"
        return "arrow" if hasattr(self.dtype, "pyarrow_dtype") else "nullable"

    @property
    def has_fixed_categories(self) -> bool:
        """Whether the dtype itself lists the categories (pandas category, polars Enum)."""
        return self.is_category and type(self.dtype).__name__ in {"CategoricalDtype", "Enum"}

    def widened(self) -> Storage:
        """The same with room for a missing number: plain whole numbers and flags become float64."""
        if self.is_plain and self.family in {"boolean", "integer"}:
            return Storage(np.dtype(np.float64), "float", "float64")
        return self


def library(name: str) -> Any:
    """The module of that name, loaded now."""
    return import_module(name)


def is_installed(name: str) -> bool:
    """Whether `library` would find the module."""
    try:
        library(name)
    except ImportError:
        return False
    return True


# --- describe -------------------------------------------------------------------------------------


def describe(column: Any, kind: Kind) -> Storage:
    """How a library's column (one column of an array, for numpy) is stored."""
    dtype = column.type if kind == "pyarrow" else column.dtype
    if isinstance(dtype, np.dtype) and (kind == "numpy" or dtype.kind == "O"):
        return _describe_plain(column, dtype, kind)
    series = nw.from_native(column, series_only=True, allow_series=True)
    known = series.dtype
    name = str(known).lower()
    if known == nw.Boolean:
        return Storage(dtype, "boolean", "bool")
    if known.is_numeric():  # what numpy has no dtype for meets other numbers as float64
        family: Any = "integer" if known.is_integer() else "float"
        return Storage(dtype, family, name if name in NUMBERS else "float64")
    if not (known == nw.Categorical or isinstance(known, nw.Enum)):
        return Storage(dtype, "text" if known == nw.String else "other")
    categories, is_ordered = _categories(column, dtype, kind)
    return Storage(dtype, "category", "", categories, is_ordered)


def _categories(column: Any, dtype: Any, kind: Kind) -> tuple[tuple[Any, ...], bool]:
    if hasattr(dtype, "pyarrow_dtype"):
        column, kind = library("pyarrow").chunked_array(column), "pyarrow"
    if kind == "pyarrow":
        whole = one_chunk(column)
        return tuple(whole.dictionary.to_pylist()), bool(whole.type.ordered)
    if kind == "pandas":
        return tuple(dtype.categories.tolist()), bool(dtype.ordered)
    if type(dtype).__name__ == "Enum":
        return tuple(dtype.categories), False
    return tuple(sorted(column.unique().drop_nulls())), False


def _describe_plain(column: Any, dtype: np.dtype[Any], kind: Kind) -> Storage:
    if dtype.kind != "O":
        family: Any = {"b": "boolean", "i": "integer", "u": "integer", "f": "float"}.get(dtype.kind)
        if family:
            return Storage(dtype, family, dtype.name)
        return Storage(dtype, "text" if dtype.kind in "UST" else "other")
    values = np.asarray(column, dtype=object)
    missing = is_missing(values)
    first = values[missing][0] if missing.any() else float("nan")
    blank = {"NAType": "NA", "NoneType": "None"}.get(type(first).__name__, "nan")
    # An array of objects is taken for numbers where it holds nothing else, as it is when read.
    if kind == "numpy" and all(isinstance(value, Real) for value in values[~missing]):
        return Storage(dtype, "float", "float64", blank=blank)
    return Storage(dtype, "text", blank=blank)


def one_chunk(column: Any) -> Any:
    """A chunked array of pyarrow as one array."""
    pa = library("pyarrow")
    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # older versions keep the wrapping
        return whole.chunk(0) if whole.num_chunks else pa.array([], type=column.type)
    return whole


def is_missing(values: NDArray[Any] | Sequence[Any]) -> NDArray[np.bool_]:
    """Where objects are None, NaN, NaT or NA."""
    objects = np.fromiter(values, dtype=object, count=len(values))
    return np.asarray(library("pandas").isna(objects), dtype=bool)


# --- which dtype ----------------------------------------------------------------------------------


def settle(training: Storage, own: Storage, kind: Kind, *, same_kind: bool) -> Storage:
    """The storage of a column that holds values of two tables; see `robx.writing.rewrite`."""
    if same_kind and training.dtype == own.dtype:
        return training
    if training.number and own.number:
        number = np.result_type(training.number, own.number)
        like = training if same_kind and not training.is_plain else own
        return spell(number.name, kind, like.backing)
    if training.number:  # against a column without numbers, which can only be a column of nothing
        return training.widened() if same_kind else spell(training.number, kind).widened()
    if same_kind:
        if training.is_plain and own.is_plain and training.dtype.kind == own.dtype.kind == "U":
            return replace(training, dtype=np.result_type(training.dtype, own.dtype))
        return training
    if own.has_fixed_categories and training.categories:
        return fixed_categories(training.categories, training.is_ordered, kind)
    if own.family == "other" and (training.is_text or training.is_category):
        return spell("text", kind)
    return own


def spell(name: str, kind: Kind, backing: Backing = "plain") -> Storage:
    """The storage of a numpy number, or of "text", in a library; `backing` is for pandas."""
    if name == "text":
        text = {"polars": "String", "pyarrow": "string"}.get(kind)
        return Storage(getattr(library(kind), text)() if text else np.dtype(object), "text")
    plain = np.dtype(name)
    family: Any = {"b": "boolean", "f": "float"}.get(plain.kind, "integer")
    if kind == "polars":
        return Storage(library("polars").Series(np.empty(0, plain)).dtype, family, name)
    if kind == "pyarrow":
        return Storage(library("pyarrow").from_numpy_dtype(plain), family, name)
    if kind == "numpy" or backing == "plain":
        return Storage(plain, family, name)
    if backing == "arrow":
        arrow = library("pyarrow").from_numpy_dtype(plain)
        return Storage(library("pandas").ArrowDtype(arrow), family, name)
    bits = 8 * plain.itemsize
    if plain.kind == "f" and bits < 32:  # pandas has no nullable float16
        return spell("float32", kind, backing)
    spelled = {"b": "boolean", "i": f"Int{bits}", "u": f"UInt{bits}", "f": f"Float{bits}"}
    return Storage(library("pandas").api.types.pandas_dtype(spelled[plain.kind]), family, name)


def fixed_categories(categories: tuple[Any, ...], is_ordered: bool, kind: Kind) -> Storage:
    """The storage of a pandas category or a polars Enum with these categories."""
    if kind == "pandas":
        dtype = library("pandas").CategoricalDtype(list(categories), ordered=is_ordered)
    else:
        dtype = library("polars").Enum(list(map(str, categories)))
        is_ordered = False
    return Storage(dtype, "category", "", tuple(dtype.categories), is_ordered)

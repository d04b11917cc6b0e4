"""How one column is stored: its dtype in its own library, and the dtype that two of them share.

This module knows dtypes; `robx.tables.columns` knows values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from numbers import Real
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from robx.tables.frames import Kind, Table, library

Backing = Literal["plain", "nullable", "arrow"]
Family = Literal["boolean", "integer", "float", "text", "category", "other"]
#: What a column holds by the letter of its numpy dtype; every other is "other".
FAMILIES: Any = {"b": "boolean", "i": "integer", "u": "integer", "f": "float"} | dict.fromkeys(
    "OUST", "text"
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
        pyarrow dictionary), else those that occur, sorted. Of a text column, those that may be
        written to it, where that is known.
    is_ordered : bool
        Whether the categories are ordered.
    blank : str
        What an object column holds where a value is missing: "nan", "None" or "NA".
    """

    dtype: Any
    family: Family
    number: str = ""
    categories: tuple[Any, ...] = ()
    is_ordered: bool = False
    blank: str = "nan"

    @classmethod
    def later(cls, make: Callable[[], Any], **known: Any) -> Storage:
        """A storage whose dtype is made when it is first asked for, which loads its library.

        It is none of numpy's; `known` are the other fields.
        """
        storage = cls(None, **known)
        vars(storage).pop("dtype")
        vars(storage)["_make_dtype"] = make
        return storage

    def __getattr__(self, name: str) -> Any:
        if name != "dtype" or "_make_dtype" not in vars(self):
            raise AttributeError(f"a Storage has no attribute '{name}'")
        vars(self)["dtype"] = vars(self)["_make_dtype"]()
        return self.dtype

    @property
    def _is_made(self) -> bool:
        return "dtype" in vars(self)

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
    def is_object(self) -> bool:
        """Whether each cell of a frame's column may hold something else (pandas, polars)."""
        return self._is_made and str(self.dtype).lower() == "object"

    @property
    def is_category(self) -> bool:
        """Whether the column has a category dtype."""
        return self.family == "category"

    @property
    def is_plain(self) -> bool:
        """Whether numpy itself holds the column, so that whole numbers cannot be missing."""
        return self._is_made and isinstance(self.dtype, np.dtype)

    @property
    def backing(self) -> Backing:
        """What holds a column of pandas."""
        if self.is_plain:
            return "plain"
        return "arrow" if hasattr(self.dtype, "pyarrow_dtype") else "nullable"

    @property
    def has_fixed_categories(self) -> bool:
        """Whether the dtype itself lists the categories (pandas category, polars Enum)."""
        return type(self.dtype).__name__ in {"CategoricalDtype", "Enum"}

    def is_stored_as(self, other: Storage) -> bool:
        """Whether two columns have one dtype, with the same categories in the same order."""
        return bool(self.dtype == other.dtype) and (
            not self.has_fixed_categories or self.categories == other.categories
        )

    def with_categories(self, categories: Iterable[Any]) -> Storage:
        """The same with other categories, its dtype as it is."""
        other = copy(self)
        vars(other)["categories"] = tuple(categories)
        return other

    def listing(self, values: Iterable[Any]) -> Storage:
        """The same with these values among the categories, where the dtype lists them."""
        if not self.has_fixed_categories:
            return self
        known = frozenset(self.categories)
        distinct = dict.fromkeys(value for value in values if is_hashable(value))
        more = [value for value in distinct if value not in known]
        if not more:
            return self
        if type(self.dtype).__name__ == "Enum":
            listed: Any = type(self.dtype)([*self.categories, *map(str, more)])
            return replace(self, dtype=listed, categories=tuple(listed.categories))
        listed = type(self.dtype)([*self.categories, *more], self.is_ordered)
        return replace(self, dtype=listed, categories=tuple(listed.categories.tolist()))

    def widened(self) -> Storage:
        """The same where a number may be missing: plain whole numbers and flags become float64."""
        if self.is_plain and self.family in {"boolean", "integer"}:
            return spell("float64", "numpy")
        return self


# --- describe -------------------------------------------------------------------------------------


def describe(table: Table, j: int, dtype: Any, *, categories: bool = True) -> Storage:
    """How a column of a table is stored; `dtype` is its own.

    Its categories, where the dtype does not list them, are looked for only if asked for.
    """
    store = of_dtype(dtype, table.kind)
    if store.is_plain and dtype.kind == "O":
        values = np.asarray(table.column(j), dtype=object)
        missing = is_missing(values)
        blank = type(values[missing.argmax()]).__name__ if missing.any() else ""
        store = replace(store, blank={"NAType": "NA", "NoneType": "None"}.get(blank, "nan"))
        # An array of objects is taken for numbers where it holds nothing else, as it is when read.
        if table.kind == "numpy" and all(isinstance(value, Real) for value in values[~missing]):
            return replace(store, family="float", number="float64")
    elif categories and store.is_category and not store.has_fixed_categories:
        column = table.column(j)
        if table.kind == "polars":
            return replace(store, categories=tuple(sorted(column.unique().drop_nulls())))
        whole = one_chunk(column)
        listed = tuple(whole.dictionary.to_pylist())
        return replace(store, categories=listed, is_ordered=bool(whole.type.ordered))
    return store


def of_dtype(dtype: Any, kind: Kind) -> Storage:
    """How a column of this dtype is stored, without what only its values tell."""
    if kind == "pandas" and hasattr(dtype, "categories"):  # of which the hash takes long
        return Storage(dtype, "category", "", tuple(dtype.categories.tolist()), bool(dtype.ordered))
    return _of_dtype(dtype, kind)


@lru_cache(maxsize=1024)
def _of_dtype(dtype: Any, kind: Kind) -> Storage:
    if isinstance(dtype, np.dtype):
        number = dtype.name if dtype.kind in "biuf" else ""
        return Storage(dtype, FAMILIES.get(dtype.kind, "other"), number)
    if kind == "pyarrow":
        empty = library("pyarrow").chunked_array([], type=dtype)
    else:
        empty = library(kind).Series([], dtype=dtype)
    known = nw.from_native(empty, series_only=True, allow_series=True).dtype
    name = str(known).lower()
    if known == nw.Boolean:
        return Storage(dtype, "boolean", "bool")
    if known.is_numeric():  # what numpy has no dtype for meets other numbers as float64
        number = name if name in np.sctypeDict else "float64"
        return Storage(dtype, "integer" if known.is_integer() else "float", number)
    if isinstance(known, nw.Enum):
        return Storage(dtype, "category", "", tuple(known.categories))
    if known == nw.Categorical:
        return Storage(dtype, "category")
    return Storage(dtype, "text" if known == nw.String else "other")


def one_chunk(column: Any) -> Any:
    """A column of pyarrow, or one of pandas that pyarrow holds, as one array."""
    pa = library("pyarrow")
    column = column if isinstance(column, pa.ChunkedArray) else pa.array(column)
    if isinstance(column, pa.Array):
        return column
    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # older versions keep the wrapping
        return whole.chunk(0) if whole.num_chunks else pa.array([], type=column.type)
    return whole


def is_hashable(value: Any) -> bool:
    """Whether a value can be one of a dictionary's; some types tell only when they are asked."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def is_missing(values: NDArray[Any] | Sequence[Any]) -> NDArray[np.bool_]:
    """Where values are None, NaN, NaT or NA."""
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    objects = np.fromiter(values, dtype=object, count=len(values))
    isna = library("pandas").isna
    try:
        return np.asarray(isna(objects), dtype=bool)
    except Exception:  # a cell that cannot be compared, such as a signalling NaN
        return np.array([_is_nothing(value, isna) for value in objects], dtype=bool)


def _is_nothing(value: Any, isna: Any) -> bool:
    try:
        return isna(value) is True
    except Exception:
        return False


# --- which dtype ----------------------------------------------------------------------------------


def settle(training: Storage, own: Storage, kind: Kind, *, same_kind: bool) -> Storage:
    """The storage of a column that holds values of two tables; see `robx.tables.rewrite`."""
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
        return training.listing(own.categories)
    if own.has_fixed_categories and training.is_category and training.categories:
        dtype, listed = type(own.dtype), list(training.categories)
        as_listed = (
            dtype(listed, training.is_ordered) if kind == "pandas" else dtype(map(str, listed))
        )
        return of_dtype(as_listed, kind).listing(own.categories)
    if own.family == "other" and (training.is_text or training.is_category):
        text = {"polars": "String", "pyarrow": "string"}.get(kind)
        return of_dtype(getattr(library(kind), text)() if text else np.dtype(object), kind)
    return own.listing(training.categories)


@lru_cache(maxsize=256)
def spell(name: str, kind: Kind, backing: Backing = "plain") -> Storage:
    """The storage of a numpy number in a library; `backing` is for pandas."""
    dtype: Any = np.dtype(name)
    if kind == "polars":
        dtype = library("polars").Series(np.empty(0, dtype)).dtype
    elif kind == "pyarrow" or (kind == "pandas" and backing == "arrow"):
        dtype = library("pyarrow").from_numpy_dtype(dtype)
        dtype = library("pandas").ArrowDtype(dtype) if kind == "pandas" else dtype
    elif kind == "pandas" and backing == "nullable":
        spelled = {"bool": "boolean", "float16": "Float32"}  # there is no nullable float16
        spelled_so = spelled.get(name, name.title().replace("Uint", "UInt"))
        dtype = library("pandas").api.types.pandas_dtype(spelled_so)
    return of_dtype(dtype, kind)

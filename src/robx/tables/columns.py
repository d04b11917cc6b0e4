"""The values of one column: checked, built into its library, put in the place of others.

Between libraries a column is the pair (values, missing): numbers and flags are a numpy array of
their own width, text and categories an array of objects, and `missing` is a mask.

What dtypes there are, and which one to build, is the business of `robx.tables.storage`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Bools, Floats, Ints
from robx.errors import InvalidInput
from robx.tables.frames import Kind, library
from robx.tables.storage import Storage, is_missing, one_chunk

Values = tuple[NDArray[Any], Bools]


# --- check ----------------------------------------------------------------------------------------


def as_array(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """A caller's values as an array; what is not one yet becomes an array of objects."""
    if isinstance(values, np.ndarray):
        return values
    return np.fromiter(values, dtype=object, count=len(values))


def checked(given: NDArray[Any], store: Storage, name: str) -> Values:
    """A caller's values as a column can hold them; what it cannot hold is an error."""
    missing = is_missing(given)
    if missing.any() and store.is_plain and store.dtype.kind not in "fO":
        raise _refused(None, store, name)
    if store.number and store.dtype != object:
        return _numbers(given, missing, store, name), missing
    objects = np.fromiter(given.tolist(), dtype=object, count=len(given))
    known = frozenset(store.categories)
    width = store.dtype.itemsize // 4 if store.is_plain and store.dtype.kind == "U" else None
    for value in [] if store.dtype == object and not store.number else objects[~missing]:
        if store.has_fixed_categories:
            fits = isinstance(value, Hashable) and value in known
        elif store.number:
            fits = isinstance(value, Real)
        else:
            fits = not store.is_text or isinstance(value, str)
        if not fits or (width is not None and len(value) > width):
            raise _refused(value, store, name)
    return objects, missing


def _refused(value: object, store: Storage, name: str) -> InvalidInput:
    plain = value.item() if isinstance(value, np.generic) else value
    if store.has_fixed_categories:
        return InvalidInput(
            f"Column '{name}' has no category {plain!r}; it cannot be written to it."
        )
    return InvalidInput(f"Column '{name}' holds {store.dtype}; {plain!r} cannot be written to it.")


def _numbers(given: NDArray[Any], missing: Bools, store: Storage, name: str) -> NDArray[Any]:
    """Numbers in the dtype of a column, NaN or 0 where one is missing."""
    target = np.dtype(store.number)
    solid: NDArray[Any] = given[~missing]
    if given.dtype.kind != "f":
        solid = np.fromiter(solid.tolist(), dtype=object, count=len(solid))
        real = np.array([isinstance(value, Real) for value in solid], dtype=bool)
        if not real.all():
            raise _refused(solid[~real][0], store, name)
    if (
        solid.dtype == object
        and target.kind in "iu"
        and all(isinstance(v, Integral) for v in solid)
    ):
        limits = np.iinfo(target)  # Python's whole numbers stay exact: they never become floats
        fits = np.array([limits.min <= value <= limits.max for value in solid], dtype=bool)
    else:
        try:
            solid = solid.astype(np.float64, copy=False)
        except OverflowError:
            raise _refused(max(solid, key=abs), store, name) from None
        fits = _fits(solid, target)
        if store.is_integer:
            fits &= solid == np.rint(solid)
    if not fits.all():
        raise _refused(solid[~fits][0], store, name)
    out = np.full(len(given), np.nan if target.kind == "f" else 0, dtype=target)
    out[~missing] = solid
    return out


def _fits(numbers: Floats, target: np.dtype[Any]) -> Bools:
    """Where numbers survive a cast, but for the rounding of a float."""
    if target.kind == "f":
        with np.errstate(over="ignore"):
            return np.isfinite(numbers.astype(target)) | ~np.isfinite(numbers)
    if target.kind == "b":
        return (numbers == 0) | (numbers == 1)
    limits = np.iinfo(target)  # as floats both ends are exact: the upper one is a power of two
    return (numbers >= float(limits.min)) & (numbers < float(limits.max // 2 + 1) * 2)


# --- build ----------------------------------------------------------------------------------------


def build(values: NDArray[Any], missing: Bools, store: Storage, kind: Kind) -> Any:
    """A column of a library (an array, for pandas) of what `checked` gave, which it may keep."""
    if store.is_plain:
        if store.dtype == object:
            blanks = {"None": None, "nan": float("nan")}
            values = values.copy()
            values[missing] = blanks[store.blank] if store.blank in blanks else library("pandas").NA
        return values.astype(store.dtype, copy=False)
    if not store.number:
        values = np.where(missing, None, values)
    if store.has_fixed_categories and kind == "pandas":
        return library("pandas").Categorical(values, dtype=store.dtype)
    return from_arrow(_as_arrow(values, missing, store), store.dtype, kind)


def from_arrow(arrow: Any, dtype: Any, kind: Kind) -> Any:
    """An array of Arrow as a column of a library, in a dtype that is not numpy's."""
    if kind == "pyarrow":
        return arrow
    if kind == "polars":
        column = library("polars").from_arrow(arrow)
        return column if dtype is None else column.cast(dtype)
    if dtype.kind in "biuf" and not hasattr(dtype, "pyarrow_dtype"):
        # Here pandas itself would take NaN for missing.
        values = arrow.fill_null(dtype.type(0)).to_numpy(zero_copy_only=False)
        missing = arrow.is_null().to_numpy(zero_copy_only=False)
        return dtype.construct_array_type()(values.copy(), missing.copy())
    return dtype.__from_arrow__(arrow)


def _as_arrow(values: NDArray[Any], missing: Bools, store: Storage) -> Any:
    pa = library("pyarrow")
    dtype = getattr(store.dtype, "pyarrow_dtype", store.dtype)
    is_arrow = isinstance(dtype, pa.DataType)
    if store.number:
        numbers = pa.array(values, mask=missing, from_pandas=False)
        return numbers.cast(dtype, safe=False) if is_arrow else numbers
    if not is_arrow:
        return pa.array(values, type=pa.large_string())
    if store.is_category:
        # The dictionary is not part of the dtype: what it lacks is added at its end.
        first = len(store.categories)
        return pa.array([*store.categories, *values], type=dtype)[first:]
    return pa.array(values, type=dtype)


def as_floats(column: Any, kind: Kind) -> Floats:
    """A column of numbers, or an array of pandas, as float64; what is missing becomes NaN."""
    if hasattr(column.dtype if kind == "pandas" else None, "pyarrow_dtype"):
        column, kind = library("pyarrow").array(column), "pyarrow"
    if kind == "polars":
        out = column.cast(library("polars").Float64).to_numpy()
    elif kind == "pyarrow":
        out = column.cast("float64", safe=False).to_numpy(zero_copy_only=False)
    elif isinstance(column.dtype, np.dtype):
        out = column if column.dtype != object else np.where(is_missing(column), np.nan, column)
    else:
        out = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(out, dtype=np.float64)


def as_objects(column: Any, kind: Kind) -> NDArray[Any]:
    """The values of a column as objects, None where one is missing."""
    objects = as_array(column.to_pylist() if kind == "pyarrow" else column.to_list())
    return np.where(is_missing(objects), None, objects)


# --- change ---------------------------------------------------------------------------------------


def cast(column: Any, store: Storage, kind: Kind) -> Any:
    """A column of numbers in another numeric dtype that is at least as wide."""
    if kind == "pyarrow":
        return column.cast(store.dtype, safe=False)
    return column.cast(store.dtype) if kind == "polars" else column.astype(store.dtype)


def put(column: Any, rows: Ints, new: Any, kind: Kind) -> Any:
    """A copy of a column (an array, for pandas) with other values in some rows."""
    if kind == "polars":
        return (
            column if column.dtype == library("polars").Null else column.clone().scatter(rows, new)
        )
    if hasattr(column.dtype if kind == "pandas" else None, "pyarrow_dtype"):
        pa = library("pyarrow")
        arrow = put(pa.array(column), rows, pa.array(new), "pyarrow")
        return column.dtype.__from_arrow__(arrow)
    if kind == "pyarrow":
        pa = library("pyarrow")
        chunks = [c for piece in (column, new) for c in getattr(piece, "chunks", [piece])]
        order = np.arange(len(column))
        order[rows] = len(column) + np.arange(len(rows))
        return one_chunk(pa.chunked_array(chunks, type=column.type)).take(pa.array(order))
    is_plain = isinstance(column.dtype, np.dtype)
    out = np.array(column) if is_plain else column.array.copy()
    out[rows] = new
    return out

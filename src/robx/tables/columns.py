"""The values of one column: checked, built into its library, put in the place of others.

Between libraries a column is the pair (values, missing): numbers and flags are a numpy array of
their own width, text and categories an array of objects, and `missing` is a mask.

What dtypes there are, and which one to build, is the business of `robx.tables.storage`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Bools, Floats, Ints
from robx.errors import InvalidInput
from robx.tables.frames import Kind, library
from robx.tables.storage import Storage, is_hashable, is_missing, one_chunk

Values = tuple[NDArray[Any], Bools]


# --- check ----------------------------------------------------------------------------------------


def as_array(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """A caller's values as an array; what is not one yet becomes an array of objects."""
    if isinstance(values, np.ndarray):
        return values
    return np.fromiter(values, dtype=object, count=len(values))


def plain_array(X: Any, what: str) -> NDArray[Any]:
    """Give what is not a frame as an array: of objects where numpy would make text of numbers."""
    try:
        given = np.ma.asarray(X, np.float64).filled(np.nan) if np.ma.isMA(X) else np.asarray(X)
    except (TypeError, ValueError) as error:
        # A cell that holds a list has no place in a table of numbers, but the others do.
        rows = [list(row) for row in X if isinstance(row, list | tuple)] if _is_list(X) else []
        if not rows or len(rows) < len(X) or len({len(row) for row in rows}) > 1:
            raise InvalidInput(
                f"{what} must be a table of numbers, or a DataFrame. Got {type(X).__name__} that "
                f"numpy cannot read as numbers: {error}."
            ) from error
        given = np.empty((len(rows), len(rows[0])), dtype=object)
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                given[i, j] = value
    if given.dtype.kind in "US" and _is_list(X):
        return np.asarray(X, dtype=object)
    return given


def _is_list(X: Any) -> bool:
    return isinstance(X, list | tuple)


def checked(given: NDArray[Any], store: Storage, name: str) -> Values:
    """A caller's values as a column can hold them; what it cannot hold is an error."""
    missing = is_missing(given)
    if missing.any() and store.is_plain and store.dtype.kind not in "fO":
        raise _refused(None, store, name)
    if store.number and store.dtype != object:
        return _numbers(given, missing, store, name), missing
    objects = as_array(given.tolist())
    known = frozenset(store.categories)
    width = store.dtype.itemsize // 4 if store.is_plain and store.dtype.kind == "U" else None
    for value in [] if store.dtype == object and not store.number else _distinct(objects[~missing]):
        if store.has_fixed_categories:
            fits = is_hashable(value) and value in known
        elif store.number:
            fits = isinstance(value, Real)
        else:
            fits = not store.is_text or isinstance(value, str)
        if not fits or (width is not None and len(value) > width):
            raise _refused(value, store, name)
    return objects, missing


def _distinct(objects: NDArray[Any]) -> Iterable[Any]:
    """The values that occur, in order; all of them where they cannot be compared."""
    try:
        return dict.fromkeys(objects)
    except TypeError:
        return objects


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
    if given.dtype == target and store.family == "float":  # the common case, in a hurry
        return given.copy()
    solid: NDArray[Any] = given[~missing]
    if solid.dtype.kind != "f":
        solid = as_array(solid.tolist())
        if odd := [value for value in solid if not isinstance(value, Real)]:
            raise _refused(odd[0], store, name)
        if not (target.kind in "iu" and all(isinstance(value, Integral) for value in solid)):
            try:
                solid = solid.astype(np.float64)
            except OverflowError:
                raise _refused(max(solid, key=abs), store, name) from None
    fits = _fits(solid, target)
    if store.family != "float" and solid.dtype != object:
        fits &= solid == np.rint(solid)
    if not fits.all():
        raise _refused(solid[~fits][0], store, name)
    out = np.full(len(given), np.nan if target.kind == "f" else 0, dtype=target)
    out[~missing] = solid
    return out


def _fits(numbers: NDArray[Any], target: np.dtype[Any]) -> Bools:
    """Where numbers survive a cast, but for the rounding of a float and the parts of one."""
    if target.kind == "f":
        with np.errstate(over="ignore"):
            return np.asarray(np.isfinite(numbers.astype(target)) | ~np.isfinite(numbers))
    low, high = (np.iinfo(target).min, np.iinfo(target).max + 1) if target.kind != "b" else (0, 2)
    fits = (numbers >= low) & (numbers < high)  # both ends are exact as floats too
    return np.asarray(fits, dtype=bool)


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
        values[missing] = None
    if kind == "pandas" and store.has_fixed_categories:
        return library("pandas").Categorical(values, dtype=store.dtype)
    if kind == "pandas" and store.number and store.backing == "nullable":
        return store.dtype.construct_array_type()(values, missing)
    pa, dtype = library("pyarrow"), getattr(store.dtype, "pyarrow_dtype", store.dtype)
    if store.number:
        arrow = pa.array(values, mask=missing, from_pandas=False)
        arrow = arrow.cast(dtype, safe=False) if isinstance(dtype, pa.DataType) else arrow
    elif not isinstance(dtype, pa.DataType):
        arrow = pa.array(values, type=pa.large_string())
    else:  # what a dictionary lacks is added at its end, for it is not part of the dtype
        arrow = pa.array([*store.categories, *values], type=dtype)[len(store.categories) :]
    if kind == "polars":
        return library("polars").from_arrow(arrow).cast(dtype)
    return arrow if kind == "pyarrow" else store.dtype.__from_arrow__(arrow)


def as_floats(column: Any, kind: Kind) -> Floats:
    """A column of numbers, or an array of pandas, as float64; what is missing becomes NaN."""
    if _is_in_arrow(column, kind):
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
    if kind == "numpy":
        objects = as_array(column.tolist())
    else:
        objects = as_array(column.to_pylist() if kind == "pyarrow" else column.to_list())
    objects[is_missing(objects)] = None
    return objects


def _is_in_arrow(column: Any, kind: Kind) -> bool:
    """Whether a column of pandas is one of pyarrow inside."""
    return kind == "pandas" and hasattr(column.dtype, "pyarrow_dtype")


# --- change ---------------------------------------------------------------------------------------


def cast(column: Any, store: Storage, kind: Kind) -> Any:
    """A column of numbers in another numeric dtype that is at least as wide."""
    if kind == "pyarrow":
        return column.cast(store.dtype, safe=False)
    return column.cast(store.dtype) if kind == "polars" else column.astype(store.dtype)


def put(column: Any, rows: Ints, new: Any, kind: Kind) -> Any:
    """A copy of a column (an array, for pandas) with other values in some rows."""
    if kind == "polars":
        is_empty = column.dtype == library("polars").Null
        return column if is_empty else column.clone().scatter(rows, new)
    pa = library("pyarrow")
    if _is_in_arrow(column, kind):
        arrow = put(pa.array(column), rows, pa.array(new), "pyarrow")
        return column.dtype.__from_arrow__(arrow)
    if kind == "pyarrow":
        chunks = [c for piece in (column, new) for c in getattr(piece, "chunks", [piece])]
        order = np.arange(len(column))
        order[rows] = len(column) + np.arange(len(rows))
        return one_chunk(pa.chunked_array(chunks, type=column.type)).take(pa.array(order))
    is_plain = isinstance(column.dtype, np.dtype)
    out = np.array(column) if is_plain else column.array.copy()
    out[rows] = new
    return out

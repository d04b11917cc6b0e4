"""The values of one column: read from its library, built into it again, joined.

Every column has a neutral form, the pair (values, missing): numbers and flags are a numpy array of
their own width, text and categories an array of objects, and `missing` is a mask. NaN is a value of
its own where the library tells it from a missing one.

What dtypes there are, and which one to build, is the business of `robx.tables.storage`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput
from robx.tables.storage import Kind, Storage, is_missing, library, one_chunk

Neutral = tuple[NDArray[Any], NDArray[np.bool_]]


# --- read -----------------------------------------------------------------------------------------


def read(column: Any, store: Storage, kind: Kind) -> Neutral:
    """A column's values in the neutral form, copied."""
    if store.is_plain:
        values = np.array(column, dtype=store.dtype)
        return values, is_missing(values) if values.dtype == object else np.zeros(len(values), bool)
    if hasattr(store.dtype, "pyarrow_dtype"):
        column, kind = library("pyarrow").chunked_array(column), "pyarrow"
    zero = store.is_number and 0
    if kind == "pandas":
        missing = np.array(column.isna(), dtype=bool)
        if store.number:
            return column.to_numpy(dtype=store.number, na_value=zero, copy=True), missing
        return _objects(column.astype(object).tolist()), missing
    missing = np.array(column.is_null(), dtype=bool)
    if store.number:
        filled = column.fill_null(zero).to_numpy()
        return np.array(filled, dtype=store.number), missing
    return _objects(column.to_list() if kind == "polars" else column.to_pylist()), missing


def _objects(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    plain = [value.item() if isinstance(value, np.generic) else value for value in plain]
    return np.fromiter(plain, dtype=object, count=len(plain))


# --- build ----------------------------------------------------------------------------------------


def neutral(values: Any, store: Storage, name: str) -> Neutral:
    """A caller's values in the neutral form of a column; what it cannot hold is an error."""
    given = values if isinstance(values, np.ndarray) else _objects(list(values))
    if store.number and store.dtype != object:
        out, missing = _numbers(given, store, name)
    else:
        out, missing = _objects_of(given, store, name)
    if missing.any() and store.is_plain and store.dtype.kind not in "fO":
        raise refused(None, store, name)
    return out, missing


def pick(values: Any, rows: NDArray[np.intp]) -> NDArray[Any]:
    """Some of a caller's values."""
    given = values if isinstance(values, np.ndarray) else _objects(list(values))
    return given[rows]


def has_missing(values: Any) -> bool:
    """Whether a caller's values hold a missing one."""
    given = values if isinstance(values, np.ndarray) else _objects(list(values))
    if given.dtype.kind == "f":
        return bool(np.isnan(given).any())
    return given.dtype.kind == "O" and bool(is_missing(given).any())


def _objects_of(given: NDArray[Any], store: Storage, name: str) -> Neutral:
    out = _objects(given)
    missing = is_missing(out)
    known = frozenset(store.categories)
    is_cut = store.is_plain and store.dtype.kind == "U"
    width = store.dtype.itemsize // 4 if is_cut else None
    for value in [] if store.dtype == object and not store.number else out[~missing]:
        if store.has_fixed_categories:
            fits = isinstance(value, Hashable) and value in known
        elif store.number:
            fits = isinstance(value, Real)
        else:
            fits = not store.is_text or isinstance(value, str)
        if not fits or (width is not None and len(value) > width):
            raise refused(value, store, name)
    return out, missing


def refused(value: object, store: Storage, name: str) -> InvalidInput:
    """The error for a value that a column cannot hold."""
    plain = value.item() if isinstance(value, np.generic) else value
    if store.has_fixed_categories:
        return InvalidInput(
            f"Column '{name}' has no category {plain!r}; it cannot be written to it."
        )
    return InvalidInput(f"Column '{name}' holds {store.dtype}; {plain!r} cannot be written to it.")


def _numbers(given: NDArray[Any], store: Storage, name: str) -> Neutral:
    target = np.dtype(store.number)
    if given.dtype == target == np.float64 and not store.is_integer:  # the common case, in a hurry
        return given.copy(), np.isnan(given)
    if given.dtype.kind not in "biuf":
        given, missing = _plain_numbers(_objects(given), target, store, name)
    else:
        missing = np.isnan(given) if given.dtype.kind == "f" else np.zeros(len(given), bool)
    solid = np.where(missing, given.dtype.type(0), given)
    with np.errstate(all="ignore"):
        out = solid.astype(target)
        held = _held(solid, out)
    if store.is_integer and solid.dtype.kind == "f":
        held &= solid == np.rint(solid)
    if not held.all():
        raise refused(solid[~held][0], store, name)
    if target.kind == "f":
        out[missing] = np.nan
    return out, missing


def _plain_numbers(
    values: NDArray[Any], target: np.dtype[Any], store: Storage, name: str
) -> Neutral:
    """Objects as numbers: Python's whole numbers stay exact where the column's are."""
    missing = is_missing(values)
    real = values[~missing]
    for value in real:
        if not isinstance(value, Real):
            raise refused(value, store, name)
    exact = target.kind in "iu" and all(isinstance(value, Integral) for value in real)
    try:
        numbers = real.astype(target if exact else np.float64)
    except OverflowError:
        raise refused(max(real, key=abs), store, name) from None
    out = np.zeros(len(values), dtype=numbers.dtype)
    out[~missing] = numbers
    return out, missing


def _held(given: NDArray[Any], cast: NDArray[Any]) -> NDArray[np.bool_]:
    """Where numbers survived a cast, but for the rounding of a float."""
    if cast.dtype.kind == "f":
        return np.asarray(np.isfinite(cast) | ~np.isfinite(given))
    if cast.dtype.kind == "b":
        return np.asarray((given == 0) | (given == 1))
    if given.dtype.kind == "f":  # both ends are exact as floats: the upper one is a power of two
        limits = np.iinfo(cast.dtype)
        return np.asarray((given >= float(limits.min)) & (given < float(limits.max // 2 + 1) * 2))
    return np.asarray((cast.astype(given.dtype) == given) & ((cast >= 0) == (given >= 0)))


def build(values: NDArray[Any], missing: NDArray[np.bool_], store: Storage, kind: Kind) -> Any:
    """A column of a library from the neutral form; it may keep the arrays that it is given."""
    if store.is_plain:
        return _build_plain(values, missing, store, kind)
    if hasattr(store.dtype, "pyarrow_dtype"):
        pd, pa = library("pandas"), library("pyarrow")
        inner = replace(store, dtype=store.dtype.pyarrow_dtype)
        whole = pa.chunked_array([build(values, missing, inner, "pyarrow")])
        return pd.Series(pd.arrays.ArrowExtensionArray(whole))
    if kind == "pyarrow":
        return _build_arrow(values, missing, store)
    if not store.number:
        values[missing] = None
    if kind == "polars":
        pl = library("polars")
        if not store.number:
            return pl.Series(values.tolist(), dtype=store.dtype)
        column = pl.Series(values).cast(store.dtype)
        return column.zip_with(pl.Series(~missing), column.clear(len(column)))
    pd = library("pandas")
    if store.is_category:
        codes = _codes(values, missing, store.categories)
        return pd.Series(pd.Categorical.from_codes(codes, dtype=store.dtype))
    if store.number:
        return pd.Series(store.dtype.construct_array_type()(values, missing))
    return pd.Series(values, dtype=store.dtype)


def _build_plain(
    values: NDArray[Any], missing: NDArray[np.bool_], store: Storage, kind: Kind
) -> Any:
    if store.dtype == object:
        values = _objects(values)
        blanks = {"None": None, "nan": float("nan")}
        values[missing] = blanks[store.blank] if store.blank in blanks else library("pandas").NA
    out = values.astype(store.dtype, copy=False)
    return out if kind == "numpy" else library("pandas").Series(out, dtype=store.dtype)


def _build_arrow(values: NDArray[Any], missing: NDArray[np.bool_], store: Storage) -> Any:
    pa = library("pyarrow")
    if store.number:
        return pa.array(values, mask=missing, from_pandas=False).cast(store.dtype, safe=False)
    if not store.is_category:
        return pa.array(values, mask=missing, type=store.dtype)
    # The dictionary is no part of the dtype: what it lacks is added at its end.
    categories = [*dict.fromkeys([*store.categories, *values[~missing]])]
    codes = pa.array(_codes(values, missing, categories), mask=missing)
    return pa.DictionaryArray.from_arrays(
        codes.cast(store.dtype.index_type),
        pa.array(categories, type=store.dtype.value_type),
        ordered=store.dtype.ordered,
    )


def _codes(
    values: NDArray[Any], missing: NDArray[np.bool_], categories: Sequence[Any]
) -> NDArray[np.int64]:
    code = {category: i for i, category in enumerate(categories)}
    pairs = zip(values, missing, strict=True)
    return np.array([-1 if blank else code[value] for value, blank in pairs], dtype=np.int64)


# --- put together ---------------------------------------------------------------------------------


def cast(column: Any, store: Storage, kind: Kind) -> Any:
    """A column of numbers in another numeric dtype that is at least as wide."""
    if kind == "pyarrow":
        return column.cast(store.dtype, safe=False)
    return column.cast(store.dtype) if kind == "polars" else column.astype(store.dtype)


def join(pieces: Sequence[Any], rows: NDArray[np.intp], kind: Kind) -> Any:
    """Rows of several columns of one dtype, counted through; always fresh memory."""
    if kind == "numpy":
        return np.concatenate(pieces, dtype=pieces[0].dtype)[rows]
    if kind == "polars":
        return library("polars").concat(pieces, rechunk=True).gather(rows)
    if kind == "pandas":
        return library("pandas").concat(pieces, ignore_index=True).take(rows).reset_index(drop=True)
    pa = library("pyarrow")
    chunks = [c for piece in pieces for c in getattr(piece, "chunks", [piece])]
    return one_chunk(pa.chunked_array(chunks, type=pieces[0].type)).take(pa.array(rows))

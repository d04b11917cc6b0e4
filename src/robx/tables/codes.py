"""Columns of text and categories, as the codes of a model or the numbers of a schema."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from robx.arrays import Bools, Floats, Ints
from robx.errors import InvalidInput
from robx.parameters import listed
from robx.tables.cells import Complaints, shown
from robx.tables.column import Column
from robx.tables.columns import as_objects
from robx.tables.frames import Kind, library
from robx.tables.storage import Storage, is_missing, one_chunk

#: From a value of a column to its number.
Spelling = Callable[[Any], float]
#: Values that may be a category.
LABELS = (str, bool, int, float, np.generic)


def codes_of_column(
    values: Any, kind: Kind, store: Storage, column: Column, complaints: Complaints
) -> Floats:
    """The code that a model has for each row's category: (n,) float64."""
    what = complaints.what
    if column.categories is None:
        # The model knows codes alone: a category column's own order gives them, as in training.
        if not store.has_fixed_categories:
            raise InvalidInput(
                f"Column '{column.name}' of {what} must hold category codes, or be a category "
                "column of fixed order (pandas category, polars Enum): the model knows its "
                f"categories only by number. Got {named_dtype(values)}."
            )
        column = replace(column, categories=store.categories)
    elif store.is_number and not column.by_value:
        raise InvalidInput(
            f"Column '{column.name}' of {what} must hold the categories "
            f"{listed(column.categories)}. Got {named_dtype(values)}: codes and categories cannot "
            "be told apart; convert the column to a category dtype."
        )
    return look_up(*factorized(values, kind), column, complaints)


def named_dtype(values: Any) -> Any:
    """What to call the dtype of a column in an error."""
    return nw.from_native(values, series_only=True, allow_series=True).dtype


def factorized(values: Any, kind: Kind) -> tuple[list[Any], Ints]:
    """The values that occur in a column, and for each row the place of its own; -1 is missing."""
    if kind == "pandas" and hasattr(values.dtype, "categories"):
        return values.dtype.categories.tolist(), values.array.codes
    pa = library("pyarrow")
    is_object = str(getattr(values, "dtype", "")).lower() == "object"
    whole = None
    if not (is_object and kind == "polars"):
        # Of objects of several kinds Arrow says in several ways that it cannot hold them.
        with suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
            arrow = values.to_arrow() if kind == "polars" else values
            if kind == "pandas":
                arrow = pa.array(values, from_pandas=True)
            whole = one_chunk(arrow.dictionary_encode())
    # Text beside bytes would become bytes as well.
    if whole is None or (is_object and not pa.types.is_string(whole.dictionary.type)):
        objects = as_objects(values, kind)
        return objects.tolist(), np.where(is_missing(objects), -1, np.arange(len(objects)))
    codes = whole.indices.cast("int64").fill_null(-1).to_numpy()
    return whole.dictionary.to_pylist(), codes


def spelled(
    values: list[Any], codes: NDArray[Any], spell: Spelling, name: str, complaints: Complaints
) -> Floats:
    """The number of each row's value, which is ``values[code]``; NaN where missing."""
    numbers = np.full(len(values) + 1, np.nan)  # the last one, which is also -1, is missing
    odd = np.zeros(len(numbers), dtype=bool)
    for k, (value, lacks) in enumerate(zip(values, is_missing(values), strict=True)):
        odd[k] = not lacks and not isinstance(value, LABELS)
        if not (lacks or odd[k]):
            numbers[k] = spell(value)
    _complain_of_odd(values, codes, odd, name, complaints)
    return np.asarray(numbers[codes])


def look_up(
    values: list[Any], codes: NDArray[Any], column: Column, complaints: Complaints
) -> Floats:
    """The code of each row's value, which is ``values[code]``; NaN where missing.

    A value that is none of the categories gets the first code that no category has.
    """
    order = column.categories or ()
    place = {category: float(i) for i, category in enumerate(order)}
    places = np.full(len(values) + 1, np.nan)  # the last one, which is also -1, is missing
    odd, refused = np.zeros((2, len(places)), dtype=bool)
    for k, (value, lacks) in enumerate(zip(values, is_missing(values), strict=True)):
        if isinstance(value, Hashable) and value in place:
            places[k] = place[value]
        elif not lacks:
            odd[k] = not isinstance(value, LABELS)
            refused[k] = not column.takes_unseen and not odd[k]
            places[k] = np.nan if odd[k] or refused[k] else max(column.n_codes, len(order))
    _complain_of_odd(values, codes, odd, column.name, complaints)
    if refused.any() and (bad := refused[codes]).any():
        complaints.add(
            np.flatnonzero(bad),
            lambda row: (
                f"Column '{column.name}' of {complaints.what} has the category "
                f"{shown(values[codes[row]])} in row {row}, which the model was not trained on and "
                f"refuses. It knows {listed(order)}. Replace it with one of these, or with a "
                "missing value."
            ),
            lambda row: (
                f"{column.name} is {shown(values[codes[row]])}, a category that the model was not "
                "trained on and refuses"
            ),
        )
    return np.asarray(places[codes])


def read_label(value: Any, column: Column, reasons: dict[int, str]) -> float:
    """The code of a single value; NaN and a reason for row 0 where the model refuses it."""
    code = look_up([value], np.zeros(1, dtype=np.int64), column, Complaints("X", reasons))
    settle(code, column)
    return float(code[0])


def _complain_of_odd(
    values: list[Any], codes: NDArray[Any], odd: Bools, name: str, complaints: Complaints
) -> None:
    if not odd.any():
        return
    complaints.add(
        np.flatnonzero(odd[codes]),
        lambda row: (
            f"Column '{name}' of {complaints.what} must hold text, numbers or categories. Got "
            f"{shown(values[codes[row]])} in row {row}. Replace it with one of these, or with a "
            "missing value."
        ),
        lambda row: f"{name} is {shown(values[codes[row]])}, which is neither text nor a number",
    )


def settle(values: Floats, column: Column) -> None:
    """Turn what means missing into NaN and any other code into the one for "unseen", in place."""
    if column.missing_range is not None:
        low, high = column.missing_range
        values[(values >= low) & (values <= high)] = np.nan
    if column.is_category:
        known = np.isfinite(values)
        codes = np.trunc(values, where=known, out=np.full_like(values, -1.0))
        unseen = ~np.isnan(values) & ((codes < 0) | (codes >= column.n_codes))
        values[known] = codes[known]
        values[unseen] = np.nan if column.unseen_is_missing else column.n_codes

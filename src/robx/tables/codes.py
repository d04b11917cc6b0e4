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
ANY_LABEL = "text, numbers or categories"
#: Why a category is refused, and what to do about it.
NOT_TRAINED_ON = "the model was not trained on and refuses"
REPLACE_IT = "Replace it with one of these, or with a missing value."
NOT_NAMED = "was not in the table that the model was imported with"
NAME_IT = "Import the model with a table that has all of its categories: X= of robx.import_model."


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


def codes_of_numbers(values: Floats, column: Column, complaints: Complaints) -> Floats:
    """The code for each of an array's numbers, which are categories themselves: (n,) float64."""
    found, codes = np.unique(values, return_inverse=True)
    labels: list[Any] = found.tolist()
    if column.as_text:  # an array of integers was read as floats
        labels = [int(label) if label.is_integer() else label for label in labels]
    return look_up(labels, codes, column, complaints)


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
    spell = category_text if column.as_text else _itself
    place = {spell(category): float(i) for i, category in enumerate(order)}
    places = np.full(len(values) + 1, np.nan)  # the last one, which is also -1, is missing
    odd, refused = np.zeros((2, len(places)), dtype=bool)
    for k, (value, lacks) in enumerate(zip(values, is_missing(values), strict=True)):
        category = spell(value)
        if isinstance(category, Hashable) and category in place:
            places[k] = place[category]
        elif not lacks:
            odd[k] = not isinstance(category, LABELS)
            refused[k] = not column.takes_unseen and not odd[k]
            places[k] = np.nan if odd[k] or refused[k] else max(column.n_codes, len(order))
    kinds = "text or whole numbers" if column.as_text else ANY_LABEL
    _complain_of_odd(values, codes, odd, column.name, complaints, kinds)
    if refused.any() and (bad := refused[codes]).any():
        why, advice = (NOT_NAMED, NAME_IT) if column.partly_known else (NOT_TRAINED_ON, REPLACE_IT)
        complaints.add(
            np.flatnonzero(bad),
            lambda row: (
                f"Column '{column.name}' of {complaints.what} has the category "
                f"{shown(values[codes[row]])} in row {row}, which {why}. It knows {listed(order)}. "
                f"{advice}"
            ),
            lambda row: f"{column.name} is {shown(values[codes[row]])}, a category that {why}",
        )
    return np.asarray(places[codes])


def category_text(value: Any) -> str | None:
    """Spell a category as CatBoost does, which compares text; None for what it does not take.

    >>> [category_text(value) for value in ("a", 3, True, 2.5)]
    ['a', '3', '1', None]
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:  # half of a character
            return None
        return str(value)
    if isinstance(value, bool | int | np.bool_ | np.integer) and -(2**63) <= value < 2**63:
        return str(int(value))
    return None


def _itself(value: Any) -> Any:
    return value


def read_label(value: Any, column: Column, reasons: dict[int, str]) -> float:
    """The code of a single value; NaN and a reason for row 0 where the model refuses it."""
    code = look_up([value], np.zeros(1, dtype=np.int64), column, Complaints("X", reasons))
    settle(code, column)
    return float(code[0])


def _complain_of_odd(
    values: list[Any],
    codes: NDArray[Any],
    odd: Bools,
    name: str,
    complaints: Complaints,
    kinds: str = ANY_LABEL,
) -> None:
    if not odd.any():
        return
    number = "a number" if kinds == ANY_LABEL else "a whole number"
    complaints.add(
        np.flatnonzero(odd[codes]),
        lambda row: (
            f"Column '{name}' of {complaints.what} must hold {kinds}. Got "
            f"{shown(values[codes[row]])} in row {row}. Replace it with one of these, or with a "
            "missing value."
        ),
        lambda row: f"{name} is {shown(values[codes[row]])}, which is neither text nor {number}",
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

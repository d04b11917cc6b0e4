"""Reading tables: pandas, polars, pyarrow or numpy in, one float64 matrix out.

Columns are known by name. A frame may have them in any order; a column that is missing, extra,
doubled or of the wrong kind is an error that names it. Categories become codes; missing values, and
values that the model takes to mean "missing", become NaN. Rows are never dropped or reordered.

This module decides nothing about models: `Column` says what a model wants of each column.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from robx.arrays import Floats, Ints
from robx.errors import InvalidInput
from robx.parameters import listed
from robx.tables.columns import as_floats, as_objects
from robx.tables.frames import Kind, Table, library, opened, positions
from robx.tables.storage import Storage, is_missing, of_dtype, one_chunk

Category = str | int | float | bool
ROWS_AT_ONCE = 2**16


@dataclass(frozen=True)
class Column:
    """What a model wants of one column.

    Parameters
    ----------
    name : str
        The column's name in a frame.
    n_codes : int
        How many categories it has; 0 for a number. Codes run from 0 to ``n_codes - 1``.
    categories : tuple, optional
        The categories behind the codes, in order, where the model knows them.
    by_value : bool
        An array holds the categories themselves, not their codes.
    unseen_is_missing : bool
        A code that the model was not trained on counts as missing. Otherwise it becomes the code
        ``n_codes``, for which every split of the model has an answer too.
    missing_range : (float, float), optional
        Values in this closed range mean "missing", besides NaN.
    takes_missing : bool
        Whether a missing value has a meaning to the model.
    largest : float
        The largest absolute value that the model takes.
    largest_integer : float
        The same in an array of integers, which LightGBM rounds to float32.
    blank : str
        What the model's library writes for a blank in a column's name.
    """

    name: str
    n_codes: int = 0
    categories: tuple[Category, ...] | None = None
    by_value: bool = False
    unseen_is_missing: bool = False
    missing_range: tuple[float, float] | None = None
    takes_missing: bool = True
    largest: float = float("inf")
    largest_integer: float = float("inf")
    blank: str = " "

    @property
    def is_category(self) -> bool:
        """Whether the column holds categories."""
        return self.n_codes > 0

    @property
    def needs_settling(self) -> bool:
        """Whether some of its values stand for others."""
        return self.is_category or self.missing_range is not None


def distinct_values(X: Any, j: int) -> list[Any]:
    """Values that occur in a frame's column, missing ones left out."""
    series = nw.from_native(opened(X).column(j), series_only=True, allow_series=True)
    values: list[Any] = series.drop_nulls().unique().to_list()
    return values


def number_column(X: Any, j: int) -> Floats:
    """One column of numbers of a table: (n,) float64."""
    table = opened(X)
    if table.kind == "numpy":
        return np.asarray(X, dtype=np.float64)[:, j]
    store = of_dtype(table.dtypes[j], table.kind)
    return _read_column(table.column(j), table.kind, store, Column(str(table.labels[j])), "X")


def read_matrix(X: object, columns: Sequence[Column], *, named: bool, what: str = "X") -> Floats:
    """Read a table into the numbers that a model's splits are written in.

    Parameters
    ----------
    X : table of shape (n, d)
        A pandas, polars or pyarrow frame, or anything that numpy takes as a matrix.
    columns : sequence of d Columns
        What the model wants, in its order.
    named : bool
        Whether the names in `columns` are the user's. A model trained on a bare array has none; it
        takes a frame's columns as they stand.
    what : str
        What to call the table in an error.

    Returns
    -------
    (n, d) float64
        C-ordered. It may be the caller's own array where nothing had to be changed: not to be
        written to.
    """
    table = opened(X, what)
    if table.kind == "numpy":
        raw = _from_array(X, columns, what)
        for j, column in enumerate(columns):
            if column.by_value:
                values, codes = np.unique(raw[:, j], return_inverse=True)
                order = list(column.categories or ())
                raw[:, j] = _look_up(values.tolist(), codes, order, column, what)
    else:
        raw = _from_frame(table, columns, named, what)
    for j, column in enumerate(columns):
        if column.needs_settling:
            _settle(raw[:, j], column)
    _check_values(raw, columns, what)
    return raw


def _from_array(X: object, columns: Sequence[Column], what: str) -> Floats:
    # A fresh copy only where values will be changed: the caller's table stays as it is.
    changes = any(column.needs_settling for column in columns)
    try:
        given = np.ma.asarray(X, np.float64).filled(np.nan) if np.ma.isMA(X) else np.asarray(X)
        kind = given.dtype.kind
        raw = np.asarray(given, dtype=np.float64, order="C") if kind in "biufO" else None
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{what} must be a table of numbers, or a DataFrame. Got {type(X).__name__} that "
            f"numpy cannot read as numbers: {error}."
        ) from error
    if raw is None:
        raise InvalidInput(
            f"{what} must be a table of numbers, or a DataFrame. Got an array of {given.dtype}."
        )
    raw = raw.copy() if changes else raw
    if raw.ndim != 2:
        hint = " For a single row use X.reshape(1, -1)." if raw.ndim == 1 else ""
        raise InvalidInput(
            f"{what} must have two dimensions (rows, columns). Got shape {raw.shape}.{hint}"
        )
    if raw.shape[1] != len(columns):
        raise InvalidInput(
            f"{what} must have the {len(columns)} columns that the model was trained on. "
            f"Got {raw.shape[1]}."
        )
    limits = [column.largest_integer for column in columns]
    if kind in ("i", "u") and (np.abs(raw) > limits).any():
        raise InvalidInput(
            f"{what} is an array of integers beyond {min(limits):.0f}, which the model's library "
            f"would round. Pass {what}.astype(float)."
        )
    return raw


def _from_frame(table: Table, columns: Sequence[Column], named: bool, what: str) -> Floats:
    places = _places(table, columns, named, what)
    dtypes = table.dtypes
    stores = [of_dtype(dtypes[place], table.kind) for place in places]
    raw = np.empty((len(table.native), len(columns)), dtype=np.float64)
    at_once = [
        table.kind == "pandas" and store.dtype.kind in "biuf" and _is_numbers(store, column)
        for store, column in zip(stores, columns, strict=True)
    ]
    if any(at_once):
        which = [place for place, numbers in zip(places, at_once, strict=True) if numbers]
        some = table if which == list(range(len(dtypes))) else table.columns(which)
        blank = {} if all(store.is_plain for store in stores) else {"na_value": np.nan}
        raw[:, at_once] = some.native.to_numpy(np.float64, **blank)
    for j in np.flatnonzero(~np.array(at_once)).tolist():
        values = table.column(places[j])
        raw[:, j] = _read_column(values, table.kind, stores[j], columns[j], what)
    return raw


def _places(table: Table, columns: Sequence[Column], named: bool, what: str) -> list[int]:
    """Find the columns in a frame: by name, or as they stand for a model without names."""
    if named:
        return positions(columns, table.labels, what)
    if len(table.labels) != len(columns):
        raise InvalidInput(
            f"{what} must have the {len(columns)} columns that the model was trained on. "
            f"Got {len(table.labels)}: {listed(list(map(str, table.labels)))}."
        )
    return list(range(len(columns)))


def check_columns(X: Any, columns: Sequence[Column], *, named: bool, what: str = "X") -> None:
    """Raise `InvalidInput` unless a table has the columns that a model takes, of their types.

    Values are not looked at; the parameters are those of `read_matrix`.
    """
    table = opened(X, what)
    if table.kind == "numpy":
        _from_array(X, columns, what)
        return
    for column, place in zip(columns, _places(table, columns, named, what), strict=True):
        store = of_dtype(table.dtypes[place], table.kind)
        if store.number and not column.is_category:
            continue
        values = table.column(place)
        is_text = store.is_text and column.categories is None
        if not (is_text or not column.is_category):
            continue
        if is_missing(as_objects(values, table.kind)).all():
            continue
        if not column.is_category:
            raise InvalidInput(
                f"Column '{column.name}' of {what} holds {_named_dtype(values)}; the model takes "
                "numbers there."
            )
        raise InvalidInput(
            f"Column '{column.name}' of {what} holds text; the model knows its categories only by "
            "number."
        )


def _is_numbers(store: Storage, column: Column) -> bool:
    """Whether a frame's column holds what a model takes as numbers; flags are not codes."""
    if column.is_category:
        return store.is_number and not column.categories and not column.by_value
    return store.number != ""


def _read_column(values: Any, kind: Kind, store: Storage, column: Column, what: str) -> Floats:
    if _is_numbers(store, column):
        return as_floats(values, kind)
    if column.is_category:
        return _codes_of_column(values, kind, store, column, what)
    if is_missing(as_objects(values, kind)).all():  # a column of nothing has no type to speak of
        return np.full(len(values), np.nan)
    raise InvalidInput(
        f"Column '{column.name}' of {what} must hold numbers, as the model was trained on. "
        f"Got {_named_dtype(values)}."
    )


def _codes_of_column(values: Any, kind: Kind, store: Storage, column: Column, what: str) -> Floats:
    if column.categories is None:
        # The model knows codes alone: a category column's own order gives them, as in training.
        if not store.has_fixed_categories:
            raise InvalidInput(
                f"Column '{column.name}' of {what} must hold category codes, or be a category "
                "column of fixed order (pandas category, polars Enum): the model knows its "
                f"categories only by number. Got {_named_dtype(values)}."
            )
        order = list(store.categories)
    elif store.is_number and not column.by_value:
        raise InvalidInput(
            f"Column '{column.name}' of {what} must hold the categories "
            f"{listed(column.categories)}. Got {_named_dtype(values)}: codes and categories cannot "
            "be told apart; convert the column to a category dtype."
        )
    else:
        order = list(column.categories)
    return _look_up(*_factorized(values, kind), order, column, what)


def _named_dtype(values: Any) -> Any:
    return nw.from_native(values, series_only=True, allow_series=True).dtype


def _factorized(values: Any, kind: Kind) -> tuple[list[Any], Ints]:
    """The values that occur in a column, and for each row the place of its own; -1 is missing."""
    if kind == "pandas" and hasattr(values.dtype, "categories"):
        return values.dtype.categories.tolist(), values.array.codes
    pa = library("pyarrow")
    try:
        arrow = values.to_arrow() if kind == "polars" else values
        if kind == "pandas":
            arrow = pa.array(values, from_pandas=True)
        whole = one_chunk(arrow.dictionary_encode())
    except pa.ArrowException:  # objects of several kinds
        objects = as_objects(values, kind)
        return objects.tolist(), np.where(is_missing(objects), -1, np.arange(len(objects)))
    codes = whole.indices.cast("int64").fill_null(-1).to_numpy()
    return whole.dictionary.to_pylist(), codes


def _look_up(
    values: list[Any], codes: NDArray[Any], order: list[Any], column: Column, what: str
) -> Floats:
    """The place in `order` of each row's value, which is ``values[code]``; NaN where missing."""
    place = {category: float(i) for i, category in enumerate(order)}
    places = np.full(len(values) + 1, np.nan)  # the last one, which is also -1, is missing
    unknown = np.zeros(len(places), dtype=bool)
    for k, value in enumerate(values):
        if isinstance(value, Hashable) and value in place:
            places[k] = place[value]
        else:
            unknown[k] = not (value is None or (isinstance(value, float) and np.isnan(value)))
    if unknown.any() and (bad := unknown[codes]).any():
        row = int(bad.argmax())
        raise InvalidInput(
            f"Column '{column.name}' of {what} has the category {values[codes[row]]!r} in row "
            f"{row}, which is not known. Known are {listed(order)}. Replace it with one of "
            "these, or with a missing value."
        )
    return np.asarray(places[codes])


def _settle(values: Floats, column: Column) -> None:
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


def _check_values(raw: Floats, columns: Sequence[Column], what: str) -> None:
    """Refuse values that the model would refuse, a part of the rows at a time."""
    refuses = np.array([not column.takes_missing for column in columns], dtype=bool)
    largest = np.array([np.inf if column.is_category else column.largest for column in columns])
    for first in range(0, len(raw), ROWS_AT_ONCE):
        part = raw[first : first + ROWS_AT_ONCE]
        if refuses.any() and (bad := np.isnan(part) & refuses).any():
            row, j = map(int, np.argwhere(bad)[0])
            raise InvalidInput(
                f"Column '{columns[j].name}' of {what} has a missing value in row {first + row}; "
                "the model does not take missing values. Fill it first."
            )
        with np.errstate(invalid="ignore"):
            bad = np.abs(part) > largest
        if bad.any():
            row, j = map(int, np.argwhere(bad)[0])
            raise InvalidInput(
                f"Column '{columns[j].name}' of {what} has the value {part[row, j]} in row "
                f"{first + row}; the model takes values up to {columns[j].largest:.4g} in size."
            )

"""Reading tables: pandas, polars, pyarrow or numpy in, one float64 matrix out.

Columns are known by name. A frame may have them in any order; a column that is missing, extra,
doubled or of the wrong kind is an error that names it. Categories become codes; missing values, and
values that the model takes to mean "missing", become NaN. Rows are never dropped or reordered. What
is wrong with a single cell is an error that names its row, or a reason for that row alone.

Nothing here decides about models: `Column` says what a model wants of each column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from robx.arrays import Bools, Floats
from robx.errors import InvalidInput
from robx.parameters import listed
from robx.tables.cells import NUMBERS, Complaints, numbers_in, shown
from robx.tables.codes import (
    Spelling,
    codes_of_column,
    factorized,
    look_up,
    named_dtype,
    settle,
    spelled,
)
from robx.tables.column import Column
from robx.tables.columns import as_floats, as_objects, plain_array
from robx.tables.frames import Kind, Table, opened, positions
from robx.tables.storage import Storage, is_missing, of_dtype

NO_SPELLING: Mapping[int, Spelling] = MappingProxyType({})
ROWS_AT_ONCE = 2**16


def distinct_values(X: Any, j: int) -> list[Any]:
    """Values that occur in a frame's column, missing ones left out."""
    series = nw.from_native(opened(X).column(j), series_only=True, allow_series=True)
    values: list[Any] = series.drop_nulls().unique().to_list()
    return values


def column_values(X: Any, j: int) -> list[Any]:
    """All values of a frame's column, None where one is missing."""
    table = opened(X)
    values: list[Any] = as_objects(table.column(j), table.kind).tolist()
    return values


def number_column(X: Any, j: int) -> Floats:
    """One column of numbers of a table: (n,) float64."""
    table = opened(X)
    if table.kind == "numpy":
        return np.asarray(X, dtype=np.float64)[:, j]
    store = of_dtype(table.dtypes[j], table.kind)
    column = Column(str(table.labels[j]))
    return _read_column(table.column(j), table.kind, store, column, Complaints("X"))


def read_matrix(
    X: object,
    columns: Sequence[Column],
    *,
    named: bool,
    what: str = "X",
    reasons: dict[int, str] | None = None,
    spell: Mapping[int, Spelling] = NO_SPELLING,
) -> Floats:
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
    reasons : dict from rows to reasons, optional
        Where to say of single rows why they cannot be read; such cells become NaN. Without it, the
        first such cell is an error.
    spell : mapping from columns to functions, optional
        For columns of text or categories that are not the model's: the number of each value. Such
        a `Column` is `by_value` if its categories are numbers.

    Returns
    -------
    (n, d) float64
        C-ordered. It may be the caller's own array where nothing had to be changed: not to be
        written to.
    """
    table, complaints = opened(X, what), Complaints(what, reasons)
    if table.kind == "numpy":
        raw = _from_array(X, columns, spell, complaints)
        for j, column in enumerate(columns):
            if column.by_value and column.is_category:
                values, codes = np.unique(raw[:, j], return_inverse=True)
                raw[:, j] = look_up(values.tolist(), codes, column, complaints)
    else:
        raw = _from_frame(table, columns, named, spell, complaints)
    for j, column in enumerate(columns):
        if column.needs_settling:
            settle(raw[:, j], column)
    _check_values(raw, columns, complaints)
    return raw


def _from_array(
    X: object, columns: Sequence[Column], spell: Mapping[int, Spelling], complaints: Complaints
) -> Floats:
    # A fresh copy only where values will be changed: the caller's table stays as it is.
    changes = any(column.needs_settling for column in columns)
    what = complaints.what
    given = plain_array(X, what)
    kind = given.dtype.kind
    if kind not in "biufO" or isinstance(X, Mapping):
        got = f"an array of {given.dtype}" if kind != "O" else type(X).__name__
        raise InvalidInput(f"{what} must be a table of numbers, or a DataFrame. Got {got}.")
    if kind == "O":
        raw = _from_cells(given, columns, spell, complaints)
    else:
        raw = np.asarray(given, dtype=np.float64, order="C")
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
    if kind in ("i", "u") and (beyond := np.abs(raw) > limits).any():
        complaints.add(
            np.flatnonzero(beyond.any(axis=1)),
            lambda _: (
                f"{what} is an array of integers beyond {min(limits):.0f}, which the model's "
                f"library would round. Pass {what}.astype(float)."
            ),
            lambda row: (
                f"{columns[int(beyond[row].argmax())].name} is an integer that the model's library "
                "would round: pass the array as floats"
            ),
        )
    return raw


def _from_cells(
    given: NDArray[Any],
    columns: Sequence[Column],
    spell: Mapping[int, Spelling],
    complaints: Complaints,
) -> Floats:
    """Read an array of objects, which may hold text that stands for numbers."""
    if given.ndim != 2 or given.shape[1] != len(columns):
        return np.zeros(given.shape)  # whose shape is refused
    raw = np.empty(given.shape)
    for j, column in enumerate(columns):
        if j in spell:
            cells, rows = given[:, j].tolist(), np.arange(len(given))
            raw[:, j] = spelled(cells, rows, spell[j], column.name, complaints)
        else:
            raw[:, j] = numbers_in(given[:, j], column.name, complaints)
    return raw


def _from_frame(
    table: Table,
    columns: Sequence[Column],
    named: bool,
    spell: Mapping[int, Spelling],
    complaints: Complaints,
) -> Floats:
    what = complaints.what
    places = _places(table, columns, named, what)
    dtypes = table.dtypes
    stores = [of_dtype(dtypes[place], table.kind) for place in places]
    raw = np.empty((len(table.native), len(columns)), dtype=np.float64)
    at_once = [
        table.kind == "pandas"
        and store.dtype.kind in "biuf"
        and j not in spell
        and _is_numbers(store, column)
        for j, (store, column) in enumerate(zip(stores, columns, strict=True))
    ]
    if any(at_once):
        which = [place for place, numbers in zip(places, at_once, strict=True) if numbers]
        some = table if which == list(range(len(dtypes))) else table.columns(which)
        blank = {} if all(store.is_plain for store in stores) else {"na_value": np.nan}
        raw[:, at_once] = some.native.to_numpy(np.float64, **blank)
    for j in np.flatnonzero(~np.array(at_once)).tolist():
        values = table.column(places[j])
        if j in spell:
            found = factorized(values, table.kind)
            if stores[j].number and not columns[j].by_value:
                _refuse_numbers(values, *found, columns[j].name, what)
            raw[:, j] = spelled(*found, spell[j], columns[j].name, complaints)
        else:
            raw[:, j] = _read_column(values, table.kind, stores[j], columns[j], complaints)
    return raw


def _refuse_numbers(
    values: Any, distinct: list[Any], codes: NDArray[Any], name: str, what: str
) -> None:
    known = ~np.append(is_missing(distinct), True)[codes]  # the last one, also -1, is missing
    if known.any():
        row = int(known.argmax())
        raise InvalidInput(
            f"Column '{name}' of {what} must hold text or categories, as the training table does. "
            f"Got {named_dtype(values)}, with {shown(distinct[codes[row]])} in row {row}."
        )


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
        _from_array(X, columns, NO_SPELLING, Complaints(what, {}))
        return
    for column, place in zip(columns, _places(table, columns, named, what), strict=True):
        store = of_dtype(table.dtypes[place], table.kind)
        if store.number and not column.is_category:
            continue
        values = table.column(place)
        is_text = store.is_text and column.categories is None
        reads_cells = store.is_object and not column.is_category
        if reads_cells or not (is_text or not column.is_category):
            continue
        if is_missing(as_objects(values, table.kind)).all():
            continue
        if not column.is_category:
            raise InvalidInput(
                f"Column '{column.name}' of {what} holds {named_dtype(values)}; the model takes "
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


def _read_column(
    values: Any, kind: Kind, store: Storage, column: Column, complaints: Complaints
) -> Floats:
    if _is_numbers(store, column):
        return as_floats(values, kind)
    if column.is_category:
        return codes_of_column(values, kind, store, column, complaints)
    objects = as_objects(values, kind)
    missing = is_missing(objects)
    if missing.all():  # a column of nothing has no type to speak of
        return np.full(len(values), np.nan)
    # Each row has its own object. In training, a column without a single number is a mistake.
    by_row = complaints.reasons is not None
    if store.is_object and (by_row or any(isinstance(v, NUMBERS) for v in objects[~missing])):
        return numbers_in(objects, column.name, complaints)
    row = int((~missing).argmax())
    raise InvalidInput(
        f"Column '{column.name}' of {complaints.what} must hold numbers, as the model was trained "
        f"on. Got {named_dtype(values)}, with {shown(objects[row])} in row {row}. Convert the "
        "column to numbers, with missing values for what is not one."
    )


def _check_values(raw: Floats, columns: Sequence[Column], complaints: Complaints) -> None:
    """Refuse values that the model would refuse, a part of the rows at a time."""
    refuses = np.array([not column.takes_missing for column in columns], dtype=bool)
    largest = np.array([np.inf if column.is_category else column.largest for column in columns])
    for first in range(0, len(raw), ROWS_AT_ONCE):
        part = raw[first : first + ROWS_AT_ONCE]
        if refuses.any() and (lacking := np.isnan(part) & refuses).any():
            _complain_of_missing(lacking, first, columns, complaints)
        with np.errstate(invalid="ignore"):
            too_large = np.abs(part) > largest
        if too_large.any():
            _complain_of_size(part, too_large, first, columns, complaints)


def _complain_of_missing(
    bad: Bools, first: int, columns: Sequence[Column], complaints: Complaints
) -> None:
    def name(row: int) -> str:
        return columns[int(bad[row - first].argmax())].name

    complaints.add(
        first + np.flatnonzero(bad.any(axis=1)),
        lambda row: (
            f"Column '{name(row)}' of {complaints.what} has a missing value in row {row}; the "
            "model does not take missing values. Fill it first."
        ),
        lambda row: f"{name(row)} is missing, and the model takes no missing values",
    )


def _complain_of_size(
    part: Floats, bad: Bools, first: int, columns: Sequence[Column], complaints: Complaints
) -> None:
    def cell(row: int) -> tuple[str, float, float]:
        j = int(bad[row - first].argmax())
        return columns[j].name, part[row - first, j], columns[j].largest

    def error(row: int) -> str:
        name, value, largest = cell(row)
        return (
            f"Column '{name}' of {complaints.what} has the value {value} in row {row}; the model "
            f"takes values up to {largest:.4g} in size."
        )

    complaints.add(
        first + np.flatnonzero(bad.any(axis=1)),
        error,
        lambda row: f"{cell(row)[0]} is larger than the model takes",
    )

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
from robx.recent import Recent
from robx.tables.cells import NUMBERS, Complaints, numbers_in, shown
from robx.tables.codes import (
    Spelling,
    codes_of_column,
    codes_of_numbers,
    factorized,
    look_up,
    named_dtype,
    settle,
    spelled,
)
from robx.tables.column import Column
from robx.tables.columns import as_floats, as_objects, plain_array
from robx.tables.frames import Kind, Table, is_records, opened, records
from robx.tables.plan import (
    FEW,
    Plan,
    cells_of,
    find_places,
    is_numbers,
    make_plan,
    read_cells,
)
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
    plans: Recent | None = None,
    own: bool = False,
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
    plans : Recent, optional
        Where to keep how tables of a layout are read, for the next one. It is for columns of a
        schema, of which only names are told: they have no codes, and take every number.
    own : bool
        Whether the numbers must not be the caller's own memory.

    Returns
    -------
    (n, d) float64
        C-ordered. Unless it must be `own`, it may be the caller's own array where nothing had to be
        changed: not to be written to.
    """
    complaints = Complaints(what, reasons)
    if plans is not None and is_records(X):
        quick = _from_records(X, columns, named, spell, plans, what)
        if quick is not None:
            return quick
    table = opened(X, what)
    if table.kind == "numpy":
        raw = _from_array(table.native, columns, spell, complaints, own=own)
    else:
        raw = _from_frame(table, columns, named, spell, plans, complaints)
    if plans is None:
        _read_as_model(raw, columns, complaints)
    return raw


def _read_as_model(raw: Floats, columns: Sequence[Column], complaints: Complaints) -> None:
    """Turn numbers into what they mean to the model, in place, and refuse what it would refuse."""
    for j, column in enumerate(columns):
        if column.needs_settling:
            settle(raw[:, j], column)
    _check_values(raw, columns, complaints)


def _check_array(given: NDArray[Any], X: Any, columns: Sequence[Column], what: str) -> None:
    """Refuse an array that is not a table of numbers or objects with these columns."""
    if given.dtype.kind not in "biufO":
        hint = " Read a file first, as with pandas.read_csv." if isinstance(X, str) else ""
        raise InvalidInput(
            f"{what} must be a table of numbers, or a DataFrame. Got an array of {given.dtype}."
            f"{hint}"
        )
    if given.dtype.kind == "O" and isinstance(X, Mapping):
        raise InvalidInput(
            f"{what} must be a table of numbers, or a DataFrame. Got {type(X).__name__}."
        )
    if given.ndim != 2:
        raise InvalidInput(
            f"{what} must have two dimensions (rows, columns). Got shape {given.shape}."
            f"{_towards_two_dimensions(given, X)}"
        )
    if given.shape[1] != len(columns):
        raise InvalidInput(
            f"{what} must have the {len(columns)} columns that the model was trained on. "
            f"Got {given.shape[1]}."
        )


def _towards_two_dimensions(given: NDArray[Any], X: Any) -> str:
    """Say how values in a line become a table; nothing for other shapes."""
    if given.ndim != 1:
        return ""
    if len(given) == 0:
        return " For no rows pass a table with columns and without rows, such as X[:0]."
    if hasattr(X, "to_frame"):  # a column or a row of a frame
        return " For a single row use a slice of the table, such as X[:1], or a dict of its values."
    return " For a single row use X.reshape(1, -1), or a dict of its values."


def _from_array(
    X: object,
    columns: Sequence[Column],
    spell: Mapping[int, Spelling],
    complaints: Complaints,
    *,
    own: bool,
) -> Floats:
    # A fresh copy only where values will be changed: the caller's table stays as it is.
    changes = own or any(column.needs_settling for column in columns)
    what = complaints.what
    given = plain_array(X, what)
    kind = given.dtype.kind
    _check_array(given, X, columns, what)
    if kind == "O":
        raw = _from_cells(given, columns, spell, complaints)
    else:
        raw = np.asarray(given, dtype=np.float64, order="C")
    raw = raw.copy() if changes and np.may_share_memory(raw, given) else raw
    limits = [column.largest_integer for column in columns]
    if kind in "iu" and min(limits) < np.inf and (beyond := np.abs(raw) > limits).any():
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
    for j, column in enumerate(columns):
        if column.by_value and column.is_category and not (kind == "O" and column.as_text):
            raw[:, j] = codes_of_numbers(raw[:, j], column, complaints)
    return raw


def _from_cells(
    given: NDArray[Any],
    columns: Sequence[Column],
    spell: Mapping[int, Spelling],
    complaints: Complaints,
) -> Floats:
    """Read an array of objects, which may hold text that stands for numbers."""
    if 0 < len(given) <= FEW and not any(column.as_text for column in columns):
        quick = read_cells(given.tolist(), range(len(columns)), spell)
        if quick is not None:
            return quick
    raw = np.empty(given.shape)
    for j, column in enumerate(columns):
        if j in spell:
            cells, rows = given[:, j].tolist(), np.arange(len(given))
            raw[:, j] = spelled(cells, rows, spell[j], column.name, complaints)
        elif column.is_ignored:
            raw[:, j] = 0.0
        elif column.as_text:
            raw[:, j] = look_up(given[:, j].tolist(), np.arange(len(given)), column, complaints)
        else:
            raw[:, j] = numbers_in(given[:, j], column.name, complaints)
    return raw


def _from_records(
    X: Any,
    columns: Sequence[Column],
    named: bool,
    spell: Mapping[int, Spelling],
    plans: Recent,
    what: str,
) -> Floats | None:
    """Read dicts of plain cells; None where one of them is not plain."""
    names, cells = records(X, what)
    own = tuple(column.name for column in columns)
    if not named and names != own:
        raise InvalidInput(
            f"{what} is given by names, and the training table is an array, whose columns have "
            f"none. Pass a list of values in their order, or the keys {listed(own)}, in this order."
            f" Got {listed(list(map(str, names)))}."
        )
    found: list[int] = plans.get(
        ("records", names),
        lambda: find_places(Table(X, "pandas", names), columns, named=named, what=what),
    )
    return read_cells(cells, found, spell, (str,))


def _from_frame(
    table: Table,
    columns: Sequence[Column],
    named: bool,
    spell: Mapping[int, Spelling],
    plans: Recent | None,
    complaints: Complaints,
) -> Floats:
    what, n = complaints.what, len(table.native)

    def make() -> Plan:
        return make_plan(table, columns, frozenset(spell), named=named, what=what)

    plan: Plan = make() if plans is None else plans.get(table.layout, lambda: make().kept())
    if plan.by_cell and 0 < n <= FEW:
        quick = read_cells(cells_of(table), plan.places, spell)
        if quick is not None:
            return quick
    places, stores, at_once = plan.places, plan.stores, plan.at_once
    raw = np.empty((n, len(columns)), dtype=np.float64)
    if at_once.any():
        _read_at_once(table, plan, raw)
    for j in np.flatnonzero(~at_once).tolist():
        values = table.column(places[j])
        if j in spell:
            found = factorized(values, table.kind)
            if stores[j].number and not columns[j].by_value:
                _refuse_numbers(values, *found, columns[j].name, what)
            raw[:, j] = spelled(*found, spell[j], columns[j].name, complaints)
        else:
            raw[:, j] = _read_column(values, table.kind, stores[j], columns[j], complaints)
    return raw


def _read_at_once(table: Table, plan: Plan, raw: Floats) -> None:
    """Read all columns of numbers that pandas gives as one array, some rows at a time."""
    which = [place for place, numbers in zip(plan.places, plan.at_once, strict=True) if numbers]
    is_all = which == list(range(len(table.labels)))
    blank = {} if plan.is_plain else {"na_value": np.nan}
    for first in range(0, len(raw), ROWS_AT_ONCE):
        rows = slice(first, first + ROWS_AT_ONCE)
        part = table.native if len(raw) <= ROWS_AT_ONCE else table.rows(rows)
        part = part if is_all else part.take(which, axis=1)
        raw[rows, plan.at_once] = part.to_numpy(np.float64, **blank)


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


def check_columns(X: Any, columns: Sequence[Column], *, named: bool, what: str = "X") -> bool:
    """Raise `InvalidInput` unless a table has the columns that a model takes, of their types.

    Values are not looked at, unless a column of the wrong type may hold none; the parameters are
    those of `read_matrix`.

    Returns
    -------
    bool
        Whether the layout alone told, so that all tables of this layout have such columns.
    """
    table = opened(X, what)
    if table.kind == "numpy":
        _check_array(plain_array(table.native, what), table.native, columns, what)
        return True
    layout_tells = True
    places = find_places(table, columns, named=named, what=what)
    for column, place in zip(columns, places, strict=True):
        store = of_dtype(table.dtypes[place], table.kind)
        if column.is_ignored or (store.number and not column.is_category):
            continue
        is_text = store.is_text and column.categories is None
        reads_cells = store.is_object and not column.is_category
        if reads_cells or not (is_text or not column.is_category):
            continue
        layout_tells = False
        values = table.column(place)
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
    return layout_tells


def _read_column(
    values: Any, kind: Kind, store: Storage, column: Column, complaints: Complaints
) -> Floats:
    if is_numbers(store, column):
        return as_floats(values, kind)
    if column.is_ignored:
        return np.zeros(len(values))
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
    limits = number_limits(columns)
    for first in range(0, len(raw), ROWS_AT_ONCE):
        part = raw[first : first + ROWS_AT_ONCE]
        if refuses.any() and (lacking := np.isnan(part) & refuses).any():
            _complain_of_missing(lacking, first, columns, complaints)
        with np.errstate(invalid="ignore"):
            too_large = np.abs(part) > largest
            outside = (part < limits[:, 0]) | (part > limits[:, 1]) if len(limits) else too_large
        if too_large.any():
            _complain_of_size(part, too_large, first, columns, complaints)
        if (outside & ~too_large).any():
            _complain_of_limits(part, outside, first, columns, complaints)


def number_limits(columns: Sequence[Column]) -> Floats:
    """Smallest and largest number that a model takes, by column: (d, 2), or (0, 2) if any do."""
    if all(column.limits is None for column in columns):
        return np.zeros((0, 2))
    return np.array([column.limits or (-np.inf, np.inf) for column in columns])


def _complain_of_limits(
    part: Floats, bad: Bools, first: int, columns: Sequence[Column], complaints: Complaints
) -> None:
    def cell(row: int) -> tuple[str, float, tuple[float, float]]:
        j = int(bad[row - first].argmax())
        return columns[j].name, part[row - first, j], columns[j].limits or (-np.inf, np.inf)

    def error(row: int) -> str:
        name, value, (low, high) = cell(row)
        return (
            f"Column '{name}' of {complaints.what} has the value {value} in row {row}; the model "
            f"takes values from {low:.6g} to {high:.6g}."
        )

    complaints.add(
        first + np.flatnonzero(bad.any(axis=1)),
        error,
        lambda row: f"{cell(row)[0]} is {cell(row)[1]:.6g}, which the model does not take",
    )


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

"""The way out for tables: points go back in the user's own kind, names, order and dtypes.

A `Layout` keeps how the training table is stored. `rewrite` changes some cells of the applicants'
table, `write` makes a table anew. Neither decides what to write.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robx.arrays import Floats, Ints, same
from robx.errors import InvalidInput
from robx.tables.columns import (
    as_array,
    as_floats,
    as_objects,
    build,
    cast,
    checked,
    plain_array,
    put,
)
from robx.tables.copies import Copy, as_it_is
from robx.tables.frames import Kind, Table, library, opened, positions
from robx.tables.storage import Storage, describe, is_missing, settle, spell

Values = Sequence[Sequence[Any] | NDArray[Any]]
#: From a column and rows to what is written there.
ValuesOf = Callable[[int, Ints], NDArray[Any]]


@dataclass(frozen=True)
class Layout:
    """How a table stores its columns.

    Parameters
    ----------
    names : tuple of d str
        The columns' names as text; "0", "1" ... for an array without any.
    kind : {"numpy", "pandas", "polars", "pyarrow"}
        The library of the table. Lists count as numpy.
    columns : tuple of d Storages
        How each column is stored; an array's columns share its dtype.
    labels : tuple
        The names as the table itself has them: a pandas column may be called 0.
    named : bool
        Whether the names are the user's.

    Examples
    --------
    >>> import pandas as pd
    >>> layout = Layout.of(pd.DataFrame({"age": [31, 47], "sex": ["f", "m"]}))
    >>> layout.names, layout.kind
    (('age', 'sex'), 'pandas')
    >>> [column.is_integer for column in layout.columns]
    [True, False]
    """

    names: tuple[str, ...]
    kind: Kind
    columns: tuple[Storage, ...]
    labels: tuple[Hashable, ...]
    named: bool

    @classmethod
    def of(cls, table: object, names: Sequence[str] | None = None) -> Layout:
        """The layout of a table; `names` are for an array, a frame has its own."""
        given = as_table(table)
        stores = tuple(describe(given, j, dtype) for j, dtype in enumerate(given.dtypes))
        labels, named = given.labels, given.kind != "numpy"
        if not named and names is not None:
            if len(names) != len(stores):
                raise InvalidInput(f"names must be {len(stores)} names. Got {len(names)}.")
            labels, named = tuple(names), True
        return cls(tuple(map(str, labels)), given.kind, stores, labels, named)


def rewrite(table: Any, layout: Layout, changed: ArrayLike, values: Values) -> Any:
    """A copy of the applicants' table in which some cells hold other values.

    The copy has the table's own kind, column names and order, and index. Its dtypes follow from the
    training table's and its own alone, whatever the values:

    - equal dtypes stay, and with them every other cell exactly as it was;
    - numbers and flags meet in ``numpy.result_type`` of the two; pandas stores it as the training
      table does (plain, nullable or pyarrow), or as the applicants' where the training table's is
      plain;
    - any two others meet in the training table's dtype. Categories that it does not list, and the
      applicants' own column does, come behind those that it lists. A number where it holds text, or
      the other way round, is an error. A column of nothing has no dtype to speak of and takes the
      training table's: plain whole numbers and flags then become float64, which can hold a missing
      value. A column of objects stays one where the training table has numbers, and where it
      holds a cell that the training table's dtype cannot hold;
    - tables of two libraries: numbers meet as above, in the applicants' library; other columns keep
      their own dtype, with the training table's categories where the dtype lists them;
    - an array has one dtype, in which all of its columns meet.

    Parameters
    ----------
    table : table of shape (n, d)
        Frames' columns may be in any order, and are found by name; an array's are as in training.
    layout : Layout
        The training table's.
    changed : (n, d) bool
        Which cells to change, with columns in the layout's order.
    values : d sequences of n values
        What to write, a column at a time. Whole numbers may be given as floats. None and NaN are
        missing; what is not `changed` is ignored.

    Returns
    -------
    table
        A later change to the one does not show in the other. Lists come back as an array.

    Raises
    ------
    InvalidInput
        Where a column cannot hold a value: 1.5 or a missing one among plain whole numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"], "age": [31, 47]}, index=["Ann", "Bob"])
    >>> layout = Layout.of(people[["age", "sex"]])
    >>> rewrite(people, layout, [[False, False], [True, False]], [[0.0, 48.0], ["", ""]])
        sex  age
    Ann   f   31
    Bob   m   48
    """
    given = as_table(table)
    find_columns(given, layout)
    _check_lengths(values, len(layout.columns), len(given.native))

    def of(j: int, rows: Ints) -> NDArray[Any]:
        return as_array(values[j])[rows]

    return rewrite_and_read(given, layout, changed, of, np.zeros(np.shape(changed)))[0]


def rewrite_and_read(
    table: Any, layout: Layout, changed: ArrayLike, values: ValuesOf, numbers: Floats
) -> tuple[Any, Floats]:
    """`rewrite`, and what the written table reads as, without reading it.

    Parameters
    ----------
    table, layout, changed
        As for `rewrite`.
    values : function from a column and rows to what to write there
    numbers : (n, d) float64
        What each cell is to be read as, in the layout's order: the table's own number where it is
        not changed, the new one where it is. A category or text has whatever number the caller
        reads it as.

    Returns
    -------
    table
        As from `rewrite`.
    stored : (n, d) float64
        `numbers`, but for those that a column had to round: 0.1 in a column of float32 is
        0.10000000149. It is `numbers` itself where none had to be.

    Examples
    --------
    >>> people = np.array([[20, 0.5]], dtype=np.float32)
    >>> wanted = np.array([[20, 0.1]])
    >>> table, stored = rewrite_and_read(
    ...     people, Layout.of(people), [[False, True]], lambda j, rows: wanted[rows, j], wanted
    ... )
    >>> stored.tolist() == table.tolist()
    True
    """
    given = as_table(table)
    d, n = len(layout.columns), len(given.native)
    which = np.asarray(changed, dtype=bool)
    where = find_columns(given, layout)
    if which.shape != (n, d):
        raise InvalidInput(f"changed must be of shape {(n, d)}. Got {which.shape}.")
    dtypes = given.dtypes
    stores = [describe(given, place, dtypes[place], categories=False) for place in where]
    targets = [
        settle(training, store, given.kind, same_kind=given.kind == layout.kind)
        for training, store in zip(layout.columns, stores, strict=True)
    ]
    if given.kind == "numpy":
        mixed = given.native.dtype == object and not all(store.number for store in stores)
        targets = stores if mixed else _in_one_dtype(targets)
    stored, out = numbers, Copy(given, targets[0].dtype)
    for j, position in enumerate(where):
        rows = np.flatnonzero(which[:, j])
        own, target, name = stores[j], targets[j], layout.names[j]
        if len(rows) == 0 and own.is_stored_as(target):
            continue
        column, written = given.column(position), values(j, rows)
        piece = build(*checked(written, target, name), target, given.kind)
        if target.number:
            read = as_floats(piece, given.kind)
            if not same(read, stored[rows, j]).all():
                stored = stored.copy() if stored is numbers else stored
                stored[rows, j] = read
        if own.is_stored_as(target):
            out.put(position, rows, piece, column)
        elif own.number and target.number and own.dtype != object:
            out.replace(position, put(cast(column, target, given.kind), rows, piece, given.kind))
        else:
            objects = as_objects(column, given.kind)
            is_kept = own.is_object and target.number and not is_missing(objects).all()
            is_kept = is_kept and given.kind != "numpy"  # an array has one dtype
            objects[rows] = written
            held = target.listing(objects[~is_missing(objects)])
            if is_kept or (own.is_object and not _can_hold(objects, held)):
                new = _put_objects(column, rows, piece, given.kind, layout.columns[j])
            else:
                new = build(*checked(objects, held, name), held, given.kind)
            out.replace(position, new)
    return out.table(), stored


def find_columns(given: Table, layout: Layout) -> list[int]:
    """Find the columns of a layout in a table."""
    if layout.named and given.kind != "numpy":
        return positions(layout.names, given.labels)
    if len(given.labels) == len(layout.columns):
        return list(range(len(layout.columns)))
    raise InvalidInput(
        f"X must have the {len(layout.columns)} columns of the training table. Got "
        f"{len(given.labels)}."
    )


def _can_hold(objects: NDArray[Any], store: Storage) -> bool:
    try:
        checked(objects, store, "")
    except InvalidInput:
        return False
    return True


def _put_objects(column: Any, rows: Ints, piece: Any, kind: Kind, training: Storage) -> Any:
    """A copy of a column of objects, with the values of another column in some rows."""
    values = as_array(column.to_list())
    written = piece.tolist() if kind == "pandas" else piece.to_list()
    if training.is_boolean or training.is_integer:  # floats only where one of them is missing
        plain = bool if training.is_boolean else int
        blank = is_missing(written)
        written = [v if lacks else plain(v) for v, lacks in zip(written, blank, strict=True)]
    values[rows] = as_array(written)
    if kind == "pandas":
        return values
    return library("polars").Series(column.name, values.tolist(), dtype=column.dtype)


def write(values: Values, layout: Layout) -> Any:
    """A table of a layout's kind, names and dtypes from its columns' values.

    Parameters
    ----------
    values : d sequences of n values
        A column at a time, as in `rewrite`; None and NaN are missing.
    layout : Layout
        The training table's.

    Returns
    -------
    table of shape (n, d)
        Plain whole numbers and flags become float64 where one of them is missing; a category that
        the dtype does not list comes behind those that it does.

    Examples
    --------
    >>> import pandas as pd
    >>> layout = Layout.of(pd.DataFrame({"age": [31], "debts": [0.5]}))
    >>> write([[20.0, 60.0], [1.0, None]], layout)
       age  debts
    0   20    1.0
    1   60    NaN
    """
    _check_lengths(values, len(layout.columns), None)
    arrays = [as_array(given) for given in values]
    stores = [_holding(given, store) for given, store in zip(arrays, layout.columns, strict=True)]
    if layout.kind == "numpy":
        stores = _in_one_dtype(stores)
    columns = [
        build(*checked(given, store, name), store, layout.kind)
        for given, store, name in zip(arrays, stores, layout.names, strict=True)
    ]
    return put_together(columns, layout.kind, layout.labels)


def _holding(given: NDArray[Any], store: Storage) -> Storage:
    """A storage like this one that holds missing values, and categories that it does not list."""
    missing = is_missing(given)
    store = store.widened() if missing.any() else store
    return store.listing(given[~missing]) if store.has_fixed_categories else store


def put_together(columns: Sequence[Any], kind: Kind, labels: Sequence[Hashable]) -> Any:
    """A table of columns; those of pandas may be arrays."""
    if kind == "numpy":
        out = np.empty((len(columns[0]), len(columns)), dtype=columns[0].dtype)
        for j, column in enumerate(columns):
            out[:, j] = column
        return out
    if kind == "pyarrow":
        return library("pyarrow").table(list(columns), names=list(labels))
    if kind == "polars":
        named = [column.alias(name) for column, name in zip(columns, labels, strict=True)]
        return library("polars").DataFrame(named)
    pd = library("pandas")
    frame = pd.DataFrame({j: as_it_is(column) for j, column in enumerate(columns)})
    frame.columns = pd.Index(list(labels))
    return frame


def as_table(table: Any) -> Table:
    """A table, which must have columns; lists become an array, and an array's are numbered."""
    given = opened(table)
    if given.kind == "numpy" and not given.labels:
        array = _as_array(given.native)
        given = Table(array, "numpy", tuple(map(str, range(array.shape[1]))))
    if not given.labels:
        raise InvalidInput("X must have columns. Got none.")
    return given


def _as_array(table: Any) -> NDArray[Any]:
    array = plain_array(table, "X")
    if array.ndim != 2:
        raise InvalidInput(f"X must have two dimensions (rows, columns). Got shape {array.shape}.")
    if array.dtype == object and not isinstance(table, np.ndarray):
        given = Table(array, "numpy")
        if all(describe(given, j, array.dtype).is_number for j in range(array.shape[1])):
            return array.astype(np.float64)
    return array


def _check_lengths(values: Sequence[Any], d: int, n: int | None) -> None:
    lengths = sorted({len(column) for column in values})
    if len(values) != d or len({*lengths, *([] if n is None else [n])}) > 1:
        rows = "equally many" if n is None else n
        raise InvalidInput(
            f"values must be {d} columns of {rows} values. Got {len(values)} of lengths {lengths}."
        )


def _in_one_dtype(stores: list[Storage]) -> list[Storage]:
    """The storages of an array's columns, which share a dtype."""
    if len({store.dtype for store in stores}) == 1:
        return stores
    dtype = np.result_type(*(store.dtype for store in stores))
    if dtype.kind in "biuf":
        return [spell(dtype.name, "numpy") for _ in stores]
    return [replace(store, dtype=dtype) for store in stores]

"""The way out for tables: points go back in the user's own kind, names, order and dtypes.

A `Layout` keeps how the training table is stored. `rewrite` changes some cells of the applicants'
table, `write` makes a table anew. Neither decides what to write.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robx.errors import InvalidInput
from robx.tables.columns import build, cast, has_missing, join, neutral, pick, read
from robx.tables.reader import as_frame, positions
from robx.tables.storage import Kind, Storage, describe, library, settle, spell


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
        _, kind, columns, labels = taken_apart(table)
        stores = tuple(describe(column, kind) for column in columns)
        if kind == "numpy" and names is not None:
            if len(names) != len(columns):
                raise InvalidInput(f"names must be {len(columns)} names. Got {len(names)}.")
            labels = tuple(names)
        named = kind != "numpy" or names is not None
        return cls(tuple(map(str, labels)), kind, stores, labels, named)


def rewrite(
    table: Any, layout: Layout, changed: ArrayLike, values: Sequence[Sequence[Any] | NDArray[Any]]
) -> Any:
    """A copy of the applicants' table in which some cells hold other values.

    The copy has the table's own kind, column names and order, and index. Its dtypes follow from the
    training table's and its own alone, whatever the values:

    - equal dtypes stay, and with them every other cell exactly as it was;
    - numbers and flags meet in ``numpy.result_type`` of the two; pandas stores it as the training
      table does (plain, nullable or pyarrow), or as the applicants' where the training table's is
      plain;
    - any two others meet in the training table's dtype. A category that it does not list is an
      error, and so is a number where it holds text, or the other way round. A column of nothing has
      no dtype to speak of and takes the training table's: plain whole numbers and flags then
      become float64, to have room for a missing value;
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
        It shares no memory with the one that was given. Lists come back as an array.

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
    whole, kind, own, labels = taken_apart(table)
    d, n = len(layout.columns), len(own[0])
    which = np.asarray(changed, dtype=bool)
    if layout.named and kind != "numpy":
        where = positions(layout.names, labels)
    elif len(own) == d:
        where = list(range(d))
    else:
        raise InvalidInput(f"X must have the {d} columns of the training table. Got {len(own)}.")
    if which.shape != (n, d):
        raise InvalidInput(f"changed must be of shape {(n, d)}. Got {which.shape}.")
    _check_lengths(values, d, n)
    stores = [describe(own[position], kind) for position in where]
    targets = [
        settle(training, store, kind, same_kind=kind == layout.kind)
        for training, store in zip(layout.columns, stores, strict=True)
    ]
    if kind == "numpy":
        targets = _in_one_dtype(targets)
    out: list[Any] = [None] * d
    for j, position in enumerate(where):
        name, target = layout.names[j], targets[j]
        rest, rows = np.flatnonzero(~which[:, j]), np.flatnonzero(which[:, j])
        old = _carried(own[position], stores[j], target, rest, kind, name)
        new = build(*neutral(pick(values[j], rows), target, name), target, kind)
        out[position] = join([old, new], np.argsort(np.concatenate([rest, rows])), kind)
    return put_together(out, kind, labels, whole)


def write(values: Sequence[Sequence[Any] | NDArray[Any]], layout: Layout) -> Any:
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
        Plain whole numbers and flags become float64 where one of them is missing.

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
    stores = [
        store.widened() if store.widened() is not store and has_missing(given) else store
        for store, given in zip(layout.columns, values, strict=True)
    ]
    if layout.kind == "numpy":
        stores = _in_one_dtype(stores)
    columns = [
        build(*neutral(given, store, name), store, layout.kind)
        for given, store, name in zip(values, stores, layout.names, strict=True)
    ]
    return put_together(columns, layout.kind, layout.labels)


class Parts(NamedTuple):
    """A table taken apart: its columns in their own library, and what they are called."""

    whole: Any
    kind: Kind
    columns: list[Any]
    labels: tuple[Hashable, ...]


def taken_apart(table: Any) -> Parts:
    """The columns of a table, which must have some."""
    frame = as_frame(table, "X")
    whole: Any
    if frame is None:
        whole = _as_array(table)
        parts = Parts(whole, "numpy", list(whole.T), tuple(map(str, range(whole.shape[1]))))
    elif frame.implementation.is_polars():
        whole = frame.to_native()
        parts = Parts(whole, "polars", whole.get_columns(), tuple(whole.columns))
    elif frame.implementation.is_pyarrow():
        whole = frame.to_native()
        parts = Parts(whole, "pyarrow", whole.columns, tuple(whole.column_names))
    else:
        whole = frame.to_native() if frame.implementation.is_pandas() else frame.to_pandas()
        labels = tuple(whole.columns)
        columns = [whole.iloc[:, j] for j in range(len(labels))]
        parts = Parts(whole, "pandas", columns, labels)
    if not parts.columns:
        raise InvalidInput("X must have columns. Got none.")
    return parts


def _as_array(table: Any) -> NDArray[Any]:
    try:
        if np.ma.isMA(table):
            array = np.ma.asarray(table, np.float64).filled(np.nan)
        else:
            array = np.asarray(table)
            if array.dtype.kind == "U" and not isinstance(table, np.ndarray):
                array = np.asarray(table, dtype=object)  # numpy would turn its numbers into text
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"X must be a table. Got {type(table).__name__}: {error}.") from error
    if array.ndim != 2:
        raise InvalidInput(f"X must have two dimensions (rows, columns). Got shape {array.shape}.")
    if array.dtype == object and not isinstance(table, np.ndarray):
        columns = [describe(column, "numpy") for column in array.T]
        array = array.astype(np.float64) if all(c.is_number for c in columns) else array
    return array


def _check_lengths(values: Sequence[Any], d: int, n: int | None) -> None:
    lengths = {len(column) for column in values} | ({n} if n is not None else set())
    if len(values) != d or len(lengths) > 1:
        rows = "equally many" if n is None else n
        raise InvalidInput(
            f"values must be {d} columns of {rows} values. "
            f"Got {len(values)} of lengths {sorted({len(column) for column in values})}."
        )


def _in_one_dtype(stores: list[Storage]) -> list[Storage]:
    """The storages of an array's columns, which share a dtype."""
    if len({store.dtype for store in stores}) == 1:
        return stores
    dtype = np.result_type(*(store.dtype for store in stores))
    if dtype.kind in "biuf":
        return [spell(dtype.name, "numpy") for _ in stores]
    return [replace(store, dtype=dtype) for store in stores]


def _carried(
    column: Any, own: Storage, target: Storage, rows: NDArray[np.intp], kind: Kind, name: str
) -> Any:
    """Some rows of the applicants' own column, in the dtype that it is to have."""
    if own.dtype == target.dtype and (
        not own.has_fixed_categories or own.categories == target.categories
    ):
        return join([column], rows, kind)
    if own.number and target.number and own.dtype != object:
        return cast(join([column], rows, kind), target, kind)
    values, missing = read(column, own, kind)
    objects = values.astype(object)
    objects[missing] = None
    return build(*neutral(objects[rows], target, name), target, kind)


def put_together(
    columns: list[Any], kind: Kind, labels: Sequence[Hashable], like: Any = None
) -> Any:
    """A table of columns; an index, and what else belongs to a table, is taken from `like`."""
    if kind == "numpy":
        shape = (len(columns[0]), len(columns))
        dtype = columns[0].dtype
        turned = like is not None and like.flags.f_contiguous and not like.flags.c_contiguous
        out = np.empty(shape, dtype=dtype, order="F" if turned else "C")
        for j, column in enumerate(columns):
            out[:, j] = column
        return out
    if kind == "polars":
        named = [column.alias(name) for column, name in zip(columns, labels, strict=True)]
        return library("polars").DataFrame(named)
    if kind == "pyarrow":
        pa = library("pyarrow")
        table = pa.table(columns, names=list(labels))
        if like is None:
            return table
        fields = [old.with_type(new.type) for old, new in zip(like.schema, columns, strict=True)]
        return table.cast(pa.schema(fields, metadata=like.schema.metadata))
    pd = library("pandas")
    frame = pd.DataFrame(dict(enumerate(columns)))
    if like is None:
        frame.columns = pd.Index(list(labels))
        return frame
    frame.index, frame.columns = like.index, like.columns
    frame.attrs = dict(like.attrs)
    return frame

"""`Plan`: how tables of one layout are read, worked out once; and a few rows read cell by cell.

The layout of a table is its library, the names of its columns, in order, and their dtypes. A few
rows are read faster cell by cell than column by column; whatever is not an ordinary cell is left to
the reader of whole columns, which knows every case and has the words for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robx.arrays import Bools, Floats
from robx.errors import InvalidInput
from robx.parameters import listed
from robx.tables.column import Column
from robx.tables.frames import Table, positions
from robx.tables.storage import Storage, of_dtype

#: Tables of at most so many rows are read cell by cell.
FEW = 4
#: Values of text and category columns that have a number by themselves.
LABELS = (str, bool, int, float, np.generic)


class Unusual(Exception):
    """A cell that is neither a plain number nor a label."""


@dataclass(frozen=True, eq=False)
class Plan:
    """How tables of one layout are read.

    Parameters
    ----------
    places : d ints
        Where each column of the model stands in the table.
    stores : d Storages
        How these columns are stored.
    at_once : (d,) bool
        Columns of numbers that pandas gives as one array.
    is_plain : bool
        Whether numpy itself holds all columns.
    by_cell : bool
        Whether all columns are of numbers or labels, as they should be.
    """

    places: tuple[int, ...]
    stores: tuple[Storage, ...]
    at_once: Bools
    is_plain: bool
    by_cell: bool

    def kept(self) -> Plan:
        """The same without the categories of the table that it was made for."""
        bare = (
            Storage(type(s.dtype), s.family, s.number) if s.is_category else s for s in self.stores
        )
        return replace(self, stores=tuple(bare))


def make_plan(
    table: Table, columns: Sequence[Column], labels: frozenset[int], *, named: bool, what: str
) -> Plan:
    """Work out how to read a table; columns that it lacks or has too many are an error."""
    places = find_places(table, columns, named=named, what=what)
    dtypes = table.dtypes
    stores = tuple(of_dtype(dtypes[place], table.kind) for place in places)
    at_once = [
        table.kind == "pandas"
        and store.dtype.kind in "biuf"
        and j not in labels
        and is_numbers(store, column)
        for j, (store, column) in enumerate(zip(stores, columns, strict=True))
    ]
    by_cell = all(
        (store.is_text or store.is_category) and not store.number
        if j in labels
        else not column.is_category and store.number != "" and not store.is_object
        for j, (store, column) in enumerate(zip(stores, columns, strict=True))
    )
    is_plain = all(store.is_plain for store in stores)
    return Plan(tuple(places), stores, np.array(at_once, dtype=bool), is_plain, by_cell)


def find_places(table: Table, columns: Sequence[Column], *, named: bool, what: str) -> list[int]:
    """Find the columns in a frame: by name, or as they stand for a model without names."""
    if named:
        return positions(columns, table.labels, what)
    if len(table.labels) != len(columns):
        raise InvalidInput(
            f"{what} must have the {len(columns)} columns that the model was trained on. "
            f"Got {len(table.labels)}: {listed(list(map(str, table.labels)))}."
        )
    return list(range(len(columns)))


def is_numbers(store: Storage, column: Column) -> bool:
    """Whether a frame's column holds what a model takes as numbers; flags are not codes."""
    if column.is_category:
        return store.is_number and not column.categories and not column.by_value
    return store.number != ""


# --- cell by cell ---------------------------------------------------------------------------------


def cells_of(table: Table) -> list[Sequence[Any]]:
    """The cells of a few rows, row by row, in the order of the table's columns."""
    native = table.native
    if table.kind == "pandas":
        return [native.iloc[i].tolist() for i in range(len(native))]
    if table.kind == "polars":
        return list(native.rows())
    if table.kind == "pyarrow":
        return list(zip(*(column.to_pylist() for column in native.columns), strict=True))
    return list(native.tolist())


def read_cells(
    rows: Sequence[Sequence[Any]],
    places: Sequence[int],
    spell: Mapping[int, Callable[[Any], float]],
    labels: tuple[type, ...] = LABELS,
) -> Floats | None:
    """Read rows of plain cells: (n, d) float64, or None where one of them is not plain.

    Parameters
    ----------
    rows : n rows of cells
    places : d ints
        Where each column stands in a row.
    spell : mapping from columns to functions
        For columns of text and categories, the number of each value.
    labels : tuple of types
        What such a column may hold.
    """
    try:
        return np.array(
            [
                [
                    _label(row[place], spell[j], labels) if j in spell else _number(row[place])
                    for j, place in enumerate(places)
                ]
                for row in rows
            ],
            dtype=np.float64,
        ).reshape(len(rows), len(places))
    except (Unusual, OverflowError):
        return None


def _number(value: Any) -> float:
    kind = type(value)
    if kind is float:
        return value  # type: ignore[no-any-return]
    if kind is int or kind is bool or isinstance(value, np.floating | np.integer | np.bool_):
        return float(value)
    return _nothing(value)


def _label(value: Any, spell: Callable[[Any], float], labels: tuple[type, ...]) -> float:
    if isinstance(value, labels) and value == value:  # noqa: PLR0124 - NaN differs from itself
        return spell(value)
    return _nothing(value)


def _nothing(value: Any) -> float:
    """NaN for a missing value."""
    if value is None or type(value).__name__ == "NAType" or isinstance(value, float):
        return np.nan
    raise Unusual

"""`Copy`: a copy of a table in which some columns are changed, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from robx.arrays import Ints
from robx.tables.columns import put
from robx.tables.frames import Table, library

#: From this many rows on, cells of pandas are written in place, which needs no second column.
MANY = 2**14
#: From this many new columns on, a frame is made anew.
MANY_COLUMNS = 4


class Copy:
    """A copy of a table; what is not changed is as it was, and no column is held twice for long.

    Parameters
    ----------
    table : Table
    dtype : dtype
        Of an array: if it is not the table's own, every column must be replaced.
    """

    def __init__(self, table: Table, dtype: Any) -> None:
        self._table, native = table, table.native
        self._new: dict[int, Any] = {}
        self._out: Any = None
        if table.kind == "numpy":
            same = dtype == native.dtype
            self._out = native.copy(order="K") if same else np.empty_like(native, dtype)
        elif table.kind == "pandas":
            self._out = native.copy()

    def put(self, position: int, rows: Ints, piece: Any, column: Any) -> None:
        """Write a piece of the column's own dtype into some rows."""
        is_plain = (
            isinstance(getattr(column, "dtype", None), np.dtype) and column.dtype.kind in "biuf"
        )
        if self._table.kind == "numpy":
            self._out[rows, position] = piece
        elif self._table.kind == "pandas" and is_plain and len(column) >= MANY:
            self._out.iloc[rows, position] = piece
        else:
            self.replace(position, put(column, rows, piece, self._table.kind))

    def replace(self, position: int, column: Any) -> None:
        """Put another column in a place."""
        if self._table.kind == "numpy":
            self._out[:, position] = column
        elif self._table.kind == "pandas" and len(column) >= MANY:
            self._out.isetitem(position, as_it_is(column, self._out.index))
        else:
            self._new[position] = column

    def table(self) -> Any:
        """Give the copy."""
        native, new = self._table.native, self._new
        if self._table.kind == "pandas" and len(new) > MANY_COLUMNS:
            return self._made_anew()
        if self._out is not None:
            for position, column in new.items():
                self._out.isetitem(position, as_it_is(column, self._out.index))
            return self._out
        if self._table.kind == "polars":
            labels = self._table.labels
            return native.with_columns(
                [column.alias(labels[position]) for position, column in new.items()]
            )
        pa = library("pyarrow")
        fresh = native.unify_dictionaries().take(pa.array(np.arange(len(native))))
        columns = [new.get(j, column) for j, column in enumerate(fresh.columns)]
        fields = [old.with_type(c.type) for old, c in zip(native.schema, columns, strict=True)]
        return pa.table(columns, schema=pa.schema(fields, metadata=native.schema.metadata))

    def _made_anew(self) -> Any:
        """Make a frame of all its columns, which is faster than to replace many of them."""
        out, new = self._out, self._new
        columns = {
            j: as_it_is(new[j], out.index) if j in new else out.iloc[:, j]
            for j in range(out.shape[1])
        }
        frame = type(out)(columns, index=out.index)
        frame.columns, frame.attrs = out.columns, out.attrs
        return frame


def as_it_is(column: Any, index: Any = None) -> Any:
    """An array that pandas takes as it is: objects it would take for text, but in a series."""
    if column.dtype != object:
        return column
    return library("pandas").Series(column, index=index, dtype=object)

"""The door for tables, both ways: any frame or array in, numbers inside, the same kind out.

`reading` turns a table into one float64 matrix. `storage` and `columns` know how single columns are
stored; `writing` puts points back into a table of the user's kind, and `packing` (with `words`)
turns tables into JSON and back.
"""

from __future__ import annotations

from robx.tables.packing import pack, unpack
from robx.tables.reader import (
    Category,
    Column,
    as_named_frame,
    as_pandas,
    check_columns,
    column_names,
    count_rows,
    distinct_values,
    in_order,
    number_column,
    parts,
    positions,
    read_matrix,
    take,
)
from robx.tables.storage import Storage
from robx.tables.writer import Layout, rewrite, write

__all__ = [
    "Category",
    "Column",
    "Layout",
    "Storage",
    "as_named_frame",
    "as_pandas",
    "check_columns",
    "column_names",
    "count_rows",
    "distinct_values",
    "in_order",
    "number_column",
    "pack",
    "parts",
    "positions",
    "read_matrix",
    "rewrite",
    "take",
    "unpack",
    "write",
]

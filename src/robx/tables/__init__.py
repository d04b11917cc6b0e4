"""Tables, both ways: any frame or array in, numbers inside, the same kind out.

`frames` tells which library a table is of, `reader` makes one float64 matrix of it: `column` says
what a model wants, `codes` reads text and categories, `cells` single cells. `storage` and `columns`
know how single columns are stored; `writer` puts points back into a table of the user's kind, and
`serialization` turns tables into plain data for JSON and back, `layouts` how they are stored.
"""

from __future__ import annotations

from robx.tables.codes import category_text, read_label
from robx.tables.column import Category, Column
from robx.tables.columns import plain_array
from robx.tables.frames import (
    Table,
    as_named_frame,
    as_pandas,
    column_names,
    count_rows,
    in_order,
    is_records,
    listing_only,
    opened,
    parts,
    positions,
    records_frame,
    take,
)
from robx.tables.holding import holds_surely, snapshot
from robx.tables.layouts import pack_layout, unpack_layout
from robx.tables.reader import (
    check_columns,
    column_values,
    distinct_values,
    number_column,
    number_limits,
    read_matrix,
)
from robx.tables.serialization import pack, unpack
from robx.tables.storage import Storage, is_missing
from robx.tables.writer import Layout, rewrite, rewrite_and_read, write

__all__ = [
    "Category",
    "Column",
    "Layout",
    "Storage",
    "Table",
    "as_named_frame",
    "as_pandas",
    "category_text",
    "check_columns",
    "column_names",
    "column_values",
    "count_rows",
    "distinct_values",
    "holds_surely",
    "in_order",
    "is_missing",
    "is_records",
    "listing_only",
    "number_column",
    "number_limits",
    "opened",
    "pack",
    "pack_layout",
    "parts",
    "plain_array",
    "positions",
    "read_label",
    "read_matrix",
    "records_frame",
    "rewrite",
    "rewrite_and_read",
    "snapshot",
    "take",
    "unpack",
    "unpack_layout",
    "write",
]

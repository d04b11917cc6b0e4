"""Files: written whole or not at all, and tables read as they are.

`atomic` puts a whole file in the place of an old one; `writer` writes tables and `reader` reads
them, with `delimited` for CSV files; `escaping` and `formats` are what they share. `plain` reads
JSON and YAML within a budget.
"""

from __future__ import annotations

from robx.files.atomic import atomically, check_target
from robx.files.plain import parse_json, read_plain
from robx.files.reader import existing_file, read_table
from robx.files.writer import write_table

__all__ = [
    "atomically",
    "check_target",
    "existing_file",
    "parse_json",
    "read_plain",
    "read_table",
    "write_table",
]

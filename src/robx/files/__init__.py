"""Files: written whole or not at all, and tables read as they are.

`writer` puts a whole file in the place of an old one; `reader` reads tables, with `delimited` for
CSV files; `formats` is what they share. `plain` reads JSON and YAML within a budget.
"""

from __future__ import annotations

from robx.files.plain import parse_json, read_plain
from robx.files.reader import existing_file, read_table
from robx.files.writer import atomically, check_target, write_table

__all__ = [
    "atomically",
    "check_target",
    "existing_file",
    "parse_json",
    "read_plain",
    "read_table",
    "write_table",
]

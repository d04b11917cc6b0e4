"""Files: written whole or not at all, and tables read as they are.

`writer` puts a whole file in the place of an old one; `reader` reads tables, with `delimited` for
CSV files; `formats` is what they share.
"""

from __future__ import annotations

from robx.files.reader import existing_file, read_table
from robx.files.writer import atomically, check_target, write_table

__all__ = [
    "atomically",
    "check_target",
    "existing_file",
    "read_table",
    "write_table",
]

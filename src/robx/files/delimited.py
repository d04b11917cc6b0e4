"""CSV files: whatever stands between the columns, every value is the one that was written.

Every column is read as text; `_typed` is the one place that tells what the text is. The reader is
Python's own: Arrow's takes a quote without an end to close at the end of the file.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyarrow.csv import ConvertOptions  # type: ignore[import-untyped]

from robx.budget import Budget
from robx.errors import InvalidInput
from robx.files.escaping import unescape
from robx.files.formats import first_line, refuse_doubled, text_width

#: What may stand between two columns, the likelier one first.
SEPARATORS = (",", ";", "\t")
#: Text for what is missing, unless only an empty cell is.
BLANKS = (*ConvertOptions().null_values, "None", "<NA>")
#: A number where the comma is the decimal sign, and one that has a comma.
NUMBER = r"^\s*[+-]?\d+(,\d+)?([eE][+-]?\d+)?\s*$"
DECIMAL_COMMA = r"\d,\d"
#: A whole number that begins with a zero, as codes do; a number would lose it.
PADDED = r"^0\d+$"
#: From here on not every whole number is a float64.
NOT_EXACT = 2.0**53
#: So many cells at a time are Python's objects.
CELLS_AT_ONCE = 2**20
#: Bytes of memory for one cell, which ends with one of these, and for one column.
CELL_BYTES = 40
ENDS = (b",", b";", b"\t", b"\n")
COLUMN_BYTES = 4096


def read_delimited(
    file: Path, budget: Budget, exact: Sequence[str] = (), *, only_blanks_missing: bool = False
) -> pd.DataFrame:
    """Read a CSV file; the columns in `exact` as the text that stands there."""
    table, separator = _read_text(file, budget)
    table = _unescaped(table, file) if only_blanks_missing else table
    columns, free = {}, set(table.column_names) - set(exact)
    for name, text in zip(table.column_names, table.columns, strict=True):
        blanks = pa.array(BLANKS if name in free and not only_blanks_missing else [""])
        is_blank = pc.is_in(text, value_set=blanks)
        columns[name] = pc.if_else(is_blank, pa.scalar(None, pa.string()), text)
    has_comma = separator != "," and any(
        _match(text, NUMBER, pc.all) and _match(text, DECIMAL_COMMA, pc.any)
        for text in columns.values()
    )
    columns |= {name: _typed(columns[name], "," if has_comma else ".") for name in free}
    frame: pd.DataFrame = pa.table(columns).to_pandas()
    for name, column in columns.items():
        if column.type == pa.int64() and column.null_count:  # as floats they would be rounded
            frame[name] = pd.array(column.to_pylist(), dtype="Int64")
    return frame


def _typed(column: Any, decimal: str) -> Any:
    """Text as numbers or flags where all of it is that, else as it stands."""
    text = pc.utf8_trim_whitespace(column)
    numbers = _cast(text if decimal == "." else pc.replace_substring(text, ",", "."), "float64")
    if numbers is None:
        return text.cast("bool") if _match(text, "^(?i:true|false)$", pc.all) else column
    # Where the comma is the decimal sign, 1.234 may well be a thousand.
    is_unclear = decimal == "," and _match(text, r"\.", pc.any)
    if is_unclear or _match(text, PADDED, pc.any) or pc.any(pc.is_nan(numbers)).as_py():
        return column
    digits = pc.replace_substring_regex(text, r"^\+", "")
    whole = _cast(digits, "int64")
    if whole is None and not numbers.null_count:
        whole = _cast(digits, "uint64")
    if whole is None:  # too long for a number, or not whole
        return column if _match(text, r"^[+-]?\d+$", pc.all) else numbers
    is_long = pc.any(pc.greater_equal(pc.abs(numbers), NOT_EXACT)).as_py()
    return whole if is_long or not whole.null_count else numbers


def _cast(text: Any, dtype: str) -> Any:
    """Text in another dtype, None where it is not that; what is wrong is mostly so at once."""
    try:
        text[:100].cast(dtype)
        return text.cast(dtype)
    except pa.ArrowInvalid:
        return None


def _match(column: Any, pattern: str, which: Any) -> bool:
    """Whether all or any of the values that are there match."""
    return bool(which(pc.match_substring_regex(column, pattern), min_count=1).as_py())


def _read_text(file: Path, budget: Budget) -> tuple[Any, str]:
    """The text of all cells, as a table of Arrow, and what stands between the columns."""
    text = _text(file, budget)
    bare = re.sub(r'"[^"]*"', "", _first_line(text))
    separator = next((sign for sign in SEPARATORS if sign in bare), ",")
    # A StringIO would take four bytes for each letter.
    lines = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8", newline="")
    rows = csv.reader(lines, delimiter=separator, strict=True)
    try:
        names = next(row for row in rows if row)
        refuse_doubled(names, file)
        if blank := [i for i, name in enumerate(names) if not name.strip()]:
            raise InvalidInput(
                f"Column {blank[0] + 1} of '{file.name}' has no name. Name it in the first line; "
                "if it is an index that pandas wrote, write the file again with index=False."
            )
        whole = _whole_rows(rows, len(names), file)
        chunks = [pa.table({name: pa.array([], pa.string()) for name in names})]
        while some := list(islice(whole, max(CELLS_AT_ONCE // len(names), 256))):
            cells = zip(*some, strict=True)
            chunks.append(pa.table([pa.array(c, pa.string()) for c in cells], names=names))
    except csv.Error as error:
        raise InvalidInput(
            f"'{file.name}' is not a CSV file that can be read: {first_line(error)} in line "
            f"{rows.line_num}. Write it again."
        ) from error
    return pa.concat_tables(chunks), separator


def _first_line(text: str) -> str:
    """The names of the columns, which may have ends of lines in quotes."""
    found = re.match(r'[\r\n]*((?:"[^"]*"|[^"\r\n])*)', text)
    return found[1] if found else ""


def _unescaped(table: Any, file: Path) -> Any:
    """A table that `write_table` wrote, without what protects its text in spreadsheets."""
    names = [unescape(name) for name in table.column_names]
    refuse_doubled(names, file)
    columns = [
        pa.chunked_array([[unescape(cell) for cell in column.to_pylist()]], pa.string())
        if pc.any(pc.match_substring(column, "'")).as_py()
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=names)


def _whole_rows(rows: Any, n: int, file: Path) -> Iterator[list[str]]:
    """The rows but for blank ones; each must have n values."""
    line = rows.line_num + 1
    for row in rows:
        is_blank = not row or (len(row) == 1 and row[0].isspace())
        if not is_blank and len(row) != n:
            raise InvalidInput(
                f"Line {line} of '{file.name}' has too {'few' if len(row) < n else 'many'} values: "
                f"{len(row)}, where the first line names {n} columns. Write it whole, with "
                "nothing between two separators where a value is missing."
            )
        if not is_blank:
            yield row
        line = rows.line_num + 1


def _text(file: Path, budget: Budget) -> str:
    """The text of a CSV file, which must be UTF-8."""
    try:
        data = budget.read(file)
        if file.suffix.lower() == ".gz":
            packed = gzip.GzipFile(fileobj=io.BytesIO(data))
            data = budget.inflate(packed, len(data), f"'{file.name}'")
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInput(
            f"'{file.name}' cannot be read: {first_line(error)}. Check it, or write it again."
        ) from error
    # The text and its cells are Python's; beside them there are the bytes, twice, and Arrow's.
    need = (4 + 2 * text_width(data)) * len(data) + sum(
        CELL_BYTES * data.count(sign) for sign in ENDS
    )
    first = data[: data.find(b"\n") + 1 or len(data)]
    need += COLUMN_BYTES * max(first.count(sign.encode()) for sign in SEPARATORS)
    budget.check_memory(need, f"'{file.name}'")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InvalidInput(f"'{file.name}' is UTF-16 text. Save it as UTF-8 (CSV UTF-8 in Excel).")
    if b"\0" in data:
        raise InvalidInput(
            f"'{file.name}' is not a CSV file: it holds bytes that are not text. Save the table as "
            "CSV."
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInput(
            f"'{file.name}' is not UTF-8 text: see line {line}. Save it as UTF-8 (CSV UTF-8 in "
            "Excel)."
        ) from error
    if not text.strip():
        raise InvalidInput(f"'{file.name}' is empty: it has no columns. Write it again.")
    return text

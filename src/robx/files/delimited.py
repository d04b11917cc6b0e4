"""CSV files: whatever stands between the columns, every value is the one that was written."""

from __future__ import annotations

import csv
import gzip
import io
import re
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robx.errors import InvalidInput
from robx.files.formats import first_line, refuse_doubled

if TYPE_CHECKING:
    import pandas as pd

#: What may stand between two columns, the likelier one first.
SEPARATORS = (",", ";", "\t")
#: A number as it is written where the comma is the decimal sign.
DECIMAL_COMMA = r"\s*[+-]?\d+,\d+(?:[eE][+-]?\d+)?\s*"
NUMBER = r"\s*[+-]?\d+(?:,\d+)?(?:[eE][+-]?\d+)?\s*"
WHOLE = r"\s*[+-]?\d+\s*"
#: A whole number that begins with a zero, as codes do; a number would lose it.
PADDED = r"\s*0\d+\s*"
#: From here on not every whole number is a float64.
NOT_EXACT = 2.0**53
#: How to read a file in which only an empty cell is missing.
BLANKS = {"keep_default_na": False, "na_values": [""]}


def read_delimited(
    file: Path, exact: Sequence[str] = (), *, only_blanks_missing: bool = False
) -> pd.DataFrame:
    """Read a CSV file; the columns in `exact` as the text that stands there."""
    source = _open(file)
    how = BLANKS if only_blanks_missing else {}
    frame = source.parsed(how)
    source.refuse_short_rows()
    if source.separator != "," and any(_has_decimal_commas(frame[name]) for name in frame):
        # Then a point is no decimal sign: 1.234 may well be a thousand, and stays text.
        frame = source.parsed(how, decimal=",")
    long = [name for name in frame if _may_be_rounded(frame[name])]
    padded = [name for name in frame if _is_number(frame[name])] if source.has_padded else []
    if long or padded:
        written = source.parsed(how, usecols=[*{*long, *padded}], dtype="str")
        for name in long:
            if written[name].dropna().str.fullmatch(WHOLE).all():
                frame[name] = _whole_numbers(written[name])
        for name in padded:
            if written[name].dropna().str.fullmatch(PADDED).any():
                frame[name] = written[name]
    if known := [name for name in source.names if name in exact]:
        frame[known] = source.parsed(BLANKS, usecols=known, dtype="str")[known]
    return frame


@dataclass(frozen=True)
class _Source:
    """The text of a file, and what stands between its columns."""

    file: Path
    text: str
    separator: str
    names: list[str]
    n_skipped: int

    def parsed(self, how: dict[str, Any], **more: Any) -> pd.DataFrame:
        """Have pandas read it."""
        import pandas as pd  # noqa: PLC0415 - takes long to load

        how = {**how, **more, "sep": self.separator}
        if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):  # later versions always do
            how["float_precision"] = "round_trip"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)  # of columns without a name
                # In one go, so that a column has one type, not one for each part of it.
                frame: pd.DataFrame = pd.read_csv(
                    io.StringIO(self.text), index_col=False, low_memory=False, **how
                )
        except pd.errors.ParserWarning as error:
            raise InvalidInput(
                f"The rows of '{self.file.name}' have more columns than its first line names. Name "
                "them all."
            ) from error
        except (ValueError, OverflowError) as error:  # which the parser's own errors are
            raise self._unreadable(error) from error
        return frame

    def refuse_short_rows(self) -> None:
        """Refuse rows that were cut off; pandas takes what is not there for missing."""
        rows = csv.reader(io.StringIO(self.text, newline=""), delimiter=self.separator)
        line = self.n_skipped + 1
        try:
            for row in rows:
                is_blank = not row or (len(row) == 1 and row[0].isspace())
                if len(row) < len(self.names) and not is_blank:
                    raise InvalidInput(
                        f"Line {line} of '{self.file.name}' has too few values: {len(row)}, where "
                        f"the first line names {len(self.names)} columns. Write it whole, with "
                        "nothing between two separators where a value is missing."
                    )
                line = self.n_skipped + rows.line_num + 1
        except csv.Error as error:
            raise self._unreadable(error) from error

    @property
    def has_padded(self) -> bool:
        """Whether a cell may hold a whole number that begins with a zero."""
        around = re.escape(f'{self.separator}"\r\n')
        return re.search(rf"(?:^|[{around}]) *0\d+ *(?:$|[{around}])", self.text) is not None

    def _unreadable(self, error: Exception) -> InvalidInput:
        return InvalidInput(
            f"'{self.file.name}' is no CSV file that can be read: {first_line(error)}. Write it "
            "again."
        )


def _open(file: Path) -> _Source:
    whole = _text(file)
    text = whole.lstrip("\r\n")
    first = next(iter(io.StringIO(text, newline="")), "")
    bare = re.sub(r'"[^"]*"', "", first)
    separator = next((sign for sign in SEPARATORS if sign in bare), ",")
    names = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    refuse_doubled(names, file)
    if blank := [i for i, name in enumerate(names) if not name.strip()]:
        raise InvalidInput(
            f"Column {blank[0] + 1} of '{file.name}' has no name. Name it in the first line; if it "
            "is an index that pandas wrote, write the file again with index=False."
        )
    n_skipped = len(whole[: len(whole) - len(text)].splitlines())
    return _Source(file, text, separator, names, n_skipped)


def _text(file: Path) -> str:
    """Give what is in a CSV file, which must be UTF-8."""
    try:
        data = file.read_bytes()
        data = gzip.decompress(data) if file.suffix.lower() == ".gz" else data
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInput(
            f"'{file.name}' cannot be read: {first_line(error)}. Check it, or write it again."
        ) from error
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InvalidInput(f"'{file.name}' is UTF-16 text. Save it as UTF-8 (CSV UTF-8 in Excel).")
    if b"\0" in data:
        raise InvalidInput(
            f"'{file.name}' is no CSV file: it holds bytes that are no text. Save the table as CSV."
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


def _has_decimal_commas(column: pd.Series[Any]) -> bool:
    """Whether all values are numbers, one of them at least with a decimal comma."""
    if _is_number(column) or column.isna().all():
        return False
    text = column.dropna().astype(str)
    return bool(text.str.fullmatch(NUMBER).all() and text.str.fullmatch(DECIMAL_COMMA).any())


def _is_number(column: pd.Series[Any]) -> bool:
    import pandas as pd  # noqa: PLC0415

    return bool(pd.api.types.is_numeric_dtype(column.dtype))


def _may_be_rounded(column: pd.Series[Any]) -> bool:
    """Whether a column of floats may have been one of long whole numbers, some missing."""
    return column.dtype == "float64" and bool((column.abs() >= NOT_EXACT).any())


def _whole_numbers(text: pd.Series[Any]) -> Any:
    """Whole numbers, as they were written; as text if they are too long."""
    import pandas as pd  # noqa: PLC0415

    try:
        return pd.array([pd.NA if pd.isna(value) else int(value) for value in text], dtype="Int64")
    except OverflowError:
        return text

"""Tables in files: Parquet as it is, CSV in a form that is safe in spreadsheets."""

from __future__ import annotations

import csv
import gzip
import os
from numbers import Number
from operator import is_not, ne
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robx.errors import InvalidInput, RobxWarning, warn_caller
from robx.files.atomic import atomically
from robx.files.escaping import escape
from robx.files.formats import ending_of

if TYPE_CHECKING:
    import pandas as pd


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table to a `.csv`, `.csv.gz` or `.parquet` file; the index is not written.

    In a CSV file, an apostrophe goes before text and names that a spreadsheet would run as a
    formula, with a warning. `read_table` with ``only_blanks_missing=True`` takes it away again.

    Parameters
    ----------
    frame : pandas DataFrame
    path : path

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> file = Path(tempfile.mkdtemp()) / "people.csv"
    >>> write_table(pd.DataFrame({"age": [31, 47], "income": [0.1, 0.2]}), file)
    >>> print(file.read_text(), end="")
    age,income
    31,0.1
    47,0.2
    """
    file = Path(path)
    ending = ending_of(file, "A table is written as")
    if ending == ".parquet":
        with atomically(file) as temporary:
            frame.to_parquet(temporary, index=False, engine="pyarrow")
        return
    safe, n_escaped = _escaped(frame)
    try:
        data = _as_csv(safe).encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"'{file.name}' cannot be written: the table holds {error.object[error.start]!r}, half "
            "of a character, which no text file can hold. Replace it."
        ) from error
    with atomically(file) as temporary:
        # Neither the name nor the time stands in the file: the same table gives the same bytes.
        temporary.write_bytes(gzip.compress(data, mtime=0) if ending == ".csv.gz" else data)
    if n_escaped:
        is_one = n_escaped == 1
        many = f"{n_escaped} texts in '{file.name}' begin as a formula does"
        one, it = f"A text in '{file.name}' begins as a formula does", "it" if is_one else "them"
        warn_caller(
            f"{one if is_one else many}. An apostrophe was put before {it}, so that no spreadsheet "
            f"runs {it}; robx reads {it} without. A .parquet file holds all text as it is.",
            RobxWarning,
        )


def _escaped(frame: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Protect the text of a table in spreadsheets; columns without such text stay as they are."""
    import pandas as pd  # noqa: PLC0415 - takes long to load

    safe, old = frame.copy(deep=False), list(map(str, frame.columns))
    names = [escape(name) for name in old]
    n_escaped = sum(map(ne, names, old))
    for i, dtype in enumerate(frame.dtypes):
        if dtype.kind in "OU":  # text, categories and objects
            values = frame.iloc[:, i].astype(object).tolist()
            cells = [_safe(value) for value in values]
            if n_new := sum(map(is_not, cells, values)):
                safe.isetitem(i, pd.Series(cells, dtype=object).to_numpy())
                n_escaped += n_new
    safe.columns = pd.Index(names)
    return safe, n_escaped


def _safe(value: Any) -> Any:
    """Give the value itself, or its text where that must be protected."""
    if isinstance(value, Number):
        return value
    text = str(value)
    safe = escape(text)
    return value if safe == text else safe


def _as_csv(frame: pd.DataFrame) -> str:
    """Give the text of a CSV file; every text is in quotes where it is unclear without them."""
    text: str = frame.to_csv(index=False, lineterminator="\n")
    alone = str(frame.columns[0]) if len(frame.columns) == 1 else ""
    if "\r" in text or ";" in alone or "\t" in alone:
        text = frame.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    return text

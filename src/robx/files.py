"""Files: written whole or not at all, and tables read as they are.

Nothing here guesses: a file that could be read in two ways is refused, with what to do. What may be
missing in a CSV file is what pandas takes for missing (an empty cell, ``NA``, ``nan``, ...).
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import secrets
import shutil
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robx.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "atomically",
    "check_target",
    "existing_file",
    "need_pyarrow",
    "read_table",
    "write_table",
]

#: Endings of tables.
ENDINGS = (".csv", ".csv.gz", ".parquet")
#: What may stand between two columns, the likelier one first.
SEPARATORS = (",", ";", "\t")
#: A number as it is written where the comma is the decimal sign.
DECIMAL_COMMA = r"\s*[+-]?\d+,\d+(?:[eE][+-]?\d+)?\s*"
NUMBER = r"\s*[+-]?\d+(?:,\d+)?(?:[eE][+-]?\d+)?\s*"
WHOLE = r"\s*[+-]?\d+\s*"
#: From here on not every whole number is a float64.
NOT_EXACT = 2.0**53


# --- writing --------------------------------------------------------------------------------------


@contextmanager
def atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path to write to, beside the target and with its ending; rename it at the end.

    Whoever looks sees the old file or the whole new one. After an error, or ctrl-C, nothing is
    left over and an old file is as it was.

    Parameters
    ----------
    path : path
        Where the file is to be.

    Yields
    ------
    Path
        Of an empty file to write to.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with atomically(folder / "note.txt") as temporary:
    ...     _ = temporary.write_text("done")
    >>> [(file.name, file.read_text()) for file in folder.iterdir()]
    [('note.txt', 'done')]
    """
    given, target = Path(path), check_target(path)
    temporary = target.parent / f".robx-{secrets.token_hex(8)}{target.suffix}"
    try:
        with _said_simply(given):
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            if target.exists():
                shutil.copymode(target, temporary)
        yield temporary
        with _said_simply(given):
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def check_target(path: str | os.PathLike[str]) -> Path:
    """Refuse a place where no file can be written; return it as it will be."""
    given = Path(path)
    with _said_simply(given):
        target = given.resolve()  # a link is kept, and what it points to is written
        is_folder, is_there, is_file = target.is_dir(), target.exists(), target.is_file()
        has_folder = target.parent.is_dir()
    if is_folder:
        raise InvalidInput(f"'{given}' is a folder. Name a file to write in it.")
    if not has_folder:
        raise InvalidInput(
            f"There is no folder '{given.parent}' to write '{given.name}' to. Make it first."
        )
    if is_there and not is_file:
        raise InvalidInput(f"'{given}' is no ordinary file. Name another to write to.")
    return target


@contextmanager
def _said_simply(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInput(
            f"'{str(path)[:200]}' cannot be written: {error.strerror}. Name another file, or one "
            "in another folder."
        ) from error


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table to a `.csv`, `.csv.gz` or `.parquet` file; the index is not written.

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
    ending = _ending(file, "A table is written as")
    if ending == ".parquet":
        need_pyarrow(file)
    with atomically(file) as temporary:
        if ending == ".parquet":
            frame.to_parquet(temporary, index=False, engine="pyarrow")
            return
        data = frame.to_csv(index=False, lineterminator="\n").encode()
        # Neither the name nor the time stands in the file: the same table gives the same bytes.
        temporary.write_bytes(gzip.compress(data, mtime=0) if ending == ".csv.gz" else data)


# --- reading --------------------------------------------------------------------------------------


def read_table(path: str | os.PathLike[str], *, only_blanks_missing: bool = False) -> pd.DataFrame:
    r"""Read a table from a `.csv`, `.csv.gz` or `.parquet` file.

    Numbers are the ones that were written, to the last bit. Columns of a CSV file stand between
    commas; if its first line has none, between semicolons or tabs. Where semicolons separate,
    numbers may be written with a decimal comma. No column is taken for an index.

    Parameters
    ----------
    path : path
    only_blanks_missing : bool
        Whether in a CSV file only an empty cell is missing, as in those that `write_table` wrote,
        and ``NA`` or ``None`` are text.

    Returns
    -------
    pandas DataFrame
        With at least one row.

    Raises
    ------
    InvalidInput
        If there is no such file, or it is no such table.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "leute.csv"
    >>> _ = file.write_text("Alter;Einkommen\n31;0,1\n47;0,2\n")
    >>> read_table(file)
       Alter  Einkommen
    0     31        0.1
    1     47        0.2
    """
    file = existing_file(path)
    ending = _ending(file, "A table is read from")
    if ending == ".parquet":
        frame = _read_parquet(file)
    else:
        how = {"keep_default_na": False, "na_values": [""]} if only_blanks_missing else {}
        frame = _read_csv(file, ending, how)
    if len(frame) == 0:
        raise InvalidInput(f"'{file.name}' has columns but no rows. Pass a file that has rows.")
    return frame


def existing_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file that is there and has something in it."""
    file = Path(path)
    try:
        is_file, is_folder = file.is_file(), file.is_dir()
        is_empty = is_file and file.stat().st_size == 0
    except OSError:  # a name too long, or not allowed
        is_file = is_folder = is_empty = False
    if is_folder:
        raise InvalidInput(f"'{file}' is a folder. Name a file in it.")
    if not is_file:
        raise InvalidInput(f"There is no file at '{str(file)[:200]}'. Check the name.")
    if is_empty:
        raise InvalidInput(f"'{file.name}' is empty: it has not a single byte. Write it again.")
    return file


def need_pyarrow(file: Path) -> None:
    """Refuse a parquet file where nothing reads or writes it."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped] # noqa: F401, PLC0415
    except ImportError as error:
        raise InvalidInput(
            f"'{file.name}' is a parquet file, which takes pyarrow. Run `pip install pyarrow`, or "
            "use a .csv file."
        ) from error


def _ending(file: Path, what: str) -> str:
    name = file.name.lower()
    ending = next((e for e in sorted(ENDINGS, key=len, reverse=True) if name.endswith(e)), None)
    if ending is None:
        raise InvalidInput(f"{what} .csv, .csv.gz or .parquet. Got '{file.name}'.")
    return ending


def _read_parquet(file: Path) -> pd.DataFrame:
    need_pyarrow(file)
    import pandas as pd  # noqa: PLC0415 - takes long to load
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # type: ignore[import-untyped] # noqa: PLC0415

    try:
        names = pq.read_schema(file).names
        _refuse_doubled(names, file)
        return pd.read_parquet(file, engine="pyarrow")
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(
            f"'{file.name}' is no parquet file, or a damaged one: {_first_line(error)}. Write it "
            "again."
        ) from error


def _read_csv(file: Path, ending: str, how: dict[str, Any]) -> pd.DataFrame:
    text = _text(file, ending)
    first = next(iter(io.StringIO(text, newline="")), "")
    bare = re.sub(r'"[^"]*"', "", first)
    separator = next((sign for sign in SEPARATORS if sign in bare), ",")
    names = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    _refuse_doubled(names, file)
    if blank := [i for i, name in enumerate(names) if not name.strip()]:
        raise InvalidInput(
            f"Column {blank[0] + 1} of '{file.name}' has no name. Name it in the first line; if it "
            "is an index that pandas wrote, write the file again with index=False."
        )
    frame = _parsed(text, file, how, sep=separator)
    if separator != "," and any(_has_decimal_commas(frame[name]) for name in frame):
        # Then a point is no decimal sign: 1.234 may well be a thousand, and stays text.
        frame = _parsed(text, file, how, sep=separator, decimal=",")
    long = [name for name in frame if _may_be_rounded(frame[name])]
    if long:
        whole = _parsed(text, file, how, sep=separator, usecols=long, dtype="str")
        for name in long:
            if whole[name].dropna().str.fullmatch(WHOLE).all():
                frame[name] = _whole_numbers(whole[name])
    return frame


def _parsed(text: str, file: Path, how: dict[str, Any], **more: Any) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415 - takes long to load

    how = {**how, **more}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):  # later versions always do
        how["float_precision"] = "round_trip"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # of columns without a name
            # In one go, so that a column has one type, not one for each part of it.
            frame: pd.DataFrame = pd.read_csv(
                io.StringIO(text), index_col=False, low_memory=False, **how
            )
    except pd.errors.ParserWarning as error:
        raise InvalidInput(
            f"The rows of '{file.name}' have more columns than its first line names. Name them all."
        ) from error
    except (ValueError, OverflowError) as error:  # which the parser's own errors are
        raise InvalidInput(
            f"'{file.name}' is no CSV file that can be read: {_first_line(error)}. Write it again."
        ) from error
    return frame


def _text(file: Path, ending: str) -> str:
    """Give what is in a CSV file, which must be UTF-8."""
    try:
        data = file.read_bytes()
        data = gzip.decompress(data) if ending == ".csv.gz" else data
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInput(
            f"'{file.name}' cannot be read: {_first_line(error)}. Check it, or write it again."
        ) from error
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InvalidInput(f"'{file.name}' is UTF-16 text. Save it as UTF-8 (CSV UTF-8 in Excel).")
    if b"\0" in data:
        raise InvalidInput(
            f"'{file.name}' is no CSV file: it holds bytes that are no text. Save the table as CSV."
        )
    try:
        text = data.decode("utf-8-sig").lstrip("\r\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInput(
            f"'{file.name}' is not UTF-8 text: see line {line}. Save it as UTF-8 (CSV UTF-8 in "
            "Excel)."
        ) from error
    if not text.strip():
        raise InvalidInput(f"'{file.name}' is empty: it has no columns. Write it again.")
    return text


def _refuse_doubled(names: list[str], file: Path) -> None:
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise InvalidInput(
            f"'{file.name}' has more than one column named '{doubled}'. Rename or drop one."
        )


def _has_decimal_commas(column: pd.Series[Any]) -> bool:
    """Whether all values are numbers, one of them at least with a decimal comma."""
    import pandas as pd  # noqa: PLC0415

    if pd.api.types.is_numeric_dtype(column.dtype) or column.isna().all():
        return False
    text = column.dropna().astype(str)
    return bool(text.str.fullmatch(NUMBER).all() and text.str.fullmatch(DECIMAL_COMMA).any())


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


def _first_line(error: Exception) -> str:
    said = str(error).strip() or type(error).__name__
    return said.splitlines()[0][:200].rstrip(".")

"""Files that are written whole or not at all."""

from __future__ import annotations

import csv
import errno
import gzip
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Number
from operator import is_not, ne
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robx.errors import InvalidInput
from robx.files.escaping import escape
from robx.files.formats import ending_of

if TYPE_CHECKING:
    import pandas as pd

#: Errors of a disk that is full.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path to write to, beside the target and with its ending; rename it at the end.

    Whoever looks sees the old file or the whole new one. After an error, or ctrl-C, nothing is
    left over and an old file is as it was. What the system says while the file is written, such as
    that the disk is full, becomes an `InvalidInput`.

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
    with _said_simply(given):
        try:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            if target.exists():
                shutil.copymode(target, temporary)
            yield temporary
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
        raise InvalidInput(f"'{given}' is not an ordinary file. Name another to write to.")
    return target


@contextmanager
def _said_simply(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = "Name another file, or one in another folder."
        if error.errno in FULL:
            what = "Free some space, or name a file on another disk."
        said = str(error.strerror or error).rstrip(".")
        raise InvalidInput(f"'{str(path)[:200]}' cannot be written: {said}. {what}") from error


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> int:
    """Write a table to a `.csv`, `.csv.gz` or `.parquet` file; the index is not written.

    In a CSV file, an apostrophe goes before text and names that a spreadsheet would run as a
    formula. `read_table` with ``only_blanks_missing=True`` takes it away again.

    Parameters
    ----------
    frame : pandas DataFrame
    path : path

    Returns
    -------
    int
        How many cells and names of columns got an apostrophe.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> file = Path(tempfile.mkdtemp()) / "people.csv"
    >>> write_table(pd.DataFrame({"id": ["Ann", "=1+1"], "change": [0.1, -0.2]}), file)
    1
    >>> print(file.read_text(), end="")
    id,change
    Ann,0.1
    '=1+1,-0.2
    """
    file = Path(path)
    ending = ending_of(file, "A table is written as")
    if ending == ".parquet":
        with atomically(file) as temporary:
            frame.to_parquet(temporary, index=False, engine="pyarrow")
        return 0
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
    return n_escaped


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

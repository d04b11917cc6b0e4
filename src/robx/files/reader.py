"""Tables that are read as they are.

Nothing here guesses: a file that could be read in two ways is refused, with what to do. What may be
missing in a CSV file is what pandas takes for missing (an empty cell, ``NA``, ``nan``, ...).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from robx.budget import Budget
from robx.errors import InvalidInput
from robx.files.formats import ending_of

if TYPE_CHECKING:
    import pandas as pd


def read_table(
    path: str | os.PathLike[str],
    *,
    text: Sequence[str] = (),
    only_blanks_missing: bool = False,
    budget: Budget | None = None,
) -> pd.DataFrame:
    r"""Read a table from a `.csv`, `.csv.gz` or `.parquet` file.

    Numbers are the ones that were written, to the last bit. Columns of a CSV file stand between
    commas; if its first line has none, between semicolons or tabs. Where semicolons separate,
    numbers may be written with a decimal comma. No column is taken for an index; a named index
    that pandas wrote to a parquet file is a column.

    A column of a CSV file in which a whole number begins with a zero, as in 00123, stays text in
    all rows: it is a code or a name, of which a number would lose the zeros. A model that takes
    numbers there refuses it, unless `robx.modelfiles.with_categories` is asked before.

    Parameters
    ----------
    path : path
    text : sequence of str
        Columns of a CSV file that are text exactly as they stand, such as names of people; only an
        empty cell is missing. Names that the file does not have are passed over, and parquet files
        know themselves what is text.
    only_blanks_missing : bool
        Whether a CSV file is one that `write_table` wrote: only an empty cell is missing, ``NA`` or
        ``None`` are text, and the apostrophe that protects text in spreadsheets is not part of it.
        In all other files, an apostrophe is text as it stands.
    budget : Budget, optional
        What reading the file may take.

    Returns
    -------
    pandas DataFrame
        With at least one row.

    Raises
    ------
    InvalidInput
        If there is no such file, or it is not such a table; `BudgetExceeded` if it is too large.

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
    file, budget = existing_file(path), budget or Budget.default()
    ending = ending_of(file, "A table is read from")
    budget.check_bytes(file.stat().st_size, f"'{file.name}'")
    # With pandas and Arrow, which take long to load.
    with budget.reading(f"'{file.name}'"):
        if ending == ".parquet":
            from robx.files.parquet import read_parquet  # noqa: PLC0415

            frame = read_parquet(file, budget)
        else:
            from robx.files.delimited import read_delimited  # noqa: PLC0415

            frame = read_delimited(file, budget, text, only_blanks_missing=only_blanks_missing)
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

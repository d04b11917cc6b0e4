"""Which kinds of tables there are, by the endings of their files, and what they share."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from robx.errors import InvalidInput

#: Endings of tables.
ENDINGS = (".csv", ".csv.gz", ".parquet")


def ending_of(file: Path, what: str) -> str:
    """Tell which kind of table a file is by its name."""
    name = file.name.lower()
    ending = next((e for e in sorted(ENDINGS, key=len, reverse=True) if name.endswith(e)), None)
    if ending is None:
        raise InvalidInput(f"{what} .csv, .csv.gz or .parquet. Got '{file.name}'.")
    return ending


def refuse_doubled(names: list[str], file: Path) -> None:
    """Refuse columns of one name, which pandas would rename."""
    counts = Counter(names)
    doubled = next((name for name in names if counts[name] > 1), None)
    if doubled is not None:
        raise InvalidInput(
            f"'{file.name}' has more than one column named '{doubled}'. Rename or drop one."
        )


def first_line(error: Exception) -> str:
    """Give the first line of what an error says, without a full stop."""
    said = str(error).strip() or type(error).__name__
    return said.splitlines()[0][:200].rstrip(".")


def text_width(data: bytes) -> int:
    """Tell how many bytes Python takes for each character of this UTF-8 text, once decoded."""
    if data.isascii() or re.search(rb"[\xc4-\xff]", data) is None:
        return 1
    return 2 if re.search(rb"[\xf0-\xff]", data) is None else 4

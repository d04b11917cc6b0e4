"""Files and folders of issued answers."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from robx.answers.flat_table import PREFIX
from robx.errors import InvalidInput

#: How a file of answers may end. Of the same answers in several forms, the first is taken.
ENDINGS = (".json", ".parquet", ".csv", ".csv.gz")
#: What the JSON of answers begins with, and how much of a file is looked at to tell.
MARK, LOOK = b'"robx_counterfactuals"', 4096
#: So much of the first line of a CSV file is looked at.
LONGEST_LINE = 2**20


def listed_answers(answers: Any) -> list[Any]:
    """List what is to be checked: answers, tables and files; folders give their files.

    A file that is named twice, or lies in a folder that is named as well, counts once.
    """
    given = list(answers) if isinstance(answers, list | tuple) else [answers]
    if not given:
        raise InvalidInput("check needs answers. Got an empty list.")
    found: list[Any] = []
    for one in given:
        found += files_in(one) if _is_folder(one) else [one]
    return _once(found)


def files_in(folder: str | os.PathLike[str]) -> list[Path]:
    """Find the files of answers in a folder, in the order of their names.

    Other files, such as reports, are left out, and so is a second form of the same name.
    """
    by_name: dict[str, dict[str, Path]] = {}
    for file in sorted(Path(folder).iterdir()):
        ending = next((e for e in reversed(ENDINGS) if file.name.lower().endswith(e)), None)
        if ending is not None and file.is_file() and _holds_answers(file):
            by_name.setdefault(file.name[: -len(ending)], {})[ending] = file
    found = [next(forms[e] for e in ENDINGS if e in forms) for forms in by_name.values()]
    if not found:
        raise InvalidInput(
            f"The folder '{folder}' has no file of answers. Name one with the .json, .parquet or "
            ".csv files that `robx explain --out` or Counterfactuals.save wrote."
        )
    return found


def _is_folder(one: Any) -> bool:
    return isinstance(one, str | os.PathLike) and Path(one).is_dir()


def _once(found: Iterable[Any]) -> list[Any]:
    seen: set[Path] = set()
    kept = []
    for one in found:
        if isinstance(one, str | os.PathLike):
            real = Path(one).resolve()
            if real in seen:
                continue
            seen.add(real)
        kept.append(one)
    return kept


def _holds_answers(file: Path) -> bool:
    """Look at the beginning of a file, or at its metadata, to tell answers from other files."""
    try:
        if file.suffix.lower() == ".json":
            with file.open("rb") as opened:
                return MARK in opened.read(LOOK)
        if file.suffix.lower() == ".parquet":
            return f"{PREFIX}status" in _columns(file)
        return f"{PREFIX}status".encode() in _first_line(file)
    except (OSError, EOFError, ValueError, zlib.error):
        return False


def _columns(file: Path) -> list[str]:
    import pyarrow.parquet as pq  # type: ignore[import-untyped] # noqa: PLC0415 - takes long

    return [str(name) for name in pq.read_schema(file).names]


def _first_line(file: Path) -> bytes:
    """Read the names of the columns of a CSV file, as far as they are looked at."""
    with gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb") as opened:
        return opened.readline(LONGEST_LINE)

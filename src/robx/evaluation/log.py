"""An append-only log of finished cells, which need not be computed again.

One cell per line, as JSON, under a key that stands for all of its inputs. An incomplete last line,
as a kill leaves it, is dropped; damage anywhere else is an error.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from robx.errors import InvalidInput
from robx.evaluation.cells import Cell
from robx.parameters import require

FORMAT = 1
#: How every line begins.
BEGINNING = b'{"robx_cell"'


class Log:
    """Cells by key, kept in a file.

    Parameters
    ----------
    path : path of a ``.jsonl`` file
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        is_path = isinstance(path, str | os.PathLike)
        require(is_path, path, "log", "evaluate", "the path of a .jsonl file, or None")
        self._path = Path(path)
        self._cells: dict[str, Cell] = {}
        if self._path.suffix != ".jsonl":
            raise InvalidInput(
                f"The log of an evaluation must be a .jsonl file. Got '{self._path.name}'."
            )
        if not self._path.parent.is_dir():
            raise InvalidInput(
                f"The folder of the log, '{self._path.parent}', does not exist. Create it first."
            )
        try:
            if self._path.exists():
                self._read(self._path)
            self._path.open("ab").close()
        except OSError as error:
            raise InvalidInput(f"The log '{self._path}' cannot be used: {error}.") from error

    def _read(self, path: Path) -> None:
        content = path.read_bytes()
        whole, end, torn = content.rpartition(b"\n")
        for number, line in enumerate((whole + end).splitlines(), start=1):
            key, cell = _parsed(line, f"Line {number} of '{path.name}'")
            self._cells[key] = cell
        if torn and not torn.startswith(BEGINNING[: len(torn)]):
            raise InvalidInput(f"The end of '{path.name}' is not part of a log. Use another file.")
        if torn:  # by a kill while it was written
            with path.open("r+b") as file:
                file.truncate(len(whole + end))

    def get(self, key: str) -> Cell | None:
        """Return the finished cell of a key, if there is one."""
        return self._cells.get(key)

    def add(self, key: str, cell: Cell) -> None:
        """Store a finished cell; it is on disk when this returns."""
        self._cells[key] = cell
        line = json.dumps({"robx_cell": FORMAT, "key": key, **cell.to_dict()}, allow_nan=False)
        try:
            with self._path.open("ab") as file:
                file.write(line.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise InvalidInput(
                f"The log '{self._path}' cannot be written: {error.strerror}. The cells before are "
                "in it: run the evaluation again with the same log where there is space."
            ) from error


def _parsed(line: bytes, where: str) -> tuple[str, Cell]:
    try:
        plain: Any = json.loads(line)
        version = plain["robx_cell"]
        key, cell = str(plain["key"]), Cell.from_dict(plain)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InvalidInput(
            f"{where} is damaged ({error}). Remove the line, or use another file."
        ) from error
    if version != FORMAT:
        raise InvalidInput(f"{where} is from another version of robx. Use another file.")
    return key, cell

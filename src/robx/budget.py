"""`Budget`: what reading a file may take, in bytes, memory and time.

A file is data from anywhere, and a size in it is a claim. Every reader takes a budget, works out
what a file would take before it takes it, and refuses what is too much. Two limits do not depend on
the budget, because no sound file comes near them: `MOST_GROWTH` and `MOST_INFLATION`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

from robx.errors import BudgetExceeded, InvalidInput
from robx.parameters import check_number

#: Text may take so many times its size in memory; of model files it takes less than 20 times.
MOST_GROWTH = 32
#: Compressed bytes may unfold to so many times their size.
MOST_INFLATION = 100
#: What takes no more than this is always allowed to grow.
SMALL = 2**26
#: What a column of a model counts for: the memory of everything that is made for each of them.
COLUMN_BYTES = 4096
AT_ONCE = 2**20


class Readable(Protocol):
    """What gives bytes, some at a time."""

    def read(self, size: int, /) -> bytes:
        """Give at most so many bytes, and none at the end."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What reading one file may take; a file that takes more raises `BudgetExceeded`.

    The environment variables ``ROBX_MAX_BYTES``, ``ROBX_MAX_MEMORY`` and ``ROBX_MAX_SECONDS``
    change the limits of every reader that is not given a budget, as on the command line.

    Parameters
    ----------
    max_bytes : int
        The largest file.
    max_memory : int
        Bytes of memory for what is made of it, as estimated before it is made. A model may also
        have one column for every 4096 bytes.
    max_seconds : float
        Time for a model library that reads a file, or scores with it, in a process of its own.
        Within robx, time grows in proportion to bytes and memory.

    Examples
    --------
    >>> Budget(max_memory=8 * 2**30)
    Budget(max_bytes=2147483648, max_memory=8589934592, max_seconds=120.0)
    """

    max_bytes: int = 2**31
    max_memory: int = 2**31
    max_seconds: float = 120.0

    def __post_init__(self) -> None:
        for field in fields(self):
            check_number(getattr(self, field.name), field.name, "Budget", above=0)

    @classmethod
    def default(cls) -> Budget:
        """Give the limits of readers that are not given any: see the environment variables."""
        limits: dict[str, Any] = {}
        for field in fields(cls):
            said = os.environ.get(_variable(field.name), "").strip()
            if said:
                try:
                    limit: Any = float(said) if field.type == "float" else int(float(said))
                    limits[field.name] = getattr(cls(**{field.name: limit}), field.name)
                except (InvalidInput, ValueError, OverflowError) as error:
                    raise InvalidInput(
                        f"The environment variable {_variable(field.name)} must be a number above "
                        f"0, such as 8e9. Got {said[:40]!r}."
                    ) from error
        return cls(**limits)

    # --- claims -----------------------------------------------------------------------------------

    def check_bytes(self, size: int, what: str) -> None:
        """Refuse a file of too many bytes."""
        if size > self.max_bytes:
            raise _exceeded(what, f"has {size:,} bytes", self.max_bytes, "max_bytes")

    def check_memory(self, need: int, what: str, *, held: int | None = None) -> None:
        """Refuse what would take too much memory; `held` are the bytes of text that it is made of.

        Parameters
        ----------
        need : int
            An estimate, in bytes, that is rather too high.
        what : str
            What to call the file in messages, such as "'rows.csv'".
        held : int, optional
            If given, the memory must be in proportion to it.
        """
        if need > self.max_memory:
            raise _exceeded(
                what, f"would take about {need:,} bytes of memory", self.max_memory, "max_memory"
            )
        if held is not None and need > max(MOST_GROWTH * held, SMALL):
            raise BudgetExceeded(
                f"{what} has {held:,} bytes, nested so densely that they would take about "
                f"{need:,} bytes of memory; text may take {MOST_GROWTH} times its size. Write it "
                "again with the program that made it."
            )

    def check_columns(self, n_columns: int, what: str) -> None:
        """Refuse a model of too many columns: most files only claim a number of them."""
        most = int(self.max_memory // COLUMN_BYTES)
        if n_columns > most:
            raise _exceeded(what, f"is of a model with {n_columns:,} columns", most, "max_memory")

    # --- bytes ------------------------------------------------------------------------------------

    def read(self, file: Path) -> bytes:
        """Read a file; one that grows meanwhile, or has no size, is not read for ever."""
        self.check_bytes(file.stat().st_size, f"'{file.name}'")
        with file.open("rb") as stream:
            data = stream.read(int(self.max_bytes) + 1)
        self.check_bytes(len(data), f"'{file.name}'")
        return data

    def inflate(self, stream: Readable, held: int, what: str) -> bytes:
        """Read what a stream unfolds `held` compressed bytes to, counted while it comes.

        Parameters
        ----------
        stream : readable
            Gives what was compressed.
        held : int
        what : str
            What to call the file in messages, such as "'rows.csv'".
        """
        most = max(MOST_INFLATION * held, SMALL)
        parts, size = [], 0
        while part := stream.read(AT_ONCE):
            size += len(part)
            self.check_memory(size, what)
            if size > most:
                raise BudgetExceeded(
                    f"{what} has {held:,} bytes and unfolds to more than {most:,}, over "
                    f"{MOST_INFLATION} times as many. If you trust it, unpack it yourself and name "
                    "the unpacked file."
                )
            parts.append(part)
        return b"".join(parts)

    @contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """Say it simply where a reader runs out of memory, or of the interpreter's depth."""
        try:
            yield
        except MemoryError as error:
            raise BudgetExceeded(
                f"{what} takes more memory than this process may have, although "
                f"{int(self.max_memory):,} bytes are allowed. Read it on a machine with more "
                "memory, or lower max_memory of robx.Budget (ROBX_MAX_MEMORY) to be told sooner."
            ) from error
        except RecursionError as error:
            raise BudgetExceeded(
                f"{what} is nested more deeply than can be read. Write it again with the program "
                "that made it."
            ) from error


#: For what this process made itself: a live model is not a file.
UNLIMITED = Budget(max_bytes=sys.maxsize, max_memory=sys.maxsize, max_seconds=sys.maxsize)


def _variable(field: str) -> str:
    return f"ROBX_{field.upper()}"


def allow_more(field: str) -> str:
    """Say how a limit is raised, in Python or for a command."""
    return (
        f"allow more with budget=robx.Budget({field}=...), or with the environment variable "
        f"{_variable(field)}"
    )


def _exceeded(what: str, came: str, most: float, field: str) -> BudgetExceeded:
    return BudgetExceeded(
        f"{what} {came}; at most {int(most):,} are allowed. If you trust it, {allow_more(field)}."
    )

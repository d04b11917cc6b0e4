"""A progress bar on long batches."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self


class Progress:
    """Counts applicants, or something else, as they are done; shows a bar if asked to.

    Parameters
    ----------
    total : int
    title : str
    unit : str
        What is counted.
    shown : bool
    """

    def __init__(
        self, total: int, title: str, unit: str = "applicants", *, shown: bool = False
    ) -> None:
        self.done = 0
        self._bar: Any = None
        if shown:
            from tqdm import tqdm  # noqa: PLC0415 - only where it is looked at

            self._bar = tqdm(total=total, desc=title, unit=f" {unit}")

    def add(self, n: int) -> None:
        """Count n more as done."""
        self.done += n
        if self._bar is not None:
            self._bar.update(n)

    def say(self, what: str) -> None:
        """Name what is being done, beside the bar."""
        if self._bar is not None:
            self._bar.set_postfix_str(what)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()


no_progress = Progress(0, "")

"""`Recent`: the last few results of something that is asked again and again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any


class Recent:
    """Results by key, at most so many of them.

    It takes no lock, so that a forked process never waits for one: two threads that ask at once may
    both make a result, which must be the same. Copies and pickles start empty.

    Parameters
    ----------
    most : int
        Where one more would be too many, all are forgotten.

    Examples
    --------
    >>> squares = Recent(2)
    >>> [squares.get(n, lambda: n * n) for n in (1, 2, 2, 3)], len(squares)
    ([1, 4, 4, 9], 1)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._results: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what was made under a key; make it now if it was not."""
        results = self._results
        try:
            return results[key]
        except KeyError:
            made = make()
        if len(results) >= self._most:
            self._results = results = {}
        results[key] = made
        return made

    def __contains__(self, key: Hashable) -> bool:
        return key in self._results

    def __len__(self) -> int:
        return len(self._results)

    def __reduce__(self) -> tuple[type[Recent], tuple[int]]:
        return Recent, (self._most,)

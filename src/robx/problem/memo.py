"""`Memo`: what was worked out once and serves many calls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any


class Memo:
    """Results by key. A key holds all that a result depends on; objects count by themselves.

    A memo is not part of what a problem is: it is left behind when the problem is copied to another
    process, and `Problem.renewed` starts with an empty one.
    """

    def __init__(self) -> None:
        self._results: dict[Hashable, Any] = {}
        self._lock = threading.RLock()

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what was made under a key; make it now if it was not."""
        with self._lock:
            if key not in self._results:
                self._results[key] = make()
            return self._results[key]

    def __reduce__(self) -> tuple[type[Memo], tuple[()]]:
        return Memo, ()

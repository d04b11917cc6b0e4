"""`Memo`: what was worked out once and serves many calls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable
from typing import Any


class Identity:
    """Objects as a key: each counts by itself, whatever it takes for equal, and if it has no hash.

    Parameters
    ----------
    objects : sequence of objects
        They are kept, so that no others can come by their numbers.
    """

    def __init__(self, objects: Iterable[Any]) -> None:
        self._objects = tuple(objects)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self._numbers() == other._numbers()

    def __hash__(self) -> int:
        return hash(self._numbers())

    def _numbers(self) -> tuple[int, ...]:
        return tuple(map(id, self._objects))


class Memo:
    """Results by key. A key holds all that a result depends on; see `Identity` for objects.

    A memo is not part of what a problem is: it is left behind when the problem is copied to another
    process, and `Problem.renewed` starts with an empty one.
    """

    def __init__(self) -> None:
        self._results: dict[Hashable, Any] = {}
        self._lock = threading.RLock()

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what was made under a key; make it now if it was not."""
        # What is there is given without the lock: in a forked process nobody may be left to
        # release it.
        found = self._results.get(key, self)
        if found is not self:
            return found
        with self._lock:
            if key not in self._results:
                self._results[key] = make()
            return self._results[key]

    def __reduce__(self) -> tuple[type[Memo], tuple[()]]:
        return Memo, ()

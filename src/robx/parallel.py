"""Sharing rows between threads; kernels run without the GIL."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

#: One pool per process and number of threads: starting threads takes longer than many a call.
_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}
_inside = threading.local()


def available_threads() -> int:
    """Number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def in_threads(
    run: Callable[[slice], None], n_rows: int, size: int, n_threads: int | None = None
) -> None:
    """Call `run` on slices that together cover the rows, on several threads where it pays.

    Parameters
    ----------
    run : function of a slice
        Must give the same result for a row in any slice.
    n_rows : int
    size : int
        Rows in a slice.
    n_threads : int, optional
        All cores unless given.
    """
    threads = available_threads() if n_threads is None else n_threads
    slices = [slice(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]
    # A thread of the pool that waited for the pool would wait for itself.
    if threads == 1 or len(slices) <= 1 or getattr(_inside, "pool", False):
        for part in slices:
            run(part)
        return
    list(_pool(threads).map(run, slices))


def _pool(threads: int) -> ThreadPoolExecutor:
    key = (os.getpid(), threads)  # a forked child has none of its parent's threads
    if key not in _pools:
        _pools[key] = ThreadPoolExecutor(threads, "robx", initializer=_mark)
    return _pools[key]


def _mark() -> None:
    _inside.pool = True

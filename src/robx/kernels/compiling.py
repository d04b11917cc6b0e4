"""Compiling kernels, and counting what was compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numba

from robx.kernels.code_files import CodeFiles

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_kernels: list[Any] = []


def njit(*, cache: bool, **options: Any) -> Callable[[Kernel], Kernel]:
    """Compile a kernel as `numba.njit` does, with files of our own for its code."""

    def compiled(function: Kernel) -> Any:
        kernel = numba.njit(**options)(function)
        if cache and hasattr(kernel, "_cache"):  # not with NUMBA_DISABLE_JIT
            kernel._cache = CodeFiles(function)
            _kernels.append(kernel)
        return kernel

    return compiled


@dataclass(frozen=True)
class Census:
    """What happened in this process, for all kernels that are loaded.

    A kernel counts once for every set of types that it was called with.

    Parameters
    ----------
    n_compiled, n_found, n_lost : int
        How often code was compiled, found in a file, and compiled but not kept in a file.
    folders : tuple of str
        Where the files are.
    """

    n_compiled: int
    n_found: int
    n_lost: int
    folders: tuple[str, ...]


def census() -> Census:
    """Count what was compiled in this process."""
    stats = [kernel.stats for kernel in _kernels]
    return Census(
        n_compiled=sum(sum(one.cache_misses.values()) for one in stats),
        n_found=sum(sum(one.cache_hits.values()) for one in stats),
        n_lost=sum(kernel._cache.n_lost for kernel in _kernels),
        folders=tuple(sorted({one.cache_path for one in stats if one.cache_path is not None})),
    )

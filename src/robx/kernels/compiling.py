"""Where compiled code is kept: numba's own choice, or a folder of ours, or nowhere.

numba keeps the code of a kernel in the folder that NUMBA_CACHE_DIR names, in the ``__pycache__``
beside the kernel, or in the user's cache folder, and raises an error if it can write to none of
them. A read-only installation for a user without a home is of this kind. There, the code is kept in
the temporary folder, in a folder that only this user can write to: code of others would be run.
"""

from __future__ import annotations

import os
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numba.core.config

from robx.errors import RobxWarning

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def njit(**options: Any) -> Callable[[Kernel], Kernel]:
    """Compile a kernel as `numba.njit` does, and keep the code if there is a place for it."""

    def compiled(function: Kernel) -> Any:
        try:
            return _forgiving(numba.njit(**options)(function))
        except RuntimeError:  # no place for its code
            folder = _own_folder()
        if folder is not None:
            with suppress(RuntimeError), _kept_in(folder):
                return _forgiving(numba.njit(**options)(function))
        _warn_once()
        return numba.njit(**{**options, "cache": False})(function)

    return compiled


@cache
def _own_folder() -> str | None:
    """Make a folder for code in the temporary one, or None where others could write to it."""
    if not hasattr(os, "getuid"):  # pragma: no cover - Windows
        return None
    try:
        parent = Path(tempfile.gettempdir())
        folder = parent / f"robx-code-{os.getuid()}"
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        above, own = parent.stat(), folder.lstat()
    except OSError:
        return None
    is_shared = above.st_mode & 0o022 and not above.st_mode & stat.S_ISVTX
    is_ours = stat.S_ISDIR(own.st_mode) and own.st_uid == os.getuid() and not own.st_mode & 0o077
    return str(folder) if is_ours and not is_shared else None


@contextmanager
def _kept_in(folder: str) -> Iterator[None]:
    """Have numba keep code in this folder, here only: other libraries have their own."""
    config: Any = numba.core.config
    before, config.CACHE_DIR = config.CACHE_DIR, folder
    try:
        yield
    finally:
        config.CACHE_DIR = before


def _forgiving(kernel: Any) -> Any:
    """Let a kernel run whose code cannot be kept, as on a full disk."""
    kept: Any = getattr(kernel, "_cache", None)
    save = getattr(kept, "save_overload", None)
    if save is not None:

        def save_or_not(*given: Any) -> None:
            with suppress(OSError):
                save(*given)

        kept.save_overload = save_or_not
    return kernel


@cache
def _warn_once() -> None:
    warnings.warn(
        "robx cannot keep its compiled code, so that every process compiles it again, which takes "
        "some seconds. Set NUMBA_CACHE_DIR to a folder that you can write to.",
        RobxWarning,
        stacklevel=3,
    )

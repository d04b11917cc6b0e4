"""Where compiled code is looked for, and kept: the first of these folders that works.

1. The folder that NUMBA_CACHE_DIR names.
2. The ``__pycache__`` beside the kernel. Code that was compiled when robx was installed is here.
3. The user's folder for caches.
4. The temporary folder, in a folder that only this user can write to: code of others would be run.

Code is read from all of them, also from those that cannot be written to.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba.core.config


def places_to_read(source: Path) -> Iterator[Path]:
    """Give the folders that may have code of the kernels in a source file, best first."""
    yield from _usual(source)
    folder = _temporary()
    if folder is not None and _is_ours(folder):
        yield folder


def places_to_write(source: Path) -> Iterator[Path]:
    """Make the folders for code of the kernels in a source file, those that can be made."""
    for folder in _usual(source):
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            yield folder
    last = _temporary()
    if last is not None:
        with suppress(OSError):
            last.mkdir(mode=0o700)
        if _is_ours(last):
            yield last


def _usual(source: Path) -> Iterator[Path]:
    config: Any = numba.core.config
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR, "robx")
    yield source.parent / "__pycache__"
    users = _users()
    if users is not None:
        yield users


def _users() -> Path | None:
    """Give the user's folder for caches, if this user has a home."""
    if sys.platform == "win32":  # pragma: no cover
        named, usual = "LOCALAPPDATA", "AppData/Local"
    else:
        named, usual = "XDG_CACHE_HOME", ".cache"
    try:
        folder = Path(os.environ.get(named) or Path.home() / usual)
    except RuntimeError:
        return None
    # Where the folder above it is missing, we would make a home for somebody.
    return folder / "robx" / "code" if folder.parent.is_dir() else None


def _temporary() -> Path | None:
    """Give a folder of this user in the temporary one, unless others could replace it there."""
    if not hasattr(os, "getuid"):  # pragma: no cover - Windows
        return None
    try:
        parent = Path(tempfile.gettempdir())
        mode = parent.stat().st_mode
    except OSError:
        return None
    is_shared = mode & 0o022 and not mode & stat.S_ISVTX
    return None if is_shared else parent / f"robx-code-{os.getuid()}"


def _is_ours(folder: Path) -> bool:
    """Whether a folder is there, is not a link, and only this user can write to it."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077

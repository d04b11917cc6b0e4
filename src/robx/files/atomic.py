"""Files that are written whole or not at all.

Where the system has files without a name (Linux, on most disks), a file gets its name when it is
whole, and not even a kill can leave a part of it behind. Elsewhere it has a temporary name beside
the target. Such a file is locked while it is written, so that the next writer can tell what a
killed one left, and removes it.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from robx.errors import InvalidInput

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # pragma: no cover - Windows, where nobody can tell what is left over
    flock = None  # type: ignore[assignment]

#: Errors of a disk that is full.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
#: Errors of a disk, or a system, that has no files without a name.
NAMES_ONLY = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL})
#: Names of files that are being written.
TEMPORARY = re.compile(r"\.robx-[0-9a-f]{16}(\..*)?")
#: For its owner, and for everybody whom the user's umask allows.
OWNER, EVERYBODY = 0o600, 0o666


@contextmanager
def atomically(path: str | os.PathLike[str], *, private: bool = True) -> Iterator[Path]:
    """Give a path to write to; what is written there becomes the target at the end.

    Whoever looks sees the old file or the whole new one. After an error, ctrl-C or a kill, an old
    file is as it was and no other is there. What the system says while the file is written, such as
    that the disk is full, becomes an `InvalidInput`.

    Parameters
    ----------
    path : path
        Where the file is to be.
    private : bool
        Whether only its owner may read a new file: it may tell something about a person. Otherwise
        the umask decides. A file that is replaced keeps its permissions.

    Yields
    ------
    Path
        Of an empty file to write to, in a place and of a name that mean nothing.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with atomically(folder / "note.txt") as temporary:
    ...     _ = temporary.write_text("done")
    >>> [(file.name, file.read_text()) for file in folder.iterdir()]
    [('note.txt', 'done')]
    """
    given, target = Path(path), _place(path)
    with _said_simply(given):
        is_there = target.exists()
        _remove_left_over(target.parent)
        mode = OWNER if private or is_there else EVERYBODY
        with _opened(target, mode) as (descriptor, temporary):
            yield temporary
            if is_there:
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            os.fsync(descriptor)
            _put(temporary, target)


def check_target(path: str | os.PathLike[str]) -> Path:
    """Refuse a place where no file can be written; return it as it will be."""
    given, target = Path(path), _place(path)
    with _said_simply(given):
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        with _opened(target, OWNER):  # there is no other way to know
            pass
    return target


def _place(path: str | os.PathLike[str]) -> Path:
    """Follow links to where a file will be, which must be in a folder."""
    given = Path(path)
    with _said_simply(given):
        try:
            target = given.resolve()  # a link is kept, and what it points to is written
        except RuntimeError as error:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from error
        except ValueError as error:  # a name with a zero byte
            raise OSError(errno.EINVAL, str(error)) from error
        if target.is_symlink():  # in a circle, for newer versions of Python
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        is_folder, is_there, is_file = target.is_dir(), target.exists(), target.is_file()
        has_folder = target.parent.is_dir()
    if is_folder:
        raise InvalidInput(f"'{given}' is a folder. Name a file to write in it.")
    if not has_folder:
        raise InvalidInput(
            f"There is no folder '{given.parent}' to write '{given.name}' to. Make it first."
        )
    if is_there and not is_file:
        raise InvalidInput(f"'{given}' is not an ordinary file. Name another to write to.")
    return target


@contextmanager
def _said_simply(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = "Name another file, or one in another folder."
        if error.errno in FULL:
            what = "Free some space, or name a file on another disk."
        said = str(error.strerror or error).rstrip(".")
        raise InvalidInput(f"'{str(path)[:200]}' cannot be written: {said}. {what}") from error


# --- files that are not whole yet -----------------------------------------------------------------


@contextmanager
def _opened(target: Path, mode: int) -> Iterator[tuple[int, Path]]:
    """Open a file to become the target, without a name if possible; it is gone at the end."""
    nameless = _open_nameless(target.parent, mode)
    descriptor, path = nameless or _open_named(target, mode)
    try:
        yield descriptor, path
    finally:
        os.close(descriptor)
        if nameless is None:
            path.unlink(missing_ok=True)


def _open_nameless(folder: Path, mode: int) -> tuple[int, Path] | None:
    """Open a file without a name in a folder, which other code can open by this path."""
    if not hasattr(os, "O_TMPFILE"):
        return None
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR, mode)
    except OSError as error:
        if error.errno in NAMES_ONLY:
            return None
        raise
    path = Path(f"/proc/{os.getpid()}/fd/{descriptor}")
    if not path.exists():
        os.close(descriptor)
        return None
    _lock(descriptor)
    return descriptor, path


def _open_named(target: Path, mode: int) -> tuple[int, Path]:
    """Open and lock a file with a temporary name beside the target."""
    while True:
        path = _temporary_name(target)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
        _lock(descriptor)
        if path.exists():  # else somebody took it for left over before it was locked
            return descriptor, path
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    if flock is not None:
        with suppress(OSError):  # a disk without locks, where nothing is taken for left over
            flock(descriptor, LOCK_EX)


def _temporary_name(target: Path) -> Path:
    return target.parent / f".robx-{secrets.token_hex(8)}{target.suffix}"


def _put(temporary: Path, target: Path) -> None:
    """Make a whole file the target."""
    if temporary.parent == target.parent:
        temporary.replace(target)
        return
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        with suppress(FileExistsError):
            os.link(temporary, target.name, dst_dir_fd=folder, follow_symlinks=True)
            return
        name = _temporary_name(target)  # only a file with a name can replace another
        try:
            os.link(temporary, name.name, dst_dir_fd=folder, follow_symlinks=True)
            name.replace(target)
        finally:
            name.unlink(missing_ok=True)
    finally:
        os.close(folder)


@cache
def _remove_left_over(folder: Path) -> None:
    """Remove what killed writers left in a folder; it is looked at once in a process."""
    if flock is None:
        return
    with os.scandir(folder) as entries:
        found = [Path(one.path) for one in entries if TEMPORARY.fullmatch(one.name)]
    for path in found:
        with suppress(OSError):  # somebody else's, or being written
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
            try:
                flock(descriptor, LOCK_EX | LOCK_NB)
                path.unlink()
            finally:
                os.close(descriptor)

"""Files of compiled code: one for a kernel, the types of its arguments and the processor.

The name of a file is a digest of all that the code depends on: the text of the kernel's file and of
those that it imports, the types, the processor, and the versions of Python and numba. So code is
never taken for that of something else, processes that write at the same time do not disturb each
other, and code that was compiled in one place is found in another, whatever the times of the files
are. numba's own cache keeps an index for each kernel, does not see changes in the files that a
kernel calls, and does not read from folders that it cannot write to.

Code that cannot be read or kept is compiled: there is never an error, at most one warning.
"""

from __future__ import annotations

import hashlib
import inspect
import pickle
import re
import sys
import uuid
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from llvmlite.binding import address_of_symbol
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from robx.errors import RobxWarning
from robx.kernels.code_places import places_to_read, places_to_write

#: Imports of packages of kernels, or from their modules.
IMPORTED = re.compile(
    r"^from (robx\.(?:\w+\.)*kernels)(\.\w+)? import (\([^)]*\)|.*)$", re.MULTILINE
)
#: Where there are no kernels.
OTHERS = ("compiling", "code_files", "code_places")


class CodeFiles:
    """The files of one kernel, as a cache in numba's sense.

    Parameters
    ----------
    function : function
        The kernel as plain Python.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._source = Path(inspect.getfile(function))
        #: The folder of the last file that was read or written.
        self.cache_path: str | None = None
        #: How often code could not be kept.
        self.n_lost = 0

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Give the code for some types of arguments, or None."""
        with suppress(Exception):  # whatever is wrong with a file, the kernel is compiled
            name = self._name(sig, target_context.codegen())
            for folder in places_to_read(self._source):
                packed = _read(folder / name)
                if packed is not None:
                    symbols, reduced = pickle.loads(packed)  # noqa: S301
                    _provide(symbols, target_context)
                    made = CompileResult._rebuild(target_context, *reduced)
                    self.cache_path = str(folder)
                    return made
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep code that was compiled just now."""
        with suppress(Exception):
            name = self._name(sig, data.codegen)
            packed = dumps((_symbols(data), data._reduce()))
            for folder in places_to_write(self._source):
                with suppress(OSError):
                    _write(folder / name, packed)
                    self.cache_path = str(folder)
                    return
        self.n_lost += 1
        _warn_once()

    def enable(self) -> None:
        """See numba; files are always in use."""

    def disable(self) -> None:
        """See numba; files are always in use."""

    def flush(self) -> None:
        """See numba; files that are out of date are never found again."""

    def _name(self, sig: Any, codegen: Any) -> str:
        known = (
            *(_text_digest(self._source), self._function.__qualname__, str(sig)),
            *(codegen.magic_tuple(), sys.implementation.cache_tag, numba.__version__),
        )
        digest = hashlib.sha256(repr(known).encode()).hexdigest()[:32]
        return f"{self._source.stem}.{self._function.__qualname__}-{digest}.nbc"


@cache
def _text_digest(source: Path) -> str:
    """Digest the text of a file of kernels, and of those that it imports."""
    texts = sorted(hashlib.sha256(file.read_bytes()).hexdigest() for file in files_of(source))
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def files_of(source: Path) -> set[Path]:
    """Give a file of kernels and those that it imports, directly or through others."""
    root = Path(__file__).parents[2]
    found: set[Path] = set()
    waiting = [source]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            for package, module, names in IMPORTED.findall(file.read_text(encoding="utf-8")):
                modules = [module[1:]] if module else re.findall(r"\w+", names)
                folder = root.joinpath(*package.split("."))
                waiting += [folder / f"{name}.py" for name in modules if name not in OTHERS]
    return found


def _symbols(made: Any) -> list[str]:
    """List what compiled code takes from elsewhere, by name."""
    module = made.library._final_module
    named = [
        one.name for one in (*module.functions, *module.global_variables) if one.is_declaration
    ]
    return [name for name in named if not name.startswith("llvm.")]


def _provide(symbols: list[str], target_context: Any) -> None:
    """Have ready what compiled code takes from elsewhere; without, it would end the process.

    Nearly always this is numba's small runtime. Otherwise all that numba has is loaded, which takes
    as long as everything else that a process does before its first answer.
    """
    rtsys.initialize(target_context)
    if any(address_of_symbol(name) is None for name in symbols):
        target_context.refresh()


def _read(file: Path) -> bytes | None:
    """Read what was written, or None for a file that is missing or damaged."""
    try:
        written = file.read_bytes()
    except OSError:
        return None
    digest, packed = written[:32], written[32:]
    return packed if hashlib.sha256(packed).digest() == digest else None


def _write(file: Path, packed: bytes) -> None:
    """Write a whole file or none, whoever else writes it."""
    part = file.with_name(f"{file.name}.{uuid.uuid4().hex[:16]}")
    try:
        part.write_bytes(hashlib.sha256(packed).digest() + packed)
        part.replace(file)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@cache
def _warn_once() -> None:
    warnings.warn(
        "robx cannot keep its compiled code, so that every process compiles it again, which takes "
        "some seconds. Set NUMBA_CACHE_DIR to a folder that you can write to.",
        RobxWarning,
        stacklevel=3,
    )

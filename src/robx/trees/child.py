"""Running a model library on an untrusted file, in a process of its own.

A damaged file can make a library crash, hang or eat memory. Here it does so in a child process with
a time and a memory limit; what comes back is bytes, read as data.

Rows are personal data. They go to the child, and its answer comes back, in memory files without a
name: whenever a process is killed, there is nothing that it could leave behind. Without a name is
also what the library writes, where the system has such files; elsewhere (not on Linux) a converted
model, never rows, stands in a temporary folder until the child ends.
"""

from __future__ import annotations

import io
import json
import os
import subprocess  # the child runs our own fixed scripts: see the callers
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from robx.budget import Budget, allow_more
from robx.errors import BudgetExceeded, InvalidInput, InvalidModel, UnsupportedModel

#: The child's first lines: what the library prints goes to the errors, the answer goes alone.
START = """
import json, os, signal, sys
source, memory, size, seconds = sys.argv[1], *map(int, sys.argv[2:5])
given = json.loads(sys.stdin.buffer.readline())
answer = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    signal.alarm(seconds)
except (ImportError, AttributeError, ValueError, OSError):
    pass
"""
#: The library writes to a path: that of a file in memory, where there are such files.
TO_OUTPUT = """
import contextlib, tempfile
with contextlib.ExitStack() as stack:
    if hasattr(os, "memfd_create"):
        output = f"/proc/self/fd/{os.memfd_create('robx')}"
    else:
        output = os.path.join(stack.enter_context(tempfile.TemporaryDirectory()), "output")
    exec(given["script"])
    with open(output, "rb") as written:
        answer.write(written.read())
answer.close()
"""
READ_ROWS = """
import numpy
if given["is_array"]:
    X = numpy.load(sys.stdin.buffer, allow_pickle=False)
else:
    import pyarrow
    with pyarrow.ipc.open_stream(sys.stdin.buffer) as stream:
        X = stream.read_all().to_pandas()
"""
SEND_SCORES = """
numpy.save(answer, numpy.asarray(scores, dtype="f8"), allow_pickle=False)
answer.close()
"""


def convert(script: str, library: str, source: Path, budget: Budget) -> bytes:
    """Run ``script``, which sees two paths; return what it wrote of ``source`` to ``output``."""
    if find_spec(library) is None:
        raise UnsupportedModel(
            f"'{source.name}' can only be read with {library} installed. Install it, or save the "
            "model as .json."
        )
    return _run(TO_OUTPUT, library, source, {"script": script}, b"", budget)


def score(
    script: str, library: str, source: Path, X: Any, budget: Budget, **given: Any
) -> NDArray[np.float64] | None:
    """Run ``script``, which sets ``scores`` from ``source``, ``X`` and ``given``.

    Returns None without the library.
    """
    if find_spec(library) is None:
        return None
    is_array = not hasattr(X, "iloc")
    try:
        rows = _array_bytes(X) if is_array else _frame_bytes(X)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise InvalidInput(
            f"The rows to check the import on cannot be passed to {library}: {str(error)[:200]}"
        ) from error
    whole = READ_ROWS + script + SEND_SCORES
    data = _run(whole, library, source, {**given, "is_array": is_array}, rows, budget)
    try:
        return np.asarray(np.load(io.BytesIO(data), allow_pickle=False), dtype=np.float64)
    except (ValueError, EOFError) as error:
        raise InvalidModel(f"{library} gave no scores for '{source.name}'.") from error


def written(save: Callable[[str], object]) -> bytes:
    """Give what a library of this process writes to a path, without leaving a file behind."""
    if hasattr(os, "memfd_create"):
        with nameless() as file:
            save(f"/proc/self/fd/{file.fileno()}")
            file.seek(0)
            return file.read()
    with tempfile.TemporaryDirectory(prefix="robx-") as folder:
        path = Path(folder) / "output"
        save(str(path))
        return path.read_bytes()


def offered(data: bytes, load: Callable[[str], object]) -> None:
    """Let a library of this process load data from a path, without leaving a file behind."""
    if hasattr(os, "memfd_create"):
        with nameless() as file:
            file.write(data)
            file.flush()
            load(f"/proc/self/fd/{file.fileno()}")
        return
    with tempfile.TemporaryDirectory(prefix="robx-") as folder:
        path = Path(folder) / "input"
        path.write_bytes(data)
        load(str(path))


def own_memory() -> int:
    """Give the addresses that a library takes, whatever it reads: for code, pools and threads."""
    return 4 * 2**30 + 2**27 * (os.cpu_count() or 1)


@contextmanager
def nameless() -> Iterator[BinaryIO]:
    """Open a file that no folder knows: in memory, where the system has such files."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("robx"), "w+b") as file:
            yield file
    else:
        with tempfile.TemporaryFile() as file:
            yield file


def _array_bytes(X: Any) -> bytes:
    out, array = io.BytesIO(), np.asarray(X)
    array = array.astype(np.float64) if array.dtype == object else array
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def _frame_bytes(X: Any) -> bytes:
    import pyarrow as pa  # type: ignore[import-untyped] # noqa: PLC0415 - takes long to load

    out, table = io.BytesIO(), pa.Table.from_pandas(X, preserve_index=False)
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    return out.getvalue()


def _run(
    script: str,
    library: str,
    source: Path,
    given: dict[str, Any],
    rows: bytes,
    budget: Budget,
) -> bytes:
    """Run a script, and give what it wrote to `answer`."""
    seconds = min(budget.max_seconds, 2**30)
    memory = min(own_memory() + int(budget.max_memory), sys.maxsize)
    limits = [str(memory), str(min(int(budget.max_bytes), sys.maxsize)), str(int(seconds) + 2)]
    command = [sys.executable, "-I", "-c", START + script, str(source.resolve()), *limits]
    with nameless() as entry, nameless() as answer, nameless() as errors:
        entry.write(json.dumps(given).encode() + b"\n" + rows)
        entry.seek(0)
        try:
            done = subprocess.run(  # noqa: S603 - a fixed script, no shell
                command,
                stdin=entry,
                stdout=answer,
                stderr=errors,
                timeout=seconds,
                cwd=Path(sys.executable).anchor,  # where nobody writes
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise BudgetExceeded(
                f"{library} did not finish with '{source.name}' in {seconds:g} s; it was stopped. "
                f"If you trust the file, {allow_more('max_seconds')}."
            ) from error
        answer.seek(0)
        data = answer.read(int(budget.max_bytes) + 1)
        errors.seek(max(errors.seek(0, os.SEEK_END) - 4096, 0))
        said = errors.read().decode(errors="replace").strip().splitlines()
    if done.returncode != 0 or not data:
        how = f"stopped by signal {-done.returncode}" if done.returncode < 0 else "an error"
        raise InvalidModel(
            f"{library} could not read '{source.name}' ({how})"
            + (f": {said[-1][:300]}" if said else ".")
        )
    return data

"""Running a model library on an untrusted file, in a process of its own.

A damaged file can make a library crash, hang or eat memory. Here it does so in a child process with
a time and a memory limit; what comes back is bytes, read as data. The parent never unpickles them.
"""

from __future__ import annotations

import pickle
import subprocess  # the child runs our own fixed scripts: see the callers
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidModel, UnsupportedModel

SECONDS = 120
MEMORY = 16 * 2**30

LIMITS = """
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))
except (ImportError, ValueError, OSError):
    pass
"""


def convert(script: str, library: str, source: Path) -> bytes:
    """Run ``script``, which sees two paths; return what it wrote of ``source`` to ``output``."""
    if find_spec(library) is None:
        raise UnsupportedModel(
            f"'{source.name}' can only be read with {library} installed. Install it, or save the "
            "model as .json."
        )
    with tempfile.TemporaryDirectory(prefix="robx-") as folder:
        output = Path(folder) / "output"
        _run(script, library, source, output, [])
        return output.read_bytes()


def score(script: str, library: str, source: Path, X: object) -> NDArray[np.float64] | None:
    """Run ``script``, which sets ``scores`` from ``source`` and ``X``; None without the library."""
    if find_spec(library) is None:
        return None
    with tempfile.TemporaryDirectory(prefix="robx-") as folder:
        rows, output = Path(folder) / "rows", Path(folder) / "scores.npy"
        rows.write_bytes(pickle.dumps(X))  # the child reads what this process wrote
        prologue = "import pickle, numpy\nX = pickle.loads(open(sys.argv[3], 'rb').read())\n"
        epilogue = "\nnumpy.save(output, numpy.asarray(scores, dtype='f8'), allow_pickle=False)\n"
        _run(prologue + script + epilogue, library, source, output, [str(rows)])
        return np.asarray(np.load(output, allow_pickle=False), dtype=np.float64)


def _run(script: str, library: str, source: Path, output: Path, more: list[str]) -> None:
    code = "import sys\nsource, output = sys.argv[1:3]\n" + LIMITS.format(memory=MEMORY) + script
    try:
        done = subprocess.run(  # noqa: S603 - a fixed script, no shell
            [sys.executable, "-I", "-c", code, str(source.resolve()), str(output), *more],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            cwd=output.parent,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise InvalidModel(
            f"{library} did not finish with '{source.name}' in {SECONDS} s; it was stopped."
        ) from error
    if done.returncode != 0 or not output.is_file():
        said = done.stderr.decode(errors="replace").strip().splitlines()
        how = f"stopped by signal {-done.returncode}" if done.returncode < 0 else "an error"
        raise InvalidModel(
            f"{library} could not read '{source.name}' ({how})"
            + (f": {said[-1][:300]}" if said else ".")
        )

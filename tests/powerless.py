"""Processes for which the permissions of files count, also where tests run as root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import robx

#: Drops root's right to read and write everything; for everybody else it changes nothing.
DROPPED = """
import ctypes, os
if os.geteuid() == 0:
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    if ctypes.CDLL(None).capset(header, (ctypes.c_uint32 * 6)()) != 0:
        raise SystemExit("root's rights could not be dropped")
"""


def run_powerless(code: str, *arguments: object, **how: Any) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process of its own that has no rights but its user's."""
    command: Sequence[str] = [sys.executable, "-c", DROPPED + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **how)


def copied(place: Path) -> Path:
    """Copy robx, without any compiled code."""
    source = Path(robx.__file__).parent
    shutil.copytree(source, place / "robx", ignore=shutil.ignore_patterns("__pycache__"))
    return place


def locked(place: Path) -> Path:
    """Let nobody write to a folder and those in it."""
    for folder, _, _ in os.walk(place):
        Path(folder).chmod(0o555)
    return place

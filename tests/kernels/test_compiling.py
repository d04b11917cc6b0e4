"""Where compiled code is kept, in processes that may write to few places."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import robx
from powerless import run_powerless
from speed import slow_but

#: Calls a small kernel, and says how often its code was found.
CALL = """
import resource, sys, warnings
warnings.simplefilter("always")
import numpy as np
from robx.kernels.trees import right_children
if sys.argv[1:]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
print(right_children(np.array([True, False, False])).tolist())
print(sum(right_children.stats.cache_hits.values()))
"""
DONE = "[2, 0, 0]\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of robx that nobody may write to."""
    place = tmp_path_factory.mktemp("installed")
    source = Path(robx.__file__).parent
    shutil.copytree(source, place / "robx", ignore=shutil.ignore_patterns("__pycache__"))
    for folder, _, _ in os.walk(place):
        Path(folder).chmod(0o555)
    return place


def called(
    installed: Path, temporary: Path, *arguments: object, **more: str
) -> subprocess.CompletedProcess[str]:
    """Call the kernel of a read-only robx, for a user without a home."""
    there = {"PYTHONPATH": str(installed), "TMPDIR": str(temporary), "HOME": os.devnull, **more}
    kept = {k: v for k, v in os.environ.items() if k in {"PATH", "LD_LIBRARY_PATH"}}
    ran = run_powerless(CALL, *arguments, env={**kept, **there})
    assert ran.returncode == 0, ran.stderr
    return ran


def code_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.nbc"))


def test_code_is_kept_in_the_temporary_folder_where_nothing_else_can_be_written(
    installed: Path, tmp_path: Path
) -> None:
    first = called(installed, tmp_path)
    assert (first.stdout, first.stderr) == (f"{DONE}0\n", "")
    assert [file.name for file in tmp_path.iterdir()] == [f"robx-code-{os.getuid()}"]
    assert next(tmp_path.iterdir()).stat().st_mode & 0o777 == 0o700
    assert len(code_in(tmp_path)) == 1
    second = called(installed, tmp_path)
    assert (second.stdout, second.stderr) == (f"{DONE}1\n", "")


PLANTED = ["a link", "open to others", "a file", "in a shared folder"]


@pytest.mark.parametrize("planted", slow_but(["a link"], PLANTED))
def test_code_is_not_kept_where_others_could_plant_some(
    installed: Path, tmp_path: Path, planted: str
) -> None:
    temporary, elsewhere = tmp_path / "tmp", tmp_path / "elsewhere"
    own = temporary / f"robx-code-{os.getuid()}"
    temporary.mkdir()
    elsewhere.mkdir(mode=0o700)
    if planted == "a link":
        own.symlink_to(elsewhere)
    elif planted == "open to others":
        own.mkdir()
        own.chmod(0o777)
    elif planted == "a file":
        own.write_text("")
    else:
        temporary.chmod(0o777)
    ran = called(installed, temporary)
    assert ran.stdout == f"{DONE}0\n"
    assert ran.stderr.count("RobxWarning: robx cannot keep its compiled code") == 1
    assert "Set NUMBA_CACHE_DIR to a folder that you can write to." in ran.stderr
    assert code_in(tmp_path) == []


@pytest.mark.slow
def test_a_folder_that_the_user_names_or_has_comes_first(installed: Path, tmp_path: Path) -> None:
    named, home, temporary = tmp_path / "named", tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    assert called(installed, temporary, NUMBA_CACHE_DIR=str(named)).stderr == ""
    assert len(code_in(named)) == 1
    assert called(installed, temporary, HOME=str(home)).stderr == ""
    assert len(code_in(home)) == 1
    assert list(temporary.iterdir()) == []


def test_a_kernel_runs_although_its_code_cannot_be_kept_on_a_full_disk(
    installed: Path, tmp_path: Path
) -> None:
    ran = called(installed, tmp_path, 64)
    assert (ran.stdout, ran.stderr) == (f"{DONE}0\n", "")
    assert code_in(tmp_path) == []


@pytest.mark.slow
def test_other_users_of_numba_keep_their_own_folder() -> None:
    code = "import numba.core.config as c; import robx.kernels.trees; print(repr(c.CACHE_DIR))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{os.environ.get('NUMBA_CACHE_DIR', '')!r}\n"

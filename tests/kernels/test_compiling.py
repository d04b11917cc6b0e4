"""Where compiled code is kept and found, in processes that may write to few places."""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

import robx
import robx.kernels
import robx.methods.baselines.kernels
from powerless import DROPPED, copied, locked, run_powerless
from robx.kernels.code_files import OTHERS, files_of
from speed import slow_but

#: Calls a small kernel, and says how often its code was found.
CALL = """
import resource, sys, warnings
warnings.simplefilter("always")
import numpy as np
from robx.kernels.compiling import census
from robx.kernels.trees import right_children
if sys.argv[1:]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
is_split = np.array([True, False, False])
is_split.flags.writeable = len(sys.argv) < 3
print(right_children(is_split).tolist())
print(census().n_found)
"""
DONE = "[2, 0, 0]\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of robx that nobody may write to."""
    return locked(copied(tmp_path_factory.mktemp("installed")))


def called(
    installed: Path, temporary: Path, *arguments: object, **more: str
) -> subprocess.CompletedProcess[str]:
    """Call the kernel of a read-only robx, for a user without a home."""
    ran = run_powerless(CALL, *arguments, env=without_home(installed, temporary, **more))
    assert ran.returncode == 0, ran.stderr
    return ran


def without_home(installed: Path, temporary: Path, **more: str) -> dict[str, str]:
    """Give the environment of a user without a home."""
    there = {"PYTHONPATH": str(installed), "TMPDIR": str(temporary), "HOME": os.devnull, **more}
    return {k: v for k, v in os.environ.items() if k in {"PATH", "LD_LIBRARY_PATH"}} | there


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


def test_code_that_was_compiled_at_installation_is_found_when_nothing_can_be_written(
    tmp_path: Path,
) -> None:
    place, temporary = copied(tmp_path / "installed"), tmp_path / "tmp"
    temporary.mkdir(mode=0o500)
    assert called(place, temporary).stdout == f"{DONE}0\n"
    locked(place)
    second = called(place, temporary)
    assert (second.stdout, second.stderr) == (f"{DONE}1\n", "")
    named = called(place, temporary, NUMBA_CACHE_DIR=str(temporary / "code"))
    assert (named.stdout, named.stderr) == (f"{DONE}1\n", "")


def test_code_that_is_found_is_run_without_loading_the_compiler(
    installed: Path, tmp_path: Path
) -> None:
    loaded = "\nprint('numba.np.arraymath' in sys.modules, 'scipy.linalg' in sys.modules)"
    env = without_home(installed, tmp_path)
    for found, has_compiler in ((0, True), (1, False)):
        ran = run_powerless(CALL + loaded, env=env)
        assert ran.stdout == f"{DONE}{found}\n{has_compiler} {has_compiler}\n"


@pytest.mark.slow
def test_a_named_folder_is_read_although_it_cannot_be_written_to(
    installed: Path, tmp_path: Path
) -> None:
    named, temporary = tmp_path / "named", tmp_path / "tmp"
    temporary.mkdir()
    called(installed, temporary, NUMBA_CACHE_DIR=str(named))
    locked(named)
    second = called(installed, temporary, NUMBA_CACHE_DIR=str(named))
    assert (second.stdout, second.stderr) == (f"{DONE}1\n", "")
    assert list(temporary.iterdir()) == []


def test_a_named_folder_that_cannot_be_made_is_passed_over(installed: Path, tmp_path: Path) -> None:
    ran = called(installed, tmp_path, NUMBA_CACHE_DIR=f"{os.devnull}/code")
    assert (ran.stdout, ran.stderr) == (f"{DONE}0\n", "")
    assert [file.parent.name for file in code_in(tmp_path)] == [f"robx-code-{os.getuid()}"]


@pytest.mark.parametrize("damage", slow_but(["cut"], ["cut", "empty", "a bit", "a folder"]))
def test_damaged_code_is_compiled_again(installed: Path, tmp_path: Path, damage: str) -> None:
    called(installed, tmp_path)
    (file,) = code_in(tmp_path)
    whole = file.read_bytes()
    if damage == "a folder":
        file.unlink()
        file.mkdir()
    else:
        spoiled = bytes([whole[-1] ^ 1])
        file.write_bytes({"cut": whole[:-9], "empty": b"", "a bit": whole[:-1] + spoiled}[damage])
    again = called(installed, tmp_path)
    assert again.stdout == f"{DONE}0\n"
    if damage != "a folder":
        assert again.stderr == ""
        assert called(installed, tmp_path).stdout == f"{DONE}1\n"


@pytest.mark.slow
def test_processes_that_compile_at_the_same_time_do_not_disturb_each_other(
    installed: Path, tmp_path: Path
) -> None:
    """Two of them call it with an array that must not be written to: another type."""
    env = without_home(installed, tmp_path)
    commands = [[sys.executable, "-c", DROPPED + CALL, *more] for more in ([], ["-1", "-1"]) * 2]
    running = [Popen(command, env=env, stdout=PIPE, text=True) for command in commands]
    said = [process.communicate()[0].splitlines()[0] for process in running]
    assert said == [DONE.strip()] * 4
    assert len(code_in(tmp_path)) == 2
    assert called(installed, tmp_path).stdout == f"{DONE}1\n"
    assert called(installed, tmp_path, -1, -1).stdout == f"{DONE}1\n"


@pytest.mark.slow
def test_every_processor_has_its_own_code(installed: Path, tmp_path: Path) -> None:
    called(installed, tmp_path)
    assert called(installed, tmp_path, NUMBA_CPU_NAME="generic").stdout == f"{DONE}0\n"
    assert len(code_in(tmp_path)) == 2
    assert called(installed, tmp_path).stdout == f"{DONE}1\n"


@pytest.mark.slow
def test_code_is_that_of_the_text_whatever_the_time_of_the_file(tmp_path: Path) -> None:
    place = copied(tmp_path / "installed")
    called(place, tmp_path)
    trees, errors = place / "robx" / "kernels" / "trees.py", place / "robx" / "errors.py"
    for file in (trees, errors):
        os.utime(file, (0, 0))
    errors.write_text(errors.read_text() + "\n# more")
    assert called(place, tmp_path).stdout == f"{DONE}1\n"
    trees.write_text(trees.read_text() + "\n# more")
    assert called(place, tmp_path).stdout == f"{DONE}0\n"


PACKAGES = (robx.kernels, robx.methods.baselines.kernels)
MODULES = [
    f"{package.__name__}.{found.name}"
    for package in PACKAGES
    for found in pkgutil.iter_modules(package.__path__)
    if found.name not in OTHERS
]


@pytest.mark.parametrize("name", MODULES)
def test_the_text_of_all_that_a_kernel_uses_counts(name: str) -> None:
    module = importlib.import_module(name)
    used = {
        Path(str(sys.modules[home].__file__))
        for value in vars(module).values()
        for home in [str(getattr(value, "__module__", getattr(value, "__name__", "")))]
        if home in MODULES
    }
    assert used <= files_of(Path(str(module.__file__)))


def test_a_kernel_runs_although_its_code_cannot_be_kept_on_a_full_disk(
    installed: Path, tmp_path: Path
) -> None:
    ran = called(installed, tmp_path, 64)
    assert ran.stdout == f"{DONE}0\n"
    assert ran.stderr.count("RobxWarning: robx cannot keep its compiled code") == 1
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


@pytest.mark.slow
def test_other_users_of_numba_keep_their_own_folder() -> None:
    code = "import numba.core.config as c; import robx.kernels.trees; print(repr(c.CACHE_DIR))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{os.environ.get('NUMBA_CACHE_DIR', '')!r}\n"

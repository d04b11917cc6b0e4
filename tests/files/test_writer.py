from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robx
from powerless import run_powerless
from robx.files import atomically, check_target


def left_over(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@pytest.fixture(params=["nameless", "named"], autouse=True)
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A system that has files without a name, as Linux has, and one that has not."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("this system has no files without a name")
    return str(request.param)


def test_a_file_appears_only_when_it_is_whole(tmp_path: Path, system: str) -> None:
    target = tmp_path / "a.json"
    with atomically(target) as temporary:
        assert len(left_over(tmp_path)) == (system == "named")
        temporary.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    assert left_over(tmp_path) == ["a.json"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, error: type[BaseException]
) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")

    def stopped() -> None:
        with atomically(target) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        stopped()
    assert target.read_text() == "old"
    assert left_over(tmp_path) == ["a.txt"]


WRITER = """
import os, sys, time
if sys.argv[2] == "named":
    del os.O_TMPFILE
from robx.files import atomically
with atomically(sys.argv[1]) as temporary:
    with temporary.open("w") as file:
        file.write("half")
        file.flush()
        print("writing", flush=True)
        time.sleep(60)
"""


@contextmanager
def half_written(target: Path, system: str) -> Iterator[subprocess.Popen[str]]:
    """A process of a Python program that is writing a file."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(target), system],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "writing\n"
        assert len(left_over(target.parent)) == (system == "named")
        yield child


def test_ctrl_c_in_a_process_leaves_no_half_written_file(tmp_path: Path, system: str) -> None:
    with half_written(tmp_path / "a.csv", system) as child:
        child.send_signal(signal.SIGINT)
        child.wait(timeout=20)
        assert child.stderr is not None
        assert "KeyboardInterrupt" in child.stderr.read()
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_process_leaves_no_half_written_file(
    tmp_path: Path, system: str, number: signal.Signals
) -> None:
    with half_written(tmp_path / "a.csv", system) as child:
        child.send_signal(number)
        assert child.wait(timeout=20) == -number  # no handler was installed
    if system == "named":  # it can only be removed by the next writer
        assert len(left_over(tmp_path)) == 1
        with atomically(tmp_path / "b.csv") as temporary:
            temporary.write_text("x")
        (tmp_path / "b.csv").unlink()
    assert left_over(tmp_path) == []


def test_what_somebody_is_writing_is_not_taken_for_left_over(tmp_path: Path) -> None:
    with half_written(tmp_path / "a.csv", "named") as child:
        (tmp_path / ".robx-note").write_text("not ours")
        with atomically(tmp_path / "b.csv") as temporary:
            temporary.write_text("x")
        assert len(left_over(tmp_path)) == 3
        child.kill()


def test_new_files_are_their_owners_alone_and_old_ones_keep_their_permissions(
    tmp_path: Path,
) -> None:
    plain, ours, open_to_all = tmp_path / "plain", tmp_path / "ours", tmp_path / "open"
    plain.write_text("")
    for file, private in ((ours, True), (open_to_all, False)):
        with atomically(file, private=private) as temporary:
            temporary.write_text("")
    assert ours.stat().st_mode & 0o777 == 0o600
    assert open_to_all.stat().st_mode == plain.stat().st_mode
    for mode in (0o640, 0o600):
        ours.chmod(mode)
        for private in (True, False):
            with atomically(ours, private=private) as temporary:
                assert temporary.stat().st_mode & 0o777 == 0o600
                temporary.write_text("again")
            assert ours.stat().st_mode & 0o777 == mode


def test_a_link_is_kept_and_its_target_written(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    with atomically(tmp_path / "link.txt") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_a_long_name_is_no_trouble(tmp_path: Path) -> None:
    with atomically(tmp_path / ("n" * 250 + ".csv")) as temporary:
        temporary.write_text("x")
    assert len(left_over(tmp_path)) == 1


def test_places_that_cannot_be_written_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "file").write_text("")
    places: list[tuple[str | Path, str]] = [
        (tmp_path / "none" / "a.csv", r"There is no folder '.*none' to write 'a.csv' to. Make it"),
        (tmp_path, r"is a folder. Name a file to write in it."),
        (tmp_path / "pipe", r"is not an ordinary file. Name another to write to."),
        (tmp_path / ("n" * 300), r"cannot be written: .*. Name another file, or one in"),
        (tmp_path / "circle", r"circle' cannot be written: .*symbolic links. Name another file"),
        (tmp_path / "file" / "a.csv", r"There is no folder '.*file' to write 'a.csv' to."),
        (tmp_path / "a\0b", r"cannot be written: embedded null byte. Name another file"),
        ("/proc/a.csv", r"cannot be written: No such file or directory. Name another file"),
    ]
    for path, message in places:
        with pytest.raises(robx.InvalidInput, match=message), atomically(path):
            raise AssertionError("never reached")
        with pytest.raises(robx.InvalidInput, match=message):
            check_target(path)
    assert check_target(tmp_path / "new.csv") == tmp_path / "new.csv"
    assert left_over(tmp_path) == ["circle", "file", "pipe"]


CHECKED = "import sys; from robx.files import check_target; check_target(sys.argv[1])"


def test_files_and_folders_that_may_not_be_written_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("old")
    assert run_powerless(CHECKED, tmp_path / "a.csv").stderr == ""
    (tmp_path / "a.csv").chmod(0o444)
    said = run_powerless(CHECKED, tmp_path / "a.csv").stderr
    assert "a.csv' cannot be written: Permission denied. Name another file" in said
    tmp_path.chmod(0o555)
    said = run_powerless(CHECKED, tmp_path / "b.csv").stderr
    assert "b.csv' cannot be written: Permission denied. Name another file" in said


def test_writers_side_by_side_do_not_meet(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"

    def write(text: str) -> None:
        for _ in range(20):
            with atomically(target) as temporary:
                temporary.write_text(text * 1000)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(target.read_text())) == 1
    assert left_over(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("name", ["s.yaml", "s.json"])
def test_a_schema_that_cannot_be_written_leaves_the_old_file(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = robx.Schema.infer(np.array([[1.0], [2.0]]))
    schema.save(tmp_path / name)
    old = (tmp_path / name).read_bytes()
    monkeypatch.setattr(Path, "write_text", broken)
    with pytest.raises(robx.InvalidInput, match="the disk is full. Name another file"):
        schema.save(tmp_path / name)
    assert (tmp_path / name).read_bytes() == old
    assert left_over(tmp_path) == [name]


def broken(self: Path, *given: Any, **named: Any) -> int:
    with self.open("wb") as file:
        file.write(b"half")
    raise OSError("the disk is full")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            OSError(errno.ENOSPC, "No space left"),
            "No space left. Free some space, or name a file on an",
        ),
        (OSError(errno.EIO, "Bad disk"), "Bad disk. Name another file, or one in another folder."),
    ],
)
def test_what_the_system_says_while_writing_is_one_sentence(
    tmp_path: Path, error: OSError, said: str
) -> None:
    def full() -> None:
        with atomically(tmp_path / "a.csv"):
            raise error

    with pytest.raises(robx.InvalidInput, match=f"a.csv' cannot be written: {said}") as caught:
        full()
    assert caught.value.__cause__ is error
    assert left_over(tmp_path) == []


def test_an_ensemble_that_cannot_be_written_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sklearn.tree import DecisionTreeClassifier

    ensemble = robx.import_model(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]))
    assert isinstance(ensemble, robx.TreeEnsemble)
    ensemble.save(tmp_path / "m.robx")
    monkeypatch.setattr(Path, "write_bytes", broken)
    with pytest.raises(robx.InvalidInput, match="the disk is full. Name another file"):
        ensemble.save(tmp_path / "m.robx")
    assert left_over(tmp_path) == ["m.robx"]
    loaded = robx.import_model(tmp_path / "m.robx")
    assert isinstance(loaded, robx.TreeEnsemble)
    assert loaded.digest == ensemble.digest

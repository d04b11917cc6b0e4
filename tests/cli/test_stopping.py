"""Commands that are stopped: nothing stays behind, in no folder, and no process runs on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import robx
from cli_cases import Run
from speed import slow_but

STOPPED = "Stopped. No file was left half-written."
#: How long to wait for what must happen; it takes much less.
LONGEST = 60


def heed_signals() -> None:
    """Undo what a shell in the background or `nohup` hands down: that signals are ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def started(temporary: Path, *words: object) -> Iterator[subprocess.Popen[str]]:
    """Start a command whose temporary folder is this one."""
    with subprocess.Popen(
        [sys.executable, "-m", "robx", *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
        preexec_fn=heed_signals,  # noqa: PLW1509 - the child starts no threads before
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def long_explain(folder: Path, out: Path) -> list[object]:
    """A command that trains for hours, on several threads."""
    words: list[object] = ["explain", "--model", folder / "model.ubj", "--label", "good"]
    words += ["--data", folder / "train.csv", "--applicants", folder / "people.csv"]
    return [*words, "--id", "who", "--models", 100_000, "--out", out]


def wait_until_training(process: subprocess.Popen[str]) -> None:
    assert process.stderr is not None
    assert process.stderr.readline()  # how the models are trained
    while n_threads(process.pid) < 3:
        time.sleep(0.01)


def n_threads(number: int) -> int:
    return len(list(Path(f"/proc/{number}/task").iterdir()))


def children(number: int) -> list[int]:
    """The processes that a process has started."""
    files = Path(f"/proc/{number}/task").glob("*/children")
    return [int(child) for file in files for child in file.read_text().split()]


def is_running(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def said(process: subprocess.Popen[str]) -> str:
    return process.communicate(timeout=LONGEST)[1]


@pytest.mark.parametrize(
    "number", slow_but([signal.SIGTERM], [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
)
def test_a_signal_to_end_cleans_up_while_models_are_trained(
    folder: Path, tmp_path: Path, number: signal.Signals
) -> None:
    temporary, place = tmp_path / "tmp", tmp_path / "out"
    temporary.mkdir()
    place.mkdir()
    with started(temporary, *long_explain(folder, place / "recourse.json")) as process:
        wait_until_training(process)
        process.send_signal(number)
        if number != signal.SIGINT:
            process.send_signal(number)  # once more, as `timeout` does
        error = said(process)
        assert process.wait(LONGEST) == 128 + number
    assert error.strip() == STOPPED
    assert list(place.iterdir()) == []
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_a_signal_to_end_ends_the_process_of_a_library_too(folder: Path, tmp_path: Path) -> None:
    with started(
        tmp_path, "tau", "--model", cbm(folder), "--data", folder / "train.csv"
    ) as process:
        while not (found := children(process.pid)) and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGTERM)
        error = said(process)
        assert process.wait(LONGEST) == 143
    assert found
    assert STOPPED in error
    for _ in range(50):  # it takes a moment to end, and much longer to finish
        if any(map(is_running, found)):
            time.sleep(0.01)
    assert not any(map(is_running, found))
    assert list(tmp_path.iterdir()) == []


def cbm(folder: Path) -> Path:
    """A model file that only a process of CatBoost can read."""
    import pandas as pd
    from catboost import CatBoostClassifier

    file = folder / "model.cbm"
    if not file.exists():
        table = pd.read_csv(folder / "train.csv")
        X, y = table.drop(columns="good"), table["good"]
        model = CatBoostClassifier(5, depth=2, verbose=False, allow_writing_files=False)
        model.fit(X, y).save_model(str(file))
    return file


def kills(folder: Path, recourse: Path, place: Path) -> dict[str, list[object]]:
    data: list[object] = ["--model", folder / "model.ubj", "--data", folder / "train.csv"]
    later: list[object] = [word for _ in range(40) for word in ("--new-model", folder / "new.ubj")]
    return {
        "explain": long_explain(folder, place / "recourse.json"),
        "evaluate": ["evaluate", *data, "--label", "good", "--out", place / "table.csv"],
        "check": ["check", "--model", cbm(folder), recourse, "--out", place / "kept.csv"],
        "report": ["report", recourse, *later, "--out", place / "report.html"],
        "stability": ["stability", *data, "--label", "good", "--plot", place / "plot.png"],
    }


@pytest.mark.slow
@pytest.mark.parametrize("after", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("name", ["explain", "evaluate", "check", "report", "stability"])
def test_a_kill_at_any_time_leaves_nothing_behind(
    folder: Path, recourse: Path, tmp_path: Path, name: str, after: float
) -> None:
    temporary, place = tmp_path / "tmp", tmp_path / "out"
    temporary.mkdir()
    place.mkdir()
    with started(temporary, *kills(folder, recourse, place)[name]) as process:
        time.sleep(after)
        found = children(process.pid) if process.poll() is None else []
        process.kill()
    while any(map(is_running, found)):  # a library's process, which notices that it is alone
        time.sleep(0.05)
    assert list(temporary.iterdir()) == []
    # It may just have ended its work; a file that is not whole has no name, or a hidden one.
    assert not [file for file in place.iterdir() if file.name.startswith(".")]


def test_a_program_that_imports_robx_keeps_its_handlers_of_signals() -> None:
    code = (
        "import signal, robx, robx.cli\n"
        "robx.explain\n"
        "robx.cli.run(['--version'])\n"
        "print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "True"


def test_the_end_of_a_file_is_not_taken_for_a_stop(
    folder: Path, call: Run, recourse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(*_: object, **__: object) -> None:
        raise EOFError("ended early")

    monkeypatch.setattr(robx, "check", ends)
    ran = call("check", folder / "new.ubj", recourse)
    assert ran.code == 70
    assert "internal error of robx (EOFError: ended early)" in ran.err
    assert "Stopped" not in ran.err

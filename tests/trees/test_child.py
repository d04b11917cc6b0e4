from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest

import robx
from model_files import save_catboost
from robx.trees import child

BUDGET = robx.Budget()
WRITE = "open(output, 'wb').write(open(source, 'rb').read()[::-1])"


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary folders are made; whatever happens, nothing is left there."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "model.cbm"
    path.write_bytes(b"abc")
    return path


def answer(script: str, source: Path, budget: robx.Budget = BUDGET) -> Any:
    """What a script leaves in `answer`, sent back as JSON."""
    script = f"answer_of, answer = answer, None\n{script}"
    script += "\njson.dump(answer, open(output, 'w'))\nanswer = answer_of"
    return json.loads(child.convert(script, "numpy", source, budget))


# --- what goes in and comes out -------------------------------------------------------------------


def test_the_bytes_that_the_script_wrote_come_back(source: Path) -> None:
    assert child.convert(WRITE, "numpy", source, BUDGET) == b"cba"


def test_a_relative_path_is_found(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(source.parent)
    assert child.convert(WRITE, "numpy", Path(source.name), BUDGET) == b"cba"


def test_a_path_is_never_taken_for_code(tmp_path: Path) -> None:
    path = tmp_path / "'); raise SystemExit('; $(exit 1) {memory}.cbm"
    path.write_bytes(b"xyz")
    assert child.convert(WRITE, "numpy", path, BUDGET) == b"zyx"


@pytest.mark.parametrize(
    "rows",
    [np.array([[1.5, np.nan], [2.0, 1.0]]), pd.DataFrame({"a": [1.5, 2.0], "b": [None, 1.0]})],
    ids=["numpy", "pandas"],
)
def test_scores_come_back_for_the_rows_that_went_in(rows: Any, source: Path) -> None:
    script = "import numpy as np\nscores = np.nan_to_num(np.asarray(X, dtype='f4'), nan=7).sum(1)"
    scores = child.score(script, "numpy", source, rows, BUDGET)
    assert scores is not None
    assert scores.dtype == np.float64
    assert scores.tolist() == [8.5, 3.0]


def test_the_script_runs_alone_with_little_to_reach(source: Path, scratch: Path) -> None:
    script = """
import os
print("This is not part of what comes back.")
answer = [sys.flags.isolated, sys.stdin.read(), os.getcwd()]
"""
    assert answer(script, source) == [1, "", Path(sys.executable).anchor]


def test_memory_files_and_core_files_are_limited_by_the_budget(source: Path) -> None:
    resource = pytest.importorskip("resource")
    script = """
import resource
kinds = (resource.RLIMIT_CORE, resource.RLIMIT_AS, resource.RLIMIT_FSIZE)
answer = [resource.getrlimit(kind)[0] for kind in kinds]
"""
    budget = robx.Budget(max_memory=2**29, max_bytes=2**20)
    limit = child.own_memory() + 2**29
    assert answer(script, source, budget) == [0, limit, 2**20]
    assert resource.getrlimit(resource.RLIMIT_AS)[0] != limit
    with pytest.raises(robx.InvalidModel, match=r"numpy could not read 'model\.cbm'.*MemoryError"):
        child.convert(f"block = bytearray({limit})\n" + WRITE, "numpy", source, budget)
    much = "with open(output, 'wb') as file: file.write(bytes(2**20 + 1))"
    with pytest.raises(robx.InvalidModel, match="File too large"):
        child.convert(much, "numpy", source, budget)


# --- what goes wrong ------------------------------------------------------------------------------


def test_a_crash_ends_in_an_error_that_names_the_signal_and_leaves_no_core_file(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(
        robx.InvalidModel, match=r"^numpy could not read 'model\.cbm' \(stopped by signal 6\)\.$"
    ):
        child.convert("import os; os.abort()", "numpy", source, BUDGET)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_last_line_of_what_a_failing_library_said_is_passed_on(source: Path) -> None:
    script = "sys.stderr.write('first\\nlast words\\n\\n'); sys.exit(1)"
    with pytest.raises(
        robx.InvalidModel, match=r"^numpy could not read 'model\.cbm' \(an error\): last words$"
    ):
        child.convert(script, "numpy", source, BUDGET)


def test_an_exception_is_passed_on_by_its_message(source: Path) -> None:
    with pytest.raises(robx.InvalidModel, match=r"\(an error\): ValueError: bad magic$"):
        child.convert("raise ValueError('bad magic')", "numpy", source, BUDGET)


def test_a_long_or_garbled_message_is_cut_short(source: Path) -> None:
    script = "sys.stderr.buffer.write(b'\\xff' + b'y' * 10_000); sys.exit(3)"
    with pytest.raises(robx.InvalidModel, match="y{200}") as caught:
        child.convert(script, "numpy", source, BUDGET)
    assert len(str(caught.value)) < 400


def test_a_script_that_fails_silently_or_writes_nothing_is_an_error(source: Path) -> None:
    with pytest.raises(robx.InvalidModel, match=r"could not read 'model\.cbm' \(an error\)\.$"):
        child.convert("sys.exit(2)", "numpy", source, BUDGET)
    with pytest.raises(robx.InvalidModel, match=r"could not read 'model\.cbm' \(an error\)\.$"):
        child.convert("pass", "numpy", source, BUDGET)


def test_output_of_a_script_that_failed_later_is_not_used(source: Path) -> None:
    with pytest.raises(robx.InvalidModel, match="could not read"):
        child.convert(WRITE + "\nsys.exit(1)", "numpy", source, BUDGET)


def test_a_script_that_does_not_end_is_stopped(source: Path) -> None:
    with pytest.raises(
        robx.BudgetExceeded,
        match=r"^numpy did not finish with 'model\.cbm' in 1 s; it was stopped\. If you trust the "
        r"file, allow more with budget=robx\.Budget\(max_seconds=\.\.\.\), or with the "
        r"environment variable ROBX_MAX_SECONDS\.$",
    ):
        child.convert("while True: pass", "numpy", source, robx.Budget(max_seconds=1))


def test_a_crash_while_scoring_is_an_error_too(source: Path) -> None:
    with pytest.raises(robx.InvalidModel, match=r"\(stopped by signal 6\)"):
        child.score("import os; os.abort()", "numpy", source, np.zeros((1, 1)), BUDGET)


def test_without_the_library_a_file_cannot_be_read_and_nobody_can_be_asked(source: Path) -> None:
    with pytest.raises(
        robx.UnsupportedModel,
        match=r"'model\.cbm' can only be read with no_such_library installed\. Install it, or "
        r"save the model as \.json\.",
    ):
        child.convert(WRITE, "no_such_library", source, BUDGET)
    assert (
        child.score("scores = [0.5]", "no_such_library", source, np.zeros((1, 1)), BUDGET) is None
    )


# --- rows are personal data -----------------------------------------------------------------------


def test_while_the_library_has_the_rows_no_folder_knows_them(source: Path, scratch: Path) -> None:
    script = f"""
open_files = [os.readlink(f"/proc/self/fd/{{fd}}") for fd in (0, 1, 2)]
named = [path for path in open_files if os.path.exists(path)]
scores = [len(X), len(named), len(os.listdir({str(scratch)!r}))]
"""
    scores = child.score(script, "numpy", source, np.zeros((7, 2)), BUDGET)
    assert scores is not None
    assert scores.tolist() == [7, 0, 0]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1.5, None], "b": pd.Categorical(["x", "y"], ["z", "y", "x"])}),
        pd.DataFrame({0: [1, 2], 1: [True, False]}),
        pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": pd.array([0.5, None], "Float32")}),
    ],
    ids=["categories", "numbers", "nullable"],
)
def test_a_frame_arrives_as_it_was(frame: pd.DataFrame, source: Path) -> None:
    wanted = [(str(n), str(dtype)) for n, dtype in frame.dtypes.items()]
    listed = {n: list(frame[n].cat.categories) for n in frame if frame[n].dtype == "category"}
    script = f"""
assert [(str(n), str(dtype)) for n, dtype in X.dtypes.items()] == {wanted!r}, X.dtypes
assert {{n: list(X[n].cat.categories) for n in X if X[n].dtype == "category"}} == {listed!r}
scores = X.isna().sum(axis=1)
"""
    scores = child.score(script, "numpy", source, frame, BUDGET)
    assert scores is not None
    assert scores.tolist() == frame.isna().sum(axis=1).tolist()


def test_what_is_given_beside_the_rows_travels_as_data(source: Path) -> None:
    word = "'; raise SystemExit(3) #" * 100_000
    script = "scores = [len(given['word'])] * len(X)"
    scores = child.score(script, "numpy", source, np.zeros((2, 1)), BUDGET, word=word)
    assert scores is not None
    assert scores.tolist() == [len(word)] * 2


IMPORT = """
import sys
import numpy as np
import robx
rows = np.random.default_rng(0).random((500, 4))
robx.import_model(sys.argv[1], X=rows)
"""


def _is_scoring(process: psutil.Process) -> bool:
    """Whether a process is alive and asks the library; an earlier one may end while it is asked."""
    try:
        is_alive = process.status() != psutil.STATUS_ZOMBIE
        return is_alive and "predict_proba" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_import_leaves_nothing_behind(how: signal.Signals, tmp_path: Path) -> None:
    model = tmp_path / "model.cbm"
    save_catboost()(model)
    folder = tmp_path / "temporary"
    folder.mkdir()
    parent = subprocess.Popen(
        [sys.executable, "-c", IMPORT, str(model)],
        env={**os.environ, "TMPDIR": str(folder)},
        cwd=tmp_path,
    )
    scoring: list[psutil.Process] = []
    while not scoring:
        assert parent.poll() is None, "it ended before the library had the rows"
        scoring = [one for one in psutil.Process(parent.pid).children() if _is_scoring(one)]
        assert list(folder.iterdir()) == []
    parent.send_signal(how)
    parent.wait()
    psutil.wait_procs(scoring, timeout=60)
    assert list(folder.iterdir()) == []
    assert {file.name for file in tmp_path.iterdir()} == {"model.cbm", "scratch", "temporary"}

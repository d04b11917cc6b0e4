"""Damaged and hostile model files: a clear error or a right answer, never a crash or a hang.

`make test` tries a share of what `make fuzz` does; set ROBX_FUZZ to the number of files a format.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import xgboost as xgb

import robx
from catboost_cases import labels, people, trained
from model_files import (
    HOLES,
    X,
    Y,
    save_catboost,
    save_dart,
    save_lightgbm,
    save_robx,
    save_xgboost,
    save_xgboost_categories,
)
from robx.trees import TreeEnsemble, child
from robx.trees.catboost import TO_JSON
from robx.trees.importer import import_named
from speed import slow_but

pytestmark = pytest.mark.fuzz

FILES = int(os.environ.get("ROBX_FUZZ", "150"))
SECONDS_A_FILE = 20
PEOPLE = people(120)
#: Numbers that break things: out of range, out of sign, out of this world.
NASTY = [
    "-1",
    "0",
    "1",
    "-2",
    "7",
    "255",
    "2147483647",
    "-2147483648",
    "9999999999",
    "1e308",
    "-1e308",
]
NASTY += [
    "1e999",
    "NaN",
    "null",
    '"x"',
    "[]",
    "{}",
    "1e-320",
    "18446744073709551616",
    "0.5",
    "true",
]


FORMATS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "xgboost json": (".json", save_xgboost),
    "xgboost json with categories": (".json", save_xgboost_categories),
    "xgboost json dart": (".json", save_dart),
    "xgboost ubj": (".ubj", save_xgboost),
    "lightgbm txt": (".txt", save_lightgbm),
    "catboost json": (".json", save_catboost()),
    "catboost json lossguide": (".json", save_catboost(grow_policy="Lossguide")),
    "robx": (".robx", save_robx),
}


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Damage a file in one to four places."""
    for _ in range(rng.randint(1, 4)):
        if not data:
            return data
        at = rng.randrange(len(data))
        match rng.randrange(8):
            case 0:
                data = data[:at]
            case 1:
                data = data[:at] + data[at + rng.randint(1, 40) :]
            case 2:
                data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
            case 3:
                data = data[:at] + rng.randbytes(rng.randint(1, 8)) + data[at:]
            case 4:
                end = at + rng.randint(1, 200)
                data = data[:end] + data[at:end] + data[end:]
            case _:  # most damage is done by numbers that look all right
                numbers = list(re.finditer(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", data))
                if numbers:
                    found = rng.choice(numbers)
                    data = data[: found.start()] + rng.choice(NASTY).encode() + data[found.end() :]
    return data


@contextmanager
def time_limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"a file took more than {SECONDS_A_FILE} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS_A_FILE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def survives(path: Path) -> bool:
    """Import a file; tell whether it was taken, and fail on anything but a robx error."""
    with time_limit():
        try:
            ensemble = robx.import_model(path)
        except robx.RobxError as error:
            assert len(str(error)) > 20
            return False
        assert isinstance(ensemble, TreeEnsemble)
        if len(ensemble.columns) == X.shape[1]:
            rows = X[:20] if not any(c.takes_missing for c in ensemble.columns) else HOLES[:20]
            if all(column.categories is None for column in ensemble.columns):
                score = ensemble.score(rows)
                assert ((score >= 0) & (score <= 1)).all()
    return True


@pytest.mark.parametrize("name", FORMATS)
def test_mutated_files(name: str, tmp_path: Path) -> None:
    suffix, save = FORMATS[name]
    original = tmp_path / f"model{suffix}"
    save(original)
    assert survives(original)
    data = original.read_bytes()
    rng = random.Random(f"{name}")
    refused = 0
    for number in range(FILES):
        path = tmp_path / f"mutated{suffix}"
        path.write_bytes(mutate(data, rng))
        try:
            refused += not survives(path)
        except BaseException:
            kept = tmp_path / f"culprit-{number}{suffix}"
            kept.write_bytes(path.read_bytes())
            raise
    assert refused > FILES // 4


def _names_are_tried(path: Path) -> bool:
    """Import a file with categories; tell whether it was taken."""
    with time_limit():
        try:
            ensemble = import_named(path, None, (PEOPLE,))
        except robx.RobxError as error:
            assert len(str(error)) > 20
            return False
        assert isinstance(ensemble, TreeEnsemble)
        if ensemble.names == tuple(PEOPLE.columns):
            some = PEOPLE[:20].assign(town=PEOPLE["town"][0])
            assert ((ensemble.score(some) >= 0) & (ensemble.score(some) <= 1)).all()
    return True


def _damaged_categories(tmp_path: Path, n: int) -> Iterator[Path]:
    path = tmp_path / "model.json"
    trained(PEOPLE, labels(PEOPLE), iterations=4).save_model(str(path), format="json")
    yield path
    data, rng = path.read_bytes(), random.Random("categories")
    for _ in range(n):
        path.write_bytes(mutate(data, rng))
        yield path


def test_mutated_files_with_categories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes before and after CatBoost is asked, which answers no to everything."""

    def always_no(*_: object, probes: list[str], rows: list[object]) -> object:
        n_trees = sum(len(json.loads(probe)["oblivious_trees"]) for probe in probes)
        return np.zeros((len(rows), n_trees))

    monkeypatch.setattr(child, "score", always_no)
    first, *others = [_names_are_tried(path) for path in _damaged_categories(tmp_path, FILES)]
    assert first
    assert others.count(False) > FILES // 4


@pytest.mark.slow
def test_mutated_files_with_categories_end_in_the_child_process(tmp_path: Path) -> None:
    first, *_ = [
        _names_are_tried(path) for path in _damaged_categories(tmp_path, max(FILES // 30, 3))
    ]
    assert first


@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize("suffix", [".json", ".ubj", ".txt", ".robx", *slow_but([], [".cbm"])])
def test_next_to_nothing_is_refused(suffix: str, size: int, tmp_path: Path) -> None:
    path = tmp_path / f"model{suffix}"
    path.write_bytes(b"{" * size)
    with pytest.raises(robx.InvalidModel):
        robx.import_model(path)


@pytest.mark.parametrize("suffix", [".json", ".ubj"])
def test_a_deeply_nested_file_is_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"model{suffix}"
    opening = b'{"learner":' if suffix == ".json" else b"{i\x07learner"
    path.write_bytes(opening * 200_000)
    with pytest.raises(robx.InvalidModel):
        robx.import_model(path)


def test_a_length_that_a_file_cannot_have_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "model.ubj"
    path.write_bytes(b"{L" + (7).to_bytes(8, "big") + b"learner[$d#L" + (2**60).to_bytes(8, "big"))
    with pytest.raises(robx.InvalidModel, match="claims a length"):
        robx.import_model(path)


@pytest.mark.slow
def test_damaged_cbm_files_end_in_the_child_process(tmp_path: Path) -> None:
    original = tmp_path / "model.cbm"
    save_catboost()(original)
    assert survives(original)
    data, rng = original.read_bytes(), random.Random(0)
    for _ in range(3):
        path = tmp_path / "mutated.cbm"
        at = rng.randrange(8, len(data) // 2)
        path.write_bytes(data[:at] + rng.randbytes(200) + data[at + 200 :])
        survives(path)


FORK_SERVER = """
import os, sys, catboost
script, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
signals = 0
for number in range(count):
    source, output = f"{folder}/{number}.cbm", f"{folder}/{number}.json"
    pid = os.fork()
    if pid == 0:
        import signal
        signal.alarm(20)
        try:
            exec(script, {"source": source, "output": output})
        except BaseException:
            os._exit(1)
        os._exit(0)
    signals += os.WIFSIGNALED(os.waitpid(pid, 0)[1])
print(signals)
"""


@pytest.mark.skipif("ROBX_FUZZ" not in os.environ, reason="only with make fuzz")
def test_many_damaged_cbm_files(tmp_path: Path) -> None:
    """The conversion of robx.trees.child with one start of catboost for all files."""
    original = tmp_path / "model.cbm"
    save_catboost()(original)
    data, rng = original.read_bytes(), random.Random(1)
    for number in range(FILES):
        (tmp_path / f"{number}.cbm").write_bytes(mutate(data, rng))
    script = f"import resource\nresource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))\n{TO_JSON}"
    done = subprocess.run(
        [sys.executable, "-c", FORK_SERVER, script, str(tmp_path), str(FILES)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout.split()[-1]) >= 0
    taken = 0
    for number in range(FILES):
        converted = tmp_path / f"{number}.json"
        if converted.exists():
            taken += 1
            survives(converted)
    assert 0 < taken < FILES


def test_the_mutations_reach_what_they_should() -> None:
    """A parser that took everything, or nothing, would pass the tests above too easily."""
    model = xgb.XGBClassifier(n_estimators=2, max_depth=2, n_jobs=1).fit(X, Y)
    data = bytes(model.get_booster().save_raw("json"))
    rng = random.Random(3)
    parsed = 0
    for _ in range(200):
        try:
            json.loads(mutate(data, rng))
            parsed += 1
        except ValueError:
            pass
    assert 20 < parsed < 180

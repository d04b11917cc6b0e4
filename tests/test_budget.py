"""The budget of readers: what it refuses, how it is raised, and that every reader takes it."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
import xgboost as xgb
from sklearn.ensemble import RandomForestClassifier

import robx
from model_files import X, Y, save_catboost, save_lightgbm, save_robx, save_xgboost
from robx.budget import SMALL, Budget
from robx.cli import run
from robx.files import read_plain, read_table, write_table
from robx.modelfiles import ModelFile

TINY = Budget(max_bytes=50)
#: Less than any of these files take.
POOR = Budget(max_memory=1000)


def save_skops(path: Path) -> None:
    skops.io.dump(RandomForestClassifier(2, max_depth=2).fit(X, Y), path)


def save_pickle(path: Path) -> None:
    path.write_bytes(pickle.dumps(RandomForestClassifier(2, max_depth=2).fit(X, Y)))


def save_table(path: Path) -> None:
    write_table(pd.DataFrame(X[:100], columns=list("abcd")), path)


def save_schema(path: Path) -> None:
    robx.Schema.infer(pd.DataFrame(X, columns=list("abcd"))).save(path)


def save_answers(path: Path) -> None:
    model = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, Y)
    robx.NearestNeighbour().explain(robx.Problem(model, X), X[:5]).save(path)


READERS: dict[str, tuple[Callable[[Path], object], Callable[[Path, Budget], object]]] = {
    "x.json": (save_xgboost, lambda path, budget: robx.import_model(path, budget=budget)),
    "x.ubj": (save_xgboost, lambda path, budget: robx.import_model(path, budget=budget)),
    "x.txt": (save_lightgbm, lambda path, budget: robx.import_model(path, budget=budget)),
    "c.json": (save_catboost(), lambda path, budget: robx.import_model(path, budget=budget)),
    "x.robx": (save_robx, lambda path, budget: robx.import_model(path, budget=budget)),
    "x.skops": (save_skops, lambda path, budget: robx.import_model(path, budget=budget)),
    "y.skops": (save_skops, lambda path, budget: ModelFile(path, budget=budget).model),
    "y.ubj": (save_xgboost, lambda path, budget: ModelFile(path, budget=budget).imported()),
    "x.csv": (save_table, lambda path, budget: read_table(path, budget=budget)),
    "x.csv.gz": (save_table, lambda path, budget: read_table(path, budget=budget)),
    "x.parquet": (save_table, lambda path, budget: read_table(path, budget=budget)),
    "s.yaml": (save_schema, lambda path, budget: robx.Schema.load(path, budget=budget)),
    "s.json": (save_schema, lambda path, budget: robx.Schema.load(path, budget=budget)),
    "p.yaml": (save_schema, read_plain),
    "a.json": (save_answers, lambda path, budget: robx.Counterfactuals.load(path, budget=budget)),
    "a.parquet": (
        save_answers,
        lambda path, budget: robx.Counterfactuals.load(path, budget=budget),
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_every_reader_keeps_to_bytes_and_memory(name: str, tmp_path: Path) -> None:
    save, read = READERS[name]
    path = tmp_path / name
    save(path)
    read(path, Budget())
    size = path.stat().st_size
    with pytest.raises(
        robx.BudgetExceeded,
        match=rf"^'{name}' has {size:,} bytes; at most 50 are allowed\. If you trust it, allow "
        r"more with budget=robx\.Budget\(max_bytes=\.\.\.\), or with the environment variable "
        r"ROBX_MAX_BYTES\.$",
    ):
        read(path, TINY)
    with pytest.raises(robx.BudgetExceeded, match=r"at most [\d,]+ are allowed.*ROBX_MAX_MEMORY"):
        read(path, POOR)


def test_a_pickle_that_is_allowed_has_a_limit_too(tmp_path: Path) -> None:
    path = tmp_path / "m.pkl"
    save_pickle(path)
    with pytest.raises(robx.BudgetExceeded, match="at most 50 are allowed"):
        _ = ModelFile(path, unsafe_pickle=True, budget=TINY).model


def test_the_environment_changes_the_limits_that_nobody_gave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.ubj"
    save_xgboost(path)
    monkeypatch.setenv("ROBX_MAX_MEMORY", "1e3")
    monkeypatch.setenv("ROBX_MAX_SECONDS", "0.5")
    assert Budget.default() == Budget(max_memory=1000, max_seconds=0.5)
    with pytest.raises(robx.BudgetExceeded):
        robx.import_model(path)
    assert robx.import_model(path, budget=Budget()).names is not None
    save_table(tmp_path / "t.csv")
    assert run(["stability", "--model", str(path), "--data", str(tmp_path / "t.csv")]) == 2
    said = capsys.readouterr().err
    assert said.count("Error: ") == 1
    assert "allow more with the environment variable ROBX_MAX_MEMORY." in said
    monkeypatch.setenv("ROBX_MAX_MEMORY", "much")
    with pytest.raises(
        robx.InvalidInput,
        match="variable ROBX_MAX_MEMORY must be a number above 0, such as 8e9. Got 'much'",
    ):
        robx.import_model(path)


@pytest.mark.parametrize("field", ["max_bytes", "max_memory", "max_seconds"])
@pytest.mark.parametrize("value", [0, -1, "1", None, float("nan")])
def test_a_limit_is_a_number_above_zero(field: str, value: Any) -> None:
    with pytest.raises(robx.InvalidInput, match=f"The '{field}' parameter of Budget must be"):
        Budget(**{field: value})


@pytest.mark.parametrize("error", [MemoryError(), RecursionError(), np.zeros])
def test_running_out_of_memory_or_depth_is_said_in_a_sentence(error: Any) -> None:
    with pytest.raises(robx.BudgetExceeded, match="^'m' "), Budget().reading("'m'"):
        raise error if isinstance(error, Exception) else MemoryError(str(error(2)))


def test_a_wide_model_of_few_splits_is_imported(tmp_path: Path) -> None:
    """XGBoost writes no names for an array; most of a hundred thousand columns are never used."""
    model = xgb.XGBClassifier(n_estimators=2, max_depth=2, n_jobs=1).fit(X, Y)
    plain = json.loads(bytes(model.get_booster().save_raw("json")))
    plain["learner"]["learner_model_param"]["num_feature"] = "100000"
    path = tmp_path / "wide.json"
    path.write_text(json.dumps(plain))
    ensemble = robx.import_model(path)
    assert isinstance(ensemble, robx.TreeEnsemble)
    assert len(ensemble.columns) == 100_000
    wide = np.hstack([X[:5], np.zeros((5, 99_996))])
    np.testing.assert_allclose(ensemble.score(wide), model.predict_proba(X[:5])[:, 1], atol=1e-6)
    most = Budget(max_memory=2**22)
    with pytest.raises(robx.BudgetExceeded, match="100,000 columns; at most 1,024 are allowed"):
        robx.import_model(path, budget=most)


def test_a_table_that_compresses_well_is_read(tmp_path: Path) -> None:
    rows = 200_000
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"0,1\n" * rows))
    assert path.stat().st_size * 100 < 4 * rows < SMALL
    assert len(read_table(path)) == rows


def test_anchors_that_repeat_little_are_read(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("a: &a {x: 1, y: [1, 2]}\nb: *a\nc: {<<: *a, z: 3}\n")
    found = read_plain(path, Budget())
    assert found["b"] == {"x": 1, "y": [1, 2]}
    assert found["c"] == {"x": 1, "y": [1, 2], "z": 3}


@pytest.mark.parametrize("name", ["ROBX_MAX_BYTES", "ROBX_MAX_MEMORY", "ROBX_MAX_SECONDS"])
@pytest.mark.parametrize("said", ["-5", "0", "nan"])
def test_a_limit_that_is_none_is_named_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    monkeypatch.setenv(name, said)
    with pytest.raises(robx.InvalidInput, match=f"variable {name} must be a number above 0"):
        Budget.default()

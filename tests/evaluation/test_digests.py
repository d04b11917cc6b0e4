"""Two cells are the same only if everything that goes into them is."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from functools import partial
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from xgboost import XGBClassifier

import robx
from robx.evaluation import digests
from robx.evaluation.digests import digest
from robx.scenarios import Bootstrap, Hyperparameter, OtherLibrary

FRAME = pd.DataFrame({"a": [1, 2, 3], "b": pd.Categorical(["x", "y", "x"])})


def with_default(rehearsal: robx.Rehearsal, *, tau: float = 0.5) -> robx.RobX:
    return robx.RobX(tau=tau)


def closing_over(tau: float) -> Any:
    def chosen(rehearsal: robx.Rehearsal) -> robx.RobX:
        return robx.RobX(tau=tau)

    return chosen


def fitted(C: float) -> robx.BlackBox:
    rows = np.arange(20.0).reshape(-1, 1)
    return robx.BlackBox(LogisticRegression(C=C).fit(rows, rows[:, 0] > 9))


def judge(bias: int) -> LogisticRegression:
    rows = np.arange(20.0).reshape(-1, 1)
    return LogisticRegression().fit(rows, (rows[:, 0] > 9) ^ bool(bias))


def asked(model: Any, rows: Any) -> Any:
    return model.predict_proba(rows)


def asking(model: Any) -> Any:
    def scored(rows: Any) -> Any:
        return model.predict_proba(rows)[:, 1]

    return scored


def forest(seed: int) -> robx.TreeEnsemble:
    rows = np.arange(20.0).reshape(-1, 1)
    model = RandomForestClassifier(3, random_state=seed).fit(rows, rows[:, 0] > 9)
    imported = robx.import_model(model)
    assert isinstance(imported, robx.TreeEnsemble)
    return imported


class Odd(robx.scenarios.Scenario):
    """No dataclass itself, with something that the dataclass does not know of."""

    def __init__(self, share: float) -> None:
        object.__setattr__(self, "share", share)

    def change(self, estimator: Any, labels: Any, k: int, seed: int) -> Any:
        raise NotImplementedError


DIFFERENT: list[tuple[Any, Any]] = [
    (Hyperparameter({"a": [1], "b": [2]}), Hyperparameter({"b": [2], "a": [1]})),
    (OtherLibrary([XGBClassifier(max_depth=2)]), OtherLibrary([XGBClassifier(max_depth=3)])),
    (Bootstrap(), robx.scenarios.NewSeed()),
    (XGBClassifier(), XGBClassifier(random_state=1)),
    (RandomForestClassifier(5), RandomForestClassifier(6)),
    (CatBoostClassifier(depth=3), CatBoostClassifier(depth=4)),
    (
        make_pipeline(StandardScaler(), LogisticRegression(C=1)),
        make_pipeline(StandardScaler(), LogisticRegression(C=2)),
    ),
    (FRAME, FRAME.astype({"a": "int8"})),
    (FRAME, FRAME.assign(b=FRAME.b.astype(object))),
    (FRAME, FRAME.assign(b=FRAME.b.cat.reorder_categories(["y", "x"]))),
    (FRAME, FRAME.assign(b=FRAME.b.cat.as_ordered())),
    (FRAME, FRAME.iloc[[1, 0, 2]]),
    (FRAME, FRAME.rename(columns={"a": "c"})),
    (FRAME, FRAME[["b", "a"]]),
    (FRAME, pl.from_pandas(FRAME)),
    (pl.from_pandas(FRAME), pa.Table.from_pandas(FRAME)),
    (np.arange(4), np.arange(4.0)),
    (np.array(["a", "b"], dtype=object), np.array(["b", "a"], dtype=object)),
    (robx.Schema.infer(FRAME), robx.Schema.infer(FRAME).override(a={"change": "none"})),
    (robx.RobX(base=robx.Given(points=FRAME)), robx.RobX(base=robx.Given(points=FRAME[:2]))),
    (robx.RobX(), robx.RobX(base=None)),
    (closing_over(0.1), closing_over(0.2)),
    (partial(with_default, tau=0.1), partial(with_default, tau=0.2)),
    (fitted(1.0), fitted(2.0)),
    (judge(0).predict_proba, judge(1).predict_proba),
    (partial(asked, judge(0)), partial(asked, judge(1))),
    (robx.BlackBox(asking(judge(0))), robx.BlackBox(asking(judge(1)))),
    (Odd(0.1), Odd(0.9)),
    (forest(0), forest(1)),
    (pd.Series([1, 2]), pd.Series([1.0, 2.0])),
    (pl.Series("a", [1]), pl.Series("b", [1])),
    (pd.DataFrame({"a": [[1], [2]]}), pd.DataFrame({"a": [[1], [3]]})),
    (np.array(None, dtype=object), np.array(3, dtype=object)),
    ([1, [2]], [[1], 2]),
    ({"a": 1}, {"a": 1.0}),
    ("1", 1),
    (with_default, closing_over(0.5)),
    (XGBClassifier, RandomForestClassifier),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_differs_has_another_digest(one: Any, other: Any) -> None:
    assert digest(one) != digest(other)
    assert digest(one) == digest(one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (closing_over(0.1), closing_over(0.1)),
        (fitted(1.0), fitted(1.0)),
        (forest(0), forest(0)),
        (FRAME, FRAME.iloc[[0, 1, 2]].assign(a=[1, 2, 3])),
        (FRAME, pd.concat([FRAME[["a"]], FRAME[["b"]]], axis=1)),
        ({"x", "y", 3}, {3, "y", "x"}),
        (["ab", (1, 2), (1, 2)], ["".join("ab"), *[(1, 2)] * 2]),
    ],
)
def test_what_is_equal_has_the_same_digest(one: Any, other: Any) -> None:
    assert digest(one) == digest(other)


def test_defaults_of_a_function_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest(with_default)
    monkeypatch.setitem(with_default.__kwdefaults__ or {}, "tau", 0.6)
    assert digest(with_default) != before


@pytest.mark.parametrize("name", ["robx", "scikit-learn"])
def test_versions_count(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Newer:
        version = "999"

        def __init__(self) -> None:
            self.name = name

    before = digest(1)
    digests._versions.cache_clear()
    rest = [found for found in distributions() if found.name != name]
    monkeypatch.setattr(digests, "distributions", lambda: [*rest, Newer()])
    newer = digest(1)
    digests._versions.cache_clear()
    assert newer != before


def test_a_fitted_estimator_counts_by_its_parameters() -> None:
    rows = np.arange(20.0).reshape(-1, 1)
    for estimator in (
        XGBClassifier(n_estimators=2, n_jobs=1),
        LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1),
        CatBoostClassifier(iterations=2, verbose=0, allow_writing_files=False),
        LogisticRegression(),
    ):
        before = digest(estimator)
        estimator.fit(rows, rows[:, 0] > 9)
        assert digest(estimator) == before


def circle() -> list[Any]:
    values: list[Any] = [1]
    values.append(values)
    return values


@pytest.mark.parametrize(
    "value",
    [threading.Lock(), sys.stdout, lambda rehearsal: robx.RobX(), circle()],
    ids=["lock", "file", "lambda", "circle"],
)
def test_what_cannot_be_told_apart_is_refused(value: Any) -> None:
    with pytest.raises(robx.InvalidInput, match="log of an evaluation cannot tell .* others \\("):
        digest(robx.NearestNeighbour(), {"inside": [value]})


def test_without_a_log_nothing_needs_to_be_told_apart() -> None:
    X, y, _ = robx.datasets.make_gaussians(200, seed=0)
    shift = FunctionTransformer(lambda rows: rows + 1)
    study = robx.Study(make_pipeline(shift, LogisticRegression()), X, y)
    table = robx.evaluate(study, {"NN": robx.NearestNeighbour()}, Bootstrap(), seeds=1, n_models=1)
    assert len(table) > 0


def test_what_was_worked_out_on_the_way_does_not_count() -> None:
    X, y, _ = robx.datasets.make_gaussians(100, seed=0)
    study = robx.Study(make_pipeline(StandardScaler(), LogisticRegression()), X, y)
    before = digest(study)
    study.base(study.split(0)[0], 0)
    assert "_guess" in vars(study)
    assert digest(study) == before


MINE = """
from dataclasses import dataclass
import robx
@dataclass(frozen=True, kw_only=True)
class Mine(robx.NearestNeighbour):
    share: float = 0.5
def make(rehearsal):
    return robx.RobX()
def wanted(levels):
    def made(rehearsal):
        return robx.Frugal(level=levels[0])
    return made
"""
SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import mine, numpy as np, pandas as pd, polars as pl, robx
from catboost import CatBoostClassifier
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier
from robx.evaluation.digests import digest
frame = pd.DataFrame({"a": ["x", "y"], "b": [1.5, None], "c": pd.Categorical(["u", "v"])})
rows = np.arange(20.0).reshape(-1, 1)
for what in (mine.Mine(), mine.make, mine.wanted((0.5, 0.6)), CatBoostClassifier(depth=3),
             XGBClassifier(max_depth=3), frame, pl.from_pandas(frame),
             robx.RobX(base=robx.Given(points=frame)), robx.Schema.infer(frame),
             {"x", "y", 3, frozenset("abc"), frozenset("de")}, {"x": 1, 2: "y", None: 0.5},
             robx.BlackBox(LogisticRegression().fit(rows, rows[:, 0] > 9)),
             robx.Frugal(models=[XGBClassifier(n_estimators=2).fit(rows, rows[:, 0] > 9)] * 2)):
    print(digest(what))
"""


def digests_in_a_new_process(folder: Path, seed: int) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    command = [sys.executable, "-c", SCRIPT, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return done.stdout.split()


def test_digests_are_the_same_in_every_process_and_for_every_hash_seed(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    first = digests_in_a_new_process(tmp_path, seed=0)
    assert len(set(first)) == 13
    assert digests_in_a_new_process(tmp_path, seed=1) == first
    assert digests_in_a_new_process(tmp_path, seed=2) == first

"""Two cells are the same only if everything that goes into them is."""

from __future__ import annotations

import subprocess
import sys
import threading
from functools import cache, partial
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
from robx.evaluation.digests import digest
from robx.scenarios import Bootstrap, Hyperparameter, OtherLibrary

FRAME = pd.DataFrame({"a": [1, 2, 3], "b": pd.Categorical(["x", "y", "x"])})
TAU = 0.1


def with_global(rehearsal: robx.Rehearsal) -> robx.RobX:
    return robx.RobX(tau=TAU)


def with_default(rehearsal: robx.Rehearsal, *, tau: float = 0.5) -> robx.RobX:
    return robx.RobX(tau=tau)


def closing_over(tau: float) -> Any:
    return lambda rehearsal: robx.RobX(tau=tau)


def fitted(C: float) -> robx.BlackBox:
    rows = np.arange(20.0).reshape(-1, 1)
    return robx.BlackBox(LogisticRegression(C=C).fit(rows, rows[:, 0] > 9))


def judge(bias: int) -> LogisticRegression:
    rows = np.arange(20.0).reshape(-1, 1)
    return LogisticRegression().fit(rows, (rows[:, 0] > 9) ^ bool(bias))


def asked(model: Any, rows: Any) -> Any:
    return model.predict_proba(rows)


def asking(model: Any) -> Any:
    return lambda rows: model.predict_proba(rows)[:, 1]


def cached_by(tau: float) -> Any:
    return cache(lambda rehearsal: robx.RobX(tau=tau))


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
    (cached_by(0.1), cached_by(0.2)),
    (pd.Series([1, 2]), pd.Series([1.0, 2.0])),
    (pl.Series("a", [1]), pl.Series("b", [1])),
    (pd.DataFrame({"a": [[1], [2]]}), pd.DataFrame({"a": [[1], [3]]})),
    (np.array(None, dtype=object), np.array(3, dtype=object)),
    ([1, [2]], [[1], 2]),
    ({"a": 1}, {"a": 1.0}),
    ("1", 1),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_differs_has_another_digest(one: Any, other: Any) -> None:
    assert digest(one) != digest(other)
    assert digest(one) == digest(one)


def test_what_a_function_reads_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest(with_global), digest(with_default)
    monkeypatch.setitem(globals(), "TAU", 0.9)
    monkeypatch.setitem(with_default.__kwdefaults__ or {}, "tau", 0.6)
    assert digest(with_global) != before[0]
    assert digest(with_default) != before[1]


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


def test_a_circle_comes_to_an_end() -> None:
    circle: list[Any] = [1]
    circle.append(circle)
    assert digest(circle) == digest(circle)


def test_what_cannot_be_told_apart_is_refused() -> None:
    with pytest.raises(robx.InvalidInput, match="A log needs to tell .* apart, and cannot"):
        digest(threading.Lock())


def test_without_a_log_nothing_needs_to_be_told_apart() -> None:
    X, y, _ = robx.datasets.make_gaussians(200, seed=0)
    shift = FunctionTransformer(lambda rows: rows + 1)
    study = robx.Study(make_pipeline(shift, LogisticRegression()), X, y)
    table = robx.evaluate(study, {"NN": robx.NearestNeighbour()}, Bootstrap(), seeds=1, n_models=1)
    assert len(table) > 0


def test_attributes_are_no_globals(monkeypatch: pytest.MonkeyPatch) -> None:
    def reads_an_attribute(rehearsal: Any) -> Any:
        return rehearsal.FRAME

    before = digest(reads_an_attribute)
    monkeypatch.setitem(globals(), "FRAME", FRAME[:1])
    assert digest(reads_an_attribute) == before


def test_what_was_worked_out_on_the_way_does_not_count() -> None:
    X, y, schema = robx.datasets.make_gaussians(100, seed=0)
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    problem = robx.Problem(forest, X, schema)
    before = digest(problem)
    robx.RobX().explain(problem, X)
    assert digest(problem) == before
    study = robx.Study(make_pipeline(StandardScaler(), LogisticRegression()), X, y)
    before = digest(study)
    study.base(study.split(0)[0], 0)
    assert digest(study) == before


def test_functions_that_call_each_other_are_looked_at_once() -> None:
    names = [f"f{k}" for k in range(12)]
    space: dict[str, Any] = {}
    for name in names:
        calls = ", ".join(f"{other}()" for other in names)
        exec(f"def {name}():\n    return [{calls}]", space)  # noqa: S102 - functions of our own
    for name in names:
        space[name].__module__ = "__main__"
    assert digest(space["f0"])


MINE = """
import robx, helping
class Mine(robx.NearestNeighbour):
    def search(self, problem, people, rows):
        return super().search(problem, people, rows)  # {}
def make(rehearsal):
    return helper() or helping.least()
def helper():
    return robx.RobX() if "a" in {{"a", "b", "c"}} else None
"""
SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import mine, numpy as np, pandas as pd, polars as pl, robx
from catboost import CatBoostClassifier
from robx.evaluation.digests import digest
frame = pd.DataFrame({"a": ["x", "y"], "b": [1.5, None]})
for what in (mine.Mine(), mine.make, CatBoostClassifier(depth=3), frame, pl.from_pandas(frame),
             robx.RobX(base=robx.Given(points=frame)), robx.Schema.infer(frame), {"x", "y", 3}):
    print(digest(what))
"""


INTERACTIVE = """
import robx
from robx.evaluation.digests import digest
class Parent(robx.NearestNeighbour):
    most = {most}
    @staticmethod
    def name(): return {name!r}
class Mine(Parent):
    def search(self, problem, people, rows, share={share}):
        return helper()
def helper(): return {helper}
print(digest(Mine()))
"""


def test_classes_typed_into_an_interpreter_count_by_all_that_is_in_them() -> None:
    def typed(*changes: dict[str, Any]) -> list[str]:
        usual = {"most": 1, "name": "a", "share": 0.5, "helper": 1}
        lines = "".join(INTERACTIVE.format(**{**usual, **change}) for change in changes)
        command = [sys.executable, "-c", lines]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    seen = typed({}, {"most": 2}, {"name": "b"}, {"share": 0.6}, {"helper": 2})
    assert typed({}) == seen[:1]
    assert len(set(seen)) == len(seen) == 5


def digests_in_a_new_process(folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.slow
def test_digests_are_the_same_in_every_process_until_the_code_changes(tmp_path: Path) -> None:
    (tmp_path / "helping.py").write_text("def least(): return 1")
    (tmp_path / "mine.py").write_text(MINE.format("one"))
    first = digests_in_a_new_process(tmp_path)
    assert len(set(first)) == 8
    assert digests_in_a_new_process(tmp_path) == first
    (tmp_path / "mine.py").write_text(MINE.format("two"))
    changed = digests_in_a_new_process(tmp_path)
    assert [a == b for a, b in zip(first, changed, strict=True)] == [False] * 2 + [True] * 6
    (tmp_path / "helping.py").write_text("def least(): return 2")
    helped = digests_in_a_new_process(tmp_path)
    assert [a == b for a, b in zip(changed, helped, strict=True)] == [False] * 2 + [True] * 6

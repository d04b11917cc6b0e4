"""How much work methods do, counted: rows that are scored, draws that are made, measurements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

import robx
from robx.robustness import draws
from robx.robustness.probe import EnsembleProbe
from robx.trees import TreeEnsemble

RNG = np.random.default_rng(0)


def counted(patch: pytest.MonkeyPatch, owner: Any, name: str, count: Callable[..., None]) -> None:
    """Call `count` with the arguments of each call of a function, which does what it did."""
    function = getattr(owner, name)

    def call(*args: Any, **others: Any) -> Any:
        count(*args)
        return function(*args, **others)

    patch.setattr(owner, name, call)


def test_applicants_without_an_answer_do_not_cost_a_score_for_every_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = RNG.random((1200, 6))
    y = X[:, :2].mean(axis=1) + 0.1 * X[:, 2:].mean(axis=1) > 0.75
    model = xgb.XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1).fit(X, y)
    features = [robx.Feature(f"x{j}", change="none" if j < 2 else "any") for j in range(6)]
    problem = robx.Problem(model, X, robx.Schema(features))
    people = np.column_stack([0.4 * RNG.random((60, 2)), RNG.random((60, 4))])
    scored = Counter[str]()

    def count(_: TreeEnsemble, matrix: NDArray[Any]) -> None:
        scored["rows"] += len(matrix)

    counted(monkeypatch, TreeEnsemble, "score_matrix", count)
    answer = robx.NearestNeighbour().explain(problem, people)
    assert not answer.ok.any()
    assert len(problem.support) > 200
    # Twice every accepted row for every applicant would be 120 times the support.
    assert scored["rows"] < 30 * len(problem.support)


def test_noise_is_drawn_once_and_only_split_columns_get_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    d = 800  # tables of all columns would take more than 64 MB
    X = RNG.random((120, d))
    model = xgb.XGBClassifier(n_estimators=5, max_depth=2, n_jobs=1).fit(X, X[:, 3] > 0.5)
    problem = robx.Problem(model, X)
    people = X[problem.model.score(X) <= 0.5][:3]
    made, columns = Counter[str](), set[int]()
    counted(monkeypatch, draws, "_sobol", lambda *_: made.update(["sequence"]))
    counted(monkeypatch, draws, "_tables", lambda noise, _: columns.add(noise.shape[1]))
    noise = robx.Noise(rng=711)  # which no other test has drawn
    robx.RobX(noise=noise, tau=0.6).explain(problem, people)
    assert made["sequence"] == 1
    assert isinstance(problem.model, TreeEnsemble)
    assert columns == {len(np.unique(problem.model.split_feature))}


def test_no_point_is_measured_twice_with_the_same_draws_in_one_test(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = RNG.random((200, 4))
    forest = RandomForestClassifier(10, random_state=0).fit(X, X[:, 0] + X[:, 1] > 1)
    problem = robx.Problem(forest, X)
    measured = Counter[tuple[bytes, int]]()

    def count(probe: EnsembleProbe, rows: NDArray[Any], noise: draws.Draws) -> None:
        measured.update((probe.matrix[i].tobytes(), len(noise)) for i in rows)

    counted(monkeypatch, EnsembleProbe, "moments", count)
    passed = problem.gate.passes(X, 0.6, robx.Noise())
    assert 0 < passed.sum() < len(X)
    assert max(measured.values()) == 1
    assert {n for _, n in measured} == {64, 256, 1024}


def test_what_is_kept_is_bounded_in_bytes() -> None:
    kept, made = draws.Kept(100), Counter[str]()

    def get(key: str, n_bytes: int) -> None:
        kept.get(key, lambda: made.update([key]), n_bytes)

    for key, n_bytes in (("a", 40), ("b", 40), ("a", 40), ("c", 40), ("a", 40), ("b", 40)):
        get(key, n_bytes)
    assert made == {"a": 1, "b": 2, "c": 1}  # b was asked for least lately when c came
    get("large", 200)
    get("large", 200)
    assert made["large"] == 2

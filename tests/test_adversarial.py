"""Everything that a user could bring to break an answer, and every method has to stand it.

Tables of NaN, infinities, denormals, huge numbers, constants and flags; schemas as odd as they
come; models of every library; thresholds at the ends. What must hold, whatever comes: an answer
that is ok is accepted by the user's own ``predict_proba`` on the table that is returned, and
keeps the schema; everybody else stays as they were and is told why; a row's answer does not depend
on the others; nothing is raised, and nothing warned of.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import cache
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import robx
from robx import Problem, Status
from robx.methods import Method
from speed import examples, slow_but
from strategies import random_schema

Floats = NDArray[np.float64]

METHODS: list[Method] = [
    robx.NearestNeighbour(),
    robx.NearestNeighbour(norm=2, gamma=0.7),
    robx.Conservative(noise=robx.Noise(n_draws=64)),
    robx.RobX(noise=robx.Noise(n_draws=64)),
    robx.RobX(base=None, norm=2, tau=0.6, noise=robx.Noise(n_draws=64)),
    robx.FeatureTweaking(),
    robx.Focus(),
    robx.Face(),
    robx.Frugal(noise=robx.Noise(n_draws=64)),
    robx.Frugal(norm=2, base=None, realism="forest", max_changes=2, noise=robx.Noise(n_draws=32)),
    robx.LiveRegion(),
    robx.Closest(effort=0.02),
]
STABLE = [method for method in METHODS if hasattr(method, "tau")]
#: Those that lead to rows of the support, so that an empty one leaves them without an answer.
OVER_ROWS = [
    m for m in METHODS if not isinstance(m, robx.FeatureTweaking | robx.Focus | robx.Closest)
]

DENORMAL = 5e-324
COLUMNS = ["steps", "whole", "flag", "wild", "same", "gaps", "tiny"]


def named(method: Method) -> str:
    return f"{type(method).__name__}-L{method.norm}"


@dataclass(frozen=True)
class Scene:
    """A model that was trained on an odd table, and people as odd."""

    model: Any
    table: Any
    people: Any

    def probability(self, table: Any) -> Floats:
        return np.asarray(self.model.predict_proba(table)[:, 1], dtype=np.float64)


def odd_table(rng: np.random.Generator, n: int, *, missing: bool, wild: bool) -> pd.DataFrame:
    """Columns of every odd sort; infinities only where `wild`."""
    table = pd.DataFrame(
        {
            "steps": rng.integers(-20, 20, n) / 10,
            "whole": rng.integers(0, 2, n),  # an integer with two values
            "flag": rng.random(n) < 0.5,
            "wild": rng.choice([0.0, -0.0, 1e-300, 1e30, -1e30, 1.0, 2.5], n),
            "same": 3.0,
            "gaps": rng.normal(size=n),
            "tiny": rng.choice([0.0, DENORMAL, 2 * DENORMAL, -DENORMAL], n),
        }
    )
    if missing:
        for name in ("steps", "wild", "gaps"):
            table.loc[rng.random(n) < 0.2, name] = np.nan
    if wild:
        table.loc[rng.random(n) < 0.1, "gaps"] = np.inf
        table.loc[rng.random(n) < 0.1, "wild"] = -np.inf
        table.loc[rng.random(n) < 0.1, "same"] = 4.0
        table.loc[rng.random(n) < 0.1, "steps"] = 0.123456789
    return table


def scene(family: str, seed: int, n: int = 80) -> Scene:
    rng = np.random.default_rng(seed)
    missing = family in {"xgboost", "lightgbm", "hist"}
    table = odd_table(rng, n, missing=missing, wild=False)
    people = odd_table(rng, 8, missing=True, wild=True)
    worth = table["steps"].fillna(0) + table["whole"] - table["flag"] + table["gaps"].fillna(0)
    label = (worth > np.quantile(worth, 0.5)).astype(int)
    label.iloc[0] = 1 - label.iloc[0]  # two classes, whatever came
    quick: dict[str, Any] = {"n_estimators": 5, "n_jobs": 1, "random_state": 0}
    makers: dict[str, Any] = {
        "tree": lambda: DecisionTreeClassifier(max_depth=4, random_state=0),
        "forest": lambda: RandomForestClassifier(**quick, max_depth=4),
        "xgboost": lambda: xgb.XGBClassifier(**quick, max_depth=3),
        "lightgbm": lambda: lgb.LGBMClassifier(**quick, verbose=-1, min_child_samples=3),
        "hist": lambda: HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3),
    }
    return Scene(makers[family]().fit(table, label), table, people)


def same_bytes(one: robx.Counterfactuals, i: int, other: robx.Counterfactuals, k: int) -> None:
    """Row i of one answer is row k of another, to the last bit."""
    assert one.status[i] == other.status[k]
    assert one.reason[i] == other.reason[k]
    for name in ("cost", "score", "stability", "n_changes"):
        assert getattr(one, name)[i].tobytes() == getattr(other, name)[k].tobytes(), name
    assert one.changes[i] == other.changes[k]


def assert_lawful(answer: robx.Counterfactuals, problem: Problem, at: Scene) -> None:
    held = [status in {Status.OK, Status.UNSTABLE} for status in answer.status]
    broken = problem.schema.violations(answer.points, answer.applicants)
    for i, status in enumerate(answer.status):
        one = answer.points.iloc[[i]]
        if held[i]:
            assert at.probability(one)[0] > problem.threshold, (i, answer.changes[i])
            assert not broken[i], (i, broken[i], answer.changes[i])
            assert answer.n_changes[i] > 0
            assert answer.cost[i] >= 0
            assert answer.score[i] == pytest.approx(at.probability(one)[0], abs=1e-6)
        else:
            assert one.equals(answer.applicants.iloc[[i]]) or answer.n_changes[i] == 0
            assert answer.cost[i] == 0
        assert (answer.reason[i] == "") == (status in {Status.OK, Status.ACCEPTED})
        assert np.isfinite(answer.cost[i])
    assert answer.points.index.equals(answer.applicants.index)
    assert answer.points.columns.equals(answer.applicants.columns)
    assert json.loads(answer.to_json())["status"] == [str(s) for s in answer.status]
    assert all(answer.words(i) for i in range(len(answer)))


FAMILIES = ["tree", "forest", "xgboost", "lightgbm", "hist"]


@pytest.mark.parametrize("method", METHODS, ids=named)
@given(st.sampled_from(FAMILIES), st.integers(0, 10_000), st.sampled_from([0.01, 0.5, 0.99]))
@examples(6, few=2, derandomize=True, suppress_health_check=[HealthCheck.differing_executors])
def test_odd_tables_schemas_and_models(
    method: Method, family: str, seed: int, threshold: float
) -> None:
    at = scene(family, seed)
    rng = np.random.default_rng(seed)
    guess = Problem(at.model, at.table).schema
    schema = random_schema(guess, at.table, rng) if seed % 4 else guess
    problem = Problem(at.model, at.table, schema=schema, threshold=threshold)
    answer = method.explain(problem, at.people)
    assert_lawful(answer, problem, at)
    backwards = method.explain(problem, at.people[::-1])
    fresh = Problem(at.model, at.table, schema=schema, threshold=threshold)
    single = method.explain(fresh, at.people[3:4])
    for i in range(8):
        same_bytes(answer, i, backwards, 7 - i)
    same_bytes(answer, 3, single, 0)


@pytest.mark.parametrize("method", METHODS, ids=named)
@pytest.mark.parametrize("seed", slow_but([1], range(2)))
def test_a_support_of_one_row(method: Method, seed: int) -> None:
    at = scene("lightgbm" if seed % 2 else "tree", seed)
    accepted = at.probability(at.table) > 0.5
    for rows in (accepted, ~accepted):
        table = at.table[rows & at.table.notna().all(axis=1)][:1]
        problem = Problem(at.model, table)
        assert len(problem.support) == int(rows is accepted)
        assert_lawful(method.explain(problem, at.people), problem, at)


@cache
def towns() -> tuple[Scene, Problem]:
    rng = np.random.default_rng(0)
    town = rng.integers(0, 500, 1000)
    town[:500] = np.arange(500)
    hot = (town[:, None] == np.arange(500)).astype(np.int8)
    table = pd.DataFrame(hot, columns=[f"town_{k}" for k in range(500)])
    table["income"] = rng.random(1000).round(2)
    label = (table["income"] + 0.5 * (town % 3 == 0) > 0.8).astype(int)
    model = lgb.LGBMClassifier(n_estimators=10, verbose=-1, min_child_samples=2, n_jobs=1)
    at = Scene(model.fit(table, label), table, table[:12])
    return at, Problem(at.model, at.table)


@pytest.mark.parametrize("method", slow_but([], METHODS), ids=named)
def test_five_hundred_one_hot_columns_take_seconds(method: Method) -> None:
    at, problem = towns()
    started = time.perf_counter()
    answer = method.explain(problem, at.people)
    assert time.perf_counter() - started < 20
    assert_lawful(answer, problem, at)
    assert answer.ok.any() or method not in OVER_ROWS
    members = answer.points[[f"town_{k}" for k in range(500)]].sum(axis=1)
    assert (members == 1).all()


@pytest.mark.parametrize("method", METHODS, ids=named)
@pytest.mark.parametrize("threshold", slow_but([0.0, 0.99], [0.0, 0.01, 0.99, 1 - 1e-12]))
def test_thresholds_at_the_ends(method: Method, threshold: float) -> None:
    at = scene("forest", 5)
    problem = Problem(at.model, at.table, threshold=threshold)
    assert_lawful(method.explain(problem, at.people), problem, at)


@pytest.mark.parametrize("method", STABLE, ids=named)
def test_a_tau_above_every_stability_gives_the_best_there_is(method: Any) -> None:
    at = scene("hist", 3)
    problem = Problem(at.model, at.table)
    hard = type(method)(**{**vars(method), "tau": 7.0})
    answer = hard.explain(problem, at.people)
    assert_lawful(answer, problem, at)
    assert not answer.ok.any()
    assert (answer.status == Status.UNSTABLE).any()
    for i in np.flatnonzero(answer.status == Status.UNSTABLE):
        assert answer.reason[i].startswith("no point passed tau = 7; the best seen has R = ")


@pytest.mark.parametrize("method", METHODS, ids=named)
def test_a_support_of_one_class(method: Method) -> None:
    at = scene("hist", 8)
    accepted = at.probability(at.table) > 0.5
    for rows in (accepted, ~accepted):
        problem = Problem(at.model, at.table[rows])
        answer = method.explain(problem, at.people)
        assert_lawful(answer, problem, at)
        if rows is not accepted and method in OVER_ROWS:
            assert not answer.ok.any()
            assert "no row of the support scores above" in " ".join(answer.reason)


def test_numbers_too_large_to_subtract() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.choice([-1e308, 1e308, 0.0], 60), "b": rng.random(60)})
    model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3)
    model.fit(table, (table["a"] > 0).astype(int))
    at = Scene(model, table, table[:6])
    problem = Problem(model, table)
    for method in OVER_ROWS:
        assert_lawful(method.explain(problem, at.people), problem, at)


def test_a_table_of_constants_has_nowhere_to_go() -> None:
    table = pd.DataFrame({"a": [1.0] * 6, "b": [2] * 6})
    model = DecisionTreeClassifier().fit(table, [0, 1, 0, 1, 0, 0])
    problem = Problem(model, table)
    for method in METHODS:
        answer = method.explain(problem, table[:2])
        assert_lawful(answer, problem, Scene(model, table, table[:2]))
        assert not answer.ok.any()


def test_a_table_in_double_precision_for_training_in_single() -> None:
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"a": rng.integers(0, 10, 60) / 10, "b": rng.integers(0, 5, 60)})
    table = people.astype({"a": np.float32})
    label = (people["a"] + 0.1 * people["b"] > 0.6).astype(int)
    model = RandomForestClassifier(5, random_state=0, n_jobs=1).fit(table, label)
    at = Scene(model, table, people[:12])
    problem = Problem(model, table)
    assert problem.schema["a"].resolution == 0.1
    for method in METHODS:
        assert_lawful(method.explain(problem, at.people), problem, at)


def test_applicants_beyond_what_the_training_dtype_holds() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.integers(0, 9, 60).astype(np.uint8), "b": rng.random(60)})
    label = (table["a"] > 4).astype(int)
    model = DecisionTreeClassifier(max_depth=3).fit(table, label)
    at = Scene(model, table, pd.DataFrame({"a": [-3, 300, 1], "b": [0.5, 0.5, 0.5]}))
    problem = Problem(model, table)
    for method in METHODS:
        answer = method.explain(problem, at.people)
        assert_lawful(answer, problem, at)
        assert answer.status[1] == Status.ACCEPTED
        if answer.paths is not None:
            assert answer.paths[0]["a"].iloc[0] == -3

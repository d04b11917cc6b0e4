"""The gate: what it admits is legal by a look at every rule, and stays as it is.

Effects have tests of their own.
"""

from __future__ import annotations

from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

import robx
from contracts import rows_of
from families import EVERY, Family, family
from robx import Feature, Problem, Schema
from robx.arrays import same
from robx.problem import Applicants, Gate
from strategies import random_schema

Floats = NDArray[np.float64]
nan = np.nan


def is_legal(problem: Problem, point: Floats, x: Floats) -> bool:
    """Go through the schema column by column, group by group, relation by relation."""
    storage = [np.float32 if single else np.float64 for single in problem.codec.single]
    for j, f in enumerate(problem.schema):
        if f.group is None and not _may_hold(f, point[j], x[j], storage[j], problem.codec.whole[j]):
            return False
    for name in {f.group for f in problem.schema if f.group}:
        members = [j for j, f in enumerate(problem.schema) if f.group == name]
        if same(point[members], x[members]).all():
            continue
        fixed = problem.schema.features[members[0]].change == "none"
        if fixed or sorted(point[members]) != [0.0] * (len(members) - 1) + [1.0]:
            return False
    place = {name: j for j, name in enumerate(problem.names)}
    for relation in problem.schema.relations:
        terms = [c * point[place[name]] for name, c in relation.terms]
        if sum(terms) - relation.bound > 1e-6 * (1 + sum(map(abs, terms))):
            return False
    return True


def _may_hold(f: Feature, z: float, x: float, stored: Any, is_whole: bool) -> bool:
    if z == x or (np.isnan(z) and np.isnan(x)):
        return True
    if np.isnan(z) or np.isinf(z) or (np.isnan(x) and not f.may_fill):
        return False
    if not np.isnan(x) and {"none": True, "increase": z < x, "decrease": z > x}.get(f.change):
        return False
    if (f.low is not None and z < f.low) or (f.high is not None and z > f.high):
        return False
    if not np.isnan(x) and moves_too_far(f, x, z):
        return False
    if f.level_numbers:
        return z in [float(stored(level)) for level in f.level_numbers]
    step = f.resolution or (1.0 if f.kind == "integer" or is_whole else None)
    return step is None or abs(z - round(z / step) * step) <= 1e-6 * max(abs(z), 1.0)


def moves_too_far(f: Feature, x: float, z: float) -> bool:
    passed = [level for level in f.level_numbers if min(x, z) <= level <= max(x, z) and level != x]
    far = len(passed) if f.kind == "ordinal" else abs(z - x) * (1 - 1e-6)
    most = f.max_increase if z > x else f.max_decrease
    return most is not None and far > most


def wanted_of(problem: Problem, rng: np.random.Generator, n: int) -> Floats:
    """Rows of the table, mixed, moved, made missing and sent far out."""
    rows = problem.training[rng.integers(0, len(problem.training), n)]
    rows = np.where(rng.random(rows.shape) < 0.5, rng.permuted(rows, axis=0), rows)
    away = rng.normal(size=rows.shape) * problem.rules.scale * (rng.random(rows.shape) < 0.4)
    rows = rows + np.where(problem.rules.is_label, 0.0, away)
    rows[rng.random(rows.shape) < 0.05] = nan
    rows[rng.random(rows.shape) < 0.02] = 1e12
    return rows


def outside(problem: Problem, X: Floats) -> Any:
    """Which values lie outside of stated ranges: (n, d) bool."""
    low = [-np.inf if f.low is None else f.low for f in problem.schema]
    high = [np.inf if f.high is None else f.high for f in problem.schema]
    return (np.array(low) > X) | (np.array(high) < X)


@pytest.fixture(params=EVERY)
def case(request: pytest.FixtureRequest) -> Family:
    return family(request.param)


def test_what_is_admitted_is_legal_and_stays_as_it_is(case: Family) -> None:
    guess = case.problem().schema
    n_legal = n_outside = n_moved_in = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        problem = case.problem(schema=random_schema(guess, case.X, rng))
        gate, people = problem.gate, problem.read(rows_of(case.applicants, slice(20)))
        owner = rng.integers(0, 20, 150)
        own = people.matrix[owner]
        for admit in (gate.admit, lambda z, p, o, gate=gate: gate.project(z, p.take(o))):
            points, legal = admit(wanted_of(problem, rng, 150), people, owner)
            for k in range(150):
                assert legal[k] == is_legal(problem, points[k], own[k]), (k, points[k], own[k])
            explained = gate.explains(points, people.take(owner))
            assert [not names for names in explained] == legal.tolist()
            again = admit(points, people, owner)
            assert again.points[legal].tobytes() == points[legal].tobytes()
            assert again.legal[legal].all()
            n_legal += int(legal.sum())
            n_outside += int((outside(problem, own) & same(points, own))[legal].sum())
            n_moved_in += int((outside(problem, own) & ~same(points, own))[legal].sum())
    assert n_legal > 300
    assert n_outside > 50
    assert n_moved_in > 50


def test_applicants_are_admitted_as_they_are(case: Family) -> None:
    guess = case.problem().schema
    for seed in range(4):
        schema = random_schema(guess, case.X, np.random.default_rng(seed))
        problem = case.problem(schema=schema.override(relations=[]))
        people = problem.read(case.applicants)
        for points, legal in (
            problem.gate.admit(people.matrix, people),
            problem.gate.project(people.matrix, people),
        ):
            assert points.tobytes() == people.matrix.tobytes()
            assert legal.all()
        assert not any(problem.gate.explains(people.matrix, people))


def test_scores_are_the_models_own_and_nothing_has_none(case: Family) -> None:
    problem = case.problem()
    people = problem.read(rows_of(case.applicants, slice(10)))
    theirs = case.probability(rows_of(case.applicants, slice(10)))
    np.testing.assert_allclose(problem.gate.score(people.matrix), theirs, atol=1e-6)
    np.testing.assert_array_equal(problem.gate.accepts(people.matrix), theirs > 0.5)
    np.testing.assert_array_equal(problem.gate.accepts(people.matrix, 0.8), theirs > 0.8)
    noise = robx.Noise(n_draws=16)
    stability = problem.gate.stability(people.matrix, noise).value
    tau = float(np.sort(stability)[4])
    np.testing.assert_array_equal(problem.gate.passes(people.matrix, tau, noise), stability >= tau)
    none = people.matrix[:0]
    for found in (
        problem.gate.score(none),
        problem.gate.accepts(none),
        problem.gate.passes(none, 0.5, noise),
        problem.gate.stability(none, noise).value,
        problem.gate.admit(none, people.take(np.zeros(0, int))).legal,
    ):
        assert found.shape == (0,)


# --- what decisions mean --------------------------------------------------------------------------

COUNTS = np.array([[a, b] for a in range(10) for b in range(10)], dtype=float)


def gate_of(*features: Feature, relations: Any = (), X: Floats = COUNTS) -> tuple[Gate, Any]:
    model = RandomForestClassifier(3, random_state=0).fit(X, X[:, 0] > 4)
    problem = Problem(model, X, Schema(features, relations))
    return problem.gate, lambda rows: problem.read(np.array(rows, dtype=float))


def admitted(gate: Gate, people: Applicants, *wanted: list[float]) -> tuple[Any, Any]:
    points, legal = gate.admit(np.array(wanted), people, np.zeros(len(wanted), dtype=np.intp))
    return points.tolist(), legal.tolist()


def test_a_range_says_where_a_change_may_lead() -> None:
    gate, read = gate_of(Feature("a", "integer", low=5, high=7), Feature("b", "integer"))
    people = read([[1, 1]])
    points, legal = admitted(gate, people, [1, 3], [2, 3], [4, 3], [6, 3], [9, 3], [-5, 3])
    assert points == [[1, 3], [1, 3], [5, 3], [6, 3], [7, 3], [1, 3]]
    assert all(legal)
    assert gate.explains(np.array([[2.0, 3.0]]), people) == [["a (from 5 to 7)"]]


@pytest.mark.parametrize("change", ["decrease", "none"])
def test_who_cannot_move_into_a_range_stays(change: Any) -> None:
    gate, read = gate_of(Feature("a", "integer", low=5, change=change), Feature("b", "integer"))
    assert admitted(gate, read([[1, 1]]), [6, 3], [1, 3]) == ([[1, 3], [1, 3]], [True, True])


def test_what_is_fixed_and_missing_may_be_filled_where_that_is_said() -> None:
    X = COUNTS.copy()
    X[::7, 0] = nan
    model = xgb.XGBClassifier(n_estimators=3, n_jobs=1).fit(X, COUNTS[:, 0] > 4)
    for may_fill in (True, False):
        fixed = Feature("a", "integer", change="none", may_fill=may_fill, low=2, high=6)
        problem = Problem(model, X, Schema((fixed, Feature("b", "integer"))))
        people = problem.read(np.array([[nan, 1.0], [8.0, 1.0]]))
        wanted = np.array([[9.0, 2.0], [5.0, 2.0]])
        points, legal = problem.gate.admit(wanted, people)
        np.testing.assert_array_equal(points, [[6.0 if may_fill else nan, 2.0], [8.0, 2.0]])
        assert legal.all()


MARKED: dict[str, tuple[Any, float]] = {
    "xgboost, 0": (xgb.XGBClassifier(n_estimators=5, missing=0.0, n_jobs=1), 0.0),
    "xgboost, 3": (xgb.XGBClassifier(n_estimators=5, missing=3.0, n_jobs=1), 3.0),
    "lightgbm": (
        lgb.LGBMClassifier(
            n_estimators=5, zero_as_missing=True, min_child_samples=5, verbose=-1, n_jobs=1
        ),
        0.0,
    ),
}


def marked(name: str) -> Problem:
    model, _ = MARKED[name]
    hot = np.eye(2)[np.arange(100) % 2]
    X = pd.DataFrame(np.c_[COUNTS, hot], columns=["a", "b", "g_x", "g_y"])
    model.fit(X, X["a"] + X["b"] > 9)
    group = [Feature(member, "onehot", group="g") for member in ("g_x", "g_y")]
    return Problem(model, X, Schema((Feature("a", "integer"), Feature("b", "integer"), *group)))


@pytest.mark.parametrize("name", MARKED)
def test_nobody_comes_to_have_a_number_that_means_missing(name: str) -> None:
    problem, marker = marked(name), MARKED[name][1]
    people = problem.read(pd.DataFrame([[5, 5, 1, 0]], columns=problem.names))
    wanted = np.array([[marker, 7.0, 1.0, 0.0], [7.0, marker, 0.0, 1.0], [7.0, 7.0, 0.0, 1.0]])
    owner = np.zeros(3, dtype=np.intp)
    points, legal = problem.gate.admit(wanted, people, owner)
    assert legal.tolist() == [False, False, True]  # a member of a group may become 0
    assert points[2].tolist() == [7, 7, 0, 1]
    broken = problem.gate.explains(points, people.take(owner))
    said = "a known value would mean 'missing' to the model"
    assert broken == [[said], [said], []]
    assert problem.gate.holds(wanted, people, owner).tolist() == legal.tolist()
    # What others bring asks for nothing by such a number, as by a missing one.
    points, legal = problem.gate.project(wanted, people.take(owner))
    assert legal.all()
    assert points.tolist() == [[5, 7, 1, 0], [7, 5, 0, 1], [7, 7, 0, 1]]


@pytest.mark.parametrize("name", MARKED)
def test_who_has_a_number_that_means_missing_keeps_it_or_leaves_it(name: str) -> None:
    problem, marker = marked(name), MARKED[name][1]
    people = problem.read(pd.DataFrame([[marker, 5.0, 1, 0]], columns=problem.names))
    is_number = marker == 0  # other markers are missing values, which may not be filled here
    own = marker if is_number else nan
    points, legal = problem.gate.admit(
        np.array([[own, 7.0, 1.0, 0.0], [6.0, 7.0, 1.0, 0.0]]), people, np.zeros(2, dtype=np.intp)
    )
    assert legal.all()
    np.testing.assert_array_equal(points[:, 0], [own, 6.0 if is_number else nan])
    assert not any(problem.gate.explains(points, people.take(np.zeros(2, dtype=np.intp))))


def test_a_cutoff_below_the_threshold_does_not_lower_it() -> None:
    gate = family("forest").problem(threshold=0.6).gate
    assert [gate.cutoff(gamma) for gamma in (None, 0.3, 0.9)] == [0.6, 0.6, 0.9]


def test_rows_of_nobody_keep_what_ties_columns() -> None:
    gate, _ = gate_of(
        Feature("a", "integer", change="none"), Feature("b", "integer", low=5), relations=["a <= b"]
    )
    rows = np.array([[1.0, 2.0], [3.0, 2.0], [nan, 2.0], [1.0, np.inf]])
    assert gate.keeps(rows).tolist() == [True, False, True, False]

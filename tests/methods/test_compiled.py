"""The compiled search and its readable twin give the same answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import robx
from families import MORE, TREES, family
from retrained_cases import retrained
from robx.methods.compiled import CompiledSearch
from speed import slow_but, tries
from strategies import random_schema

NOISE = robx.Noise(n_draws=64, staged=False)
#: Every tree family, and those whose zeros mean "missing", or whose columns go together.
FAMILIES = [*TREES, "together", "xgboost-zero", "lightgbm-zero"]
SLOW = [*MORE, "lightgbm-zero"]


def readable(
    method: robx.Method, problem: robx.Problem, X: Any, monkeypatch: pytest.MonkeyPatch
) -> robx.Counterfactuals:
    """Answers of the search in Python."""
    with monkeypatch.context() as patch:
        patch.setattr(CompiledSearch, "of", lambda *_: None)
        return method.explain(problem.renewed(), X)


def assert_alike(one: robx.Counterfactuals, two: robx.Counterfactuals) -> None:
    assert one.status.tolist() == two.status.tolist()
    assert one.cost.tolist() == two.cost.tolist()
    assert one.changes == two.changes
    assert [r.split(" nearest rows")[-1] for r in one.reason] == [
        r.split(" nearest rows")[-1] for r in two.reason
    ]
    np.testing.assert_array_equal(one.stability, two.stability)


@pytest.mark.parametrize("name", slow_but(["xgboost", "forest", "together"], FAMILIES, SLOW))
@pytest.mark.parametrize("norm", [1, 2])
def test_frugal_answers_alike(
    name: str, norm: robx.schema.Norm, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = family(name)
    problem = case.problem()
    for models in ((), retrained(name)):
        method = robx.Frugal(models=models, noise=NOISE, norm=norm)
        assert CompiledSearch.of(method.test(problem), norm) is not None
        compiled = method.explain(problem, case.applicants)
        assert compiled.ok.sum() > 10
        assert_alike(compiled, readable(method, problem, case.applicants, monkeypatch))


@pytest.mark.parametrize("name", slow_but(["xgboost", "forest", "together"], FAMILIES, SLOW))
@pytest.mark.parametrize("norm", slow_but([1], [1, 2]))
def test_challengers_are_asked_alike(
    name: str, norm: robx.schema.Norm, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = family(name)
    problem, challengers = case.problem(), retrained(name, 3, 5)
    for models in ((), retrained(name)):
        free = robx.Frugal(models=models, noise=NOISE, norm=norm, level=0.3)
        method = replace(free, challengers=challengers)
        search = CompiledSearch.of(method.test(problem), norm)
        assert search is not None
        assert search.asked.n_must == 4
        compiled = method.explain(problem, case.applicants)
        assert compiled.ok.sum() > 10
        assert compiled.cost.tolist() != free.explain(problem, case.applicants).cost.tolist()
        assert_alike(compiled, readable(method, problem, case.applicants, monkeypatch))


@pytest.mark.parametrize("name", slow_but(["xgboost"], ["xgboost", "forest", "together"]))
@pytest.mark.parametrize("realism", ["lof", None])
def test_a_retrained_score_and_a_share_of_models_are_asked_for_alike(
    name: str, realism: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, n_ok = family(name), []
    problem = case.problem()
    for score, share in ((0.5, 0.0), (0.5, 1.0), (0.7, 0.5), (0.9, 0.0)):
        method = robx.Frugal(
            models=retrained(name),
            noise=NOISE,
            min_retrained_score=score,
            min_accepting=share,
            realism=realism,
        )
        compiled = method.explain(problem, case.applicants)
        assert_alike(compiled, readable(method, problem, case.applicants, monkeypatch))
        n_ok.append(int(compiled.ok.sum()))
    assert min(n_ok[:3]) > 10


@pytest.mark.parametrize("name", slow_but(["xgboost", "together"], FAMILIES, SLOW))
def test_both_keep_any_schema(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, found = family(name), 0
    for seed in range(tries(6, 4)):
        rng = np.random.default_rng(seed)
        schema = random_schema(case.problem().schema, case.X, rng)
        problem = case.problem(schema=schema)
        limit = None if seed % 3 else 2
        challengers = retrained(name, 3, 5) if seed % 2 else ()
        method = robx.Frugal(
            models=retrained(name), challengers=challengers, noise=NOISE, max_changes=limit
        )
        if CompiledSearch.of(method.test(problem), 1) is None:
            continue
        compiled = method.explain(problem, case.applicants)
        found += int(compiled.ok.sum())
        assert_alike(compiled, readable(method, problem, case.applicants, monkeypatch))
    assert found > 10


def test_effects_and_relations_are_kept_by_both(monkeypatch: pytest.MonkeyPatch) -> None:
    case = family("forest")
    schema = case.problem().schema.override(
        {"age": {"change": "increase"}},
        effects={"age": "2 * savings", "debts": "-0.5*savings"},
        relations=["savings <= 0.2*income"],
    )
    problem = case.problem(schema=schema)
    method = robx.Frugal(models=retrained("forest"), noise=NOISE)
    compiled = method.explain(problem, case.applicants)
    before, after = case.applicants["age"], compiled.points["age"]
    assert (after.to_numpy() != before.to_numpy()).any()
    assert_alike(compiled, readable(method, problem, case.applicants, monkeypatch))


def test_a_budget_of_tests_is_spent_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    case = family("xgboost")
    costs = []
    for most in (0, 7, 40, 2000):
        problem = case.problem()
        method = robx.Frugal(models=retrained("xgboost"), noise=NOISE, max_tests=most)
        compiled = method.explain(problem, case.applicants)
        assert_alike(compiled, readable(method, problem, case.applicants, monkeypatch))
        costs.append(compiled.cost.sum())
    assert costs[0] > costs[1] > costs[2] > costs[3]


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_few_rows_are_looked_at_alike(level: float, monkeypatch: pytest.MonkeyPatch) -> None:
    case, n_ok = family("xgboost-array"), []
    fixed = {name: {"change": "none"} for name in "15678"}
    problem = case.problem(schema=case.problem().schema.override(fixed))
    for most in (10, 100_000):
        method = robx.Frugal(
            models=retrained("xgboost-array"),
            noise=NOISE,
            level=level,
            realism=None,
            max_tries=most,
        )
        compiled = method.explain(problem, case.applicants)
        assert_alike(compiled, readable(method, problem, case.applicants, monkeypatch))
        n_ok.append(int(compiled.ok.sum()))
    assert n_ok[0] < n_ok[1]


def test_a_search_that_gave_up_says_so_also_where_no_other_row_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 40_000), *rng.random((2, 40_000)).round(3)])
    X[:, 2] = (X[:, 2] / 10).round(3)
    y = (X[:, 0] == 1) | (X[:, 1] > 0.95)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    models = list(robx.retrainings(tree, X, y, 3))
    schema = robx.Schema.infer(X).override({"0": {"change": "none"}})
    problem, applicant = robx.Problem(tree.fit(X, y), X, schema=schema), [[0, 0.05, 0.05]]
    method = robx.Frugal(
        models=models, noise=NOISE, level=0.0, realism=None, base=None, sparse_starts=0
    )
    assert method.explain(problem, applicant).ok[0]
    short = replace(method, max_tries=100)
    compiled = short.explain(problem, applicant)
    assert compiled.status[0] == robx.Status.BUDGET
    assert_alike(compiled, readable(short, problem, applicant, monkeypatch))


def test_a_batch_and_one_by_one_are_the_same() -> None:
    case = family("xgboost")
    method = robx.Frugal(models=retrained("xgboost"), noise=NOISE)
    problem = case.problem()
    batch = method.explain(problem, case.applicants)
    for i in range(len(batch)):
        one = method.explain(problem, case.applicants.iloc[[i]])
        pd.testing.assert_frame_equal(one.points, batch.points.iloc[[i]])


def test_many_columns_share_their_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(0)
    X = rng.random((300, 150)).round(2)
    y = X[:, 0] + X[:, 64] + X[:, 128] > 1.5
    forest = RandomForestClassifier(20, max_depth=4, random_state=0)
    models = list(robx.retrainings(forest, X, y, 4))
    problem = robx.Problem(forest.fit(X, y), X)
    method = robx.Frugal(models=models, noise=NOISE, realism=None)
    people = X[forest.predict_proba(X)[:, 1] < 0.5][:10]
    assert_alike(method.explain(problem, people), readable(method, problem, people, monkeypatch))


def arrays_of(record: Any) -> Iterator[Any]:
    for value in record:
        if isinstance(value, np.ndarray):
            yield value
        elif hasattr(value, "_fields"):
            yield from arrays_of(value)


def test_arrays_lie_row_after_row() -> None:
    """Another order is another type, for which everything is compiled again: a minute."""
    case = family("together")
    search = CompiledSearch.of(robx.Frugal(noise=NOISE).test(case.problem()), 1)
    assert search is not None
    arrays = list(arrays_of((search.conditions, search.support, search.asked)))
    assert len(arrays) > 60
    assert all(array.flags.c_contiguous for array in arrays)


def test_what_cannot_be_laid_out_is_searched_in_python() -> None:
    case = family("pipeline")
    method = robx.Frugal(noise=NOISE)
    assert CompiledSearch.of(method.test(case.problem()), 1) is None
    forest = robx.Frugal(noise=NOISE, realism="forest")
    assert CompiledSearch.of(forest.test(family("forest").problem()), 1) is None
    other = robx.Frugal(noise=NOISE, challengers=retrained("pipeline", 2))
    assert CompiledSearch.of(other.test(family("xgboost").problem()), 1) is None


def test_points_are_accepted_as_stable_as_everywhere() -> None:
    """What passes in the compiled search is as stable as `robx` measures, to the last bit."""
    case = family("xgboost")
    problem = case.problem()
    method = robx.Frugal(models=retrained("xgboost"), noise=NOISE)
    test = method.test(problem)
    answer = method.explain(problem, case.applicants)
    points = problem.read(answer.points).matrix[answer.ok]
    assert test.outliers is not None
    assert np.mean(test.outliers(points) <= test.max_outlier_score) > 0.5
    assert (problem.gate.stability(points, NOISE).value >= test.stable.tau).all()
    assert test.panel is not None
    assert (test.panel.mean_scores(points) >= test.min_retrained_score).all()

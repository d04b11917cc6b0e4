"""Closest against every allowed point, scored by the model's own library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from closest_cases import MODELS, MORE, Floats, costs, every_point, fitted, free_schema, schema
from robx import Closest, Problem, Status
from robx.methods.exact import search
from speed import slow_but


def optimum(problem: Problem, model: Any, target: Any, x: Floats, cutoff: float) -> float:
    """Find the least cost of an accepted point by looking at all; infinite where there is none."""
    points = every_point(problem, x)
    if len(points) == 0:
        return np.inf
    place = list(model.classes_).index(1 if target is None else target)
    score = model.predict_proba(problem.codec.write(points))[:, place].astype(float)
    return float(costs(problem, points, x)[score > cutoff].min(initial=np.inf))


def assert_optimal(problem: Problem, model: Any, target: Any, X: Any, gamma: Any = None) -> Any:
    answer = Closest(gamma=gamma).explain(problem, X)
    people = problem.read(X)
    cutoff = problem.gate.cutoff(gamma)
    asked = [i for i, s in enumerate(answer.status) if s != Status.ACCEPTED]
    best = np.array([optimum(problem, model, target, people.matrix[i], cutoff) for i in asked])
    np.testing.assert_array_equal(answer.ok[asked], np.isfinite(best))
    ok, found = np.isfinite(best), answer.ok
    np.testing.assert_allclose(answer.cost[found], best[ok], rtol=0, atol=1e-8)
    bound = answer.measured["bound"]
    assert (bound[found] <= best[ok] + 1e-12).all()
    np.testing.assert_allclose(bound[found], best[ok], rtol=0, atol=1e-7)
    assert np.isnan(bound[~found]).all()
    none = {Status.PRECLUDED} if gamma is None else {Status.PRECLUDED, Status.NOT_FOUND}
    assert {answer.status[i] for i in asked} <= {Status.OK, *none}
    return answer


@pytest.mark.parametrize("name", slow_but(["XGBoost", "RandomForest"], MODELS, MORE))
def test_the_answer_is_the_cheapest_of_all_allowed_points(name: str) -> None:
    model, X, target = fitted(name)
    people = X.iloc[:40].reset_index(drop=True)
    n_ok, n_precluded = 0, 0
    for seed in range(9):
        problem = Problem(
            model, X, schema(seed), target=target, threshold=[0.3, 0.5, 0.6][seed % 3]
        )
        low = np.flatnonzero(problem.read(people).score <= problem.threshold)[seed % 3 :][:8]
        answer = assert_optimal(problem, model, target, people.iloc[low])
        n_ok += int(answer.ok.sum())
        n_precluded += int((answer.status == Status.PRECLUDED).sum())
    assert n_ok >= 15
    assert n_precluded >= 2


@pytest.mark.parametrize("name", slow_but(["LightGBM"], MODELS, MORE))
def test_gamma_asks_for_a_higher_score(name: str) -> None:
    model, X, target = fitted(name)
    problem = Problem(model, X, free_schema(), target=target)
    low = np.flatnonzero(problem.read(X).score <= 0.5)[:8]
    answer = assert_optimal(problem, model, target, X.iloc[low], gamma=0.6)
    assert answer.ok.any()
    assert (answer.score[answer.ok] > 0.6).all()


@pytest.mark.parametrize("name", slow_but(["XGBoost", "forest of votes"], MODELS, MORE))
def test_a_score_on_the_threshold_is_not_above_it(name: str) -> None:
    model, X, target = fitted(name)
    free = free_schema()
    first = Problem(model, X, free, target=target)
    low = np.flatnonzero(first.read(X).score <= first.threshold)[:4]
    before = Closest().explain(first, X.iloc[low])
    moved = 0
    for i in np.flatnonzero(before.ok):
        problem = Problem(model, X, free, target=target, threshold=float(before.score[i]))
        after = assert_optimal(problem, model, target, X.iloc[low[i : i + 1]])
        moved += int(not after.ok[0] or after.cost[0] > before.cost[i])
    assert moved >= 1


def test_votes_are_counted_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> bool:
        raise AssertionError("a tie was taken for an answer")

    monkeypatch.setattr(search.Search, "_exclude", never)
    model, X, target = fitted("forest of votes")
    problem = Problem(model, X, free_schema(), target=target)
    low = np.flatnonzero(problem.read(X).score <= 0.5)[:10]
    assert assert_optimal(problem, model, target, X.iloc[low]).ok.all()

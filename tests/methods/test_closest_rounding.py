"""Closest where float rounding decides who is accepted."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
from numpy.typing import NDArray

import robx
from robx import Closest, Feature, Problem, Schema, Status
from robx.methods.exact import demand, search
from speed import slow_but, tries

Floats = NDArray[np.float64]


@cache
def tied() -> tuple[robx.TreeEnsemble, Floats, Floats]:
    """Seven columns worth some tenths each: 0.1 + 0.2 and 0.3 are a tie that rounding decides.

    Gives the model, all points, and thresholds that part a tie.
    """
    X = np.array(list(itertools.product([0.0, 1.0], repeat=7)))
    model = lgb.LGBMClassifier(n_estimators=60, num_leaves=2, n_jobs=1, verbose=-1)
    e: Any = robx.import_model(model.fit(X, X.sum(axis=1) >= 4), X=X)
    worth = np.zeros(e.n_leaves)
    tenths = dict(enumerate([0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1]))
    for root in e.tree_start[:-1]:  # the first stump of each column gives what the column is worth
        column = int(e.split_feature[e.node_split[root]])
        worth[-1 - e.node_split[root + 2]] = tenths.pop(column, 0.0)
    assert not tenths
    made = replace(e, leaf_value=worth, base=np.zeros(1), link="identity")
    score = made.score(X)
    known = np.unique(score[score < 0.95])
    cutoffs = known[:-1][np.diff(known) < 1e-12]
    assert len(cutoffs) >= 4
    return made, X, cutoffs


def dear(cutoff: float) -> tuple[Problem, Floats]:
    """A problem in which columns differ in cost and one row is accepted, and who is declined."""
    model, points, _ = tied()
    weights = [1.0, 1.1, 2.9, 1.3, 1.2, 2.6, 0.9]
    names = robx.Schema.infer(points).names
    features = (Feature(n, "integer", weight=w) for n, w in zip(names, weights, strict=True))
    problem = Problem(model, points[[0, -1]], Schema(tuple(features)), threshold=float(cutoff))
    return problem, points[model.score(points) <= cutoff][::4]


@pytest.mark.parametrize("most", slow_but([1], [0, 1, 2, 20]))
def test_ties_that_rounding_decides_never_make_a_wrong_bound(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MOST_EXCLUDED", most)
    model, points, cutoffs = tied()
    score = model.score(points)
    for cutoff in cutoffs[: tries(len(cutoffs), 2)]:
        problem, people = dear(cutoff)
        answer = Closest().explain(problem, people)
        for i, x in enumerate(people):
            best = problem.rules.cost(points, np.tile(x, (128, 1)), 1)[score > cutoff].min()
            assert answer.ok[i]
            assert answer.score[i] > cutoff
            assert answer.measured["bound"][i] <= best + 1e-12 <= answer.cost[i] + 2e-12
            if most == 20:
                assert answer.cost[i] == pytest.approx(best)


@pytest.mark.slow
def test_what_is_excluded_once_is_not_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    excluded: dict[search.Search, list[tuple[int, ...]]] = {}
    exclude = search.Search._exclude

    def noted(self: search.Search, program: Any, k: int, leaves: Any) -> bool:
        excluded.setdefault(self, []).append((k, *leaves.tolist()))
        return exclude(self, program, k, leaves)

    monkeypatch.setattr(search.Search, "_exclude", noted)
    for cutoff in tied()[2]:
        Closest().explain(*dear(cutoff))
    assert len(excluded) >= 10
    for each in excluded.values():
        assert len(set(each)) == len(each)


def test_what_rounding_left_open_is_not_called_infeasible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_EXCLUDED", 1)
    monkeypatch.setattr(demand.Condition, "made_safe", lambda c: replace(c, least=10**12))
    model, points, cutoffs = tied()
    score = model.score(points)
    said = set()
    for cutoff in cutoffs:
        problem = Problem(model, points, threshold=float(cutoff))
        problem.support.score[:] = 0.0  # no row of the support helps
        said |= set(Closest().explain(problem, points[score <= cutoff][-12:]).status)
    assert said == {Status.OK, Status.BUDGET}

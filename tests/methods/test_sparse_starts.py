"""Starts that change few features: allowed, accepted by the averaged model, and cheaper at last."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robx
from families import TREES, family
from retrained_cases import retrained
from robx.methods.sparse_starts import Offered, SparseStarts
from speed import slow_but

NOISE = robx.Noise(n_draws=64, staged=False)


def offered_to(name: str, score: float, n_ways: int = 3) -> tuple[robx.Problem, Offered]:
    case = family(name)
    problem = case.problem()
    method = robx.Frugal(models=retrained(name), noise=NOISE, min_retrained_score=score)
    applicants = problem.read(case.applicants)
    applicants = applicants.take(np.flatnonzero(applicants.score <= problem.threshold))
    test = method.test(problem)
    sparse = SparseStarts.of(test, 1)
    assert sparse is not None
    offered = sparse.offer(applicants, test, n_ways, 0.05)
    for i, w in np.argwhere(offered.number > 0):
        some = offered.points[i, w, : offered.number[i, w]]
        legal = problem.gate.admit(some, applicants, np.full(len(some), i))
        np.testing.assert_array_equal(legal[0], some)
        assert legal[1].all()
    return problem, offered


@pytest.mark.parametrize("name", slow_but(["xgboost", "forest"], TREES))
def test_they_are_allowed_and_many_of_them_are_accepted(name: str) -> None:
    problem, offered = offered_to(name, 0.6)
    who, way = np.nonzero(offered.number)
    assert len(who) > 10
    last = offered.points[who, way, offered.number[who, way] - 1]
    assert problem.gate.accepts(last).mean() > 0.8


def test_ways_begin_with_different_features() -> None:
    _, offered = offered_to("xgboost", 0.55)
    both = np.flatnonzero((offered.number > 0).all(axis=1))
    different = [len(np.unique(offered.points[i, :, 0], axis=0)) for i in both]
    assert len(both) > 3
    assert np.mean(different) > 2  # of three: some ways come to the same place


def test_no_answer_costs_more_for_them_and_some_cost_less() -> None:
    case, gained = family("xgboost"), 0
    problem = case.problem()
    for score in (0.55, 0.7):
        with_them = robx.Frugal(
            models=retrained("xgboost"),
            noise=NOISE,
            realism=None,
            min_retrained_score=score,
            price_per_change=0.0,
        )
        without = replace(with_them, sparse_starts=0)
        more, fewer = (m.explain(problem, case.applicants) for m in (with_them, without))
        assert more.ok.sum() >= fewer.ok.sum()
        both = more.ok & fewer.ok
        gained += int((more.cost[both] < fewer.cost[both] - 1e-9).sum())
        assert more.cost[both].mean() < fewer.cost[both].mean()
    assert gained > 5


def test_who_can_have_no_row_of_the_support_may_still_be_answered() -> None:
    case = family("xgboost")
    problem = case.problem()
    method = robx.Frugal(models=retrained("xgboost"), noise=NOISE, realism=None, level=0.0)
    short = replace(method, max_tries=1, base=None)
    answered = short.explain(problem, case.applicants).ok.sum()
    assert answered > replace(short, sparse_starts=0).explain(problem, case.applicants).ok.sum()


def test_a_problem_without_accepted_rows_has_none() -> None:
    case = family("xgboost")
    problem = case.problem(threshold=0.999999)
    method = robx.Frugal(noise=NOISE)
    assert SparseStarts.of(method.test(problem), 1) is None
    assert not method.explain(problem, case.applicants).ok.any()


@pytest.mark.parametrize("bad", [-1, 1.5, "two", None])
def test_their_number_is_checked(bad: object) -> None:
    case = family("xgboost")
    message = "The 'sparse_starts' parameter of Frugal must be"
    with pytest.raises(robx.InvalidInput, match=message):
        robx.Frugal(sparse_starts=bad).explain(case.problem(), case.applicants)  # type: ignore[arg-type]

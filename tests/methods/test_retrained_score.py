"""What `Frugal` asks of retrained models: a mean score, and a share of them that accept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import robx
from contracts import assert_lawful, assert_same_answers, rows_of
from families import family
from frugal_cases import MODEL, PEOPLE, QUICK, UNITS, X, Y
from retrained_cases import LIBRARIES, mean_scores, own_scores, retrained
from speed import slow_but

MODELS = list(robx.retrainings(MODEL, X, Y, 4))


@pytest.fixture(params=slow_but(["xgboost", "forest"], [*LIBRARIES, "xgboost-3", "hist"]))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# --- the mean score -------------------------------------------------------------------------------


def test_every_answer_has_the_mean_score_by_the_libraries_own_word(name: str) -> None:
    case, models = family(name), retrained(name)
    problem, costs = case.problem(), []
    for score in (0.5, 0.6, 0.75):
        method = robx.Frugal(**QUICK, models=models, min_retrained_score=score)
        assert method.test(problem).min_retrained_score == score
        answer = method.explain(problem, case.applicants)
        assert_lawful(answer, case, problem)
        mean = mean_scores(own_scores(models, answer.points, case.target))
        assert (mean[answer.ok] >= score - 1e-6).all()
        np.testing.assert_allclose(
            answer.measured["retrained_score"][answer.ok], mean[answer.ok], atol=1e-6
        )
        costs.append(np.where(answer.ok, answer.cost, np.nan))
    have = ~np.isnan(costs).any(axis=0)
    assert have.sum() > 10
    totals = [cost[have].sum() for cost in costs]
    assert totals[0] < totals[1] < totals[2]


def test_a_score_below_the_threshold_asks_for_the_threshold() -> None:
    case, models = family("forest"), retrained("forest")
    for threshold in (0.5, 0.6):
        problem = case.problem(threshold=threshold)
        low, same = (
            robx.Frugal(**QUICK, models=models, min_retrained_score=score).explain(
                problem, case.applicants
            )
            for score in (0.0, threshold)
        )
        assert_same_answers(low, same, range(len(case.applicants)))
        assert (mean_scores(own_scores(models, low.points[low.ok])) >= threshold - 1e-6).all()


def test_a_level_and_the_score_that_it_stands_for_ask_for_the_same() -> None:
    case, models = family("xgboost"), retrained("xgboost")
    problem = case.problem()
    for level in (0.2, 0.6):
        by_level = robx.Frugal(**QUICK, models=models, level=level)
        score = by_level.test(problem).min_retrained_score
        by_score = replace(by_level, level="auto", min_retrained_score=score)
        assert by_score.test(problem).key == by_level.test(problem).key
        one, other = (m.explain(problem, case.applicants) for m in (by_level, by_score))
        assert_same_answers(one, other, range(len(case.applicants)))
        assert one.settings["why"] == other.settings["why"]
    other_score = replace(by_score, min_retrained_score=score + 0.01)
    assert other_score.test(problem).key != by_score.test(problem).key


def test_few_changes_have_the_mean_score_too() -> None:
    case, models = family("forest"), retrained("forest")
    problem, n_unstable = case.problem(), 0
    for score in (0.55, 0.7):
        method = robx.Frugal(**QUICK, models=models, min_retrained_score=score, max_changes=1)
        answer = method.explain(problem, case.applicants)
        assert answer.n_changes.max() <= 1
        assert answer.ok.sum() > 5
        assert (mean_scores(own_scores(models, answer.points[answer.ok])) >= score - 1e-6).all()
        unstable = np.flatnonzero(answer.status == robx.Status.UNSTABLE)
        n_unstable += len(unstable)
        for i in unstable:
            assert f"mean score of 6 retrained models >= {score}, " in answer.reason[i]
            assert "retrained score " in answer.reason[i]
    assert n_unstable


# --- how many accept ------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.5, 5 / 6, 1.0])
def test_as_many_models_accept_every_answer_as_was_asked(name: str, share: float) -> None:
    case, models = family(name), retrained(name)
    problem = case.problem()
    free = robx.Frugal(**QUICK, models=models, min_retrained_score=0.5)
    answer = replace(free, min_accepting=share).explain(problem, case.applicants)
    assert_lawful(answer, case, problem)
    assert answer.ok.sum() > 10
    accepting = (own_scores(models, answer.points, case.target) > 0.5).sum(axis=0)
    assert (accepting[answer.ok] >= round(6 * share)).all()
    if share == 1.0:  # which the mean score alone does not ask for
        before = free.explain(problem, case.applicants)
        theirs = own_scores(models, rows_of(before.points, before.ok), case.target)
        assert (theirs <= 0.5).any()


def test_few_changes_are_accepted_by_as_many() -> None:
    case, models = family("forest"), retrained("forest")
    method = robx.Frugal(
        **QUICK, models=models, min_retrained_score=0.5, min_accepting=1.0, max_changes=1
    )
    answer = method.explain(case.problem(), case.applicants)
    assert answer.n_changes.max() <= 1
    assert answer.ok.sum() > 5
    assert (own_scores(models, answer.points[answer.ok]) > 0.5).all()
    assert any("accepted by 6 of them" in reason for reason in answer.reason)


def test_none_need_accept_unless_that_is_asked() -> None:
    problem = robx.Problem(MODEL, X, UNITS)
    plain = robx.Frugal(**QUICK, models=MODELS)
    assert replace(plain, min_accepting=0.0).test(problem).key == plain.test(problem).key
    assert replace(plain, min_accepting=0.5).test(problem).key != plain.test(problem).key
    alone = robx.Frugal(**QUICK)
    asked = replace(alone, min_accepting=0.9)  # of no models, which says nothing
    assert asked.test(problem).key == alone.test(problem).key


# --- errors ---------------------------------------------------------------------------------------

PLACE = "'min_retrained_score' parameter of Frugal takes the place of a level, and is about its mod"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"level": 0.5, "models": MODELS}, f"{PLACE}els. Got it with level = 0.5."),
        ({}, f"{PLACE}els. Got it without models."),
        ({"models": []}, f"{PLACE}els. Got it without models."),
        ({"level": 0.5}, f"{PLACE}els. Got it without models."),
    ],
)
def test_a_score_is_refused_beside_a_level_and_without_models(
    parameters: dict[str, Any], message: str
) -> None:
    method = robx.Frugal(**parameters, min_retrained_score=0.7)
    problem = robx.Problem(MODEL, X, UNITS)
    for work in (lambda: method.check(problem, 1), lambda: method.explain(problem, PEOPLE[:1])):
        with pytest.raises(robx.InvalidInput, match=message):
            work()


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), "high", True, np.array([0.5])])
@pytest.mark.parametrize("parameter", ["min_retrained_score", "min_accepting"])
def test_what_is_no_number_from_0_to_1_is_refused(parameter: str, value: Any) -> None:
    problem = robx.Problem(MODEL, X, UNITS)
    method = robx.Frugal(**{parameter: value}, models=MODELS)
    message = f"The '{parameter}' parameter of Frugal must be a number from 0 to 1. Got "
    with pytest.raises(robx.InvalidInput, match=message):
        method.explain(problem, PEOPLE[:1])

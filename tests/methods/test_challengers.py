"""Challengers: further models that must accept every answer of `Frugal`."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import robx
from contracts import assert_lawful, assert_same_answers, rows_of
from families import family
from frugal_cases import MODEL, PEOPLE, QUICK, UNITS, X, Y
from retrained_cases import LIBRARIES, own_scores, retrained
from robx.evaluation.digests import digest
from robx.methods.compiled import CompiledSearch
from speed import slow_but


def challengers(name: str, n: int = 3) -> tuple[Any, ...]:
    """Models that a family's own might be replaced by; they are not those that search."""
    return retrained(name, n, 5)


def assert_accepted(
    answer: robx.Counterfactuals, models: Any, threshold: float = 0.5, target: Any = None
) -> None:
    """Every answer is accepted by each of the models, as their own libraries say."""
    scores = own_scores(models, rows_of(answer.points, answer.ok), target)
    assert (scores > threshold).all()


@pytest.fixture(params=slow_but(["xgboost", "forest"], [*LIBRARIES, "xgboost-3", "hist"]))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# --- what they accept -----------------------------------------------------------------------------


@pytest.mark.parametrize("searches", [False, True], ids=["alone", "beside retrained models"])
def test_every_answer_is_accepted_by_each_challengers_own_library(
    name: str, searches: bool
) -> None:
    case, problem = family(name), family(name).problem()
    free = robx.Frugal(**QUICK, level=0.3, models=retrained(name) if searches else ())
    before = free.explain(problem, case.applicants)
    scores = own_scores(challengers(name), rows_of(before.points, before.ok), case.target)
    assert (scores <= 0.5).any()  # so that challengers rule something out
    answer = replace(free, challengers=challengers(name)).explain(problem, case.applicants)
    assert_lawful(answer, case, problem)
    assert answer.ok.sum() > 15
    assert_accepted(answer, challengers(name), target=case.target)


@pytest.mark.parametrize("threshold", [0.3, 0.7])
def test_they_accept_by_the_problems_threshold(threshold: float) -> None:
    case = family("forest")
    problem = case.problem(threshold=threshold)
    method = robx.Frugal(**QUICK, challengers=challengers("forest"))
    answer = method.explain(problem, case.applicants)
    assert answer.ok.sum() > 5
    assert_accepted(answer, challengers("forest"), threshold)


def test_the_model_itself_as_a_challenger_changes_no_answer() -> None:
    problem, models = robx.Problem(MODEL, X, UNITS), list(robx.retrainings(MODEL, X, Y, 4))
    for some in ((), models):
        method = robx.Frugal(**QUICK, models=some)
        plain = method.explain(problem, PEOPLE)
        again = replace(method, challengers=[MODEL]).explain(problem, PEOPLE)
        assert (plain.points == again.points).all()
        assert plain.ok.all()


def test_with_each_further_challenger_answers_cost_more_or_the_same() -> None:
    case, problem = family("xgboost"), family("xgboost").problem()
    method = robx.Frugal(**QUICK, level=0.1, realism=None)
    found = [
        replace(method, challengers=challengers("xgboost", 6)[:n]).explain(problem, case.applicants)
        for n in (0, 2, 6)
    ]
    all_have = np.logical_and.reduce([answer.ok for answer in found])
    costs = [answer.cost[all_have].sum() for answer in found]
    assert costs[0] < costs[1] < costs[2]


def test_a_model_of_another_kind_may_challenge() -> None:
    """It is asked about tables, so the search runs in Python."""
    other = LogisticRegression().fit(X, Y)
    forest = RandomForestClassifier(20, random_state=0).fit(X, Y)
    problem = robx.Problem(MODEL, X, UNITS)
    method = robx.Frugal(**QUICK, challengers=[other, forest])
    assert CompiledSearch.of(method.test(problem), 1) is None
    answer = method.explain(problem, PEOPLE)
    assert answer.ok.sum() > 10
    assert_accepted(answer, [other, forest])
    trees = robx.Frugal(**QUICK, challengers=[forest])
    assert_accepted(trees.explain(problem, PEOPLE), [forest])


def test_where_a_challenger_accepts_nothing_the_best_found_is_not_called_robust() -> None:
    problem = robx.Problem(MODEL, X, UNITS)
    never = robx.BlackBox(lambda table: np.full(len(table), 0.4))
    answer = robx.Frugal(**QUICK, challengers=[never]).explain(problem, PEOPLE[:6])
    assert set(answer.status) == {robx.Status.UNSTABLE}
    for reason in answer.reason:
        assert reason.startswith(f"no point passed R >= {answer.settings['tau']:.4g}, accepted by")
        assert "accepted by 1 challenger, outlier score <=" in reason


# --- laws -----------------------------------------------------------------------------------------


def test_any_batch_and_copy_gives_the_same_bytes(name: str) -> None:
    case = family(name)
    method = robx.Frugal(**QUICK, models=retrained(name), challengers=challengers(name))
    some = rows_of(case.applicants, slice(14))
    whole = method.explain(case.problem(), some)
    copy = pickle.loads(pickle.dumps(method))
    assert_same_answers(
        whole, copy.explain(pickle.loads(pickle.dumps(case.problem())), some), range(14)
    )
    problem = case.problem()
    backwards = method.explain(problem, rows_of(some, slice(None, None, -1)))
    assert_same_answers(whole, backwards, range(13, -1, -1))
    for i in range(6):
        assert_same_answers(whole, method.explain(problem, rows_of(some, [i])), [i])


def test_challengers_cannot_judge_the_answers_that_they_chose() -> None:
    case = family("forest")
    some = rows_of(case.applicants, slice(6))
    for models in ((), retrained("forest")):
        problem = case.problem()
        method = robx.Frugal(**QUICK, models=models, challengers=challengers("forest"))
        answer = method.explain(problem, some)
        for asked in (problem, case.problem()):  # also a problem made anew
            with pytest.raises(robx.InvalidInput, match="Model 0 of 1 was used to choose"):
                robx.certify(asked, answer, challengers("forest")[1:2])
        assert robx.certify(problem, answer, retrained("forest", 4, 9)).certificate is not None


def test_other_challengers_make_another_method_to_a_log() -> None:
    one, same, other, none = (
        digest(robx.Frugal(challengers=some))
        for some in (*(retrained("forest", 2, seed) for seed in (0, 0, 1)), ())
    )
    assert one == same
    assert len({one, other, none}) == 3


# --- few changes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("searches", [False, True], ids=["alone", "beside retrained models"])
def test_challengers_accept_answers_of_few_changes_too(searches: bool) -> None:
    case, problem, models = family("forest"), family("forest").problem(), challengers("forest")
    free = robx.Frugal(**QUICK, level=0.3, models=retrained("forest") if searches else ())
    limited = replace(free, max_changes=1)
    before = limited.explain(problem, case.applicants)
    assert (own_scores(models, before.points[before.ok]) <= 0.5).any()
    answer = replace(limited, challengers=models).explain(problem, case.applicants)
    assert_lawful(answer, case, problem)
    assert answer.n_changes.max() <= 1
    assert 10 < answer.ok.sum() < before.ok.sum()
    assert_accepted(answer, models)
    # For some, a search for few changes found what pulling back did not.
    unlimited = replace(free, challengers=models).explain(problem, case.applicants)
    assert (answer.ok & (unlimited.n_changes > 1)).sum() > 2


def test_the_best_of_few_changes_is_not_called_robust_where_a_challenger_rejects_it() -> None:
    problem = robx.Problem(MODEL, X, UNITS)
    never = robx.BlackBox(lambda table: np.full(len(table), 0.4))
    method = robx.Frugal(**QUICK, level=0.0, realism=None, max_changes=2, challengers=[never])
    answer = method.explain(problem, PEOPLE[:8])
    assert not answer.ok.any()
    assert (answer.status == robx.Status.UNSTABLE).any()
    for i in np.flatnonzero(answer.status == robx.Status.UNSTABLE):
        assert answer.n_changes[i] <= 2
        assert "accepted by 1 challenger; the best seen has R = " in answer.reason[i]


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("xgboost", "The 'challengers' parameter of Frugal must be a list of models. Got str inst"),
        (MODEL, "must be a list of models. Got XGBClassifier instead"),
        (None, "must be a list of models. Got NoneType instead"),
        (np.array([1, 2]), "must be a list of at least one retrained model. Got ndarray"),
        ([MODEL, "no model"], "no model"),
        ([LogisticRegression().fit(X[:, :2], Y)], "model 0 of 1 scores none of the first training"),
    ],
)
def test_what_is_no_list_of_models_is_refused_before_work_starts(given: Any, message: str) -> None:
    problem = robx.Problem(MODEL, X, UNITS)
    with pytest.raises(robx.RobxError, match=message):
        robx.Frugal(challengers=given).check(problem, 1)
    with pytest.raises(robx.RobxError, match=message):
        robx.Frugal(challengers=given).explain(problem, PEOPLE[:1])


def test_one_challenger_is_enough() -> None:
    problem = robx.Problem(MODEL, X, UNITS)
    (other,) = robx.retrainings(MODEL, X, Y, 1)
    answer = robx.Frugal(**QUICK, challengers=[other]).explain(problem, PEOPLE)
    assert answer.ok.any()
    assert_accepted(answer, [other])

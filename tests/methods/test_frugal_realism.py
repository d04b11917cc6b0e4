"""How typical an answer must be depends on how typical the applicant is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

import robx
from contracts import assert_same_answers, rows_of, same
from families import family
from frugal_cases import MODEL, PEOPLE, QUICK, UNITS, X
from retrained_cases import retrained
from robx.methods import frugal
from speed import slow_but

Floats = NDArray[np.float64]
TYPICAL = 0


class Kinds(NamedTuple):
    """What is asked of the outlier score of each kind of applicant, and who is of which kind."""

    bounds: Floats
    kind: NDArray[np.intp]

    @property
    def bound(self) -> Floats:
        return np.asarray(self.bounds[self.kind])


def kinds(method: robx.Frugal, problem: robx.Problem, people: Any) -> Kinds:
    """By the definition: compared with the accepted rows' own scores."""
    outliers = method.test(problem).outliers
    assert outliers is not None
    own = outliers(problem.read(people).matrix)
    first, second = (float(np.quantile(outliers.of_support, q)) for q in (method.typical, 0.95))
    unusual = max(first, second)
    further = [unusual * times for times in (1.0, 1.25, 1.6, 2.0, 2.5, 3.2)]
    bounds = np.array([first, *further, np.inf])
    kind = [int(np.flatnonzero(score <= bounds)[0]) for score in own]
    return Kinds(bounds, np.array(kind, dtype=np.intp))


def everywhere(method: robx.Frugal, problem: robx.Problem) -> robx.Frugal:
    """The same bound for everybody, also for those who are far from it."""
    return replace(method, max_outlier_score=method.test(problem).max_outlier_score)


# --- who is held to what --------------------------------------------------------------------------


@pytest.mark.parametrize("realism", ["lof", "forest"])
@pytest.mark.parametrize("typical", [0.2, 0.8, 0.98])
def test_tests_are_by_the_applicants_own_scores(realism: Any, typical: float) -> None:
    problem = robx.Problem(MODEL, X, UNITS)
    method = robx.Frugal(**QUICK, realism=realism, typical=typical)
    people = np.concatenate([PEOPLE, X[MODEL.predict_proba(X)[:, 1] <= 0.5]])
    expected, test = kinds(method, problem, people), method.test(problem)
    assert frugal.outlier_bounds(test).tolist() == expected.bounds.tolist()
    seen = np.full(len(people), -1.0)
    for asked, who in frugal.tests_by_own_score(test, problem.read(people)):
        assert (seen[who] == -1).all()  # everybody has one test
        seen[who] = asked.max_outlier_score
        assert replace(asked, max_outlier_score=test.max_outlier_score).key == test.key
    np.testing.assert_array_equal(seen, expected.bound)
    assert len(set(expected.kind)) >= (3 if typical < 0.95 else 2)


@pytest.mark.parametrize("realism", ["lof", "forest"])
@pytest.mark.parametrize("typical", [0.2, 0.8])
def test_answers_are_as_typical_as_is_asked_of_their_applicants(
    realism: Any, typical: float
) -> None:
    problem = robx.Problem(MODEL, X, UNITS)
    people = np.concatenate([PEOPLE, X[MODEL.predict_proba(X)[:, 1] <= 0.5]])
    method = robx.Frugal(**QUICK, realism=realism, typical=typical)
    answer, expected = method.explain(problem, people), kinds(method, problem, people)
    assert answer.ok.all()
    outlying = answer.measured["outlier_score"]
    assert (outlying <= expected.bound).all()
    unusual = expected.kind > TYPICAL  # who make use of what they are allowed
    assert (outlying[unusual] > expected.bounds[TYPICAL]).any()


@pytest.mark.parametrize("name", slow_but(["forest"], ["forest", "xgboost", "lightgbm", "hist"]))
@pytest.mark.parametrize("searches", [False, True], ids=["noise", "retrained models"])
def test_the_typical_are_asked_as_before_and_the_unusual_pay_less(
    name: str, searches: bool
) -> None:
    case, problem = family(name), family(name).problem()
    method = robx.Frugal(**QUICK, models=retrained(name) if searches else (), typical=0.5)
    answer = method.explain(problem, case.applicants)
    strict = everywhere(method, problem).explain(problem, case.applicants)
    kind, both = kinds(method, problem, case.applicants).kind, answer.ok & strict.ok
    typical = np.flatnonzero((kind == TYPICAL) & both)
    assert len(typical) > 3
    assert same(rows_of(answer.points, typical), rows_of(strict.points, typical))
    unusual = (kind != TYPICAL) & both
    assert unusual.sum() > 5
    assert answer.cost[unusual].sum() < strict.cost[unusual].sum()
    assert (answer.ok >= strict.ok).all()


def test_who_is_far_from_all_accepted_rows_moves_no_further_than_it_takes() -> None:
    """One feature tells; the other sets some apart, and nothing asks them to change it."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.random((400, 2)).round(2), columns=["a", "b"])
    model = RandomForestClassifier(20, random_state=0).fit(table, table["a"] > 0.5)
    problem = robx.Problem(model, table)
    apart = pd.DataFrame({"a": [0.2, 0.2], "b": [0.5, 1.6]})
    method = robx.Frugal(**QUICK, level=0.5)
    assert kinds(method, problem, apart).kind[1] > 1
    answer = method.explain(problem, apart)
    assert answer.ok.all()
    assert answer.n_changes.tolist() == [1, 1]
    assert answer.points["b"].tolist() == [0.5, 1.6]
    strict = everywhere(method, problem).explain(problem, apart)
    assert strict.ok.all()
    assert strict.n_changes.tolist() == [1, 2]
    assert strict.cost[0] == answer.cost[0] == answer.cost[1] < strict.cost[1] / 2


# --- laws -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", slow_but(["forest"], ["forest", "xgboost", "catboost"]))
@pytest.mark.parametrize("realism", ["lof", "forest"])
def test_one_by_one_the_answers_are_those_of_a_batch(name: str, realism: Any) -> None:
    case, problem = family(name), family(name).problem()
    method = robx.Frugal(**QUICK, models=retrained(name), realism=realism, typical=0.5)
    some = rows_of(case.applicants, slice(20))
    declined = ~problem.gate.accepts(problem.read(some).matrix)
    assert len(set(kinds(method, problem, some).kind[declined])) > 1
    whole = method.explain(problem, some)
    for i in range(20):
        assert_same_answers(whole, method.explain(problem, rows_of(some, [i])), [i])
    fresh = method.explain(case.problem(), rows_of(some, slice(None, None, -1)))
    assert_same_answers(whole, fresh, range(19, -1, -1))


def test_with_a_limit_on_changes_nobody_is_held_to_less_than_who_they_are() -> None:
    problem = robx.Problem(MODEL, X, UNITS)
    free = robx.Frugal(**QUICK, typical=0.5)
    limited = replace(free, max_changes=2)
    answer, strict = (m.explain(problem, PEOPLE) for m in (limited, everywhere(limited, problem)))
    assert answer.n_changes.max() <= 2
    assert answer.ok.sum() > strict.ok.sum()
    for i in range(len(PEOPLE)):
        assert_same_answers(answer, limited.explain(problem, PEOPLE[i : i + 1]), [i])


def test_without_realism_or_with_a_bound_for_all_nobody_is_told_apart() -> None:
    problem = robx.Problem(MODEL, X, UNITS)
    none = robx.Frugal(**QUICK, realism=None)
    assert frugal.outlier_bounds(none.test(problem)).tolist() == [np.inf]
    bound = 1.1
    capped = robx.Frugal(**QUICK, max_outlier_score=bound).explain(problem, PEOPLE)
    assert capped.ok.any()
    assert (capped.measured["outlier_score"][capped.ok] <= bound).all()

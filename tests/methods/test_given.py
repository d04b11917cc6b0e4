from __future__ import annotations

from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.tree import DecisionTreeClassifier

import robx
from contracts import assert_lawful, rows_of
from families import EVERY, family
from robx import Feature, Given, Problem, Schema, Status
from strategies import random_schema

GRID = np.array([[a, b] for a in range(10) for b in range(10)], dtype=float)


def steps(*features: Feature, relations: Any = ()) -> Problem:
    """Accepted is who has an a of at least 5."""
    model = DecisionTreeClassifier().fit(GRID, GRID[:, 0] >= 5)
    return Problem(model, GRID, Schema(features, relations))


def given(problem: Problem, point: list[float], person: list[float]) -> robx.Counterfactuals:
    return Given(points=[point]).explain(problem, [person])


@pytest.mark.parametrize("name", EVERY)
def test_whatever_is_given_becomes_lawful(name: str) -> None:
    case = family(name)
    guess = case.problem().schema
    some, others = (rows_of(case.applicants, part) for part in (slice(0, 25), slice(25, 50)))
    n_ok = 0
    for seed in range(3):
        schema = random_schema(guess, case.X, np.random.default_rng(seed))
        problem = case.problem(schema=schema)
        answer = Given(points=others).explain(problem, some)
        assert_lawful(answer, case, problem)
        n_ok += int(answer.ok.sum())
    assert n_ok


def test_what_is_given_may_lie_beyond_what_was_seen_on_any_grid() -> None:
    integer = steps(Feature("a", "integer", change="increase"), Feature("b", resolution=0.5))
    assert given(integer, [20, 30.1], [1, 1]).points.tolist() == [[20, 30]]
    stated = steps(Feature("a", "integer", high=12), Feature("b"))
    assert given(stated, [20, 30.1], [1, 1]).points.tolist() == [[12, 30.1]]


def test_a_range_brings_what_is_given_into_it_and_leaves_who_is_outside() -> None:
    problem = steps(Feature("a", "integer", low=6, high=8), Feature("b", "integer", low=5))
    assert given(problem, [5, 1], [1, 1]).points.tolist() == [[6, 1]]
    assert given(problem, [9, 2], [1, 1]).points.tolist() == [[8, 1]]
    stays = given(problem, [2, 9], [1, 1])  # nearer to what they have than to the range
    assert (stays.status[0], stays.points.tolist()) == (Status.NOT_FOUND, [[1, 1]])
    assert stays.reason[0] == (
        "the counterfactual that was given is not accepted once it keeps the schema"
    )


MARKED: dict[str, tuple[Any, float]] = {
    "0": (xgb.XGBClassifier(n_estimators=10, missing=0.0, n_jobs=1), 0.0),
    "-999": (xgb.XGBClassifier(n_estimators=10, missing=-999.0, n_jobs=1), -999.0),
    "lightgbm": (
        lgb.LGBMClassifier(n_estimators=10, zero_as_missing=True, verbose=-1, n_jobs=1),
        0.0,
    ),
}


@pytest.mark.parametrize("name", MARKED)
def test_a_number_that_means_missing_asks_for_nothing(name: str) -> None:
    model, marker = MARKED[name]
    X = GRID.copy()
    X[::9, 1] = marker
    problem = Problem(model.fit(X, GRID[:, 0] >= 5), X)
    for nothing in (marker, np.nan):
        answer = given(problem, [8, nothing], [1, 3])
        assert answer.status[0] == Status.OK
        assert answer.points.tolist() == [[8, 3]]
    # Who has it keeps it, or leaves it where it is a number.
    kept = given(problem, [8, marker], [1, marker])
    assert kept.points.tolist() == [[8, marker]]
    left = given(problem, [8, 4], [1, marker])
    assert left.points.tolist() == [[8, 4 if marker == 0 else marker]]


def test_a_relation_is_kept_by_the_nearest_point_that_does() -> None:
    problem = steps(
        Feature("a", "integer"), Feature("b", "integer", weight=3.0), relations=["a <= b"]
    )
    assert given(problem, [9, 6], [1, 1]).points.tolist() == [[6, 6]]
    tied = steps(
        Feature("a", "integer", change="increase"),
        Feature("b", "integer", change="none"),
        relations=["a <= b"],
    )
    none = given(tied, [9, 9], [3, 1])
    assert none.reason[0] == "no allowed point is near the one given"
    assert none.status[0] == Status.INFEASIBLE


def test_nothing_given_is_nothing_found() -> None:
    problem = steps(Feature("a"), Feature("b"))
    for nothing in ([np.nan, np.nan], [np.inf, 1.0]):
        answer = given(problem, nothing, [1, 1])
        assert (answer.status[0], answer.reason[0]) == (
            Status.NOT_FOUND,
            "no counterfactual was given",
        )
    declined = given(problem, [2, 2], [1, 1])
    assert declined.reason[0] == "the counterfactual that was given is not accepted"
    assert declined.points.tolist() == [[1, 1]]

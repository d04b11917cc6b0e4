from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

import robx
from robx.methods.pullback import Pullback

Floats = NDArray[np.float64]

FEATURES = (
    robx.Feature("free", scale=1.0),
    robx.Feature("step", resolution=0.25, scale=1.0),
    robx.Feature("count", "integer", scale=10.0),
    robx.Feature("kind", "categorical", levels=(0, 1, 2), scale=1.0),
    robx.Feature("home_a", "onehot", group="home", scale=1.0),
    robx.Feature("home_b", "onehot", group="home", scale=1.0),
    robx.Feature("home_c", "onehot", group="home", scale=1.0),
)
ROWS = np.array([[0, 0, 0, 0, 1, 0, 0], [1, 1, 10, 1, 0, 1, 0], [1, 1, 10, 2, 0, 0, 1]], float)
FAR = [1.0, 1.0, 10.0, 2.0, 0.0, 0.0, 1.0]


def problem_of(*relations: str, **changes: Any) -> robx.Problem:
    schema = robx.Schema(FEATURES, relations).override(changes)
    return robx.Problem(DecisionTreeClassifier().fit(ROWS, [0, 1, 1]), ROWS, schema)


@dataclass
class Rule:
    """A test by any rule, which counts and keeps what it was asked."""

    problem: robx.Problem
    rule: Any
    asked: list[Floats] = field(default_factory=list)
    key: Any = None

    def __call__(self, points: Floats) -> NDArray[np.bool_]:
        self.asked += list(points.copy())
        return np.array([bool(self.rule(point)) for point in points], dtype=bool)


def pull(
    rule: Any,
    points: Any = (FAR,),
    *,
    problem: robx.Problem | None = None,
    own: Any = ROWS[:1],
    norm: Any = 1,
    budget: int = 1000,
    halvings: int = 4,
) -> tuple[Floats, Rule]:
    problem = problem or problem_of()
    test = Rule(problem, rule)
    start = np.array(points, dtype=float)
    whose = np.zeros(len(start), dtype=np.intp)
    people = problem.read(np.array(own, dtype=float))
    pulling = Pullback(people, whose, start, test, norm, np.full(len(people), budget))
    pulling.undo()
    pulling.halve(halvings)
    return pulling.points, test


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (lambda p: True, ROWS[0].tolist()),  # all is undone
        (lambda p: False, FAR),  # nothing is
        (lambda p: p[0] >= 0.3, [0.3125, 0, 0, 0, 1, 0, 0]),  # 1/2, not 1/4, 3/8, 5/16
        (lambda p: p[1] >= 0.3, [0, 0.5, 0, 0, 1, 0, 0]),  # a quarter does not do
        (lambda p: p[2] >= 3, [0, 0, 3, 0, 1, 0, 0]),
        (lambda p: p[3] == 2, [0, 0, 0, 2, 1, 0, 0]),  # no way between categories
        (lambda p: p[6] == 1, [0, 0, 0, 0, 0, 0, 1]),  # nor between members
        (lambda p: p[3] == 2 and p[0] >= 0.9, [0.9375, 0, 0, 2, 1, 0, 0]),
    ],
)
def test_each_feature_goes_back_as_far_as_it_may(rule: Any, expected: Any, norm: Any) -> None:
    points, _ = pull(rule, norm=norm)
    assert points.tolist() == [expected]


def test_the_smallest_change_is_undone_first() -> None:
    # Either of the two must stay; the cheaper one goes.
    for near, far in ((0, 1), (1, 0)):
        point = [0.25, 0.25, 0, 0, 1, 0, 0]
        point[far] = 1.0
        points, _ = pull(lambda p: p[0] > 0.2 or p[1] > 0.2, [point], halvings=0)
        assert points[0, near] == 0
        assert points[0, far] == 1


def test_the_largest_change_is_halved_first() -> None:
    # The sum must stay: what comes first takes all that there is to take.
    points, _ = pull(
        lambda p: p[0] > 0 and p[1] > 0 and p[0] + p[1] >= 1.0, [[1, 0.5, 0, 0, 1, 0, 0]]
    )
    assert points.tolist() == [[0.5, 0.5, 0, 0, 1, 0, 0]]


def test_only_points_that_keep_relations_and_ways_are_tested() -> None:
    tied = problem_of("step <= free", count={"change": "increase"})
    points, test = pull(lambda p: p[1] >= 0.5, problem=tied)
    # What comes first waits for what it is tied to, and is not asked again.
    assert points.tolist() == [[1.0, 0.5, 0, 0, 1, 0, 0]]
    assert all(point[1] <= point[0] for point in test.asked)
    own = np.repeat(ROWS[:1], len(test.asked), axis=0)
    assert not any(tied.rules.broken(np.array(test.asked), own))


def test_what_is_missing_is_left_or_undone_but_never_halved() -> None:
    filling = problem_of(free={"may_fill": True})
    own = [[np.nan, 0, 0, 0, 1, 0, 0]]
    points, _ = pull(lambda p: not np.isnan(p[0]), problem=filling, own=own)
    assert points.tolist() == [[1, 0, 0, 0, 1, 0, 0]]
    points, _ = pull(lambda p: True, problem=filling, own=own)
    assert np.isnan(points[0, 0])


def test_applicants_do_not_depend_on_each_other() -> None:
    problem = problem_of()
    own = np.array([ROWS[0], [0.5, 0.5, 5, 1, 0, 1, 0]])
    starts = np.array([FAR, FAR, ROWS[1]])

    def rule(p: Floats) -> Any:
        return p[0] + p[1] + p[2] / 10 >= 2.1

    people = problem.read(own)
    together = Pullback(people, np.array([0, 1, 0]), starts, Rule(problem, rule), 1, np.full(2, 99))
    together.undo()
    together.keep(np.array([2, 1]))
    together.halve(4)
    assert together.whose.tolist() == [0, 1]
    for k, (i, start) in enumerate([(0, starts[2]), (1, starts[1])]):
        alone, _ = pull(rule, [start], own=own[[i]])
        np.testing.assert_array_equal(together.points[k], alone[0])


@pytest.mark.parametrize("budget", [0, 1, 2, 5, 11])
def test_no_more_points_are_tested_than_there_are_tests_left(budget: int) -> None:
    starts = [FAR, ROWS[1].tolist(), [1, 1, 9, 2, 0, 1, 0], [0.75, 1, 8, 1, 0, 1, 0]]
    points, test = pull(lambda p: p[0] >= 0.3 and p[2] >= 2, starts, budget=budget)
    assert len(test.asked) <= budget
    if budget == 0:
        np.testing.assert_array_equal(points, starts)


def test_no_point_is_tested_in_vain() -> None:
    _, test = pull(lambda p: p[0] >= 0.3)
    # Five features to undo; then one of them four times by half.
    assert len(test.asked) <= 5 + 4
    _, test = pull(lambda p: True, ROWS[:1])
    assert test.asked == []

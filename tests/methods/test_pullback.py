from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

import robx
from contracts import rows_of
from families import family
from robx.methods.point_tests import StabilityTest
from robx.methods.pullback import Pullback
from strategies import random_schema

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
    """A test by any rule, which counts and keeps what it was asked; `quiet` leaves out noise."""

    problem: robx.Problem
    rule: Any
    quiet: Any = None
    asked: list[Floats] = field(default_factory=list)
    key: Any = None

    @property
    def without_noise(self) -> Rule | None:
        if self.quiet is None:
            return None
        return Rule(self.problem, self.quiet, asked=self.asked)

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
    owner = np.zeros(len(start), dtype=np.intp)
    people = problem.read(np.array(own, dtype=float))
    pullback = Pullback(people, owner, start, test, norm, np.full(len(start), budget))
    pullback.undo()
    pullback.halve(halvings)
    return pullback.points, test


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
    together = Pullback(people, np.array([0, 1, 0]), starts, Rule(problem, rule), 1, np.full(3, 99))
    together.undo()
    together.keep(np.array([2, 1]))
    together.halve(4)
    assert together.owner.tolist() == [0, 1]
    for k, (i, start) in enumerate([(0, starts[2]), (1, starts[1])]):
        alone, _ = pull(rule, [start], own=own[[i]])
        np.testing.assert_array_equal(together.points[k], alone[0])


@pytest.mark.parametrize("budget", [0, 1, 2, 5, 11])
def test_no_more_points_are_tested_than_there_are_tests_left(budget: int) -> None:
    starts = [FAR, ROWS[1].tolist(), [1, 1, 9, 2, 0, 1, 0], [0.75, 1, 8, 1, 0, 1, 0]]

    def rule(p: Floats) -> Any:
        return p[0] >= 0.3 and p[2] >= 2

    points, test = pull(rule, starts, budget=budget)
    assert len(test.asked) <= budget * len(starts)
    if budget == 0:
        np.testing.assert_array_equal(points, starts)
    for point, start in zip(points, starts, strict=True):  # what one leaves no other takes
        alone, one = pull(rule, [start], budget=budget)
        assert len(one.asked) <= budget
        np.testing.assert_array_equal(point, alone[0])


def test_no_point_is_tested_in_vain() -> None:
    _, test = pull(lambda p: p[0] >= 0.3)
    # Five features to undo; then one of them four times by half.
    assert len(test.asked) <= 5 + 4
    _, test = pull(lambda p: True, ROWS[:1])
    assert test.asked == []


# --- what is left out at first --------------------------------------------------------------------


def is_nearly_enough(p: Floats) -> Any:
    """All of the rule below but for one feature."""
    return p[0] >= 0.3


def is_enough(p: Floats) -> Any:
    return p[0] >= 0.3 and p[2] >= 2


def quiet_pullback(rule: Any, starts: Any, budget: int = 1000) -> tuple[Pullback, Rule]:
    problem = problem_of()
    test = Rule(problem, rule, is_nearly_enough)
    points = np.array(starts, dtype=float)
    owner = np.zeros(len(points), dtype=np.intp)
    left = np.full(len(points), budget)
    return Pullback(problem.read(ROWS[:1]), owner, points, test, 1, left), test


def test_changes_are_undone_without_asking_about_noise() -> None:
    pullback, test = quiet_pullback(lambda p: pytest.fail("noise was asked about"), [FAR])
    pullback.undo()
    assert pullback.points.tolist() == [[1, 0, 0, 0, 1, 0, 0]]
    assert len(test.asked) == 5


def test_points_that_are_not_stable_are_undone_again_with_every_step_tested() -> None:
    pullback, _ = quiet_pullback(is_enough, [FAR, ROWS[1]])
    pullback.undo()
    assert not pullback.confirm(np.array([1]))
    expected, _ = pull(is_enough, [ROWS[1]], halvings=0)
    assert pullback.points.tolist() == [[1, 0, 0, 0, 1, 0, 0], *expected.tolist()]
    assert is_enough(pullback.points[1])
    # The other was left alone, and is still to be confirmed.
    assert pullback.confirm(np.array([1]))
    assert not pullback.confirm(np.array([0, 1]))
    assert pullback.confirm(np.array([0, 1]))
    assert all(is_enough(point) for point in pullback.points)


def test_points_that_are_stable_stay_where_they_are() -> None:
    pullback, test = quiet_pullback(is_nearly_enough, [FAR])
    pullback.undo()
    before, n_asked = pullback.points.copy(), len(test.asked)
    assert not pullback.confirm(np.array([0]))
    np.testing.assert_array_equal(pullback.points, before)
    assert len(test.asked) == n_asked + 1  # one look at where it is
    assert pullback.confirm(np.array([0]))
    assert len(test.asked) == n_asked + 1


@pytest.mark.parametrize("budget", [0, 3, 7])
def test_undoing_again_takes_what_tests_are_left_and_ends_where_points_pass(budget: int) -> None:
    pullback, test = quiet_pullback(is_enough, [FAR], budget)
    pullback.undo()
    n_first = len(test.asked)
    pullback.confirm(np.array([0]))
    assert n_first <= budget
    assert len(test.asked) <= budget + 1
    assert is_enough(pullback.points[0])


def test_a_test_without_a_part_about_noise_needs_no_confirming() -> None:
    problem = problem_of()
    test = Rule(problem, is_enough)
    start = np.array([FAR])
    people, owner = problem.read(ROWS[:1]), np.zeros(1, dtype=np.intp)
    pullback = Pullback(people, owner, start, test, 1, np.array([99]))
    pullback.undo()
    n_asked = len(test.asked)
    assert pullback.confirm(np.array([0]))
    assert len(test.asked) == n_asked
    assert is_enough(pullback.points[0])


# --- trades ---------------------------------------------------------------------------------------


def trade(rule: Any, point: Any, price: float, budget: int = 1000) -> tuple[list[float], Rule]:
    problem = problem_of()
    test = Rule(problem, rule)
    people = problem.read(ROWS[:1])
    start = np.array([point], dtype=float)
    pullback = Pullback(people, np.zeros(1, dtype=np.intp), start, test, 1, np.array([budget]))
    pullback.trade(price)
    return pullback.points[0].tolist(), test


@pytest.mark.parametrize(
    ("price", "expected"),
    [
        (0.0, [0.9, 0, 1, 0, 1, 0, 0]),  # as dear without it: it stays
        (0.05, [1.0, 0, 0, 0, 1, 0, 0]),  # 0.9 + 0.15 * 0.9 is more than there is
    ],
)
def test_a_small_change_is_undone_if_another_makes_up_for_it(price: float, expected: Any) -> None:
    point, _ = trade(lambda p: p[0] + p[2] / 10 >= 1, [0.9, 0, 1, 0, 1, 0, 0], price)
    assert point == expected


def test_of_all_that_make_up_for_a_change_the_cheapest_is_taken() -> None:
    # Without the count, a little more of one is enough, or a whole step of the other.
    point, _ = trade(
        lambda p: min(p[:2]) >= 0.5 and (p[0] >= 0.525 or p[1] >= 0.75 or p[2] >= 3),
        [0.5, 0.5, 3, 0, 1, 0, 0],
        0.0,
    )
    assert point == pytest.approx([0.5 + 0.3 * 0.1125, 0.5, 0, 0, 1, 0, 0])


def test_what_cannot_be_made_up_for_stays() -> None:
    start = [0.5, 0.5, 3, 2, 0, 0, 1]
    for rule in (lambda p: False, lambda p: p[3] == 2 and p[6] == 1 and p[2] == 3 and p[0] == 0.5):
        point, _ = trade(rule, start, 0.02)
        assert point == start
    alone = [0.5, 0, 0, 0, 1, 0, 0]
    point, test = trade(lambda p: True, alone, 1.0)
    assert point == alone  # one change has nobody to make up for it
    assert test.asked == []


@pytest.mark.parametrize("budget", [0, 1, 4])
def test_trades_take_no_more_tests_than_are_left(budget: int) -> None:
    _, test = trade(lambda p: False, [0.5, 0.5, 5, 2, 1, 0, 0], 0.3, budget)
    assert len(test.asked) == budget


def test_trades_pass_keep_the_schema_and_lower_the_cost_with_its_price() -> None:
    n_traded = 0
    for seed, name in enumerate(["xgboost", "forest", "lightgbm"]):
        case = family(name)
        rng = np.random.default_rng(seed)
        problem = case.problem(schema=random_schema(case.problem().schema, case.X, rng))
        test = StabilityTest(problem, 0.45, robx.Noise(n_draws=32))
        people = problem.read(rows_of(case.applicants, slice(20)))
        rows = problem.support.rows[rng.integers(0, len(problem.support), 200)]
        owner = np.repeat(np.arange(20), 10)
        points, legal = problem.gate.admit(rows, people, owner)
        passed = np.flatnonzero(legal & test(points))
        pullback = Pullback(
            people, owner[passed], points[passed], test, 1, np.full(len(passed), 10_000)
        )
        pullback.undo()
        before, started = pullback.worth(0.1), pullback.points.copy()
        pullback.trade(0.1)
        assert (pullback.worth(0.1) <= before).all()
        assert test(pullback.points).all()
        own = people.matrix[pullback.owner]
        assert not any(problem.rules.broken(pullback.points, own))
        fewer = problem.rules.n_changes(started, own) - problem.rules.n_changes(
            pullback.points, own
        )
        assert (fewer >= 0).all()
        n_traded += int(fewer.sum())
    assert n_traded > 10

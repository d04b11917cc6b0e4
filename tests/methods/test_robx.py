from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import naive
import robx
from contracts import MethodContract
from families import family
from oracles import toy_data
from robx.methods.walks import Walks
from robx.robustness.draws import draw
from speed import tries


class TestRobX(MethodContract):
    method = robx.RobX(noise=robx.Noise(n_draws=64))


@pytest.mark.slow
class TestRobXInL2(MethodContract):
    method = robx.RobX(norm=2, base=None, noise=robx.Noise(n_draws=64))
    n_schemas = 5


# --- Algorithm 1 ----------------------------------------------------------------------------------

X, Y = toy_data(300, 4, seed=3)
LOW, HIGH = X.min(axis=0), X.max(axis=0)
X = (X - LOW) / (HIGH - LOW)
UNITS = robx.Schema(tuple(robx.Feature(str(j), scale=1.0) for j in range(4)))
MODELS = {
    "xgboost": XGBClassifier(n_estimators=30, max_depth=4, n_jobs=1).fit(X, Y),
    "forest": RandomForestClassifier(15, max_depth=6, random_state=0).fit(X, Y),
}


def rejected(problem: robx.Problem, n: int) -> NDArray[np.float64]:
    rows = np.random.default_rng(5).random((200, 4))
    return rows[problem.model.score(rows) <= 0.5][:n]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize(("alpha", "c"), [(0.1, 5), (0.5, 1), (1.0, 3)])
def test_the_paper_setting_is_algorithm_1_draw_for_draw(
    name: str, norm: Any, alpha: float, c: int
) -> None:
    model, tau = MODELS[name], 0.7
    problem = robx.Problem(model, X, UNITS)
    literal = replace(robx.RobX.paper(tau=tau).noise, n_draws=200, rng=3)
    assert literal == robx.Noise(sigma=0.1, n_draws=200, draws="gaussian", rng=3, staged=False)
    method = robx.RobX.paper(tau=tau, norm=norm, step=alpha, n_targets=c, noise=literal)
    people = rejected(problem, tries(25, 6))
    answer = method.explain(problem, people)
    noise = draw("gaussian", 200, 4, 3).noise

    def score(rows: Any) -> Any:
        return model.predict_proba(rows)[:, 1]

    stable = naive.stable_rows(score, X, noise, tau, 0.1)
    assert answer.base is not None
    for i, x in enumerate(people):
        expected = naive.robx(
            score,
            X,
            x,
            answer.base.points[i],
            noise,
            tau=tau,
            alpha=alpha,
            c=c,
            p=norm,
            stable=stable,
        )
        np.testing.assert_array_equal(answer.points[i], expected)
    assert answer.ok.all()
    assert (answer.base.points != answer.points).any()


def test_the_default_differs_from_it_only_in_its_draws() -> None:
    problem = robx.Problem(MODELS["xgboost"], X, UNITS)
    people = rejected(problem, 40)
    literal = robx.RobX.paper(tau=0.7).explain(problem, people)
    quick = robx.RobX(tau=0.7).explain(problem, people)
    assert quick.cost.mean() == pytest.approx(literal.cost.mean(), rel=0.03)
    in_full = robx.RobX(tau=0.7, noise=robx.Noise(staged=False)).explain(problem, people)
    same = (in_full.points == quick.points).all(axis=1)
    assert same.mean() >= 0.95


def test_it_tests_no_more_places_than_it_must() -> None:
    problem = robx.Problem(MODELS["xgboost"], X, UNITS)
    people = rejected(problem, 20)
    ours = Counter(problem)
    robx.RobX.paper(tau=0.7).explain(problem, people)
    theirs = 0

    def score(rows: Any) -> Any:
        nonlocal theirs
        theirs += len(rows) == 1000
        return MODELS["xgboost"].predict_proba(rows)[:, 1]

    noise = draw("gaussian", 1000, 4, 0).noise
    stable = naive.stable_rows(score, X, noise, 0.7, 0.1)
    base = robx.NearestNeighbour().explain(problem, people).points
    for i, x in enumerate(people):
        naive.robx(score, X, x, base[i], noise, tau=0.7, alpha=0.1, c=5, p=1, stable=stable)
    assert ours.tests < 0.8 * theirs


class Counter:
    """Counts points that a problem tests."""

    def __init__(self, problem: robx.Problem) -> None:
        self.tests = 0
        whole = problem.gate.passes

        def passes(matrix: Any, tau: float, noise: Any) -> Any:
            self.tests += len(matrix)
            return whole(matrix, tau, noise)

        object.__setattr__(problem.gate, "passes", passes)


@pytest.mark.parametrize("model", [*MODELS.values(), DecisionTreeClassifier(max_depth=5).fit(X, Y)])
def test_what_is_ok_has_passed_with_all_draws(model: Any) -> None:
    problem = robx.Problem(model, X, UNITS)
    people = rejected(problem, 60)
    for method in (robx.RobX(tau=0.6), robx.Conservative(tau=0.6), robx.RobX(tau=0.6, base=None)):
        answer = method.explain(problem, people)
        assert answer.ok.any()
        assert (answer.stability[answer.ok] >= 0.6).all()


def test_what_is_stable_must_be_accepted_as_well() -> None:
    # With a tau this low many a place passes that the model declines.
    problem = robx.Problem(MODELS["xgboost"], X, UNITS)
    people = rejected(problem, 60)
    assert robx.is_stable(problem.model, people, 0.1).any()
    for base in (None, people):
        answer = robx.RobX(tau=0.1, base=base).explain(problem, people)
        assert answer.ok.all()
        assert (answer.score > 0.5).all()


@pytest.mark.parametrize(("step", "n_places"), [(0.1, 66), (0.5, 10), (0.8, 5), (1.0, 1)])
def test_a_walk_arrives_when_less_than_a_thousandth_of_the_way_is_left(
    step: float, n_places: int
) -> None:
    assert (1 - step) ** n_places < 1e-3 <= (1 - step) ** (n_places - 1)
    problem = robx.Problem(MODELS["xgboost"], X, UNITS)
    people = problem.read(rejected(problem, 3))
    goals = [[row] for row in problem.support.rows[:3]]
    places = Walks.towards(problem, people, people.matrix, goals, step, 1).places
    assert places.shape == (3, 1, n_places, 4)
    np.testing.assert_array_equal(places[:, 0, -1], problem.support.rows[:3])


def test_categories_jump_where_half_of_the_way_is_done() -> None:
    case = family("lightgbm")
    problem = case.problem()
    people = problem.read(case.applicants.iloc[:8].dropna())
    place = problem.names.index("place")
    start = people.matrix
    goals = [[row] for row in problem.support.rows[~np.isnan(problem.support.rows).any(axis=1)]]
    walks = Walks.towards(problem, people, start, goals[: len(people)], 0.2, 1)
    for i, (goal,) in enumerate(goals[: len(people)]):
        seen = walks.places[i, 0, :, place]
        assert (seen[:3] == start[i, place]).all()  # 0.8, 0.64 and 0.51 of the way are left
        assert (seen[3:] == goal[place]).all()
    assert any(goal[place] != x[place] for (goal,), x in zip(goals, start, strict=False))


def test_a_base_that_is_stable_is_the_answer() -> None:
    problem = robx.Problem(MODELS["forest"], X, UNITS)
    people = rejected(problem, 10)
    answer = robx.RobX(tau=0.0).explain(problem, people)
    assert answer.base is not None
    np.testing.assert_array_equal(answer.points, answer.base.points)


def test_no_stable_row_gives_the_most_stable_point_that_was_seen() -> None:
    problem = robx.Problem(MODELS["xgboost"], X, UNITS)
    people = rejected(problem, 10)
    answer = robx.RobX(tau=1.1).explain(problem, people)
    assert answer.status.tolist() == [robx.Status.UNSTABLE] * 10
    assert answer.base is not None
    accepted = X[problem.model.score(X) > 0.5]
    for i, start in enumerate(answer.base.points):
        near = accepted[np.argsort(np.abs(accepted - start).sum(axis=1), kind="stable")[:64]]
        seen = robx.stability(problem.model, [*near, start]).value
        assert answer.stability[i] == seen.max()
    assert (answer.score > 0.5).all()
    assert answer.reason[0].startswith("no point passed tau = 1.1; the best seen has R = 0.")


def test_it_takes_counterfactuals_made_elsewhere() -> None:
    problem = robx.Problem(MODELS["xgboost"], X, UNITS)
    people = rejected(problem, 12)
    mine = robx.NearestNeighbour().explain(problem, people)
    theirs = pd.DataFrame(mine.points, columns=list("0123"))
    over_method = robx.RobX(tau=0.7).explain(problem, people)
    for table in (mine.points, theirs, mine.points.tolist()):
        answer = robx.RobX(tau=0.7, base=table).explain(problem, people)
        np.testing.assert_array_equal(answer.points, over_method.points)
    broken = mine.points.copy()
    broken[3] = np.nan
    broken[4, 1] = np.inf
    answer = robx.RobX(tau=0.7, base=broken).explain(problem, people)
    assert answer.ok.all()
    alone = robx.RobX(tau=0.7, base=None).explain(problem, people[[3, 4]])
    np.testing.assert_array_equal(answer.points[[3, 4]], alone.points)
    assert answer.base is not None
    assert answer.base.reason[3] == "no counterfactual was given"


def test_a_wrong_number_of_given_counterfactuals_is_refused() -> None:
    problem = robx.Problem(MODELS["xgboost"], X, UNITS)
    with pytest.raises(robx.InvalidInput, match="a row for each applicant, 3. Got 2 rows"):
        robx.RobX(base=X[:2]).explain(problem, X[:3])


def test_a_chain_of_methods_is_a_method() -> None:
    problem = robx.Problem(MODELS["xgboost"], X, UNITS)
    people = rejected(problem, 10)
    inner = robx.RobX(tau=0.6)
    answer = robx.RobX(tau=0.8, base=inner).explain(problem, people)
    assert answer.base is not None
    assert answer.base.base is not None
    assert (answer.stability >= 0.8).all()
    assert answer.settings["base"]["tau"] == 0.6

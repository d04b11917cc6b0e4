from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from contracts import MethodContract, rows_of
from families import TREES, family
from robx import (
    Closest,
    Feature,
    InvalidInput,
    LiveRegion,
    NearestNeighbour,
    Problem,
    Schema,
    UnsupportedModel,
)
from speed import slow_but

Floats = NDArray[np.float64]


class TestLiveRegion(MethodContract):
    method = LiveRegion()
    needs_trees = True


@pytest.mark.slow
class TestLiveRegionInL2(MethodContract):
    method = LiveRegion(norm=2)
    needs_trees = True
    n_schemas = 5


# --- the slow twin -------------------------------------------------------------------------------


def leaves_of(problem: Problem, point: Floats) -> list[int]:
    """The leaf of each tree that a point falls into."""
    e: Any = problem.model
    x = problem.view.numbers(point[None])[0]
    found = []
    for root in e.tree_start[:-1]:
        node = int(root)
        while e.node_split[node] >= 0:
            split = e.node_split[node]
            left = x[e.split_feature[split]] <= e.split_threshold[split]
            node = node + 1 if left else int(e.node_right[node])
        found.append(node)
    return found


def test_every_feature_goes_home_as_far_as_the_leaves_stay_the_same() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, (300, 3)).astype(float)
    y = X[:, 0] + X[:, 1] * X[:, 2] / 10 > 18
    model = xgb.XGBClassifier(n_estimators=10, max_depth=3, n_jobs=1).fit(X, y)
    kinds: Any = [("any", 1.0), ("increase", 2.0), ("any", 0.5)]
    features = tuple(
        Feature(f"x{j}", "integer", change, weight=w) for j, (change, w) in enumerate(kinds)
    )
    problem = Problem(model, X, Schema(features))
    people = X[problem.gate.score(X) <= 0.5][:20]
    one_row = LiveRegion(n_rows=1).explain(problem, people)
    start = NearestNeighbour().explain(problem, people)
    closer = 0
    for x, row, point in zip(people, start.points, one_row.points, strict=True):
        home = leaves_of(problem, row)
        expected = row.copy()
        for j in range(3):
            steps = np.arange(x[j], row[j], np.sign(row[j] - x[j]) or 1.0)
            for value in steps:  # from the applicant towards the row
                tried = row.copy()
                tried[j] = value
                if leaves_of(problem, tried) == home:
                    expected[j] = value
                    break
        np.testing.assert_array_equal(point, expected)
        assert leaves_of(problem, point) == home
        closer += int((point != row).any())
    assert closer >= 10
    np.testing.assert_array_equal(one_row.score, start.score)


@pytest.mark.parametrize("name", slow_but(["xgboost", "forest"], TREES))
def test_it_costs_no_more_than_the_nearest_row_and_no_less_than_the_closest_point(
    name: str,
) -> None:
    case = family(name)
    problem, some = case.problem(), rows_of(case.applicants, slice(20))
    live, row = LiveRegion().explain(problem, some), NearestNeighbour().explain(problem, some)
    bound = Closest(effort=0.05).explain(problem, some).measured["bound"]
    np.testing.assert_array_equal(live.ok, row.ok)
    assert (live.cost <= row.cost + 1e-12).all()
    assert (live.cost < row.cost - 1e-6).any()
    assert (live.cost[live.ok] >= bound[live.ok] - 1e-9).all()


def test_more_rows_never_cost_more() -> None:
    case = family("xgboost")
    problem = case.problem()
    few, many = (LiveRegion(n_rows=n).explain(problem, case.applicants) for n in (1, 30))
    assert (many.cost <= few.cost).all()
    assert (many.cost < few.cost).any()


@pytest.mark.parametrize("norm", [1, 2])
def test_gamma_asks_for_a_higher_score(norm: Any) -> None:
    case = family("forest")
    answer = LiveRegion(norm=norm, gamma=0.7).explain(case.problem(), case.applicants)
    asked = case.probability(case.applicants) <= 0.5
    assert answer.ok[asked].any()
    assert (answer.score[answer.ok] > 0.7).all()


def test_a_value_on_a_threshold_is_outside_what_lies_above_it() -> None:
    X = np.array([[0.0], [1.0], [2.0], [4.0]] * 10)
    model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=1).fit(X, X[:, 0] > 1)
    problem = Problem(model, X[X[:, 0] != 2], Schema((Feature("a", resolution=0.5),)))
    ensemble: Any = problem.model
    assert 1.5 in ensemble.split_threshold
    assert LiveRegion().explain(problem, [[1.5]]).points[0, 0] == 2.0


def test_a_group_moves_as_one_and_the_rest_goes_home() -> None:
    X = np.array([[0, 1, 0], [9, 1, 0], [0, 0, 1], [9, 0, 1]] * 5, dtype=float)
    model = DecisionTreeClassifier().fit(X, (X[:, 0] > 4) & (X[:, 2] == 1))
    home: Any = {"kind": "onehot", "group": "home"}
    features = (Feature("income", "integer"), Feature("home_a", **home), Feature("home_b", **home))
    answer = LiveRegion().explain(Problem(model, X, Schema(features)), [[0, 1, 0], [0, 0, 1]])
    assert answer.points.tolist() == [[5, 0, 1], [5, 0, 1]]


def test_a_relation_is_kept_by_falling_back_to_the_row() -> None:
    X = np.array([[0.0, 5.0], [1.0, 5.0], [8.0, 9.0], [9.0, 9.0]] * 10)
    model = xgb.XGBClassifier(n_estimators=3, max_depth=1, n_jobs=1, min_child_weight=0)
    schema = Schema((Feature("a", "integer"), Feature("b", "integer")))
    model.fit(X, X[:, 0] > 4)
    free = LiveRegion().explain(Problem(model, X, schema), [[1.0, 2.0]])
    assert free.points[0, 1] == 2
    kept = Problem(model, X, schema.override(relations=["a <= b"]))
    answer = LiveRegion().explain(kept, [[1.0, 2.0]])
    assert answer.ok[0]
    assert answer.points[0].tolist() == [8.0, 9.0]


# --- errors ---------------------------------------------------------------------------------------


def test_a_black_box_is_refused() -> None:
    X = np.random.default_rng(0).random((50, 2))
    model = LogisticRegression().fit(X, X[:, 0] > 0.5)
    with pytest.raises(UnsupportedModel, match=r"LiveRegion needs the trees.*NearestNeighbour"):
        LiveRegion().explain(Problem(model, X), X[:1])


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_rows": 0}, "The 'n_rows' parameter of LiveRegion must be an integer from 1"),
        ({"gamma": 1.0}, "The 'gamma' parameter of LiveRegion must be"),
        ({"max_tries": 0}, "The 'max_tries' parameter of LiveRegion must be an integer from 1"),
        ({"norm": 3}, "The 'norm' parameter of LiveRegion must be 1 or 2"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: Any, sentence: str) -> None:
    case = family("forest")
    with pytest.raises(InvalidInput, match=sentence):
        LiveRegion(**parameters).explain(case.problem(), case.applicants)

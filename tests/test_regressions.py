"""What reviewers broke once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from xgboost import XGBClassifier

import robx

RNG = np.random.default_rng(0)


def with_holes() -> tuple[Any, Any, Any]:
    """A model that likes missing values, in a column whose stated range leaves people outside."""
    X = np.c_[RNG.random(150) * 10, RNG.random(150)]
    X[RNG.random(150) < 0.4, 0] = np.nan
    worth = np.nan_to_num(X[:, 0], nan=9) / 10 + X[:, 1] + RNG.normal(0, 0.1, 150)
    model = XGBClassifier(n_estimators=10, max_depth=3, n_jobs=1).fit(X, worth > 1)
    return model, X, np.c_[RNG.uniform(5, 10, 30), RNG.random(30)]


def test_rows_with_holes_do_not_lead_out_of_a_stated_range() -> None:
    model, X, people = with_holes()
    schema = robx.Schema([robx.Feature("0", low=0, high=5), robx.Feature("1")])
    problem = robx.Problem(model, X, schema)
    declined = problem.model.score(people) <= 0.5
    assert declined.sum() > 5
    for method in (robx.NearestNeighbour(), robx.Conservative(tau=0.6), robx.RobX(tau=0.6)):
        answer = method.explain(problem, people)
        inside = answer.points[answer.ok, 0] <= 5
        assert (inside | (answer.points[answer.ok, 0] == people[answer.ok, 0])).all()
        assert "written back" not in " ".join(answer.reason)
        assert robx.Status.INFEASIBLE not in answer.status[declined].tolist()
        if not isinstance(method, robx.NearestNeighbour):
            assert (answer.stability[answer.ok] >= 0.59).all()


def test_stability_is_what_the_public_function_measures_with_the_schema_s_units() -> None:
    X = pd.DataFrame({"v": RNG.random(300), "h_a": RNG.integers(0, 2, 300)})
    X["h_b"] = 1 - X["h_a"]
    model = XGBClassifier(n_estimators=10, max_depth=2).fit(X, (X["v"] + X["h_a"]) > 1)
    problem = robx.Problem(model, X)
    answer = robx.RobX(tau=0.8).explain(problem, X[:60])
    again = robx.stability(model, answer.frame, scale=problem.schema.noise_units)
    np.testing.assert_array_equal(again.value, answer.stability)
    with pytest.raises(robx.InvalidInput, match="Feature 'a' has no scale"):
        robx.Schema([robx.Feature("a")]).noise_units  # noqa: B018


class Choosy:
    """Refuses ages that nobody has."""

    classes_ = (0, 1)

    def predict_proba(self, X: Any) -> Any:
        rows = np.asarray(X, dtype=float)
        if (rows[:, 0] > 100).any() or (rows[:, 0] < 0).any():
            raise KeyError("age out of range")
        score = np.clip(rows[:, 0] / 200 + rows[:, 1] / 2, 0, 1)
        return np.c_[1 - score, score]


def test_a_model_that_refuses_noise_says_so_and_takes_none() -> None:
    X = pd.DataFrame({"age": RNG.integers(18, 90, 200), "v": RNG.random(200)})
    message = "The model refused noisy copies of the rows: KeyError: 'age out of range' Give"
    with pytest.raises(robx.InvalidInput, match=message):
        robx.explain(Choosy(), X, X[:10])
    schema = robx.Schema.infer(X).override(age={"noise": 0})
    assert robx.explain(Choosy(), X, X[:10], schema=schema, noise=robx.Noise(n_draws=64)).ok.any()


def test_a_category_that_nobody_had_in_training_is_left_out_of_the_guess() -> None:
    kinds = pd.Categorical(RNG.choice(["a", "b"], 200), categories=["a", "b", "unused"])
    X = pd.DataFrame({"j": kinds, "v": RNG.random(200)})
    model = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype")
    model.fit(X, (X["v"] > 0.5).astype(int))
    problem = robx.Problem(model, X)
    assert problem.schema["j"].levels == ("a", "b")
    assert robx.NearestNeighbour().explain(problem, X[:20]).ok.any()


def test_what_is_given_may_lie_beyond_what_was_seen() -> None:
    X = RNG.random((200, 2))
    model = XGBClassifier(n_estimators=10, max_depth=2).fit(X, X[:, 0] > 0.5)
    problem = robx.Problem(model, X)
    answer = robx.Given(points=[[2.0, 3.0]]).explain(problem, [[0.1, 0.5]])
    assert answer.points.tolist() == [[2.0, 3.0]]
    over = robx.RobX(base=answer, tau=0.5).explain(problem, [[0.1, 0.5]])
    assert over.points.tolist() == [[2.0, 3.0]]


@pytest.mark.parametrize("base", ["NearestNeighbour", robx.NearestNeighbour, np.mean])
def test_a_base_that_is_none_is_refused(base: Any) -> None:
    with pytest.raises(robx.InvalidInput, match="'base' parameter of RobX must be a method"):
        robx.RobX(base=base)


@pytest.mark.parametrize("marker", [20.0, 0.0])
def test_a_number_that_means_missing_is_no_answer_and_no_hindrance(marker: float) -> None:
    X = RNG.integers(0, 30, (400, 3)).astype(float)
    X[:, 2] = RNG.integers(0, 2, 400)
    y = X[:, 0] + X[:, 1] > 32
    model = XGBClassifier(n_estimators=20, max_depth=3, missing=marker, n_jobs=1).fit(X, y)
    problem = robx.Problem(model, X)
    people = X[(model.predict_proba(X)[:, 1] <= 0.5) & (X[:, :2] != marker).all(axis=1)][:60]
    for method in (
        *(robx.NearestNeighbour(), robx.FeatureTweaking(), robx.Focus(), robx.Face()),
        *(
            robx.RobX(tau=0.6, noise=robx.Noise(sigma=0.05)),
            robx.RobX(tau=0.6, base=None, noise=robx.Noise(sigma=0.05)),
        ),
    ):
        answer = method.explain(problem, people)
        assert answer.ok.mean() > 0.9, (method, answer)
        assert (model.predict_proba(answer.points)[answer.ok, 1] > 0.5).all()

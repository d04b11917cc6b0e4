from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import robx
from oracles import toy_data

X, Y = toy_data(900, 4)


def fitted(rows: slice, seed: int = 0) -> Any:
    return RandomForestClassifier(30, max_depth=6, random_state=seed, n_jobs=1).fit(
        X[rows], Y[rows]
    )


@pytest.fixture(scope="module")
def problem() -> robx.Problem:
    return robx.Problem(fitted(slice(300)), X[:300])


@pytest.fixture(scope="module")
def later() -> list[Any]:
    return [fitted(slice(300, 600), seed) for seed in range(6)]


def test_it_is_the_formula_of_theorem_2(problem: robx.Problem, later: list[Any]) -> None:
    result = robx.invalidation_bound(problem, later, tau=0.55)
    support = X[:300][problem.model.score(X[:300]) > 0.5]
    value = robx.stability(
        problem.model, support, scale=[*problem.schema.noise_units.values()]
    ).value
    stable = value >= 0.55
    scores = np.array([model.predict_proba(support[stable])[:, 1] for model in later])
    V = scores.std(axis=0, ddof=1).max()
    assert pytest.approx(V) == result.V
    assert result.n_rows == stable.sum()
    assert result.bound == pytest.approx(V**2 / (V**2 + 0.05**2))
    assert result.observed == pytest.approx((scores <= 0.5).mean())
    assert float(result) == result.bound


def test_it_tells_how_far_the_models_bear_out_assumption_1(problem: robx.Problem) -> None:
    timid = [
        RandomForestClassifier(30, max_depth=2, random_state=seed, n_jobs=1).fit(X[:300], Y[:300])
        for seed in range(3)
    ]
    result = robx.invalidation_bound(problem, timid, tau=0.55)
    support = X[:300][problem.model.score(X[:300]) > 0.5]
    value = robx.stability(
        problem.model, support, scale=[*problem.schema.noise_units.values()]
    ).value
    mean = np.mean([model.predict_proba(support)[:, 1] for model in timid], axis=0)
    above = (mean > value)[value >= 0.55]
    assert 0 < above.mean() < 1
    assert result.mean_above == pytest.approx(above.mean())


def test_a_higher_tau_lowers_it(problem: robx.Problem, later: list[Any]) -> None:
    bounds = [robx.invalidation_bound(problem, later, tau=tau).bound for tau in (0.6, 0.7, 0.8)]
    assert bounds[0] > bounds[1] > bounds[2]


def test_it_is_said_with_its_assumptions(problem: robx.Problem, later: list[Any]) -> None:
    said = str(robx.invalidation_bound(problem, later, tau=0.8))
    for part in (
        "Theorem 2",
        "expected score is above R",
        "standard deviation of its score is at most V",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("tau", "n_models", "message"),
    [
        (0.5, 6, "Theorem 2 needs a tau above the threshold, 0.5"),
        ("auto", 6, "Theorem 2 needs a tau above the threshold"),
        (0.8, 1, "at least 2 retrained models"),
        (0.8, 0, "a list of at least one retrained model"),
        (0.99999, 6, "No accepted row of the support has a stability of 1; the largest is"),
        (None, 6, "must be a finite number"),
    ],
)
def test_bad_input_is_refused(
    problem: robx.Problem, later: list[Any], tau: Any, n_models: int, message: str
) -> None:
    with pytest.raises(robx.InvalidInput, match=message):
        robx.invalidation_bound(problem, later[:n_models], tau)


@pytest.mark.parametrize(
    "method", [robx.NearestNeighbour(), robx.Conservative(tau=0.8), robx.RobX(tau=0.8)]
)
def test_theorem_1_a_flipped_model_voids_every_counterfactual(
    problem: robx.Problem, method: Any
) -> None:
    # The proof of Theorem 1: the model with every answer turned round is a tree ensemble as well.
    flipped = RandomForestClassifier(30, max_depth=6, random_state=0, n_jobs=1).fit(
        X[:300], 1 - Y[:300]
    )
    rows = X[600:700]
    np.testing.assert_allclose(
        flipped.predict_proba(rows)[:, 1], 1 - fitted(slice(300)).predict_proba(rows)[:, 1]
    )
    answer = method.explain(problem, rows)
    assert answer.ok.sum() > 20
    assert not (robx.import_model(flipped).score(answer.points[answer.ok]) > 0.5).any()

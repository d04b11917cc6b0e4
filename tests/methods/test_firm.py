from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import robx
from retrained_cases import own_scores, steadiness
from robx.methods.firm import Firm, reason
from robx.methods.point_tests import OutlierScore
from robx.retrained import Panel

RNG = np.random.default_rng(1)
X = RNG.random((300, 3)).round(3)
Y = X[:, 0] + 0.3 * RNG.normal(size=300) > 0.5
NOISE = robx.Noise(n_draws=64)


def forest(rows: Any = slice(None), seed: int = 0) -> RandomForestClassifier:
    made = RandomForestClassifier(10, max_depth=4, random_state=seed)
    return made.fit(X[rows], Y[rows])


MODEL = forest()
MODELS = [forest(slice(k, None, 3), k) for k in range(3)]
POINTS = RNG.random((200, 3))


def firm(
    level: float = 0.5,
    typical: float = 0.5,
    max_outlier_score: float | None = None,
    *,
    models: Any = None,
    realistic: bool = False,
    problem: robx.Problem | None = None,
) -> Firm:
    problem = problem or robx.Problem(MODEL, X)
    panel = None if models is None else Panel.of(problem, models)
    realism = Realism.of(problem, "lof") if realistic else None
    return Firm.at(problem, NOISE, level, panel, realism, typical, max_outlier_score)


@pytest.mark.parametrize("level", [0.0, 0.3, 0.9])
def test_points_pass_that_pass_every_part_alone(level: float) -> None:
    problem = robx.Problem(MODEL, X)
    accepted = X[MODEL.predict_proba(X)[:, 1] > 0.5]
    unit = np.ptp(X, axis=0)
    stability = [robx.stability(MODEL, t, n_draws=64, scale=unit).value for t in (accepted, POINTS)]
    steady = [steadiness(own_scores(MODELS, table)) for table in (accepted, POINTS)]
    odd = [
        robx.metrics.Outliers().fit(accepted / unit).factor(t / unit) for t in (accepted, POINTS)
    ]
    is_accepted = MODEL.predict_proba(POINTS)[:, 1] > 0.5
    by_noise = is_accepted & (stability[1] >= np.quantile(stability[0], level))
    beside = is_accepted & (stability[1] >= np.quantile(stability[0], level * 2 / 3))
    by_models = steady[1] >= max(0.0, np.quantile(steady[0], level))
    typical = odd[1] <= np.quantile(odd[0], 0.6)
    ways: list[tuple[dict[str, Any], Any]] = [
        ({}, by_noise),
        ({"models": MODELS}, beside & by_models),
        ({"realistic": True}, by_noise & typical),
        ({"models": MODELS, "realistic": True}, beside & by_models & typical),
    ]
    counts = []
    for parts, expected in ways:
        test = firm(level, 0.6, problem=problem, **parts)
        np.testing.assert_array_equal(test(POINTS), expected)
        np.testing.assert_array_equal(test(POINTS[:0]), [])
        counts.append(int(expected.sum()))
    assert 0 < counts[3] <= counts[1]
    assert counts[2] < counts[0] < is_accepted.sum() + (level == 0)


def test_it_measures_what_it_asks() -> None:
    both = firm(models=MODELS, realistic=True)
    measured = both.measured(POINTS)
    np.testing.assert_allclose(
        measured["retraining_margin"], steadiness(own_scores(MODELS, POINTS))
    )
    assert both.realism is not None
    np.testing.assert_array_equal(measured["outlier_score"], both.realism.oddity(POINTS))
    assert firm().measured(POINTS) == {}


def test_the_stricter_of_two_bounds_on_oddity_holds() -> None:
    loose = firm(typical=0.9, realistic=True).most_oddity
    assert firm(typical=0.9, max_outlier_score=loose + 1, realistic=True).most_oddity == loose
    assert (
        firm(typical=0.9, max_outlier_score=loose - 0.1, realistic=True).most_oddity == loose - 0.1
    )


def test_tests_that_differ_have_other_keys() -> None:
    problem = robx.Problem(MODEL, X)
    parts: list[dict[str, Any]] = [
        {},
        {"level": 0.6},
        {"models": MODELS},
        {"models": MODELS[:2]},
        {"models": MODELS, "level": 0.6},
        {"realistic": True},
        {"realistic": True, "typical": 0.6},
        {"realistic": True, "max_outlier_score": 0.9},
    ]
    keys = [firm(problem=problem, **part).key for part in parts]
    assert len(set(keys)) == len(keys)
    assert keys == [firm(problem=problem, **part).key for part in parts]


def test_it_says_what_it_asks() -> None:
    test = firm(0.5, models=MODELS, realistic=True)
    assert test.words() == (
        f"R >= {test.stable.tau:.3g}, steadiness >= {test.least_steadiness:.2g} over 3 "
        f"retrained models, oddity <= {test.most_oddity:.3g} where it can be had"
    )
    assert firm().words() == f"R >= {firm().stable.tau:.3g}"


def test_where_nothing_is_accepted_the_threshold_is_asked_of_noise() -> None:
    nobody = robx.Problem(MODEL, X[MODEL.predict_proba(X)[:, 1] <= 0.5])
    test = firm(models=MODELS, realistic=True, problem=nobody)
    assert test.stable.tau == 0.5
    assert test.least_steadiness == -np.inf
    assert test.realism is None


def test_it_says_why_it_asks_for_as_much() -> None:
    assert reason(0.75, 0.8, firm()) == (
        "level 0.75 asks for answers at least as stable under noise as 75% of the accepted rows"
    )
    assert reason(0.6, 0.8, firm(models=MODELS, realistic=True)) == (
        "level 0.6 asks for answers at least as steady under retraining as 60% of the accepted "
        "rows and as stable under noise as 40% of the accepted rows; they are to be no odder than "
        "80% of them"
    )

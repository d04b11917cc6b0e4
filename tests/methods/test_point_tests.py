from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.neighbors import LocalOutlierFactor

import robx
from families import family
from retrained_cases import margins, own_scores
from robx.methods.point_tests import OutlierScore, RobustnessTest, say_failing
from robx.problem import coordinates
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


def robustness(
    level: float = 0.5,
    typical: float = 0.5,
    max_outlier_score: float | None = None,
    *,
    models: Any = None,
    realistic: bool = False,
    problem: robx.Problem | None = None,
) -> RobustnessTest:
    problem = problem or robx.Problem(MODEL, X)
    panel = None if models is None else Panel.of(problem, models)
    outliers = OutlierScore.of(problem, "lof") if realistic else None
    return RobustnessTest.at(problem, NOISE, level, panel, outliers, typical, max_outlier_score)


@pytest.mark.parametrize("level", [0.0, 0.3, 0.9])
def test_points_pass_that_pass_every_part_alone(level: float) -> None:
    problem = robx.Problem(MODEL, X)
    accepted = X[MODEL.predict_proba(X)[:, 1] > 0.5]
    unit = np.ptp(X, axis=0)
    stability = [robx.stability(MODEL, t, n_draws=64, scale=unit).value for t in (accepted, POINTS)]
    margin = [margins(own_scores(MODELS, table)) for table in (accepted, POINTS)]
    outlying = [
        robx.metrics.Outliers().fit(accepted / unit).factor(t / unit) for t in (accepted, POINTS)
    ]
    is_accepted = MODEL.predict_proba(POINTS)[:, 1] > 0.5
    by_noise = is_accepted & (stability[1] >= np.quantile(stability[0], level))
    beside = is_accepted & (stability[1] >= np.quantile(stability[0], level * 2 / 3))
    by_models = margin[1] >= max(0.0, np.quantile(margin[0], level))
    typical = outlying[1] <= np.quantile(outlying[0], 0.6)
    ways: list[tuple[dict[str, Any], Any]] = [
        ({}, by_noise),
        ({"models": MODELS}, beside & by_models),
        ({"realistic": True}, by_noise & typical),
        ({"models": MODELS, "realistic": True}, beside & by_models & typical),
    ]
    counts = []
    for parts, expected in ways:
        test = robustness(level, 0.6, problem=problem, **parts)
        np.testing.assert_array_equal(test(POINTS), expected)
        np.testing.assert_array_equal(test(POINTS[:0]), [])
        counts.append(int(expected.sum()))
    assert 0 < counts[3] <= counts[1]
    assert counts[2] < counts[0] < is_accepted.sum() + (level == 0)


def test_it_measures_what_it_asks() -> None:
    both = robustness(models=MODELS, realistic=True)
    measured = both.measured(POINTS)
    np.testing.assert_allclose(measured["retraining_margin"], margins(own_scores(MODELS, POINTS)))
    assert both.outliers is not None
    np.testing.assert_array_equal(measured["outlier_score"], both.outliers(POINTS))
    assert robustness().measured(POINTS) == {}


def test_the_stricter_of_two_bounds_on_the_outlier_score_holds() -> None:
    def most(bound: float | None) -> float:
        return robustness(typical=0.9, max_outlier_score=bound, realistic=True).max_outlier_score

    loose = most(None)
    assert most(loose + 1) == loose
    assert most(loose - 0.1) == loose - 0.1


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
    keys = [robustness(problem=problem, **part).key for part in parts]
    assert len(set(keys)) == len(keys)
    assert keys == [robustness(problem=problem, **part).key for part in parts]


def test_it_says_what_it_asks() -> None:
    test = robustness(0.5, models=MODELS, realistic=True)
    assert test.words() == (
        f"R >= {test.stable.tau:.4g}, retraining margin >= {test.min_margin:.2g} over 3 retrained "
        f"models, outlier score <= {test.max_outlier_score:.3g} where achievable"
    )
    assert robustness().words() == f"R >= {robustness().stable.tau:.4g}"
    strict = robustness(0.5, models=MODELS, realistic=True, max_outlier_score=0.9)
    assert strict.words().endswith("models, outlier score <= 0.9")


def test_where_nothing_is_accepted_the_threshold_is_asked_of_noise() -> None:
    nobody = robx.Problem(MODEL, X[MODEL.predict_proba(X)[:, 1] <= 0.5])
    test = robustness(models=MODELS, realistic=True, problem=nobody)
    assert test.stable.tau == 0.5
    assert test.min_margin == -np.inf
    assert test.outliers is None


def test_it_says_why_it_asks_for_as_much() -> None:
    assert robustness().reason(0.75, 0.8) == (
        "level 0.75 asks for answers at least as stable under noise as 75% of the accepted rows"
    )
    assert robustness(models=MODELS, realistic=True).reason(0.6, 0.8) == (
        "level 0.6 asks for answers at least as robust under retraining as 60% of the accepted "
        "rows and as stable under noise as 40% of the accepted rows, with an outlier score no "
        "higher than that of 80% of them"
    )


# --- outlier scores -------------------------------------------------------------------------------

WIDE = np.random.default_rng(0).normal(size=(200, 3)) * [1.0, 10.0, 100.0]
FOREST = RandomForestClassifier(10, random_state=0).fit(WIDE, WIDE[:, 0] > 0)
PROBLEM = robx.Problem(FOREST, WIDE)
CROWD = WIDE[FOREST.predict_proba(WIDE)[:, 1] > 0.5] / np.ptp(WIDE, axis=0)
SOME = np.concatenate([WIDE[:5] + 0.01, [[9.0, 90.0, 900.0]]])


def test_the_factor_is_that_of_scikit_learn_among_the_accepted_rows() -> None:
    crowd = LocalOutlierFactor(n_neighbors=20, novelty=True).fit(CROWD)
    expected = -crowd.score_samples(SOME / np.ptp(WIDE, axis=0))
    scores = OutlierScore(PROBLEM, "lof")(SOME)
    np.testing.assert_allclose(scores, expected, rtol=1e-9)
    assert scores.argmax() == 5


def test_an_accepted_row_is_compared_with_the_others() -> None:
    own = OutlierScore(PROBLEM, "lof").of_support
    for i in (0, 7, 30):
        others = LocalOutlierFactor(n_neighbors=20, novelty=True).fit(np.delete(CROWD, i, axis=0))
        assert own[i] == pytest.approx(-others.score_samples(CROWD[[i]])[0], rel=1e-9)


def test_the_forest_cuts_outliers_off_early() -> None:
    forest = IsolationForest(random_state=0).fit(CROWD)
    scores = OutlierScore(PROBLEM, "forest")(SOME)
    np.testing.assert_allclose(scores, -forest.score_samples(SOME / np.ptp(WIDE, axis=0)))
    assert scores.argmax() == 5


def test_a_problem_makes_each_once_and_none_of_few_rows() -> None:
    assert OutlierScore.of(PROBLEM, "lof") is OutlierScore.of(PROBLEM, "lof")
    assert OutlierScore.of(PROBLEM, "lof") is not OutlierScore.of(PROBLEM, "forest")
    accepted = WIDE[FOREST.predict_proba(WIDE)[:, 1] > 0.5]
    assert OutlierScore.of(robx.Problem(FOREST, accepted[:9]), "lof") is None
    assert OutlierScore.of(robx.Problem(FOREST, accepted[:10]), "lof") is not None
    assert OutlierScore(PROBLEM, "lof")(np.empty((0, 3))).shape == (0,)


def test_places_hold_categories_members_and_what_is_missing() -> None:
    case = family("lightgbm")
    problem = case.problem()
    matrix = problem.read(case.X).matrix
    places = coordinates(problem, matrix)
    expected = []
    for name in case.X.columns:
        column, feature = case.X[name], problem.schema[name]
        if feature.kind == "categorical":
            levels = feature.levels or ()
            expected += [np.sqrt(0.5) * (column == level).to_numpy() for level in levels]
        elif feature.kind == "onehot":
            expected.append(np.sqrt(0.5) * column.to_numpy(float))
        else:
            values = pd.to_numeric(column).astype(float)
            assert feature.scale is not None
            expected.append(values.fillna(values.median()).to_numpy() / feature.scale)
            if values.isna().any():
                expected.append(values.isna().to_numpy(float))
    np.testing.assert_allclose(places, np.column_stack(expected))
    # Of two people who differ in one category, or one member, the distance is 1.
    other = case.X.iloc[:1].copy()
    other["place"] = "abroad" if other["place"].iloc[0] != "abroad" else "city"
    there = coordinates(problem, problem.read(other).matrix)
    assert np.linalg.norm(there - places[:1]) == pytest.approx(1)


def test_a_stability_that_fails_is_not_rounded_up_to_what_was_asked() -> None:
    said = [say_failing(value) for value in (0.69996, 0.7, -0.012345, 0.0, 1e-9)]
    assert said == ["0.6999", "0.7", "-0.01235", "0", "1e-09"]

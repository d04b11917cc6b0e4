from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.neighbors import LocalOutlierFactor

import robx
from families import family
from retrained_cases import mean_scores, own_scores
from robx.methods.point_tests import (
    N_PARTS,
    OutlierScore,
    RobustnessTest,
    mean_scores_of_support,
    rejecting_of_support,
    say_failing,
)
from robx.problem import coordinates
from robx.retrained import ModelScores, Panel, import_models

RNG = np.random.default_rng(1)
X = RNG.random((300, 3)).round(3)
Y = X[:, 0] + 0.3 * RNG.normal(size=300) > 0.5
NOISE = robx.Noise(n_draws=64)


def forest(rows: Any = slice(None), seed: int = 0) -> RandomForestClassifier:
    made = RandomForestClassifier(10, max_depth=4, random_state=seed)
    return made.fit(X[rows], Y[rows])


MODEL = forest()
MODELS = [forest(slice(k, None, 3), k) for k in range(3)]
CHALLENGERS = [forest(slice(k, None, 2), 7 + k) for k in range(2)]
IMPORTED = import_models(robx.Problem(MODEL, X), CHALLENGERS)
POINTS = RNG.random((200, 3))


def robustness(
    level: float = 0.5,
    typical: float = 0.5,
    max_outlier_score: float | None = None,
    *,
    models: Any = None,
    n_challengers: int = 0,
    realistic: bool = False,
    problem: robx.Problem | None = None,
    **asked: Any,
) -> RobustnessTest:
    problem = problem or robx.Problem(MODEL, X)
    some = IMPORTED[:n_challengers]
    return RobustnessTest.at(
        problem,
        NOISE,
        level,
        panel=None if models is None else Panel.of(problem, models),
        challengers=ModelScores.of(problem, some) if some else None,
        outliers=OutlierScore.of(problem, "lof") if realistic else None,
        typical=typical,
        max_outlier_score=max_outlier_score,
        **asked,
    )


@pytest.mark.parametrize("level", [0.0, 0.3, 0.9])
def test_points_pass_that_pass_every_part_alone(level: float) -> None:
    problem = robx.Problem(MODEL, X)
    accepted = X[MODEL.predict_proba(X)[:, 1] > 0.5]
    unit = np.ptp(X, axis=0)
    stability = [robx.stability(MODEL, t, n_draws=64, scale=unit).value for t in (accepted, POINTS)]
    mean = [mean_scores(own_scores(MODELS, table)) for table in (accepted, POINTS)]
    outlying = [
        robx.metrics.Outliers().fit(accepted / unit).factor(t / unit) for t in (accepted, POINTS)
    ]
    is_accepted = MODEL.predict_proba(POINTS)[:, 1] > 0.5
    by_noise = is_accepted & (stability[1] >= np.quantile(stability[0], level))
    least = max(0.5, np.quantile(mean[0], level))
    share = (mean[0] < least).mean()  # not the level itself, where that is below the threshold
    beside = is_accepted & (stability[1] >= np.quantile(stability[0], share * 2 / 3))
    by_models = mean[1] >= least
    by_most = (own_scores(MODELS, POINTS) > 0.5).sum(axis=0) >= 2
    challenged = (own_scores(CHALLENGERS, POINTS) > 0.5).all(axis=0)
    typical = outlying[1] <= np.quantile(outlying[0], 0.6)
    ways: list[tuple[dict[str, Any], Any]] = [
        ({}, by_noise),
        ({"models": MODELS}, beside & by_models),
        ({"realistic": True}, by_noise & typical),
        ({"models": MODELS, "realistic": True}, beside & by_models & typical),
        ({"n_challengers": 2}, by_noise & challenged),
        (
            {"models": MODELS, "n_challengers": 2, "realistic": True},
            beside & by_models & challenged & typical,
        ),
        ({"models": MODELS, "min_accepting": 0.6}, beside & by_models & by_most),
    ]
    counts = []
    for parts, expected in ways:
        test = robustness(level, 0.6, problem=problem, **parts)
        np.testing.assert_array_equal(test(POINTS), expected)
        np.testing.assert_array_equal(test(POINTS[:0]), [])
        np.testing.assert_array_equal(test.of_support(), test(problem.support.rows))
        counts.append(int(expected.sum()))
    assert 0 < counts[5] <= counts[3] <= counts[1]
    assert counts[2] < counts[0] < is_accepted.sum() + (level == 0)
    if level == 0:  # what a high level leaves, challengers and most models accept anyway
        assert counts[4] < counts[0]
        assert counts[6] < counts[1]


@pytest.mark.parametrize("level", [0.0, 0.4, 1.0])
def test_a_level_asks_for_the_mean_score_of_that_share_and_no_less_than_the_threshold(
    level: float,
) -> None:
    for threshold in (0.3, 0.5, 0.7):
        problem = robx.Problem(MODEL, X, threshold=threshold)
        accepted = X[MODEL.predict_proba(X)[:, 1] > threshold]
        mean = mean_scores(own_scores(MODELS, accepted))
        test = robustness(level, models=MODELS, problem=problem)
        least = max(threshold, np.quantile(mean, level))
        assert test.min_retrained_score == pytest.approx(least, abs=1e-9)
        assert test.panel is not None
        np.testing.assert_allclose(mean_scores_of_support(test.panel), mean, atol=1e-9)
        rejecting = (own_scores(MODELS, accepted) <= threshold).sum(axis=0)
        np.testing.assert_array_equal(rejecting_of_support(test.panel), rejecting)
        if level == 0:
            assert test.min_retrained_score == threshold > mean.min()


def test_a_retrained_score_is_asked_for_in_place_of_a_level() -> None:
    problem = robx.Problem(MODEL, X)
    stability = problem.gate.stability(problem.support.rows, NOISE).value
    for score in (0.0, 0.5, 0.62, 0.8, 1.0):
        test = robustness(0.9, models=MODELS, min_retrained_score=score, problem=problem)
        assert test.min_retrained_score == max(score, 0.5)
        # As much is asked under noise as by the level that would ask for this score.
        assert test.panel is not None
        share = (mean_scores_of_support(test.panel) < test.min_retrained_score).mean()
        assert test.stable.tau == np.quantile(stability, share * 2 / 3)


@pytest.mark.parametrize(
    ("share", "most_rejecting"), [(0.0, 3), (0.1, 2), (1 / 3, 2), (0.34, 1), (2 / 3, 1), (1.0, 0)]
)
def test_a_share_of_the_models_is_a_number_of_them_that_may_reject(
    share: float, most_rejecting: int
) -> None:
    assert robustness(models=MODELS, min_accepting=share).most_rejecting == most_rejecting
    test = robustness(0.0, models=MODELS, min_accepting=share, min_retrained_score=0.0)
    passed = test(POINTS)
    rejects = (own_scores(MODELS, POINTS) <= 0.5).sum(axis=0)
    assert rejects[passed].max() <= most_rejecting
    assert passed.any()


def test_it_measures_what_it_asks() -> None:
    both = robustness(models=MODELS, realistic=True)
    measured = both.measured(POINTS)
    expected = mean_scores(own_scores(MODELS, POINTS))
    np.testing.assert_allclose(measured["retrained_score"], expected)
    assert both.outliers is not None
    np.testing.assert_array_equal(measured["outlier_score"], both.outliers(POINTS))
    assert list(both.terms()) == ["retrained_score", "outlier_score"]
    assert robustness().measured(POINTS) == robustness().terms() == {}
    assert robustness(n_challengers=2).measured(POINTS) == {}


def test_nothing_lacks_where_a_point_passes_and_something_where_it_does_not() -> None:
    problem = robx.Problem(MODEL, X)
    points = POINTS[MODEL.predict_proba(POINTS)[:, 1] > 0.5]
    ways: list[dict[str, Any]] = [
        {},
        {"models": MODELS},
        {"models": MODELS, "min_accepting": 1.0},
        {"n_challengers": 2},
        {"models": MODELS, "n_challengers": 2, "realistic": True},
    ]
    for parts in ways:
        test = robustness(0.5, 0.6, problem=problem, **parts)
        lacks = test.lacks(points)
        assert lacks.shape == (len(points), N_PARTS)
        assert (lacks >= 0).all()
        np.testing.assert_array_equal((lacks == 0).all(axis=1), test(points))
        assert test.lacks(points[:0]).shape == (0, N_PARTS)
    rejects = (own_scores(CHALLENGERS, points) <= 0.5).mean(axis=0)
    assert set(rejects) == {0.0, 0.5, 1.0}
    alone = robustness(n_challengers=2, problem=problem).lacks(points)
    np.testing.assert_array_equal(alone[:, 1], rejects)


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
        {"models": MODELS, "min_retrained_score": 0.77},
        {"models": MODELS, "min_accepting": 1.0},
        {"models": MODELS, "n_challengers": 2},
        {"n_challengers": 2},
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
        f"R >= {test.stable.tau:.4g}, mean score of 3 retrained models >= "
        f"{test.min_retrained_score:.3g}, outlier score <= {test.max_outlier_score:.3g} where "
        "achievable"
    )
    most = robustness(models=MODELS, min_retrained_score=0.75, min_accepting=0.5)
    assert most.words().endswith(
        ", mean score of 3 retrained models >= 0.75, accepted by 2 of them"
    )
    for n, said in ((1, "1 challenger"), (2, "2 challengers")):
        challenged = robustness(n_challengers=n)
        assert challenged.words() == f"R >= {challenged.stable.tau:.4g}, accepted by {said}"
    assert robustness().words() == f"R >= {robustness().stable.tau:.4g}"
    strict = robustness(0.5, models=MODELS, realistic=True, max_outlier_score=0.9)
    assert strict.words().endswith(", outlier score <= 0.9")


def test_where_nothing_is_accepted_the_threshold_is_asked_of_noise() -> None:
    nobody = robx.Problem(MODEL, X[MODEL.predict_proba(X)[:, 1] <= 0.5])
    test = robustness(models=MODELS, realistic=True, problem=nobody)
    assert test.stable.tau == 0.5
    assert test.min_retrained_score == 0.5
    assert test.outliers is None
    assert test.reason(0.7, 0.8).startswith("answers are at least as sure under retrained models")


def test_it_says_why_it_asks_for_as_much() -> None:
    assert robustness().reason(0.75, 0.8) == (
        "answers are at least as stable under noise as 75% of the accepted rows"
    )
    assert robustness(0.6, models=MODELS, realistic=True).reason(0.6, 0.8) == (
        "answers are at least as sure under retrained models as 60% of the accepted rows and as "
        "stable under noise as 40% of the accepted rows, with an outlier score no higher than "
        "that of 80% of them"
    )
    given = robustness(models=MODELS, min_retrained_score=1.0).reason(0.7, 0.8)
    assert given.startswith(
        "answers are at least as sure under retrained models as 100% of the accepted rows and as "
        "stable under noise as 6"
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

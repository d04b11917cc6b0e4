from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.neighbors import LocalOutlierFactor

import robx
from families import family
from robx.methods.point_tests import OutlierScore
from robx.problem import coordinates

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3)) * [1.0, 10.0, 100.0]
FOREST = RandomForestClassifier(10, random_state=0).fit(X, X[:, 0] > 0)
PROBLEM = robx.Problem(FOREST, X)
CROWD = X[FOREST.predict_proba(X)[:, 1] > 0.5] / np.ptp(X, axis=0)
POINTS = np.concatenate([X[:5] + 0.01, [[9.0, 90.0, 900.0]]])


def test_the_factor_is_that_of_scikit_learn_among_the_accepted_rows() -> None:
    crowd = LocalOutlierFactor(n_neighbors=20, novelty=True).fit(CROWD)
    expected = -crowd.score_samples(POINTS / np.ptp(X, axis=0))
    oddity = Realism(PROBLEM, "lof").oddity(POINTS)
    np.testing.assert_allclose(oddity, expected, rtol=1e-9)
    assert oddity.argmax() == 5


def test_an_accepted_row_is_compared_with_the_others() -> None:
    own = Realism(PROBLEM, "lof").own
    for i in (0, 7, 30):
        others = LocalOutlierFactor(n_neighbors=20, novelty=True).fit(np.delete(CROWD, i, axis=0))
        assert own[i] == pytest.approx(-others.score_samples(CROWD[[i]])[0], rel=1e-9)


def test_the_forest_cuts_odd_points_off_early() -> None:
    forest = IsolationForest(random_state=0).fit(CROWD)
    oddity = Realism(PROBLEM, "forest").oddity(POINTS)
    np.testing.assert_allclose(oddity, -forest.score_samples(POINTS / np.ptp(X, axis=0)))
    assert oddity.argmax() == 5


def test_a_problem_makes_each_once_and_none_of_few_rows() -> None:
    assert Realism.of(PROBLEM, "lof") is Realism.of(PROBLEM, "lof")
    assert Realism.of(PROBLEM, "lof") is not Realism.of(PROBLEM, "forest")
    accepted = X[FOREST.predict_proba(X)[:, 1] > 0.5]
    assert Realism.of(robx.Problem(FOREST, accepted[:9]), "lof") is None
    assert Realism.of(robx.Problem(FOREST, accepted[:10]), "lof") is not None
    assert Realism(PROBLEM, "lof").oddity(np.empty((0, 3))).shape == (0,)


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

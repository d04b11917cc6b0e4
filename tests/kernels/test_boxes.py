from __future__ import annotations

import numpy as np
import pytest
import xgboost as xgb
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import naive
import robx
from oracles import toy_data
from robx.trees import TreeEnsemble

RAW, Y = toy_data(60, 3)
X = (RAW - RAW.min(axis=0)) / (RAW.max(axis=0) - RAW.min(axis=0))
SPREAD = np.array([0.1, 0.2, 0.05])


def test_the_mean_margin_equals_the_twin_s() -> None:
    ensemble = robx.import_model(xgb.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1).fit(X, Y))
    assert isinstance(ensemble, TreeEnsemble)
    expected = [naive.exact_margin(ensemble, x, SPREAD) for x in X[:4]]
    found = robx.mean_margin(ensemble, X[:4], sigma=SPREAD)
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("n_trees", [1, 3])
def test_exact_moments_of_a_forest_equal_the_twin_s(n_trees: int) -> None:
    model = (
        DecisionTreeClassifier(max_depth=3, random_state=0)
        if n_trees == 1
        else RandomForestClassifier(n_trees, max_depth=3, random_state=0)
    )
    ensemble = robx.import_model(model.fit(X, Y))
    assert isinstance(ensemble, TreeEnsemble)
    found = robx.stability(ensemble, X[:3], sigma=SPREAD, draws="exact")
    for i in range(3):
        mean, std = naive.exact_moments(ensemble, X[i], SPREAD)
        assert (found.mean[i], found.std[i]) == pytest.approx((mean, std), abs=1e-10)
    assert (found.error == 0).all()
    assert found.n_draws == 0

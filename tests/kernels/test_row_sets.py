"""These tests are small enough to run with the JIT off as well: `make test-all` does both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import robx
from oracles import toy_data, with_missing
from robx.trees import TreeEnsemble
from robx.trees.screen import may_exceed

RAW, Y = toy_data(80, 3)
X = (RAW - RAW.min(axis=0)) / (RAW.max(axis=0) - RAW.min(axis=0))
HOLES = with_missing(X)
CATEGORIES = np.column_stack([np.arange(80) % 5, X[:, 1:]])
MODELS: dict[str, tuple[Any, Any]] = {
    "boosted": (xgb.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1).fit(X, Y), X),
    "with holes": (xgb.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1).fit(HOLES, Y), HOLES),
    "forest": (RandomForestClassifier(4, random_state=0).fit(X, Y), X),
    "categories": (
        HistGradientBoostingClassifier(
            max_iter=3, categorical_features=[0], min_samples_leaf=5
        ).fit(CATEGORIES, Y),
        CATEGORIES,
    ),
    "three classes": (
        xgb.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1).fit(X, np.arange(80) % 3),
        X,
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_no_row_above_a_cutoff_is_ruled_out_and_hardly_another_is_kept(name: str) -> None:
    model, table = MODELS[name]
    ensemble = robx.import_model(model, target=1)
    assert isinstance(ensemble, TreeEnsemble)
    rows = ensemble.read(table)
    score = ensemble.score_matrix(rows)
    for cutoff in (*np.quantile(score, [0.1, 0.5, 0.9]), score.max(), 0.0, 1.0):
        kept = may_exceed(ensemble, rows, float(cutoff))
        assert kept[score > cutoff].all()
        assert not kept[score < cutoff - 1e-4].any()


def test_a_column_of_one_value_decides_for_all_rows() -> None:
    ensemble = robx.import_model(MODELS["with holes"][0], target=1)
    assert isinstance(ensemble, TreeEnsemble)
    rows = ensemble.read(HOLES)
    for value in (0.0, 0.4, 1.0, np.nan):
        fixed = rows.copy()
        fixed[:, 0] = value
        score = ensemble.score_matrix(fixed)
        kept = may_exceed(ensemble, fixed, 0.5)
        assert kept[score > 0.5].all()
        assert not kept[score < 0.5 - 1e-4].any()

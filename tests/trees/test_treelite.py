"""treelite as a second oracle, written by others: where it is right, all three must agree.

It is right for plain models, on float32 rows; the last test shows why it is not the door.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import treelite
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

import robx
from oracles import Floats, toy_data, with_missing

TABLE, Y = toy_data()
#: Numbers that float32 holds exactly, so that a cast changes nothing.
X = TABLE.astype(np.float32).astype(np.float64)
Y3 = Y * np.where(X[:, 3] > 0, 2, 1)
FRESH = toy_data(2000, seed=5)[0].astype(np.float32).astype(np.float64)

XGBOOST: dict[str, Any] = {"n_estimators": 25, "max_depth": 4, "n_jobs": 1}
LIGHTGBM: dict[str, Any] = {"n_estimators": 25, "num_leaves": 12, "n_jobs": 1, "verbose": -1}
PLAIN: dict[str, Callable[[], Any]] = {
    "xgboost": lambda: xgb.XGBClassifier(**XGBOOST),
    "xgboost exact": lambda: xgb.XGBClassifier(tree_method="exact", **XGBOOST),
    "lightgbm": lambda: lgb.LGBMClassifier(**LIGHTGBM),
    "random forest": lambda: RandomForestClassifier(25, max_depth=6, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(25, max_depth=6, random_state=0),
    "gradient boosting": lambda: GradientBoostingClassifier(n_estimators=25, random_state=0),
    "hist gradient boosting": lambda: HistGradientBoostingClassifier(max_iter=25),
}


def by_treelite(model: Any, rows: Floats, n_classes: int) -> NDArray[np.float64]:
    """Probability of the last class."""
    if isinstance(model, xgb.XGBModel):
        second = treelite.frontend.from_xgboost(model.get_booster())
    elif isinstance(model, lgb.LGBMModel):
        second = treelite.frontend.from_lightgbm(model.booster_)
    else:
        second = treelite.sklearn.import_model(model)
    answer = np.asarray(treelite.gtil.predict(second, rows), dtype=np.float64)
    assert answer.shape[:2] == (len(rows), 1)
    assert answer.shape[2] in {1, n_classes}
    return answer[:, 0, -1]


@pytest.mark.parametrize("n_classes", [2, 3], ids=["two classes", "three classes"])
@pytest.mark.parametrize("make", PLAIN.values(), ids=PLAIN.keys())
def test_treelite_agrees_on_a_plain_model(make: Callable[[], Any], n_classes: int) -> None:
    model = make().fit(X, Y if n_classes == 2 else Y3)
    rows = np.concatenate([X, FRESH])
    ours = robx.import_model(model, n_classes - 1).score(rows)
    assert len(np.unique(ours)) > 100
    np.testing.assert_allclose(ours, by_treelite(model, rows, n_classes), atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "hist gradient boosting"])
def test_treelite_agrees_on_missing_values(name: str) -> None:
    model = PLAIN[name]().fit(with_missing(X), Y)
    rows = with_missing(np.concatenate([X, FRESH]), 0.3, seed=7)
    ours = robx.import_model(model).score(rows)
    np.testing.assert_allclose(ours, by_treelite(model, rows, 2), atol=1e-6, rtol=0)


def stopped_early() -> Any:
    model = xgb.XGBClassifier(
        **{**XGBOOST, "n_estimators": 200}, learning_rate=0.6, early_stopping_rounds=5
    )
    return model.fit(X[:250], Y[:250], eval_set=[(X[250:], Y[250:])], verbose=False)


def marked_missing() -> Any:
    return xgb.XGBClassifier(missing=0.0, **XGBOOST).fit(np.nan_to_num(with_missing(X)), Y)


def zero_as_missing() -> Any:
    return lgb.LGBMClassifier(zero_as_missing=True, **LIGHTGBM).fit(with_missing(X), Y)


@pytest.mark.parametrize("fit", [stopped_early, marked_missing, zero_as_missing])
def test_treelite_is_silently_wrong_where_the_library_and_robx_agree(
    fit: Callable[[], Any],
) -> None:
    model = fit()
    rows = np.nan_to_num(with_missing(X))
    theirs = model.predict_proba(rows)[:, 1]
    ours = robx.import_model(model).score(rows)
    np.testing.assert_allclose(ours, theirs, atol=1e-6, rtol=0)
    assert np.abs(by_treelite(model, rows, 2) - theirs).max() > 0.05

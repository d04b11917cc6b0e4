"""Small models of every library, saved to files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import catboost as cb
import lightgbm as lgb
import numpy as np
import xgboost as xgb

import robx
from oracles import toy_data, with_missing
from robx.trees import TreeEnsemble

X, Y = toy_data(200, 4)
HOLES = with_missing(X)


def save_xgboost(path: Path) -> None:
    xgb.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1).fit(HOLES, Y).save_model(path)


def save_xgboost_categories(path: Path) -> None:
    table = np.column_stack([np.arange(200) % 7, X[:, 1:]])
    types = ["c", "float", "float", "float"]
    data = xgb.DMatrix(table, Y, feature_types=types, enable_categorical=True)
    xgb.train({"objective": "binary:logistic", "max_depth": 3}, data, 5).save_model(path)


def save_dart(path: Path) -> None:
    model = xgb.XGBClassifier(n_estimators=5, max_depth=2, booster="dart", rate_drop=0.5, n_jobs=1)
    model.fit(X, Y).save_model(path)


def save_lightgbm(path: Path) -> None:
    table = np.column_stack([np.arange(200) % 7, HOLES[:, 1:]])
    data = lgb.Dataset(table, Y, categorical_feature=[0], params={"verbose": -1})
    parameters = {"objective": "binary", "num_leaves": 7, "verbose": -1, "min_data_per_group": 5}
    lgb.train(parameters, data, 5).save_model(path)


def save_catboost(**parameters: Any) -> Callable[[Path], None]:
    def save(path: Path) -> None:
        model = cb.CatBoostClassifier(
            iterations=5, depth=3, verbose=False, allow_writing_files=False, **parameters
        )
        model.fit(HOLES, Y).save_model(str(path), format=path.suffix[1:])

    return save


def save_robx(path: Path) -> None:
    ensemble = robx.import_model(xgb.XGBClassifier(n_estimators=5, n_jobs=1).fit(X, Y))
    assert isinstance(ensemble, TreeEnsemble)
    ensemble.save(path)

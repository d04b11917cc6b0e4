"""Estimators and scenarios that the tests of `robx.scenarios` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import pytest
from catboost import CatBoostClassifier
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from oracles import toy_data
from robx.scenarios import (
    Bootstrap,
    DropRows,
    Fit,
    Hyperparameter,
    LabelFlips,
    LaterVintage,
    MoreData,
    NewSeed,
    OtherHalf,
    OtherLibrary,
    Scenario,
    Subsample,
)

X, Y = toy_data(240, 4)
WORDS = ["good", "bad"]
TREE = DecisionTreeClassifier(random_state=0)
FOREST = RandomForestClassifier(8, random_state=0)
CATBOOST = CatBoostClassifier(iterations=8, verbose=0, allow_writing_files=False)

ESTIMATORS: dict[str, Any] = {
    "XGBoost": XGBClassifier(n_estimators=8),
    "XGBoost with subsampling": XGBClassifier(n_estimators=8, subsample=0.5, random_state=3),
    "LightGBM": LGBMClassifier(n_estimators=8, verbose=-1),
    "CatBoost": CATBOOST,
    "forest": FOREST,
    "unseeded forest": RandomForestClassifier(8),
    "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=8),
    "pipeline": Pipeline([("scale", StandardScaler()), ("model", XGBClassifier(n_estimators=8))]),
}

#: When the rows came about: the last ones first, some of them on the same day.
DAYS = np.datetime64("2024-03-01") + np.arange(len(Y))[::-1] // 3

#: Of each scenario one, for a forest.
SCENARIOS: dict[str, Scenario] = {
    "drop 10 rows": DropRows(10),
    "drop 1 row": DropRows(1),
    "one hyperparameter varied": Hyperparameter({"max_depth": [2, 3], "min_samples_leaf": (9,)}),
    "other half, one hyperparameter varied": OtherHalf({"max_depth": [2, 3, 4]}),
    "other half": OtherHalf(),
    "bootstrap": Bootstrap(),
    "new seed": NewSeed(),
    "5% of labels flipped": LabelFlips(0.05),
    "more data after the first 50%": MoreData(steps=3),
    "random 30% of the rows": Subsample(0.3),
    "random 40% of the rows": Subsample(0.4, {"max_depth": [2, 3], "min_samples_leaf": (9,)}),
    "later vintage": LaterVintage(DAYS),
    "other library": OtherLibrary([TREE, KNeighborsClassifier(), FOREST]),
}
every_scenario = pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS.keys())
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS.keys())

seeds = st.integers(0, 2**40)


@st.composite
def labels(draw: st.DrawFn) -> NDArray[Any]:
    """Labels of two to four classes, many enough of each that no scenario loses one."""
    names = draw(st.sampled_from([[0, 1], [1, 2, 5], ["good", "bad"], list("abcd"), [True, False]]))
    n = draw(st.integers(80, 200))
    return np.resize(np.array(names), n)


def scores(models: Any, rows: Any = X) -> NDArray[np.float64]:
    return np.array([model.predict_proba(rows)[:, 1] for model in models])


def described(fit: Fit) -> tuple[Any, ...]:
    return repr(fit.estimator.get_params()), fit.rows.tolist(), fit.labels.tolist()


class Recorder(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Trains nothing and keeps what it saw; fails for tables of `fails_at` rows."""

    trained: int = 0

    def __init__(self, fails_at: int | None = None, look: Callable[[], Any] | None = None) -> None:
        self.fails_at = fails_at
        self.look = look

    def fit(self, rows: Any, y: Any) -> Self:
        Recorder.trained += 1
        self.rows_, self.y_ = rows, y
        self.seen_ = self.look() if self.look else None
        if len(rows) == self.fails_at:
            raise ZeroDivisionError(f"no use for {self.fails_at} rows")
        return self

    def predict_proba(self, rows: Any) -> Any:
        return np.full((len(rows), 2), 0.5)

"""A fitted model of every family, with the table it was trained on and people who apply.

Columns are of many kinds: rounded numbers, whole numbers, 0/1 flags, booleans, categories, missing
values where the library takes them; as frames and as arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import robx


@dataclass(frozen=True)
class Family:
    """A model, its training table, applicants, and its own probability of the target class."""

    name: str
    model: Any
    X: Any
    applicants: Any
    target: Any = None

    def problem(self, **parameters: Any) -> robx.Problem:
        return robx.Problem(self.model, self.X, target=self.target, **parameters)

    def probability(self, X: Any) -> NDArray[np.float64]:
        """What the user's own predict_proba says."""
        classes = list(self.model.classes_)
        place = classes.index(self.target) if self.target is not None else 1
        return np.asarray(self.model.predict_proba(X)[:, place], dtype=np.float64)

    @property
    def is_black_box(self) -> bool:
        return self.name == "pipeline"


def people(n: int = 400, seed: int = 0, *, missing: bool = False, text: str = "") -> pd.DataFrame:
    """A table of loan applicants, made up."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": np.round(rng.gamma(3.0, 12.0, n), 1),
            "age": rng.integers(19, 75, n),
            "savings": rng.integers(0, 5, n),
            "rate": rng.normal(0.0, 1.0, n).astype(np.float32),
            "owner": rng.random(n) < 0.5,
            "debts": rng.integers(0, 4, n).astype(float),
            "home_rent": 0,
            "home_own": 0,
            "home_other": 0,
        }
    )
    home = rng.integers(0, 3, n)
    for k, name in enumerate(["home_rent", "home_own", "home_other"]):
        frame[name] = (home == k).astype(int)
    if text:
        words = np.array(["city", "town", "village", "abroad"])[rng.integers(0, 4, n)]
        frame["place"] = pd.Series(words).astype(text)  # type: ignore[call-overload]
    if missing:
        for name in ("income", "debts"):
            frame.loc[rng.random(n) < 0.15, name] = np.nan
    return frame


def labels(frame: pd.DataFrame, n_classes: int = 2, seed: int = 1) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    worth = (
        frame["income"].fillna(20) / 30
        + 0.3 * frame["savings"]
        - 0.4 * frame["debts"].fillna(1)
        + 0.5 * frame["owner"]
        + 0.3 * np.sin(3 * frame["rate"])
        + 0.4 * frame["home_own"]
        + 0.4 * rng.normal(size=len(frame))
    )
    if "place" in frame:
        worth = worth + 0.8 * (frame["place"].astype(str) == "city")
    cuts = np.quantile(worth, np.linspace(0, 1, n_classes + 1)[1:-1] + 0.1)
    return np.asarray(np.digitize(worth, cuts), dtype=np.int64)


def _fitted(
    name: str, model: Any, table: Callable[[int, int], Any], target: Any = None, **fit: Any
) -> Family:
    X, applicants = table(400, 0), table(60, 7)
    n_classes = 3 if target is not None else 2
    frame = X if isinstance(X, pd.DataFrame) else people(400, 0)
    model.fit(X, labels(frame, n_classes), **fit)
    return Family(name, model, X, applicants, target)


def _numbers(n: int, seed: int) -> Any:
    return people(n, seed).astype({"owner": int})


def _doubled(n: int, seed: int) -> Any:
    """Columns that say the same thing: savings in two ways, and a code for the home."""
    frame = _numbers(n, seed)
    frame["money"] = 50 * frame["savings"] ** 2
    frame["home_code"] = 3 * frame["home_own"] + 7 * frame["home_other"]
    frame["has_savings"] = (frame["savings"] > 1).astype(int)
    return frame


def _array(n: int, seed: int) -> Any:
    return people(n, seed).to_numpy(np.float64)


def _prepared() -> Any:
    """Columns of a pipeline that is folded: filled and scaled, encoded, and as they are."""
    return make_column_transformer(
        (
            make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
            ["income", "savings", "debts", "rate"],
        ),
        (OneHotEncoder(handle_unknown="ignore"), ["place"]),
        remainder="passthrough",
    )


@cache
def family(name: str) -> Family:  # noqa: PLR0911, PLR0912
    """Make a family, once."""
    quick: dict[str, Any] = {"n_estimators": 25, "n_jobs": 1, "random_state": 0}
    match name:
        case "xgboost":
            model = xgb.XGBClassifier(**quick, max_depth=3, enable_categorical=True)
            return _fitted(name, model, lambda n, s: people(n, s, missing=True, text="category"))
        case "xgboost-array":
            return _fitted(name, xgb.XGBClassifier(**quick, max_depth=4), _array)
        case "xgboost-3":
            return _fitted(name, xgb.XGBClassifier(**quick, max_depth=3), _numbers, target=2)
        case "lightgbm":
            model = lgb.LGBMClassifier(**quick, num_leaves=7, verbose=-1, min_child_samples=5)
            return _fitted(name, model, lambda n, s: people(n, s, missing=True, text="category"))
        case "catboost":
            model = catboost.CatBoostClassifier(
                iterations=25, depth=3, verbose=0, thread_count=1, allow_writing_files=False
            )
            return _fitted(
                name, model, lambda n, s: people(n, s, missing=True).astype({"owner": int})
            )
        case "forest":
            return _fitted(name, RandomForestClassifier(**quick, max_depth=6), _numbers)
        case "extra-array":
            return _fitted(name, ExtraTreesClassifier(**quick, max_depth=6), _array)
        case "boosting":
            return _fitted(
                name, GradientBoostingClassifier(n_estimators=25, random_state=0), _numbers
            )
        case "together":
            return _fitted(name, RandomForestClassifier(**quick, max_depth=6), _doubled)
        case "xgboost-zero":
            return _fitted(name, xgb.XGBClassifier(**quick, max_depth=3, missing=0.0), _numbers)
        case "lightgbm-zero":
            model = lgb.LGBMClassifier(
                **quick, num_leaves=7, verbose=-1, min_child_samples=5, zero_as_missing=True
            )
            return _fitted(name, model, _numbers)
        case "hist":
            model = HistGradientBoostingClassifier(max_iter=25, random_state=0)
            return _fitted(name, model, lambda n, s: people(n, s, missing=True))
        case "folded":
            model = make_pipeline(_prepared(), xgb.XGBClassifier(**quick, max_depth=3))
            return _fitted(name, model, lambda n, s: people(n, s, missing=True, text="str"))
        case "tree":
            return _fitted(name, DecisionTreeClassifier(max_depth=5, random_state=0), _numbers)
        case _:
            model = make_pipeline(
                make_column_transformer((OneHotEncoder(), ["place"]), remainder="passthrough"),
                LogisticRegression(max_iter=2000),
            )
            return _fitted("pipeline", model, lambda n, s: people(n, s, text="str"))


TREES = [
    *("xgboost", "xgboost-array", "xgboost-3", "lightgbm", "catboost"),
    *("forest", "extra-array", "boosting", "hist", "tree", "folded"),
]
EVERY = [*TREES, "pipeline"]
#: Those that every method meets in `make test`.
QUICK = ["xgboost", "forest", "pipeline"]
#: Those that it meets in `make test-all` besides; the others are left to `make test-deep`.
MORE = ["lightgbm", "catboost", "hist", "folded"]

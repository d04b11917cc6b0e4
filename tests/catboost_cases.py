"""Applicants with categories, and CatBoost models that take them as such."""

from __future__ import annotations

from typing import Any

import catboost as cb
import numpy as np
import pandas as pd

TOWNS = ["Aix", "Bonn", "Cork", "Düren 'west', €", "Ely", "", "nan"]
CATEGORIES = ["town", "job", "owner"]


def people(n: int = 300, seed: int = 0) -> pd.DataFrame:
    """Text, whole numbers and two words as categories, between numbers with holes."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "town": rng.choice(TOWNS, n),
            "income": rng.normal(size=n).round(2),
            "job": rng.integers(-2, 6, n),
            "owner": rng.choice(["yes", "no"], n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    return frame


def labels(frame: pd.DataFrame, n_classes: int = 2, seed: int = 1) -> Any:
    """Classes from 0 that depend on the categories."""
    rng = np.random.default_rng(seed)
    worth = (
        frame["income"].fillna(0)
        + frame["town"].isin(["Aix", "Ely", ""])
        - 0.5 * (frame["job"] > 2)
        + 0.5 * (frame["owner"] == "yes")
        + 0.3 * rng.normal(size=len(frame))
    )
    return np.digitize(worth, np.quantile(worth, np.linspace(0, 1, n_classes + 1)[1:-1]))


def classifier(**parameters: Any) -> cb.CatBoostClassifier:
    """A quiet, small classifier without combinations of features."""
    quiet = {"iterations": 15, "depth": 4, "verbose": False, "max_ctr_complexity": 1}
    quiet |= {"thread_count": 1, "allow_writing_files": False}
    return cb.CatBoostClassifier(**{**quiet, **parameters})


def trained(table: Any, y: Any, categories: Any = None, **parameters: Any) -> Any:
    """A fitted one."""
    chosen = CATEGORIES if categories is None else categories
    return classifier(**parameters).fit(table, y, cat_features=chosen)

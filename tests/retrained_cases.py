"""Families of models, trained again on thirds of their rows, and what their libraries say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from families import Family, family, labels, people
from robx.retrained import retrainings

Floats = NDArray[np.float64]

#: Of each library one, with categories and missing values where it takes them.
LIBRARIES = ["xgboost", "lightgbm", "forest", "catboost"]


def labels_of(case: Family) -> NDArray[np.int64]:
    """The labels that a family's model was trained on."""
    frame = case.X if isinstance(case.X, pd.DataFrame) else people(len(case.X), 0)
    return labels(frame, 2 if case.target is None else 3)


@cache
def retrained(name: str, n_models: int = 6, seed: int = 0) -> tuple[Any, ...]:
    """A family's model, trained again, once."""
    case = family(name)
    return tuple(retrainings(case.model, case.X, labels_of(case), n_models, seed))


def own_scores(models: Sequence[Any], table: Any, target: Any = None) -> Floats:
    """What each model's own predict_proba says of each row: (models, n)."""
    out = []
    for model in models:
        place = 1 if target is None else list(model.classes_).index(target)
        out.append(np.asarray(model.predict_proba(table), dtype=np.float64)[:, place])
    return np.array(out)


def mean_scores(scores: Floats) -> Floats:
    """Mean over the models, row by row, with no rounding on the way: (n,)."""
    return np.array([math.fsum(column) / len(column) for column in scores.T])

"""Asking models that came after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput, UnsupportedModel
from robx.problem import Problem
from robx.trees import BlackBox, TreeEnsemble, import_model

__all__ = ["acceptance", "import_models", "scores"]


def import_models(problem: Problem, models: Any) -> list[TreeEnsemble | BlackBox]:
    """Import models that score the same class as the problem's does."""
    if not isinstance(models, Sequence) or isinstance(models, str) or len(models) == 0:
        raise InvalidInput(
            "Models that come after must be a list of at least one retrained model. Got "
            f"{type(models).__name__}."
        )
    # A function has no classes; all else is asked about the class that the problem is about.
    return [_import(model, problem.model.target) for model in models]


def _import(model: Any, target: Any) -> TreeEnsemble | BlackBox:
    """Import a model; one that cannot be taken apart is still asked for its scores."""
    if isinstance(model, BlackBox) and model.target is None:  # a function, which has no classes
        model = model.model
    try:
        return import_model(model, target)
    except UnsupportedModel:
        if not hasattr(model, "predict_proba"):
            raise
        return BlackBox(model, target)


def scores(models: Sequence[TreeEnsemble | BlackBox], X: Any) -> NDArray[np.float64]:
    """Score of each model for each row: (models, n) float64."""
    return np.array([model.score(X) for model in models])


def acceptance(
    models: Sequence[TreeEnsemble | BlackBox], X: Any, threshold: float
) -> NDArray[np.bool_]:
    """Whether each model accepts each row: (models, n) bool."""
    return np.asarray(scores(models, X) > threshold)

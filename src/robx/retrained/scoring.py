"""Asking models that came after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput, UnsupportedModel
from robx.problem import Problem
from robx.tables import count_rows, take
from robx.trees import BlackBox, Model, import_model

#: Training rows of which a model must be able to score one.
MOST_CHECKED = 32


def import_models(problem: Problem, models: Any) -> list[Model]:
    """Import models that score the same class as the problem's does."""
    if not isinstance(models, Sequence) or isinstance(models, str) or len(models) == 0:
        raise InvalidInput(
            "The models must be a list of at least one retrained model. Got "
            f"{type(models).__name__}."
        )
    # A function has no classes; all else is asked about the class that the problem is about.
    return [_import(model, problem.model.target) for model in models]


def _import(model: Any, target: Any) -> Model:
    """Import a model; one that cannot be taken apart is still asked for its scores."""
    if isinstance(model, BlackBox) and model.target is None:  # a function, which has no classes
        model = model.model
    try:
        return import_model(model, target)
    except UnsupportedModel:
        if not hasattr(model, "predict_proba"):
            raise
        return BlackBox(model, target)


def scores(models: Sequence[Model], X: Any) -> NDArray[np.float64]:
    """Score of each model for each row: (models, n) float64."""
    return np.array([model.score(X) for model in models])


def check_readers(problem: Problem, models: Sequence[Model]) -> None:
    """Refuse models that can score no training row at all."""
    some = problem.codec.write(problem.training[:MOST_CHECKED])
    for k, model in enumerate(models):
        for i in range(count_rows(some)):
            try:
                model.score(take(some, np.array([i])))
            except Exception as error:
                reason = error
            else:
                break
        else:
            raise InvalidInput(
                f"Retrained model {k} of {len(models)} scores none of the first training rows. It "
                f"says: {reason}"
            ) from reason


def acceptance(models: Sequence[Model], X: Any, threshold: float) -> NDArray[np.bool_]:
    """Whether each model accepts each row: (models, n) bool."""
    return np.asarray(scores(models, X) > threshold)

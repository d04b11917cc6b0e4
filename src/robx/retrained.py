"""Asking models that came after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput, UnsupportedModel
from robx.problem import Problem
from robx.trees import BlackBox, TreeEnsemble, import_model

__all__ = ["acceptance", "import_models", "refuse_seen", "remember", "scores"]

#: Models whose scores differ by less, on so many training rows, are one model.
SAME, MOST_ROWS = 1e-6, 1000

Known = tuple[TreeEnsemble | BlackBox, NDArray[np.float64]]


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


def remember(problem: Problem, models: Sequence[TreeEnsemble | BlackBox]) -> None:
    """Note that something about the problem was chosen by looking at these models."""
    problem.models_seen += tuple(zip(models, _portraits(problem, models), strict=True))


def refuse_seen(problem: Problem, models: Sequence[TreeEnsemble | BlackBox]) -> None:
    """Refuse to judge by models that were used to choose: they would flatter the choice."""
    if not problem.models_seen:
        return
    portraits = _portraits(problem, models)
    for k, one in enumerate(zip(models, portraits, strict=True)):
        if any(_is_same(one, seen) for seen in problem.models_seen):
            raise InvalidInput(
                f"Model {k} of {len(models)} was used to choose tau for this problem, so it "
                "cannot judge the answers as well. Choose with some models and evaluate with "
                "others."
            )


def _is_same(one: Known, other: Known) -> bool:
    """Tell by their content whether two ensembles are one model, by their scores for others."""
    if isinstance(one[0], TreeEnsemble) and isinstance(other[0], TreeEnsemble):
        return one[0].digest == other[0].digest
    return bool(np.allclose(one[1], other[1], rtol=0, atol=SAME))


def _portraits(
    problem: Problem, models: Sequence[TreeEnsemble | BlackBox]
) -> list[NDArray[np.float64]]:
    """Give each model's scores of training rows, and of rows mixed from their columns.

    Whatever a model is wrapped in, these are the same; two models may well agree on the rows that
    both have learned, but hardly on mixed ones.
    """
    n = len(problem.all_rows)
    rows = problem.all_rows[np.unique(np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.intp))]
    mixed = np.random.default_rng(0).permuted(rows, axis=0)
    return list(scores(models, problem.codec.write(np.concatenate([rows, mixed]))))

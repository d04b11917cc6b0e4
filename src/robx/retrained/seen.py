"""Models that something was chosen with: remembered, and refused as judges of the choice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput
from robx.problem import Problem
from robx.retrained.asking import scores
from robx.trees import BlackBox, TreeEnsemble

__all__ = ["refuse_seen", "remember"]

#: Models whose scores differ by less, on so many training rows, are one model.
SAME, MOST_ROWS = 1e-6, 1000

Known = tuple[TreeEnsemble | BlackBox, NDArray[np.float64]]


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
                f"Model {k} of {len(models)} was used to choose tau or answers for this problem, "
                "so it cannot judge them as well. Choose with some models and judge by others."
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

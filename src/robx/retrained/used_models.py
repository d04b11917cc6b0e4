"""Models that something was chosen with: remembered, and refused as judges of the choice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput
from robx.problem import Problem
from robx.retrained.scoring import scores_or_none
from robx.trees import BlackBox, TreeEnsemble

#: Models whose scores differ by less, on so many training rows, are one model.
SAME, MOST_ROWS = 1e-6, 1000

Model = TreeEnsemble | BlackBox
#: A model with its scores of some rows; an ensemble never changes, so it may wait for its own.
Known = tuple[Model, NDArray[np.float64] | None]


def remember(problem: Problem, models: Sequence[Model]) -> None:
    """Note that something about the problem was chosen by looking at these models."""
    problem.models_seen += tuple(
        (model, None if isinstance(model, TreeEnsemble) else _portrait(problem, model))
        for model in models
    )


def refuse_seen(problem: Problem, models: Sequence[Model], digests: Sequence[str] = ()) -> None:
    """Refuse to judge by models that were used to choose: they would flatter the choice.

    Parameters
    ----------
    problem : Problem
    models : sequence of models
        That are to judge.
    digests : sequence of str
        Of ensembles that were used elsewhere.
    """
    seen = list(problem.models_seen)
    if any(isinstance(model, BlackBox) for model in (*models, *(known for known, _ in seen))):
        seen = [(known, _portrait(problem, known) if of is None else of) for known, of in seen]
    for k, model in enumerate(models):
        used = isinstance(model, TreeEnsemble) and model.digest in digests
        if used or _is_among(problem, model, seen):
            raise InvalidInput(
                f"Model {k} of {len(models)} was used to choose tau or answers for this problem, "
                "so it cannot judge them as well. Choose with some models and judge by others."
            )


def _is_among(problem: Problem, model: Model, seen: Sequence[Known]) -> bool:
    """Tell ensembles by their content, others by their scores."""
    portrait = None
    for other, of in seen:
        if isinstance(model, TreeEnsemble) and isinstance(other, TreeEnsemble):
            same = model.digest == other.digest
        else:
            portrait = _portrait(problem, model) if portrait is None else portrait
            same = of is not None and np.allclose(portrait, of, rtol=0, atol=SAME)
        if same:
            return True
    return False


def _portrait(problem: Problem, model: Model) -> NDArray[np.float64]:
    """Give a model's scores of training rows, and of rows mixed from their columns.

    Whatever a model is wrapped in, these are the same; two models may well agree on the rows that
    both have learned, but hardly on mixed ones.
    """
    n = len(problem.all_rows)
    rows = problem.all_rows[np.unique(np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.intp))]
    mixed = np.random.default_rng(0).permuted(rows, axis=0)
    return scores_or_none(model, problem.codec.write(np.concatenate([rows, mixed])))

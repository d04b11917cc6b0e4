"""Asking models that came after: one by one about tables, or all of them about points."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Floats
from robx.errors import InvalidInput, UnsupportedModel
from robx.parallel import in_threads
from robx.problem import Problem
from robx.problem.memo import Identity
from robx.problem.used_models import scores_or_zero
from robx.recent import Recent
from robx.tables import count_rows, take
from robx.trees import BlackBox, Model, TreeEnsemble
from robx.trees.alignment import in_columns
from robx.trees.category_names import Source, UnnamedCategories
from robx.trees.combined import Combined
from robx.trees.importer import ParsedFile, holds_model, import_live, import_named

#: Rows that one thread scores at a time.
CHUNK = 128
#: Lists of models that a problem remembers.
MOST_LISTS = 4
#: Training rows of which a model must be able to score one.
MOST_CHECKED = 32
#: Training rows that show what a retrained pipeline was fitted on.
MOST_LIKE = 2000


def import_models(problem: Problem, models: Any) -> list[Model]:
    """Import models that score the same class as the problem's does."""
    if not isinstance(models, Sequence) or isinstance(models, str) or len(models) == 0:
        raise InvalidInput(
            "The models must be a list of at least one retrained model. Got "
            f"{type(models).__name__}."
        )
    # A function has no classes; all else is asked about the class that the problem is about.
    importing = importer_for(problem, has_pipelines=any(map(holds_model, models)))
    try:
        imported = [importing(model) for model in models]
    except UnnamedCategories:  # a file of categories that the problem's own model does not know
        sources = (problem.codec.write(problem.training),)
        imported = [importing(model, sources=sources) for model in models]
    return [in_columns_of(problem, model) for model in imported]


def importer_for(
    problem: Problem, like: Any = None, *, has_pipelines: bool = True
) -> partial[Model]:
    """Give the function that imports models like the problem's own.

    They score the same class, and know their categories by the same names. `like` are rows like
    those that they were trained on, otherwise some of the problem's own: pipelines and models
    that know categories by their names alone need such rows.
    """
    trees = problem.model.trees
    sources = () if trees is None else (trees.columns,)
    needs_names = trees is not None and any(column.as_text for column in trees.columns)
    if like is None and not problem.is_restored and (needs_names or has_pipelines):
        rows = problem.training if needs_names else problem.training[:MOST_LIKE]
        like = problem.codec.write(rows)
    return partial(import_retrained, target=problem.model.target, like=like, sources=sources)


def in_columns_of(problem: Problem, model: Model) -> Model:
    """Write a retrained model in the codes of the problem's own, where both are trees."""
    columns = problem.view.columns
    if model.trees is None or not columns:
        return model
    return in_columns(model.trees, columns) or model


def import_retrained(
    model: Any, target: Any, like: Any = None, sources: Sequence[Source] = ()
) -> Model:
    """Import a model; one that cannot be taken apart is still asked for its scores.

    `like` are rows like those that it was trained on, where there are any at hand. The names of
    categories are looked up in `sources`, if the model does not hold them.
    """
    if isinstance(model, BlackBox) and model.target is None:  # a function, which has no classes
        model = model.model
    try:
        if isinstance(model, Model | ParsedFile | str | os.PathLike):
            return import_named(model, target, sources)
        return import_live(model, target, like, sources)  # of a slow one, the first has warned
    except UnsupportedModel as error:
        if not hasattr(model, "predict_proba"):
            raise
        return BlackBox(model, target, why=str(error))


def scores(models: Sequence[Model], X: Any) -> NDArray[np.float64]:
    """Score of each model for each row: (models, n) float64."""
    return np.array([model.score(X) for model in models])


def check_readers(problem: Problem, models: Sequence[Model]) -> None:
    """Refuse models that can score no training row at all.

    Those in a file were asked when the explainer was fitted.
    """
    if problem.is_restored:
        return
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


class ModelScores:
    """Several models, ready to be asked about points of a problem.

    Models that read their columns as the problem's own does are asked all at once, about numbers;
    the others one by one, about a table.

    Parameters
    ----------
    problem : Problem
    models : sequence of Model
        Each must be able to score a training row.
    """

    def __init__(self, problem: Problem, models: Sequence[Model]) -> None:
        self.problem = problem
        self.models = [in_columns_of(problem, model) for model in models]
        check_readers(problem, self.models)

    @classmethod
    def of(cls, problem: Problem, models: Sequence[Model]) -> ModelScores:
        """Return the problem's scores of these models, made on first use; the last few are kept."""
        recent: Recent = problem.memo.get(("model scores",), lambda: Recent(MOST_LISTS))
        made: ModelScores = recent.get(Identity(models), lambda: cls(problem, models))
        return made

    def __len__(self) -> int:
        return len(self.models)

    def digests(self) -> list[str]:
        """Name the models by their content, as far as they have one."""
        return [model.digest for model in self.models if model.digest is not None]

    def scores(self, points: Floats, table: Callable[[], Any] | None = None) -> Floats:
        """Score of each model for each point: (models, n) float64.

        Parameters
        ----------
        points : (n, d) float64
        table : function, optional
            Gives the same points as a table, for models that take one; by default as the training
            table is stored. A model scores 0 where it refuses a row.
        """
        out = np.empty((len(self), len(points)))
        if self.alike:
            numbers = self.problem.view.numbers(points)

            def run(part: slice) -> None:
                for places, combined in self._groups:
                    out[places, part] = combined.scores(numbers[part])

            in_threads(run, len(points), CHUNK)
        if len(self.alike) < len(self) and len(points):
            written = self.problem.codec.write(points) if table is None else table()
            for k, model in enumerate(self.models):
                if k not in self.alike:
                    out[k] = scores_or_zero(model, written)
        return out

    @cached_property
    def alike(self) -> dict[int, TreeEnsemble]:
        """Models that take the same numbers for their columns as the problem's own does."""
        columns = self.problem.view.columns
        return {
            k: model.trees
            for k, model in enumerate(self.models)
            if model.trees is not None and columns and model.trees.columns == columns
        }

    @cached_property
    def _groups(self) -> list[tuple[NDArray[np.intp], Combined]]:
        """Ensembles that are scored at once, and their places among the models."""
        places: dict[tuple[Any, ...], list[int]] = {}
        for k, ensemble in self.alike.items():
            places.setdefault(Combined.way_of(ensemble), []).append(k)
        return [
            (np.array(some), Combined([self.alike[k] for k in some])) for some in places.values()
        ]

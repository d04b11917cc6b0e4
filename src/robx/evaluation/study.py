"""`Study`: an estimator and labelled rows, from which base models, applicants and changes come."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput, UnsupportedModel
from robx.parameters import check_number, check_whole, require
from robx.problem import Problem
from robx.retrained import import_models, retrainings
from robx.scenarios import Scenario, check_estimator, fresh, read_labels
from robx.scenarios.base import first_sentence
from robx.schema import Schema
from robx.schema.guess import warn_of_guess
from robx.tables import Category, count_rows, take
from robx.trees import BlackBox, Model
from robx.trees.importer import import_named

Rows = NDArray[np.intp]

#: Share of a base model's rows that a rehearsal trains on: never the rows of a real change.
REHEARSED = 0.8
#: Purposes of random numbers.
SPLIT, PICK, REHEARSE, TRAIN, RETRAIN = 1, 2, 3, 4, 5


@dataclass(frozen=True, eq=False)
class Study:
    """An estimator and labelled rows, from which base models and their successors are trained.

    Each seed splits the rows anew into a training part and a part that is set aside. A base model
    is trained on the training part, or on the rows of it that a scenario gives to the first model;
    the rows set aside that it declines are the applicants.

    Parameters
    ----------
    estimator : object with ``fit`` and ``predict_proba``
        It is cloned, and may be fitted or not.
    X : table of shape (n, d)
    y : (n,) labels
    schema : Schema, optional
        What may change; inferred from the training rows of each base model unless given.
    target : label, optional
        The class that counts as accepted.
    threshold : float
        A score above it is accepted.
    test : float
        Share of the rows to set aside.
    max_applicants : int, optional
        Maximum number of applicants for a base model, picked at random.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from robx.datasets import load_german
    >>> X, y, schema = load_german()
    >>> Study(RandomForestClassifier(30, random_state=0), X, y, schema=schema)
    <Study: RandomForestClassifier, 1000 rows, 30% set aside>
    """

    estimator: Any
    X: Any
    y: Any
    schema: Schema | None = None
    target: Category | None = None
    threshold: float = 0.5
    test: float = 0.3
    max_applicants: int | None = None

    def __post_init__(self) -> None:
        check_estimator(self.estimator, "estimator", "Study")
        labels = read_labels(self.y)
        if len(labels) != count_rows(self.X):
            raise InvalidInput(
                f"Study needs one label for each of the {count_rows(self.X)} rows of X. Got "
                f"{len(labels)}."
            )
        object.__setattr__(self, "y", labels)
        known = sorted(set(labels.tolist()))
        is_known = self.target is None or self.target in known
        require(is_known, self.target, "target", "Study", f"one of the labels, {known}")
        is_schema = self.schema is None or isinstance(self.schema, Schema)
        require(is_schema, self.schema, "schema", "Study", "a robx.Schema, or None")
        check_number(self.threshold, "threshold", "Study", least=0, below=1)
        check_number(self.test, "test", "Study", above=0, below=1)
        if self.max_applicants is not None:
            check_whole(self.max_applicants, "max_applicants", "Study")

    def split(self, seed: int) -> tuple[Rows, Rows]:
        """Rows to train on and rows to set aside, each in the order of the table."""
        order = np.random.default_rng([seed, SPLIT]).permutation(len(self.y))
        cut = round(self.test * len(order))
        return np.sort(order[cut:]), np.sort(order[:cut])

    def base_rows(self, scenario: Scenario, seed: int) -> Rows:
        """Rows of the table that the first model is trained on under a scenario."""
        train, _ = self.split(seed)
        return np.asarray(train[scenario.base_rows(len(train), seed)])

    def check(self, scenario: Scenario, seed: int, n_models: int) -> None:
        """Raise early for what would fail after models have been trained."""
        train, _ = self.split(seed)
        scenario.fits(self.estimator, self.y[train], n_models, seed)
        lacking = sorted(set(self.y.tolist()) - set(self.y[self.base_rows(scenario, seed)]))
        if lacking:
            raise InvalidInput(
                f"The base model of seed {seed} would see no row of class {lacking[0]!r}. Set "
                "fewer rows aside, or add rows of this class."
            )

    def base(self, rows: Rows, seed: int) -> Base:
        """Train a base model on some rows, and find the applicants whom it declines."""
        X, y = take(self.X, rows), self.y[rows]
        model = self._copy(seed)
        try:
            model.fit(X, y)
        except Exception as error:
            raise InvalidInput(
                f"The base model of seed {seed} could not be trained. "
                f"{type(model).__name__} says: {first_sentence(error)}"
            ) from error
        problem = self._problem(model, X)
        _, aside = self.split(seed)
        declined = aside[~(problem.read(take(self.X, aside)).score > problem.threshold)]
        if len(declined) == 0:
            raise InvalidInput(
                f"The base model of seed {seed} declines none of the {len(aside)} rows set aside, "
                "so there are no applicants. Set more rows aside, or raise the threshold."
            )
        if self.max_applicants is not None and len(declined) > self.max_applicants:
            rng = np.random.default_rng([seed, PICK])
            declined = np.sort(rng.choice(declined, self.max_applicants, replace=False))
        rehearsal = Rehearsal(problem, self._copy(seed), X, y, seed)
        return Base(seed, problem, take(self.X, declined), rehearsal)

    def _copy(self, seed: int) -> Any:
        return fresh(self.estimator, np.random.default_rng([seed, TRAIN]))

    def _problem(self, model: Any, X: Any) -> Problem:
        # Names of categories from all rows: models that follow may know others than this one.
        try:
            imported = import_named(model, self.target, (self.X,), X)
        except UnsupportedModel as error:  # only its scores can be used
            imported = BlackBox(model, self.target, why=str(error))
        guess = imported.trees is None and self.schema is None
        schema = self._guess if guess else self.schema
        return Problem(imported, X, schema, threshold=self.threshold)

    @cached_property
    def _guess(self) -> Schema:
        """A schema that knows every category of the table, also the rare ones."""
        guessed = Schema.infer(self.X)
        warn_of_guess(guessed.features, [one.names for one in guessed.together])
        return guessed

    def changed(
        self, scenario: Scenario, base: Base, n_models: int, n_jobs: int | None
    ) -> list[Model]:
        """Train the models that follow a base model."""
        train, _ = self.split(base.seed)
        rows = take(self.X, train), self.y[train]
        models = scenario.models(self.estimator, *rows, n_models, base.seed, n_jobs)
        return import_models(base.problem, list(models))

    def __repr__(self) -> str:
        name = type(self.estimator).__name__
        return f"<Study: {name}, {len(self.y)} rows, {self.test:.0%} set aside>"


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What may be known before the model changes: the base model and its training rows.

    A method that has something to choose is given to `evaluate` as a function of a rehearsal.
    `models` trains models to choose with, on a part of the base model's rows and with random
    numbers of their own; the models that judge the answers are trained later and cannot be reached
    from here.

    A rehearsal is optimistic: its applicants and models, also those of `OtherHalf`, come from rows
    that the base model was trained on.

    Parameters
    ----------
    problem : Problem
    estimator : as in the `Study`
    X, y : the rows that the base model was trained on
    seed : int

    Examples
    --------
    >>> import robx
    >>> def chosen(rehearsal):
    ...     models = rehearsal.models(robx.scenarios.Bootstrap(), n_models=5)
    ...     tau = robx.choose_tau(rehearsal.problem, rehearsal.applicants, models).tau
    ...     return robx.RobX(tau=tau)
    """

    problem: Problem
    estimator: Any
    X: Any
    y: Any
    seed: int
    #: Models that are trained already, for all methods.
    _trained: dict[int, tuple[Any, ...]] = field(default_factory=dict, repr=False)

    @property
    def applicants(self) -> Any:
        """The training rows that the base model declines."""
        declined = ~(self.problem.read(self.X).score > self.problem.threshold)
        return take(self.X, np.flatnonzero(declined))

    def models(
        self, scenario: Scenario, n_models: int = 20, n_jobs: int | None = None
    ) -> list[Any]:
        """Train models as a scenario would, on a random 80 % of the base model's rows."""
        n = len(self.y)
        rng = np.random.default_rng([self.seed, REHEARSE])
        rows = np.sort(rng.choice(n, round(REHEARSED * n), replace=False))
        seed = int(rng.integers(2**63))
        X, y = take(self.X, rows), self.y[rows]
        return list(scenario.models(self.estimator, X, y, n_models, seed, n_jobs))

    def retrainings(self, n_models: int = 48) -> tuple[Any, ...]:
        """Train models on random thirds of the base model's rows, as `robx.explain` does."""
        if n_models not in self._trained:
            seed = int(np.random.default_rng([self.seed, RETRAIN]).integers(2**63))
            models = list(retrainings(self.estimator, self.X, self.y, n_models, seed))
            self._trained[n_models] = tuple(import_models(self.problem, models))
        return self._trained[n_models]


@dataclass(frozen=True, eq=False)
class Base:
    """A base model: its problem, and the applicants whom it declines."""

    seed: int
    problem: Problem
    applicants: Any
    #: None where the training of the base model is not known.
    rehearsal: Rehearsal | None

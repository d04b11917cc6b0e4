"""What all scenarios share: which rows the first model sees, and the training of the new ones."""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from robx.errors import InvalidInput
from robx.parameters import check_jobs, check_whole
from robx.scenarios.estimators import check_estimator, fresh
from robx.tables import count_rows, take

#: What random numbers are for.
SPLIT, ROWS, SEEDS = range(3)

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Fit:
    """A training that is still to be done.

    Parameters
    ----------
    estimator : classifier
        Not fitted, with its parameters set.
    rows : array of shape (m,)
        Rows of the training table, sorted; some may repeat.
    labels : array of shape (m,)
        The label for each of these rows.
    """

    estimator: Any
    rows: Rows
    labels: NDArray[Any]


@dataclass(frozen=True)
class Scenario(ABC):
    """A way in which a model changes: its parameters, and the new models that come of it.

    Model k depends on the seed and on k, not on how many models there are, nor on `n_jobs`. Rows
    keep their order, so that a training where nothing changed gives the same model again.

    Estimators are copied. The copies train side by side on one core each, unless their own n_jobs
    (CatBoost: thread_count) says otherwise. XGBoost, LightGBM and HistGradientBoosting give the
    same model on any number of cores; CatBoost does not on tens of thousands of rows, so set its
    thread_count where first and new models must agree to the last digit. Where scikit-learn's
    random_state is None, each copy gets a seed of its own.

    A scenario of your own is a frozen dataclass with the one method `change`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> @dataclass(frozen=True)
    ... class WithoutTheOldest(Scenario):
    ...     n_rows: int
    ...     def change(self, estimator, labels, k, seed):
    ...         rows = np.arange(self.n_rows * (k + 1), len(labels))
    ...         return Fit(estimator, rows, labels[rows])
    >>> X, y = [[1], [2], [3], [4], [5], [6]], [0, 1, 0, 1, 0, 1]
    >>> for model in WithoutTheOldest(2).models(DecisionTreeClassifier(), X, y, n_models=2):
    ...     print(model.predict_proba([[1]]))
    [[1. 0.]]
    [[1. 0.]]
    """

    def base_rows(self, n: int, seed: int = 0) -> Rows:
        """Which of n training rows the first model is trained on.

        All of them, unless the scenario says otherwise.

        Parameters
        ----------
        n : int
        seed : int

        Returns
        -------
        array of shape (m,)
            Sorted.
        """
        check_whole(n, "n", self._name)
        check_whole(seed, "seed", self._name, least=0)
        return np.arange(n)

    @abstractmethod
    def change(self, estimator: Any, labels: NDArray[Any], k: int, seed: int) -> Fit:
        """What model k is trained on.

        Parameters
        ----------
        estimator : classifier
            A copy for this model: parameters may be set on it.
        labels : array of shape (n,)
            The labels of the whole training table: not to be written to.
        k : int
        seed : int

        Returns
        -------
        Fit
        """

    def fits(self, estimator: Any, y: Any, n_models: int = 20, seed: int = 0) -> list[Fit]:
        """What to train, without training it.

        Parameters
        ----------
        estimator : classifier
            In scikit-learn's form: XGBoost, LightGBM, CatBoost, a Pipeline ... It is not changed.
        y : sequence of shape (n,)
            Labels of the whole training table, also of rows that only the first model sees.
        n_models : int
        seed : int

        Returns
        -------
        list of Fit
            Model k is trained on the k-th.
        """
        check_estimator(estimator, "estimator", self._name)
        check_whole(n_models, "n_models", self._name)
        check_whole(seed, "seed", self._name, least=0)
        labels = read_labels(y)
        classes = set(labels.tolist())
        fits = []
        for k in range(n_models):
            fit = self.change(fresh(estimator, stream(seed, SEEDS, k)), labels, k, seed)
            missing = sorted(classes - set(fit.labels.tolist()))
            if missing:
                raise InvalidInput(
                    f"{self!r} leaves model {k + 1} no row of class {missing[0]!r}, of which y "
                    f"has {(labels == missing[0]).sum()}. Change fewer rows, or add some of it."
                )
            fits.append(fit)
        return fits

    def models(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        n_models: int = 20,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> Iterator[Any]:
        """Train the new models.

        Parameters
        ----------
        estimator, y, n_models, seed
            As for `fits`.
        X : table of shape (n, d)
            The whole training table, in the form that the estimator takes.
        n_jobs : int, optional
            Models to train at a time, as in joblib; as many as there are cores unless given.
            ``joblib.parallel_config`` may put other workers in the place of threads.

        Returns
        -------
        iterator of fitted classifiers
            In order, trained as they are asked for, some at a time.
        """
        check_jobs(n_jobs, self._name)
        labels = read_labels(y)
        if count_rows(X) != len(labels):
            raise InvalidInput(
                f"X and y must have the same number of rows. Got {count_rows(X)} and {len(labels)}."
            )
        fits = self.fits(estimator, labels, n_models, seed)
        return _trained(fits, X, str(self), -1 if n_jobs is None else int(n_jobs))

    @property
    def _name(self) -> str:
        return type(self).__name__


def stream(seed: int, *purpose: int) -> np.random.Generator:
    """Random numbers for one purpose, apart from those that the seed alone would give."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=purpose))


def read_labels(y: Any) -> NDArray[Any]:
    """Read one label for each row; at least two classes."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise InvalidInput(f"y must hold one label for each row. Got shape {labels.shape}.")
    if labels.dtype == object and len(labels):
        is_text = isinstance(labels[0], str)
        kind = str if is_text else bool | int | float | np.bool_ | np.number
        odd = [label for label in labels if not isinstance(label, kind)]
        if odd:
            raise InvalidInput(
                "y must hold numbers or text, not both, and none may be missing. Got "
                f"{odd[0]!r} among {'text' if is_text else 'numbers'}."
            )
        labels = labels if is_text else np.array(labels.tolist())  # from a nullable column
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        row = int(np.isnan(labels).argmax())
        raise InvalidInput(f"y must have a label for every row. Row {row} has none.")
    classes = np.unique(labels)
    if len(classes) < 2:
        raise InvalidInput(f"y must have at least two classes. Got {classes.tolist()}.")
    return labels


def _trained(fits: Sequence[Fit], X: Any, title: str, n_jobs: int) -> Iterator[Any]:
    """Train some at a time, so that nothing runs on while the caller looks at the models."""
    config = sklearn.get_config()  # which scikit-learn keeps for each thread
    size = 2 * effective_n_jobs(n_jobs)
    for first in range(0, len(fits), size):
        tasks = (delayed(_train)(fit, X, config) for fit in fits[first : first + size])
        # Forests that are trained side by side mix up Python's warning filters.
        with warnings.catch_warnings():
            trained = Parallel(n_jobs, prefer="threads")(tasks)
        for k, (fit, error) in enumerate(trained, first + 1):
            if error is not None:
                raise InvalidInput(
                    f"Model {k} of {len(fits)} in '{title}' could not be trained. "
                    f"{type(fit.estimator).__name__} says: {first_sentence(error)}"
                ) from error
            yield fit.estimator


def first_sentence(error: Exception) -> str:
    """Give what a library says first, without the places in its code that it names."""
    said = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    said = re.sub(r"^(?:\[[\d:]+\] )?(?:\S+\.\w+:\d+: )?", "", said.split("Stack trace")[0])
    return re.sub(r" at \S+, line \d+\s*\.?$", "", said).rstrip(" .") + "."


def _train(fit: Fit, X: Any, config: dict[str, Any]) -> tuple[Fit, Exception | None]:
    try:
        # HistGradientBoosting has no n_jobs: it takes what OpenMP gives it.
        with sklearn.config_context(**config), threadpool_limits(1, user_api="openmp"):
            fit.estimator.fit(take(X, fit.rows), fit.labels)
    except Exception as error:
        return fit, error
    return fit, None

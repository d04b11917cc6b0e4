"""What all scenarios share: the rows of the first model, and the training of the new models."""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput
from robx.parameters import check_jobs, check_whole
from robx.scenarios.estimators import check_estimator, fresh
from robx.tables import count_rows, take
from robx.trees.importer import holds_model

#: Purposes of random numbers.
SPLIT, ROWS, SEEDS = range(3)

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Fit:
    """What one model is to be trained on.

    Parameters
    ----------
    estimator : classifier
        Not fitted, with its parameters set.
    rows : array of shape (m,)
        Sorted positions in the training table; a row may occur more than once.
    labels : array of shape (m,)
        The label for each of these rows.
    """

    estimator: Any
    rows: Rows
    labels: NDArray[Any]


@dataclass(frozen=True)
class Scenario(ABC):
    """A way in which a model changes: the parameters of the change, and the new models.

    Model k depends on the seed and on k, but not on the number of models or on `n_jobs`. Rows keep
    their order, so that a training in which nothing changed gives the same model again.

    Estimators are copied. The copies are trained in parallel on one core each, unless their own
    n_jobs (CatBoost: thread_count) is set. XGBoost, LightGBM and HistGradientBoosting give the same
    model on any number of cores. CatBoost does not on tens of thousands of rows: set its
    thread_count if first and new models must agree to the last digit. If a random_state of
    scikit-learn is None, each copy gets a seed of its own.

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
        """Rows that the first model is trained on, of n training rows.

        All of them, unless the scenario defines otherwise.

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
        """Define what model k is trained on.

        Parameters
        ----------
        estimator : classifier
            A copy for this model, whose parameters may be set.
        labels : array of shape (n,)
            The labels of the whole training table; do not change them.
        k : int
        seed : int

        Returns
        -------
        Fit
        """

    def fits(self, estimator: Any, y: Any, n_models: int = 20, seed: int = 0) -> list[Fit]:
        """List what to train, without training it.

        Parameters
        ----------
        estimator : classifier
            In scikit-learn's form: XGBoost, LightGBM, CatBoost, a Pipeline ... It is not changed.
        y : sequence of shape (n,)
            Labels of the whole training table, including rows that only the first model sees.
        n_models : int
        seed : int

        Returns
        -------
        list of Fit
            One for each model.
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
                    f"has {(labels == missing[0]).sum()}. Change fewer rows, or add rows of it."
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
        then: Callable[[Any], Any] | None = None,
    ) -> Iterator[Any]:
        """Train the new models.

        Parameters
        ----------
        estimator, y, n_models, seed
            As for `fits`.
        X : table of shape (n, d)
            The whole training table, in the form that the estimator takes.
        n_jobs : int, optional
            Number of models to train at a time, as in joblib; by default the number of cores.
            ``joblib.parallel_config`` can replace the threads by other workers.
        then : function, optional
            What is given in place of a model: it is called with each as soon as that is trained,
            while others are being trained.

        Returns
        -------
        iterator of fitted classifiers
            In order, trained on demand, some at a time.
        """
        check_jobs(n_jobs, self._name)
        labels = read_labels(y)
        check_lengths(X, labels)
        fits = self.fits(estimator, labels, n_models, seed)
        return train(fits, X, str(self), n_jobs, then)

    def of_rows(self, rows: Rows) -> Scenario:  # noqa: ARG002
        """Give the same scenario for a table that has some of the rows.

        Parameters
        ----------
        rows : array of shape (m,)
            Sorted positions in the training table.
        """
        return self

    @property
    def next_model(self) -> str:
        """What the next model is, in words that go on after "a next model"."""
        return f"under the change '{self}'"

    @property
    def _name(self) -> str:
        return type(self).__name__


def stream(seed: int, *purpose: int) -> np.random.Generator:
    """Random numbers for one purpose, independent of those of the seed itself."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=purpose))


def read_labels(y: Any) -> NDArray[Any]:
    """Read labels, one for each row, of at least two classes."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise InvalidInput(f"y must hold one label for each row. Got shape {labels.shape}.")
    if labels.dtype == object and len(labels):
        is_text = isinstance(labels[0], str)
        kind = str if is_text else bool | int | float | np.bool_ | np.number
        odd = [label for label in labels if not isinstance(label, kind)]
        if odd:
            raise InvalidInput(
                "y must hold numbers or text, not both, without missing values. Got "
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


def check_lengths(X: Any, labels: NDArray[Any]) -> None:
    """Refuse labels that are not one for each row."""
    if count_rows(X) != len(labels):
        raise InvalidInput(
            f"X and y must have the same number of rows. Got {count_rows(X)} and {len(labels)}."
        )


def train(
    fits: Sequence[Fit],
    X: Any,
    title: str,
    n_jobs: int | None = None,
    then: Callable[[Any], Any] | None = None,
) -> Iterator[Any]:
    """Train some at a time, so that nothing runs on while the caller uses the models.

    Parameters
    ----------
    fits : sequence of Fit
        What to train on rows of X.
    X : table of shape (n, d)
    title : str
        What errors call it.
    n_jobs, then
        As for `Scenario.models`.
    """
    n_jobs = -1 if n_jobs is None else int(n_jobs)
    import sklearn  # noqa: PLC0415 - takes long to load, and a process that only answers needs none
    from joblib import Parallel, delayed, effective_n_jobs  # noqa: PLC0415

    config = sklearn.get_config()  # scikit-learn has one for each thread
    size = 2 * effective_n_jobs(n_jobs)
    # To fold a pipeline is to ask its steps without their warnings, which is not for threads.
    apart = None if any(holds_model(fit.estimator) for fit in fits) else then
    for first in range(0, len(fits), size):
        tasks = (delayed(_train)(fit, X, config, apart) for fit in fits[first : first + size])
        # Forests that are trained in parallel disturb Python's warning filters.
        with warnings.catch_warnings():
            # A thread may see no filters while another changes them, and scikit-learn warns then.
            warnings.filterwarnings("ignore", message=".*sklearn.utils.parallel.delayed")
            trained = Parallel(n_jobs, prefer="threads")(tasks)
        for k, (model, error) in enumerate(trained, first + 1):
            if error is not None:
                raise InvalidInput(
                    f"Model {k} of {len(fits)} in '{title}' could not be trained. "
                    f"{type(model).__name__} says: {first_sentence(error)}"
                ) from error
            yield model if then is apart or then is None else then(model)


def first_sentence(error: Exception) -> str:
    """Give the first sentence of a library's error, without places in its source code."""
    said = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    said = re.sub(r"^(?:\[[\d:]+\] )?(?:\S+\.\w+:\d+: )?", "", said.split("Stack trace")[0])
    return re.sub(r" at \S+, line \d+\s*\.?$", "", said).rstrip(" .") + "."


def _train(
    fit: Fit, X: Any, config: dict[str, Any], then: Callable[[Any], Any] | None
) -> tuple[Any, Exception | None]:
    import sklearn  # noqa: PLC0415 - as above
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # noqa: PLC0415

    try:
        # HistGradientBoosting has no n_jobs: it uses all that OpenMP allows.
        with sklearn.config_context(**config), threadpool_limits(1, user_api="openmp"):
            fit.estimator.fit(take(X, fit.rows), fit.labels)
    except Exception as error:
        return fit.estimator, error
    return fit.estimator if then is None else then(fit.estimator), None

"""Scenarios in which the estimator changes, among them the paper's moderate change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput
from robx.parameters import check_whole, require
from robx.scenarios.base import SEEDS, SPLIT, Fit, Scenario, stream
from robx.scenarios.estimators import check_estimator, fresh, set_seeds
from robx.scenarios.varying import read_vary, set_one


@dataclass(frozen=True)
class Hyperparameter(Scenario):
    """Each new model has one hyperparameter changed: the paper's minor change (ii).

    Model k takes the k-th pair of a name and a value in `vary`. Further models start again with the
    first pair, and are the same models.

    Parameters
    ----------
    vary : mapping from names to sequences
        Parameters of the estimator, and values for them. Those of a Pipeline have the names that
        its set_params takes, such as "model__max_depth".

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> scenario = Hyperparameter(vary={"max_depth": [3, 5], "min_samples_leaf": [10]})
    >>> fits = scenario.fits(DecisionTreeClassifier(random_state=0), [0, 1] * 20, n_models=3)
    >>> [fit.estimator for fit in fits]
    [DecisionTreeClassifier(max_depth=3, random_state=0),
     DecisionTreeClassifier(max_depth=5, random_state=0),
     DecisionTreeClassifier(min_samples_leaf=10, random_state=0)]
    """

    vary: Mapping[str, Sequence[Any]]

    def __post_init__(self) -> None:
        vary = read_vary(self.vary, "Hyperparameter")
        if not vary:
            raise InvalidInput(
                "The 'vary' parameter of Hyperparameter must name at least one hyperparameter. "
                f"Got {self.vary!r} instead."
            )
        object.__setattr__(self, "vary", vary)

    def __str__(self) -> str:
        return "one hyperparameter varied"

    @property
    def next_model(self) -> str:
        """See `Scenario.next_model`."""
        return f"trained on the same rows with another {' or '.join(self.vary)}"

    def change(self, estimator: Any, labels: NDArray[Any], k: int, seed: int) -> Fit:  # noqa: ARG002
        """See `Scenario.change`."""
        set_one(estimator, self.vary, k, "Hyperparameter")
        return Fit(estimator, np.arange(len(labels)), labels)


@dataclass(frozen=True)
class OtherHalf(Scenario):
    """The first model is trained on a random half of the rows, the new ones on the other half.

    With `vary`, this is the paper's moderate change: each new model has one hyperparameter changed,
    as in `Hyperparameter`. Without it, each gets a new seed if the estimator has one. An estimator
    that does not use its seed, such as XGBoost without subsampling, gives the same model every
    time, so that one is enough.

    Parameters
    ----------
    vary : mapping from names to sequences, optional

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> scenario = OtherHalf(vary={"max_depth": [3, 5]})
    >>> first = scenario.base_rows(40, seed=1)
    >>> fits = scenario.fits(DecisionTreeClassifier(), [0, 1] * 20, n_models=2, seed=1)
    >>> [sorted({*first, *fit.rows}) == list(range(40)) for fit in fits]
    [True, True]
    >>> [fit.estimator.max_depth for fit in fits]
    [3, 5]
    """

    vary: Mapping[str, Sequence[Any]] | None = None

    def __post_init__(self) -> None:
        vary = None if self.vary is None else read_vary(self.vary, "OtherHalf")
        object.__setattr__(self, "vary", vary or None)

    def __str__(self) -> str:
        return "other half, one hyperparameter varied" if self.vary else "other half"

    @property
    def next_model(self) -> str:
        """See `Scenario.next_model`."""
        return "trained on as many new rows of the same source" + (
            f", with another {' or '.join(self.vary)}" if self.vary else ""
        )

    def base_rows(self, n: int, seed: int = 0) -> NDArray[np.intp]:
        """See `Scenario.base_rows`."""
        check_whole(n, "n", "OtherHalf", least=2)
        rows = super().base_rows(n, seed)
        return np.sort(stream(seed, SPLIT).permutation(rows)[: (n + 1) // 2])

    def change(self, estimator: Any, labels: NDArray[Any], k: int, seed: int) -> Fit:
        """See `Scenario.change`."""
        if self.vary:
            set_one(estimator, self.vary, k, "OtherHalf")
        else:
            set_seeds(estimator, stream(seed, SEEDS, k))
        n = len(labels)
        rows = np.delete(np.arange(n), self.base_rows(n, seed))
        return Fit(estimator, rows, labels[rows])


@dataclass(frozen=True)
class NewSeed(Scenario):
    """Only the seed changes: every random_state of the estimator and of estimators inside it.

    An estimator that does not use its seed, such as XGBoost without subsampling, gives the same
    model every time.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> fits = NewSeed().fits(DecisionTreeClassifier(random_state=0), [0, 1] * 20, n_models=3)
    >>> len({fit.estimator.random_state for fit in fits})
    3
    """

    def __str__(self) -> str:
        return "new seed"

    @property
    def next_model(self) -> str:
        """See `Scenario.next_model`."""
        return "trained on the same rows with another seed"

    def change(self, estimator: Any, labels: NDArray[Any], k: int, seed: int) -> Fit:
        """See `Scenario.change`."""
        if not set_seeds(estimator, stream(seed, SEEDS, k)):
            raise InvalidInput(
                "NewSeed needs an estimator with a random_state. "
                f"{type(estimator).__name__} has none."
            )
        return Fit(estimator, np.arange(len(labels)), labels)


@dataclass(frozen=True)
class OtherLibrary(Scenario):
    """Other estimators replace the first one, on the same rows.

    Model k is the k-th estimator. Further models start again with the first one, with new seeds
    if the estimators have any.

    Parameters
    ----------
    estimators : sequence of classifiers
        In scikit-learn's form. They are not changed.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> scenario = OtherLibrary([RandomForestClassifier(9), ExtraTreesClassifier(9)])
    >>> fits = scenario.fits(DecisionTreeClassifier(), [0, 1] * 20, n_models=3)
    >>> [type(fit.estimator).__name__ for fit in fits]
    ['RandomForestClassifier', 'ExtraTreesClassifier', 'RandomForestClassifier']
    """

    estimators: Sequence[Any]

    def __post_init__(self) -> None:
        sound = isinstance(self.estimators, list | tuple) and len(self.estimators) > 0
        expected = "a list of at least one classifier"
        require(sound, self.estimators, "estimators", "OtherLibrary", expected)
        for estimator in self.estimators:
            check_estimator(estimator, "estimators", "OtherLibrary")
        object.__setattr__(self, "estimators", tuple(self.estimators))

    def __str__(self) -> str:
        return "other library"

    @property
    def next_model(self) -> str:
        """See `Scenario.next_model`."""
        return "of another kind, trained on the same rows"

    def change(self, estimator: Any, labels: NDArray[Any], k: int, seed: int) -> Fit:  # noqa: ARG002
        """See `Scenario.change`."""
        again, which = divmod(k, len(self.estimators))
        other = fresh(self.estimators[which], stream(seed, SEEDS, k))
        if again:
            set_seeds(other, stream(seed, SEEDS, k))
        return Fit(other, np.arange(len(labels)), labels)

"""Scenarios in which the training data change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput
from robx.parameters import check_number, check_whole
from robx.scenarios.base import ROWS, SEEDS, SPLIT, Fit, Scenario, stream
from robx.scenarios.estimators import set_seeds
from robx.scenarios.varying import read_vary, set_one

#: Maximum number of draws until every class has a row.
MOST_DRAWS = 1000


@dataclass(frozen=True)
class DropRows(Scenario):
    """Each new model is trained without k random rows: the paper's minor change (i).

    Parameters
    ----------
    k : int

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.random.default_rng(0).random((100, 2))
    >>> y = X[:, 0] > 0.5
    >>> [len(fit.rows) for fit in DropRows(10).fits(DecisionTreeClassifier(), y, n_models=3)]
    [90, 90, 90]
    >>> [tree.get_depth() for tree in DropRows(10).models(DecisionTreeClassifier(), X, y, 3)]
    [1, 1, 1]
    """

    k: int

    def __post_init__(self) -> None:
        check_whole(self.k, "k", "DropRows")

    def __str__(self) -> str:
        return f"drop {self.k} row{'s' if self.k > 1 else ''}"

    @property
    def next_model(self) -> str:
        """See `Scenario.next_model`."""
        return f"trained without {self.k} of the rows"

    def change(self, estimator: Any, labels: NDArray[Any], k: int, seed: int) -> Fit:
        """See `Scenario.change`."""
        n = len(labels)
        if self.k >= n:
            raise InvalidInput(f"{self!r} needs a table of more than {self.k} rows. Got {n}.")
        dropped = stream(seed, ROWS, k).choice(n, self.k, replace=False)
        rows = np.delete(np.arange(n), dropped)
        return Fit(estimator, rows, labels[rows])


@dataclass(frozen=True)
class Bootstrap(Scenario):
    """Each new model is trained on a bootstrap: n of the n rows, drawn with replacement.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> fit, = Bootstrap().fits(DecisionTreeClassifier(), [0, 1] * 4, n_models=1)
    >>> fit.rows.tolist()
    [0, 3, 3, 3, 5, 5, 7, 7]
    """

    def __str__(self) -> str:
        return "bootstrap"

    @property
    def next_model(self) -> str:
        """See `Scenario.next_model`."""
        return "trained on the same rows, drawn again with replacement"

    def change(self, estimator: Any, labels: NDArray[Any], k: int, seed: int) -> Fit:
        """See `Scenario.change`."""
        n = len(labels)
        rows = np.sort(stream(seed, ROWS, k).integers(n, size=n))
        return Fit(estimator, rows, labels[rows])


@dataclass(frozen=True)
class LabelFlips(Scenario):
    """Each new model is trained with wrong labels for a random share of the rows.

    Of more than two classes, the wrong one is drawn at random.

    Parameters
    ----------
    share : float
        Above 0 and below 1. At least one label changes.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> y = ["good"] * 5 + ["bad"] * 5
    >>> fit, = LabelFlips(0.1).fits(DecisionTreeClassifier(), y, n_models=1)
    >>> sum(old != new for old, new in zip(y, fit.labels))
    1
    """

    share: float

    def __post_init__(self) -> None:
        check_number(self.share, "share", "LabelFlips", above=0, below=1)

    def __str__(self) -> str:
        return f"{100 * self.share:.3g}% of labels flipped"

    @property
    def next_model(self) -> str:
        """See `Scenario.next_model`."""
        return f"trained with {100 * self.share:.3g} % of the labels wrong"

    def change(self, estimator: Any, labels: NDArray[Any], k: int, seed: int) -> Fit:
        """See `Scenario.change`."""
        n, rng = len(labels), stream(seed, ROWS, k)
        classes, codes = np.unique(labels, return_inverse=True)
        flipped = rng.choice(n, max(1, round(self.share * n)), replace=False)
        codes[flipped] += rng.integers(1, len(classes), size=len(flipped))
        return Fit(estimator, np.arange(n), classes[codes % len(classes)])


@dataclass(frozen=True)
class MoreData(Scenario):
    """Each new model is trained on more rows of a table that is in order of time.

    The first model sees the share `first` of the rows. The other rows arrive in `steps` equal
    steps, and model k is trained after step k. Further models start again with the rows of step 1,
    with a new seed if the estimator has one.

    Parameters
    ----------
    first : float
        Above 0 and below 1.
    steps : int
        20 by default, the default number of models.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> scenario = MoreData(first=0.4, steps=3)
    >>> scenario.base_rows(10).tolist()
    [0, 1, 2, 3]
    >>> fits = scenario.fits(DecisionTreeClassifier(), [0, 1] * 5, n_models=4)
    >>> [len(fit.rows) for fit in fits]
    [6, 8, 10, 6]
    """

    first: float = 0.5
    steps: int = 20

    def __post_init__(self) -> None:
        check_number(self.first, "first", "MoreData", above=0, below=1)
        check_whole(self.steps, "steps", "MoreData")

    def __str__(self) -> str:
        return f"more data after the first {100 * self.first:.3g}%"

    def base_rows(self, n: int, seed: int = 0) -> NDArray[np.intp]:
        """See `Scenario.base_rows`."""
        check_whole(n, "n", "MoreData", least=2)
        rows = super().base_rows(n, seed)
        return rows[: min(max(round(self.first * n), 1), n - 1)]

    @property
    def next_model(self) -> str:
        """See `Scenario.next_model`."""
        return "trained again as more rows have come"

    def change(self, estimator: Any, labels: NDArray[Any], k: int, seed: int) -> Fit:
        """See `Scenario.change`."""
        n = len(labels)
        n_first = len(self.base_rows(n, seed))
        step = k % self.steps + 1
        rows = np.arange(n_first + -(-(n - n_first) * step // self.steps))
        if k >= self.steps:
            set_seeds(estimator, stream(seed, SEEDS, k))
        return Fit(estimator, rows, labels[rows])


@dataclass(frozen=True)
class Subsample(Scenario):
    """Each new model is trained on a random share of the rows, drawn without replacement.

    A draw in which a class is missing is repeated.

    Parameters
    ----------
    share : float
        Above 0 and below 1. Models on smaller shares differ more.
    vary : mapping from names to sequences, optional
        Each model has one hyperparameter changed, as in `Hyperparameter`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> fit, = Subsample(0.5).fits(DecisionTreeClassifier(), [0, 1] * 4, n_models=1)
    >>> len(fit.rows)
    4
    """

    share: float = 0.5
    vary: Mapping[str, Sequence[Any]] | None = None

    def __post_init__(self) -> None:
        check_number(self.share, "share", "Subsample", above=0, below=1)
        vary = None if self.vary is None else read_vary(self.vary, "Subsample")
        object.__setattr__(self, "vary", vary or None)

    def __str__(self) -> str:
        return f"random {100 * self.share:.3g}% of the rows"

    @property
    def next_model(self) -> str:
        """See `Scenario.next_model`."""
        return f"trained on a random {100 * self.share:.3g} % of the rows"

    def change(self, estimator: Any, labels: NDArray[Any], k: int, seed: int) -> Fit:
        """See `Scenario.change`."""
        if self.vary:
            set_one(estimator, self.vary, k, "Subsample")
        n, rng = len(labels), stream(seed, ROWS, k)
        size, n_classes = max(1, round(self.share * n)), len(np.unique(labels))
        for _ in range(MOST_DRAWS):
            rows = np.sort(rng.choice(n, size, replace=False))
            if len(np.unique(labels[rows])) == n_classes:
                break
        return Fit(estimator, rows, labels[rows])


@dataclass(frozen=True, eq=False)
class LaterVintage(Scenario):
    """The first model is trained on the rows of one time, the new ones on as many rows after it.

    A third of the rows, in the order of their dates, is the time of the first model; it begins
    anywhere in the first third. The next third is that of the new models, which get new seeds if
    the estimator has any.

    Parameters
    ----------
    dates : sequence of shape (n,)
        When each row came about: dates or numbers, one for each row of the table.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> scenario = LaterVintage([2023, 2021, 2022, 2021, 2022, 2023])
    >>> first = scenario.base_rows(6)
    >>> fit, = scenario.fits(DecisionTreeClassifier(), [0, 1] * 3, n_models=1)
    >>> len(first), len(fit.rows), set(first) & set(fit.rows.tolist())
    (2, 2, set())
    """

    dates: Any = field(repr=False)

    def __post_init__(self) -> None:
        dates = np.array(self.dates)  # a copy: the caller's own may change
        if not (dates.ndim == 1 and len(dates) >= 3 and _have_an_order(dates)):
            raise InvalidInput(
                "The 'dates' parameter of LaterVintage must have a date or a number for every row, "
                f"of three at least, none missing. Got {type(self.dates).__name__} of shape "
                f"{dates.shape}."
            )
        object.__setattr__(self, "dates", dates)

    def __str__(self) -> str:
        return "later vintage"

    @property
    def next_model(self) -> str:
        """See `Scenario.next_model`."""
        return "trained on as many rows of the time after"

    def of_rows(self, rows: NDArray[np.intp]) -> LaterVintage:
        """See `Scenario.of_rows`."""
        return LaterVintage(self.dates[rows])

    def base_rows(self, n: int, seed: int = 0) -> NDArray[np.intp]:
        """See `Scenario.base_rows`."""
        super().base_rows(n, seed)
        return np.sort(self._times(n, seed)[0])

    def change(self, estimator: Any, labels: NDArray[Any], k: int, seed: int) -> Fit:
        """See `Scenario.change`."""
        rows = np.sort(self._times(len(labels), seed)[1])
        set_seeds(estimator, stream(seed, SEEDS, k))
        return Fit(estimator, rows, labels[rows])

    def _times(self, n: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows of the first model's time and of the one after it."""
        if n != len(self.dates):
            raise InvalidInput(
                f"LaterVintage has {len(self.dates)} dates, and the table has {n} rows."
            )
        order, size = np.argsort(self.dates, kind="stable"), n // 3
        begin = int(stream(seed, SPLIT).integers(n - 2 * size + 1))
        return order[begin : begin + size], order[begin + size : begin + 2 * size]


def _have_an_order(values: NDArray[Any]) -> bool:
    """Tell whether values are of one kind that has an order, none of them missing."""
    if values.dtype.kind == "O":
        if any(type(one) is not type(values[0]) for one in values):
            return False
        try:
            np.sort(values)
        except TypeError:
            return False
    return bool(np.equal(values, values).all())  # what is missing differs from itself

"""Training a model again, on less of its own data, to see how it might have come out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from robx.scenarios import Subsample
from robx.tables import count_rows

#: What retrained models see of the training rows. If the variance of a score falls with the number
#: of rows n as v / n, then around the model of all rows one of a share s varies by v (1/s - 1) / n,
#: and one of n new rows by 2 v / n: they are alike at s = 1/3.
SHARE = 1 / 3
#: And no more rows than this, which bounds the time of training on a large table. Models of fewer
#: rows differ more, which makes answers safer, not less so.
MOST_ROWS = 20_000


def retrainings(
    estimator: Any,
    X: Any,
    y: Any,
    n_models: int = 48,
    seed: int = 0,
    then: Callable[[Any], Any] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
) -> Iterator[Any]:
    """Train models on random thirds of the rows, or on `MOST_ROWS` of them, as they are asked for.

    Parameters
    ----------
    estimator : classifier
        In scikit-learn's form. It is not changed.
    X : table of shape (n, d)
    y : (n,) labels
    n_models : int
    seed : int
    then : function, optional
        What is given in place of a model: it is called with each as soon as that is trained, while
        others are being trained.
    vary : mapping from names to sequences, optional
        Each model has one hyperparameter changed, as in `robx.scenarios.Hyperparameter`.

    Returns
    -------
    iterator of fitted classifiers

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.random.default_rng(0).random((90, 2))
    >>> trees = list(retrainings(DecisionTreeClassifier(), X, X[:, 0] > 0.5, n_models=3))
    >>> [int(tree.tree_.n_node_samples[0]) for tree in trees]
    [30, 30, 30]
    """
    share = share_of_rows(count_rows(X))
    return Subsample(share, vary).models(estimator, X, y, n_models, seed, then=then)


def share_of_rows(n: int) -> float:
    """Share of n rows that a model is trained on again.

    Examples
    --------
    >>> share_of_rows(1_000_000)
    0.02
    """
    return min(SHARE, MOST_ROWS / max(n, 1))


def drawn_from(n: int) -> str:
    """Say on what models are trained again, if there are n rows.

    Examples
    --------
    >>> drawn_from(1_000_000)
    'trained on 20,000 random training rows each'
    """
    if share_of_rows(n) < SHARE:
        return f"trained on {MOST_ROWS:,} random training rows each"
    return "trained on random thirds of the training rows"

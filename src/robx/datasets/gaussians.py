"""Two Gaussians: the paper's example of why a counterfactual fails, in any size."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from robx.datasets.dataset import Dataset
from robx.parameters import check_number, check_whole
from robx.schema import Feature, Schema


def make_gaussians(n: int = 1000, d: int = 2, *, separation: float = 2.0, seed: int = 0) -> Dataset:
    """Draw from two Gaussians, one for each class, half of the rows from each.

    The paper draws from N(mu, Sigma) where y is 1 and from N(-mu, Sigma) where it is 0. Here Sigma
    is the identity, and all entries of mu are equal, so that all columns are equally informative.
    The accuracy of a model is at most the normal distribution function of ``separation / 2``: 84 %
    for a separation of 2.

    Parameters
    ----------
    n : int
        Number of rows, at least 2. If it is odd, class 1 has one more.
    d : int
        Number of columns.
    separation : float
        Distance between the two centres, in standard deviations.
    seed : int
        The same seed gives the same rows.

    Returns
    -------
    Dataset
        Columns ``x0``, ``x1``, ..., all continuous and free to change; rows in random order.

    Examples
    --------
    >>> X, y, schema = make_gaussians(500, 3)
    >>> X.shape, int(y.sum()), schema.names
    ((500, 3), 250, ('x0', 'x1', 'x2'))
    >>> bool(X[y == 1].mean().mean() > 0 > X[y == 0].mean().mean())
    True
    """
    check_whole(n, "n", "make_gaussians", 2)
    check_whole(d, "d", "make_gaussians")
    check_whole(seed, "seed", "make_gaussians", 0)
    check_number(separation, "separation", "make_gaussians", least=0)
    n, d, separation = int(n), int(d), float(separation)
    rng = np.random.default_rng(int(seed))
    y = rng.permutation(np.arange(1, n + 1) % 2)
    X = rng.standard_normal((n, d))
    X += np.where(y == 1, 0.5, -0.5)[:, None] * (separation / math.sqrt(d))
    names = [f"x{j}" for j in range(d)]
    return Dataset(
        pd.DataFrame(X, columns=names),
        pd.Series(y, name="good"),
        Schema(Feature(name, scale="range") for name in names),
    )

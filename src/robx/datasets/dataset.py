"""`Dataset`: what every loader returns."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from robx.schema import Schema


class Dataset(NamedTuple):
    """A table, its labels and its schema: ``X, y, schema = load_german()``.

    Parameters
    ----------
    X : DataFrame of shape (n, d)
        In its original units, not scaled.
    y : Series of shape (n,)
        1 is the good outcome, 0 the bad one.
    schema : Schema
        What the columns are and what may change, without scales: a `robx.Problem` takes these from
        its training table, and ``schema.fit(X)`` from any other table.
    """

    X: pd.DataFrame
    y: pd.Series
    schema: Schema

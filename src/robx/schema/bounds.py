"""Minimum and maximum of every column for every applicant, for all columns at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from robx.arrays import Bools, Floats
from robx.schema.feature import Feature

#: Rows that are worked out at a time, so that long tables need no second one beside them.
ROWS_AT_ONCE = 2**13
#: From a column and what applicants have in it to the limits that are stated relative to that.
Relative = Callable[[int, Floats], tuple[Floats, Floats]]


class ColumnBounds:
    """What a schema says of single columns, as arrays over the columns.

    Parameters
    ----------
    features : d Features
    storable : (2, d) float64
        Minimum and maximum that the columns' dtypes can store.
    first_place : (d,) float64
        Numbers below which values have no place among ordered levels.
    relative : function
        Minimum and maximum of a column by what applicants have in it.
    """

    def __init__(
        self,
        features: Sequence[Feature],
        storable: Floats,
        first_place: Floats,
        relative: Relative,
    ) -> None:
        self._storable, self._first_place = storable, first_place
        self._relative = relative
        self._is_label = np.array([f.kind == "categorical" for f in features], dtype=bool)
        self._is_member = np.array([f.kind == "onehot" for f in features], dtype=bool)
        self._low = np.array([np.nan if f.low is None else f.low for f in features])
        self._high = np.array([np.nan if f.high is None else f.high for f in features])
        self._stays_up = _where(features, {"none", "increase"})
        self._stays_down = _where(features, {"none", "decrease"})
        limited = [f.max_increase is not None or f.max_decrease is not None for f in features]
        self._limited = np.flatnonzero(limited).tolist()

    def of(self, X: Floats, seen: Floats) -> tuple[Floats, Floats]:
        """Bounds of all columns, for applicants X who may go where others were seen: (n, d) each.

        Parameters
        ----------
        X : (n, d) float64
        seen : (2, d) float64
        """
        low, high = np.empty(X.shape), np.empty(X.shape)
        for first in range(0, len(X), ROWS_AT_ONCE):
            part = slice(first, first + ROWS_AT_ONCE)
            self._write(X[part], seen, slice(None), low[part], high[part])
        return low, high

    def of_column(self, j: int, x: Floats, seen: Floats) -> tuple[Floats, Floats]:
        """Bounds of one column, for applicants with values x in it: (n,) each."""
        low, high = np.empty((len(x), 1)), np.empty((len(x), 1))
        self._write(x[:, None], seen[:, None], slice(j, j + 1), low, high)
        return low[:, 0], high[:, 0]

    def _write(self, X: Floats, seen: Floats, some: slice, low: Floats, high: Floats) -> None:
        """Write the bounds of some columns, of which X has the values."""
        is_member, is_label = self._is_member[some], self._is_label[some]
        # Any member may be set, and any category taken, also one that nobody has.
        np.fmin(X, np.where(is_label, -np.inf, np.where(is_member, 0.0, seen[0])), out=low)
        np.fmax(X, np.where(is_label, np.inf, np.where(is_member, 1.0, seen[1])), out=high)
        # A stated range counts, also where nobody was seen in it.
        np.copyto(low, self._low[some], where=~np.isnan(self._low[some]))
        np.copyto(high, self._high[some], where=~np.isnan(self._high[some]))
        np.fmax(low, X, out=low, where=self._stays_up[some])
        np.fmin(high, X, out=high, where=self._stays_down[some])
        for k, j in enumerate(range(*some.indices(len(self._low)))):
            if j in self._limited:
                least, most = self._relative(j, X[:, k])
                np.fmax(low[:, k], least, out=low[:, k])
                np.fmin(high[:, k], most, out=high[:, k])
        storable = self._storable[:, some]
        np.fmax(low, np.fmin(X, storable[0]), out=low)
        np.fmin(high, np.fmax(X, storable[1]), out=high)
        # From a value that has no place in an order, no direction leads anywhere.
        nowhere = ((low > high) | (self._first_place[some] > X)) & ~np.isnan(X)
        np.copyto(low, X, where=nowhere)
        np.copyto(high, X, where=nowhere)


def _where(features: Sequence[Feature], changes: set[str]) -> Bools:
    return np.array([f.change in changes for f in features], dtype=bool)

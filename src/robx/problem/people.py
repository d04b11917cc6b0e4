"""`PeopleIndex`: how many training people share what an answer asks for."""

from __future__ import annotations

from functools import cache

import numpy as np

from robx.answers import Crowds
from robx.arrays import Bools, Floats, Ints, same

#: Answers that are looked up at a time, so that long batches need little memory.
AT_ONCE = 2**12
#: So many rows are compared in all columns at once, more of them column by column.
FEW = 256


class PeopleIndex:
    """Accepted training rows, looked up by their values.

    Columns are sorted when they are first asked for, so that an answer costs some microseconds
    and not a pass over all rows.

    Parameters
    ----------
    rows : (m, d) float64
    """

    def __init__(self, rows: Floats) -> None:
        self._rows = rows
        self._sorted = cache(self._sort)

    def crowds(
        self, points: Floats, X: Floats, answered: Bools, k_anonymous: int | None = None
    ) -> Crowds:
        """Count, for each answer, the rows that have all values that it changes to.

        Parameters
        ----------
        points, X : (n, d) float64
            The answers, and the applicants.
        answered : (n,) bool
        k_anonymous : int, optional
            What the answers were made with.
        """
        size, whole = np.zeros(len(points), dtype=np.int64), np.zeros(len(points), dtype=bool)
        rows = np.flatnonzero(answered)
        for first in range(0, len(rows), AT_ONCE):
            some = rows[first : first + AT_ONCE]
            z = points[some]
            stays = same(z, X[some])
            low, high = self._ranges(z, ~stays)
            # The rarest value first: what it leaves is compared in the other columns.
            rarest = np.argmin(high - low, axis=1)
            for i, k, j in zip(some, range(len(some)), rarest.tolist(), strict=True):
                if low[k, j] < high[k, j]:
                    found = self._sorted(j)[0][low[k, j] : high[k, j]]
                    size[i], whole[i] = self._counted(found, z[k], stays[k])
        return Crowds(size, whole, np.array(answered, dtype=bool), len(self._rows), k_anonymous)

    def _ranges(self, points: Floats, changed: Bools) -> tuple[Ints, Ints]:
        """Where the values that points change to are among the sorted ones: (n, d) each.

        All rows, in columns that do not change.
        """
        low = np.zeros(points.shape, dtype=np.int64)
        high = np.full(points.shape, len(self._rows), dtype=np.int64)
        for j in np.flatnonzero(changed.any(axis=0)).tolist():
            _, values = self._sorted(j)
            wanted, some = points[changed[:, j], j], changed[:, j]
            low[some, j] = np.searchsorted(values, wanted, "left")
            high[some, j] = np.searchsorted(values, wanted, "right")
        return low, high

    def _counted(self, rows: Ints, point: Floats, stays: Bools) -> tuple[int, bool]:
        """Count rows that have what a point changes to, and tell whether one has all of it."""
        if len(rows) > FEW:
            rows = self._narrowed(rows, point, np.flatnonzero(~stays))
            return len(rows), len(self._narrowed(rows, point, np.flatnonzero(stays))) > 0
        alike = same(self._rows[rows], point)
        return int((alike | stays).all(axis=1).sum()), bool(alike.all(axis=1).any())

    def _narrowed(self, rows: Ints, point: Floats, columns: Ints) -> Ints:
        """Those of some rows that have the values of a point in some columns."""
        for j in columns:
            if not len(rows):
                break
            rows = rows[same(self._rows[rows, j], point[j])]
        return rows

    def _sort(self, j: int) -> tuple[Ints, Floats]:
        order = np.argsort(self._rows[:, j], kind="stable")
        return order, self._rows[order, j]

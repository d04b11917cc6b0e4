"""`Sample`: what a table tells of the raw columns that the fitted transformers do not.

That is in which dtype a column is stored, in which a transformer may compute; what stands for a
missing value; and which values there are, where nothing else is known of a column.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from robx.arrays import Floats
from robx.tables import (
    Layout,
    Storage,
    as_pandas,
    column_values,
    count_rows,
    is_missing,
    opened,
    take,
)

#: Rows that are looked at, and values of a column of numbers that are asked about.
MOST_ROWS, MOST_VALUES = 20_000, 500


class Sample:
    """Rows of a raw table.

    Parameters
    ----------
    X : table of shape (n, d)
    """

    def __init__(self, X: Any) -> None:
        n = count_rows(X)
        rows = np.unique(np.linspace(0, max(n - 1, 0), min(n, MOST_ROWS)).astype(np.intp))
        self._table = X if n <= MOST_ROWS else take(X, rows)
        self.layout = Layout.of(X)
        #: Names of the columns, as the table has them.
        self.names = self.layout.names

    def _place(self, name: str, j: int) -> int | None:
        if not self.layout.named:
            return j if j < len(self.names) else None
        return self.names.index(name) if name in self.names else None

    def storage(self, name: str, j: int) -> Storage | None:
        """How a column is stored; None if the table does not have it."""
        place = self._place(name, j)
        return None if place is None else self.layout.columns[place]

    def number_dtype(self, name: str, j: int) -> np.dtype[Any]:
        """In which dtype numbers of a column are computed with: float64 unless it is a smaller."""
        store = self.storage(name, j)
        narrow = store is not None and store.number in {"float16", "float32"}
        return np.dtype(store.number if store is not None and narrow else np.float64)

    def holds_none(self, name: str, j: int) -> bool:
        """Whether a missing value of a column of text is None rather than NaN."""
        store = self.storage(name, j)
        if store is None or not store.is_text:
            return False
        return self.layout.kind == "polars" or (store.is_object and store.blank == "None")

    def labels(self, name: str, j: int) -> list[Any] | None:
        """The distinct values of a column of text or categories; None for any other."""
        store, place = self.storage(name, j), self._place(name, j)
        if store is None or place is None or not (store.is_text or store.is_category):
            return None
        values = column_values(self._table, place)
        return list(
            dict.fromkeys(v for v, m in zip(values, is_missing(values), strict=True) if not m)
        )

    def numbers(self, name: str, j: int) -> Floats:
        """Some distinct numbers of a column, ascending."""
        place = self._place(name, j)
        if place is None or self.labels(name, j) is not None:
            return np.zeros(0)
        cells = pd.to_numeric(pd.Series(column_values(self._table, place)), errors="coerce")
        found = np.unique(cells.to_numpy(np.float64, na_value=np.nan))
        found = found[np.isfinite(found)]
        if len(found) <= MOST_VALUES:
            return np.asarray(found)
        return np.asarray(found[np.linspace(0, len(found) - 1, MOST_VALUES).astype(np.intp)])

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Its rows in a frame of pandas, as the pipeline takes them."""
        table = opened(self._table)
        return pd.DataFrame(table.native if table.kind == "pandas" else as_pandas(self._table))

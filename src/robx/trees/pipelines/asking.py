"""Asking the fitted transformers what becomes of raw values.

An `Asker` writes raw values into a table, sends it through all transformers of the pipeline as they
are, and reads what comes out as the model does. A column of the model depends on one raw column, so
one table answers about all raw columns at once.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from robx.arrays import Bools, Floats
from robx.errors import RobxError
from robx.tables import Column, read_matrix
from robx.trees.ensemble import TreeEnsemble
from robx.trees.reasons import CannotFold

#: A row is refused by raising one of many errors; these are no refusal.
FATAL = (MemoryError, RecursionError)
_ALONE = threading.RLock()


@dataclass(frozen=True)
class RawColumn:
    """How a raw column is written when the pipeline is asked.

    Parameters
    ----------
    name : object
        As the pipeline knows it; ignored where it was fitted on an array.
    base : object
        A value that the pipeline takes.
    dtype : object
        In which it is written: of floats, of categories, or of objects, which hold text, None and
        NaN alike; "fitting" for whatever suits the values.
    """

    name: Any
    base: Any
    dtype: Any = "fitting"

    def written(self, values: Sequence[Any] | NDArray[Any]) -> Any:
        """Give values as a column of a frame."""
        if isinstance(self.dtype, pd.CategoricalDtype):
            return pd.Categorical(list(values), dtype=self.dtype)
        if isinstance(self.dtype, np.dtype) and self.dtype.kind == "f":
            return np.asarray(values, dtype=self.dtype)
        cells = np.empty(len(values), dtype=object)
        cells[:] = list(values)
        given = pd.Series(cells, dtype=object)
        return given.infer_objects() if isinstance(self.dtype, str) else given


def transformed(steps: Sequence[Any], table: Any) -> Any:
    """Send a table through transformers, whatever they warn of."""
    # Python's filters of warnings are shared by all threads: one that puts them back would turn the
    # warnings of another into errors, where these are wanted.
    with _ALONE, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for step in steps:
            table = step.transform(table)
    return table


def densely(table: Any, model: TreeEnsemble) -> Any:
    """Give a sparse matrix as a dense one: what it does not hold is missing to XGBoost alone."""
    if not hasattr(table, "tocsr"):
        return table
    dense = np.asarray(table.toarray(), dtype=np.float64)
    return np.where(dense == 0, np.nan, dense) if _by_xgboost(model) else dense


def _by_xgboost(model: TreeEnsemble) -> bool:
    return model.source.startswith("XGBoost")


class Asker:
    """Sends raw values through a fitted pipeline, up to the splits of its model.

    Parameters
    ----------
    steps : sequence of transformers
        All of the pipeline's but its last.
    model : TreeEnsemble
        The last.
    raw : sequence of RawColumn
    named : bool
        Whether the pipeline was fitted on a frame.

    Attributes
    ----------
    is_sparse : bool
        Whether the transformers give a sparse matrix; known once something was asked.
    columns_of : list of (k,) int64
        For each raw column, the columns of the model that are made of it.
    """

    def __init__(
        self,
        steps: Sequence[Any],
        model: TreeEnsemble,
        raw: Sequence[RawColumn],
        sources: Sequence[int],
        named: bool,
    ) -> None:
        self.steps, self.model, self.named = steps, model, named
        self.columns_of = [np.flatnonzero(np.array(sources) == j) for j in range(len(raw))]
        self.raw = list(raw)
        self.is_sparse = False
        # Numbers are read as they come: what they mean to the model is settled split by split.
        self._columns = [
            replace(c, takes_unseen=True, takes_missing=True)
            if c.is_category
            else Column(c.name, blank=c.blank)
            for c in model.columns
        ]

    def ask(self, values: Mapping[int, Sequence[Any] | NDArray[Any]]) -> Floats:
        """Give what the model reads where raw columns hold these values: (n, columns) float64.

        Where one raw column has fewer values than another, its base value follows.
        """
        n = max([1, *(len(given) for given in values.values())])
        return self._read(transformed(self.steps, self._table(values, n)))

    def attempt(self, values: Mapping[int, Sequence[Any] | NDArray[Any]]) -> Floats | None:
        """Give what `ask` does, or None where a transformer raises."""
        try:
            return self.ask(values)
        except (CannotFold, *FATAL):
            raise
        except Exception:
            return None

    def _table(self, values: Mapping[int, Any], n: int) -> Any:
        written = []
        for j, column in enumerate(self.raw):
            given = list(values.get(j, ()))
            written.append(column.written(given + [column.base] * (n - len(given))))
        if not self.named:
            return np.column_stack([np.asarray(one, dtype=np.float64) for one in written])
        frame = pd.DataFrame(dict(enumerate(written)))
        frame.columns = pd.Index([column.name for column in self.raw], dtype=object)
        return frame

    def _read(self, table: Any) -> Floats:
        if hasattr(table, "tocsr"):
            self.is_sparse = True
            if (table.tocsr().data == 0).any():
                raise CannotFold(
                    "its sparse columns hold zeros, which a model may take for missing"
                )
            table = table.toarray()
        try:
            return read_matrix(table, self._columns, named=self.model.named, own=True)
        except RobxError as error:
            raise CannotFold(f"the model does not read what comes before it: {error}") from error

    def refused_cells(self, read: Floats) -> Bools:
        """Tell which values the model itself refuses: (n, columns) bool."""
        refused = np.zeros(read.shape, dtype=bool)
        # scikit-learn's trees take missing values in dense tables only.
        takes_missing = not (self.is_sparse and self.model.source.startswith("scikit-learn"))
        for k, column in enumerate(self.model.columns):
            values = read[:, k]
            if column.is_category:
                refused[:, k] = (not column.takes_unseen) & (values >= column.n_codes)
            else:
                with np.errstate(invalid="ignore"):
                    refused[:, k] = np.abs(values) > column.largest
            if not (takes_missing and column.takes_missing):
                refused[:, k] |= self.is_lost(values, k)
        return refused

    def is_lost(self, values: Floats, k: int) -> Bools:
        """Tell which values of a column of the model mean "missing" to it: (n,) bool."""
        lost = np.isnan(values)
        marked = None if self.model.columns[k].is_category else self.marked(k)
        if marked is not None:
            lost |= (values >= marked[0]) & (values <= marked[1])
        return lost

    def marked(self, k: int) -> tuple[float, float] | None:
        """Give the range of numbers that mean "missing" to a column of the model."""
        column = self.model.columns[k]
        if self.zero_is_missing and column.missing_range is not None:
            raise CannotFold("its model takes a number of a sparse matrix for missing")
        return (0.0, 0.0) if self.zero_is_missing else column.missing_range

    @property
    def zero_is_missing(self) -> bool:
        """Whether the model takes zeros for missing values, as XGBoost does in sparse matrices."""
        return self.is_sparse and _by_xgboost(self.model)

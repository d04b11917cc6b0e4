"""Tables of any library: which kind they are, what their columns are called, some of their rows.

Nothing here looks at values; `robx.tables.reader` does.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, Literal

import narwhals as nw
import narwhals.selectors as ncs
import numpy as np
from narwhals import dependencies
from numpy.typing import NDArray

from robx.errors import InvalidInput
from robx.parameters import listed

Kind = Literal["numpy", "pandas", "polars", "pyarrow"]


def library(name: str) -> Any:
    """The module of that name, loaded now."""
    return import_module(name)


@dataclass(frozen=True, eq=False)
class Table:
    """A table in its own library; an array, or what may become one, has no labels."""

    native: Any
    kind: Kind
    labels: tuple[Hashable, ...] = ()

    @cached_property
    def dtypes(self) -> list[Any]:
        """The dtypes of its columns."""
        if self.kind == "numpy":
            return [self.native.dtype] * self.native.shape[1]
        if self.kind == "pyarrow":
            return list(self.native.schema.types)
        return list(self.native.dtypes)

    @cached_property
    def layout(self) -> Hashable:
        """What tells layouts apart; the categories of a category column are no part of it."""
        dtypes = (type(d) if hasattr(d, "categories") else d for d in self.dtypes)
        return self.kind, self.labels, tuple(dtypes)

    def with_native(self, native: Any) -> Table:
        """A copy of the same layout."""
        other = Table(native, self.kind, self.labels)
        known = {k: v for k, v in self.__dict__.items() if k in {"dtypes", "layout"}}
        other.__dict__.update(known)
        return other

    def column(self, j: int) -> Any:
        """One column in its own library."""
        if self.kind == "numpy":
            return self.native[:, j]
        if self.kind == "polars":
            return self.native.to_series(j)
        return self.native.column(j) if self.kind == "pyarrow" else self.native[self.labels[j]]

    def columns(self, positions: Sequence[int]) -> Table:
        """Some columns of a frame."""
        which = list(positions)
        native = self.native
        if self.kind == "pandas":
            native = native.take(which, axis=1)
        else:
            native = native[:, which] if self.kind == "polars" else native.select(which)
        return Table(native, self.kind, tuple(self.labels[j] for j in which))

    def rows(self, rows: slice | NDArray[np.integer[Any]]) -> Any:
        """Some rows, in its own library."""
        if self.kind == "pandas":
            return self.native.iloc[rows]
        if self.kind == "pyarrow" and not isinstance(rows, slice):
            return self.native.take(library("pyarrow").array(rows))
        return self.native[rows]


def opened(X: Any, what: str = "X") -> Table:
    """Tell which kind of table something is; what was opened already is given back.

    A frame of another library becomes one of pandas, and so do dicts.
    """
    if isinstance(X, np.ndarray):
        return Table(X, "numpy")
    if isinstance(X, Table):
        return X
    X = nw.to_native(X, pass_through=True)  # what comes as a frame of narwhals
    table = Table(X, "numpy")
    if dependencies.is_pandas_dataframe(X):
        table = Table(X, "pandas", tuple(X.columns.tolist()))
    elif dependencies.is_polars_dataframe(X):
        table = Table(X, "polars", tuple(X.columns))
    elif dependencies.is_pyarrow_table(X):
        table = Table(X, "pyarrow", tuple(X.column_names))
    elif hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise InvalidInput(
            f"{what} is a sparse matrix; expected a dense table. Use {what}.toarray() first: "
            "only you know whether an absent entry is zero or missing."
        )
    elif is_records(X):
        native = records_frame(X, what)
        table = Table(native, "pandas", tuple(native.columns.tolist()))
    else:
        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            raise InvalidInput(
                f"{what} is a lazy frame; expected rows. Call {what}.collect() first."
            )
        if isinstance(frame, nw.DataFrame):
            native = frame.to_pandas()
            table = Table(native, "pandas", tuple(native.columns))
    refuse_doubled(table.labels, what)
    return table


# --- dicts ----------------------------------------------------------------------------------------


def is_records(X: Any) -> bool:
    """Whether something is a row as a dict, or rows as a list of dicts."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and isinstance(X[0], Mapping)
    return isinstance(X, Mapping)


def records(X: Any, what: str = "X") -> tuple[tuple[Hashable, ...], list[list[Any]]]:
    """Names and cells of a row that is given as a dict, or of a list of such rows.

    All of them must have the same names: what is left out is not taken for missing.
    """
    rows = [X] if isinstance(X, Mapping) else list(X)
    names = tuple(rows[0])
    if isinstance(X, Mapping):
        several = [name for name, value in X.items() if np.ndim(value) > 0]
        if several:
            raise InvalidInput(
                f"{what} is a dict, which is one row: a value for each column. Got "
                f"{type(X[several[0]]).__name__} for '{several[0]}'. Pass a list of dicts, or a "
                "DataFrame, for several rows."
            )
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InvalidInput(
                f"{what} must be a list of dicts, as its first row is one. Got "
                f"{type(row).__name__} in row {i}."
            )
        if row.keys() != rows[0].keys():
            other = [name for name in {**rows[0], **row} if name not in row or name not in rows[0]]
            raise InvalidInput(
                f"{what} must have the same columns in every row. Row {i} differs from row 0 in "
                f"{listed(list(map(str, other)))}. Use None for a missing value."
            )
    refuse_doubled(list(map(str, names)), what)
    return names, [[row[name] for name in names] for row in rows]


def records_frame(X: Any, what: str = "X") -> Any:
    """Rows that are given as dicts as a pandas frame."""
    names, cells = records(X, what)
    columns = [list(column) for column in zip(*cells, strict=True)]
    frame = library("pandas").DataFrame(dict(enumerate(columns)), index=range(len(cells)))
    frame.columns = library("pandas").Index(names, tupleize_cols=False)
    return frame


def refuse_doubled(names: Sequence[Hashable], what: str) -> None:
    """Refuse two columns of one name."""
    if len(set(names)) < len(names):
        doubled = sorted({str(name) for name in names if names.count(name) > 1})
        raise InvalidInput(f"{what} has more than one column named {listed(doubled)}.")


def column_names(X: object) -> tuple[str, ...] | None:
    """Names of a frame's columns, or None for a table that has no names."""
    table = opened(X)
    return None if table.kind == "numpy" else tuple(map(str, table.labels))


def take(X: Any, rows: NDArray[np.integer[Any]], columns: Sequence[Any] | None = None) -> Any:
    """Some rows of a table, in its own kind, with a frame's columns in the order of `columns`."""
    table = opened(X)
    if table.kind == "numpy":
        return np.asarray(table.native)[rows]
    if columns is not None:
        names, have = spelled(columns, table.labels)
        table = table.columns([have.index(name) for name in names])
    return table.rows(rows)


def in_order(X: Any, names: Sequence[str]) -> Any:
    """A frame with its columns in the order of `names`; as it is if it has others, or none."""
    table = opened(X)
    have = [str(label) for label in table.labels]
    if table.kind == "numpy" or have == list(names) or sorted(have) != sorted(names):
        return X
    return table.columns([have.index(name) for name in names]).native


def count_rows(X: Any) -> int:
    """Number of rows of a table; 0 for what is not a table."""
    table = opened(X)
    native = table.native
    is_table = table.kind != "numpy" or isinstance(native, list | tuple) or np.ndim(native) > 0
    return len(native) if is_table else 0


def parts(X: Any, size: int) -> list[Any]:
    """Cut a long table into runs of rows, in its own kind; the rows are not copied."""
    table = opened(X)
    if table.kind == "numpy":
        table = Table(np.asarray(table.native), "numpy")
        if table.native.ndim < 1:
            return [X]
    n = len(table.native)
    if n <= size:
        return [X]
    return [table.rows(slice(first, first + size)) for first in range(0, n, size)]


def as_named_frame(X: Any, names: Sequence[str]) -> Any:
    """A frame as it is; an array as a pandas frame with these names."""
    if opened(X).kind != "numpy":
        return X
    array = np.asarray(X)
    columns = {name: array[:, j] for j, name in enumerate(names)}
    return nw.from_dict(columns, backend="pandas").to_native()


def as_pandas(X: Any) -> Any:
    """A frame as the pandas frame that every model library knows, text as category; else as is."""
    table = opened(X)
    if table.kind == "numpy":
        return X
    frame = nw.from_native(table.native, eager_only=True)
    if table.kind == "polars":  # whose flags would become objects where some are missing
        flags = frame.select(ncs.boolean())
        lacking = [name for name in flags.columns if flags[name].is_null().any()]
        frame = frame.with_columns(nw.col(*lacking).cast(nw.Float64)) if lacking else frame
    pandas = frame.with_columns(ncs.string().cast(nw.Categorical)).to_pandas()
    arrow = [name for name in pandas.columns if type(pandas[name].dtype).__name__ == "ArrowDtype"]
    return pandas.astype(dict.fromkeys(arrow, "float64"))


def listing_only(X: Any, categories: Mapping[str, Sequence[Any] | None]) -> Any:
    """A frame whose category columns list these categories and no others; an array as it is.

    Frames of other libraries become pandas frames.
    """
    frame = as_pandas(X)
    for name in frame.columns if opened(frame).kind == "pandas" else ():
        known = categories.get(str(name))
        if known is not None and hasattr(frame[name], "cat"):
            frame = frame.assign(**{name: frame[name].cat.set_categories(list(known))})
    return frame


# --- names ----------------------------------------------------------------------------------------


def positions(columns: Sequence[Any], names: Sequence[object], what: str = "X") -> list[int]:
    """Find each column's place among the names of a table.

    Parameters
    ----------
    columns : sequence of Column or str
        Those of a model, which may spell names in its own way (see `Column.blank`), or names to
        be found as they are.
    names : sequence
        The table's, taken as text.
    what : str
        What to call the table in an error.

    Raises
    ------
    InvalidInput
        If a column is missing or doubled, or the table has other columns too.

    Examples
    --------
    >>> positions(["b", "a"], ["a", "b"])
    [1, 0]
    """
    want, have = spelled(columns, names)
    refuse_doubled(have, what)
    if have == want:
        return list(range(len(want)))
    place = {name: position for position, name in enumerate(have)}
    known = set(want)
    missing = [name for name in want if name not in place]
    extra = [name for name in have if name not in known]
    if missing:
        raise InvalidInput(
            f"{what} lacks {len(missing)} of the model's columns: {listed(missing)}."
            + (f" It has these that the model does not know: {listed(extra)}." if extra else "")
        )
    if extra:
        raise InvalidInput(
            f"{what} has columns that the model was not trained on: {listed(extra)}. "
            f"Select the model's columns first, as in {what}[list(model.names)]."
        )
    return [place[name] for name in want]


def spelled(columns: Sequence[Any], names: Sequence[object]) -> tuple[list[str], list[str]]:
    """Names of the columns, and those of a table as these columns spell them."""
    blank = {str(getattr(c, "name", c)): getattr(c, "blank", " ") for c in columns}
    blanks = sorted(set(blank.values()) - {" "})

    def as_column(name: str) -> str:
        if name in blank:
            return name
        ways = ((name.replace(" ", sign), sign) for sign in blanks)
        return next((way for way, sign in ways if blank.get(way) == sign), name)

    return list(blank), [as_column(str(name)) for name in names]

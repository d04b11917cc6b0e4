"""The door for tables: pandas, polars, pyarrow or numpy in, one float64 matrix out.

Columns are known by name. A frame may have them in any order; a column that is missing, extra,
doubled or of the wrong kind is an error that names it. Categories become codes; missing values, and
values that the model takes to mean "missing", become NaN. Rows are never dropped or reordered.

This module decides nothing about models: `Column` says what a model wants of each column.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import narwhals.selectors as ncs
import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput

Category = str | int | float | bool
Matrix = NDArray[np.float64]
ROWS_AT_ONCE = 2**16


@dataclass(frozen=True)
class Column:
    """What a model wants of one column.

    Parameters
    ----------
    name : str
        The column's name in a frame.
    n_codes : int
        How many categories it has; 0 for a number. Codes run from 0 to ``n_codes - 1``.
    categories : tuple, optional
        The categories behind the codes, in order, where the model knows them.
    by_value : bool
        An array holds the categories themselves, not their codes.
    unseen_is_missing : bool
        A code that the model was not trained on counts as missing. Otherwise it becomes the code
        ``n_codes``, for which every split of the model has an answer too.
    missing_range : (float, float), optional
        Values in this closed range mean "missing", besides NaN.
    takes_missing : bool
        Whether a missing value has a meaning to the model.
    largest : float
        The largest absolute value that the model takes.
    largest_integer : float
        The same in an array of integers, which LightGBM rounds to float32.
    blank : str
        What the model's library writes for a blank in a column's name.
    """

    name: str
    n_codes: int = 0
    categories: tuple[Category, ...] | None = None
    by_value: bool = False
    unseen_is_missing: bool = False
    missing_range: tuple[float, float] | None = None
    takes_missing: bool = True
    largest: float = float("inf")
    largest_integer: float = float("inf")
    blank: str = " "

    @property
    def is_category(self) -> bool:
        """Whether the column holds categories."""
        return self.n_codes > 0

    @property
    def needs_settling(self) -> bool:
        """Whether some of its values stand for others."""
        return self.is_category or self.missing_range is not None


def column_names(X: object) -> tuple[str, ...] | None:
    """Names of a frame's columns, or None for a table that has no names."""
    frame = as_frame(X, "X")
    return None if frame is None else tuple(map(str, frame.columns))


def take(
    X: Any, rows: NDArray[np.integer[Any]], columns: Sequence[Column | str] | None = None
) -> Any:
    """Some rows of a table, in its own kind, with a frame's columns in the order of `columns`."""
    frame = as_frame(X, "X")
    if frame is None:
        return np.asarray(X)[rows]
    if columns is not None:
        names, have = _spelled(columns, frame.columns)
        frame = frame[:, [have.index(name) for name in names]]
    return frame[rows].to_native()


def in_order(X: Any, names: Sequence[str]) -> Any:
    """A frame with its columns in the order of `names`; as it is if it has others, or none."""
    frame = as_frame(X, "X")
    if frame is None:
        return X
    have = [str(name) for name in frame.columns]
    if have == list(names) or sorted(have) != sorted(names):
        return X
    return frame[:, [have.index(name) for name in names]].to_native()


def count_rows(X: Any) -> int:
    """Number of rows of a table; 0 for what is none."""
    frame = as_frame(X, "X")
    if frame is not None:
        return len(frame)
    return len(X) if isinstance(X, list | tuple) or np.ndim(X) > 0 else 0


def parts(X: Any, size: int) -> list[Any]:
    """Cut a long table into runs of rows, in its own kind; the rows are not copied."""
    frame = as_frame(X, "X")
    if frame is None:
        rows = X if isinstance(X, np.ndarray) else np.asarray(X)
        if rows.ndim < 1 or len(rows) <= size:
            return [X]
        return [rows[first : first + size] for first in range(0, len(rows), size)]
    if len(frame) <= size:
        return [X]
    return [frame[first : first + size].to_native() for first in range(0, len(frame), size)]


def distinct_values(X: Any, j: int) -> list[Any]:
    """Values that occur in a frame's column, missing ones left out."""
    frame = as_frame(X, "X")
    assert frame is not None  # noqa: S101 - arrays hold numbers
    return frame[:, j].drop_nulls().unique().to_list()


def number_column(X: Any, j: int) -> NDArray[np.float64]:
    """One column of numbers of a table: (n,) float64."""
    frame = as_frame(X, "X")
    if frame is None:
        return np.asarray(X, dtype=np.float64)[:, j]
    return _read_series(frame[:, j], Column(str(frame.columns[j])), "X")


def as_named_frame(X: Any, names: Sequence[str]) -> Any:
    """A frame as it is; an array as a pandas frame with these names."""
    if as_frame(X, "X") is not None:
        return X
    array = np.asarray(X)
    columns = {name: array[:, j] for j, name in enumerate(names)}
    return nw.from_dict(columns, backend="pandas").to_native()


def as_pandas(X: Any) -> Any:
    """A frame as the pandas frame that every model library knows, text as category; else as is."""
    frame = as_frame(X, "X")
    if frame is None:
        return X
    pandas = frame.with_columns(ncs.string().cast(nw.Categorical)).to_pandas()
    arrow = [name for name in pandas.columns if type(pandas[name].dtype).__name__ == "ArrowDtype"]
    return pandas.astype(dict.fromkeys(arrow, "float64"))


def read_matrix(X: object, columns: Sequence[Column], *, named: bool, what: str = "X") -> Matrix:
    """Read a table into the numbers that a model's splits are written in.

    Parameters
    ----------
    X : table of shape (n, d)
        A pandas, polars or pyarrow frame, or anything that numpy takes as a matrix.
    columns : sequence of d Columns
        What the model wants, in its order.
    named : bool
        Whether the names in `columns` are the user's. A model trained on a bare array has none; it
        takes a frame's columns as they stand.
    what : str
        What to call the table in an error.

    Returns
    -------
    (n, d) float64
        C-ordered. It may be the caller's own array where nothing had to be changed: not to be
        written to.
    """
    frame = as_frame(X, what)
    if frame is None:
        raw = _from_array(X, columns, what)
        for j, column in enumerate(columns):
            if column.by_value:
                raw[:, j] = _codes_of_values(raw[:, j], column, what)
    else:
        raw = _from_frame(frame, columns, named, what)
    for j, column in enumerate(columns):
        if column.needs_settling:
            _settle(raw[:, j], column)
    _check_values(raw, columns, what)
    return raw


def check_columns(X: Any, columns: Sequence[Column], *, named: bool, what: str = "X") -> None:
    """Raise `InvalidInput` unless a table has the columns that a model takes, of their types.

    Values are not looked at; the parameters are those of `read_matrix`.
    """
    frame = as_frame(X, what)
    if frame is None:
        _from_array(X, columns, what)
        return
    for column, place in zip(columns, _places(frame, columns, named, what), strict=True):
        series = frame[:, place]
        dtype = series.dtype
        is_number = dtype.is_numeric() or dtype == nw.Boolean
        if series.is_null().all() or (is_number and not column.is_category):
            continue
        if not column.is_category:
            raise InvalidInput(
                f"Column '{column.name}' of {what} holds {dtype}; the model takes numbers there."
            )
        if column.categories is None and dtype == nw.String:
            raise InvalidInput(
                f"Column '{column.name}' of {what} holds text; the model knows its categories "
                "only by number."
            )


def as_frame(X: object, what: str) -> nw.DataFrame[Any] | None:
    """Give a frame of any library as narwhals has it, and None for what is not a frame."""
    if isinstance(X, np.ndarray):
        return None
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise InvalidInput(
            f"{what} is a sparse matrix; expected a dense table. Use {what}.toarray() first: "
            "whether an absent entry is zero or missing is yours to say."
        )
    try:
        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            frame.columns  # noqa: B018 - where doubled names come to light
    except nw.exceptions.DuplicateError as error:
        names = list(map(str, getattr(X, "column_names", None) or X.columns))  # type: ignore[attr-defined]
        doubled = sorted({name for name in names if names.count(name) > 1})
        raise InvalidInput(f"{what} has more than one column named {_listed(doubled)}.") from error
    if isinstance(frame, nw.LazyFrame):
        raise InvalidInput(f"{what} is a lazy frame; expected rows. Call {what}.collect() first.")
    return frame if isinstance(frame, nw.DataFrame) else None


def _from_array(X: object, columns: Sequence[Column], what: str) -> Matrix:
    # A fresh copy only where values will be changed: the caller's table stays as it is.
    changes = any(column.needs_settling for column in columns)
    try:
        given = np.ma.asarray(X, np.float64).filled(np.nan) if np.ma.isMA(X) else np.asarray(X)
        kind = given.dtype.kind
        raw = np.asarray(given, dtype=np.float64, order="C") if kind in "biufO" else None
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{what} must be a table of numbers, or a DataFrame. Got {type(X).__name__} that "
            f"numpy cannot read as numbers: {error}."
        ) from error
    if raw is None:
        raise InvalidInput(
            f"{what} must be a table of numbers, or a DataFrame. Got an array of {given.dtype}."
        )
    raw = raw.copy() if changes else raw
    if raw.ndim != 2:
        hint = " For a single row use X.reshape(1, -1)." if raw.ndim == 1 else ""
        raise InvalidInput(
            f"{what} must have two dimensions (rows, columns). Got shape {raw.shape}.{hint}"
        )
    if raw.shape[1] != len(columns):
        raise InvalidInput(
            f"{what} must have the {len(columns)} columns that the model was trained on. "
            f"Got {raw.shape[1]}."
        )
    limits = [column.largest_integer for column in columns]
    if kind in ("i", "u") and (np.abs(raw) > limits).any():
        raise InvalidInput(
            f"{what} is an array of integers beyond {min(limits):.0f}, which the model's library "
            f"would round. Pass {what}.astype(float)."
        )
    return raw


def _from_frame(
    frame: nw.DataFrame[Any], columns: Sequence[Column], named: bool, what: str
) -> Matrix:
    raw = np.empty((len(frame), len(columns)), dtype=np.float64)
    for j, place in enumerate(_places(frame, columns, named, what)):
        raw[:, j] = _read_series(frame[:, place], columns[j], what)
    return raw


def _places(
    frame: nw.DataFrame[Any], columns: Sequence[Column], named: bool, what: str
) -> list[int]:
    """Find the columns in a frame: by name, or as they stand for a model without names."""
    if named:
        return positions(columns, frame.columns, what)
    if len(frame.columns) != len(columns):
        raise InvalidInput(
            f"{what} must have the {len(columns)} columns that the model was trained on. "
            f"Got {len(frame.columns)}: {_listed([str(name) for name in frame.columns])}."
        )
    return list(range(len(columns)))


def positions(
    columns: Sequence[Column | str], names: Sequence[object], what: str = "X"
) -> list[int]:
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
    >>> positions([Column("b"), Column("my_a", blank="_")], ["my a", "b"])
    [1, 0]
    """
    want, have = _spelled(columns, names)
    place = {name: position for position, name in enumerate(have)}
    if len(place) < len(have):
        doubled = sorted({name for i, name in enumerate(have) if place[name] != i})
        raise InvalidInput(f"{what} has more than one column named {_listed(doubled)}.")
    known = set(want)
    missing = [name for name in want if name not in place]
    extra = [name for name in have if name not in known]
    if missing:
        raise InvalidInput(
            f"{what} lacks {len(missing)} of the model's columns: {_listed(missing)}."
            + (f" It has these that the model does not know: {_listed(extra)}." if extra else "")
        )
    if extra:
        raise InvalidInput(
            f"{what} has columns that the model was not trained on: {_listed(extra)}. "
            f"Select the model's columns first, as in {what}[list(model.names)]."
        )
    return [place[name] for name in want]


def _spelled(
    columns: Sequence[Column | str], names: Sequence[object]
) -> tuple[list[str], list[str]]:
    """Names of the columns, and those of a table as these columns spell them."""
    blank = dict((c.name, c.blank) if isinstance(c, Column) else (c, " ") for c in columns)
    blanks = sorted(set(blank.values()) - {" "})

    def spelled(name: str) -> str:
        if name in blank:
            return name
        ways = ((name.replace(" ", sign), sign) for sign in blanks)
        return next((way for way, sign in ways if blank.get(way) == sign), name)

    return list(blank), [spelled(str(name)) for name in names]


def _read_series(series: nw.Series[Any], column: Column, what: str) -> NDArray[np.float64]:
    dtype = series.dtype
    if column.is_category and (column.by_value or not (dtype.is_numeric() and _codes_only(column))):
        return _codes_of_series(series, column, what)
    if not (dtype.is_numeric() or dtype == nw.Boolean):
        if series.is_null().all():  # a column of nothing has no type to speak of
            return np.full(len(series), np.nan)
        raise InvalidInput(
            f"Column '{column.name}' of {what} must hold numbers, as the model was trained on. "
            f"Got {dtype}."
        )
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _codes_only(column: Column) -> bool:
    return column.categories is None


def _codes_of_series(series: nw.Series[Any], column: Column, what: str) -> NDArray[np.float64]:
    if column.categories is None:
        # The model knows codes alone: a category column's own order gives them, as in training.
        if isinstance(series.dtype, nw.Enum):
            order: list[Any] = list(series.dtype.categories)
        elif series.dtype == nw.Categorical and series.implementation.is_pandas_like():
            # narwhals lists categories as they appear; codes follow pandas' own order.
            order = series.to_native().cat.categories.tolist()
        else:
            raise InvalidInput(
                f"Column '{column.name}' of {what} must hold category codes, or be a category "
                "column of fixed order (pandas category, polars Enum): the model knows its "
                f"categories only by number. Got {series.dtype}."
            )
    else:
        if series.dtype.is_numeric() and not column.by_value:
            raise InvalidInput(
                f"Column '{column.name}' of {what} must hold the categories "
                f"{_listed(column.categories)}. Got {series.dtype}: codes and categories cannot "
                "be told apart; convert the column to a category dtype."
            )
        order = list(column.categories)
    values = series.to_list()
    missing = np.array([v is None or (isinstance(v, float) and np.isnan(v)) for v in values], bool)
    missing |= series.is_null().to_numpy().astype(bool)
    return _look_up(values, missing, order, column, what)


def _codes_of_values(values: Matrix, column: Column, what: str) -> NDArray[np.float64]:
    order = list(column.categories or ())
    return _look_up(values.tolist(), np.isnan(values), order, column, what)


def _look_up(
    values: list[Any], missing: NDArray[np.bool_], order: list[Any], column: Column, what: str
) -> NDArray[np.float64]:
    code = {category: float(i) for i, category in enumerate(order)}
    out = np.full(len(values), np.nan)
    for i, value in enumerate(values):
        if missing[i]:
            continue
        if isinstance(value, Hashable) and value in code:
            out[i] = code[value]
        else:
            raise InvalidInput(
                f"Column '{column.name}' of {what} has the category {value!r} in row {i}, which "
                f"is not known. Known are {_listed(order)}. Replace it with one of "
                "these, or with a missing value."
            )
    return out


def _settle(values: NDArray[np.float64], column: Column) -> None:
    """Turn what means missing into NaN and any other code into the one for "unseen", in place."""
    if column.missing_range is not None:
        low, high = column.missing_range
        values[(values >= low) & (values <= high)] = np.nan
    if column.is_category:
        known = np.isfinite(values)
        codes = np.trunc(values, where=known, out=np.full_like(values, -1.0))
        unseen = ~np.isnan(values) & ((codes < 0) | (codes >= column.n_codes))
        values[known] = codes[known]
        values[unseen] = np.nan if column.unseen_is_missing else column.n_codes


def _check_values(raw: Matrix, columns: Sequence[Column], what: str) -> None:
    """Refuse values that the model would refuse, a part of the rows at a time."""
    refuses = np.array([not column.takes_missing for column in columns], dtype=bool)
    largest = np.array([np.inf if column.is_category else column.largest for column in columns])
    for first in range(0, len(raw), ROWS_AT_ONCE):
        part = raw[first : first + ROWS_AT_ONCE]
        if refuses.any() and (bad := np.isnan(part) & refuses).any():
            row, j = map(int, np.argwhere(bad)[0])
            raise InvalidInput(
                f"Column '{columns[j].name}' of {what} has a missing value in row {first + row}; "
                "the model takes none. Fill it first."
            )
        with np.errstate(invalid="ignore"):
            bad = np.abs(part) > largest
        if bad.any():
            row, j = map(int, np.argwhere(bad)[0])
            raise InvalidInput(
                f"Column '{columns[j].name}' of {what} has the value {part[row, j]} in row "
                f"{first + row}; the model takes values up to {columns[j].largest:.4g} in size."
            )


def _listed(names: Sequence[object], most: int = 8) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"

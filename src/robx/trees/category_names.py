"""The names of categories, looked up for a model that does not hold them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from robx.arrays import Floats
from robx.errors import UnsupportedModel
from robx.tables import (
    Category,
    Column,
    category_text,
    column_names,
    column_values,
    distinct_values,
    plain_array,
)

#: A table that has the categories, or the columns of a model that is imported already.
Source = Any


class UnnamedCategories(UnsupportedModel):
    """A model has categories, and nothing tells their names."""


def names_in(
    sources: Sequence[Source], columns: Sequence[Column], j: int, *, named: bool
) -> list[Category]:
    """List the categories of a column that several sources name, each text once, in order.

    Parameters
    ----------
    sources : sequence
    columns : sequence of Columns
        Those of the model.
    j : int
        Which of them.
    named : bool
        Whether their names are the user's.
    """
    found: dict[str, Category] = {}
    for source in sources:
        for value in _values(source, columns, j, named=named):
            text = category_text(value)
            if text is not None:
                plain = value.item() if isinstance(value, np.generic) else value
                found.setdefault(text, plain)
    return sorted(found.values(), key=_order)


def _values(source: Source, columns: Sequence[Column], j: int, *, named: bool) -> Iterable[Any]:
    """Values in a column of a source, none if it has no such column."""
    own = columns[j].name
    if _are_columns(source):
        known = [column for column in source if column.name == own and column.as_text]
        return known[0].categories or () if known else ()
    names = column_names(source)
    if names is None:
        array = plain_array(source, "X")
        is_table = array.ndim == 2 and array.shape[1] == len(columns)
        return array[:, j].tolist() if is_table else ()
    if named and own not in names:
        return ()
    place = names.index(own) if named else j
    if place >= len(names):
        return ()
    try:
        return distinct_values(source, place)
    except TypeError:  # of cells that cannot be compared
        return column_values(source, place)


def _are_columns(source: Source) -> bool:
    return isinstance(source, tuple) and all(isinstance(one, Column) for one in source)


def _order(value: Category) -> tuple[bool, float, str]:
    is_text = isinstance(value, str)
    return is_text, 0.0 if is_text else float(value), str(value)


def spelled_out(X: Any, matrix: Floats, columns: Sequence[Column]) -> Any:
    """Give rows as a pandas frame of floats, and of text where categories are compared as text.

    CatBoost does not take every kind of frame, and some end the process.

    Parameters
    ----------
    X : table of shape (n, d)
        With its columns in order.
    matrix : (n, d) float64
        The same rows as they were read.
    columns : sequence of Columns
    """
    import pandas as pd  # noqa: PLC0415 - takes long to load

    cells = plain_array(X, "X") if column_names(X) is None else None
    found = {}
    for j, column in enumerate(columns):
        if not column.as_text:
            found[str(j)] = pd.Series(matrix[:, j])
            continue
        values = column_values(X, j) if cells is None else cells[:, j].tolist()
        found[str(j)] = pd.Series([category_text(value) for value in values], dtype=object)
    return pd.DataFrame(found)

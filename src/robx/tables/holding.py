"""Tables that are written later: whether they surely can be, and what they are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Bools
from robx.recent import Recent
from robx.tables.columns import plain_array
from robx.tables.frames import Table, is_records, library, opened
from robx.tables.storage import Storage, of_dtype
from robx.tables.writer import Layout, ValuesOf, as_table, find_columns


def holds_surely(
    table: Any, layout: Layout, changed: Bools, values: ValuesOf, plans: Recent
) -> bool:
    """Whether it is plain that `rewrite_and_read` would write all values, and round none of them.

    It is where both tables hold numbers, or both hold labels, in each column.

    Parameters
    ----------
    table, layout, changed, values
        As for `rewrite_and_read`.
    plans : Recent
        Where to keep what is known of a layout.
    """
    given = as_table(table)
    numbers: tuple[str, ...] | None = plans.get(
        ("written", given.layout), lambda: _meeting(given, layout)
    )
    if numbers is None:
        return False
    return all(
        _all_fit(values(j, np.flatnonzero(changed[:, j])), numbers[j], layout.columns[j])
        for j in np.flatnonzero(changed.any(axis=0)).tolist()
    )


def _meeting(given: Table, layout: Layout) -> tuple[str, ...] | None:
    """Numpy's names of the dtypes in which numbers meet, "" for labels; None where not plain."""
    meeting = []
    for training, place in zip(layout.columns, find_columns(given, layout), strict=True):
        own = of_dtype(given.dtypes[place], given.kind)
        if own.is_object or training.is_object:
            return None
        if training.number and own.number:
            meeting.append(np.result_type(training.number, own.number).name)
        elif given.kind != "numpy" and _are_labels(own, training):
            meeting.append("")
        else:
            return None
    return tuple(meeting)


def _are_labels(own: Storage, training: Storage) -> bool:
    """Whether two columns hold labels, all of which either can hold."""
    if training.is_category:
        return own.is_category or own.is_text
    return training.is_text and own.is_text


def _all_fit(written: NDArray[Any], number: str, training: Storage) -> bool:
    """Whether a column stores values just as they are."""
    if not number:
        known = training.categories if training.has_fixed_categories else None
        return all(
            isinstance(value, str) if known is None else value in known
            for value in written.tolist()
        )
    if written.dtype.kind != "f" or np.isnan(written).any():
        return False
    dtype = np.dtype(number)
    low, high = _ends(dtype)
    if not ((written >= low) & (written <= high)).all():
        return False
    return bool((written.astype(dtype) == written).all())


def _ends(number: np.dtype[Any]) -> tuple[float, float]:
    """From where to where float64 and a dtype hold the same numbers."""
    if number.kind == "f":
        return -float(np.finfo(number).max), float(np.finfo(number).max)
    if number.kind == "b":
        return 0.0, 1.0
    return max(float(np.iinfo(number).min), -(2.0**53)), min(float(np.iinfo(number).max), 2.0**53)


def snapshot(table: Any) -> Any:
    """Give a table, opened, that later changes to the caller's own do not reach."""
    if is_records(table):
        return dict(table) if isinstance(table, Mapping) else [dict(row) for row in table]
    given: Table = opened(table)
    if given.kind == "pandas":
        # From version 3 on, pandas copies what is written to, and only then.
        copies_later = int(library("pandas").__version__.split(".")[0]) >= 3
        return given.with_native(given.native.copy(deep=not copies_later))
    if given.kind == "numpy":
        return as_table(given.with_native(plain_array(given.native, "X").copy()))
    return given

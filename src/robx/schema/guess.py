"""Guessing what the columns of a table are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput
from robx.schema.feature import Feature, Kind
from robx.tables import Layout, Storage, column_values, count_rows, distinct_values, number_column

#: Numbers with up to this many decimals get them as their resolution.
MOST_DECIMALS = 3


def guess_features(X: Any) -> Iterator[Feature]:
    """Yield a feature for each column, in order."""
    layout = Layout.of(X, names=None)
    if not layout.names:
        raise InvalidInput("The table has no columns.")
    if count_rows(X) == 0:
        raise InvalidInput("The table has no rows, so nothing can be told of its columns.")
    found: dict[str, Feature] = {}
    numbers: dict[str, NDArray[np.float64]] = {}
    for j, (name, storage) in enumerate(zip(layout.names, layout.columns, strict=True)):
        if layout.kind == "numpy" and storage.is_text:
            raise InvalidInput(
                f"An array must hold numbers. Column {name} holds text: use a DataFrame."
            )
        if storage.is_text or storage.is_category:
            levels = _levels(X, j, name, storage)
            kind: Kind = "ordinal" if storage.is_ordered else "categorical"
            found[name] = Feature(name, kind, levels=levels) if levels else _empty(name)
        elif storage.is_boolean:
            found[name] = Feature(name, "categorical", levels=(False, True))
        elif storage.is_number:
            numbers[name] = number_column(X, j)
            found[name] = _number_feature(name, numbers[name], storage.is_single)
        else:
            raise InvalidInput(
                f"Column '{name}' must hold numbers, booleans, text or categories. "
                f"Got {storage.dtype}."
            )
    for group, members in _one_hot_groups(numbers).items():
        for name in members:
            found[name] = Feature(name, "onehot", group=group)
    yield from found.values()


def _levels(X: Any, j: int, name: str, storage: Storage) -> tuple[Any, ...]:
    """Give the values that occur, in the order of the dtype where it has one.

    A dtype may list categories that no row has. No change is to lead to them: nobody had them when
    the model was trained. Among ordered ones they keep their places.
    """
    try:
        values = distinct_values(X, j)
        if not values or storage.is_ordered:
            return storage.categories if values else ()
        _refuse_mixed(X, j, name, values)
        occurring = set(values)
        listed = tuple(value for value in storage.categories if value in occurring)
        return listed or tuple(sorted(values, key=str))
    except TypeError as error:  # objects that cannot be compared
        raise InvalidInput(
            f"Column '{name}' must hold numbers, booleans, text or categories. Got {error}."
        ) from error


def _refuse_mixed(X: Any, j: int, name: str, values: list[Any]) -> None:
    """Refuse a column of text and numbers: a level is one or the other."""
    if len({isinstance(value, str) for value in values}) > 1:
        cells = list(enumerate(column_values(X, j)))
        text = next((i, v) for i, v in cells if isinstance(v, str))
        other = next((i, v) for i, v in cells if v is not None and not isinstance(v, str))
        raise InvalidInput(
            f"Column '{name}' must hold text or numbers, not both. Got {text[1]!r} in row "
            f"{text[0]} and {other[1]!r} in row {other[0]}. Make the column one of the two."
        )


def _empty(name: str) -> Feature:
    """A column that is missing in every row: nothing is known that a change could lead to."""
    return Feature(name, "continuous", change="none")


def _number_feature(name: str, values: NDArray[np.float64], single: bool) -> Feature:
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return _empty(name)
    if (finite == np.rint(finite)).all():
        return Feature(name, "integer")
    for decimals in range(1, MOST_DECIMALS + 1):
        rounded = np.round(finite, decimals)
        if single:
            rounded = rounded.astype(np.float32).astype(np.float64)
        if (rounded == finite).all():
            return Feature(name, "continuous", resolution=10.0**-decimals)
    return Feature(name, "continuous")


def _one_hot_groups(numbers: dict[str, NDArray[np.float64]]) -> dict[str, list[str]]:
    """Find 0/1 columns with a common beginning, of which each row has exactly one set."""
    by_prefix: dict[str, list[str]] = {}
    for name, values in numbers.items():
        prefix = re.split(r"[_=:.\- ](?=[^_=:.\- ]*$)", name)[0]
        if prefix != name and ((values == 0) | (values == 1)).all():
            by_prefix.setdefault(prefix, []).append(name)
    return {
        prefix: names
        for prefix, names in by_prefix.items()
        if len(names) > 1 and (np.sum([numbers[name] for name in names], axis=0) == 1).all()
    }

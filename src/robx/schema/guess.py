"""Guessing what the columns of a table are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput
from robx.schema.feature import Feature, Kind
from robx.tables import Layout, distinct_values, number_column

#: Numbers with up to this many decimals get them as their resolution.
MOST_DECIMALS = 3


def guess_features(X: Any) -> Iterator[Feature]:
    """Yield a feature for each column, in order."""
    layout = Layout.of(X, names=None)
    if not layout.names:
        raise InvalidInput("The table has no columns.")
    found: dict[str, Feature] = {}
    numbers: dict[str, NDArray[np.float64]] = {}
    for j, (name, storage) in enumerate(zip(layout.names, layout.columns, strict=True)):
        if layout.kind == "numpy" and storage.is_text:
            raise InvalidInput(
                f"An array must hold numbers. Column {name} holds text: use a DataFrame."
            )
        if storage.is_text or storage.is_category:
            levels = storage.categories or _levels(X, j, name)
            if not levels:
                raise InvalidInput(f"Column '{name}' has no value in any row.")
            kind: Kind = "ordinal" if storage.is_ordered else "categorical"
            found[name] = Feature(name, kind, levels=levels)
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


def _levels(X: Any, j: int, name: str) -> tuple[Any, ...]:
    try:
        return tuple(sorted(distinct_values(X, j), key=str))
    except TypeError as error:  # objects that cannot be compared
        raise InvalidInput(
            f"Column '{name}' must hold numbers, booleans, text or categories. Got {error}."
        ) from error


def _number_feature(name: str, values: NDArray[np.float64], single: bool) -> Feature:
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        raise InvalidInput(f"Column '{name}' has no value in any row.")
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

"""From a table to numbers and back, as a schema's features and the table's dtypes say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Floats, same
from robx.errors import InvalidInput
from robx.schema.feature import Feature
from robx.tables import (
    Column,
    Layout,
    Storage,
    as_named_frame,
    column_names,
    in_order,
    read_matrix,
    rewrite_and_read,
    write,
)


@dataclass(frozen=True)
class Codec:
    """Reads tables into (n, d) float64 in the order of the features, and writes them back.

    Parameters
    ----------
    features : d Features
    layout : Layout
        How the training table stores its columns.
    """

    features: tuple[Feature, ...]
    layout: Layout

    def __post_init__(self) -> None:
        have, want = set(self.layout.names), {f.name for f in self.features}
        if len(self.layout.names) != len(self.features) or have != want:
            raise InvalidInput(
                f"The schema and the table must have the same columns. Only in the schema: "
                f"{sorted(want - have)[:8]}; only in the table: {sorted(have - want)[:8]}."
            )
        for feature, storage, labels in zip(
            self.features, self._storage, self.holds_labels, strict=True
        ):
            known = labels or storage.is_boolean or (storage.is_number and not storage.is_half)
            if not known:
                raise InvalidInput(
                    f"Column '{feature.name}' must hold numbers of 32 bits or more, booleans, text "
                    f"or categories. Got {storage.dtype}."
                )
            if labels and feature.levels is None:
                raise InvalidInput(
                    f"Column '{feature.name}' holds text or categories, so its feature must be "
                    f"ordinal or categorical with levels. Got {feature.kind}."
                )
            if not labels and any(isinstance(v, str) for v in feature.levels or ()):
                raise InvalidInput(
                    f"Column '{feature.name}' holds numbers; the levels of its feature are text. "
                    "Give the numbers as levels and the text as labels."
                )

    @cached_property
    def _storage(self) -> list[Storage]:
        place = dict(zip(self.layout.names, self.layout.columns, strict=True))
        return [place[f.name] for f in self.features]

    @cached_property
    def _ordered(self) -> Layout:
        """The layout with its columns in the order of the features, in which arrays come."""
        places = [self.layout.names.index(f.name) for f in self.features]
        return replace(
            self.layout,
            names=tuple(self.layout.names[place] for place in places),
            columns=tuple(self._storage),
            labels=tuple(self.layout.labels[place] for place in places),
        )

    @cached_property
    def holds_labels(self) -> NDArray[np.bool_]:
        """Columns of text or a category dtype: (d,) bool."""
        return np.array([s.is_text or s.is_category for s in self._storage], dtype=bool)

    @cached_property
    def whole(self) -> NDArray[np.bool_]:
        """Columns that hold whole numbers only: (d,) bool."""
        return np.array([s.is_integer or s.is_boolean for s in self._storage], dtype=bool)

    @cached_property
    def single(self) -> NDArray[np.bool_]:
        """Columns stored in less than double precision: (d,) bool."""
        return np.array([s.is_single for s in self._storage], dtype=bool)

    @cached_property
    def storable(self) -> Floats:
        """Minimum and maximum that each column's dtype can store: (2, d) float64."""
        return np.array([_storable(storage) for storage in self._storage], dtype=np.float64).T

    def read(self, X: Any, what: str) -> Floats:
        """Read a table: (n, d) float64, never the caller's own memory."""
        columns = [
            Column(f.name, len(f.levels), f.levels, by_value=True)
            if labels and f.levels is not None
            else Column(f.name)
            for f, labels in zip(self.features, self.holds_labels, strict=True)
        ]
        matrix = read_matrix(X, columns, named=self.layout.named, what=what)
        matrix = np.array(matrix, dtype=np.float64, order="C")
        for j in np.flatnonzero(self.holds_labels):
            matrix[:, j] = _looked_up(matrix[:, j], self.features[j].level_numbers)
        return matrix

    def as_trained(self, X: Any) -> Any:
        """Give a table with its columns as the training table has them.

        A model that does not know the names of its columns goes by their order. An array has the
        order of the features.
        """
        if not self.layout.named:
            return X
        names = tuple(feature.name for feature in self.features)
        if column_names(X) is None and self.layout.names != names:
            X = as_named_frame(X, names)
        return in_order(X, self.layout.names)

    def values(self, matrix: Floats) -> list[NDArray[Any]]:
        """Give the columns as the table holds them: numbers, or levels as objects."""
        return [self._values_of(j, matrix[:, j]) for j in range(len(self.features))]

    def _values_of(self, j: int, numbers: Floats) -> NDArray[Any]:
        if not self.holds_labels[j]:
            return numbers
        feature = self.features[j]
        word = dict(zip(feature.level_numbers, feature.levels or (), strict=True))
        out = np.empty(len(numbers), dtype=object)
        out[:] = [word.get(number) for number in numbers.tolist()]
        return out

    def write(self, matrix: Floats) -> Any:
        """Make a table of the training kind and dtypes."""
        place = {
            f.name: values for f, values in zip(self.features, self.values(matrix), strict=True)
        }
        return write([place[name] for name in self.layout.names], self.layout)

    def rewrite(self, X: Any, before: Floats, after: Floats) -> tuple[Any, Floats]:
        """Copy a table with those cells replaced in which the two matrices differ.

        Returns the copy, and what it reads as: `after`, but for what a column had to round.
        """
        changed = ~same(before, after)
        return rewrite_and_read(X, self._ordered, changed, self.values(after), after)


def _storable(storage: Storage) -> tuple[float, float]:
    if storage.is_boolean:
        return 0.0, 1.0
    if storage.is_integer:
        limits = np.iinfo(storage.number)
        most = float(limits.max)  # rounded up where float64 does not hold it
        return float(limits.min), most if int(most) == limits.max else np.nextafter(most, 0.0)
    return -np.inf, np.inf


def _looked_up(places: Floats, numbers: Sequence[float]) -> Floats:
    """Turn places among the levels into the levels' numbers; NaN stays."""
    out = np.full(len(places), np.nan)
    known = ~np.isnan(places)
    out[known] = np.asarray(numbers)[places[known].astype(np.int64)]
    return out

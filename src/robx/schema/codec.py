"""From a table to numbers and back, as a schema's features and the table's dtypes say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Floats, Ints, same
from robx.errors import InvalidInput
from robx.later import Later
from robx.recent import Recent
from robx.schema.feature import Feature
from robx.schema.unlisted import Unlisted, Word, Words, unlisted_number
from robx.tables import (
    Column,
    Layout,
    Storage,
    as_named_frame,
    column_names,
    holds_surely,
    in_order,
    is_records,
    read_matrix,
    rewrite_and_read,
    write,
)

#: Layouts of tables that a codec remembers.
MOST_LAYOUTS = 64
#: Rows that are compared at a time.
ROWS_AT_ONCE = 2**14


@dataclass(frozen=True, eq=False)
class Reading:
    """A table as numbers, row by row.

    Parameters
    ----------
    matrix : (n, d) float64
        NaN where a cell is missing or cannot be read.
    trouble : (n,) object
        Why a row cannot be read, in words; empty where nothing is wrong.
    words : dict
        The values that are no level, by column and number: hold them as long as the matrix.
    """

    matrix: Floats
    trouble: NDArray[Any]
    words: Words


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
    #: The values that are no level, of tables that are in use, and of those that are kept. Made
    #: with the codec: two threads that read at once must not make one each.
    unlisted: Unlisted = field(init=False, repr=False, compare=False, default_factory=Unlisted)
    _kept: dict[tuple[int, float], Word] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    #: How tables of a layout are read.
    _plans: Recent = field(
        init=False, repr=False, compare=False, default_factory=lambda: Recent(MOST_LAYOUTS)
    )

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
            if not (known or storage.is_object):
                raise InvalidInput(
                    f"Column '{feature.name}' must hold numbers of 32 bits or more, booleans, text "
                    f"or categories. Got {storage.dtype}."
                )
            # A column that is missing in every row has no levels either, and may be any dtype.
            if labels and feature.levels is None and feature.change != "none":
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
        columns = [
            storage.with_categories(feature.levels or ()) if storage.is_text else storage
            for feature, storage in zip(self.features, self._storage, strict=True)
        ]
        return replace(
            self.layout,
            names=tuple(self.layout.names[place] for place in places),
            columns=tuple(columns),
            labels=tuple(self.layout.labels[place] for place in places),
        )

    @cached_property
    def holds_labels(self) -> NDArray[np.bool_]:
        """Columns of text or a category dtype: (d,) bool.

        A column of objects holds what its feature says: text if it has levels, else numbers.
        """
        return np.array(
            [
                s.is_category or (s.is_text and not (s.is_object and f.levels is None))
                for f, s in zip(self.features, self._storage, strict=True)
            ],
            dtype=bool,
        )

    @cached_property
    def whole(self) -> NDArray[np.bool_]:
        """Columns that hold whole numbers only: (d,) bool."""
        return np.array([s.is_integer or s.is_boolean for s in self._storage], dtype=bool)

    @cached_property
    def boolean(self) -> NDArray[np.bool_]:
        """Columns that hold True and False: (d,) bool."""
        return np.array([s.is_boolean for s in self._storage], dtype=bool)

    @cached_property
    def single(self) -> NDArray[np.bool_]:
        """Columns stored in less than double precision: (d,) bool."""
        return np.array([s.is_single for s in self._storage], dtype=bool)

    @cached_property
    def storable(self) -> Floats:
        """Minimum and maximum that each column's dtype can store: (2, d) float64."""
        limits = [_storable(storage) for storage in self._storage]
        return np.ascontiguousarray(np.array(limits, dtype=np.float64).T)

    def read(self, X: Any, what: str) -> Floats:
        """Read a table: (n, d) float64, never the caller's own memory.

        A cell that cannot be read is an error. Values that are no level are kept by the codec.
        """
        matrix, words = self._read(X, what, None)
        self._kept.update(words)
        return matrix

    def read_rows(self, X: Any, what: str) -> Reading:
        """Read a table of which some rows may be in trouble; see `Reading`."""
        reasons: dict[int, str] = {}
        matrix, words = self._read(X, what, reasons)
        trouble = np.full(len(matrix), "", dtype=object)
        for row, reason in reasons.items():
            trouble[row] = reason
        return Reading(matrix, trouble, words)

    def _read(self, X: Any, what: str, reasons: dict[int, str] | None) -> tuple[Floats, Words]:
        words: dict[tuple[int, float], Word] = {}
        matrix = read_matrix(
            X,
            self._columns,
            named=self.layout.named,
            what=what,
            reasons=reasons,
            spell={j: partial(self._number, words, j) for j in self._numbers_of_levels},
            plans=self._plans,
            own=True,
        )
        return matrix, words

    def _number(self, words: dict[tuple[int, float], Word], j: int, value: Any) -> float:
        """Give the number of a value of a text or category column."""
        number = self._numbers_of_levels[j].get(value)
        if number is None:
            number = unlisted_number(value, self.features[j])
            words[j, number] = self.unlisted.word(j, number, value)
        return number

    @cached_property
    def _columns(self) -> list[Column]:
        return [Column(f.name, by_value=not _has_words(f)) for f in self.features]

    @cached_property
    def _numbers_of_levels(self) -> dict[int, dict[Any, float]]:
        return {
            j: dict(zip(f.levels or (), f.level_numbers, strict=True))
            for j, f in enumerate(self.features)
            if self.holds_labels[j]
        }

    def __getstate__(self) -> dict[str, Any]:
        """Give what makes a codec, and the values that it keeps: rows in use are not copied."""
        kept = [(j, number, word.value) for (j, number), word in self._kept.items()]
        return {"features": self.features, "layout": self.layout, "kept": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(features=state["features"], layout=state["layout"])
        self.__dict__.update(unlisted=Unlisted(), _kept={}, _plans=Recent(MOST_LAYOUTS))
        for j, number, value in state["kept"]:
            self._kept[j, number] = self.unlisted.word(j, number, value)

    def holds_unlisted(self, matrix: Floats) -> NDArray[np.bool_]:
        """Tell which cells of text and category columns hold a value that is no level: (n, d)."""
        out = np.zeros(matrix.shape, dtype=bool)
        for j, numbers in self._numbers_of_levels.items():
            out[:, j] = ~np.isnan(matrix[:, j]) & ~np.isin(matrix[:, j], list(numbers.values()))
        return out

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
        known = self._levels_of_numbers[j]
        unknown = set(numbers.tolist()).difference(known)
        if unknown:
            known = dict(known)
            for number in unknown:
                word = self.unlisted.find(j, number)
                known[number] = None if word is None else word.value
        out = np.empty(len(numbers), dtype=object)
        out[:] = [known.get(number) for number in numbers.tolist()]
        return out

    @cached_property
    def _levels_of_numbers(self) -> dict[int, dict[float, Any]]:
        return {
            j: {number: level for level, number in numbers.items()}
            for j, numbers in self._numbers_of_levels.items()
        }

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
        changed = _differing(before, after)
        return rewrite_and_read(X, self._ordered, changed, self._written(after), after)

    def rewrite_later(self, X: Any, before: Floats, after: Floats) -> Later | None:
        """Do as `rewrite` does once the copy is asked for; None where it is not sure to hold all.

        Neither X nor the two matrices may be changed until then.
        """
        changed = _differing(before, after)
        if is_records(X):
            held = not np.isnan(after[changed]).any()
        else:
            held = holds_surely(X, self._ordered, changed, self._written(after), self._plans)
        return Later(lambda: self.rewrite(X, before, after)[0]) if held else None

    def _written(self, matrix: Floats) -> Callable[[int, Ints], NDArray[Any]]:
        """Give the values that a matrix stands for, by column and rows."""
        return lambda j, rows: self._values_of(j, matrix[rows, j])


def _differing(before: Floats, after: Floats) -> NDArray[np.bool_]:
    """Tell which cells differ, some rows at a time: (n, d) bool."""
    out = np.empty(before.shape, dtype=bool)
    for first in range(0, len(out), ROWS_AT_ONCE):
        part = slice(first, first + ROWS_AT_ONCE)
        np.logical_not(same(before[part], after[part]), out=out[part])
    return out


def _has_words(feature: Feature) -> bool:
    return any(isinstance(level, str) for level in feature.levels or ())


def _storable(storage: Storage) -> tuple[float, float]:
    if storage.is_boolean:
        return 0.0, 1.0
    if storage.is_integer:
        limits = np.iinfo(storage.number)
        most = float(limits.max)  # rounded up where float64 does not hold it
        return float(limits.min), most if int(most) == limits.max else np.nextafter(most, 0.0)
    return -np.inf, np.inf

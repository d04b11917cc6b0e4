"""Rows that stand for at least k people each, in place of the training rows: micro-aggregation.

Rows are parted in two, where they differ most, until no part can be parted again and keep k rows on
either side; each part then becomes one row. Parting looks at values only, and ties are broken by
the whole row: the result does not depend on the order of the training table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Bools, Floats, Ints
from robx.schema import Rules

#: The smaller side of a cut between two values has at least this share of the rows; otherwise a
#: cut is made in the middle. It bounds the depth, and so the time, of the partition.
LEAST_SHARE = 1 / 8
#: Columns that are tried for such a cut, those that vary most first.
MOST_TRIED = 8


@dataclass(frozen=True, eq=False)
class Cells:
    """A partition of n rows into m cells.

    Parameters
    ----------
    cell : (n,) int64
        The cell of each row, from 0.
    size : (m,) int64
        Number of rows in each cell.
    """

    cell: Ints
    size: Ints

    @classmethod
    def of(cls, rules: Rules, rows: Floats, kinds: Bools, k: int) -> Cells:
        """Part rows into cells of at least k alike rows.

        Parameters
        ----------
        rules : Rules
        rows : (n, d) float64
            At least k.
        kinds : (n,) bool
            Rows of either kind are parted by themselves, where there are k of both.
        k : int
        """
        places = _places(rules, rows)
        order = np.lexsort(rows.T[::-1])
        apart = [order[kinds[order]], order[~kinds[order]]]
        todo = apart if min(map(len, apart)) >= k else [order]
        cell = np.empty(len(rows), dtype=np.int64)
        size: list[int] = []
        while todo:
            part = todo.pop()
            cut = None if len(part) < 2 * k else _cut(places, part, k)
            if cut is None:
                cell[part] = len(size)
                size.append(len(part))
            else:
                todo += [cut[1], cut[0]]
        return cls(cell, np.array(size, dtype=np.int64))

    def middles(self, rules: Rules, rows: Floats) -> Floats:
        """Give one row for each cell: (m, d) float64.

        A number is the value that more than half of the rows have, else the mean; a level, and the
        member of a one-hot group, is the most frequent one. What most rows lack is missing.
        """
        listed = np.array([bool(f.level_numbers) for f in rules.features], dtype=bool)
        for one in rules.together_in_numbers.ties:
            listed[one.columns] = True
        averaged = (rules.relations_in_numbers.matrix != 0).any(axis=0)
        out = np.empty((len(self.size), rows.shape[1]))
        for j in np.flatnonzero(~rules.is_member):
            value, count = self._most_frequent(rows[:, j])
            if not listed[j]:
                is_common = (2 * count > self.size) & ~(averaged[j] & np.isfinite(value))
                value = np.where(is_common, value, self._mean(rows[:, j]))
            out[:, j] = value
        for members in rules.groups.values():
            patterns, code = np.unique(rows[:, members], axis=0, return_inverse=True)
            chosen, _ = self._most_frequent(code.reshape(-1).astype(np.float64))
            out[:, members] = patterns[chosen.astype(np.int64)]
        return out

    def most_frequent(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Give the most frequent label in each cell: (m,)."""
        classes, code = np.unique(labels, return_inverse=True)
        chosen, _ = self._most_frequent(code.astype(np.float64))
        return np.asarray(classes[chosen.astype(np.int64)])

    def _most_frequent(self, values: Floats) -> tuple[Floats, Ints]:
        """The most frequent value in each cell, the least of several, and how often it is there."""
        order = np.lexsort((values, self.cell))
        sorted_values, cell = values[order], self.cell[order]
        is_new = np.ones(len(order), dtype=bool)
        alike = sorted_values[1:] == sorted_values[:-1]
        alike |= np.isnan(sorted_values[1:]) & np.isnan(sorted_values[:-1])
        is_new[1:] = (cell[1:] != cell[:-1]) | ~alike
        start = np.flatnonzero(is_new)
        count = np.diff([*start, len(order)])
        best = np.lexsort((np.arange(len(start)), -count, cell[start]))
        first = best[np.unique(cell[start][best], return_index=True)[1]]
        return sorted_values[start[first]], count[first]

    def _mean(self, values: Floats) -> Floats:
        """The mean of what is known in each cell, NaN where nothing is."""
        # Sorted, so that the sum does not depend on the order of the rows.
        order = np.lexsort((values, self.cell))
        values, cell = values[order], self.cell[order]
        known = ~np.isnan(values)
        n = len(self.size)
        with np.errstate(invalid="ignore", over="ignore"):
            total = np.bincount(cell[known], weights=values[known], minlength=n)
            return np.asarray(total / np.bincount(cell[known], minlength=n))


def _places(rules: Rules, rows: Floats) -> Floats:
    """Coordinates of rows in which all columns vary by 1, or by their levels: (n, e) float64."""
    columns: list[Floats] = []
    for j, feature in enumerate(rules.features):
        values = rows[:, j]
        if feature.kind == "categorical":
            columns += [values == level for level in np.unique(values[~np.isnan(values)])]
            continue
        known = np.sort(values[np.isfinite(values)])  # sums depend on the order
        low, high = (known[0], known[-1]) if len(known) else (0.0, 0.0)
        with np.errstate(over="ignore"):
            spread = float(np.std(known)) if high > low else 1.0
        spread = spread if 0.0 < spread < np.inf else 1.0
        # What is missing lies below all that is known.
        missing = low - spread if feature.kind != "onehot" else 0.0
        columns.append(np.clip(np.where(np.isnan(values), missing, values), None, high) / spread)
    return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])


def _cut(places: Floats, part: Ints, k: int) -> tuple[Ints, Ints] | None:
    """Cut a part of at least 2k rows where it varies most; nothing to cut where all are alike."""
    here = places[part]
    spread = here.var(axis=0)
    n = len(part)
    middle = k * round(n / (2 * k))  # cells of just k rows, as far as values allow
    least = max(k, int(np.ceil(LEAST_SHARE * n)))
    by_spread: Sequence[int] = np.argsort(-spread, kind="stable").tolist()
    if not (here != here[0]).any():
        return None
    for j in by_spread[:MOST_TRIED]:
        if not spread[j] > 0:
            break
        order = np.argsort(here[:, j], kind="stable")
        values = here[order, j]
        cuts = _boundaries(values, least)
        if len(cuts):
            at = int(cuts[np.abs(cuts - middle).argmin()])
            return part[order[:at]], part[order[at:]]
    order = np.argsort(here[:, by_spread[0]], kind="stable")
    return part[order[:middle]], part[order[middle:]]


def _boundaries(values: Floats, least: int) -> NDArray[np.int64]:
    """Places in sorted values between two that differ, with enough of them on either side."""
    places = np.arange(least, len(values) - least + 1)
    return places[values[places] != values[places - 1]] if least < len(values) else places[:0]

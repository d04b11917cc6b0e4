"""Columns of numbers: for each split of the model, the raw numbers that go left.

Which way a raw number goes is asked of the pipeline (`asking`), about points all over the line;
between two that go different ways the search goes on until they are neighbours. So no formula of a
transformer is repeated here, and nothing is rounded differently.

A search is a generator: it yields the raw numbers that it wants to know about, (n,) float64, and is
sent what the model reads there, (n, columns). `search_together` runs those of all columns side by
side, with one call of the pipeline for each round.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Bools, Floats
from robx.trees.pipelines.asking import Asker
from robx.trees.pipelines.lines import FAR, Ints, around, between, ordered, unordered
from robx.trees.reasons import CannotFold

#: Points that are asked about at a time, at most, over all splits of a column.
MOST_POINTS = 2**15
#: A split that changes sides more often is not worth more nodes.
MOST_CHANGES = 64
MOST_ROUNDS = 100

T = TypeVar("T")
Search = Generator[Floats, Floats, T]


@dataclass(frozen=True)
class Splits:
    """Splits of the model on columns that are made of one raw column.

    Parameters
    ----------
    column : (s,) int64
        The column of the model.
    threshold : (s,) float64
        Goes left when ``x <= threshold``.
    missing_left : (s,) bool
    codes : (s,) int64
        Row of `bits` for a split by category, else -1.
    bits : (b, n) bool
        By row, whether each code goes left.
    marked : (s, 2) float64
        The closed range of numbers that count as missing; NaN where none do.
    """

    column: NDArray[np.int64]
    threshold: Floats
    missing_left: Bools
    codes: NDArray[np.int64]
    bits: Bools
    marked: Floats

    def __len__(self) -> int:
        return len(self.column)

    def go_left(self, values: Floats, which: NDArray[np.intp] | slice) -> Bools:
        """Tell whether values go left, of which the last axis is that of the splits."""
        code = self.codes[which]
        with np.errstate(invalid="ignore"):
            left = values <= self.threshold[which]
            low, high = self.marked[which].T
            missing = np.isnan(values) | ((values >= low) & (values <= high))
        if (code >= 0).any():
            known = np.where(np.isnan(values), 0, values).astype(np.int64)
            known = np.clip(known, 0, self.bits.shape[1] - 1)
            left = np.where(code >= 0, self.bits[code, known], left)
        return np.where(missing, self.missing_left[which], left)


@dataclass(frozen=True)
class Sides:
    """Which way the raw numbers go at one split.

    Parameters
    ----------
    ends : (k,) float64
        The last number of each run that goes one way, but of the last run; ascending.
    first_left : bool
        Whether the first run goes left; after it runs go left and right by turns.
    """

    ends: Floats
    first_left: bool


def search_together(asker: Asker, searches: Mapping[int, Search[T]]) -> dict[int, T]:
    """Run the searches of several raw columns side by side."""
    found: dict[int, T] = {}
    told: dict[int, Floats | None] = dict.fromkeys(searches)
    for _ in range(MOST_ROUNDS):
        wanted: dict[int, Floats] = {}
        for j, read in told.items():
            try:
                wanted[j] = next(searches[j]) if read is None else searches[j].send(read)
            except StopIteration as end:
                found[j] = end.value
        if not wanted:
            return found
        answer = _ask_some(asker, wanted)
        told = {j: answer[: len(points)] for j, points in wanted.items()}
    raise CannotFold("the search for the thresholds of its raw columns does not end")


def _ask_some(asker: Asker, wanted: Mapping[int, Floats]) -> Floats:
    n, parts = max(len(points) for points in wanted.values()), []
    for first in range(0, n, MOST_POINTS):
        rows = slice(first, first + MOST_POINTS)
        parts.append(asker.ask({j: points[rows] for j, points in wanted.items()}))
    return np.concatenate(parts) if parts else np.zeros((0, len(asker.model.columns)))


# --- what the pipeline takes ----------------------------------------------------------------------


def limits_of(asker: Asker, grids: Mapping[int, Floats]) -> dict[int, tuple[float, float]]:
    """Find the range of numbers around the base value that the pipeline takes, column by column."""
    limits: dict[int, tuple[float, float]] = {}
    searches: dict[int, Search[tuple[float, float]]] = {}
    together = asker.attempt(grids) if grids else None
    for j, grid in grids.items():
        read = asker.attempt({j: grid}) if together is None else together[: len(grid)]
        low, high = _taken(asker, j, grid, read)
        below = float(grid[low - 1]) if low else None
        above = float(grid[high + 1]) if high + 1 < len(grid) else None
        first, last = float(grid[low]), float(grid[high])
        if read is None:
            limits[j] = (_bisect(asker, j, first, below), _bisect(asker, j, last, above))
        else:
            searches[j] = _limits(asker, j, (below, first, last, above))
    return {**limits, **search_together(asker, searches)}


def _taken(asker: Asker, j: int, grid: Floats, read: Floats | None) -> tuple[int, int]:
    """Find the first and last point around the base value that the pipeline takes.

    `read` is what the model reads at the grid, or None where a transformer raises.
    """
    at = int(np.searchsorted(grid, asker.raw[j].base))
    low, high = 0, len(grid) - 1
    if read is None:
        low = at - _longest(asker, j, grid[: at + 1][::-1])
        high = at + _longest(asker, j, grid[at:])
        read = asker.ask({j: grid[low : high + 1]})
    refused = _refused(asker, j, read)
    below, above = refused[: at - low][::-1], refused[at - low :]
    if below.any():
        low = at - int(below.argmax())
    if above.any():
        high = at + int(above.argmax()) - 1
    if high < at:
        raise CannotFold(f"it refuses {asker.raw[j].base} in column '{asker.raw[j].name}'")
    return low, high


def _longest(asker: Asker, j: int, points: Floats) -> int:
    """How many points after the first can be asked about together with it."""
    good, bad = 0, len(points)
    while bad - good > 1:
        middle = (good + bad) // 2
        if asker.attempt({j: points[: middle + 1]}) is None:
            bad = middle
        else:
            good = middle
    return good


def _refused(asker: Asker, j: int, read: Floats) -> Bools:
    return np.asarray(asker.refused_cells(read)[:, asker.columns_of[j]].any(axis=1))


def _limits(
    asker: Asker, j: int, ends: tuple[float | None, float, float, float | None]
) -> Search[tuple[float, float]]:
    """Find the last numbers that the model takes, below and above."""
    found = []
    for outside, last in ((ends[0], ends[1]), (ends[3], ends[2])):
        beyond, taken = outside, last
        # Where numbers are as large as this, a round limit does.
        while beyond is not None and abs(taken) < FAR:
            low, high = sorted((taken, beyond))
            order = ordered(np.array([low, high]))
            if order[1] - order[0] <= 1:
                break
            points = between(order[:1], order[1:], order[:1], 60)[0]
            read = yield unordered(points)
            refused = _refused(asker, j, read)
            near = points if taken == low else points[::-1]
            refused = refused if taken == low else refused[::-1]
            first = int(refused.argmax()) if refused.any() else len(near)
            if first > 0:
                taken = float(unordered(near[first - 1 : first])[0])
            if first < len(near):
                beyond = float(unordered(near[first : first + 1])[0])
        found.append(taken)
    return found[0], found[1]


def _bisect(asker: Asker, j: int, taken: float, beyond: float | None) -> float:
    """Find the last number that the pipeline takes, one at a time: others raise."""
    while beyond is not None and abs(taken) < FAR:
        order = ordered(np.array([taken, beyond]))
        if abs(order[1] - order[0]) <= 1:
            break
        middle = float(unordered(order[:1] + (order[1:] - order[:1]) // 2)[0])
        read = asker.attempt({j: [middle]})
        if read is None or _refused(asker, j, read)[0]:
            beyond = middle
        else:
            taken = middle
    return taken


# --- which way numbers go -------------------------------------------------------------------------


def find_sides(splits: Splits, grid: Floats) -> Search[list[Sides]]:
    """Find for each split which raw numbers go left.

    Parameters
    ----------
    splits : Splits
    grid : (g,) float64
        Ascending points, from the first number that the pipeline takes to the last.
    """
    read = yield grid
    values = read[:, splits.column]
    left = splits.go_left(values, slice(None))
    split, at = np.nonzero((left[1:] != left[:-1]).T)
    _check_changes(split)
    points = ordered(grid)
    state = _Brackets(split, points[at], points[at + 1], values[at, split], values[at + 1, split])
    places = yield from _narrow(splits, state)
    # Rounding may send a few neighbours back and forth: each change of sides becomes one of ours.
    split, place = places
    low, high = _free_range(split, place, points[0], points[-1])
    near = around(place, low, high)
    read = yield unordered(near.ravel())
    seen = read[np.arange(near.size), np.repeat(splits.column[split], near.shape[1])]
    state = _changes(splits, split, near, seen.reshape(near.shape))
    split, place = yield from _narrow(splits, state)
    first = left[0]
    return [
        Sides(unordered(np.unique(place[split == s])), bool(first[s])) for s in range(len(splits))
    ]


@dataclass(frozen=True)
class _Brackets:
    """Pairs of points between which a split changes sides, and what the model reads there."""

    split: NDArray[np.intp]
    low: Ints
    high: Ints
    at_low: Floats
    at_high: Floats

    def guess(self, threshold: Floats) -> Ints:
        """Where a straight line between the two points meets the threshold."""
        a, b = unordered(self.low), unordered(self.high)
        with np.errstate(all="ignore"):
            share = (threshold[self.split] - self.at_low) / (self.at_high - self.at_low)
            meet = a + (b - a) * share
        sound = np.isfinite(meet) & (meet > a) & (meet < b)
        half = self.low + (self.high - self.low) // 2
        return np.where(sound, ordered(np.where(sound, meet, a)), half)


def _narrow(
    splits: Splits, state: _Brackets
) -> Generator[Floats, Floats, tuple[NDArray[np.intp], Ints]]:
    """Narrow brackets down to neighbours; give the split of each and its lower point."""
    done: list[tuple[NDArray[np.intp], Ints]] = []
    while True:
        is_done = state.high - state.low <= 1
        done.append((state.split[is_done], state.low[is_done]))
        rest = [part[~is_done] for part in vars(state).values()]
        state = _Brackets(*rest)
        if not len(state.split):
            break
        n_even = int(np.clip(MOST_POINTS // len(state.split) - 24, 3, 32))
        points = between(state.low, state.high, state.guess(splits.threshold), n_even)
        read = yield unordered(points.ravel())
        values = read[
            np.arange(points.size), np.repeat(splits.column[state.split], points.shape[1])
        ]
        inner = values.reshape(points.shape)
        ends = np.concatenate([state.low[:, None], points, state.high[:, None]], axis=1)
        whole = np.concatenate([state.at_low[:, None], inner, state.at_high[:, None]], axis=1)
        state = _changes(splits, state.split, ends, whole)
        _check_changes(np.concatenate([state.split, *(split for split, _ in done)]))
    return np.concatenate([s for s, _ in done]), np.concatenate([p for _, p in done])


def _changes(splits: Splits, split: NDArray[np.intp], points: Ints, values: Floats) -> _Brackets:
    """Pairs of neighbouring points, row by row, that go different ways."""
    left = splits.go_left(values.T, split).T
    row, at = np.nonzero(left[:, 1:] != left[:, :-1])
    return _Brackets(
        split[row], points[row, at], points[row, at + 1], values[row, at], values[row, at + 1]
    )


def _free_range(split: NDArray[np.intp], place: Ints, first: int, last: int) -> tuple[Ints, Ints]:
    """How far each place of change is from the others of its split: from and to."""
    order = np.lexsort((place, split))
    ranked, own = place[order], split[order]
    low, high = np.full(len(place), first), np.full(len(place), last)
    same = own[1:] == own[:-1]
    low[order[1:][same]] = ranked[:-1][same] + 1
    high[order[:-1][same]] = ranked[1:][same]
    return low, high


def _check_changes(split: NDArray[np.intp]) -> None:
    if len(split) and np.bincount(split).max() > MOST_CHANGES:
        raise CannotFold("a column is neither monotone in its raw column nor constant in few steps")


def pieces(sides: Sequence[Sides]) -> int:
    """Count the runs of the split that has most of them."""
    return max((len(one.ends) + 1 for one in sides), default=1)

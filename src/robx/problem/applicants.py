"""`Applicants`, read and checked, and `SearchResult`: what a search found for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robx.answers import ANSWERED, Status
from robx.arrays import Bools, Floats
from robx.schema.unlisted import Words


@dataclass(frozen=True, eq=False)
class Applicants:
    """n applicants as numbers, with what each may come to have.

    Parameters
    ----------
    matrix : (n, d) float64
    low, high : (n, d) float64
        Bounds of what each value may become; it may always stay as it is.
    score : (n,) float64
        The model's score.
    trouble : n strings
        Why a row cannot be answered whatever the method; empty where nothing is wrong.
    words : dict
        Values in `matrix` that are no level, held here as long as the applicants are.
    """

    matrix: Floats
    low: Floats
    high: Floats
    score: Floats
    trouble: tuple[str, ...]
    words: Words = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Minimum and maximum of each column: two (n, d) arrays."""
        return self.low, self.high

    def take(self, rows: NDArray[Any]) -> Applicants:
        """Return some of them, by number or by a mask."""
        places = np.arange(len(self))[rows]
        return Applicants(
            self.matrix[places],
            self.low[places],
            self.high[places],
            self.score[places],
            tuple(self.trouble[i] for i in places),
            self.words,
        )

    @classmethod
    def anywhere(cls, points: Floats) -> Applicants:
        """Give points as if they were applicants whom nothing binds."""
        free = np.full_like(points, np.inf)
        return cls(points, -free, free, np.zeros(len(points)), ("",) * len(points))


class Refusal(NamedTuple):
    """Why there is no answer, for `SearchResult.refuse`."""

    status: Status
    reason: str
    obstacles: tuple[str, ...] = ()


@dataclass(eq=False)
class SearchResult:
    """What a method found for n applicants; it starts as nothing, with everybody where they are.

    Parameters
    ----------
    points : (n, d) float64
        The answers, or the applicants themselves where there is none.
    status : (n,) object
        A `Status` each.
    reason : n strings
        Why there is no answer, or what is wrong with it.
    base : SearchResult, optional
        What the method started from.
    paths : n arrays of shape (steps, d), optional
        The way to each answer.
    notes : dict
        What the method says of itself, in plain values, beside its parameters.
    measured : n numbers each by name
        What else the method found out about rows; NaN where it found out nothing.
    obstacles : dict of tuples of str
        By row, the rules that stand in the way of an answer, where the reason ends with them.
    """

    points: Floats
    status: NDArray[Any]
    reason: list[str]
    base: SearchResult | None = None
    paths: list[Floats] | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, Floats] = field(default_factory=dict)
    obstacles: dict[int, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def nothing(cls, applicants: Applicants) -> SearchResult:
        """Start with no answers."""
        status = np.full(len(applicants), Status.NOT_FOUND, dtype=object)
        return cls(applicants.matrix.copy(), status, ["nothing was found"] * len(applicants))

    def answer(self, i: int | np.integer[Any], point: Floats) -> None:
        """Record an answer."""
        self.points[i] = point
        self.status[i] = Status.OK
        self.reason[int(i)] = ""
        self.obstacles.pop(int(i), None)

    def refuse(
        self,
        i: int | np.integer[Any],
        status: Status,
        reason: str,
        obstacles: tuple[str, ...] = (),
    ) -> None:
        """Record why there is none; `obstacles` are rules that the reason ends with."""
        self.status[i] = status
        self.reason[int(i)] = reason
        self.obstacles.pop(int(i), None)
        if obstacles:
            self.obstacles[int(i)] = obstacles

    @property
    def ok(self) -> Bools:
        """Which rows have an answer: (n,) bool."""
        return np.array([status == Status.OK for status in self.status], dtype=bool)

    @property
    def answered(self) -> Bools:
        """Which rows have an answer, also one that is not stable: (n,) bool."""
        return np.array([status in ANSWERED for status in self.status], dtype=bool)

    @classmethod
    def joined(
        cls, parts: list[SearchResult], applicants: Applicants, rows: NDArray[np.intp]
    ) -> SearchResult:
        """Put parts one after the other at some rows of a longer list of applicants."""
        whole = cls.nothing(applicants)
        whole.points[rows] = np.concatenate([part.points for part in parts])
        whole.status[rows] = np.concatenate([part.status for part in parts])
        for row, reason in zip(rows, [r for part in parts for r in part.reason], strict=True):
            whole.reason[row] = reason
        starts = np.cumsum([0, *(len(part.reason) for part in parts)])
        for start, part in zip(starts, parts, strict=False):
            whole.obstacles |= {int(rows[start + i]): names for i, names in part.obstacles.items()}
        bases = [part.base for part in parts if part.base is not None]
        if bases:
            whole.base = cls.joined(bases, applicants, rows)
        if parts[0].paths is not None:
            whole.paths = [person[None] for person in applicants.matrix]
            for row, path in zip(
                rows, [p for part in parts for p in part.paths or []], strict=True
            ):
                whole.paths[row] = path
        whole.notes = parts[0].notes
        for name in parts[0].measured:
            whole.measured[name] = np.full(len(applicants), np.nan)
            whole.measured[name][rows] = np.concatenate([part.measured[name] for part in parts])
        return whole

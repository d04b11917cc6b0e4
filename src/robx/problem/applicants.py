"""`Applicants`, read and checked, and `SearchResult`: what a search found for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.answers.status import ANSWERED, Status
from robx.arrays import Floats


@dataclass(frozen=True, eq=False)
class Applicants:
    """n applicants as numbers, with what each may come to have.

    Parameters
    ----------
    matrix : (n, d) float64
    low, high : (n, d) float64
        Bounds of each value.
    score : (n,) float64
        The model's score.
    trouble : n strings
        Why a row cannot be answered whatever the method; empty where nothing is wrong.
    """

    matrix: Floats
    low: Floats
    high: Floats
    score: Floats
    trouble: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Least and greatest value of each column: two (n, d) arrays."""
        return self.low, self.high

    def take(self, rows: NDArray[Any]) -> Applicants:
        """Return some of them."""
        places = np.arange(len(self))[rows]
        return Applicants(
            self.matrix[places],
            self.low[places],
            self.high[places],
            self.score[places],
            tuple(self.trouble[i] for i in places),
        )


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
    measured : n numbers each by name
        What else the method found out about rows; NaN where it found out nothing.
    """

    points: Floats
    status: NDArray[Any]
    reason: list[str]
    base: SearchResult | None = None
    paths: list[Floats] | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, Floats] = field(default_factory=dict)

    @classmethod
    def nothing(cls, people: Applicants) -> SearchResult:
        """Start with no answers."""
        status = np.full(len(people), Status.BUDGET, dtype=object)
        return cls(people.matrix.copy(), status, [""] * len(people))

    def answer(self, i: int | np.integer[Any], point: Floats) -> None:
        """Record an answer."""
        self.points[i] = point
        self.status[i] = Status.OK
        self.reason[int(i)] = ""

    def refuse(self, i: int | np.integer[Any], status: Status, reason: str) -> None:
        """Record why there is none."""
        self.status[i] = status
        self.reason[int(i)] = reason

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which rows have an answer: (n,) bool."""
        return np.array([status == Status.OK for status in self.status], dtype=bool)

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which rows have an answer, also one that is not stable: (n,) bool."""
        return np.array([status in ANSWERED for status in self.status], dtype=bool)

    @classmethod
    def joined(
        cls, parts: list[SearchResult], people: Applicants, rows: NDArray[np.intp]
    ) -> SearchResult:
        """Put parts one after the other at some rows of a longer list of people."""
        whole = cls.nothing(people)
        whole.points[rows] = np.concatenate([part.points for part in parts])
        whole.status[rows] = np.concatenate([part.status for part in parts])
        for row, reason in zip(rows, [r for part in parts for r in part.reason], strict=True):
            whole.reason[row] = reason
        bases = [part.base for part in parts if part.base is not None]
        if bases:
            whole.base = cls.joined(bases, people, rows)
        if parts[0].paths is not None:
            whole.paths = [person[None] for person in people.matrix]
            for row, path in zip(
                rows, [p for part in parts for p in part.paths or []], strict=True
            ):
                whole.paths[row] = path
        whole.notes = parts[0].notes
        for name in parts[0].measured:
            whole.measured[name] = np.full(len(people), np.nan)
            whole.measured[name][rows] = np.concatenate([part.measured[name] for part in parts])
        return whole

"""`Applicants`, read and checked, and `SearchResult`: what a search found for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robx.answers import Status
from robx.answers.status import is_answered, is_ok
from robx.arrays import Bools, Floats
from robx.later import Later, Lazy
from robx.schema.unlisted import Words
from robx.tables import Table

#: From applicants as numbers, (n, d), to minimum and maximum of what each value may become.
Limits = Callable[[Floats], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class Applicants(Lazy):
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
    limits : function, optional
        Gives `low` and `high` where these are worked out only for those who are looked at.
    table : Table, optional
        What they were read from, where that is one table.
    """

    lazy_fields: ClassVar[tuple[str, ...]] = ("low", "high")

    matrix: Floats
    low: Floats
    high: Floats
    score: Floats
    trouble: tuple[str, ...]
    words: Words = field(default_factory=dict, repr=False)
    limits: Limits | None = field(default=None, repr=False)
    table: Table | None = field(default=None, repr=False)

    @classmethod
    def within(
        cls,
        limits: Limits,
        matrix: Floats,
        score: Floats,
        trouble: tuple[str, ...],
        words: Words,
        table: Table | None = None,
    ) -> Applicants:
        """Give applicants whose bounds are worked out when somebody asks for them."""
        both = Later(lambda: limits(matrix))
        low, high = Later(lambda: both.get()[0]), Later(lambda: both.get()[1])
        return cls(matrix, low, high, score, trouble, words, limits, table)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Minimum and maximum of each column: two (n, d) arrays."""
        return self.low, self.high

    def take(self, rows: NDArray[Any]) -> Applicants:
        """Return some of them, by number or by a mask."""
        places = np.arange(len(self))[rows]
        matrix, score = self.matrix[places], self.score[places]
        trouble = tuple(self.trouble[i] for i in places.tolist())
        if self.limits is not None and isinstance(self.held("low"), Later):
            return Applicants.within(self.limits, matrix, score, trouble, self.words)
        return Applicants(matrix, self.low[places], self.high[places], score, trouble, self.words)

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

    def put(self, rows: NDArray[np.intp], other: SearchResult) -> None:
        """Record what another search found for some of the rows."""
        for k, row in enumerate(rows):
            if other.status[k] == Status.OK:
                self.answer(row, other.points[k])
            else:
                reason, obstacles = other.reason[k], other.obstacles.get(k, ())
                self.refuse(row, other.status[k], reason, obstacles)

    @property
    def ok(self) -> Bools:
        """Which rows have an answer: (n,) bool."""
        return is_ok(self.status)

    @property
    def answered(self) -> Bools:
        """Which rows have an answer, also one that is not stable: (n,) bool."""
        return is_answered(self.status)

    @classmethod
    def joined(
        cls, parts: Iterable[tuple[NDArray[np.intp], SearchResult]], applicants: Applicants
    ) -> SearchResult:
        """Put parts at their rows of a longer list of applicants, each as it comes."""
        whole: SearchResult | None = None
        for rows, part in parts:
            if whole is None:
                whole = cls.nothing(applicants)
                whole._make_space(part, applicants)
            whole._put(rows, part)
        return cls.nothing(applicants) if whole is None else whole

    def _make_space(self, part: SearchResult, applicants: Applicants) -> None:
        """Start with what a part has, for all applicants."""
        self.notes = part.notes
        self.measured = {name: np.full(len(applicants), np.nan) for name in part.measured}
        if part.paths is not None:
            self.paths = [person[None] for person in applicants.matrix]
        if part.base is not None:
            self.base = SearchResult.nothing(applicants)
            self.base._make_space(part.base, applicants)

    def _put(self, rows: NDArray[np.intp], part: SearchResult) -> None:
        self.points[rows] = part.points
        self.status[rows] = part.status
        for k, row in enumerate(rows.tolist()):
            self.reason[row] = part.reason[k]
            if self.paths is not None and part.paths is not None:
                self.paths[row] = part.paths[k]
        self.obstacles |= {int(rows[k]): names for k, names in part.obstacles.items()}
        for name, numbers in self.measured.items():
            numbers[rows] = part.measured[name]
        if self.base is not None and part.base is not None:
            self.base._put(rows, part.base)

"""`Effect`: what a change brings about. Who works two years longer is two years older by then."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robx.arrays import Bools, Floats, same
from robx.errors import InvalidInput
from robx.schema.constraint import Constraint, coefficients, parse_sum

#: Names of features that count somebody's years.
AGE = re.compile(r"(.*[_ .])?age([_ .](in[_ .])?years)?", re.IGNORECASE)


@dataclass(frozen=True)
class Effect:
    """A feature that follows from others: ``x'_j = x_j + sum of coefficient * (x'_i - x_i)``.

    It is the light form of a causal model: what a person does to the features on the right brings
    the feature on the left about. Nobody acts on that feature directly, `change` does not bind it,
    and it costs nothing; a stated `low` and `high` bind it like any other. The result is rounded to
    what the column can hold. A missing value brings nothing about, and stays missing.

    Parameters
    ----------
    feature : str
        What follows.
    text : str
        As written, such as ``"+1 * years_employed"``. Names of more than a word go into backquotes.
    terms : tuple of (str, float)
    words : str, optional
        How to say it, with ``{by}``, ``{from}`` and ``{to}`` for the numbers, such as
        ``"adds {by} to your debts"``.

    Examples
    --------
    >>> Effect.parse("age", "+1 * years_employed")
    Effect(feature='age', text='+1 * years_employed', terms=(('years_employed', 1.0),), words=None)
    """

    feature: str
    text: str
    terms: tuple[tuple[str, float], ...]
    words: str | None = None

    @classmethod
    def parse(cls, feature: str, plain: Any) -> Effect:
        """Read a sum of changes, or a mapping with that sum as 'by' and with 'words'."""
        words = None
        if isinstance(plain, Mapping):
            unknown = sorted(map(str, set(plain) - {"by", "words"}))
            if unknown or "by" not in plain:
                raise InvalidInput(
                    f"The effect on {feature!r} must be a sum, or a mapping with 'by' and 'words'. "
                    f"Got {dict(plain)!r}."
                )
            plain, words = plain["by"], plain.get("words")
        if not isinstance(plain, str) or not (words is None or isinstance(words, str)):
            raise InvalidInput(
                f"The effect on {feature!r} must be text such as '+1 * years_employed'. Got "
                f"{plain!r} and the words {words!r}."
            )
        if plain.count("`") % 2:
            raise InvalidInput(f"A backquote of the effect {plain!r} is not closed.")
        total: dict[str, float] = {}
        for name, factor in parse_sum(plain, plain, "effect"):
            if name is None:
                raise InvalidInput(
                    f"The effect {plain!r} has the term {factor:g} without a feature. An effect is "
                    "a sum of changes, each times a number."
                )
            total[name] = total.get(name, 0.0) + factor
        if not all(math.isfinite(factor) for factor in total.values()):
            raise InvalidInput(f"The numbers of the effect {plain!r} must be finite.")
        terms = tuple((name, factor) for name, factor in total.items() if factor != 0)
        return cls(str(feature), plain.strip(), terms, words)

    def to_plain(self) -> str | dict[str, str]:
        """Give it as `parse` takes it."""
        return self.text if self.words is None else {"by": self.text, "words": self.words}

    def say(self, by: float, before: str, after: str) -> str:
        """Say what a change brings about, as the end of a sentence that begins with the change.

        Examples
        --------
        >>> Effect.parse("age", "years_employed").say(2.0, "31", "33")
        'which makes you 2 years older'
        >>> Effect.parse("debts", "-0.5*savings").say(-50.0, "80", "30")
        'which brings debts from 80 to 30'
        """
        size = np.format_float_positional(float(f"{abs(by):.6g}"), trim="-")
        if self.words is not None:
            said = self.words
            for hole, filling in (("{by}", size), ("{from}", before), ("{to}", after)):
                said = said.replace(hole, filling)
            return f"which {said}"
        if AGE.fullmatch(self.feature):
            years = "year" if abs(by) == 1 else "years"
            return f"which makes you {size} {years} {'older' if by > 0 else 'younger'}"
        return f"which brings {self.feature} from {before} to {after}"


class Effects(Constraint):
    """The effects of a schema as arrays, in an order in which each comes after its causes.

    Parameters
    ----------
    effects : sequence of Effect
    names : d names of columns
    limits : function
        What the columns may hold for applicants (n, d), two arrays like them: stated ranges, limits
        relative to what the applicants have, and what the columns' dtypes can store.
    on_grid : function
        Brings values of one column, (n,), onto what it can hold: ``on_grid(j, wanted, own)``.
    """

    def __init__(
        self,
        effects: Sequence[Effect],
        names: Sequence[str],
        limits: Callable[[Floats], tuple[Floats, Floats]],
        on_grid: Callable[[int, Floats, Floats], Floats],
    ) -> None:
        place = {name: j for j, name in enumerate(names)}
        ordered = in_order(effects)
        self.effects = ordered
        self.names = tuple(f"{e.feature} (follows from {e.text})" for e in ordered)
        self.targets = [place[effect.feature] for effect in ordered]
        rows = [coefficients(effect.terms, place) for effect in ordered]
        self.matrix = np.array(rows).reshape(len(rows), len(names))
        self.follows = np.zeros(len(names), dtype=bool)
        self.follows[self.targets] = True
        self._limits, self._on_grid = limits, on_grid

    def from_last(self) -> list[tuple[int, Floats]]:
        """Columns that follow with the factors of their causes, no cause before its effect."""
        return list(zip(self.targets[::-1], self.matrix[::-1], strict=True))

    def settle(self, Z: Floats, X: Floats) -> None:
        """See `Constraint.settle`: write what follows."""
        for j, row in zip(self.targets, self.matrix, strict=True):
            causes = row != 0
            change = np.nan_to_num((Z[:, causes] - X[:, causes]) * row[causes], nan=0.0)
            Z[:, j] = self._on_grid(j, X[:, j] + change.sum(axis=1), X[:, j])

    def broken(self, Z: Floats, X: Floats) -> Bools:
        """See `Constraint.broken`: another value than follows, or one that may not be."""
        followed = Z.copy()
        self.settle(followed, X)
        low, high = self._limits(X)
        out = np.empty((len(Z), len(self.targets)), dtype=bool)
        for k, j in enumerate(self.targets):
            z = Z[:, j]
            beyond = (z < low[:, j]) | (z > high[:, j])
            out[:, k] = ~same(followed[:, j], z) | (beyond & ~same(z, X[:, j]))
        return out

    def widen(self, X: Floats, low: Floats, high: Floats) -> None:
        """See `Constraint.widen`: the least and the most that causes within bounds bring about."""
        for j, row in zip(self.targets, self.matrix, strict=True):
            causes = np.flatnonzero(row)
            with np.errstate(invalid="ignore"):
                ends = np.stack(
                    [(end[:, causes] - X[:, causes]) * row[causes] for end in (low, high)]
                )
            ends = np.where(np.isnan(ends), 0.0, ends)
            # One unit more than exact arithmetic: the result is rounded to the column's grid.
            least, most = ends.min(axis=0).sum(axis=1), ends.max(axis=0).sum(axis=1)
            wanted = X[:, j] + np.minimum(least, 0.0), X[:, j] + np.maximum(most, 0.0)
            for bound, end, way in ((low, wanted[0], np.fmin), (high, wanted[1], np.fmax)):
                settled = self._on_grid(j, np.ascontiguousarray(end), X[:, j])
                bound[:, j] = way(way(end, settled), X[:, j])


def in_order(effects: Sequence[Effect]) -> tuple[Effect, ...]:
    """Put effects after their causes; refuse those that go round in a circle."""
    waiting = list(effects)
    ordered: list[Effect] = []
    while waiting:
        open_ones = {effect.feature for effect in waiting}
        free = [e for e in waiting if not open_ones & {name for name, _ in e.terms}]
        if not free:
            circle = ", ".join(repr(effect.feature) for effect in waiting)
            raise InvalidInput(
                f"Effects must not go round in a circle, so that each has an end. {circle} depend "
                "on each other."
            )
        ordered += free
        waiting = [effect for effect in waiting if effect not in free]
    return tuple(ordered)

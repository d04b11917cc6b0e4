"""`Constraint`: a condition that ties columns together, as arrays.

What a single column may hold (its grid, its bounds, its one-hot group) is the business of
`robx.schema.rules`. Everything that names several columns is a `Constraint`, and there is one list
of them: `Schema.rules` makes it, `Rules.settle` and `Rules.keeps` go through it, and the gate asks
these two. "How to add a constraint" in CONTRIBUTING.md says what to write.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

import numpy as np

from robx.arrays import Bools, Floats
from robx.errors import InvalidInput

TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|`(?P<quoted>[^`]+)`"
    r"|(?P<name>[^\W\d][\w.]*)|(?P<sign>[+\-*]))"
)


class Constraint(ABC):
    """k conditions on points Z for applicants X, both (n, d) float64.

    Attributes
    ----------
    names : k strings
        What each condition is called in words.
    follows : (d,) bool
        Columns whose values follow from others: nobody acts on them, and they cost nothing.
    """

    names: tuple[str, ...]
    follows: Bools

    @abstractmethod
    def settle(self, Z: Floats, X: Floats) -> None:
        """Bring points to where the conditions hold, in place, as far as that is one-valued."""

    @abstractmethod
    def broken(self, Z: Floats, X: Floats) -> Bools:
        """Tell which conditions each point breaks: (n, k) bool."""

    def widen(self, X: Floats, low: Floats, high: Floats) -> None:
        """Extend bounds, in place, by where the conditions can take columns that follow."""
        del X, low, high  # nowhere, unless a constraint says so


def parse_sum(side: str, text: str, what: str) -> Iterator[tuple[str | None, float]]:
    """Cut a sum such as ``2*a - b + 3`` into its terms: a name or None, and its number.

    Parameters
    ----------
    side : str
        The sum.
    text, what : str
        The whole of what was written, and what it is, for errors.
    """
    tokens = list(_tokens(side, text, what))
    at = 0
    if not tokens:
        raise InvalidInput(f"A side of the {what} {text!r} is empty.")
    while at < len(tokens):
        sign = 1.0
        signs = 0
        while at < len(tokens) and tokens[at] in {("sign", "+"), ("sign", "-")}:
            sign = -sign if tokens[at][1] == "-" else sign
            signs += 1
            at += 1
        if signs == 0 and at > 0:
            raise InvalidInput(f"Terms of the {what} {text!r} must be joined by + or -.")
        name, number = None, None
        while at < len(tokens) and tokens[at][0] in {"name", "number"}:
            kind, value = tokens[at]
            if kind == "name" and name is None:
                name = value
            elif kind == "number" and number is None:
                number = float(value)
            else:
                raise InvalidInput(f"The {what} {text!r} is not linear at {value!r}.")
            at += 1
            if tokens[at : at + 1] != [("sign", "*")]:
                break
            at += 1
            if tokens[at : at + 1] in ([], [("sign", "+")], [("sign", "-")], [("sign", "*")]):
                raise InvalidInput(f"The {what} {text!r} lacks a factor after '*'.")
        if name is None and number is None:
            raise InvalidInput(f"The {what} {text!r} lacks a term after a sign.")
        yield name, sign * (1.0 if number is None else number)


def _tokens(side: str, text: str, what: str) -> Iterator[tuple[str, str]]:
    at = 0
    while side[at:].strip():
        found = TOKEN.match(side, at)
        if found is None:
            raise InvalidInput(
                f"The {what} {text!r} cannot be read at {side[at:].strip()!r}. Write names of "
                "more than a word in backquotes."
            )
        kind = found.lastgroup or ""
        yield ("name" if kind == "quoted" else kind), found[kind]
        at = found.end()


def coefficients(terms: tuple[tuple[str, float], ...], place: Mapping[str, int]) -> Floats:
    """Give the factors of a sum as a row with one number for each column: (d,) float64."""
    row = np.zeros(len(place))
    for name, factor in terms:
        row[place[name]] = factor
    return row

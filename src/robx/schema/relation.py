"""`Relation`: a linear inequality between features, written as people write it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from robx.errors import InvalidInput

TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|`(?P<quoted>[^`]+)`"
    r"|(?P<name>[^\W\d][\w.]*)|(?P<sign>[+\-*]))"
)
QUOTED = re.compile(r"`[^`]*`")
#: The sign between the sides: one that no pair of backquotes holds.
SIGN = re.compile(r"(<=|>=)(?=(?:[^`]*`[^`]*`)*[^`]*$)")


@dataclass(frozen=True)
class Relation:
    """A condition ``sum of coefficient * feature <= bound`` that every answer keeps.

    Missing values keep any relation: nothing is known of them.

    Parameters
    ----------
    text : str
        As written, such as ``"months_employed <= 12 * years_of_age"``. Names that are more than a
        word go into backquotes.
    terms : tuple of (str, float)
    bound : float

    Examples
    --------
    >>> Relation.parse("2*a + 1 <= b")
    Relation(text='2*a + 1 <= b', terms=(('a', 2.0), ('b', -1.0)), bound=-1.0)
    """

    text: str
    terms: tuple[tuple[str, float], ...]
    bound: float

    @classmethod
    def parse(cls, text: str) -> Relation:
        """Read an inequality."""
        if not isinstance(text, str):
            raise InvalidInput(f"A relation is text such as 'a <= b'. Got {text!r}.")
        if text.count("`") % 2:
            raise InvalidInput(f"A backquote of the relation {text!r} is not closed.")
        sides = SIGN.split(text)
        if len(sides) != 3 or re.search(r"[<>=]", QUOTED.sub("", sides[0] + sides[2])):
            raise InvalidInput(
                f"A relation has one '<=' or '>=' between two sums, such as 'a <= b'. Got {text!r}."
            )
        left, right = (sides[0], sides[2]) if sides[1] == "<=" else (sides[2], sides[0])
        total: dict[str, float] = {}
        bound = 0.0
        for side, sign in ((left, 1.0), (right, -1.0)):
            for name, coefficient in _terms(side, text):
                if name is None:
                    bound -= sign * coefficient
                else:
                    total[name] = total.get(name, 0.0) + sign * coefficient
        terms = tuple((name, value) for name, value in total.items() if value != 0)
        if not terms:
            raise InvalidInput(f"The relation {text!r} names no feature.")
        if not all(math.isfinite(number) for number in [bound, *(value for _, value in terms)]):
            raise InvalidInput(f"The numbers of the relation {text!r} must be finite.")
        return cls(text.strip(), terms, bound)


def _terms(side: str, text: str) -> Iterator[tuple[str | None, float]]:
    """Cut a sum into its terms: a name or None, and its number."""
    tokens = list(_tokens(side, text))
    at = 0
    if not tokens:
        raise InvalidInput(f"A side of the relation {text!r} is empty.")
    while at < len(tokens):
        sign = 1.0
        signs = 0
        while at < len(tokens) and tokens[at] in {("sign", "+"), ("sign", "-")}:
            sign = -sign if tokens[at][1] == "-" else sign
            signs += 1
            at += 1
        if signs == 0 and at > 0:
            raise InvalidInput(f"Terms of the relation {text!r} must be joined by + or -.")
        name, number = None, None
        while at < len(tokens) and tokens[at][0] in {"name", "number"}:
            kind, value = tokens[at]
            if kind == "name" and name is None:
                name = value
            elif kind == "number" and number is None:
                number = float(value)
            else:
                raise InvalidInput(f"The relation {text!r} is not linear at {value!r}.")
            at += 1
            if tokens[at : at + 1] != [("sign", "*")]:
                break
            at += 1
            if tokens[at : at + 1] in ([], [("sign", "+")], [("sign", "-")], [("sign", "*")]):
                raise InvalidInput(f"The relation {text!r} lacks a factor after '*'.")
        if name is None and number is None:
            raise InvalidInput(f"The relation {text!r} lacks a term after a sign.")
        yield name, sign * (1.0 if number is None else number)


def _tokens(side: str, text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while side[at:].strip():
        found = TOKEN.match(side, at)
        if found is None:
            raise InvalidInput(
                f"The relation {text!r} cannot be read at {side[at:].strip()!r}. Write names of "
                "more than a word in backquotes."
            )
        kind = found.lastgroup or ""
        yield ("name" if kind == "quoted" else kind), found[kind]
        at = found.end()

"""`Relation`: a linear inequality between features, written as people write it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robx.arrays import Bools, Floats
from robx.errors import InvalidInput
from robx.schema.constraint import Constraint, coefficients, parse_sum

#: A broken relation by less than this share of its terms is rounding.
SLACK = 1e-9
#: The same for a column that is stored as float32.
SINGLE_SLACK = 2.0**-23

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
            for name, coefficient in parse_sum(side, text, "relation"):
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


class Relations(Constraint):
    """The relations of a schema as arrays.

    Parameters
    ----------
    relations : sequence of Relation
    names : d names of columns
    single : (d,) bool
        Columns that are stored as float32.

    Attributes
    ----------
    matrix : (r, d) float64
        Coefficients.
    bound : (r,) float64
    """

    def __init__(self, relations: Sequence[Relation], names: Sequence[str], single: Bools) -> None:
        place = {name: j for j, name in enumerate(names)}
        rows = [coefficients(relation.terms, place) for relation in relations]
        self.names = tuple(relation.text for relation in relations)
        self.follows = np.zeros(len(names), dtype=bool)
        self.matrix = np.array(rows).reshape(len(rows), len(names))
        self.bound = np.array([relation.bound for relation in relations], dtype=np.float64)
        self.slack = np.where(single, SINGLE_SLACK, SLACK)

    def settle(self, Z: Floats, X: Floats) -> None:
        """Leave points as they are: `robx.schema.projection` looks for the nearest that holds."""

    def broken(self, Z: Floats, X: Floats) -> Bools:  # noqa: ARG002
        """See `Constraint.broken`: broken by more than rounding explains."""
        out = np.empty((len(Z), len(self.bound)), dtype=bool)
        for i, (row, bound) in enumerate(zip(self.matrix, self.bound, strict=True)):
            involved = row != 0
            with np.errstate(over="ignore", invalid="ignore"):
                terms = Z[:, involved] * row[involved]
                rounding = np.abs(terms) @ self.slack[involved] + SLACK * abs(bound)
                out[:, i] = terms.sum(axis=1) - bound - rounding > 0  # False where one is missing
        return out

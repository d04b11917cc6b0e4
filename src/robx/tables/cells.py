"""Single cells: what is wrong with one, and numbers read one cell at a time.

A column of one dtype is read at once. A column of objects may hold anything, in each row something
else, so it is read cell by cell; a cell that is not a number is that row's trouble alone.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Floats, Ints
from robx.errors import InvalidInput
from robx.tables.storage import is_missing

#: Types that are read as numbers; text that spells a number is text.
NUMBERS = (Real, Decimal, np.bool_)


class Complaints:
    """What is wrong with single rows: an error at the first, or a reason for each of them.

    Parameters
    ----------
    what : str
        What to call the table in an error.
    reasons : dict from rows to reasons, optional
        Where to keep the first reason of each row. Without it, the first complaint is raised.

    Examples
    --------
    >>> reasons = {}
    >>> Complaints("X", reasons).add([3], lambda row: f"Row {row}.", lambda row: "age is infinite")
    >>> reasons
    {3: 'age is infinite'}
    """

    def __init__(self, what: str, reasons: dict[int, str] | None = None) -> None:
        self.what, self.reasons = what, reasons

    def add(
        self,
        rows: Ints | list[int],
        error: Callable[[int], str],
        reason: Callable[[int], str],
    ) -> None:
        """Complain of some rows: `error` is a sentence about one, `reason` what its status says."""
        for row in map(int, rows):
            if self.reasons is None:
                raise InvalidInput(error(row))
            self.reasons.setdefault(row, reason(row))


def numbers_in(objects: NDArray[Any], name: str, complaints: Complaints) -> Floats:
    """Read cells as numbers: (n,) float64, NaN where one is missing or not a number."""
    out = np.full(len(objects), np.nan)
    for row in np.flatnonzero(~is_missing(objects)).tolist():
        number, wrong = number_of(objects[row])
        out[row] = number
        if wrong:
            complaints.add([row], *_said(name, complaints.what, shown(objects[row]), wrong))
    return out


def number_of(value: Any) -> tuple[float, str]:
    """Give a cell as a number and "", or NaN and what is wrong with it."""
    if not isinstance(value, NUMBERS):
        return np.nan, "is not a number"
    try:
        return float(value), ""
    except OverflowError:
        return np.nan, "is too large a number"
    except (TypeError, ValueError):  # a signalling NaN
        return np.nan, "is not a number"


def shown(value: object, most: int = 40) -> str:
    """Show a cell in a message, shortened."""
    plain = value.item() if isinstance(value, np.generic) else value
    try:
        text = repr(plain)
    except Exception:
        text = f"a {type(plain).__name__}"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _said(
    name: str, what: str, cell: str, wrong: str
) -> tuple[Callable[[int], str], Callable[[int], str]]:
    def error(row: int) -> str:
        return (
            f"Column '{name}' of {what} must hold numbers. Got {cell} in row {row}, which {wrong}. "
            "Replace it with a number or a missing value."
        )

    return error, lambda row: f"{name} is {cell}, which {wrong}"  # noqa: ARG005

"""Reading values out of a parsed model file, none of which is trusted.

Every value of a `Record` is asked for with its type; what is absent, of another type or out of
range raises. So does a field that a parser does not know: it may change what the model means.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx import files
from robx.budget import UNLIMITED, Budget
from robx.errors import BudgetExceeded, InvalidModel, UnsupportedModel

#: Shows a value without spelling out all of a large one.
SHORT = reprlib.Repr()
SHORT.maxlist = SHORT.maxdict = SHORT.maxarray = 20
SHORT.maxstring = SHORT.maxlong = SHORT.maxother = 60
#: So many letters of a list of numbers become words at a time.
TEXT_AT_ONCE = 2**20
#: Letters of a list of numbers in a text.
NUMBERS = re.compile(r"[-+.0-9einfa ]*")


def parse_json(data: bytes, where: str, budget: Budget = UNLIMITED) -> Record:
    """Parse JSON whose outermost value must be an object."""
    try:
        value = files.parse_json(data, where, budget)
    except BudgetExceeded:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidModel(f"{where} is not valid JSON: {error}.") from error
    return Record(value, where)


def parse_number(text: object, where: str) -> float:
    """Read a finite number from a number or its text."""
    try:
        value = float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidModel(f"{where} must be a number. Got {_short(text)}.") from error
    if not math.isfinite(value):
        raise InvalidModel(f"{where} must be finite. Got {value}.")
    return value


class Record:
    """A JSON object; `where` is its place in the file, for messages."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, Mapping):
            raise InvalidModel(f"{where} must be an object. Got {_short(value)}.")
        self.fields = value
        self.where = where

    def __contains__(self, name: str) -> bool:
        return name in self.fields

    def only(self, *known: str) -> Record:
        """Raise if there is a field that the parser does not know; blanks part its names."""
        unknown = sorted(set(self.fields) - set(" ".join(known).split()))
        if unknown:
            raise UnsupportedModel(
                f"{self.where} has fields that robx does not know: {', '.join(unknown[:5])}. They "
                "may change what the model means, so it is not imported; wrap the live model in "
                "robx.BlackBox, or use a version of the library that robx knows."
            )
        return self

    def any(self, name: str) -> Any:
        """Return the field, whatever it is."""
        if name not in self.fields:
            raise InvalidModel(f"{self.where} lacks the field '{name}'.")
        return self.fields[name]

    def record(self, name: str) -> Record:
        """Return the field as an object."""
        return Record(self.any(name), f"{self.where}.{name}")

    def sequence(self, name: str) -> list[Any]:
        """Return the field as a list."""
        value = self.any(name)
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if not isinstance(value, list):
            raise self._wrong(name, "a list")
        return value

    def records(self, name: str) -> list[Record]:
        """Return the field as a list of objects."""
        return [Record(v, f"{self.where}.{name}[{i}]") for i, v in enumerate(self.sequence(name))]

    def text(self, name: str) -> str:
        """Return the field as text."""
        value = self.any(name)
        if not isinstance(value, str):
            raise self._wrong(name, "text")
        return value

    def number(self, name: str) -> float:
        """Return the field as a finite float; text that spells one counts."""
        return parse_number(self.any(name), f"{self.where}.{name}")

    def integer(self, name: str, low: int = 0, high: int = 2**31 - 1) -> int:
        """Return the field as an integer within bounds; text that spells one counts."""
        value = self.number(name)
        if value != int(value) or not low <= value <= high:
            raise self._wrong(name, f"an integer from {low} to {high}")
        return int(value)

    def integers(self, name: str, size: int | None = None) -> NDArray[np.int64]:
        """Return the field as a vector of integers."""
        array = self._vector(name, size)
        if array.dtype.kind in "ib":
            return array.astype(np.int64)
        array = array.astype(np.float64)
        if not (np.abs(array) < 2**53).all() or (array != np.trunc(array)).any():
            raise self._wrong(name, "integers of at most 53 bits")
        return array.astype(np.int64)

    def numbers(self, name: str, size: int | None = None) -> NDArray[np.float64]:
        """Return the field as a vector of numbers, which may be infinite; blanks part a text's."""
        return self._vector(name, size).astype(np.float64)

    def _vector(self, name: str, size: int | None) -> NDArray[Any]:
        value, array = self.any(name), None
        try:
            is_text = isinstance(value, str) and NUMBERS.fullmatch(value)
            array = _numbers_in(value) if is_text else np.asarray(value)
        except (ValueError, OverflowError):  # a context manager takes longer than most fields
            pass
        if array is None or array.ndim != 1 or (array.dtype.kind not in "iufb" and len(array)):
            raise self._wrong(name, "a list of numbers")
        if size is not None and len(array) != size:
            raise InvalidModel(f"{self.where}.{name} has {len(array)} values; expected {size}.")
        return array

    def _wrong(self, name: str, expected: str) -> InvalidModel:
        return InvalidModel(
            f"{self.where}.{name} must be {expected}. Got {_short(self.fields[name])}."
        )


def _numbers_in(text: str) -> NDArray[np.float64]:
    """Read the numbers between blanks, some at a time: as words they take ten times the memory."""
    if len(text) <= TEXT_AT_ONCE:
        return np.array(text.split(), np.float64)
    parts, start = [np.zeros(0)], 0
    while start < len(text):
        end = text.find(" ", start + TEXT_AT_ONCE)
        end = len(text) if end < 0 else end
        parts.append(np.array(text[start:end].split(), np.float64))
        start = end
    return np.concatenate(parts)


def _short(value: object) -> str:
    shown = repr(value) if isinstance(value, str) else SHORT.repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."

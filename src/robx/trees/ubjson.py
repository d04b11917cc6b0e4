"""A reader for UBJSON as XGBoost writes it, for files that are not trusted.

Only the types of the format's draft 12 are read. Strongly typed arrays of numbers become numpy
arrays, so a file's claimed length is checked against its real one before memory is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robx.budget import UNLIMITED, Budget
from robx.errors import InvalidModel
from robx.trees.records import Record

NUMBERS: dict[bytes, np.dtype[Any]] = {
    b"i": np.dtype(">i1"),
    b"U": np.dtype(">u1"),
    b"I": np.dtype(">i2"),
    b"l": np.dtype(">i4"),
    b"L": np.dtype(">i8"),
    b"d": np.dtype(">f4"),
    b"D": np.dtype(">f8"),
}
CONSTANTS = {b"Z": None, b"T": True, b"F": False}
MAX_DEPTH = 64
#: Bytes of memory for any value, and for one that holds others; rather too many.
VALUE_BYTES, HOLDER_BYTES = 48, 128
#: So often what was made so far is compared with the budget.
VALUES_AT_ONCE = 2**16


def parse_ubjson(data: bytes, where: str, budget: Budget = UNLIMITED) -> Record:
    """Parse UBJSON whose outermost value must be an object."""
    reader = _Reader(data, where, budget)
    value = reader.value(reader.take(1), 0)
    if reader.at != len(data):
        raise InvalidModel(f"{where} goes on after its end, at byte {reader.at}.")
    return Record(value, where)


class _Reader:
    def __init__(self, data: bytes, where: str, budget: Budget) -> None:
        self.data, self.where, self.at = data, where, 0
        self.budget, self.values, self.holders = budget, 0, 0

    def count(self, *, holder: bool) -> None:
        """Count a value: the text may be dense, so all that is made of it must be in proportion."""
        self.values += 1
        self.holders += holder
        if self.values % VALUES_AT_ONCE == 0:
            need = 2 * len(self.data) + VALUE_BYTES * self.values + HOLDER_BYTES * self.holders
            self.budget.check_memory(need, self.where, held=len(self.data))

    def take(self, size: int) -> bytes:
        end = self.at + size
        if size < 0 or end > len(self.data):
            raise InvalidModel(f"{self.where} is cut off or damaged at byte {self.at}.")
        part, self.at = self.data[self.at : end], end
        return part

    def peek(self) -> bytes:
        return self.data[self.at : self.at + 1]

    def value(self, marker: bytes, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise InvalidModel(f"{self.where} is nested more than {MAX_DEPTH} deep.")
        self.count(holder=marker in (b"{", b"["))
        if marker in NUMBERS:
            return self.number(marker)
        if marker in CONSTANTS:
            return CONSTANTS[marker]
        if marker == b"C":
            return self.take(1).decode("latin-1")
        if marker == b"S":
            return self.text()
        if marker in (b"{", b"["):
            return self.object(depth) if marker == b"{" else self.array(depth)
        raise InvalidModel(f"{self.where} has the unknown marker {marker!r} at byte {self.at - 1}.")

    def number(self, marker: bytes) -> Any:
        dtype = NUMBERS[marker]
        return np.frombuffer(self.take(dtype.itemsize), dtype)[0].item()

    def length(self) -> int:
        marker = self.take(1)
        if marker not in NUMBERS or marker in b"dD":
            raise InvalidModel(f"{self.where} lacks a length at byte {self.at - 1}.")
        size: int = self.number(marker)
        if not 0 <= size <= len(self.data):
            raise InvalidModel(f"{self.where} claims a length of {size} at byte {self.at}.")
        return size

    def text(self) -> str:
        try:
            return self.take(self.length()).decode()
        except UnicodeDecodeError as error:
            raise InvalidModel(f"{self.where} has text that is not UTF-8.") from error

    def kind_and_count(self) -> tuple[bytes | None, int | None]:
        kind = self.take(2)[1:] if self.peek() == b"$" else None
        if self.peek() == b"#":
            self.take(1)
            return kind, self.length()
        if kind is not None:
            raise InvalidModel(f"{self.where} has a typed list without a length.")
        return None, None

    def array(self, depth: int) -> Any:
        kind, count = self.kind_and_count()
        if kind in NUMBERS and count is not None:
            dtype = NUMBERS[kind]
            values = np.frombuffer(self.take(count * dtype.itemsize), dtype)
            return values.astype(dtype.newbyteorder("="))
        if kind is not None:
            raise InvalidModel(f"{self.where} has a list of the unknown type {kind!r}.")
        if count is not None:
            return [self.value(self.take(1), depth + 1) for _ in range(count)]
        items = []
        while (marker := self.take(1)) != b"]":
            items.append(self.value(marker, depth + 1))
        return items

    def object(self, depth: int) -> dict[str, Any]:
        kind, count = self.kind_and_count()
        if kind is not None:
            raise InvalidModel(f"{self.where} has a typed object, which XGBoost does not write.")
        items: dict[str, Any] = {}
        while count is None or len(items) < count:
            if count is None and self.peek() == b"}":
                self.take(1)
                break
            name = self.text()
            self.count(holder=False)
            if name in items:
                raise InvalidModel(f"{self.where} has the field '{name}' twice.")
            items[name] = self.value(self.take(1), depth + 1)
        return items

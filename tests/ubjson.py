"""Writing UBJSON as XGBoost does: arrays of numpy become arrays of one type."""

from __future__ import annotations

from typing import Any

import numpy as np

MARKERS = {"i1": b"i", "u1": b"U", "i2": b"I", "i4": b"l", "i8": b"L", "f4": b"d", "f8": b"D"}


def dumps(value: Any) -> bytes:
    """Give a value as UBJSON."""
    if value is None or isinstance(value, bool):
        return {None: b"Z", True: b"T", False: b"F"}[value]
    if isinstance(value, int):
        fits = -(2**63) <= value < 2**63
        return b"L" + value.to_bytes(8, "big", signed=True) if fits else dumps(float(value))
    if isinstance(value, float):
        return b"D" + np.array(value, ">f8").tobytes()
    if isinstance(value, str):
        return b"S" + _text(value)
    if isinstance(value, np.ndarray):
        marker = MARKERS[value.dtype.str[1:]]
        return (
            b"[$"
            + marker
            + b"#"
            + dumps(len(value))
            + value.astype(value.dtype.newbyteorder(">")).tobytes()
        )
    if isinstance(value, dict):
        return b"{" + b"".join(_text(k) + dumps(v) for k, v in value.items()) + b"}"
    return b"[" + b"".join(map(dumps, value)) + b"]"


def _text(text: str) -> bytes:
    data = text.encode(errors="replace")
    return dumps(len(data)) + data

"""`Difference`: what a fitted model shows and what its parameters say, compared in three ways."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

Parameters = Mapping[str, Any]

#: Numbers that differ by less are one number, written by different programs.
SAME = 1e-5


class Difference(NamedTuple):
    """What a model shows, and what one of its parameters says."""

    parameter: str
    shown: str
    said: str


def counted(
    n: int, what: str, name: str, said: Parameters, *, may_stop: bool
) -> Iterator[Difference]:
    """Compare a number of rounds: fewer than asked for are right if the training may stop."""
    asked = said.get(name)
    if isinstance(asked, int) and (n > asked or (n < asked and not may_stop)):
        yield Difference(name, f"{n} {what}", f"{name}={asked}")


def exceeded(n: int, shown: str, name: str, said: Parameters) -> Iterator[Difference]:
    """Compare with a maximum, which trees may stay below; what is no number above 0 is none."""
    most = said.get(name)
    if isinstance(most, int) and 0 < most < n:
        yield Difference(name, shown, f"{name}={most}")


def unequal(shown: Parameters, said: Parameters, names: Collection[str]) -> Iterator[Difference]:
    """Compare parameters that a model keeps from its training, where both are plain values."""
    for name in sorted({*names} & {*shown} & {*said}):
        ours, theirs = shown[name], said[name]
        if _is_plain(ours) and _is_plain(theirs) and not same_value(ours, theirs):
            yield Difference(name, f"{name}={ours}", f"{name}={theirs}")


def same_value(ours: Any, theirs: Any) -> bool:
    """Tell whether two plain values are the same, numbers up to the rounding of files."""
    if isinstance(ours, int | float) and isinstance(theirs, int | float):
        both_missing = math.isnan(ours) and math.isnan(theirs)
        return both_missing or math.isclose(ours, theirs, rel_tol=SAME, abs_tol=1e-12)
    return bool(ours == theirs)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)

"""The one parameter of a method that makes its answers more robust."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from robx.arrays import Floats
from robx.methods import Method

#: Parameters that ask more of an answer the higher they are, all in units of a score.
DIALS = ("min_retrained_score", "tau", "gamma")
#: Places on the way from the threshold to 1 that are tried.
PLACES = (0.04, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.68, 0.76, 0.84, 0.9, 0.95)


def dial_of(method: Method) -> str | None:
    """Name the parameter of a method that is turned to keep a promise; None if it has none."""
    known = {field.name for field in fields(method)}
    return next((name for name in DIALS if name in known), None)


def is_set(method: Method) -> bool:
    """Whether the caller has turned the dial, or asks for a level in its place."""
    dial = dial_of(method)
    if dial is None:
        return False
    has_level = getattr(method, "level", "auto") != "auto"
    return has_level or getattr(method, dial) not in {None, "auto"}


def with_dial(method: Method, value: float) -> Method:
    """Give the method with its dial turned."""
    turned: dict[str, Any] = {str(dial_of(method)): value}
    return replace(method, **turned)


def rungs(threshold: float) -> Floats:
    """Values of a dial to try, from the least robust: (r,) float64."""
    return threshold + (1 - threshold) * np.array(PLACES)

"""Checks of single parameters, with one sentence for all that is wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from robx.errors import InvalidInput


def is_whole(value: Any) -> bool:
    """Whether something is a whole number; True and False are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether something is a finite number; True and False are not."""
    known = isinstance(value, int | float | np.integer | np.floating)
    return known and not isinstance(value, bool) and math.isfinite(value)


def require(holds: bool, value: Any, name: str, owner: str, expected: str) -> None:
    """Refuse a parameter that is not as expected; an owner of "" is not named.

    Examples
    --------
    >>> require(False, 3, "norm", "RobX", "1 or 2")
    Traceback (most recent call last):
    robx.errors.InvalidInput: The 'norm' parameter of RobX must be 1 or 2. Got 3 instead.
    """
    if not holds:
        of = f" of {owner}" if owner else ""
        raise InvalidInput(f"The '{name}' parameter{of} must be {expected}. Got {value!r} instead.")


def check_whole(value: Any, name: str, owner: str, least: int = 1) -> None:
    """Refuse what is not a whole number from `least`."""
    sound = is_whole(value) and value >= least
    require(sound, value, name, owner, f"an integer from {least}")


def check_jobs(n_jobs: Any, owner: str) -> None:
    """Refuse what is not a number of jobs as joblib counts them."""
    sound = n_jobs is None or (is_whole(n_jobs) and n_jobs != 0)
    require(sound, n_jobs, "n_jobs", owner, "an integer other than 0, or None for all cores")


def check_number(
    value: Any,
    name: str,
    owner: str,
    *,
    least: float | None = None,
    above: float = -math.inf,
    most: float | None = None,
    below: float = math.inf,
    or_else: str = "",
) -> None:
    """Refuse what is not a finite number within bounds; `or_else` says what else is taken."""
    start, end = above if least is None else least, below if most is None else most
    sound = is_number(value) and above < value < below and start <= value <= end
    lower = f"above {above:g}" if least is None else f"from {least:g}"
    joint = " and " if least is None else " to "
    upper = f"{joint}below {below:g}" if most is None else f"{joint}{_at_most(joint)}{most:g}"
    upper = "" if math.isinf(end) else upper
    require(sound, value, name, owner, f"a number {lower}{upper}{or_else}")


def _at_most(joint: str) -> str:
    return "at most " if joint == " and " else ""

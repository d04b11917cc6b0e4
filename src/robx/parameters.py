"""Checks of parameters, with one form of sentence for all that is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import Any

import numpy as np

from robx.errors import InvalidInput

#: A value that takes more letters is named by its type.
MOST_LETTERS = 200


#: So many names are listed, and the rest are counted.
MOST_NAMES = 8
#: The largest integer that arrays hold, and more than anybody counts in a search.
LARGEST_INTEGER, MOST_COUNT = 2**63 - 1, 2**31 - 1


def listed(
    names: Collection[object], most: int = MOST_NAMES, show: Callable[[object], str] = repr
) -> str:
    """Name the first few, and say how many more there are.

    Examples
    --------
    >>> listed(["good", "bad"]), listed(range(10_000), most=3)
    ("'good', 'bad'", '0, 1, 2 and 9997 more')
    """
    shown = ", ".join(show(name) for name in islice(names, most))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def is_whole(value: Any) -> bool:
    """Whether something is an integer; True and False are not."""
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
        shown = repr(value)
        shown = shown if len(shown) <= MOST_LETTERS else type(value).__name__
        raise InvalidInput(f"The '{name}' parameter{of} must be {expected}. Got {shown} instead.")


def check_whole(
    value: Any, name: str, owner: str, least: int = 1, most: int = LARGEST_INTEGER
) -> None:
    """Refuse what is not an integer from `least` on, or more than `most`."""
    sound = is_whole(value) and least <= value <= most
    to = f" to {most}" if is_whole(value) and value > most else ""
    require(sound, value, name, owner, f"an integer from {least}{to}")


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
    or_none: bool = False,
) -> None:
    """Refuse what is not a finite number within bounds; `or_else` says what else is taken."""
    if or_none and value is None:
        return
    or_else = ", or None" if or_none else or_else
    start, end = above if least is None else least, below if most is None else most
    sound = is_number(value) and above < value < below and start <= value <= end
    lower, joint, at_most = (f" above {above:g}", "and", "at most ")
    if least is not None:
        lower, joint, at_most = (f" from {least:g}", "to", "")
    elif math.isinf(above):
        lower = ""
    upper = f" {joint} below {below:g}" if most is None else f" {joint} {at_most}{most:g}"
    upper = "" if math.isinf(end) else upper
    require(sound, value, name, owner, f"a number{lower}{upper}{or_else}")


def check_table(table: Any, needed: Sequence[str], owner: str, maker: str) -> None:
    """Refuse what is not a pandas table with these columns; `maker` makes such tables.

    Examples
    --------
    >>> import pandas as pd
    >>> check_table(pd.DataFrame({"score": [0.5]}), ["score", "mean"], "histograms", "stability")
    Traceback (most recent call last):
    robx.errors.InvalidInput: histograms needs a table with columns score, mean, as stability
    returns. Missing: mean. Got: score.
    """
    expected = f"{owner} needs a table with columns {', '.join(needed)}, as {maker} returns."
    if not hasattr(table, "iloc") or not hasattr(table, "columns"):
        kind = type(table).__name__
        raise InvalidInput(f"{expected} Got {kind}, which is not a pandas table.")
    missing = [name for name in needed if name not in table.columns]
    if missing:
        have = ", ".join(map(str, table.columns)) or "no columns"
        raise InvalidInput(f"{expected} Missing: {', '.join(missing)}. Got: {have}.")

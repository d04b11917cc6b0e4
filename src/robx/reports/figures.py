"""Numbers as readers see them. Nothing is rounded to more than is true."""

from __future__ import annotations

import math
from typing import Any

from robx.metrics import percent

#: A bound that is a rounding error below a tenth of a per cent is shown as that.
SLACK = 1e-9


def plain(value: Any) -> Any:
    """Give a value as JSON has it: None for a number that is missing or infinite."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def number(value: float | None, digits: int = 2) -> str:
    """Show a number; an empty text where it is missing.

    Examples
    --------
    >>> number(0.6974), number(-0.001), number(None)
    ('0.70', '0.00', '')
    """
    # What is rounded to zero has no sign.
    return "" if value is None else f"{round(value, digits) + 0.0:.{digits}f}"


def between(low: float | None, high: float | None) -> str:
    """Show an interval.

    Examples
    --------
    >>> between(0.9571, 0.9932)
    '95.7% to 99.3%'
    """
    return "" if low is None or high is None else f"{percent(low)} to {percent(high)}"


def rounded_down(share: float | None) -> str:
    """Show a lower bound, never higher than it is.

    Examples
    --------
    >>> rounded_down(0.94279), rounded_down(None)
    ('≥ 94.2%', '')
    """
    return "" if share is None else f"≥ {math.floor(1000 * share + SLACK) / 10:g}%"


def spoken(name: str) -> str:
    """Say the name of something that was measured.

    Examples
    --------
    >>> spoken("outlier_score")
    'outlier score'
    """
    return name.replace("_", " ")


def counted(count: int, one: str, many: str = "") -> str:
    """Count things.

    Examples
    --------
    >>> counted(1, "applicant"), counted(1200, "applicant"), counted(2, "person", "people")
    ('1 applicant', '1,200 applicants', '2 people')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"

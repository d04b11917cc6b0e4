"""Numbers as people read them. Nothing is rounded to more than is true."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["between", "counted", "number", "percent", "plain", "rounded_down"]

#: A bound that is a rounding error below a tenth of a per cent is shown as that.
SLACK = 1e-9


def plain(value: Any) -> float | None:
    """Give a number as JSON has it: None for what is none."""
    return float(value) if value is not None and math.isfinite(value) else None


def number(value: float | None, digits: int = 2) -> str:
    """Show a number; nothing where there is none.

    Examples
    --------
    >>> number(0.6974), number(None)
    ('0.70', '')
    """
    return "" if value is None else f"{value:.{digits}f}"


def percent(share: float | None) -> str:
    """Show a share; what is not all is never shown as 100%, what is not nothing never as 0%.

    Examples
    --------
    >>> percent(0.984), percent(1.0), percent(0.9999), percent(0.0001), percent(None)
    ('98.4%', '100%', '99.9%', '0.1%', '')
    """
    if share is None:
        return ""
    shown = round(1000 * share) / 10
    if share < 1:
        shown = min(shown, 99.9)
    if share > 0:
        shown = max(shown, 0.1)
    return f"{shown:g}%"


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


def counted(count: int, one: str, many: str = "") -> str:
    """Count things.

    Examples
    --------
    >>> counted(1, "applicant"), counted(1200, "applicant"), counted(2, "person", "people")
    ('1 applicant', '1,200 applicants', '2 people')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"

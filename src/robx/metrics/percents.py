"""How a share is shown to people, wherever one is."""

from __future__ import annotations

import math


def percent(share: float | None) -> str:
    """Show a share; what is not all is never shown as 100%, what is not nothing never as 0%.

    Examples
    --------
    >>> percent(0.984), percent(1.0), percent(0.9999), percent(0.0001), percent(None)
    ('98.4%', '100%', '99.9%', '0.1%', '')
    """
    if share is None or math.isnan(share):
        return ""
    shown = round(1000 * share) / 10
    if share < 1:
        shown = min(shown, 99.9)
    if share > 0:
        shown = max(shown, 0.1)
    return f"{shown:g}%"

"""A small histogram in the page's own colours: how score and stability of answers are spread."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

#: Bars from one end to the other, and the size of a panel.
BARS = 20
WIDTH, HEIGHT, FOOT, HEAD, GAP, EDGE = 250.0, 120.0, 40.0, 34.0, 36.0, 10.0
PANELS = {"score": "score", "stability": "stability R"}
#: Where axes end that show more than 0 to 1.
ROUND = 0.25
#: Room that a digit takes to either side, and that a number takes above its foot and below.
DIGIT, ABOVE, BELOW = 4.0, 12.0, 3.0


class Panel(NamedTuple):
    """Bars from edge to edge, with how many values each has, and tau where it is to be drawn."""

    name: str
    values: NDArray[np.float64]
    edges: NDArray[np.float64]
    counts: NDArray[np.intp]
    tau: float | None


def spread(table: pd.DataFrame, tau: float | None, title: str) -> str:
    """Draw a panel for each of score and stability, from 0 to 1, with tau in the second.

    An axis is longer where there are values beyond. Bars begin and end at tau, so that none has
    values on both sides of it.

    Parameters
    ----------
    table : DataFrame
        With columns ``score`` and ``stability``.
    tau : float, optional
        Drawn if it lies between 0 and 1.
    title : str

    Returns
    -------
    str
        A piece of SVG, with words for those who do not see it.
    """
    drawn = tau if tau is not None and 0 <= tau <= 1 else None
    panels = [
        _counted(
            name,
            table[name].dropna().to_numpy(dtype=np.float64),
            drawn if name == "stability" else None,
        )
        for name in PANELS
    ]
    most = max(1, *(int(panel.counts.max()) for panel in panels))
    pieces = "".join(
        _panel(panel, most, EDGE + k * (WIDTH + GAP)) for k, panel in enumerate(panels)
    )
    words = " ".join(_words(PANELS[one.name], one.values) for one in panels if len(one.values))
    size = f"0 0 {2 * (WIDTH + EDGE) + GAP:g} {HEAD + HEIGHT + FOOT:g}"
    return (
        f'<svg viewBox="{size}" role="img" aria-label="{escape(f"{title}. {words}")}" '
        f'font-size="12" fill="currentColor">{pieces}</svg>'
    )


def _counted(name: str, values: NDArray[np.float64], tau: float | None) -> Panel:
    """Count values in bars of one width, of which one ends at tau and the next begins."""
    low = min(0.0, ROUND * np.floor(values.min(initial=0) / ROUND))
    high = max(1.0, ROUND * np.ceil(values.max(initial=1) / ROUND))
    step, cut = (high - low) / BARS, low if tau is None else tau
    first = int(np.floor((low - cut) / step + 1e-9))
    last = max(int(np.ceil((high - cut) / step - 1e-9)), 1)  # what has tau stands right of it
    # The sign of a difference is exact: a value below tau never stands right of it.
    place = np.clip(np.floor((values - cut) / step), first, last - 1).astype(np.intp) - first
    edges = np.clip(cut + step * np.arange(first, last + 1), low, high)
    return Panel(name, values, edges, np.bincount(place, minlength=last - first), tau)


def _panel(panel: Panel, most: int, left: float) -> str:
    floor, (low, high) = HEAD + HEIGHT, panel.edges[[0, -1]]
    x = left + WIDTH * (panel.edges - low) / (high - low)
    heights = HEIGHT * panel.counts / most
    bars = "".join(
        f'<rect x="{x[k] + 0.75:.2f}" y="{floor - height:.2f}" '
        f'width="{max(x[k + 1] - x[k] - 1.5, 0.5):.2f}" height="{height:.2f}"/>'
        for k, height in enumerate(heights)
        if height
    )
    drawn = [
        f'<g fill="var(--accent, #0072B2)">{bars}</g>',
        _line(left, floor, left + WIDTH, floor),
    ]
    ticks = zip((0, 0.5, 1), (low, (low + high) / 2, high), strict=True)
    drawn += [_text(left + WIDTH * at, floor + 16, f"{tick:g}") for at, tick in ticks]
    drawn.append(_text(left + WIDTH / 2, floor + 34, PANELS[panel.name]))
    top = int(np.argmax(panel.counts))
    middle, foot = (x[top] + x[top + 1]) / 2, floor - heights[top] - 5
    number = str(panel.counts[top])
    drawn.append(_text(middle, foot, number))
    if panel.tau is not None:
        place = left + WIDTH * (panel.tau - low) / (high - low)
        aside = abs(place - middle) > DIGIT * len(number) + 1
        # The line leaves out what stands there.
        gap = (floor, floor) if aside else (foot - ABOVE, foot + BELOW)
        ends = ((14.0, gap[0]), (gap[1], floor))
        drawn += [_line(place, a, place, b, dashed=True) for a, b in ends if b > a]
        drawn.append(_text(place, 10, f"tau {panel.tau:.3g}", _side((place - left) / WIDTH)))
    return "".join(drawn)


def _side(share: float) -> str:
    """Say on which side of a place a text stands, so that it is not cut at the edge."""
    return "end" if share > 0.8 else "start" if share < 0.2 else "middle"


def _line(x1: float, y1: float, x2: float, y2: float, *, dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    place = f'x1="{x1:.2f}" y1="{y1:g}" x2="{x2:.2f}" y2="{y2:g}"'
    return f'<line {place} stroke="currentColor"{dashes}/>'


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}">{escape(text)}</text>'


def _words(name: str, values: NDArray[np.float64]) -> str:
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    return f"Median {name} {middle:.2f}, eight in ten from {low:.2f} to {high:.2f}."

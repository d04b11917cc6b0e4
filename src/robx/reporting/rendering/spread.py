"""A small histogram in the page's own colours: how score and stability of answers are spread."""

from __future__ import annotations

from html import escape

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["spread"]

#: Bars between 0 and 1, and the size of a panel.
BARS = 20
WIDTH, HEIGHT, FOOT, HEAD, GAP, EDGE = 250.0, 120.0, 40.0, 34.0, 36.0, 10.0
PANELS = {"score": "score", "stability": "stability R"}


def spread(table: pd.DataFrame, tau: float | None, title: str) -> str:
    """Draw a panel for each of score and stability, from 0 to 1, with tau in the second.

    Parameters
    ----------
    table : DataFrame
        With columns ``score`` and ``stability``.
    tau : float, optional
    title : str

    Returns
    -------
    str
        A piece of SVG, with words for those who do not see it.
    """
    edges = np.linspace(0, 1, BARS + 1)
    values = {name: table[name].dropna().to_numpy(dtype=np.float64) for name in PANELS}
    counts = {name: np.histogram(some.clip(0, 1), edges)[0] for name, some in values.items()}
    most = max(1, *(int(count.max()) for count in counts.values()))
    panels = "".join(
        _panel(name, count, most, EDGE + k * (WIDTH + GAP), tau)
        for k, (name, count) in enumerate(counts.items())
    )
    words = " ".join(_words(PANELS[name], some) for name, some in values.items() if len(some))
    size = f"0 0 {2 * (WIDTH + EDGE) + GAP:g} {HEAD + HEIGHT + FOOT:g}"
    return (
        f'<svg viewBox="{size}" role="img" aria-label="{escape(f"{title}. {words}")}" '
        f'font-size="12" fill="currentColor">{panels}</svg>'
    )


def _panel(name: str, counts: NDArray[np.intp], most: int, left: float, tau: float | None) -> str:
    floor, step = HEAD + HEIGHT, WIDTH / BARS
    heights = HEIGHT * counts / most
    bars = "".join(
        f'<rect x="{left + k * step + 0.75:g}" y="{floor - height:.2f}" width="{step - 1.5:g}" '
        f'height="{height:.2f}"/>'
        for k, height in enumerate(heights)
        if height
    )
    drawn = [
        f'<g fill="var(--accent, #0072B2)">{bars}</g>',
        _line(left, floor, left + WIDTH, floor),
    ]
    for tick in (0, 0.5, 1):
        x = left + tick * WIDTH
        drawn.append(_text(x, floor + 16, f"{tick:g}"))
    drawn.append(_text(left + WIDTH / 2, floor + 34, PANELS[name]))
    top = int(np.argmax(counts))
    drawn.append(_text(left + (top + 0.5) * step, floor - heights[top] - 5, str(counts[top])))
    if name == "stability" and tau is not None and 0 <= tau <= 1:
        x = left + tau * WIDTH
        drawn += [_line(x, 14, x, floor, dashed=True), _text(x, 10, f"tau {tau:.3g}")]
    return "".join(drawn)


def _line(x1: float, y1: float, x2: float, y2: float, *, dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    place = f'x1="{x1:.2f}" y1="{y1:g}" x2="{x2:.2f}" y2="{y2:g}"'
    return f'<line {place} stroke="currentColor"{dashes}/>'


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}">{escape(text)}</text>'


def _words(name: str, values: NDArray[np.float64]) -> str:
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    return f"Median {name} {middle:.2f}, eight in ten from {low:.2f} to {high:.2f}."

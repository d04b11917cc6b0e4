"""Stability along the path from a counterfactual to a conservative one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from robx.arrays import Floats
from robx.metrics import percent
from robx.parameters import check_number, check_table
from robx.plots import style

#: Name in the table, in the legend, colour, dashes, width. Each is thinner than the one before, so
#: that all are seen where they are equal.
LINES: tuple[tuple[str, str, str, Any, float], ...] = (
    ("stability", "stability R (mean minus std)", style.BLUE, "-", 3.0),
    ("mean", "mean score nearby", style.VERMILION, (0, (5, 2)), 1.8),
    ("score", "score M", style.GREEN, (0, (1, 1.2)), 1.4),
)


def along_walk(table: pd.DataFrame, tau: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw score, mean and stability along a walk, and its first stable point.

    Parameters
    ----------
    table : DataFrame
        With columns ``position``, ``score``, ``mean`` and ``stability``, as `walk_table` returns.
        With a column ``accepted``, a stable point must be accepted too; with ``cost``, its cost is
        shown.
    tau : float, optional
        The minimum stability.
    ax : Axes, optional
        To draw on; a new figure unless given.

    Returns
    -------
    Axes

    Examples
    --------
    >>> table = pd.DataFrame({"position": [0, 0.5, 1], "score": [0.6, 0.7, 0.9]})
    >>> table = table.assign(mean=table["score"], stability=table["score"] - 0.1)
    >>> along_walk(table, tau=0.6).get_xlabel()
    'position between the first point and the last'
    """
    needed = ["position", *(name for name, *_ in LINES)]
    check_table(table, needed, "along_walk", "robx.plots.walk_table")
    check_number(tau, "tau", "along_walk", or_none=True)
    lines = table.sort_values("position", kind="stable")
    columns = {name: style.numbers(lines, name, "along_walk") for name in needed}
    place, stability = columns.pop("position"), columns["stability"]
    first = None if tau is None else _first_stable(lines, stability, tau)
    with style.styled():
        drawn = style.ax_for(ax, "along_walk", (6.4, 3.3))
        shade: Any = {"color": style.BLUE, "alpha": 0.12, "linewidth": 0}
        drawn.fill_between(place, stability, columns["mean"], **shade)
        sign = "o" if len(place) == 1 else "none"
        for name, label, colour, dashes, width in LINES:
            look = {"marker": sign, "color": colour, "linestyle": dashes, "linewidth": width}
            drawn.plot(place, columns[name], **look, label=label)
        if tau is not None:
            reached = "" if first is not None else ", not reached"
            _draw_tau(drawn, tau, reached, np.concatenate(list(columns.values())))
        words = "none"
        if first is not None:
            words = _told(lines, first)
            look = {"color": style.BLUE, "markerfacecolor": style.PAPER, "markeredgewidth": 2}
            label = f"first stable point: {words}"
            drawn.plot(place[first], stability[first], "o", **look, ms=9, label=label, zorder=5)
        drawn.set(xlabel="position between the first point and the last", ylabel="score")
        drawn.xaxis.set_major_formatter(style.percent_ticks())
        drawn.set_xlim(-0.02, 1.02)
        drawn.set_label(_words(stability, tau, words))
        style.key([drawn], own=ax is None)
    return drawn


def _first_stable(lines: pd.DataFrame, stability: Floats, tau: float) -> int | None:
    """Find the first point that passes the test."""
    passes = stability >= tau
    if "accepted" in lines:
        passes &= lines["accepted"].to_numpy(dtype=bool)
    return int(passes.argmax()) if passes.any() else None


def _draw_tau(ax: Axes, tau: float, reached: str, values: Floats) -> None:
    """Draw tau, and extend the axis to it: it may lie above or below the whole walk."""
    known = np.append(values[~np.isnan(values)], tau)
    margin = 0.06 * np.ptp(known) or 0.05
    ax.set_ylim(known.min() - margin, known.max() + margin)
    label = f"tau {tau:.3g}{reached}"
    ax.axhline(tau, color=style.INK, linestyle=(0, (8, 3)), linewidth=1.1, label=label)


def _told(lines: pd.DataFrame, first: int) -> str:
    """Say where the first stable point is, and what it costs."""
    line = lines.iloc[first]
    said = f"{percent(line['position'])} of the way"
    has_cost = "cost" in lines and pd.notna(line["cost"])
    return f"{said}, cost {line['cost']:.2f}" if has_cost else said


def _words(stability: Floats, tau: float | None, words: str) -> str:
    """Say what the lines show, for those who do not see them."""
    known = stability[~np.isnan(stability)]
    if len(known) == 0:
        return "A walk without numbers."
    said = f"Stability goes from {known[0]:.2f} to {known[-1]:.2f} along the walk."
    return said if tau is None else f"{said} First stable point at tau {tau:.3g}: {words}."

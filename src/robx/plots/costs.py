"""The frontier: how much validity costs, method by method."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from robx.errors import InvalidInput
from robx.metrics import percent
from robx.parameters import check_table, require
from robx.plots import style

Cost = Literal["cost_l1", "cost_l2", "n_changes"]
LABELS: dict[str, str] = {
    "cost_l1": "L1 cost, in units of the features' scales",
    "cost_l2": "L2 cost, in units of the features' scales",
    "n_changes": "features changed",
}


def frontier(table: pd.DataFrame, ax: Axes | None = None, *, cost: Cost = "cost_l1") -> Axes:
    """Draw validity against cost: the upper left is better.

    Parameters
    ----------
    table : DataFrame
        With columns ``method``, ``validity`` and the cost, as `frontier_table` returns, for one
        scenario. Intervals are drawn if there are ``low`` and ``high`` of validity, and the
        cost's own ``_low`` and ``_high``. The points of a method are joined in the order of
        ``knob``, if it has more than one.
    ax : Axes, optional
        To draw on; a new figure unless given.
    cost : {"cost_l1", "cost_l2", "n_changes"}

    Returns
    -------
    Axes

    Examples
    --------
    >>> table = pd.DataFrame({"method": ["NN", "RobX"], "validity": [0.8, 0.97]})
    >>> frontier(table.assign(cost_l1=[0.5, 0.9])).get_ylabel()
    'validity after retraining'
    """
    require(cost in get_args(Cost), cost, "cost", "frontier", "one of " + ", ".join(LABELS))
    check_table(table, ["method", "validity", cost], "frontier", "robx.plots.frontier_table")
    _one_scenario(table)
    with style.styled():
        drawn = style.ax_for(ax, "frontier", (6.4, 4.0), "both")
        methods = list(dict.fromkeys(table["method"]))
        known = [_curve(drawn, table, name, k, cost) for k, name in enumerate(methods)]
        drawn.set_label(" ".join(said for said, _ in known) or "No methods.")
        if not any(any_drawn for _, any_drawn in known):
            style.say_nothing(drawn, "No method has an answer")
            return drawn
        drawn.set(
            xlabel=f"{LABELS[cost]} (upper left is better)", ylabel="validity after retraining"
        )
        drawn.yaxis.set_major_formatter(style.percent_ticks())
        drawn.margins(0.06)
        drawn.set_xlim(left=min(0.0, drawn.get_xlim()[0]) if drawn.get_xlim()[0] < 0.1 else None)
        low = min(drawn.get_ylim()[0], 0.97)
        drawn.set_ylim(low, 1 + 0.04 * (1 - low))
        style.key([drawn], own=ax is None)
    return drawn


def _one_scenario(table: pd.DataFrame) -> None:
    scenarios = list(dict.fromkeys(table["scenario"])) if "scenario" in table else []
    if len(scenarios) > 1:
        raise InvalidInput(
            f"frontier draws one scenario. The table has {', '.join(map(repr, scenarios))}: choose "
            f"one with table[table['scenario'] == {scenarios[0]!r}]."
        )


def _curve(ax: Axes, table: pd.DataFrame, name: Any, k: int, cost: str) -> tuple[str, bool]:
    """Draw a method's points; return them in words, and whether there are any."""
    lines = table[table["method"] == name]
    if "knob" in lines:
        lines = lines.sort_values("knob", kind="stable")
    x, y = style.numbers(lines, cost, "frontier"), style.numbers(lines, "validity", "frontier")
    colour, sign, dashes = style.SERIES[k % len(style.SERIES)]
    joined = len(lines) > 1 and "knob" in lines and lines["knob"].notna().all()
    errors = {
        "xerr": _reach(lines, x, f"{cost}_low", f"{cost}_high"),
        "yerr": _reach(lines, y, "low", "high"),
    }
    ax.errorbar(x, y, **errors, fmt="none", ecolor=colour, elinewidth=1, alpha=0.6)
    look: Any = {"marker": sign, "color": colour, "linestyle": dashes if joined else "none"}
    ax.plot(x, y, **look, ms=6 if joined else 8, label=_label(lines, str(name)), zorder=3)
    known = ~np.isnan(x) & ~np.isnan(y)
    points = ", ".join(f"{percent(v)} at {c:.2f}" for c, v in zip(x[known], y[known], strict=True))
    return f"{name}: {points or 'no answers'}.", bool(known.any())


def _reach(lines: pd.DataFrame, values: Any, low: str, high: str) -> Any:
    """Give how far an interval reaches down and up, or None without one."""
    if low not in lines or high not in lines:
        return None
    down, up = (style.numbers(lines, name, "frontier") for name in (low, high))
    ends = [values - down, up - values]
    # An interval of resamples need not contain the value itself.
    return np.nan_to_num(np.maximum(ends, 0.0))


def _label(lines: pd.DataFrame, name: str) -> str:
    """Name a method, and say how many applicants it answers if these are not all."""
    label = style.wrapped(name, 40)
    # Matplotlib leaves out of a legend what begins with an underscore.
    label = f" {label}" if label.startswith("_") else label
    if np.isnan(style.numbers(lines, "validity", "frontier")).all():
        return f"{label} (no answers)"
    coverage = style.numbers(lines, "coverage", "frontier") if "coverage" in lines else np.ones(1)
    lowest = np.nanmin(coverage) if not np.isnan(coverage).all() else 1.0
    return label if lowest == 1 else f"{label} ({percent(lowest)} answered)"

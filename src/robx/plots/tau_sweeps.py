"""The sweep over tau: what more stability brings, and what it costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from robx.arrays import Floats
from robx.parameters import check_number, check_table
from robx.plots import style

#: Shares: name in the table, in the legend, colour, marker, dashes, size. Each is smaller than the
#: one before, so that all are seen where they are equal.
SHARES: tuple[tuple[str, str, str, str, Any, float], ...] = (
    ("validity", "validity: accepted by retrained models", style.BLUE, "o", "-", 7.5),
    ("worst_validity", "accepted by the strictest model", style.VERMILION, "v", (0, (5, 2)), 5.5),
    ("coverage", "applicants with a stable answer", style.GREEN, "s", (0, (1, 1.2)), 3.6),
    ("passing", "accepted training rows that pass", style.GREY, "D", (0, (6, 2, 1, 2)), 4.0),
)


def tau_sweep(
    table: pd.DataFrame, tau: float | None = None, axes: Any = None
) -> NDArray[np.object_]:
    """Draw the outcome of each tau: shares above, the mean cost below.

    Parameters
    ----------
    table : DataFrame
        With a column ``tau``, and with ``validity`` and ``cost``, as a sweep of `robx.choose_tau`
        returns, or with ``passing`` alone, as it returns without retrained models. Columns
        ``worst_validity``, ``coverage`` and ``passing`` are drawn if they are there. Lines have
        gaps where there are no answers.
    tau : float, optional
        The chosen one.
    axes : Axes, optional
        Two to draw on, or one for a table without a sweep; a new figure unless given.

    Returns
    -------
    (2,) or (1,) array of Axes
        Of the shares, and of the cost if there is one.

    Examples
    --------
    >>> table = pd.DataFrame({"tau": [0.5, 0.6], "validity": [0.9, 1.0], "cost": [0.7, 0.8]})
    >>> [ax.get_ylabel() for ax in tau_sweep(table, tau=0.6)]
    ['share', 'mean cost']
    """
    owner, maker = "tau_sweep", "robx.choose_tau(...).table"
    swept = not isinstance(table, pd.DataFrame) or "passing" not in table or "validity" in table
    needed = ["tau", "validity", "cost"] if swept else ["tau", "passing"]
    check_table(table, needed, owner, maker)
    check_number(tau, "tau", owner, or_none=True)
    lines = table.sort_values("tau", kind="stable")
    place = style.numbers(lines, "tau", owner)
    shares = {name: style.numbers(lines, name, owner) for name, *_ in SHARES if name in lines}
    cost = style.numbers(lines, "cost", owner) if swept else None
    with style.styled():
        shape, size = ((1, 1), (6.4, 2.9)) if cost is None else ((2, 1), (6.4, 4.4))
        drawn = style.axes_for(axes, owner, shape, size, "both", sharex=True)
        for name, label, colour, sign, dashes, width in SHARES:
            if name in shares:
                look = {"marker": sign, "color": colour, "linestyle": dashes, "label": label}
                drawn[0].plot(place, shares[name], **look, ms=width, linewidth=width / 3)
        _limit_shares(drawn[0], np.concatenate(list(shares.values())))
        drawn[0].set(ylabel="share")
        drawn[0].set_label(_words(place, shares, tau))
        if cost is not None:
            drawn[1].plot(place, cost, marker="o", linestyle="-", color=style.BLUE)
            drawn[1].set(ylabel="mean cost")
            drawn[1].set_label(_words(place, {"cost": cost}, tau))
            known = cost[~np.isnan(cost)]
            drawn[1].set_ylim(0, 1.12 * known.max() if len(known) and known.max() > 0 else 1)
        drawn[-1].set_xlabel("tau (minimum stability)")
        _limit_taus(drawn, place)
        if tau is not None:
            for ax, words in zip(drawn, (f"tau {tau:.3g}", ""), strict=False):
                style.mark_tau(ax, tau, words)
        style.key(list(drawn), own=axes is None)
    return drawn


def _limit_shares(ax: Axes, values: Floats) -> None:
    """Show from a round share below the smallest one to a little above all."""
    known = values[~np.isnan(values)]
    smallest = float(known.min()) if len(known) else 0.0
    low = max(min(np.floor(20 * smallest - 0.5) / 20, 0.9), -0.03)
    ax.set_ylim(low, 1 + 0.04 * (1 - low))
    ax.yaxis.set_major_formatter(style.percent_ticks())


def _limit_taus(axes: NDArray[np.object_], place: Floats) -> None:
    known = place[~np.isnan(place)]
    if len(known):
        margin = 0.04 * np.ptp(known) or 0.05
        for ax in axes:
            ax.set_xlim(known.min() - margin, known.max() + margin)


def _words(place: Floats, columns: dict[str, Floats], tau: float | None) -> str:
    """Say what the lines show, for those who do not see them."""
    said = []
    for name, values in columns.items():
        known = ~np.isnan(values) & ~np.isnan(place)
        if not known.any():
            said.append(f"{name}: no numbers.")
            continue
        first, last = values[known][0], values[known][-1]
        ends = place[known][0], place[known][-1]
        said.append(f"{name}: {first:.3g} at tau {ends[0]:.3g}, {last:.3g} at tau {ends[1]:.3g}.")
    return " ".join(said) + ("" if tau is None else f" Chosen: tau {tau:.3g}.")

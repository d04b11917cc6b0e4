"""Histograms of score, mean and stability: the paper's figure behind the choice of tau."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from robx.metrics import percent
from robx.plots.style import (
    BLUE,
    GREY,
    PAPER,
    dress,
    key,
    mark_tau,
    new_axes,
    plain_numbers,
    styled,
)
from robx.plots.validation import axes_for, check_table, check_tau, numbers

#: Width of a bar.
WIDTH = 0.05
LABELS = {
    "score": "score M",
    "mean": "mean of M around the row",
    "stability": "stability R",
}


def histograms(
    table: pd.DataFrame, tau: float | None = None, axes: Any = None
) -> NDArray[np.object_]:
    """Draw how scores, their means and stabilities are spread, with tau where it cuts.

    Parameters
    ----------
    table : DataFrame
        With columns ``score``, ``mean`` and ``stability``, as `stability_table` gives. Rows without
        a number are left out.
    tau : float, optional
        The least stability that passes; rows below it are hatched.
    axes : three Axes, optional
        To draw on; a new figure unless given.

    Returns
    -------
    (3,) array of Axes
        Of score, mean and stability.

    Examples
    --------
    >>> table = pd.DataFrame({"score": [0.2, 0.9], "mean": [0.3, 0.8], "stability": [0.1, 0.7]})
    >>> [ax.get_xlabel() for ax in histograms(table, tau=0.5)]
    ['score M', 'mean of M around the row', 'stability R']
    """
    check_tau(tau, "histograms")
    return draw_bins(bin_table(table, tau), tau, axes)


def bin_table(table: pd.DataFrame, tau: float | None = None) -> pd.DataFrame:
    """Count rows in bars, so that a histogram of many rows can be drawn from few numbers.

    Parameters
    ----------
    table : DataFrame
        As `histograms` takes it.
    tau : float, optional

    Returns
    -------
    DataFrame
        A line for each bar of each column: ``column``, ``low`` and ``high`` (its ends), ``rows`` in
        it that pass, and rows ``below`` tau. In ``words``, all lines of a column say the same: what
        its histogram shows; in ``passing`` they have the share that reaches tau.
    """
    names = list(LABELS)
    check_table(table, names, "histograms", "robx.plots.stability_table")
    columns = {name: numbers(table, name, "histograms") for name in names}
    columns = {name: values[~np.isnan(values)] for name, values in columns.items()}
    edges = _edges(np.concatenate(list(columns.values())))
    found = []
    for name, values in columns.items():
        cut = tau if name == "stability" else None
        least = -np.inf if cut is None else cut
        parts = (values < least, values >= least)
        below, rows = (np.histogram(values[part], edges)[0] for part in parts)
        lines = {"low": edges[:-1], "high": edges[1:], "rows": rows, "below": below}
        passing = float(parts[1].mean()) if len(values) else np.nan
        said = _words(name, values, cut, passing)
        found.append(pd.DataFrame({"column": name, **lines, "passing": passing, "words": said}))
    return pd.concat(found, ignore_index=True)


def draw_bins(bins: pd.DataFrame, tau: float | None, axes: Any = None) -> NDArray[np.object_]:
    """Draw what `bin_table` counted; see `histograms`."""
    given = axes_for(axes, len(LABELS), "histograms")
    with styled():
        drawn = new_axes(1, 3, (8.4, 2.6), sharey=True) if given is None else given
        for ax, name in zip(drawn, LABELS, strict=True):
            dress(ax)
            bars = bins[bins["column"] == name]
            cut = tau if name == "stability" else None
            _bars(ax, bars, cut, BLUE if cut == tau else GREY)
            ax.set(xlabel=LABELS[name], xlim=(bars["low"].iloc[0], bars["high"].iloc[-1]))
            ax.xaxis.set_major_formatter(plain_numbers())
            ax.set_label(str(bars["words"].iloc[0]))
        drawn[0].set_ylabel("rows")
        drawn[0].yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
        if not bins[["rows", "below"]].to_numpy().any():
            drawn[0].set_ylim(0, 1)
        if tau is not None:
            share = float(bins.loc[bins["column"] == "stability", "passing"].astype(float).iloc[0])
            passing = "" if np.isnan(share) else f": {percent(share)} pass"
            mark_tau(drawn[2], tau, f"tau {tau:.3g}{passing}")
            key(list(drawn), own=given is None, under=drawn[1])
    return drawn


def _edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Edges of bars from 0 to 1, or as far beyond as there are values."""
    low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
    first, last = min(np.floor(low / WIDTH), 0), max(np.ceil(high / WIDTH), round(1 / WIDTH))
    n_bars = int(last - first)
    if n_bars > 200:  # these are no scores of a classifier
        return np.linspace(min(low, 0.0), max(high, 1.0), 41)
    return np.linspace(first * WIDTH, last * WIDTH, n_bars + 1)


def _bars(ax: Axes, bars: pd.DataFrame, tau: float | None, colour: str) -> None:
    """Draw a histogram, in two parts on one another where tau cuts it."""
    left, above = bars["low"], bars["rows"]
    width = bars["high"] - left
    common: Any = {"width": width, "align": "edge", "edgecolor": PAPER, "linewidth": 0.6}
    ax.bar(left, above, facecolor=colour, label="" if tau is None else "at least tau", **common)
    if tau is not None:
        hatched = {**common, "edgecolor": GREY, "hatch": "////"}
        ax.bar(left, bars["below"], bottom=above, facecolor="none", label="below tau", **hatched)


def _words(name: str, values: NDArray[np.float64], tau: float | None, passing: float) -> str:
    """Say what a histogram shows, for those who do not see it."""
    if len(values) == 0:
        return f"{LABELS[name]}: no rows."
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    said = f"{LABELS[name]} of {len(values)} rows: median {middle:.2f}, "
    said += f"eight in ten from {low:.2f} to {high:.2f}."
    return said if tau is None else f"{said} {percent(passing)} reach tau {tau:.3g}."

"""Histograms of score, mean and stability: the paper's figure behind the choice of tau."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from robx.arrays import Floats
from robx.metrics import percent
from robx.parameters import check_number, check_table
from robx.plots import style

#: Width of a bar, and the most bars of that width.
WIDTH, MOST_BARS = 0.05, 200
LABELS = {"score": "score M", "mean": "mean score nearby", "stability": "stability R"}


def histograms(
    table: pd.DataFrame, tau: float | None = None, axes: Any = None
) -> NDArray[np.object_]:
    """Draw the distributions of scores, their means and stabilities, and where tau cuts.

    Parameters
    ----------
    table : DataFrame
        With columns ``score``, ``mean`` and ``stability``, as `stability_table` returns. Rows
        without a number are left out.
    tau : float, optional
        The minimum stability; bars below it are hatched.
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
    ['score M', 'mean score nearby', 'stability R']
    """
    check_number(tau, "tau", "histograms", or_none=True)
    check_table(table, list(LABELS), "histograms", "robx.plots.stability_table")
    return draw_bins(bin_table(table, tau), tau, axes)


def bin_table(table: pd.DataFrame, tau: float | None = None) -> pd.DataFrame:
    """Count rows in bars, so that a histogram of many rows can be drawn from few numbers.

    The table is as `histograms` takes it, with at least one of its columns. There is a line for
    each bar of each column: ``column``, ``low`` and ``high`` (its ends), ``rows`` in it that pass,
    and rows ``below`` tau, at which a bar ends. All lines of a column have the same ``words`` (what
    its histogram shows) and ``passing`` (the share that reaches tau).
    """
    columns = {name: style.numbers(table, name, "histograms") for name in LABELS if name in table}
    columns = {name: values[~np.isnan(values)] for name, values in columns.items()}
    every = np.concatenate(list(columns.values()))
    found = []
    for name, values in columns.items():
        cut = tau if name == "stability" else None
        edges = _edges(every, cut)
        passes = values >= (-np.inf if cut is None else cut)
        below, rows = (np.histogram(values[part], edges)[0] for part in (~passes, passes))
        passing = float(passes.mean()) if len(values) else np.nan
        lines = {"low": edges[:-1], "high": edges[1:], "rows": rows, "below": below}
        said = _words(name, values, cut, passing)
        found.append(pd.DataFrame({"column": name, **lines, "passing": passing, "words": said}))
    return pd.concat(found, ignore_index=True)


def draw_bins(bins: pd.DataFrame, tau: float | None, axes: Any = None) -> NDArray[np.object_]:
    """Draw what `bin_table` counted; see `histograms`."""
    columns = list(dict.fromkeys(bins["column"]))
    with style.styled():
        shape, size = (1, len(columns)), (2.8 * len(columns), 2.6)
        drawn = style.axes_for(axes, "histograms", shape, size, sharey=True)
        for ax, name in zip(drawn, columns, strict=True):
            bars = bins[bins["column"] == name]
            cut = tau if name == "stability" else None
            _bars(ax, bars, cut, style.BLUE if cut == tau else style.GREY)
            ax.set(xlabel=LABELS[name], xlim=(bars["low"].iloc[0], bars["high"].iloc[-1]))
            ax.xaxis.set_major_formatter(style.plain_numbers())
            ax.set_label(str(bars["words"].iloc[0]))
            if cut is not None:
                share = float(bars["passing"].astype(float).iloc[0])
                passing = "" if np.isnan(share) else f": {percent(share)} pass"
                style.mark_tau(ax, cut, f"tau {cut:.3g}{passing}")
        drawn[0].set_ylabel("count")
        drawn[0].yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
        if not bins[["rows", "below"]].to_numpy().any():
            drawn[0].set_ylim(0, 1)
        style.key(list(drawn), own=axes is None, under=drawn[len(drawn) // 2])
    return drawn


def _edges(values: Floats, tau: float | None) -> Floats:
    """Give edges of bars from 0 to 1, or as far beyond as there are values; one of them is tau."""
    low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
    low, high = min(np.floor(low / WIDTH) * WIDTH, 0.0), max(np.ceil(high / WIDTH) * WIDTH, 1.0)
    width = WIDTH if high - low <= MOST_BARS * WIDTH else (high - low) / 40
    start = tau if tau is not None and low < tau < high else low
    # A bar that is narrower than a rounding error is left out, and tau itself is not rounded.
    first, last = np.floor((low - start) / width + 1e-9), np.ceil((high - start) / width - 1e-9)
    steps = np.arange(first, last + 1)
    edges = np.where(steps == 0, start, np.round(start + width * steps, 12))
    edges[[0, -1]] = low, high
    return edges


def _bars(ax: Axes, bars: pd.DataFrame, tau: float | None, colour: str) -> None:
    """Draw a histogram, hatched below tau."""
    left, below = bars["low"], bars["below"]
    common: Any = {"width": bars["high"] - left, "align": "edge", "linewidth": 0.6}
    cut = tau is not None and below.any()
    label = "at least tau" if cut else ""
    ax.bar(left, bars["rows"], facecolor=colour, edgecolor=style.PAPER, label=label, **common)
    if cut:
        common |= {"edgecolor": style.GREY, "hatch": "////", "bottom": bars["rows"]}
        ax.bar(left, below, facecolor="none", label="below tau", **common)


def _words(name: str, values: Floats, tau: float | None, passing: float) -> str:
    """Say what a histogram shows, for those who do not see it."""
    if len(values) == 0:
        return f"{LABELS[name]}: no values."
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    said = f"{LABELS[name]}, {len(values)} values: median {middle:.2f}, "
    said += f"80% between {low:.2f} and {high:.2f}."
    return said if tau is None else f"{said} {percent(passing)} reach tau {tau:.3g}."

"""The picture of the README: what is still accepted after a retraining, and what it costs.

    python -m experiments.picture

It is drawn from the committed results of `python -m experiments.promises.real`, nothing else: other
methods as they come, from curves.csv, and Frugal with a promise, from real.csv.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["Lines", "chosen", "draw"]

RESULTS = Path(__file__).parent / "results" / "promises"
PICTURE = Path(__file__).parents[1] / "docs" / "_static" / "why.svg"
DATA = {"german": "German Credit", "heloc": "HELOC", "adult": "Adult (income)"}
#: Methods with their own default settings, and what the picture calls them.
DEFAULTS = {
    "Feature Tweaking": "Feature Tweaking",
    "NICE": "NICE (our version)",
    "Nearest neighbour": "nearest neighbour",
    "Live region": "live region",
    "RobX": "RobX",
}
OURS, PROMISE = "Frugal", 0.95
BLUE, GREY, INK = "#0072B2", "#8c8c8c", "#1a1a1a"
#: Where the figures stand.
COLUMNS = (130, 151, 178)
STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 10,
    "svg.fonttype": "none",
    "svg.hashsalt": "robx",
    "text.color": INK,
}


class Lines(NamedTuple):
    """Results: of methods as they come, and of promises."""

    plain: pd.DataFrame
    promised: pd.DataFrame

    @classmethod
    def committed(cls) -> Lines:
        """Read what is committed, under new rows."""
        curves, real = (pd.read_csv(RESULTS / f"{name}.csv") for name in ("curves", "real"))
        plain = curves[curves["value"].isna() & (curves["change"] == "new rows")]
        promised = real[(real["asked"] == PROMISE) & (real["change"] == "new rows")]
        promised = promised[promised["method"] == OURS]
        return cls(plain, promised.rename(columns={"n_changes": "changes"}))


def chosen(lines: Lines, data: str) -> pd.DataFrame:
    """A line for each method on a data set: as it comes, and Frugal with a promise."""
    plain, promised = (table[table["data"] == data] for table in lines)
    parts = [(label, plain[plain["method"] == name]) for name, label in DEFAULTS.items()]
    parts.append((f"Frugal, keep={PROMISE:g}", promised))
    return pd.DataFrame(
        {
            "label": label,
            "came": part["came"].mean(),
            "low": part["came"].min(),
            "high": part["came"].max(),
            "cost": part["cost"].mean(),
            "changes": part["changes"].mean(),
        }
        for label, part in parts
    )


def draw(lines: Lines) -> Figure:
    """Draw a panel for each data set."""
    figure = Figure(figsize=(12.5, 3.2), layout="constrained", facecolor="white")
    axes = figure.subplots(1, len(DATA), sharey=True)
    for ax, (data, name) in zip(axes, DATA.items(), strict=True):
        found = chosen(lines, data)
        for y, line in enumerate(found.to_dict("records")):
            _line(ax, y, line, is_ours=y == len(found) - 1)
        _frame(ax, name)
    axes[0].set_yticks(range(len(found)), list(found["label"]))
    axes[0].invert_yaxis()
    axes[0].get_yticklabels()[-1].set_fontweight("bold")
    figure.supxlabel(
        "Share of answers that models of new people accept: mean, and range over splits of the "
        "data, XGBoost and LightGBM",
        fontsize=9,
    )
    return figure


def _line(ax: Axes, y: int, line: dict[Any, Any], *, is_ours: bool) -> None:
    colour, weight = (BLUE, "bold") if is_ours else (GREY, "normal")
    ends = [100 * line["low"], 100 * line["high"]]
    ax.plot(ends, [y, y], color=colour, lw=2.5, solid_capstyle="butt", zorder=2)
    ax.plot([100 * line["came"]], [y], "o", color=colour, ms=8, zorder=3)
    figures = ("{:.0f}%", 100 * line["came"]), ("{:.2f}", line["cost"]), ("{:.1f}", line["changes"])
    for x, (how, value) in zip(COLUMNS, figures, strict=True):
        ax.text(x, y, how.format(value), va="center", ha="right", fontweight=weight)


def _frame(ax: Axes, name: str) -> None:
    places = [20, 40, 60, 80, 100]
    ax.set_xlim(15, COLUMNS[-1] + 2)
    ax.set_xticks(places, [f"{x}%" for x in places])
    for x, what in zip(COLUMNS, ("kept", "cost", "changes"), strict=True):
        ax.text(x, -0.75, what, va="center", ha="right", color="#595959", fontsize=9)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_bounds(places[0], places[-1])
    ax.tick_params(axis="y", length=0)
    ax.vlines(places, -0.4, len(DEFAULTS) + 0.4, color="#e0e0e0", lw=0.8, zorder=0)
    ax.set_title(name, fontsize=11, loc="left", fontweight="bold", pad=12)


def main() -> None:
    """Draw it from the committed results."""
    with mpl.rc_context(STYLE):
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        draw(Lines.committed()).savefig(PICTURE, metadata={"Date": None, "Creator": None})
    print(f"Wrote {PICTURE.name}")


if __name__ == "__main__":
    main()

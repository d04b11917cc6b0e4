"""The picture of the README: what is still accepted after a retraining, and what it costs.

    python -m experiments.picture

It is drawn from the committed results of `make tables TABLE=frontier`, nothing else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.frontier.curves import cheapest

__all__ = ["chosen", "draw"]

RESULTS = Path(__file__).parent / "results"
PICTURE = Path(__file__).parents[1] / "docs" / "_static" / "why.svg"
DATA = {"german": "German Credit", "heloc": "HELOC"}
#: Methods as they come, with their own default settings, and what the picture calls them.
DEFAULTS = {
    "FT": "Feature Tweaking",
    "NICE": "NICE (our version)",
    "NN": "nearest neighbour",
    "DiCE genetic": "DiCE, genetic",
}
FRUGAL, PAPER = "NN +Frugal, default", "NN +RobX"
FIGURES = ("validity", "low", "high", "cost_l1", "n_changes")
#: A method that is asked for no more than acceptance.
PLAIN = 0.5
BLUE, GREY, INK = "#0072B2", "#8c8c8c", "#1a1a1a"
#: Where the figures stand.
COLUMNS = (124, 142, 165)
STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 10,
    "svg.fonttype": "none",
    "svg.hashsalt": "robx",
    "text.color": INK,
}


def chosen(table: pd.DataFrame) -> pd.DataFrame:
    """A line for each method under moderate change: as it comes, and RobX where it keeps as much.

    RobX has no validity of its own, it has one for each tau: shown is the cheapest place on the
    line through its points that keeps what Frugal's default keeps, as in the tables at equal
    validity.
    """
    moderate = table[table["scenario"] == "moderate"]
    frugal = moderate[moderate["method"] == FRUGAL]
    plain = moderate[moderate["knob"].isna() | (moderate["knob"] == PLAIN)]
    lines = [plain[plain["method"] == name].assign(label=label) for name, label in DEFAULTS.items()]
    robx = moderate[moderate["method"] == PAPER].sort_values("knob")
    lines.append(_equal(robx, float(frugal["validity"].iloc[0])))
    lines.append(frugal.assign(label="Frugal, default settings"))
    return pd.concat(lines, ignore_index=True)


def _equal(curve: pd.DataFrame, validity: float) -> pd.DataFrame:
    columns = {name: curve[[name]].to_numpy(dtype=float) for name in FIGURES}
    place = cheapest(columns["validity"], columns["cost_l1"], validity)
    read = {name: place.read(values) for name, values in columns.items()}
    return pd.DataFrame({"method": [PAPER], "label": ["RobX, at equal validity"], **read})


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Draw a panel for each data set."""
    figure = Figure(figsize=(10.5, 3.2), layout="constrained", facecolor="white")
    axes = figure.subplots(1, len(tables), sharey=True)
    for ax, (name, table) in zip(axes, tables.items(), strict=True):
        lines = chosen(table)
        for y, line in enumerate(lines.to_dict("records")):
            _line(ax, y, line)
        _frame(ax, name)
    axes[0].set_yticks(range(len(lines)), list(lines["label"]))
    axes[0].invert_yaxis()
    axes[0].get_yticklabels()[-1].set_fontweight("bold")
    figure.supxlabel(
        "Accepted by new models, trained on other people: mean over 5 base models with 20 new "
        "models each, 95% interval",
        fontsize=9,
    )
    return figure


def _line(ax: Axes, y: int, line: dict[Any, Any]) -> None:
    is_frugal = line["method"] == FRUGAL
    colour = BLUE if is_frugal else GREY
    ends = [100 * line["low"], 100 * line["high"]]
    ax.plot(ends, [y, y], color=colour, lw=2.5, solid_capstyle="butt", zorder=2)
    ax.plot([100 * line["validity"]], [y], "o", color=colour, ms=8, zorder=3)
    figures = (100 * line["validity"], "{:.1f}%"), (line["cost_l1"], "{:.2f}")
    for x, (value, how) in zip(COLUMNS, (*figures, (line["n_changes"], "{:.1f}")), strict=True):
        weight = "bold" if is_frugal else "normal"
        ax.text(x, y, how.format(value), va="center", ha="right", fontweight=weight)


def _frame(ax: Axes, name: str) -> None:
    ax.set_xlim(15, COLUMNS[-1] + 2)
    ax.set_xticks([20, 40, 60, 80, 100], [f"{x}%" for x in (20, 40, 60, 80, 100)])
    for x, what in zip(COLUMNS, ("accepted", "cost", "changes"), strict=True):
        ax.text(x, -0.75, what, va="center", ha="right", color="#595959", fontsize=9)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_bounds(20, 100)
    ax.tick_params(axis="y", length=0)
    ax.vlines([20, 40, 60, 80, 100], -0.4, 5.4, color="#e0e0e0", lw=0.8, zorder=0)
    ax.set_title(name, fontsize=11, loc="left", fontweight="bold", pad=12)


def main() -> None:
    """Draw it from the committed results."""
    tables = {label: pd.read_csv(RESULTS / d / "frontier.csv") for d, label in DATA.items()}
    with mpl.rc_context(STYLE):
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        draw(tables).savefig(PICTURE, metadata={"Date": None, "Creator": None})
    print(f"Wrote {PICTURE.name}")


if __name__ == "__main__":
    main()

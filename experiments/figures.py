"""Plots of the tables; the only file here that knows matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.compare import NO_TAU
from experiments.frontier.resamples import LEAST_COVERAGE
from experiments.spec import ROBX

__all__ = ["frontier", "histograms", "overview", "sweep"]

#: Colours that are told apart by people who do not see them all, and in grey.
COLOURS = {"FT": "#0072B2", "FOCUS": "#D55E00", "FACE": "#009E73", "NN": "#CC79A7", "CCF": "black"}
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
}
STYLE |= {"grid.color": "#e6e6e6", "axes.axisbelow": True, "savefig.dpi": 150}
NOWHERE = (np.nan, np.nan)
OPEN: Any = {"ms": 7, "mfc": "white", "mew": 1.5, "zorder": 3}


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, metadata={"Software": None})


def histograms(counts: pd.DataFrame, paper_tau: float, title: str, path: Path) -> None:
    """Draw the three histograms side by side, as the paper does."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 2.9), layout="constrained")
        axes = figure.subplots(1, 3, sharey=True)
        labels = ("score M(x)", "mean of M around x", f"stability R(x); dashed: tau {paper_tau:g}")
        for ax, name, label in zip(axes, ("score", "mean", "stability"), labels, strict=True):
            ax.bar(counts["low"], counts[name], counts["high"] - counts["low"], align="edge")
            ax.set(xlabel=label, xlim=(0, 1))
        axes[0].set_ylabel("training rows")
        axes[2].axvline(paper_tau, color="black", linestyle="--", linewidth=1)
        figure.suptitle(title, fontsize=10)
        _save(figure, path)


def sweep(table: pd.DataFrame, paper_tau: float, title: str, path: Path) -> None:
    """Draw validity, cost, LOF and coverage over tau, and where the rules put it."""
    shown = {"validity": "validity", "cost_l1": "L1 cost", "lof_accepted": "LOF"}
    shown["coverage"] = "coverage"
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 5.2), layout="constrained")
        axes = figure.subplots(2, 2, sharex=True).ravel()
        for method, colour in (("CCF", "black"), ("NN +RobX", COLOURS["FOCUS"])):
            lines = table[table["method"] == method].sort_values("tau")
            fixed = lines[~lines["tau_rule"].isin(["paper", "auto", "sweep"])]
            whole = fixed["coverage"] >= 0.99
            for ax, metric in zip(axes, shown, strict=True):
                ax.plot(fixed["tau"][whole], fixed[metric][whole], ".-", color=colour, label=method)
                some = f"{method}, some unanswered"
                ax.plot(fixed["tau"][~whole], fixed[metric][~whole], "x", color=colour, label=some)
                for rule, sign in (("auto", "o"), ("sweep", "s")):
                    chosen = lines[lines["tau_rule"] == rule]
                    label = f"{method}, {rule}"
                    ax.plot(chosen["tau"], chosen[metric], sign, color=colour, **OPEN, label=label)
        for ax, label in zip(axes, shown.values(), strict=True):
            ax.axvline(paper_tau, color="grey", linestyle=":", label="the paper's tau")
            ax.set_ylabel(label)
        for ax in axes[2:]:
            ax.set_xlabel("tau")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        figure.suptitle(title, fontsize=10)
        _save(figure, path)


def overview(table: pd.DataFrame, title: str, path: Path) -> None:
    """Draw validity against cost: an arrow from each base to the same on RobX."""
    panels = [("the paper", "paper", "paper"), ("ours, the paper's tau", "ours", "paper")]
    panels.append(("ours, tau by quantile", "ours", "auto"))
    norms = sorted(set(table["norm"]))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.5, 2.9 * len(norms) + 0.6), layout="constrained")
        axes = np.atleast_2d(figure.subplots(len(norms), 3, sharey=True, sharex="row"))
        for row, norm in zip(axes, norms, strict=True):
            for ax, (name, column, rule) in zip(row, panels, strict=True):
                figures = table[
                    (table["norm"] == norm) & table["tau_rule"].isin([rule, NO_TAU])
                ].pivot_table(index="method", columns="metric", values=column)
                _arrows(ax, figures)
                ax.set_xlabel(f"L{norm} cost")
                ax.set_title(name + _answered(figures), fontsize=9)
            row[0].set_ylabel("validity, %")
            row[0].set_xlim(left=-0.03 * row[0].get_xlim()[1])
        handles, labels = axes[0, 0].get_legend_handles_labels()
        handles.append(Line2D([], [], color="grey", marker="o", mfc="white", linestyle="none"))
        labels.append("the same on RobX")
        figure.legend(handles, labels, loc="outside lower center", ncols=6)
        figure.suptitle(title, fontsize=10)
        _save(figure, path)


def _answered(figures: pd.DataFrame) -> str:
    """Say how many are answered on RobX, where not all are."""
    if "coverage" not in figures:
        return ""
    share = figures.loc[figures.index.str.endswith(ROBX), "coverage"].mean()
    return "" if share >= 0.99 else f" ({100 * share:.0f} % answered)"


def _arrows(ax: Axes, figures: pd.DataFrame) -> None:
    places = {
        str(name): (float(line["cost"]), float(line["validity"]))
        for name, line in figures.to_dict("index").items()
    }
    for name, colour in COLOURS.items():
        sign, size = ("*", 10) if name == "CCF" else ("o", 6)
        start, end = places.get(name, NOWHERE), places.get(name + ROBX, NOWHERE)
        ax.plot(*start, sign, color=colour, label=name, ms=size)
        if np.isnan([*start, *end]).any():
            continue
        arrow = {"arrowstyle": "-|>", "color": colour, "lw": 1.2, "shrinkB": 3}
        ax.annotate("", end, start, arrowprops=arrow)
        ax.plot(*end, "o", color=colour, mfc="white", ms=6)
    stable = [place for name, place in places.items() if name.endswith(ROBX)]
    if np.isnan(stable).all():
        ax.text(0.5, 0.5, "nobody gets an answer\non RobX", ha="center", transform=ax.transAxes)


# --- the frontier ---------------------------------------------------------------------------------

#: Colour, dashes and sign of each curve.
CURVES: dict[str, tuple[str, str, str]] = {
    "NN": (COLOURS["NN"], "-", "o"),
    "FT": (COLOURS["FT"], "-", "s"),
    "NICE": ("#E69F00", "-", "^"),
    "DiCE genetic": ("#56B4E9", "none", "D"),
    "CCF": ("black", "-", "x"),
    "NN +RobX": (COLOURS["FOCUS"], "-", "o"),
    "FT +RobX": (COLOURS["FOCUS"], "--", "s"),
    "NN +Frugal": (COLOURS["FACE"], "-", "o"),
    "FT +Frugal": (COLOURS["FACE"], "--", "s"),
    "NN +Frugal, noise alone": (COLOURS["FACE"], ":", "v"),
    "NN +Frugal, typical or not": ("#999999", "-", "v"),
    "NN +Frugal, default": (COLOURS["FACE"], "none", "*"),
    "FT +Frugal, default": (COLOURS["FACE"], "none", "P"),
}
#: Shares of refused answers: the least that is shown, the most, and those with a number.
LEAST_REFUSED, MOST_REFUSED = 0.1, 60.0
REFUSED = (0.1, 1, 5, 20, 50)


def frontier(table: pd.DataFrame, title: str, path: Path) -> None:
    """Draw cost and number of changes against validity, a column of panels for each change.

    Validity falls to the right, on a scale of refused answers, so that lower left is better. Points
    that are in no curve, because they leave too many without an answer, are not drawn.
    """
    scenarios = list(dict.fromkeys(table["scenario"]))
    drawn = table[table["coverage"] >= LEAST_COVERAGE]
    with mpl.rc_context(STYLE):
        size = (3.6 * len(scenarios) + 0.6, 7.6)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(2, len(scenarios), sharex=True, sharey="row", squeeze=False)
        for row, (name, label) in zip(
            axes, (("cost_l1", "L1 cost"), ("n_changes", "features changed")), strict=True
        ):
            for ax, scenario in zip(row, scenarios, strict=True):
                _curves(ax, drawn[drawn["scenario"] == scenario], name)
            row[0].set_ylabel(label)
        for ax, scenario in zip(axes[0], scenarios, strict=True):
            ax.set_title(scenario, fontsize=9)
        for ax in axes[1]:
            ax.set_xlabel("validity, % (lower left is better)")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=6)
        figure.suptitle(title, fontsize=10)
        _save(figure, path)


def _curves(ax: Axes, table: pd.DataFrame, name: str) -> None:
    """Draw every method, its points joined in the order of their knobs."""
    for curve, (colour, dashes, sign) in CURVES.items():
        lines = table[table["method"] == curve].sort_values("knob")
        refused = (100 * (1 - lines["validity"])).clip(lower=LEAST_REFUSED)
        frugal = "Frugal" in curve
        ax.plot(
            refused,
            lines[name],
            sign,
            linestyle=dashes,
            color=colour,
            label=curve,
            ms=9 if dashes == "none" and frugal else 4,
            lw=2 if frugal else 1.1,
            mec="black" if dashes == "none" else colour,
            zorder=4 if frugal else 3,
        )
    ax.set_xscale("log")
    ax.set_xlim(0.9 * LEAST_REFUSED, MOST_REFUSED)
    ax.set_xticks(REFUSED, [f"≥{100 - REFUSED[0]:g}", *(f"{100 - x:g}" for x in REFUSED[1:])])
    ax.set_xticks([], minor=True)
    for refused_share in (1, 5):
        ax.axvline(refused_share, color="grey", linestyle=":", linewidth=1, zorder=1)

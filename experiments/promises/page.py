"""Pages about promises, made from their results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from robx import __version__

ABOUT = (
    "Made by `python -m experiments.promises.simulated` with robx {version}. Every data set has a "
    "truth of its own; new models are trained on fresh rows of it. `came` is the share of ok "
    "answers that they accept; `times` is the cost as a multiple of the cheapest setting that "
    "would have kept the promise, known only afterwards; `low_holds` is the share of answers whose "
    "own bound under new rows held."
)


def simulated_page(path: Path) -> None:
    """Write the page beside the lines of simulated data sets."""
    lines = pd.read_csv(path)
    lines["times"] = lines["cost"] / lines["cheapest"]
    promised = lines.dropna(subset=["asked"])
    shown = ["promised", "came", "ok", "cost", "times", "low_holds"]
    cells = promised.groupby(["asked", "n", "kind", "library"])[shown].mean()
    sets = promised.groupby(["asked", "n", "kind", "library"]).size().rename("sets")
    table = cells.join(sets).reset_index()
    table["came - promised"] = table["came"] - table["promised"]
    overall = promised.groupby(["asked", "n"])[shown].mean().reset_index()
    before = lines[lines["asked"].isna()].groupby("n")[["came", "judges", "ok", "cost"]].mean()
    text = [
        "# Promised against came, on simulated data",
        "",
        ABOUT.format(version=__version__),
        "",
        "## By size",
        "",
        overall.pipe(_markdown),
        "",
        "Without a promise, at level 0.7:",
        "",
        before.reset_index().pipe(_markdown),
        "",
        "## Every cell",
        "",
        table.pipe(_markdown),
        "",
    ]
    path.with_suffix(".md").write_text("\n".join(text), encoding="utf-8")


def _markdown(table: pd.DataFrame) -> str:
    """Lay out a table; numbers with three digits."""

    def said(value: object) -> str:
        return f"{value:.3g}" if isinstance(value, float) else str(value)

    rows = [[str(name) for name in table.columns], ["---"] * len(table.columns)]
    rows += [[said(value) for value in row] for row in table.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


ABOUT_REAL = (
    "Made by `python -m experiments.promises.real` with robx {version}. The tau or score of every "
    "method was chosen for the promise by the same rehearsal. `came` is the share of ok answers "
    "that new models accept, mean over splits with the lowest and highest split; `cost` and "
    "`changes` are means over those who are answered."
)


def real_page(path: Path) -> None:
    """Write the page beside the lines of real data sets."""
    lines = pd.read_csv(path).dropna(subset=["asked"])
    cells = lines.groupby(["asked", "change", "data", "library", "method"])
    table = cells.agg(
        splits=("split", "nunique"),
        promised=("promised", "mean"),
        came=("came", "mean"),
        lowest=("came", "min"),
        highest=("came", "max"),
        ok=("ok", "mean"),
        cost=("cost", "mean"),
        changes=("n_changes", "mean"),
    ).reset_index()
    text = [
        "# Promised against came, on real data",
        "",
        ABOUT_REAL.format(version=__version__),
        "",
        table.pipe(_markdown),
        "",
    ]
    path.with_suffix(".md").write_text("\n".join(text), encoding="utf-8")


def parts_page(path: Path) -> None:
    """To be written."""

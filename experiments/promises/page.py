"""Pages about promises, made from their results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

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


ABOUT_PARTS = (
    "Made by `python -m experiments.promises.parts` with robx {version}: {tables} tables of each "
    "size from as many truths of each kind, answered at every rung of the ladder and judged by "
    "models of fresh tables of the same size."
)
#: The setting that keeps so much is looked for at every size.
WANTED = 0.9
UNITS = ("score", "rank", "deviations")


def parts_page(path: Path) -> None:
    """Write the page beside the lines of tables of several sizes."""
    lines = pd.read_csv(path)
    rungs = _means(lines, ["kind", "library", "n", "rung"])
    by_kind = rungs.groupby(["kind", "library", "n"])
    settings = pd.DataFrame({unit: by_kind.apply(_setting, unit) for unit in UNITS}).reset_index()
    moved = {unit: _doubled(settings, unit) for unit in UNITS}
    growth = _growth(rungs)
    support = _means(lines, ["kind", "support"])
    text = [
        "# From part of the rows to all of them",
        "",
        ABOUT_PARTS.format(version=__version__, tables=lines["seed"].nunique()),
        "",
        f"## The setting that keeps {WANTED:.0%} of the answers",
        "",
        "In three units: the mean score of the searching models, its rank among the accepted rows, "
        "and its distance from the threshold in standard deviations of these models. Empty where "
        "no setting keeps as many.",
        "",
        *(
            part
            for unit in UNITS
            for part in (f"By {unit}:", "", _markdown(_wide(settings, unit)), "")
        ),
        "What the setting becomes when a table doubles, as a multiple of what it was; median and "
        "range over neighbouring sizes. A unit that carries over stays near 1, and one that is "
        "safe to carry over stays below it:",
        "",
        _markdown(pd.DataFrame(moved.values(), index=list(moved)).reset_index(names="unit")),
        "",
        "## What grows",
        "",
        "At one setting, the standard normal quantile of the share that is kept grows as a power "
        "of the number of rows; the exponent, fitted over the sizes of each kind of table at "
        f"settings that keep less than {SURE:.0%}:",
        "",
        _markdown(growth),
        "",
        "## What labels tell beyond scores",
        "",
        "Answers of one setting in thirds, by the share of good labels among the training rows "
        "nearest to them, from low (0) to high (2):",
        "",
        _markdown(support[["kind", "support", "answers", "score", "good_labels", "kept"]]),
        "",
    ]
    path.with_suffix(".md").write_text("\n".join(text), encoding="utf-8")


#: Above this share a quantile says little.
SURE = 0.995


def _means(lines: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Mean of lines over answers, in groups."""
    names = ["kept", "good_labels", *UNITS]
    weighted = lines[names].multiply(lines["answers"], axis=0)
    sums = pd.concat([lines[by], weighted, lines["answers"]], axis=1).groupby(by).sum()
    return sums[names].div(sums["answers"], axis=0).join(sums["answers"]).reset_index()


def _setting(rungs: pd.DataFrame, unit: str) -> float:
    """Where a ladder reaches the share that is wanted; NaN where it does not."""
    kept = np.maximum.accumulate(rungs["kept"].to_numpy())
    if kept[-1] < WANTED:
        return float("nan")
    return float(np.interp(WANTED, kept, rungs[unit].to_numpy()))


def _wide(settings: pd.DataFrame, unit: str) -> pd.DataFrame:
    wide = settings.pivot_table(index=["kind", "library"], columns="n", values=unit)
    return wide.reset_index()


def _doubled(settings: pd.DataFrame, unit: str) -> dict[str, float]:
    wide = settings.pivot_table(index=["kind", "library"], columns="n", values=unit)
    times = (wide.to_numpy()[:, 1:] / wide.to_numpy()[:, :-1]).ravel()
    times = times[np.isfinite(times)]
    return {"median": np.median(times), "lowest": times.min(), "highest": times.max()}


def _growth(rungs: pd.DataFrame) -> pd.DataFrame:
    """Fit log z = a + g log n at each rung of each kind of table; mean and range of g."""
    rungs = rungs[(rungs["kept"] > 0.5) & (rungs["kept"] < SURE)]
    rungs = rungs.assign(z=np.log(norm.ppf(rungs["kept"])), size=np.log(rungs["n"]))
    found = []
    for (kind, library), some in rungs.groupby(["kind", "library"]):
        apart = some[["z", "size"]] - some.groupby("rung")[["z", "size"]].transform("mean")
        slope = (apart["z"] * apart["size"]).sum() / (apart["size"] ** 2).sum()
        found.append({"kind": kind, "library": library, "exponent": slope})
    return pd.DataFrame(found)


ABOUT_POCKETS = (
    "Made by `python -m experiments.promises.pockets` with robx {version}. Cost of answers that keep "
    "90 and 95 %, as a multiple of the search as it is, over {tables} tables: median, and the 10th "
    "and 90th percentile. Tables where a way does not keep as many are left out; `reached` is the "
    "share of tables where it does."
)


def pockets_page(path: Path) -> None:
    """Write the page beside the lines of three ways to search."""
    lines = pd.read_csv(path)
    key = ["kind", "library", "n", "seed"]
    first = lines[lines["way"] == "as it is"].set_index(key)
    found = []
    for way, some in lines.groupby("way", sort=False):
        for name in ("cost_at_0.9", "cost_at_0.95"):
            times = (some.set_index(key)[name] / first[name]).dropna()
            low, middle, high = times.quantile([0.1, 0.5, 0.9])
            found.append(
                {
                    "way": way,
                    "keeps": float(name.removeprefix("cost_at_")),
                    "median": middle,
                    "10 %": low,
                    "90 %": high,
                    "reached": float(some[name].notna().mean()),
                }
            )
    text = [
        "# Labels against pockets",
        "",
        ABOUT_POCKETS.format(version=__version__, tables=len(first)),
        "",
        _markdown(pd.DataFrame(found)),
        "",
    ]
    path.with_suffix(".md").write_text("\n".join(text), encoding="utf-8")

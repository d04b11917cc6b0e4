"""Evaluate the methods of the frontier, check, and write everything into a folder."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pandas as pd

from experiments import figures
from experiments.frontier import report
from experiments.frontier.checks import at_equal_validity, not_below
from experiments.frontier.expected import operating_points, rehearsed
from experiments.frontier.methods import Point, make, points
from experiments.frontier.resamples import curves
from experiments.frontier.spec import NAME, Change, Frontier
from experiments.peers import require_dice
from experiments.settings import CONTAMINATION, NAMES, code_key
from experiments.study import Data, make_study
from robx.evaluation import Cell, judged_cells
from robx.evaluation.table import tabulate
from robx.metrics import Outliers

__all__ = ["run", "wide"]

OUTLIERS = Outliers(contamination=CONTAMINATION, fitted_on="accepted")
SHOWN = ("validity", "cost_l1", "n_changes", "lof", "lof_raw", "coverage", "seconds", "tau")


def run(
    data: Data,
    spec: Frontier,
    out: Path,
    command: str,
    *,
    seeds: int,
    n_models: int,
    applicants: int | None = None,
    log: Path | None = None,
) -> None:
    """Make the frontier of a data set.

    Parameters
    ----------
    data : Data
    spec : Frontier
    out : path
        Folder for the results.
    command : str
        To be said on the page.
    seeds, n_models : int
        Base models, and new models for each.
    applicants : int, optional
        Fewer than the spec has.
    log : path, optional
        Where finished cells are kept.
    """
    require_dice()
    print(f"Results go to {out}.", flush=True)
    out.mkdir(parents=True, exist_ok=True)
    most = min(spec.applicants, applicants or spec.applicants)
    wanted, start = points(spec, data.name), time.perf_counter()
    cells: list[Cell] = []
    expected: dict[str, dict[str, float]] = {}
    for train, some in groupby(spec.scenarios.items(), key=lambda item: item[1].train):
        changes: dict[str, Change] = dict(some)
        study = make_study(data, train, spec.scaling, most)
        cells += judged_cells(
            study,
            {str(point): make(point, spec) for point in wanted},
            {name: change.scenario(data.name) for name, change in changes.items()},
            seeds=seeds,
            n_models=n_models,
            outliers=OUTLIERS,
            log=log,
            key=code_key(),
        )
        start = _said(f"{data.name}: answers, models of {', '.join(changes)}", start)
        for name, change in changes.items():
            expected[name] = rehearsed(study, spec, change, data.name, range(seeds))
        start = _said(f"{data.name}: rehearsals of {', '.join(changes)}", start)

    table = wide(cells, wanted, list(spec.scenarios))
    drawn = {
        name: curves([cell for cell in cells if cell.scenario == name], wanted)
        for name in spec.scenarios
    }
    equal = [
        at_equal_validity(name, drawn[name], base, goal, seeds)
        for name in spec.scenarios
        for base in spec.bases
        for goal in spec.goals
    ]
    below = [one for name in spec.scenarios for one in not_below(name, drawn[name])]
    start = _said(f"{data.name}: curves and checks", start)

    made = report.Made(data.name, command, seeds, n_models, most)
    table.to_csv(out / f"{NAME}.csv", index=False, float_format="%.6g")
    report.equal_table(equal).to_csv(
        out / f"{NAME}-equal-validity.csv", index=False, float_format="%.6g"
    )
    report.below_table(below).to_csv(
        out / f"{NAME}-not-below.csv", index=False, float_format="%.6g"
    )
    page = report.page(spec, made, table, equal, below, operating_points(table, spec, expected))
    (out / f"{NAME}.md").write_text(page, encoding="utf-8")
    title = f"{NAMES[data.name]}: {spec.title}"
    figures.frontier(table, title, out / f"{NAME}.png")
    _said(f"{data.name}: pages and plots", start)


def _said(what: str, start: float) -> float:
    now = time.perf_counter()
    print(f"{what}: {now - start:.0f} s", flush=True)
    return now


def wide(cells: Sequence[Cell], wanted: Sequence[Point], scenarios: Sequence[str]) -> pd.DataFrame:
    """Make a line of each point under each scenario, all base models together.

    Returns
    -------
    DataFrame
        ``scenario``, ``method``, ``knob``, ``validity`` with ``low`` and ``high``, and the other
        figures.
    """
    by_name = {str(point): point for point in wanted}
    long = tabulate(cells, list(by_name), list(scenarios), common=False)
    long = long[(long["seed"] == "all") & long["metric"].isin(SHOWN)]
    ends = long[long["metric"] == "validity"].set_index(["scenario", "method"])[["low", "high"]]
    values = long.pivot_table(
        index=["scenario", "method"], columns="metric", values="value", sort=False, dropna=False
    )
    table = values.join(ends).reindex(columns=[SHOWN[0], "low", "high", *SHOWN[1:]]).reset_index()
    asked = [by_name[name] for name in table["method"]]
    table["method"] = [point.curve for point in asked]
    table.insert(2, "knob", [point.knob for point in asked])
    return table.astype({"knob": "float64"})

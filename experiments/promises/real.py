"""Promised against came, and at what cost, on real data; other methods under the same promise.

    python -m experiments.promises.real --seconds 1800 --data german adult
    python -m experiments.promises.real --seconds 1800 --data heloc --heloc heloc_dataset_v1.csv

First every method answers at every setting of its dial (curves.csv); then methods are rehearsed,
all in the same way: the tau or score of each is chosen for the promise (real.csv). Lines that are
there already are not made again, so that runs add up.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone

import robx
from experiments.betarce import BetaRce
from experiments.peers import Nice
from experiments.promises.lines import extend
from experiments.promises.measured import (
    LEAST_ANSWERED,
    estimator,
    frontier,
    least,
    measure,
)
from experiments.promises.page import markdown, write_page
from experiments.promises.simulated import RESULTS
from robx import __version__
from robx.explainer.fitting import share_of_searching
from robx.scenarios import Bootstrap, DropRows, OtherHalf, Scenario

#: Rows that the model is trained on, and rows from which people are taken.
SIZES = {"german": 350, "heloc": 3000, "adult": 4000}
N_POOL = 200
CHANGES: dict[str, Scenario] = {
    "new rows": OtherHalf(),
    "bootstrap": Bootstrap(),
    "dropped rows": DropRows(50),
}
METHODS: dict[str, robx.Method] = {
    "Frugal": robx.Frugal(),
    "Frugal without realism": robx.Frugal(realism=None),
    "RobX": robx.RobX(),
    "Nearest neighbour": robx.NearestNeighbour(),
    "Feature Tweaking": robx.FeatureTweaking(),
    "Live region": robx.LiveRegion(),
    "NICE": Nice(),
    "BetaRCE": BetaRce(),
}
#: Those that are rehearsed unless told otherwise.
REHEARSED = ("Frugal", "RobX")
KEEPS, EASIER = (0.95,), 0.9
N_SPLITS, N_PEOPLE, N_NEW = 7, 60, 12
#: Models that a method searches with, where it does.
N_SEARCHING = {"Frugal": 16, "Frugal without realism": 16, "BetaRCE": 64}
CELL = ["data", "library", "change", "split"]
KEY = [*CELL, "method"]
ABOUT = (
    "Made by `python -m experiments.promises.real` with robx {version}. The tau or score of every "
    "method was chosen for the promise by the same rehearsal. {n_new} new models judge; those of "
    "new rows are trained on as many random rows that are neither the model's nor those of the "
    "people who are answered. On German Credit, where 450 rows are left, they share many of them. "
    "`came` is the share of ok answers that they accept, mean over splits with the lowest and "
    "highest split; `cost` and `changes` are means over those who are ok, and `seconds` is what "
    "the rehearsal and the training of models took on one core."
)
ABOUT_EQUAL = (
    "L1 cost where new models keep {share:.0%} of the answers, on the line through the settings of "
    "each method at which at least {least:.0%} of the people are answered, at its cheapest place; "
    "it is known only afterwards. Each method's cost is over the people whom it answers. Means "
    "over splits where some setting keeps as many; in brackets how many these are, if not all."
)


def load(name: str, heloc: str | None) -> tuple[pd.DataFrame, pd.Series, robx.Schema]:
    """Load a data set as numbers, with the schema of a bank."""
    if name == "german":
        found: Any = robx.datasets.load_german()
    elif name == "adult":
        found = robx.datasets.load_adult("codes")
    else:
        found = robx.datasets.load_heloc(heloc)
    return found.X, found.y, found.schema


class Case(NamedTuple):
    """A split: what the model is trained on, who is answered, and the models that judge."""

    X: pd.DataFrame
    y: pd.Series
    schema: robx.Schema
    people: pd.DataFrame
    new_models: list[Any]

    @classmethod
    def of(cls, data: Any, name: str, library: str, change: str, split: int) -> Case:
        """Split rows: for the model, for people, and for new models."""
        X, y, schema = data
        n, rng = SIZES[name], np.random.default_rng([split, 17])
        order = rng.permutation(len(X))
        own, pool, rest = order[:n], order[n : n + N_POOL], order[n + N_POOL :]
        X_own, y_own = X.iloc[own].reset_index(drop=True), y.iloc[own].reset_index(drop=True)
        if change == "new rows":
            parts = [rng.choice(rest, n, replace=False) for _ in range(N_NEW)]
            new = [clone(estimator(library)).fit(X.iloc[rows], y.iloc[rows]) for rows in parts]
        else:
            made = CHANGES[change].models(estimator(library), X_own, y_own, N_NEW, 1000 + split)
            new = list(made)
        model = clone(estimator(library)).fit(X_own, y_own)
        people = X.iloc[pool]
        people = people[model.predict_proba(people)[:, 1] <= 0.5].iloc[:N_PEOPLE]
        return cls(X_own, y_own, schema, people, new)


def one(
    data: Any,
    name: str,
    library: str,
    change: str,
    split: int,
    method: str,
    *,
    keeps: Sequence[float] = KEEPS,
) -> list[Any]:
    """Promise on one split, and ask new models about the answers."""
    case = Case.of(data, name, library, change, split)
    lines = measure(
        library,
        case.X,
        case.y,
        case.people,
        case.new_models,
        keeps=keeps,
        method=METHODS[method],
        change=CHANGES[change],
        schema=case.schema,
        seed=split,
    )
    named = dict(zip(KEY, (name, library, change, split, method), strict=True))
    return [{**named, **line} for line in lines]


def curve(
    data: Any, name: str, library: str, change: str, split: int, method: str
) -> list[dict[Any, Any]]:
    """Answer at every setting of a method, on one split."""
    case = Case.of(data, name, library, change, split)
    model = clone(estimator(library)).fit(case.X, case.y)
    problem = robx.Problem(model, case.X, case.schema)
    turned: Any = METHODS[method]
    if method in N_SEARCHING:
        n = N_SEARCHING[method]
        later = robx.retrainings(estimator(library), case.X, case.y, n, seed=split)
        turned = replace(turned, models=tuple(later))
    if isinstance(turned, robx.Frugal):
        turned = replace(turned, min_accepting=share_of_searching(KEEPS[0]))
    found = frontier(problem, turned, case.people, case.new_models)
    named: dict[str, Any] = dict(zip(KEY, (name, library, change, split, method), strict=True))
    return found.assign(**named).to_dict("records")


def real_page(path: Path) -> None:
    """Write the page beside the lines of real data sets."""
    lines, at_settings = pd.read_csv(path), pd.read_csv(path.with_name("curves.csv"))
    by = ["asked", "change", "data", "library"]
    kept = lines.dropna(subset=["asked"]).groupby([*by, "method"], sort=False)
    table = kept.agg(
        splits=("split", "nunique"),
        promised=("promised", "mean"),
        came=("came", "mean"),
        lowest=("came", "min"),
        highest=("came", "max"),
        ok=("ok", "mean"),
        cost=("cost", "mean"),
        changes=("n_changes", "mean"),
        seconds=("fit_seconds", "median"),
    )
    equal, easier = at_equal_validity(at_settings), at_equal_validity(at_settings, EASIER)
    write_page(
        path,
        "# Promised against came, on real data",
        ABOUT.format(version=__version__, n_new=N_NEW),
        "## Promised and came",
        markdown(table.reset_index()),
        "## Cost at equal validity",
        ABOUT_EQUAL.format(share=KEEPS[0], least=LEAST_ANSWERED),
        markdown(_by_method(equal, "cost")),
        f"## Cost where {EASIER:.0%} are kept",
        markdown(_by_method(easier, "cost")),
        "## Changes at equal validity",
        markdown(_by_method(equal, "changes")),
        "## Beside RobX",
        "At equal validity, split by split; of splits where both reach it.",
        markdown(beside(equal, "RobX")),
        "## Without a promise",
        "Methods with their default settings; Frugal at level 0.7, as before there were promises.",
        markdown(_without(at_settings)),
    )


def at_equal_validity(lines: pd.DataFrame, share: float = KEEPS[0]) -> pd.DataFrame:
    """Give the least cost at which a share is kept: a line for each split and method."""
    found = []
    for key, curve in lines.groupby([*CELL, "method"], sort=False):
        found.append({**dict(zip([*CELL, "method"], key, strict=True)), **least(curve, share)})
    return pd.DataFrame(found)


def _by_method(lines: pd.DataFrame, what: str) -> pd.DataFrame:
    """Means over splits, methods side by side."""
    cells = lines.groupby(["change", "data", "library", "method"], sort=False)[what]

    def said(values: Any) -> str:
        n, reached = len(values), int(values.notna().sum())
        if not reached:
            return "not reached"
        return f"{values.mean():.2f}{f' ({reached} of {n})' if reached < n else ''}"

    wide: pd.DataFrame = cells.agg(said).unstack("method")  # noqa: PD010
    return wide[[name for name in METHODS if name in wide]].reset_index()


def beside(lines: pd.DataFrame, other: str) -> pd.DataFrame:
    """Cost and changes at equal validity as a multiple of another method's, split by split."""
    theirs = lines[lines["method"] == other].set_index(CELL)
    found = []
    for key, some in lines.groupby(["change", "data", "library", "method"], sort=False):
        mine = some.set_index(CELL)
        times = (mine["cost"] / theirs["cost"]).reindex(mine.index).dropna()
        changes = (mine["changes"] / theirs["changes"]).reindex(mine.index).dropna()
        found.append(
            {
                **dict(zip(["change", "data", "library", "method"], key, strict=True)),
                "splits": f"{len(times)} of {len(mine)}",
                "cost": times.mean(),
                "lowest": times.min(),
                "highest": times.max(),
                "changes": changes.mean(),
            }
        )
    return pd.DataFrame(found)


def as_they_come(lines: pd.DataFrame) -> pd.DataFrame:
    """Methods with their default settings, without a promise."""
    return lines[lines["value"].isna()]


def _without(lines: pd.DataFrame) -> pd.DataFrame:
    means = as_they_come(lines).groupby(["change", "data", "library", "method"], sort=False)
    return means[["came", "ok", "cost", "changes"]].mean().reset_index()


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--data", nargs="*", default=["german", "adult"], choices=list(SIZES))
    parser.add_argument("--heloc", help="file of HELOC, which is not included")
    parser.add_argument("--libraries", nargs="*", default=["xgboost", "lightgbm"])
    parser.add_argument("--changes", nargs="*", default=["new rows"])
    parser.add_argument("--methods", nargs="*", default=list(REHEARSED))
    parser.add_argument("--curves", nargs="*", default=[m for m in METHODS if m != "BetaRCE"])
    parser.add_argument("--keeps", type=float, nargs="*", default=list(KEEPS))
    parser.add_argument("--splits", type=int, nargs="*", default=list(range(N_SPLITS)))
    parser.add_argument("--only", choices=["curves", "promises", "page"])
    parser.add_argument("--out", type=Path, default=RESULTS / "real.csv")
    told = parser.parse_args()
    tables = {} if told.only == "page" else {n: load(n, told.heloc) for n in told.data}

    def along(name: str, *cell: Any) -> list[Any]:
        return curve(tables[name], name, *cell)

    def make(name: str, *cell: Any) -> list[Any]:
        return one(tables[name], name, *cell, keeps=told.keeps)

    splits = list(product(told.splits, told.changes, told.data, told.libraries))
    cells = [(data, library, change, split) for split, change, data, library in splits]
    if told.only in {None, "curves"}:
        each = ((*cell, method) for cell in cells for method in told.curves)
        extend(told.out.with_name("curves.csv"), KEY, each, along, told.seconds)
    if told.only in {None, "promises"}:
        each = ((*cell, method) for cell in cells for method in told.methods)
        extend(told.out, KEY, each, make, told.seconds)
    if told.only in {None, "page"}:
        real_page(told.out)


if __name__ == "__main__":
    main()

"""Promised against came, and at what cost, on real data; other methods under the same promise.

    python -m experiments.promises.real --seconds 1800 --data german adult
    python -m experiments.promises.real --seconds 1800 --data heloc --heloc heloc_dataset_v1.csv

Every method is rehearsed in the same way: its own tau or score is chosen for the promise. Lines
that are there already are not made again, so that runs add up.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

import robx
from experiments.betarce import BetaRce
from experiments.peers import Nice
from experiments.promises.lines import extend
from experiments.promises.measured import LIBRARIES, estimator, measure
from experiments.promises.page import markdown, write_page
from experiments.promises.simulated import RESULTS
from robx import __version__
from robx.scenarios import Bootstrap, DropRows, OtherHalf, Scenario

#: Rows that the model is trained on: others are left for new models and for people.
SIZES = {"german": 450, "heloc": 3500, "adult": 4000}
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
KEEPS = (0.95,)
N_SPLITS, N_PEOPLE, MOST_NEW = 7, 60, 12
KEY = ["data", "library", "change", "method", "split"]
ABOUT = (
    "Made by `python -m experiments.promises.real` with robx {version}. The tau or score of every "
    "method was chosen for the promise by the same rehearsal. `came` is the share of ok answers "
    "that new models accept, mean over splits with the lowest and highest split; `cost` and "
    "`changes` are means over those who are ok."
)
ABOUT_EQUAL = (
    "L1 cost at the cheapest setting of each method at which new models keep as many answers as "
    "were asked for. That setting is known only afterwards. Means over the splits where some "
    "setting does; in brackets how many these are, if not all."
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


def one(
    data: Any,
    name: str,
    library: str,
    change: str,
    method: str,
    split: int,
    *,
    keeps: Sequence[float] = KEEPS,
) -> list[Any]:
    """Promise on one split, and ask new models about the answers."""
    X, y, schema = data
    n = SIZES[name]
    order = np.random.default_rng([split, 17]).permutation(len(X))
    train, others = order[:n], order[n:]
    if change == "new rows":
        parts = [others[k : k + n] for k in range(0, len(others) - n + 1, n)][:MOST_NEW]
        new_models = [clone(estimator(library)).fit(X.iloc[rows], y.iloc[rows]) for rows in parts]
    else:
        scenario = CHANGES[change]
        new_models = [
            *scenario.models(
                estimator(library), X.iloc[train], y.iloc[train], MOST_NEW, seed=1000 + split
            )
        ]
    model = clone(estimator(library)).fit(X.iloc[train], y.iloc[train])
    people = X.iloc[others]
    people = people[model.predict_proba(people)[:, 1] <= 0.5].iloc[:N_PEOPLE]
    lines = measure(
        library,
        X.iloc[train].reset_index(drop=True),
        y.iloc[train].reset_index(drop=True),
        people,
        new_models,
        keeps=keeps,
        method=METHODS[method],
        change=CHANGES[change],
        schema=schema,
        seed=split,
    )
    named = dict(zip(KEY, (name, library, change, method, split), strict=True))
    return [{**named, "n": n, "new_models": len(new_models), **line} for line in lines]


def real_page(path: Path) -> None:
    """Write the page beside the lines of real data sets."""
    lines = pd.read_csv(path)
    by = ["asked", "change", "data", "library"]
    promised = lines.dropna(subset=["asked"])
    kept = promised.groupby([*by, "method"], sort=False).agg(
        splits=("split", "nunique"),
        promised=("promised", "mean"),
        came=("came", "mean"),
        lowest=("came", "min"),
        highest=("came", "max"),
        ok=("ok", "mean"),
        cost=("cost", "mean"),
        changes=("n_changes", "mean"),
    )
    write_page(
        path,
        "# Promised against came, on real data",
        ABOUT.format(version=__version__),
        "## Promised and came",
        markdown(kept.reset_index()),
        "## Cost at equal validity",
        ABOUT_EQUAL,
        markdown(_by_method(promised, by, "cost_at_asked")),
        "## Changes at equal validity",
        markdown(_by_method(promised, by, "changes_at_asked")),
        "## Beside RobX",
        "At equal validity, split by split; of splits where both reach it.",
        markdown(beside_robx(promised)),
        "## Without a promise",
        "The default method at level 0.7, as it was before there were promises.",
        markdown(_without(lines)),
    )


def _by_method(lines: pd.DataFrame, by: list[str], what: str) -> pd.DataFrame:
    """Means over splits, methods side by side."""
    cells = lines.groupby([*by, "method"], sort=False)[what]

    def said(values: Any) -> str:
        n, reached = len(values), int(values.notna().sum())
        return f"{values.mean():.2f}{f' ({reached} of {n})' if reached < n else ''}"

    wide = cells.agg(said).unstack("method")  # noqa: PD010
    return wide[[name for name in METHODS if name in wide]].reset_index()


def beside_robx(lines: pd.DataFrame) -> pd.DataFrame:
    """Cost and changes at equal validity as a share of RobX's, split by split."""
    by = ["asked", "change", "data", "library"]
    key = [*by, "split"]
    robx_lines = lines[lines["method"] == "RobX"].set_index(key)
    found = []
    for (*cell, method), some in lines.groupby([*by, "method"], sort=False):
        mine = some.set_index(key)
        times = (mine["cost_at_asked"] / robx_lines["cost_at_asked"]).dropna()
        changes = (mine["changes_at_asked"] / robx_lines["changes_at_asked"]).dropna()
        found.append(
            {
                **dict(zip(by, cell, strict=True)),
                "method": method,
                "splits": len(times),
                "cost": times.mean(),
                "lowest": times.min(),
                "highest": times.max(),
                "changes": changes.mean(),
            }
        )
    return pd.DataFrame(found)


def _without(lines: pd.DataFrame) -> pd.DataFrame:
    level = lines[lines["asked"].isna() & lines["method"].str.startswith("Frugal")]
    means = level.groupby(["change", "data", "library", "method"], sort=False)
    return means[["came", "judges", "ok", "cost", "n_changes"]].mean().reset_index()


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--data", nargs="*", default=["german", "adult"], choices=list(SIZES))
    parser.add_argument("--heloc", help="file of HELOC, which is not included")
    parser.add_argument("--libraries", nargs="*", default=list(LIBRARIES))
    parser.add_argument("--changes", nargs="*", default=list(CHANGES))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument(
        "--keeps", type=float, nargs="*", default=list(KEEPS), help="0.99 takes three times as long"
    )
    parser.add_argument("--splits", type=int, nargs="*", default=list(range(N_SPLITS)))
    parser.add_argument("--out", type=Path, default=RESULTS / "real.csv")
    parser.add_argument("--page", action="store_true", help="write the page alone")
    told = parser.parse_args()
    if told.page:
        real_page(told.out)
        return
    tables = {name: load(name, told.heloc) for name in told.data}
    orders = product(told.splits, told.changes, told.data, told.libraries, told.methods)
    cells = ((name, library, change, m, split) for split, change, name, library, m in orders)

    def make(name: str, *cell: Any) -> list[Any]:
        return one(tables[name], name, *cell, keeps=told.keeps)

    extend(told.out, KEY, cells, make, told.seconds)
    real_page(told.out)


if __name__ == "__main__":
    main()

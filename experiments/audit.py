"""An audit of recourse under many kinds of model change: the tree edition.

    python -m experiments.audit --seconds 3600 --heloc heloc_dataset_v1.csv
    python -m experiments.audit --page

For each data set and library, base models of several seeds; for each of them the declined
applicants are answered by every method, and 200 changed models of ten kinds judge. Finished base
models are kept in the file of results and not done again, so that runs add up.

A method of yours joins by one line: see `METHODS`, and "Put your method into the audit" in the
documentation.
"""

from __future__ import annotations

import argparse
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

import robx
from experiments.peers import Nice
from experiments.promises.lines import extend
from experiments.promises.measured import estimator
from experiments.promises.page import markdown, write_page
from experiments.promises.real import load
from robx import __version__
from robx.scenarios import (
    Bootstrap,
    DropRows,
    Hyperparameter,
    LabelFlips,
    MoreData,
    NewSeed,
    OtherHalf,
    OtherLibrary,
    Scenario,
)

RESULTS = Path(__file__).parent / "results" / "audit.csv"
DATA, LIBRARIES = ("german", "heloc", "adult"), ("xgboost", "lightgbm", "forest")
#: Rows of each data set that are used, people who are answered, base models and changed models.
N_ROWS, N_PEOPLE, N_SEEDS, N_MODELS = 4000, 60, 5, 20
#: What a hyperparameter may become, by library.
SETTINGS: dict[str, dict[str, list[Any]]] = {
    "xgboost": {"max_depth": [3, 5, 6], "n_estimators": [60, 150], "learning_rate": [0.05, 0.2]},
    "lightgbm": {"num_leaves": [15, 63], "n_estimators": [60, 150], "learning_rate": [0.05, 0.2]},
    "forest": {"min_samples_leaf": [1, 5, 10], "n_estimators": [50, 200], "max_depth": [8, 12]},
}
METRICS = ("coverage", "base_validity", "validity", "end_to_end", "cost_l1", "n_changes")
KEY = ["data", "library", "seed"]
ABOUT = (
    "Made by `python -m experiments.audit` with robx {version}: {bases} base models, {models} "
    "changed models for each kind of change. Models draw rows and columns, so that another seed is "
    "another model. Frugal was rehearsed to keep 95 % on new rows; the other methods have their "
    "default settings. *Coverage* is the share of applicants with an answer, *robust* the share of "
    "these answers that changed models accept, and *end to end* the share of all applicants whose "
    "answer they accept. Means over changes, with the lowest and highest base model."
)


def with_a_promise(rehearsal: robx.Rehearsal) -> robx.Method:
    """Frugal with a promise of 95 %, rehearsed on the base model's rows."""
    made = robx.Explainer(
        rehearsal.problem.model,
        rehearsal.X,
        rehearsal.y,
        schema=rehearsal.problem.schema,
        estimator=rehearsal.estimator,
        n_models=48,  # of which 16 search, as by default
        seed=1000 + rehearsal.seed,  # changed models are drawn by others
    )
    return made.method


#: A method of yours is one more line: a `Method`, a function of (problem, applicants) that returns
#: a table of points, or a function from a `Rehearsal` to one of these.
METHODS: dict[str, Any] = {
    "Frugal, keep=0.95": with_a_promise,
    "RobX": robx.RobX(),
    "Conservative": robx.Conservative(),
    "Nearest neighbour": robx.NearestNeighbour(),
    "Live region": robx.LiveRegion(),
    "Feature Tweaking": robx.FeatureTweaking(),
    "NICE": Nice(),
}


def drawing(library: str) -> Any:
    """Make a classifier that draws rows and columns, so that its seed matters."""
    made = estimator(library)
    names = made.get_params()
    drawn = {"subsample": 0.8, "subsample_freq": 1, "colsample_bytree": 0.8}
    return made.set_params(**{name: value for name, value in drawn.items() if name in names})


def changes(library: str, n: int) -> dict[str, Scenario]:
    """Ten kinds of change of a model on n rows."""
    others = [drawing(name) for name in LIBRARIES if name != library]
    return {
        "seed": NewSeed(),
        "bootstrap": Bootstrap(),
        "1 % of rows deleted": DropRows(max(n // 100, 1)),
        "5 % of rows deleted": DropRows(max(n // 20, 1)),
        "10 % of rows deleted": DropRows(max(n // 10, 1)),
        "2 % of labels flipped": LabelFlips(0.02),
        "other settings": Hyperparameter(SETTINGS[library]),
        "other library": OtherLibrary(others),
        "new rows": OtherHalf(),
        "rows added": MoreData(first=0.7),
    }


def one(tables: dict[str, Any], data: str, library: str, seed: int) -> list[dict[Any, Any]]:
    """Audit one base model; a line for each method, change and metric."""
    X, y, schema = tables[data]
    rows = pd.Series(range(len(X))).sample(min(len(X), N_ROWS), random_state=0)
    study = robx.Study(
        drawing(library),
        X.iloc[rows].reset_index(drop=True),
        y.iloc[rows].reset_index(drop=True),
        schema=schema,
        max_applicants=N_PEOPLE,
    )
    n_train = round((1 - study.test) * len(rows))
    found = robx.evaluate(
        study, METHODS, changes(library, n_train), seeds=[seed], n_models=N_MODELS, progress=False
    )
    found = found[(found["seed"] != "all") & found["metric"].isin(METRICS)]
    wide = found.pivot_table(index=["scenario", "method"], columns="metric", values="value")
    return wide.reset_index().assign(data=data, library=library, seed=seed).to_dict("records")


def page(path: Path) -> None:
    """Write the page beside the lines."""
    lines = pd.read_csv(path)
    bases = len(lines.drop_duplicates(KEY))

    def said(shares: Any) -> str:
        low, high = 100 * shares.min(), 100 * shares.max()
        return f"{100 * shares.mean():.0f} % [{low:.0f}, {high:.0f}]"

    by_base = lines.groupby([*KEY, "method"], sort=False)[list(METRICS)].mean().reset_index()
    overall = by_base.groupby("method", sort=False).agg(
        coverage=("coverage", said),
        robust=("validity", said),
        end_to_end=("end_to_end", said),
        cost=("cost_l1", "mean"),
        changes=("n_changes", "mean"),
    )
    order = [name for name in METHODS if name in overall.index]
    tables = {
        what: lines.pivot_table(index="scenario", columns="method", values=what, sort=False)[order]
        for what in ("validity", "end_to_end")
    }
    cells = lines.pivot_table(
        index=["data", "library"], columns="method", values="end_to_end", sort=False
    )
    write_page(
        path,
        "# An audit under many kinds of model change",
        ABOUT.format(version=__version__, bases=bases, models=N_MODELS),
        "## All changes",
        markdown(overall.loc[order].reset_index()),
        "## Robust, by change",
        markdown(tables["validity"].reset_index()),
        "## End to end, by change",
        markdown(tables["end_to_end"].reset_index()),
        "## End to end, by data set and library",
        markdown(cells[order].reset_index()),
    )


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--data", nargs="*", default=["german", "adult"], choices=list(DATA))
    parser.add_argument("--heloc", help="file of HELOC, which is not included")
    parser.add_argument("--libraries", nargs="*", default=list(LIBRARIES))
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--page", action="store_true", help="write the page alone")
    told = parser.parse_args()
    if not told.page:
        names = [*told.data, *(["heloc"] if told.heloc and "heloc" not in told.data else [])]
        tables = {name: load(name, told.heloc) for name in names}
        orders = product(range(N_SEEDS), names, told.libraries)
        cells = ((data, library, seed) for seed, data, library in orders)
        extend(told.out, KEY, cells, partial(one, tables), told.seconds)
    page(told.out)


if __name__ == "__main__":
    main()

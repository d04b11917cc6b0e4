"""Whether labels help to keep answers out of pockets that only the model believes in.

    python -m experiments.promises.pockets --seconds 600

Three ways to search are compared at equal validity: as it is; starting only from accepted rows
whose own label is good; and with eight forests of large leaves, which are little more than shares
of good labels, beside the 16 searching models.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier

import robx
from experiments.promises.lines import extend
from experiments.promises.measured import estimator, frontier
from experiments.promises.page import markdown, write_page
from experiments.promises.simulated import RESULTS
from experiments.promises.truths import KINDS, make_truth
from robx import __version__
from robx.explainer.fitting import share_of_searching
from robx.scenarios import Subsample

SIZES, LIBRARIES = (500, 2000), ("xgboost", "lightgbm")
N_TABLES, N_PEOPLE, N_JUDGES, N_SEARCHING, N_FORESTS = 6, 30, 8, 16, 8
KEEPS = (0.9, 0.95)
COSTS = tuple(f"cost_at_{keep:g}" for keep in KEEPS)
KEY = ["kind", "library", "n", "seed"]
ABOUT = (
    "Made by `python -m experiments.promises.pockets` with robx {version}. Cost of answers that "
    "keep 90 and 95 %, as a multiple of the search as it is, over {tables} tables: median, and the "
    "10th and 90th percentile. Tables where a way does not keep as many are left out; `reached` is "
    "the share of tables where it does."
)


def one(kind: str, library: str, n: int, seed: int) -> list[dict[str, Any]]:
    """Search in three ways; a line for each with what 90 and 95 % cost."""
    rng = np.random.default_rng([seed, KINDS.index(kind), 77])
    truth = make_truth(kind, rng)
    X, y = truth.draw(n, rng)
    model = clone(estimator(library)).fit(X, y)
    models = [*Subsample(1 / 3).models(estimator(library), X, y, N_SEARCHING, seed=seed)]
    leaf = max(5, round(n**0.5 / 2))
    forests = [
        ExtraTreesClassifier(25, min_samples_leaf=leaf, max_features=None, random_state=k).fit(X, y)
        for k in range(N_FORESTS)
    ]
    judges = [clone(estimator(library)).fit(*truth.draw(n, rng)) for _ in range(N_JUDGES)]
    people, _ = truth.draw(8 * N_PEOPLE, rng)
    people = people[model.predict_proba(people)[:, 1] <= 0.5][:N_PEOPLE]
    confirmed = (model.predict_proba(X)[:, 1] <= 0.5) | (y == 1)
    share, schema = share_of_searching(0.95), robx.Schema.infer(X)
    of_all = share * N_SEARCHING / (N_SEARCHING + N_FORESTS)  # forests need not accept
    ways: dict[str, tuple[Any, Sequence[Any], float]] = {
        "as it is": (X, models, share),
        "confirmed rows": (X[confirmed], models, share),
        "forests of labels": (X, [*models, *forests], of_all),
    }
    cell: dict[str, Any] = {"kind": kind, "library": library, "n": n, "seed": seed}
    lines = []
    for way, (rows, searching, least) in ways.items():
        problem = robx.Problem(model, rows, schema)
        method = robx.Frugal(models=tuple(searching), min_accepting=least)
        came, cost, _ = frontier(problem, method, people, judges)
        at = partial(np.interp, xp=came, fp=cost, right=np.nan)
        costs = {f"cost_at_{keep:g}": float(at(keep)) for keep in KEEPS}
        lines.append({**cell, "way": way, "most": came.max(initial=0.0), **costs})
    return lines


def pockets_page(path: Path) -> None:
    """Write the page beside the lines of three ways to search."""
    lines = pd.read_csv(path)
    found = []
    for way, some in lines.groupby("way", sort=False):
        for name in COSTS:
            times = times_of(lines, str(way), [name])
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
    write_page(
        path,
        "# Labels against pockets",
        ABOUT.format(version=__version__, tables=len(lines.drop_duplicates(KEY))),
        markdown(pd.DataFrame(found)),
    )


def times_of(lines: pd.DataFrame, way: str, costs: Sequence[str] = COSTS) -> pd.Series:
    """Give the cost of a way to search as a multiple of the search as it is, table by table."""
    by_way = lines.melt([*KEY, "way"], list(costs)).set_index([*KEY, "variable", "way"])["value"]
    wide = by_way.unstack("way")  # noqa: PD010
    return (wide[way] / wide["as it is"]).dropna()


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--out", type=Path, default=RESULTS / "pockets.csv")
    parser.add_argument("--page", action="store_true", help="write the page alone")
    told = parser.parse_args()
    if not told.page:
        cells = (
            (kind, library, n, seed)
            for seed, n, kind, library in product(range(N_TABLES), SIZES, KINDS, LIBRARIES)
        )
        extend(told.out, KEY, cells, one, told.seconds)
    pockets_page(told.out)


if __name__ == "__main__":
    main()

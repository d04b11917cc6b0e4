"""Promised against came on simulated data, where every new model has rows of its own.

    python -m experiments.promises.simulated --seconds 1800

Every line of the result is one data set; those that are there already are not made again, so that
runs add up. `--page` writes the page from the lines.
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

from experiments.promises.lines import extend
from experiments.promises.measured import LIBRARIES, estimator, measure
from experiments.promises.page import markdown, write_page
from experiments.promises.truths import KINDS, make_truth
from robx import __version__

RESULTS = Path(__file__).parents[1] / "results" / "promises"
SIZES = (300, 500, 2000, 10_000)
KEEPS = (0.95,)
N_NEW, N_PEOPLE, N_SETS = 30, 60, 10
KEY = ["kind", "n", "library", "seed"]
ABOUT = (
    "Made by `python -m experiments.promises.simulated` with robx {version}. Every data set has a "
    "truth of its own; new models are trained on fresh rows of it. `came` is the share of ok "
    "answers that they accept; `times` is the cost as a multiple of the cheapest setting that "
    "would have kept the promise, known only afterwards; `low_holds` is the share of answers whose "
    "own bound under new rows held."
)


def one(
    kind: str, n: int, library: str, seed: int, keeps: Sequence[float] = KEEPS
) -> list[dict[str, Any]]:
    """Draw a truth and a table, promise, and ask models of fresh tables."""
    rng = np.random.default_rng([seed, n, KINDS.index(kind)])
    truth = make_truth(kind, rng)
    X, y = truth.draw(n, rng)
    people, _ = truth.draw(4 * N_PEOPLE, rng)
    model = clone(estimator(library)).fit(X, y)
    people = people[model.predict_proba(people)[:, 1] <= 0.5][:N_PEOPLE]
    new_models = [clone(estimator(library)).fit(*truth.draw(n, rng)) for _ in range(N_NEW)]
    lines = measure(library, X, y, people, new_models, keeps=keeps, seed=seed)
    return [{"kind": kind, "n": n, "library": library, "seed": seed, **line} for line in lines]


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
    write_page(
        path,
        "# Promised against came, on simulated data",
        ABOUT.format(version=__version__),
        "## By size",
        overall.pipe(markdown),
        "Without a promise, at level 0.7:",
        before.reset_index().pipe(markdown),
        "## Every cell",
        table.pipe(markdown),
    )


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--libraries", nargs="*", default=list(LIBRARIES))
    parser.add_argument(
        "--keeps",
        type=float,
        nargs="*",
        default=list(KEEPS),
        help="each is rehearsed by itself; 0.99 takes three times as long",
    )
    parser.add_argument("--out", type=Path, default=RESULTS / "simulated.csv")
    parser.add_argument("--page", action="store_true", help="write the page alone")
    told = parser.parse_args()
    if told.page:
        simulated_page(told.out)
        return
    cells = (
        (kind, n, library, seed)
        for seed, n, kind, library in product(range(N_SETS), told.sizes, KINDS, told.libraries)
    )
    extend(told.out, KEY, cells, partial(one, keeps=told.keeps), told.seconds)
    simulated_page(told.out)


if __name__ == "__main__":
    main()

"""Promised against came on simulated data, where every new model has rows of its own.

    python -m experiments.promises.simulated --seconds 1800

Every line of the result is one data set; those that are there already are not made again, so that
runs add up. `--page` writes the page from the lines.
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

import robx
from experiments.promises.measured import LIBRARIES, estimator, measure
from experiments.promises.page import simulated_page
from experiments.promises.truths import KINDS, make_truth

RESULTS = Path(__file__).parents[1] / "results" / "promises"
SIZES = (300, 500, 2000, 10_000)
KEEPS = (0.90, 0.95)
#: A promise that is rehearsed for three times as long, and made on the first so many data sets.
RARE, N_RARE = 0.99, 2
N_NEW, N_PEOPLE, N_SETS = 30, 60, 10
KEY = ["kind", "n", "library", "seed"]


def one(kind: str, n: int, library: str, seed: int) -> list[dict[str, Any]]:
    """Draw a truth and a table, promise, and ask models of fresh tables."""
    rng = np.random.default_rng([seed, n, KINDS.index(kind)])
    truth = make_truth(kind, rng)
    X, y = truth.draw(n, rng)
    people, _ = truth.draw(4 * N_PEOPLE, rng)
    model = clone(estimator(library)).fit(X, y)
    people = people[model.predict_proba(people)[:, 1] <= 0.5][:N_PEOPLE]
    new_models = [clone(estimator(library)).fit(*truth.draw(n, rng)) for _ in range(N_NEW)]
    keeps = (*KEEPS, RARE) if seed < N_RARE else KEEPS
    lines = measure(library, X, y, people, new_models, keeps=keeps, seed=seed)
    return [{"kind": kind, "n": n, "library": library, "seed": seed, **line} for line in lines]


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--libraries", nargs="*", default=list(LIBRARIES))
    parser.add_argument("--out", type=Path, default=RESULTS / "simulated.csv")
    parser.add_argument("--page", action="store_true", help="write the page alone")
    told = parser.parse_args()
    if told.page:
        simulated_page(told.out)
        return
    warnings.simplefilter("ignore", robx.RobxWarning)
    told.out.parent.mkdir(parents=True, exist_ok=True)
    known = pd.read_csv(told.out) if told.out.exists() else pd.DataFrame(columns=KEY)
    have = set(known[KEY].itertuples(index=False, name=None))
    end = time.monotonic() + told.seconds
    for seed, n, kind, library in product(range(N_SETS), told.sizes, KINDS, told.libraries):
        if (kind, n, library, seed) in have:
            continue
        if time.monotonic() > end:
            break
        known = pd.concat([known, pd.DataFrame(one(kind, n, library, seed))], ignore_index=True)
        known.to_csv(told.out, index=False, float_format="%.5g")
        print(known.iloc[-3:, :].to_string(header=False), flush=True)
    simulated_page(told.out)


if __name__ == "__main__":
    main()

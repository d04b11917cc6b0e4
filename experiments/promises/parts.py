"""What carries over from part of the rows to all of them, and what labels tell beyond scores.

    python -m experiments.promises.parts --seconds 900

Tables of several sizes are drawn from one truth. At every rung of the ladder people are answered
as in a rehearsal, and models of fresh tables of the same size judge. If a setting that keeps 90 % of
the answers on a small table keeps as many on a larger one, it carries over. Settings are counted in
three units: the mean score of the searching models, its rank among the accepted rows, and its
distance from the threshold in standard deviations of these models.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

import robx
from experiments.promises.lines import extend
from experiments.promises.measured import estimator
from experiments.promises.page import parts_page
from experiments.promises.simulated import RESULTS
from experiments.promises.truths import KINDS, MOST, N_COLUMNS, make_truth
from robx.explainer.fitting import share_of_searching
from robx.rehearsal.dials import rungs
from robx.scenarios import Subsample

SIZES = (250, 500, 1000, 2000, 4000)
LIBRARIES = ("xgboost", "lightgbm")
N_TABLES, N_PEOPLE, N_JUDGES, N_SEARCHING = 4, 30, 8, 16
#: Whose labels are counted around an answer.
NEIGHBOURS = 15
KEY = ["kind", "library", "seed", "n"]


def one(kind: str, library: str, seed: int, n: int) -> list[dict[str, Any]]:
    """Answer at every rung, and judge; a line for each rung and third of the label support."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    truth = make_truth(kind, rng)
    rng = np.random.default_rng([seed, n, 5])
    X, y = truth.draw(n, rng)
    model = clone(estimator(library)).fit(X, y)
    models = tuple(Subsample(1 / 3).models(estimator(library), X, y, N_SEARCHING, seed=seed))
    judges = [clone(estimator(library)).fit(*truth.draw(n, rng)) for _ in range(N_JUDGES)]
    people, _ = truth.draw(8 * N_PEOPLE, rng)
    people = people[model.predict_proba(people)[:, 1] <= 0.5][:N_PEOPLE]
    problem = robx.Problem(model, X)
    near = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(_scaled(X))
    accepted = X[model.predict_proba(X)[:, 1] > 0.5]
    ranks = np.sort(_scores(models, accepted).mean(axis=0))
    method = robx.Frugal(models=models, min_accepting=share_of_searching(0.95))
    lines = []
    for value in rungs(problem.threshold):
        turned = robx.rehearsal.with_dial(method, float(value))
        answers = turned.explain(problem, people)
        points = answers.points[answers.ok]
        if not len(points):
            continue
        scores = _scores(models, points)
        kept = np.mean([judge.predict_proba(points)[:, 1] > 0.5 for judge in judges], axis=0)
        good = y[near.kneighbors(_scaled(points), return_distance=False)].mean(axis=1)
        third = np.searchsorted(np.quantile(good, [1 / 3, 2 / 3]), good)
        found = pd.DataFrame(
            {
                "support": third,
                "kept": kept,
                "score": scores.mean(axis=0),
                "rank": np.searchsorted(ranks, scores.mean(axis=0)) / max(len(ranks), 1),
                "deviations": (scores.mean(axis=0) - 0.5) / scores.std(axis=0, ddof=1),
                "good_labels": good,
            }
        )
        means = found.groupby("support").mean()
        sizes = found.groupby("support").size().rename("answers")
        for line in means.join(sizes).reset_index().to_dict("records"):
            cell = dict(zip(KEY, (kind, library, seed, n), strict=True))
            lines.append({**cell, "rung": float(value), **line})
    return lines


def _scores(models: Any, points: Any) -> np.ndarray:
    return np.array([model.predict_proba(points)[:, 1] for model in models])


def _scaled(X: np.ndarray) -> np.ndarray:
    scaled = X.copy()
    scaled[:, N_COLUMNS // 2 :] /= MOST
    return scaled


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--out", type=Path, default=RESULTS / "parts.csv")
    parser.add_argument("--page", action="store_true", help="write the page alone")
    told = parser.parse_args()
    if not told.page:
        cells = (
            (kind, library, seed, n)
            for seed, n, kind, library in product(range(N_TABLES), SIZES, KINDS, LIBRARIES)
        )
        extend(told.out, KEY, cells, one, told.seconds)
    parts_page(told.out)


if __name__ == "__main__":
    main()

"""What carries over from part of the rows to all of them, and what labels tell beyond scores.

    python -m experiments.promises.parts --seconds 900

Tables of several sizes are drawn from one truth. At every rung of the ladder people are answered
as in a rehearsal, and models of fresh tables of the same size judge. If a setting that keeps 90 %
of the answers on a small table keeps as many on a larger one, it carries over. Settings are counted
in three units: the mean score of the searching models, its rank among the accepted rows, and its
distance from the threshold in standard deviations of these models.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

import robx
from experiments.promises.lines import extend
from experiments.promises.measured import estimator
from experiments.promises.page import markdown, write_page
from experiments.promises.simulated import RESULTS
from experiments.promises.truths import KINDS, MOST, N_COLUMNS, make_truth
from robx import __version__
from robx.explainer.fitting import share_of_searching
from robx.rehearsal.dials import rungs
from robx.scenarios import Subsample

SIZES = (250, 500, 1000, 2000, 4000)
LIBRARIES = ("xgboost", "lightgbm")
N_TABLES, N_PEOPLE, N_JUDGES, N_SEARCHING = 4, 30, 8, 16
#: Whose labels are counted around an answer.
NEIGHBOURS = 15
KEY = ["kind", "library", "seed", "n"]
ABOUT = (
    "Made by `python -m experiments.promises.parts` with robx {version}: {tables} tables of each "
    "size from as many truths of each kind, answered at every rung of the ladder and judged by "
    "models of fresh tables of the same size."
)
#: The setting that keeps so much is looked for at every size.
WANTED, CARRIED = 0.9, (0.85, 0.9, 0.95)
UNITS = ("score", "rank", "deviations")
CELL = ["kind", "library", "n"]
#: Above this share a quantile says little.
SURE = 0.995


def one(kind: str, library: str, seed: int, n: int) -> list[dict[Any, Any]]:
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
    cell: dict[str, Any] = {"kind": kind, "library": library, "seed": seed, "n": n}
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
        lines.append(means.join(sizes).reset_index().assign(**cell, rung=float(value)))
    return pd.concat(lines).to_dict("records") if lines else []


def _scores(models: Any, points: Any) -> np.ndarray:
    return np.array([model.predict_proba(points)[:, 1] for model in models])


def _scaled(X: np.ndarray) -> np.ndarray:
    scaled = X.copy()
    scaled[:, N_COLUMNS // 2 :] /= MOST
    return scaled


def parts_page(path: Path) -> None:
    """Write the page beside the lines of tables of several sizes."""
    lines = pd.read_csv(path)
    settings, support = settings_of(lines), support_of(lines)
    moved = {unit: doubled(settings, unit) for unit in UNITS}
    write_page(
        path,
        "# From part of the rows to all of them",
        ABOUT.format(version=__version__, tables=lines["seed"].nunique()),
        f"## The setting that keeps {WANTED:.0%} of the answers",
        "In three units: the mean score of the searching models, its rank among the accepted rows, "
        "and its distance from the threshold in standard deviations of these models. Empty where "
        "no setting keeps as many.",
        *(part for unit in UNITS for part in (f"By {unit}:", markdown(_wide(settings, unit)))),
        "What the setting becomes when a table doubles, as a multiple of what it was; median and "
        "range over neighbouring sizes. A unit that carries over stays near 1, and one that is "
        "safe to carry over stays below it:",
        markdown(pd.DataFrame(moved.values(), index=list(moved)).reset_index(names="unit")),
        "## What is kept if it is carried over",
        "What is kept on a table of twice the size, if its answers have the same mean score as "
        "those that kept 85, 90 or 95 % on the table, the same rank, or what asks for more of "
        "both. Points by which that is more than was wanted, over kinds of tables and sizes.",
        markdown(
            carried_of(lines)
            .groupby(["library", "by"], sort=False)["points"]
            .agg(["mean", "min", "max"])
            .reset_index()
        ),
        "## What grows",
        "At one setting, the standard normal quantile of the share that is kept grows as a power "
        "of the number of rows; the exponent, fitted over the sizes of each kind of table at "
        f"settings that keep less than {SURE:.1%}:",
        markdown(growth_of(lines)),
        "## What labels tell beyond scores",
        "Answers of one setting in thirds, by the share of good labels among the training rows "
        "nearest to them, from low (0) to high (2):",
        markdown(support[["kind", "support", "answers", "score", "good_labels", "kept"]]),
    )


def settings_of(lines: pd.DataFrame) -> pd.DataFrame:
    """Give the setting that keeps what is wanted, in every unit, by kind of table and size."""
    by_kind = _means(lines, [*CELL, "rung"]).groupby(CELL)
    return pd.DataFrame({unit: by_kind.apply(_setting, unit) for unit in UNITS}).reset_index()


def support_of(lines: pd.DataFrame) -> pd.DataFrame:
    """Give what was kept in thirds of the answers by the labels around them."""
    return _means(lines, ["kind", "support"])


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


def doubled(settings: pd.DataFrame, unit: str) -> dict[str, float]:
    """Say what a setting becomes when a table doubles, as a multiple of what it was."""
    wide = settings.pivot_table(index=["kind", "library"], columns="n", values=unit)
    times = (wide.to_numpy()[:, 1:] / wide.to_numpy()[:, :-1]).ravel()
    times = times[np.isfinite(times)]
    return {"median": np.median(times), "lowest": times.min(), "highest": times.max()}


def carried_of(lines: pd.DataFrame) -> pd.DataFrame:
    """Use the settings of a table on one of twice its size: what more is kept there, in points."""
    rungs = _means(lines, [*CELL, "rung"])
    found = []
    for (kind, library), some in rungs.groupby(["kind", "library"]):
        for n, wanted in product(SIZES[:-1], CARRIED):
            small, large = (some[some["n"] == size].sort_values("rung") for size in (n, 2 * n))
            if small["kept"].max() < wanted:
                continue
            kept = small["kept"].cummax()
            score, rank = (np.interp(wanted, kept, small[unit]) for unit in ("score", "rank"))
            by_rank = np.interp(rank, large["rank"].cummax(), large["score"])
            ways = {"score": score, "rank": by_rank, "both": max(score, by_rank)}
            for by, setting in ways.items():
                came = np.interp(setting, large["score"], large["kept"].cummax())
                cell = {"kind": kind, "library": library, "n": n, "wanted": wanted}
                found.append({**cell, "by": by, "points": 100 * (came - wanted)})
    return pd.DataFrame(found)


def growth_of(lines: pd.DataFrame) -> pd.DataFrame:
    """Fit log z = a + g log n, with a for each rung: g for each kind of table and library."""
    rungs = _means(lines, [*CELL, "rung"])
    rungs = rungs[(rungs["kept"] > 0.5) & (rungs["kept"] < SURE)]
    rungs = rungs.assign(z=np.log(norm.ppf(rungs["kept"])), size=np.log(rungs["n"]))
    found = []
    for (kind, library), some in rungs.groupby(["kind", "library"]):
        apart = some[["z", "size"]] - some.groupby("rung")[["z", "size"]].transform("mean")
        slope = (apart["z"] * apart["size"]).sum() / (apart["size"] ** 2).sum()
        found.append({"kind": kind, "library": library, "exponent": slope})
    return pd.DataFrame(found)


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

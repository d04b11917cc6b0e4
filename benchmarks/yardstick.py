"""How far the search is from the proven optimum, at the same demand.

    python -m benchmarks.yardstick
    python -m benchmarks.yardstick --heloc heloc_dataset_v1.csv

The demand: the model and at least k of a panel of five retrained models accept, and nothing more.
`Closest(panel=..., at_least=k)` answers it with the cheapest point, and proves so; `Frugal` answers
it by its search, with no price for changes. Writes results/yardstick.csv and results/yardstick.md.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from xgboost import XGBClassifier

import robx

RESULTS = Path(__file__).parent / "results"
N_MODELS, N_PEOPLE, N_SPLITS = 5, 15, 3
SIZES = {"german": 600, "adult": 3000, "heloc": 3000}
MODELS: dict[str, Any] = {
    "XGBoost 50x3": XGBClassifier(n_estimators=50, max_depth=3, learning_rate=0.2, n_jobs=1),
    "LightGBM 50x8": LGBMClassifier(n_estimators=50, num_leaves=8, n_jobs=1, verbose=-1),
}
COLUMNS = (
    *("data", "model", "accepting", "people", "proven", "median", "90th percentile"),
    *("within a tenth", "without", "mean optimum", "seconds each"),
)
ABOUT = (
    "Made by `python -m benchmarks.yardstick` with robx {version}: {splits} splits, {people} "
    "declined people each. `accepting` is how many of five retrained models must accept, beside "
    "the model itself. `proven` is the share of optima that were proven in time; of them, "
    "the cost of `Frugal` as a multiple of the optimum: median, 90th percentile, and the share of "
    "people whose answer costs at most a tenth more. `without` is the median of a search that "
    "starts from rows alone (`sparse_starts=0`). Costs are in units of the columns' ranges."
)


def load(name: str, heloc: str | None) -> Any:
    """Load a data set as numbers."""
    if name == "german":
        return robx.datasets.load_german()
    return robx.datasets.load_adult("codes") if name == "adult" else robx.datasets.load_heloc(heloc)


def one(data: Any, name: str, model: str, at_least: int, split: int) -> list[dict[str, Any]]:
    """Answer the same people by both, at the same demand."""
    order = np.random.default_rng([split, 5]).permutation(len(data.X))
    rows, others = order[: SIZES[name]], order[SIZES[name] :]
    X, y = data.X.iloc[rows].reset_index(drop=True), data.y.iloc[rows].reset_index(drop=True)
    fitted = MODELS[model].fit(X, y)
    panel = list(robx.retrainings(fitted, X, y, N_MODELS, split))
    problem = robx.Problem(fitted, X, data.schema)
    people = data.X.iloc[others]
    people = people[problem.model.score(people) <= problem.threshold].iloc[:N_PEOPLE]
    frugal = robx.Frugal(
        models=panel,
        min_retrained_score=0.0,
        min_accepting=at_least / N_MODELS,
        realism=None,
        noise=robx.Noise(sigma=0.0),
        price_per_change=0.0,
    )
    methods = {
        "closest": robx.Closest(panel=panel, at_least=at_least),
        "frugal": frugal,
        "rows": robx.Frugal(**{**vars(frugal), "sparse_starts": 0}),
    }
    lines = pd.DataFrame(index=range(len(people)))
    for title, method in methods.items():
        began = time.perf_counter()
        answers = method.explain(problem, people)
        lines[f"{title}_seconds"] = (time.perf_counter() - began) / len(people)
        lines[title] = np.where(answers.ok, answers.cost, np.nan)
        if title == "closest":
            lines["bound"] = answers.measured["bound"]
    keys: dict[str, Any] = {"data": name, "model": model, "accepting": at_least, "split": split}
    return lines.assign(**keys).to_dict("records")  # type: ignore[return-value]


def cells(lines: pd.DataFrame) -> pd.DataFrame:
    """Compare with the optimum, for each data set, model and demand."""
    lines = lines.assign(proven=lines["bound"] >= lines["closest"] - 1e-6)
    sure = lines[lines["proven"] & lines["frugal"].notna() & (lines["closest"] > 0)]
    sure = sure.assign(
        times=sure["frugal"] / sure["closest"], without=sure["rows"] / sure["closest"]
    )
    keys = ["data", "model", "accepting"]
    found = sure.groupby(keys).agg(
        people=("times", "size"),
        median=("times", "median"),
        tenth=("times", lambda t: t.quantile(0.9)),
        within=("times", lambda t: (t <= 1.1).mean()),
        without=("without", "median"),
        optimum=("closest", "mean"),
        seconds=("closest_seconds", "mean"),
    )
    return found.assign(proven=lines.groupby(keys)["proven"].mean()).reset_index()


def page(lines: pd.DataFrame) -> str:
    """Lay out the results."""
    rows = [f"| {' | '.join(COLUMNS)} |", "| --- " * len(COLUMNS) + "|"]
    for f in cells(lines).itertuples():
        figures = (
            *(f"{f.people:.0f}", f"{f.proven:.0%}", f"{f.median:.3f}", f"{f.tenth:.2f}"),
            *(f"{f.within:.0%}", f"{f.without:.3f}", f"{f.optimum:.3f}", f"{f.seconds:.2f}"),
        )
        of_panel = f"{f.accepting} of {N_MODELS}"
        rows.append(f"| {f.data} | {f.model} | {of_panel} | {' | '.join(figures)} |")
    about = ABOUT.format(version=robx.__version__, splits=N_SPLITS, people=N_PEOPLE)
    return "\n".join(["# The search against the proven optimum", "", about, "", *rows, ""])


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heloc", help="file of HELOC, which is not included")
    told = parser.parse_args()
    lines: list[dict[str, Any]] = []
    for name in ("german", "adult", *(["heloc"] if told.heloc else [])):
        data = load(name, told.heloc)
        for split in range(N_SPLITS):
            for model in MODELS:
                for at_least in (4, 5):
                    lines += one(data, name, model, at_least, split)
                    print(name, model, at_least, split, flush=True)
    table = pd.DataFrame(lines)
    table.to_csv(RESULTS / "yardstick.csv", index=False, float_format="%.5g")
    (RESULTS / "yardstick.md").write_text(page(table), encoding="utf-8")


if __name__ == "__main__":
    main()

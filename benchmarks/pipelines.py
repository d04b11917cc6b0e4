"""A pipeline folded into its trees, beside the bare trees on encoded columns, and the black box.

The same trees three times: imported from the last step alone, with the columns that the pipeline
makes; folded, with the raw columns; and as a `BlackBox`, for which every row goes through the
pipeline itself. Asked for the stability of rows and for recourse. One thread; times are of the
processor, in milliseconds, as medians over rounds in which the three take turns.

    python -m benchmarks.pipelines [--small]

Results go to benchmarks/results/pipelines.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.common import Ratio, cpu_seconds, one_core
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

import robx

ROUNDS, N_DRAWS = 5, 256
OUT = Path(__file__).parent / "results" / "pipelines.md"


@dataclass
class Side:
    """One of the three ways to hold the same model, with its own table and applicants."""

    model: Any
    X: pd.DataFrame
    people: pd.DataFrame
    n_stable: int
    n_recourse: int

    def problem(self) -> robx.Problem:
        """Everything may change, and scales are those of the table."""
        return robx.Problem(self.model, self.X, robx.Schema.infer(self.X, protected=()))


def sides(n: int) -> dict[str, Side]:
    """Fit a pipeline on Adult, and take it in three ways."""
    X, y, _ = robx.datasets.load_adult()
    X, y, others = X[:n], y[:n], X[n : n + 4000]
    numbers = make_column_selector(dtype_include=np.number)
    labels = make_column_selector(dtype_include="category")
    prepare = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), labels),
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    trees = XGBClassifier(n_estimators=100, max_depth=4, learning_rate=0.1, n_jobs=1)
    pipeline = make_pipeline(prepare, trees).fit(X, y)
    people = others[pipeline.predict_proba(others)[:, 1] <= 0.5][:200].reset_index(drop=True)
    return {
        "bare": Side(trees, prepare.transform(X), prepare.transform(people), 200, 40),
        "folded": Side(pipeline, X, people, 200, 40),
        "black box": Side(robx.BlackBox(pipeline), X, people, 4, 2),
    }


def stability(side: Side) -> tuple[Callable[[], Any], int]:
    """Measure how firmly the model scores rows and their neighbourhoods."""
    problem, rows = side.problem(), side.people[: side.n_stable]
    model, units = problem.model, problem.schema.noise_units
    return lambda: robx.stability(model, rows, n_draws=N_DRAWS, scale=units), len(rows)


def recourse(method: Any) -> Callable[[Side], tuple[Callable[[], Any], int]]:
    """Find answers for applicants."""

    def asked(side: Side) -> tuple[Callable[[], Any], int]:
        problem, rows = side.problem(), side.people[: side.n_recourse]
        return lambda: method.explain(problem, rows), len(rows)

    return asked


def compare(ask: Callable[[Side], tuple[Callable[[], Any], int]], case: dict[str, Side]) -> str:
    """Let all take turns; give a line of the table."""
    calls = {name: ask(side) for name, side in case.items()}
    for call, _ in calls.values():
        call()  # compiles
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, (call, n) in calls.items():
            times[name].append(1e3 * cpu_seconds(call) / n)
    against_bare = Ratio.of(times["folded"], times["bare"])
    against_box = Ratio.of(times["black box"], times["folded"])
    taken = " | ".join(f"{np.median(times[name]):.3g}" for name in case)
    return f"| {taken} | {against_bare} | {against_box.median:.0f}x |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="fewer rows, nothing written")
    small = parser.parse_args().small
    warnings.simplefilter("ignore")
    n = 2000 if small else 12_000
    noise = robx.Noise(n_draws=N_DRAWS)
    questions = {
        f"stability of a row, {N_DRAWS} draws": stability,
        "recourse, RobX": recourse(robx.RobX(tau=0.6, noise=noise)),
        "recourse, Frugal": recourse(robx.Frugal(noise=noise)),
    }
    with one_core():
        case = sides(n)
        start = cpu_seconds(lambda: robx.import_model(case["folded"].model))
        lines = [f"| {name} {compare(ask, case)}" for name, ask in questions.items()]
    folded = robx.import_model(case["folded"].model)
    assert isinstance(folded, robx.TreeEnsemble)  # noqa: S101
    said = (
        f"Adult, {n} rows, 12 raw columns, {case['bare'].X.shape[1]} after the pipeline's scaler "
        "and one-hot encoder.\nXGBoost 100x4. One thread, milliseconds of the processor, medians "
        f"of {ROUNDS} rounds; ratios with the range over rounds.\nFolding the pipeline took "
        f"{start:.2f} s.\n"
    )
    titles = "bare trees, encoded columns | folded, raw columns | black box | folded / bare"
    head = f"| | {titles} | black box / folded |\n|{' --- |' * 6}"
    text = "\n".join([said, head, *lines])
    print(text)
    if not small:
        OUT.write_text(text + "\n")


if __name__ == "__main__":
    main()

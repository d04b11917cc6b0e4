"""Everything around a search, for one applicant: reading, finishing, certifying, words.

Times are of one thread, as ratios to the model's own ``predict_proba`` of the same one-row frame in
the same run: XGBoost of 100 trees of depth 4, 23 columns of which three are categories, 32 models
that certify.

    python -m benchmarks.rows
"""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
from benchmarks.common import one_core
from xgboost import XGBClassifier

import robx
from robx.methods.finish import finish
from robx.retrained import ModelScores, certified, import_models

CALLS, N_TRAIN, N_MODELS = 200, 4_000, 32


def table(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {f"f{j}": rng.gamma(2, 15, n).round(2) for j in range(12)}
    columns |= {f"i{j}": rng.integers(0, 40, n) for j in range(8)}
    for j, k in enumerate((4, 6, 10)):
        levels = [f"v{level}" for level in range(k)]
        columns[f"c{j}"] = pd.Categorical(rng.choice(levels, n), categories=levels)
    return pd.DataFrame(columns)


def labels(X: pd.DataFrame, seed: int) -> Any:
    noise = np.random.default_rng(seed).normal(size=len(X))
    return (X["f0"] / 20 + X["f1"] / 25 - X["i0"] / 12 + X["i3"] / 20 + noise > 2.8).astype(int)


def boosted(X: pd.DataFrame, seed: int) -> Any:
    model = XGBClassifier(
        n_estimators=100, max_depth=4, learning_rate=0.1, n_jobs=1, random_state=seed,
        enable_categorical=True,
    )  # fmt: skip
    return model.fit(X, labels(X, seed))


def forms(row: pd.DataFrame) -> dict[str, Any]:
    """A row in every form."""
    cells = row.astype(object).to_numpy().tolist()
    return {
        "pandas": row,
        "polars": pl.from_pandas(row),
        "pyarrow": pa.Table.from_pandas(row, preserve_index=False),
        "list of lists": cells,
        "dict": dict(zip(row.columns, cells[0], strict=True)),
    }


def quick(call: Callable[[], Any]) -> float:
    """Seconds of a call: of many the tenth that is fastest, which others disturb least."""
    call()
    times = []
    for _ in range(CALLS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(np.quantile(times, 0.1))


def worded(answer: robx.Counterfactuals) -> str:
    """What an applicant reads, put in words anew."""
    return answer.replaced().words(0)


def main() -> None:
    warnings.simplefilter("ignore")
    X = table(N_TRAIN, 0)
    model = boosted(X, 0)
    problem, method = robx.Problem(model, X), robx.NearestNeighbour()
    later = [boosted(X.iloc[np.arange(k, N_TRAIN, 3)], k) for k in range(N_MODELS)]
    scoring = ModelScores(problem, import_models(problem, later))
    people = table(200, 9)
    declined = people[model.predict_proba(people)[:, 1] <= 0.5].iloc[:1]
    unit = quick(lambda: model.predict_proba(declined))
    print(f"predict_proba of one row: {1e3 * unit:.2f} ms; all else in units of it\n")
    print("| row | read | finish | points | certificate | words | dicts |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, row in forms(declined).items():
        applicants = problem.read(row)
        found = method.search(problem, applicants, np.zeros(1, dtype=np.intp))

        def finished(row: Any = row, applicants: Any = applicants, found: Any = found) -> Any:
            fresh = copy.copy(found)
            fresh.points, fresh.reason = found.points.copy(), list(found.reason)
            return finish(method, problem, row, applicants, fresh)

        answer, finishing = finished(), quick(finished)
        parts = [
            quick(partial(problem.read, row)),
            finishing,
            quick(lambda: finished().points) - finishing,
            quick(partial(certified, problem, answer, scoring, 0.95, "")),
            quick(partial(worded, answer)),
            quick(partial(getattr, answer, "records")),
        ]
        print(f"| {name} | {' | '.join(f'{part / unit:.2f}' for part in parts)} |", flush=True)


if __name__ == "__main__":
    with one_core():
        main()

"""Memory of a long batch: a million applicants, read, searched, finished and certified.

Each case runs in a process of its own. What is shown is the most memory that the process held
(peak resident set size) above what it held with the inputs and the problem in place. Most
applicants are declined; `NearestNeighbour` answers them, so that what is measured is everything
around a search. In the last case most are accepted, and `Frugal` answers the others.

    python -m benchmarks.memory [--rows 1000000] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.common import Peak
from xgboost import XGBClassifier

import robx

#: Tables; the last is an array of which nearly all are accepted, and `Frugal` answers the others.
KINDS = ("numpy", "pandas", "categories", "frugal")
N_TRAIN, N_COLUMNS, N_MODELS = 2_000, 23, 4


def table(kind: str, n: int, seed: int) -> Any:
    """A table of 23 columns: an array, a frame, or a frame of which three are categories."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 100, (n, N_COLUMNS)).astype(np.float64)
    if kind in {"numpy", "frugal"}:
        return values
    frame = pd.DataFrame(values, columns=[f"x{j}" for j in range(N_COLUMNS)])
    if kind == "categories":
        for j in range(20, N_COLUMNS):
            letters = np.array(list("abcde"))[frame[f"x{j}"].to_numpy(np.int64) % 5]
            frame[f"x{j}"] = pd.Categorical(letters, categories=list("abcde"))
    return frame


def trained(X: Any, seed: int) -> Any:
    first = np.asarray(X)[:, :4].astype(np.float64) if isinstance(X, np.ndarray) else X.iloc[:, :4]
    y = np.asarray(first).sum(axis=1) > 230
    model = XGBClassifier(
        n_estimators=20, max_depth=3, n_jobs=1, random_state=seed, enable_categorical=True
    )
    return model.fit(X, y)


def measure(kind: str, n: int) -> dict[str, Any]:
    """Answer n applicants; what it took in memory and time."""
    warnings.simplefilter("ignore")
    X, applicants = table(kind, N_TRAIN, 0), table(kind, n, 1)
    model = trained(X, 0)
    share = 0.0005 if kind == "frugal" else 0.7
    threshold = float(np.quantile(model.predict_proba(X)[:, 1], share))
    problem = robx.Problem(model, X, threshold=threshold)
    later = [trained(X[k::2], k) for k in range(N_MODELS)]
    method: robx.Method = robx.Frugal() if kind == "frugal" else robx.NearestNeighbour()
    some = applicants[:2000]
    robx.certify(problem, method.explain(problem, some), later)  # compiles
    start = time.perf_counter()
    with Peak() as peak:
        answer = method.explain(problem, applicants)
        answer = robx.certify(problem, answer, later)
    took = time.perf_counter() - start
    is_array = isinstance(applicants, np.ndarray)
    inputs = applicants.nbytes if is_array else int(applicants.memory_usage().sum())
    return {
        "kind": kind,
        "rows": n,
        "answered": int(answer.ok.sum()),
        "inputs_mb": inputs / 2**20,
        "peak_mb": peak.mb,
        "microseconds_a_row": 1e6 * took / n,
    }


def in_a_process(kind: str, n: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.memory", "--rows", str(n), "--only", kind]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.only:
        print(json.dumps(measure(given.only, given.rows)))
        return
    lines = [
        "| table | rows | answered | inputs, MB | peak above the inputs, MB | µs a row |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for kind in KINDS:
        found = in_a_process(kind, given.rows)
        lines.append(
            f"| {kind} | {found['rows']} | {found['answered']} | {found['inputs_mb']:.0f} | "
            f"{found['peak_mb']:.0f} | {found['microseconds_a_row']:.0f} |"
        )
    print("\n".join(lines))
    if given.out:
        given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""How long an answer takes, beside the model's own score of the same row.

    make bench-latency

A fitted `robx.Explainer` answers one applicant at a time, a batch on one core and on two, after it
was loaded, and as the first thing that a new process does. Times are compared with
``XGBClassifier.predict_proba`` of a model of 100 trees of depth 4 on one row of a pandas frame,
called in turn with what is measured: a busy machine slows down both.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.applications import Applications, make_applications
from benchmarks.common import Peak, one_core
from benchmarks.latency_tables import RESULTS, write_tables
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from xgboost import XGBClassifier

import robx

__all__ = ["Sizes", "main", "run"]

#: What a new process does, and how long each step of it takes.
FIRST_CALL = """
import time
start = time.perf_counter()
import json, pickle, resource, sys
laps = {}
def lap(name):
    global start
    laps[name], start = time.perf_counter() - start, time.perf_counter()
with open(sys.argv[2], "rb") as file:
    frame = pickle.load(file)
lap("pandas_s")
import robx
explainer = robx.Explainer.load(sys.argv[1])
lap("load_s")
explainer.explain(frame[:1])
lap("first_s")
laps["process_s"] = time.time() - float(sys.argv[3])
laps["process_cpu_s"] = time.process_time()
explainer.explain(frame[1:2])
lap("second_s")
laps["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps(laps))
"""


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    n_rows: int = 20_000
    n_deep: int = 10_000
    n_applicants: int = 200
    n_batch: int = 1000
    n_trees: int = 100
    #: Retrained models that help to search, and that certify.
    n_searching: int = 16
    n_certifying: int = 64
    #: Batches are measured so many times, and new processes.
    n_rounds: int = 3
    #: Which of the models are measured.
    only: tuple[str, ...] = ("XGBoost", "LightGBM", "Hist", "RandomForest")


QUICK = Sizes(400, 300, 5, 10, 5, 4, 6, 1, ("XGBoost",))


class Times:
    """Wall and processor times of many calls, in milliseconds."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.processor: list[float] = []

    def take(self, call: Callable[[Any], Any], given: Any) -> Any:
        """Call something and note its times."""
        wall, processor = time.perf_counter(), time.process_time()
        result = call(given)
        self.processor.append(1e3 * (time.process_time() - processor))
        self.wall.append(1e3 * (time.perf_counter() - wall))
        return result

    def median(self) -> float:
        """Give the median of the wall times."""
        return float(np.median(self.wall))


@dataclass(frozen=True)
class Case:
    """A model, and the table that it was trained on."""

    name: str
    model: Any
    data: Applications
    is_boosted: bool


def cases(sizes: Sizes) -> Iterator[Case]:
    """Train the models of the table, one after the other."""
    data = make_applications(sizes.n_rows)
    n = sizes.n_trees
    boosted = {
        f"XGBoost {n}x4": reference_model(n),
        f"LightGBM {n}x31": LGBMClassifier(n_estimators=n, n_jobs=1, verbose=-1, random_state=0),
        f"HistGradientBoosting {n}": HistGradientBoostingClassifier(
            max_iter=n, categorical_features="from_dtype", early_stopping=False, random_state=0
        ),
    }
    for name, model in boosted.items():
        yield Case(name, model.fit(data.X, data.y), data, is_boosted=True)
    forest = RandomForestClassifier(n, min_samples_leaf=5, n_jobs=1, random_state=0)
    for n_rows in (sizes.n_rows, sizes.n_deep):
        data = make_applications(n_rows).in_numbers()
        name = f"RandomForest {n}, {n_rows:,} rows"
        yield Case(name, forest.fit(data.X, data.y), data, is_boosted=False)


def reference_model(n_trees: int) -> Any:
    return XGBClassifier(
        n_estimators=n_trees, max_depth=4, learning_rate=0.1, n_jobs=1, random_state=0,
        enable_categorical=True,
    )  # fmt: skip


def declined(case: Case, n: int) -> tuple[Any, Any]:
    """Make new applicants whom the model turns down: as it takes them, and with categories."""
    plain = make_applications(12 * n + 100, seed=1)
    rows = plain.in_numbers().X if not case.is_boosted else plain.X
    chosen = np.flatnonzero(case.model.predict_proba(rows)[:, 1] <= 0.5)[:n]
    return rows.iloc[chosen], plain.X.iloc[chosen]


def measure(case: Case, reference: Any, sizes: Sizes, folder: Path) -> dict[str, Any]:
    """Measure one model: every figure of its line."""
    line: dict[str, Any] = {"model": case.name, "is_boosted": case.is_boosted}
    with Peak() as peak:
        explainer, times = fit(case, sizes)
    line |= {**times, "fit_mb": peak.mb}
    file = folder / "explainer.robx"
    explainer.save(file)
    line["file_mb"] = file.stat().st_size / 2**20
    people, same = declined(case, max(sizes.n_applicants, sizes.n_batch))
    line |= first_calls(file, people, folder, sizes)
    line |= one_at_a_time(explainer, reference, people, same, sizes)
    line |= batches(explainer, reference, people[: sizes.n_batch], same, sizes)
    return line


def fit(case: Case, sizes: Sizes) -> tuple[Any, dict[str, float]]:
    """Fit an explainer; some models are trained alone before and after it, to compare."""
    n_models = sizes.n_searching + sizes.n_certifying
    n_alone = max(2, n_models // 10)
    alone: list[float] = []

    def train() -> None:
        start = time.perf_counter()
        list(robx.retrainings(case.model, case.data.X, case.data.y, n_alone, seed=2))
        alone.append(time.perf_counter() - start)

    train()
    start = time.perf_counter()
    # With the method's models given, all that the explainer trains certify.
    panel = list(robx.retrainings(case.model, case.data.X, case.data.y, sizes.n_searching, seed=1))
    explainer = robx.Explainer(
        case.model, case.data.X, case.data.y, schema=case.data.schema, target=1,
        method=robx.Frugal(models=panel), n_models=sizes.n_certifying, progress=False,
    )  # fmt: skip
    fit_s = time.perf_counter() - start
    train()
    train_s = float(np.mean(alone)) * n_models / n_alone
    return explainer, {"fit_s": fit_s, "train_s": train_s, "fit_ratio": fit_s / train_s}


def first_calls(file: Path, people: Any, folder: Path, sizes: Sizes) -> dict[str, float]:
    """Let new processes load the explainer and answer; the first one is not counted."""
    applicants = folder / "applicants.pickle"
    applicants.write_bytes(pickle.dumps(people[:2]))
    # Installed packages have their bytecode.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    laps = []
    for _ in range(1 + sizes.n_rounds):
        command = [sys.executable, "-c", FIRST_CALL, str(file), str(applicants), str(time.time())]
        ran = subprocess.run(
            command,
            env=env, capture_output=True, text=True, check=True,
        )  # fmt: skip
        laps.append(json.loads(ran.stdout))
    loads = Times()
    for _ in range(sizes.n_rounds):
        loads.take(robx.Explainer.load, file)
    counted = {f"new_{name}": float(np.median([lap[name] for lap in laps[1:]])) for name in laps[0]}
    return {**counted, "load_s": loads.median() / 1e3}


def one_at_a_time(
    explainer: Any, reference: Any, people: Any, same: Any, sizes: Sizes
) -> dict[str, float]:
    """Alternate the reference and an answer, for one applicant after the other."""
    answers, scores = Times(), Times()
    n_ok = 0
    for i in range(sizes.n_applicants + 5):
        k = i % sizes.n_applicants
        if i == 5:  # the first calls warm up
            answers, scores, n_ok = Times(), Times(), 0
        scores.take(reference.predict_proba, same[k : k + 1])
        n_ok += int(answers.take(explainer.explain, people[k : k + 1]).ok[0])
    score = scores.median()
    return {
        "score_ms": score,
        "score_p99_ms": float(np.percentile(scores.wall, 99)),
        "one_ms": answers.median(),
        "one_p99_ms": float(np.percentile(answers.wall, 99)),
        "one_cpu_ms": float(np.median(answers.processor)),
        "one_ratio": answers.median() / score,
        "one_p99_ratio": float(np.percentile(answers.wall, 99)) / score,
        "one_cpu_ratio": float(np.median(answers.processor) / np.median(scores.processor)),
        "ok": n_ok / sizes.n_applicants,
    }


def batches(
    explainer: Any, reference: Any, people: Any, same: Any, sizes: Sizes
) -> dict[str, float]:
    """Answer a batch on one core and on all, in turn, with the reference in between."""
    one, two, scores = Times(), Times(), Times()
    for _ in range(sizes.n_rounds):
        with one_core():
            for k in range(20):
                scores.take(reference.predict_proba, same[k % 5 : k % 5 + 1])
            one.take(explainer.explain, people)
        two.take(explainer.explain, people)
        if sum(one.wall) > 30e3:  # enough for a ratio
            break
    each, cpu = one.median() / len(people), float(np.median(one.processor)) / len(people)
    return {
        "batch_ms": each,
        "batch_cpu_ms": cpu,
        "batch_ratio": each / scores.median(),
        "batch_cpu_ratio": cpu / float(np.median(scores.processor)),
        "batch_two_ms": two.median() / len(people),
        "batch_speedup": one.median() / two.median(),
    }


def run(sizes: Sizes) -> dict[str, Any]:
    """Measure all models, and say where."""
    warnings.simplefilter("ignore")
    data = make_applications(sizes.n_rows)
    reference = reference_model(sizes.n_trees).fit(data.X, data.y)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(sizes):
            if not case.name.startswith(sizes.only):
                continue
            start = time.perf_counter()
            lines.append(measure(case, reference, sizes, Path(folder)))
            took = time.perf_counter() - start
            said = lines[-1]
            print(
                f"{case.name}: one {said['one_ratio']:.1f}x, batch {said['batch_ratio']:.2f}x, "
                f"first call {said['new_process_s']:.2f} s ({took:.0f} s)", flush=True,
            )  # fmt: skip
    names = ("robx", "numpy", "pandas", "scipy", "numba", "scikit-learn", "lightgbm")
    return {
        "machine": {
            "processor": _processor(),
            "cores": len(os.sched_getaffinity(0)),
            "system": platform.platform(),
            "python": platform.python_version(),
        },
        "versions": {**{name: version(name) for name in names}, "xgboost": _xgboost_version()},
        "sizes": asdict(sizes),
        "lines": lines,
    }


def _processor() -> str:
    """Name the processor, where Linux tells."""
    try:
        told = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in told.splitlines() if "model name" in line]
    return names[0] if names else platform.processor()


def _xgboost_version() -> str:
    import xgboost  # noqa: PLC0415 - its package has two names

    return str(xgboost.__version__)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny models, to see that it runs")
    parser.add_argument("--out", type=Path, help="file of the results, .json")
    given = parser.parse_args(arguments)
    found = run(QUICK if given.quick else Sizes())
    out = given.out or (None if given.quick else RESULTS)
    if out is not None:
        out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if out == RESULTS:
        write_tables()


if __name__ == "__main__":
    main()

"""How much faster robx measures stability than the model's own library, in one run.

Every figure is a ratio taken side by side on one thread: the library's own batched predict over
1000 Gaussian neighbours of each row (making the neighbours is not counted against it), and robx
from table to answer. The table goes to benchmarks/results/stability.md.

    make bench
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
import xgboost as xgb
from benchmarks.common import Floats, heloc_shaped, printed_to, seconds
from sklearn.ensemble import RandomForestClassifier

import robx

SIGMA, K = 0.1, 1000
LIBRARY_ROWS, REPEATS = 40, 5
REFERENCE_ROWS, AGREEMENT_ROWS = 200, 2000
VALUE_DRAWS = 512


def models(X: Floats, y: Any) -> dict[str, tuple[Any, Callable[[Any], Any]]]:
    """The five models, each with its library's fastest batched call on one thread."""
    found: dict[str, tuple[Any, Callable[[Any], Any]]] = {}
    for trees, depth in ((100, 3), (100, 6), (300, 6)):
        model = xgb.XGBClassifier(
            n_estimators=trees, max_depth=depth, learning_rate=0.1, n_jobs=1, random_state=0
        ).fit(X, y)
        found[f"XGBoost {trees}x{depth}"] = (model, model.get_booster().inplace_predict)
    light = lgb.LGBMClassifier(n_estimators=100, num_leaves=31, n_jobs=1, verbose=-1).fit(X, y)
    found["LightGBM 100x31"] = (
        light,
        lambda rows: light.booster_.predict(rows, num_threads=1),
    )
    forest = RandomForestClassifier(100, random_state=0, n_jobs=1).fit(X, y)
    found["RandomForest 100"] = (forest, lambda rows: forest.predict_proba(rows)[:, 1])
    return found


def independent(ensemble: Any, X: Floats, seed: int) -> Floats:
    """The paper's estimate with 1000 independent draws."""
    return robx.stability(ensemble, X, draws="gaussian", n_draws=K, rng=seed).value


def reference(ensemble: Any, X: Floats) -> Floats:
    """Stability from 2^18 Sobol draws, as 16 scrambles of 2^14."""
    runs = [robx.stability(ensemble, X, n_draws=2**14, rng=1000 + s) for s in range(16)]
    mean = np.mean([run.mean for run in runs], axis=0)
    square = np.mean([run.std**2 + run.mean**2 for run in runs], axis=0)
    return np.asarray(mean - np.sqrt(square - mean**2))


def rmse(values: list[Floats], truth: Floats) -> float:
    return float(np.sqrt(np.mean([(value - truth) ** 2 for value in values])))


@dataclass
class Line:
    """One model's figures."""

    model: str
    library_us: float
    value_us: float
    value_ratio: float
    rmse: float
    rmse_independent: float
    test_us: dict[str, float]
    test_ratio: dict[str, float]
    agreement: dict[str, float]
    agreement_independent: dict[str, float]
    threads_ratio: float


def measure(name: str, model: Any, predict: Callable[[Any], Any], X: Floats) -> Line:
    ensemble = robx.import_model(model, X=X)
    rng = np.random.default_rng(0)
    sample = X[rng.permutation(len(X))[:LIBRARY_ROWS]]
    copies = sample[:, None, :] + SIGMA * rng.standard_normal((LIBRARY_ROWS, K, X.shape[1]))
    copies = np.ascontiguousarray(copies.reshape(-1, X.shape[1]))
    if name.startswith("XGBoost"):
        copies = copies.astype(np.float32)  # what it would convert to

    order = rng.permutation(len(X))
    few, many = X[order[:REFERENCE_ROWS]], X[order[:AGREEMENT_ROWS]]
    truth = reference(ensemble, few)
    accepted = robx.stability(ensemble, many[ensemble.score(many) > 0.5]).value
    taus = {"median": float(np.median(accepted)), "90 %": float(np.quantile(accepted, 0.9))}

    def value(threads: int = 1) -> Any:
        return robx.stability(ensemble, X, n_draws=VALUE_DRAWS, n_threads=threads)

    def test(tau: float) -> Any:
        return robx.is_stable(ensemble, X, tau, n_threads=1)

    predict(copies[:1000]), value(), value(2), [test(tau) for tau in taus.values()]  # warm
    library, values, threads = [], [], []
    tests: dict[str, list[float]] = {label: [] for label in taus}
    for _ in range(REPEATS):  # side by side, so that a busy machine slows all alike
        library.append(seconds(lambda: predict(copies)) / LIBRARY_ROWS)
        values.append(seconds(value) / len(X))
        threads.append(seconds(lambda: value(2)) / len(X))
        for label, tau in taus.items():
            tests[label].append(seconds(lambda tau=tau: test(tau)) / len(X))  # type: ignore[misc]

    def ratio(ours: list[float], theirs: list[float]) -> float:
        return float(np.median(np.array(theirs) / np.array(ours)))

    pairs = [[independent(ensemble, many, 2 * s + t) for t in (0, 1)] for s in range(3)]
    draws = [robx.stability(ensemble, few, n_draws=VALUE_DRAWS, rng=s).value for s in range(8)]
    alone = [independent(ensemble, few, s) for s in range(8)]
    return Line(
        model=name,
        library_us=1e6 * float(np.median(library)),
        value_us=1e6 * float(np.median(values)),
        value_ratio=ratio(values, library),
        rmse=rmse(draws, truth),
        rmse_independent=rmse(alone, truth),
        test_us={label: 1e6 * float(np.median(t)) for label, t in tests.items()},
        test_ratio={label: ratio(t, library) for label, t in tests.items()},
        agreement={
            label: float(
                np.mean(
                    [
                        robx.is_stable(ensemble, many, tau, rng=2 * s)
                        == robx.is_stable(ensemble, many, tau, rng=2 * s + 1)
                        for s in range(3)
                    ]
                )
            )
            for label, tau in taus.items()
        },
        agreement_independent={
            label: float(np.mean([(a >= tau) == (b >= tau) for a, b in pairs]))
            for label, tau in taus.items()
        },
        threads_ratio=ratio(threads, values),
    )


MEMORY = """
import threading, time, numpy as np, psutil, robx
from sklearn.ensemble import HistGradientBoostingClassifier
X = np.random.default_rng(0).random((1_000_000, 20))
model = HistGradientBoostingClassifier(max_iter=50).fit(X[:5000], X[:5000, 0] + X[:5000, 1] > 1)
ensemble = robx.import_model(model, X=X[:1000])
robx.is_stable(ensemble, X[:100], 0.5)
memory = psutil.Process().memory_info
before = peak = memory().rss
done = False
def watch():
    global peak
    while not done:
        peak = max(peak, memory().rss)
        time.sleep(0.002)
watcher = threading.Thread(target=watch)
watcher.start()
result = robx.stability(ensemble, X, n_draws=64)
passed = robx.is_stable(ensemble, X, 0.5)
done = True
watcher.join()
print((peak - before) / 2**20)
"""

FIRST_CALL = """
import time, numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
import robx
X = np.random.default_rng(0).random((500, 5))
model = HistGradientBoostingClassifier(max_iter=5).fit(X, X[:, 0] > 0.5)
start = time.perf_counter()
robx.is_stable(model, X, 0.5)
print(time.perf_counter() - start)
"""


def in_new_process(script: str, **environment: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return float(done.stdout)


def main() -> None:
    data, X, y = heloc_shaped()
    print(f"{data}, {X.shape[0]} x {X.shape[1]}; microseconds a row on one thread; K = {K}")
    print(
        f"\n{'':18}{'library':>9} | {'value R':>8}{'ratio':>8}{'RMSE':>8}{'(indep.)':>9} | "
        f"{'R >= tau':>9}{'ratio':>8}{'agree':>8}{'(indep.)':>9} | {'2 threads':>9}"
    )
    lines = []
    for name, (model, predict) in models(X, y).items():
        line = measure(name, model, predict, X)
        lines.append(line)
        for row, label in enumerate(line.test_us):
            value = (
                f"{line.model:18}{line.library_us:9.0f} | {line.value_us:8.1f}"
                f"{line.value_ratio:7.1f}x{line.rmse:8.4f}{line.rmse_independent:9.4f} | "
                if row == 0
                else f"{'':18}{'':9} | {'':33} | "
            )
            threads = f" | {line.threads_ratio:8.2f}x" if row == 0 else " |"
            print(
                f"{value}{line.test_us[label]:9.1f}{line.test_ratio[label]:7.1f}x"
                f"{line.agreement[label]:8.4f}{line.agreement_independent[label]:9.4f}{threads}"
                f"   tau at {label}"
            )
    memory = in_new_process(MEMORY)
    with tempfile.TemporaryDirectory() as cache:
        compile_seconds = in_new_process(FIRST_CALL, NUMBA_CACHE_DIR=cache)
        cached_seconds = in_new_process(FIRST_CALL, NUMBA_CACHE_DIR=cache)
    print(f"\npeak memory above the inputs, 1,000,000 rows x 20: {memory:.0f} MB")
    print(
        f"first call: {compile_seconds:.1f} s to compile; {cached_seconds:.1f} s in later processes"
    )


if __name__ == "__main__":
    with printed_to("stability", "make bench", ("xgboost-cpu", "lightgbm", "scikit-learn")):
        main()

"""What the benchmarks share: data, a model, a clock, one core, a watch on memory, a page."""

from __future__ import annotations

import contextlib
import io
import os
import platform
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
import xgboost as xgb
from numpy.typing import NDArray

import robx
from robx.datasets.heloc import cached_file

__all__ = [
    "Floats",
    "Heloc",
    "Peak",
    "Ratio",
    "boosted",
    "cpu_seconds",
    "heloc_shaped",
    "one_core",
    "peak_mb",
    "printed_to",
    "seconds",
]

Floats = NDArray[np.float64]

RESULTS = Path(__file__).parent / "results"
HELOC = Path(__file__).resolve().parents[2] / "shared" / "data" / "heloc_dataset_v1.csv"


def heloc_shaped() -> tuple[str, Floats, NDArray[Any]]:
    """HELOC as the paper uses it where the file is at hand, else made-up data of its shape."""
    at_hand = [file for file in (HELOC, cached_file()) if file.exists()]
    if at_hand:
        table, labels, _ = robx.datasets.load_heloc(at_hand[0])
        X, y = np.ascontiguousarray(table, dtype=np.float64), labels.to_numpy()
        name = "HELOC"
    else:
        rng = np.random.default_rng(0)
        X = np.round(rng.gamma(2.0, 15.0, (8291, 20)))
        y = (X[:, :4].sum(axis=1) + 20 * rng.normal(size=8291) > 118).astype(np.int64)
        name = "synthetic"
    low, high = X.min(axis=0), X.max(axis=0)
    return name, (X - low) / (high - low), y


def boosted(X: Any, y: Any, depth: int, seed: int = 0) -> Any:
    return xgb.XGBClassifier(
        n_estimators=100, max_depth=depth, learning_rate=0.1, n_jobs=1, random_state=seed
    ).fit(X, y)


@dataclass
class Heloc:
    """HELOC scaled to [0, 1], as in the paper: 70 % to train on, the rest to ask."""

    name: str
    X: Floats
    y: NDArray[Any]
    others: Floats

    @classmethod
    def load(cls) -> Heloc:
        """Read it, or make up data of its shape."""
        name, X, y = heloc_shaped()
        order = np.random.default_rng(0).permutation(len(X))
        cut = int(0.7 * len(X))
        return cls(name, X[order[:cut]], y[order[:cut]], X[order[cut:]])

    @property
    def schema(self) -> robx.Schema:
        """Every column a number of scale 1."""
        features = (robx.Feature(str(j), scale=1.0) for j in range(self.X.shape[1]))
        return robx.Schema(tuple(features))

    def declined(self, model: Any, n: int) -> Floats:
        """Some that the model turns down."""
        probability = np.asarray(model.predict_proba(self.others)[:, 1])
        return self.others[probability <= 0.5][:n]


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def cpu_seconds(call: Callable[[], Any]) -> float:
    """Time of the processor, whatever else it does: on one thread that of an idle machine."""
    start = time.process_time()
    call()
    return time.process_time() - start


class Ratio(NamedTuple):
    """How many times as long, over the rounds."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, times: list[float], others: list[float]) -> Ratio:
        """Compare times that were taken in the same rounds."""
        ratios = np.array(times) / np.array(others)
        return cls(float(np.median(ratios)), float(ratios.min()), float(ratios.max()))

    def __str__(self) -> str:
        return f"{self.median:5.2f}x [{self.least:.2f}, {self.most:.2f}]"


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Keep this thread to one core, where the system lets us: robx then uses one thread."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Peak:
    """Watches this process's memory; `mb` is the most it took above what it had."""

    def __enter__(self) -> Peak:
        self._memory = psutil.Process().memory_info
        self._before = self._peak = self._memory().rss
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._done.wait(0.005):
            self._peak = max(self._peak, self._memory().rss)

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    @property
    def mb(self) -> float:
        """The peak above the start."""
        return float(self._peak - self._before) / 2**20


def peak_mb(call: Callable[[], Any]) -> float:
    """Most memory that Python and numpy held for a call at one time."""
    tracemalloc.start()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 2**20


class Shown(io.StringIO):
    """Text that is printed as well."""

    def write(self, piece: str) -> int:
        """Print and keep it."""
        print(piece, end="", file=sys.__stdout__, flush=True)
        return super().write(piece)


@contextlib.contextmanager
def printed_to(name: str, command: str, libraries: tuple[str, ...]) -> Iterator[None]:
    """Write what a benchmark prints into a page of the results as well."""
    with contextlib.redirect_stdout(Shown()) as text:
        yield
    versions = ", ".join(f"{one} {version(one)}" for one in libraries)
    about = f"`{command}`, two shared cores, Python {platform.python_version()}; {versions}:"
    page = f"{about}\n\n```\n{text.getvalue().strip()}\n```\n"
    (RESULTS / f"{name}.md").write_text(page, encoding="utf-8")

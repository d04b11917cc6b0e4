"""How fast robx finds robust counterfactuals, and what they are worth, in one run.

Four tables:

- RobX against Algorithm 1 written down literally over XGBoost's own batched predict;
- getting ready for a training table, against one pass of that predict over 1000 copies of its rows;
- time and memory against the number of rows of the support;
- worth and time side by side with DiCE.

What counts are ratios within a run. Prints the tables and writes ``bench-methods.json``.

    make bench-methods
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import platform
import random
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import dice_ml
import numpy as np
import pandas as pd
import psutil
import xgboost as xgb
from benchmarks.stability import heloc_shaped, seconds
from numpy.typing import NDArray
from raiutils.exceptions import UserConfigValidationException

import naive
import robx
from robx.robustness.draws import draw

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

K, SIGMA = 1000, 0.1
STEP, TARGETS, PAPER_TAU = 0.1, 5, 0.65
APPLICANTS, TWIN_APPLICANTS, REPEATS = 500, 45, 3
PASS_ROWS = 300
SIZES = (1_000, 10_000, 100_000, 1_000_000)
SIZE_APPLICANTS = 200
GERMAN_APPLICANTS, RETRAININGS = 40, 20
DICE_LIMIT, DICE_TRIES = 20, 3


# --- shared ---------------------------------------------------------------------------------------


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


def batched(model: Any) -> Callable[[Floats], Any]:
    """XGBoost's fastest call, on one thread."""
    predict = model.get_booster().inplace_predict
    return lambda rows: predict(rows.astype(np.float32))  # what it would convert to


# --- (a) RobX against its literal twin ------------------------------------------------------------


class Twin:
    """Algorithm 1 to the letter: each test makes 1000 copies of a point and predicts them."""

    def __init__(self, model: Any, support: Floats, tau: float) -> None:
        self.predict, self.support, self.tau = batched(model), support, tau
        self.noise = draw("gaussian", K, support.shape[1], 0).noise
        self.tests = self.tests_of_support = 0

    def score(self, rows: Floats) -> Any:
        """Predict, and count tests."""
        self.tests += len(rows) == K
        return self.predict(rows)

    def set_up(self) -> None:
        """Test every accepted row of the support."""
        self.accepted = self.support[np.asarray(self.predict(self.support)) > 0.5]
        self.stable = naive.stable_rows(self.score, self.support, self.noise, self.tau, SIGMA)
        self.tests, self.tests_of_support = 0, self.tests

    def answer(self, x: Floats) -> Floats:
        """From the nearest accepted row."""
        base = self.accepted[np.abs(self.accepted - x).sum(axis=1).argmin()]
        return naive.robx(
            self.score,
            self.support,
            x,
            base,
            self.noise,
            tau=self.tau,
            alpha=STEP,
            c=TARGETS,
            p=1,
            stable=self.stable,
            spread=SIGMA,
        )


def count_tests(problem: robx.Problem, method: robx.RobX, people: Floats) -> float:
    """Points that RobX tests for an applicant, those of the support included."""
    tests = len(problem.support) if method.tau == "auto" else 0
    passes = problem.passes

    def counted(matrix: Floats, tau: float, noise: robx.Noise) -> Bools:
        nonlocal tests
        tests += len(matrix)
        return passes(matrix, tau, noise)

    problem.passes = counted  # type: ignore[method-assign]
    method.explain(problem, people)
    return tests / len(people)


@dataclass
class Speed:
    """One model and tau: seconds for all applicants, set-up included, and tests an applicant."""

    model: str
    tau: float
    tau_from: str
    twin_s: float
    twin_set_up_s: float
    one_thread_s: float
    one_thread_ratio: float
    all_threads_s: float
    all_threads_ratio: float
    paper_s: float
    paper_ratio: float
    max_difference: float
    n_differ: int
    twin_declined: int
    twin_tests: float
    robx_tests: float


def compare(data: Heloc, depth: int, tau: float | str) -> Speed:
    model = boosted(data.X, data.y, depth)
    people = data.declined(model, APPLICANTS)
    method = robx.RobX(tau=tau, step=STEP, n_targets=TARGETS)  # type: ignore[arg-type]

    def ours(how: robx.RobX) -> robx.Counterfactuals:
        return how.explain(robx.Problem(model, data.X, data.schema), people)

    tau_used = float(ours(method).settings["tau"])  # also compiles
    literal = robx.RobX.paper(tau=tau_used, step=STEP, n_targets=TARGETS)
    points = np.asarray(ours(literal).points)
    twin = Twin(model, data.X, tau_used)
    set_up, each, one, every, paper, theirs, walked = [], [], [], [], [], [], 0
    places = np.random.default_rng(0).permutation(len(people))[:TWIN_APPLICANTS]
    for part in np.array_split(places, REPEATS):  # side by side: a busy machine slows all alike
        with one_core():
            set_up.append(seconds(twin.set_up))
            start = time.perf_counter()
            theirs += [twin.answer(people[i]) for i in part]
            each.append((time.perf_counter() - start) / len(part))
            walked += twin.tests
            one.append(seconds(lambda: ours(method)))
            paper.append(seconds(lambda: ours(literal)))
        every.append(seconds(lambda: ours(method)))
    whole = np.array(set_up) + len(people) * np.array(each)

    def ratio(times: list[float]) -> float:
        return float(np.median(whole / np.array(times)))

    # A tau below the threshold lets points pass that the model declines; robx asks for both.
    accepted = np.asarray(twin.predict(np.array(theirs))) > 0.5
    difference = np.abs(np.array(theirs) - points[places]).max(axis=1)[accepted]

    return Speed(
        model=f"XGBoost 100x{depth}",
        tau=tau_used,
        tau_from="auto" if tau == "auto" else "paper",
        twin_s=float(np.median(whole)),
        twin_set_up_s=float(np.median(set_up)),
        one_thread_s=float(np.median(one)),
        one_thread_ratio=ratio(one),
        all_threads_s=float(np.median(every)),
        all_threads_ratio=ratio(every),
        paper_s=float(np.median(paper)),
        paper_ratio=ratio(paper),
        max_difference=float(difference.max()),
        n_differ=int((difference > 0).sum()),
        twin_declined=int((~accepted).sum()),
        twin_tests=twin.tests_of_support / len(people) + walked / len(places),
        robx_tests=count_tests(robx.Problem(model, data.X, data.schema), method, people),
    )


def print_speed(lines: list[Speed]) -> None:
    print(
        f"\n(a) RobX for {APPLICANTS} declined applicants, set-up included; ms an applicant, and "
        "how many\n    times faster than Algorithm 1 over XGBoost's batched predict on one thread\n"
    )
    print(
        f"{'':18}{'tau':>13} | {'twin':>7} | {'1 thread':>8}{'ratio':>8} | {'all':>7}{'ratio':>8}"
        f" | {'as paper':>8}{'ratio':>8}{'max diff':>9}{'differ':>7} | {'tests: twin':>11}"
        f"{'robx':>7}"
    )
    for line in lines:
        times = [line.twin_s, line.one_thread_s, line.all_threads_s, line.paper_s]
        twin, one, every, paper = (1e3 * t / APPLICANTS for t in times)
        tau = f"{line.tau_from} {line.tau:.3f}"
        print(
            f"{line.model:18}{tau:>13} | {twin:7.1f} | {one:8.2f}{line.one_thread_ratio:7.1f}x | "
            f"{every:7.2f}{line.all_threads_ratio:7.1f}x | {paper:8.2f}{line.paper_ratio:7.1f}x"
            f"{line.max_difference:9.1g}{line.n_differ:7} | {line.twin_tests:11.1f}"
            f"{line.robx_tests:7.1f}"
        )
    declined = sum(line.twin_declined for line in lines)
    print(
        "\n    as paper: 1000 Gaussian draws, every test in full, one thread; its points against "
        f"the twin's,\n    over {TWIN_APPLICANTS} applicants a line ({declined} in all left out, "
        "whose points from the twin the model declines).\n    The goal is 40x."
    )


# --- (b) getting ready ----------------------------------------------------------------------------


@dataclass
class SetUp:
    """One model: seconds to get ready on one thread, as shares of one pass over 1000 copies."""

    model: str
    pass_s: float
    problem_s: float
    problem_share: float
    measured_s: float
    measured_share: float


def get_ready(data: Heloc, depth: int) -> SetUp:
    model = boosted(data.X, data.y, depth)
    predict = batched(model)
    noise = SIGMA * np.random.default_rng(0).standard_normal((K, data.X.shape[1]))

    def one_pass() -> None:
        for row in data.X[:PASS_ROWS]:
            predict(row + noise)

    def lazily() -> robx.Problem:
        return robx.Problem(model, data.X, data.schema)

    def in_full() -> None:
        lazily().stability_of_support(robx.Noise())

    in_full()
    theirs, problem, measured = [], [], []
    with one_core():
        for _ in range(REPEATS):
            theirs.append(seconds(one_pass) * len(data.X) / PASS_ROWS)
            problem.append(seconds(lazily))
            measured.append(seconds(in_full))
    return SetUp(
        model=f"XGBoost 100x{depth}",
        pass_s=float(np.median(theirs)),
        problem_s=float(np.median(problem)),
        problem_share=float(np.median(np.array(problem) / np.array(theirs))),
        measured_s=float(np.median(measured)),
        measured_share=float(np.median(np.array(measured) / np.array(theirs))),
    )


def print_set_up(lines: list[SetUp], n_rows: int) -> None:
    print(
        f"\n(b) Getting ready for {n_rows} training rows on one thread, as a share of one predict "
        f"pass over\n    {K} copies of each row; seconds\n"
    )
    print(
        f"{'':18}{'pass':>8} | {'Problem(...)':>13}{'share':>8} | "
        f"{'and R of all accepted':>22}{'share':>8}"
    )
    for line in lines:
        print(
            f"{line.model:18}{line.pass_s:8.2f} | {line.problem_s:13.3f}"
            f"{f'1/{1 / line.problem_share:.0f}':>8} | {line.measured_s:22.3f}"
            f"{f'1/{1 / line.measured_share:.0f}':>8}"
        )
    print("\n    The goal is at most 1/15.")


# --- (c) the size of the support ------------------------------------------------------------------


@dataclass
class Size:
    """One size of the support, in a process of its own."""

    n_rows: int
    problem_s: float
    tau_s: float
    first_ms: float
    next_ms: float
    ok: int
    memory_mb: float
    table_mb: float


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


def at_size(n_rows: int) -> Size:
    """HELOC drawn again with jitter until there are n rows; the smaller tables begin the larger."""
    data = Heloc.load()
    model = boosted(data.X, data.y, 6)
    people = data.declined(model, 2 * SIZE_APPLICANTS)
    rows = np.random.default_rng(1).integers(len(data.X), size=max(SIZES))[:n_rows]
    support = data.X[rows]
    jitter = np.random.default_rng(2)
    for start in range(0, n_rows, 1000):  # in parts, so that a table does not depend on its length
        part = support[start : start + 1000]
        part += 0.02 * jitter.standard_normal((1000, part.shape[1]))
    np.clip(support, 0, 1, out=support)
    small = robx.Problem(model, support[:500], data.schema)
    robx.RobX().explain(small, people[:10])  # compiles
    method = robx.RobX(step=STEP, n_targets=TARGETS)
    with Peak() as peak:
        start_s = time.perf_counter()
        problem = robx.Problem(model, support, data.schema)
        problem_s = time.perf_counter() - start_s
        tau_s = seconds(lambda: problem.stability_of_support(method.noise()))
        first_s = seconds(lambda: method.explain(problem, people[:SIZE_APPLICANTS]))
        start_s = time.perf_counter()
        answer = method.explain(problem, people[SIZE_APPLICANTS:])
        next_s = time.perf_counter() - start_s
    return Size(
        n_rows=n_rows,
        problem_s=problem_s,
        tau_s=tau_s,
        first_ms=1e3 * first_s / SIZE_APPLICANTS,
        next_ms=1e3 * next_s / SIZE_APPLICANTS,
        ok=int(answer.ok.sum()),
        memory_mb=peak.mb,
        table_mb=support.nbytes / 2**20,
    )


def grow() -> list[Size]:
    found = []
    for n_rows in SIZES:
        # A new process each time: memory that was freed before would hide a peak.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            found.append(pool.submit(at_size, n_rows).result())
    return found


def print_sizes(lines: list[Size]) -> None:
    print(
        f"\n(c) RobX (auto tau) against the size of the support; XGBoost 100x6, all cores; ms an "
        f"applicant, for the first\n    {SIZE_APPLICANTS} on a new Problem and the next "
        f"{SIZE_APPLICANTS}\n"
    )
    print(
        f"{'rows':>9} | {'Problem s':>9}{'grows':>7} | {'auto tau s':>10}{'grows':>7} | "
        f"{'first ms':>9}{'grows':>7} | {'next ms':>9}{'grows':>7} | {'ok':>4} | "
        f"{'peak MB':>8} (table)"
    )
    for before, line in zip([None, *lines], lines, strict=False):
        cells = []
        for name, width in (("problem_s", 9), ("tau_s", 10), ("first_ms", 9), ("next_ms", 9)):
            value = getattr(line, name)
            grows = f"{value / getattr(before, name):.1f}x" if before else ""
            cells.append(f"{value:{width}.3f}{grows:>7}")
        print(
            f"{line.n_rows:9} | {' | '.join(cells)} | {line.ok:4} | "
            f"{line.memory_mb:8.0f} ({line.table_mb:.0f})"
        )
    grown = lines[-1].next_ms / lines[0].next_ms
    print(
        f"\n    {lines[-1].n_rows // lines[0].n_rows} times the rows: {grown:.1f} times the time "
        "an applicant. The peak is above the inputs, of which\n    the table is one."
    )


# --- (d) side by side with DiCE -------------------------------------------------------------------


@contextlib.contextmanager
def limited(limit: int) -> Iterator[None]:
    """Raise TimeoutError after some seconds, where the system has alarms."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(limit)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Dice:
    """DiCE with its own settings, all columns numbers."""

    def __init__(self, method: str, model: Any, X: pd.DataFrame, y: Any) -> None:
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002 - the state that DiCE draws from
        self.names = list(X.columns)
        data = dice_ml.Data(
            dataframe=X.assign(good=y), continuous_features=self.names, outcome_name="good"
        )
        model = dice_ml.Model(model=model, backend="sklearn")
        self.explainer = dice_ml.Dice(data, model, method=method)

    def explain(self, people: pd.DataFrame) -> pd.DataFrame:
        """One counterfactual a person; a row of NaN where it finds none in time."""
        rows = [self._one(people.iloc[[i]]) for i in range(len(people))]
        return pd.DataFrame(rows, columns=self.names, index=people.index)

    def _one(self, person: pd.DataFrame) -> list[float]:
        for _ in range(DICE_TRIES):
            # The genetic search stops with ValueError when its population dies out.
            with (
                contextlib.suppress(TimeoutError, UserConfigValidationException, ValueError),
                contextlib.redirect_stderr(io.StringIO()),
                contextlib.redirect_stdout(io.StringIO()),
                warnings.catch_warnings(),
                limited(DICE_LIMIT),
            ):
                warnings.simplefilter("ignore")
                found = self.explainer.generate_counterfactuals(
                    person, total_CFs=1, desired_class=1
                )
                frame = found.cf_examples_list[0].final_cfs_df_sparse
                if frame is not None and len(frame):
                    return list(frame[self.names].iloc[0])
        return [np.nan] * len(self.names)


@dataclass
class Worth:
    """One method on German Credit."""

    method: str
    seconds_each: float
    coverage: float
    kept: float
    kept_elsewhere: float
    cost: float
    changes: float
    stability: float


class German:
    """German Credit: a model on half of it, declined applicants of the other half."""

    def __init__(self) -> None:
        X, y, _ = robx.datasets.load_german()
        order = np.random.default_rng(0).permutation(len(X))
        self.X, self.y = X.iloc[order[:500]], y.iloc[order[:500]]
        others, their_y = X.iloc[order[500:]], y.iloc[order[500:]]
        self.model = boosted(self.X, self.y, 4)
        self.people = others[self.model.predict_proba(others)[:, 1] <= 0.5][:GERMAN_APPLICANTS]
        self.retrained = self._again(self.X, self.y)
        self.elsewhere = self._again(others, their_y)
        self.problem = robx.Problem(self.model, self.X)

    @staticmethod
    def _again(X: pd.DataFrame, y: pd.Series) -> list[Any]:
        found = []
        for seed in range(1, RETRAININGS + 1):
            rows = np.random.default_rng(seed).permutation(len(X))[: int(0.9 * len(X))]
            found.append(boosted(X.iloc[rows], y.iloc[rows], 4, seed))
        return found

    def worth(self, name: str, run: Callable[[], pd.DataFrame]) -> tuple[Worth, pd.DataFrame]:
        """Run a method, and look at what it gives."""
        with one_core():
            start = time.perf_counter()
            points = run()
            took = time.perf_counter() - start
        found = np.asarray(~points.isna().to_numpy().any(axis=1))
        found[found] = self.model.predict_proba(points[found])[:, 1] > 0.5
        there, asked = points[found].astype(np.int64), self.people[found]

        def kept(models: list[Any]) -> float:
            return float(np.mean([m.predict_proba(there)[:, 1] > 0.5 for m in models]))

        changes = (there.to_numpy() != asked.to_numpy()).sum(axis=1)
        line = Worth(
            method=name,
            seconds_each=took / max(int(found.sum()), 1),
            coverage=float(found.mean()),
            kept=kept(self.retrained),
            kept_elsewhere=kept(self.elsewhere),
            cost=float(self.problem.schema.cost(there, asked).mean()),
            changes=float(changes.mean()),
            stability=float(robx.stability(self.problem.model, there, scale=self.X).value.mean()),
        )
        return line, points

    def dice(self, method: str) -> pd.DataFrame:
        """From the model on; rows without an answer are NaN."""
        return Dice(method, self.model, self.X, self.y).explain(self.people)

    def ours(self, method: Any) -> pd.DataFrame:
        """From the model on; rows without an answer are NaN."""
        answer = method.explain(robx.Problem(self.model, self.X), self.people)
        points: pd.DataFrame = answer.points
        return points.where(pd.Series(answer.ok, index=points.index), np.nan)


def side_by_side() -> list[Worth]:
    german = German()
    german.ours(robx.RobX())  # compiles
    lines = []
    for name, method in (
        ("nearest neighbour", robx.NearestNeighbour()),
        ("RobX", robx.RobX()),
    ):
        lines.append(german.worth(name, lambda method=method: german.ours(method))[0])  # type: ignore[misc]
    for how in ("random", "genetic"):
        line, points = german.worth(
            f"DiCE {how}",
            lambda how=how: german.dice(how),  # type: ignore[misc]
        )
        lines.append(line)
    over, _ = german.worth("RobX over DiCE genetic", lambda: german.ours(robx.RobX(base=points)))
    over.seconds_each += line.seconds_each * line.coverage / over.coverage
    return [*lines, over]


def print_worth(lines: list[Worth]) -> None:
    print(
        f"\n(d) German Credit, XGBoost 100x4 on half of it; {GERMAN_APPLICANTS} declined of the "
        "other half; one thread\n"
    )
    print(
        f"{'':24}{'s each':>8}{'found':>8} | {'kept: 90 %':>10}{'other half':>11} | "
        f"{'L1 cost':>8}{'changes':>8}{'mean R':>8}"
    )
    for line in lines:
        print(
            f"{line.method:24}{line.seconds_each:8.4f}{line.coverage:8.0%} | {line.kept:10.1%}"
            f"{line.kept_elsewhere:11.1%} | {line.cost:8.3f}{line.changes:8.1f}"
            f"{line.stability:8.3f}"
        )
    print(
        f"\n    kept: accepted after retraining, mean of {RETRAININGS} models, each trained on a "
        "random 90 %\n    of the training half, or of the other half. Times include set-up."
    )


# --- all ------------------------------------------------------------------------------------------


def main() -> None:
    data = Heloc.load()
    print(f"{data.name}, {len(data.X)} x {data.X.shape[1]} training rows; K = {K}")
    speed = [compare(data, depth, tau) for depth in (3, 6) for tau in (PAPER_TAU, "auto")]
    print_speed(speed)
    ready = [get_ready(data, depth) for depth in (3, 6)]
    print_set_up(ready, len(data.X))
    sizes = grow()
    print_sizes(sizes)
    worth = side_by_side()
    print_worth(worth)
    figures = {
        "data": data.name,
        "shape": data.X.shape,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "robx": [asdict(line) for line in speed],
        "set_up": [asdict(line) for line in ready],
        "sizes": [asdict(line) for line in sizes],
        "german": [asdict(line) for line in worth],
    }
    Path("bench-methods.json").write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()

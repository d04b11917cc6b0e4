"""How fast robx finds robust counterfactuals, and what they are worth, in one run.

Four tables:

- RobX against Algorithm 1 written down literally over XGBoost's own batched predict;
- getting ready for a training table, against one pass of that predict over 1000 copies of its rows;
- time and memory against the number of rows of the support;
- worth and time side by side with DiCE.

What counts are ratios within a run. The tables go to benchmarks/results/methods.md.

    make bench-methods
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.common import Floats, Heloc, boosted, one_core, printed_to, seconds
from benchmarks.dice import print_worth, side_by_side
from benchmarks.sizes import grow, print_sizes
from numpy.typing import NDArray

import naive
import robx
from robx.problem import Gate
from robx.robustness.draws import draw

Bools = NDArray[np.bool_]

K, SIGMA = 1000, 0.1
STEP, TARGETS, PAPER_TAU = 0.1, 5, 0.65
APPLICANTS, TWIN_APPLICANTS, REPEATS = 500, 45, 3
PASS_ROWS = 300


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

    class Counting(Gate):
        def passes(self, points: Floats, tau: float, noise: robx.Noise) -> Bools:
            nonlocal tests
            tests += len(points)
            return super().passes(points, tau, noise)

    problem.gate = Counting(problem.gate.rules, problem.gate.view, problem.gate.threshold)
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


if __name__ == "__main__":
    with printed_to("methods", "make bench-methods", ("xgboost-cpu", "dice-ml")):
        main()

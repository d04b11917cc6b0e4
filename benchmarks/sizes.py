"""Time and memory of RobX against the number of rows of the support."""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from benchmarks.common import Heloc, Peak, boosted, seconds

import robx

__all__ = ["Size", "grow", "print_sizes"]

STEP, TARGETS = 0.1, 5
SIZES = (1_000, 10_000, 100_000, 1_000_000)
SIZE_APPLICANTS = 200


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
        tau_s = seconds(lambda: problem.stability_of_support(method.noise))
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

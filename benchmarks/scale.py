"""Cases that grow: applicants without an answer, wide tables, deep forests.

Each is compared with the model library's own predict_proba of the rows that the same question takes
literally: every accepted row adapted to an applicant; 1024 noisy copies of a point. One thread;
times are of the processor. Peak memory is what Python and numpy hold at most beyond the problem.

    python -m benchmarks.scale [--small]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.common import Floats, Ratio, cpu_seconds, one_core, peak_mb
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from xgboost import XGBClassifier

import robx

ROUNDS, COPIES, SIGMA = 3, 1024, 0.1
N_FIXED = 4


@dataclass
class Line:
    """One case: times of both sides a round, for one applicant or one row."""

    name: str
    what: str
    ours: list[float]
    library: list[float]
    peak_mb: float

    def __str__(self) -> str:
        ratio = Ratio.of(self.library, self.ours)
        return (
            f"| {self.name} | {self.what} | {1e3 * np.median(self.ours):.2f} | "
            f"{1e3 * np.median(self.library):.2f} | {ratio.median:.1f}x "
            f"[{ratio.least:.1f}, {ratio.most:.1f}] | {self.peak_mb:.0f} |"
        )


def compare(
    name: str, what: str, ours: Callable[[], Any], n: int, library: Callable[[], Any], m: int
) -> Line:
    """Time both in turn, for n and m units of work."""
    ours()  # compiles
    line = Line(name, what, [], [], 0.0)
    for _ in range(ROUNDS):
        line.ours.append(cpu_seconds(ours) / n)
        line.library.append(cpu_seconds(library) / m)
    line.peak_mb = peak_mb(ours)
    return line


def without_answer(n: int) -> Line:
    """Applicants who cannot change what decides: most have no accepted row in reach."""
    rng = np.random.default_rng(0)
    X, people = rng.random((n, 20)), rng.random((n // 10, 20))
    odds = 32 * (X[:, :N_FIXED].mean(axis=1) - 0.68)
    y = rng.random(n) < 1 / (1 + np.exp(-odds))
    model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
    schema = robx.Schema(
        [robx.Feature(f"x{j}", change="none" if j < N_FIXED else "any") for j in range(20)]
    )
    problem, method = robx.Problem(model, X, schema), robx.NearestNeighbour()
    refused = people[~(method.explain(problem, people).ok | (problem.model.score(people) > 0.5))]
    some = refused[:20]

    def adapt_and_predict() -> None:
        for person in some:
            rows = problem.support.rows.copy()
            rows[:, :N_FIXED] = person[:N_FIXED]
            model.predict_proba(rows)

    what = f"an applicant ({len(refused)} without answer, {len(problem.support)} accepted rows)"
    return compare(
        "NearestNeighbour", what, lambda: method.explain(problem, refused), len(refused),
        adapt_and_predict, len(some),
    )  # fmt: skip


def declined(problem: robx.Problem, rng: np.random.Generator, n: int) -> Floats:
    rows = rng.random((20 * n, len(problem.names)))
    return rows[problem.model.score(rows) <= 0.5][:n]


def noisy_copies(model: Any, rows: Floats) -> Callable[[], None]:
    """Literal stability tests by the library: one for each row."""

    def predict() -> None:
        rng = np.random.default_rng(0)
        for row in rows:
            model.predict_proba(row + SIGMA * rng.standard_normal((COPIES, len(row))))

    return predict


def wide(n: int, d: int) -> Line:
    """A table of many columns, of which the model splits on some."""
    rng = np.random.default_rng(0)
    X = rng.random((n, d))
    y = (X - 0.5) @ rng.standard_normal(d) / np.sqrt(d) * 6 + 3 * X[:, 0] > 1.5
    model = XGBClassifier(n_estimators=100, max_depth=4, n_jobs=1, random_state=0).fit(X, y)
    problem, method = robx.Problem(model, X), robx.RobX()
    people = declined(problem, rng, 10)
    literal = noisy_copies(model, people[:3])
    what = f"RobX for an applicant, {d} columns; the library: one test"
    return compare(
        "wide table", what, lambda: method.explain(problem, people), len(people), literal, 3
    )


def deep(n: int, n_trees: int) -> list[Line]:
    """A forest of fully grown trees."""
    rng = np.random.default_rng(0)
    X = rng.random((n, 20))
    odds = 8 * (X - 0.5) @ rng.standard_normal(20)
    y = rng.random(n) < 1 / (1 + np.exp(-odds))
    model = RandomForestClassifier(n_trees, random_state=0).fit(X, y)
    problem = robx.Problem(model, X)
    method = robx.RobX(tau=0.75)
    people = declined(problem, rng, 10)
    literal = noisy_copies(model, X[:2])
    trees = f"{n_trees} trees, {problem.model.trees.n_leaves if problem.model.trees else 0} leaves"
    return [
        compare(
            "deep forest", f"R of a row, {trees}",
            lambda: robx.stability(problem.model, X[:64]), 64, literal, 2,
        ),
        compare(
            "deep forest", "RobX for an applicant; the library: one test",
            lambda: method.explain(problem, people), len(people), literal, 2,
        ),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--small", action="store_true", help="a tenth of the size")
    part = 10 if parser.parse_args().small else 1
    print("| case | a unit of work | robx, ms | library, ms | ratio [range] | peak MB |")
    print("| --- | --- | --- | --- | --- | --- |")
    with one_core():
        print(without_answer(10_000 // part), flush=True)
        print(wide(5_000 // part, 2_000 // part), flush=True)
        for line in deep(10_000 // part, 500 // part):
            print(line, flush=True)


if __name__ == "__main__":
    main()

"""Worth and time of RobX side by side with DiCE, on German Credit."""

from __future__ import annotations

import contextlib
import io
import random
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import dice_ml
import numpy as np
import pandas as pd
from benchmarks.common import boosted, one_core
from raiutils.exceptions import UserConfigValidationException

import robx

__all__ = ["Worth", "print_worth", "side_by_side"]

GERMAN_APPLICANTS, RETRAININGS = 40, 20
DICE_LIMIT, DICE_TRIES = 20, 3


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
    """German Credit: a model on a random half of it, declined applicants of the other half."""

    def __init__(self, split: int = 0) -> None:
        X, y, _ = robx.datasets.load_german()
        order = np.random.default_rng(split).permutation(len(X))
        self.X, self.y = X.iloc[order[:500]], y.iloc[order[:500]]
        others, their_y = X.iloc[order[500:]], y.iloc[order[500:]]
        self.model = boosted(self.X, self.y, 4)
        self.people = others[self.model.predict_proba(others)[:, 1] <= 0.5][:GERMAN_APPLICANTS]
        self.retrained = self._again(self.X, self.y)
        self.elsewhere = self._again(others, their_y)
        self.problem = robx.Problem(self.model, self.X, robx.Schema.infer(self.X))

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
        answer = method.explain(robx.Problem(self.model, self.X, self.problem.schema), self.people)
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

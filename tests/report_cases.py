"""Answers that are put together by hand, so that every number of a report is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from robx.answers import Certificate, Counterfactuals, Status
from robx.promises import Check
from robx.schema import Feature, Schema

__all__ = ["EVIL", "SCHEMA", "certified", "checked", "made", "two_ways"]

#: What must never reach a page as it is.
EVIL = "</script><img src=x onerror=\"alert('1')\"> & |*_`[x](y)"
SCHEMA = Schema(
    (
        Feature("age", "integer", change="none", scale=50),
        Feature(
            "savings",
            "ordinal",
            change="increase",
            levels=(0, 1, 2),
            labels=("none", "some", "much"),
            scale=2,
        ),
        Feature("amount", "continuous", scale=1000),
    )
)
OK, BEST, NONE, GAVE_UP, ACCEPTED = (
    *(Status.OK, Status.UNSTABLE, Status.INFEASIBLE),
    *(Status.BUDGET, Status.ACCEPTED),
)
NO_POINT = "no point passed R >= 0.8; the best seen has R = 0.7"
KEEPS = "no row of the support is accepted once it keeps "
OBSTACLES = {2: ("age (fixed)", "amount (fixed, at most 3)"), 5: ("amount (fixed, at most 3)",)}
#: Index, status, reason, savings after, amount after, score, stability.
PEOPLE: list[tuple[str, Status, str, int, float, float, float]] = [
    ("ann", ACCEPTED, "", 0, 500, 0.9, 0.85),
    ("bob", OK, "", 1, 500, 0.8, 0.81),
    ("cy", NONE, KEEPS + "age (fixed), amount (fixed, at most 3)", 0, 500, 0.2, 0.1),
    ("dee", OK, "", 2, 250, 0.95, 0.9),
    ("eve", BEST, NO_POINT, 1, 500, 0.6, 0.7),
    ("flo", NONE, KEEPS + "amount (fixed, at most 3)", 0, 500, 0.2, np.nan),
    ("gus", GAVE_UP, "none of the 9 nearest rows is accepted", 0, 500, 0.2, 0.1),
    ("hal", OK, "", 0, 100, 0.7, 0.82),
]


def made(schema: Schema = SCHEMA, **changes: Any) -> Counterfactuals:
    """Give answers for eight people, in which every status occurs."""
    index, status, reason, savings, amount, score, stability = zip(*PEOPLE, strict=True)
    n = len(PEOPLE)
    columns = [feature.name for feature in schema]
    before = pd.DataFrame([[30, 0, 500.0]] * n, columns=columns, index=list(index))
    after = before.copy()
    after[columns[1]], after[columns[2]] = list(savings), np.array(amount, dtype=float)
    statuses = np.empty(n, dtype=object)
    statuses[:] = status
    given: dict[str, Any] = {
        "method": "RobX",
        "settings": {"norm": 1, "tau": 0.8, "tau_reason": "as low as it can be", "base": None},
        "schema": schema,
        "applicants": before,
        "points": after,
        "status": statuses,
        "reason": tuple(reason),
        "cost": schema.cost(after, before),
        "score": np.array(score),
        "stability": np.array(stability),
        "n_changes": np.array([len(words) for words in schema.words(before, after)]),
        "norm": 1,
        "obstacles": tuple(OBSTACLES.get(i, ()) for i in range(n)),
        "origin": {
            "model": {"digest": "abc123", "source": "XGBoost 3", "n_trees": 60, "kind": "trees"},
            "target": 1,
            "threshold": 0.5,
            "n_support": 1234,
            "versions": {"robx": "9.9", "numpy": "2.0"},
            "seed": 7,
            "n_models": 48,
        },
    }
    return Counterfactuals(**{**given, **changes})


def certified(*accepting: int, n_models: int = 10, **changes: Any) -> Counterfactuals:
    """Give the same answers with a certificate; `accepting` is of bob, dee, eve and hal."""
    answers = made(**changes)
    counts = np.zeros(len(answers), dtype=np.int64)
    counts[answers.answered] = accepting
    words = "drawn like these"
    return replace(
        answers, certificate=Certificate(counts, n_models, answers.answered, 0.95, words)
    )


def checked(answers: Counterfactuals, kept: list[str]) -> Check:
    """Give a check in which a new model keeps the answers of these people."""
    names = list(answers.applicants.index)
    return Check(
        applicants=np.array(names),
        status=answers.status,
        promised=answers.ok,
        kept=np.array([name in kept for name in names]),
        score_before=answers.score,
        score=answers.score,
        changes=("",) * len(names),
        reason=("",) * len(names),
        threshold=0.5,
        confidence=0.95,
        model={},
    )


def two_ways(**changes: Any) -> Counterfactuals:
    """Give answers with an alternative for dee, the fourth, and for nobody else."""
    first = made(**changes)
    points = first.points.copy()
    points.iloc[3] = [30, 0, 90.0]
    status = np.array([s if i == 3 else Status.BUDGET for i, s in enumerate(first.status)])
    return replace(first, alternatives=(replace(first, points=points, status=status),))

"""How many changes Frugal asks for, how many of them are tiny, and what fewer of them cost.

Every split trains a model on two fifths of the rows and five models on another two fifths, which
the search never sees, and asks for declined applicants of the last fifth. A change is *tiny* if it
moves a feature by less than two hundredths of its unit. *Kept* is the share of the five other models
that accept an answer. Means over the splits, with their range.

    python -m benchmarks.changes                          # writes benchmarks/results/changes.md
    python -m benchmarks.changes --adult <adult.data> --heloc <file>
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.common import cpu_seconds
from lightgbm import LGBMClassifier
from xgboost import XGBClassifier

import robx
from robx.retrained import acceptance, import_models, retrainings

SPLITS, APPLICANTS, SEARCHING, JUDGES = 5, 40, 16, 5
TINY = 0.02
PRICES = (0.0, 0.01, 0.02, 0.05, 0.1)
LIMITS = (1, 2, 3)
RESULTS = Path(__file__).parent / "results" / "changes.md"

ADULT = (
    "age workclass fnlwgt education education_num marital_status occupation relationship race sex "
    "capital_gain capital_loss hours_per_week native_country income"
).split()


@dataclass
class Data:
    """A table with labels, its schema, and what learns it."""

    X: pd.DataFrame
    y: Any
    schema: robx.Schema
    estimator: Callable[[int], Any]


def _xgboost(seed: int) -> Any:
    return XGBClassifier(
        n_estimators=100, max_depth=4, learning_rate=0.1, n_jobs=1, random_state=seed
    )


def _lightgbm(seed: int) -> Any:
    return LGBMClassifier(n_estimators=60, num_leaves=15, n_jobs=1, verbose=-1, random_state=seed)


def adult(file: Path) -> Data:
    """Census income, 6000 of its rows; what nobody can change is fixed."""
    table = pd.read_csv(file, names=ADULT, skipinitialspace=True, na_values="?").dropna()
    table = table.sample(6000, random_state=0).reset_index(drop=True)
    y = (table.pop("income") == ">50K").astype(int)
    table = table.drop(columns=["fnlwgt", "education"])
    for name in table.select_dtypes(exclude="number"):
        table[name] = table[name].astype("category")
    fixed = ("sex", "race", "native_country", "marital_status", "relationship")
    schema = robx.Schema.infer(table).override(
        {name: {"change": "none"} for name in fixed},
        age={"change": "increase"},
        education_num={"change": "increase"},
    )
    return Data(table, y, schema, _lightgbm)


def weak(n: int = 4000, d: int = 24) -> Data:
    """Many whole numbers that share four causes; each tells a little, as in a credit file."""
    rng = np.random.default_rng(7)
    causes = rng.normal(size=(n, 4))
    table = causes @ rng.normal(size=(4, d)) + 0.8 * rng.normal(size=(n, d))
    logit = table @ rng.uniform(0.1, 0.5, d) * rng.choice([1, 1, -1]) / 2
    X = pd.DataFrame(np.rint(20 * table + 60), columns=[f"c{j}" for j in range(d)])
    y = (logit + rng.logistic(size=n) > 0.5).astype(int)
    return Data(X, y, robx.Schema.infer(X), _xgboost)


def mixed(n: int = 3000) -> Data:
    """Amounts that are mostly zero, counts, categories: independent of each other."""
    rng = np.random.default_rng(11)
    X = pd.DataFrame(
        {
            "payment": np.where(rng.random(n) < 0.6, 0, rng.gamma(1.5, 400, n)).round(),
            "saving": np.where(rng.random(n) < 0.3, 0, rng.gamma(2, 900, n)).round(),
            "income": rng.normal(3200, 900, n).clip(500).round(-1),
            "years": rng.poisson(5, n).astype(float),
            "cards": rng.poisson(2, n).astype(float),
            "calls": rng.poisson(1, n).astype(float),
            "load": rng.random(n).round(2),
            "home": pd.Categorical(rng.choice(["rent", "own", "none"], n, p=[0.5, 0.3, 0.2])),
        }
    )
    logit = 0.0006 * (X["income"] - 3600) + 0.0008 * X["payment"] + 0.0003 * X["saving"]
    logit += 0.15 * (X["years"] - 5) - 0.5 * (X["calls"] - 1) - 2 * (X["load"] - 0.5)
    logit += 0.8 * (X["home"] == "own")
    y = (logit + rng.logistic(size=n) > 1.2).astype(int)
    return Data(X, y, robx.Schema.infer(X), _lightgbm)


def data_sets(files: dict[str, Path | None]) -> dict[str, Data]:
    out = {}
    german = robx.datasets.load_german()
    out["German Credit"] = Data(german.X, german.y, german.schema, _xgboost)
    if files["adult"]:
        out["Adult"] = adult(files["adult"])
    if files["heloc"]:
        heloc = robx.datasets.load_heloc(files["heloc"])
        out["HELOC"] = Data(heloc.X, heloc.y, heloc.schema, _xgboost)
    return {**out, "many weak columns": weak(), "mixed columns": mixed()}


@dataclass
class Split:
    """A model, those that come after it, and applicants that it declines."""

    problem: robx.Problem
    searching: tuple[Any, ...]
    judges: list[Any]
    people: pd.DataFrame

    @classmethod
    def of(cls, data: Data, seed: int) -> Split:
        """Cut the rows by a seed."""
        order = np.random.default_rng(seed).permutation(len(data.X))
        cut = [int(0.4 * len(order)), int(0.8 * len(order))]
        ours, theirs, rest = np.split(order, cut)
        X, y = data.X.iloc[ours], np.asarray(data.y)[ours]
        model = data.estimator(0).fit(X, y)
        problem = robx.Problem(model, X, data.schema)
        searching = tuple(retrainings(data.estimator(0), X, y, SEARCHING, seed))
        judges = []
        rng = np.random.default_rng(seed)
        for k in range(JUDGES):
            rows = rng.choice(theirs, len(theirs))
            judges.append(data.estimator(k + 1).fit(data.X.iloc[rows], np.asarray(data.y)[rows]))
        people = data.X.iloc[rest]
        people = people[model.predict_proba(people)[:, 1] <= 0.5][:APPLICANTS]
        return cls(problem, searching, import_models(problem, judges), people)

    def fresh(self) -> robx.Problem:
        """Give the problem as if nobody had asked yet."""
        p = self.problem
        return robx.Problem(p.model, p.codec.write(p.training), p.schema)


def shares(problem: robx.Problem, points: Any, people: Any) -> Any:
    """How far each feature of each answer moves, in its own unit: (n, features)."""
    rules = problem.rules
    Z, X = problem.read(points).matrix, problem.read(people).matrix
    weight = np.array([f.weight for f in rules.features])
    parts = [
        rules.cost(np.where(columns, Z, X), X, 1) / weight[columns].max()
        for columns in rules.features_of_columns
    ]
    return np.array(parts).T


def figures(split: Split, method: robx.Method) -> dict[str, float]:
    """Ask a method, and measure its answers."""
    method.explain(split.problem, split.people[:2])  # compiles, and measures the support
    answers: list[robx.Counterfactuals] = []
    took = cpu_seconds(lambda: answers.append(method.explain(split.problem, split.people)))
    answer = answers[0]
    ok, given = answer.ok, answer.answered
    moved = shares(split.problem, answer.points, split.people)[ok]
    kept = acceptance(split.judges, answer.points, 0.5)
    best = given & ~ok
    return {
        "ok": ok.mean(),
        "best found": best.mean(),
        "L1": answer.cost[ok].mean() if ok.any() else np.nan,
        "changes": answer.n_changes[ok].mean() if ok.any() else np.nan,
        "tiny": ((moved > 0) & (moved < TINY)).sum(axis=1).mean() if ok.any() else np.nan,
        "with a tiny one": ((moved > 0) & (moved < TINY)).any(axis=1).mean(),
        "kept": kept[:, ok].mean() if ok.any() else np.nan,
        "margin": float(np.nanmean(answer.measured["retraining_margin"][ok]))
        if ok.any()
        else np.nan,
        "R": answer.stability[ok].mean() if ok.any() else np.nan,
        "ms": 1e3 * took / len(split.people),
    }

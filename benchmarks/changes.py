"""How many changes Frugal asks for, how many of them are tiny, and what a limit on them does.

Every split trains a model on two fifths of the rows and five models on another two fifths, which
the search never sees, and asks for declined applicants of the last fifth. A change is *tiny* if it
moves a feature by less than two hundredths of its unit. *Kept* is the share of the five other
models that accept an answer. *Missed* are, of those for whom some pair of features passes the test
(all pairs of values that accepted rows have are tried), those whom a limit of two changes leaves
without an answer. Times are of the processor.

    python -m benchmarks.changes --adult <adult.data> --heloc <file> --code now

writes benchmarks/results/changes.csv, one line per data set, split and setting, and changes.md: the
means over the splits with their range. Lines of another `--code`, such as an earlier commit that
was measured with PYTHONPATH, stay where they are.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.common import cpu_seconds
from lightgbm import LGBMClassifier
from xgboost import XGBClassifier

import robx
from robx.retrained import acceptance, import_models, retrainings

SPLITS, APPLICANTS, SEARCHING, JUDGES = 5, 24, 16, 5
TINY = 0.02
#: Quantiles of accepted rows that are tried for pairs, of columns with more values.
VALUES = 11
#: Applicants that are asked for three answers each.
FEW_APPLICANTS = 10
#: Data sets of more features have too many pairs to try them all.
MOST_FEATURES = 14
RESULTS = Path(__file__).parent / "results"
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    **{f"price {price:g}": {"price_per_change": price} for price in (0.0, 0.1)},
    **{f"at most {most}": {"max_changes": most} for most in (1, 2, 3)},
}

ADULT = ["age", "workclass", "fnlwgt", "education", "education_num", "marital_status"]
ADULT += ["occupation", "relationship", "race", "sex", "capital_gain", "capital_loss"]
ADULT += ["hours_per_week", "native_country", "income"]


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
    ok = answer.ok
    moved = shares(split.problem, answer.points, split.people)[ok]
    tiny = (moved > 0) & (moved < TINY)
    kept = acceptance(split.judges, answer.points, 0.5)
    out = {
        "ok": float(ok.mean()),
        "best found": float((answer.answered & ~ok).mean()),
        "ms": 1e3 * took / len(split.people),
    }
    if ok.any():
        out |= {
            "L1": float(answer.cost[ok].mean()),
            "changes": float(answer.n_changes[ok].mean()),
            "tiny": float(tiny.sum(axis=1).mean()),
            "with a tiny one": float(tiny.any(axis=1).mean()),
            "kept": float(kept[:, ok].mean()),
            "R": float(answer.stability[ok].mean()),
            "margin": float(answer.measured["retrained_score"][ok].mean()),
        }
    return out


def missed(split: Split) -> dict[str, float]:
    """Try all pairs, and see for whom one passes and Frugal finds none."""
    method = robx.Frugal(models=split.searching, max_changes=2)
    ok = method.explain(split.problem, split.people).ok
    problem, test = split.problem, replace(method.test(split.problem), max_outlier_score=np.inf)
    applicants, rows = problem.read(split.people), problem.support.rows
    options = []
    for columns in problem.rules.features_of_columns:
        seen = np.unique(rows[:, columns], axis=0)
        if len(seen) > VALUES and columns.sum() == 1 and not problem.rules.is_label[columns][0]:
            at = np.linspace(0, 1, VALUES)
            seen = np.unique(np.quantile(rows[:, columns], at, axis=0, method="nearest"), axis=0)
        options.append((columns, seen))
    possible = np.zeros(len(ok), dtype=bool)
    for i in range(len(ok)):
        points = []
        for (one, values), (two, others) in combinations(options, 2):
            pairs = np.tile(applicants.matrix[i], (len(values), len(others), 1))
            pairs[:, :, one] = values[:, None]
            pairs[:, :, two] = others[None]
            points.append(pairs.reshape(-1, pairs.shape[2]))
        tried = np.concatenate(points)
        tried, legal = problem.gate.admit(tried, applicants, np.full(len(tried), i))
        tried = tried[legal & problem.gate.accepts(tried)]
        assert test.panel is not None  # noqa: S101 - it has models
        tried = tried[test.panel.mean_scores(tried) >= test.min_retrained_score]
        possible[i] = test(tried).any()
    return {"possible": float(possible.sum()), "missed": float((possible & ~ok).sum())}


def left_out(split: Split) -> dict[str, float]:
    """See what each further answer does without: its part of the earlier answer's cost."""
    method = robx.Frugal(models=split.searching)
    people = split.people[:FEW_APPLICANTS]
    first = robx.alternatives(method, split.problem, people, 3)
    parts = []
    for before, after in pairwise([first, *first.alternatives]):
        one, two = (shares(split.problem, a.points, people) for a in (before, after))
        spared = np.where((one > 0) & (two == 0), one, 0.0).max(axis=1)
        both = before.ok & after.ok
        parts += (spared[both] / one[both].sum(axis=1)).tolist()
    trifles = np.mean(np.array(parts) < 0.1) if parts else np.nan
    return {"other answers": float(len(parts)), "differ by a trifle": float(trifles)}


# --- all ------------------------------------------------------------------------------------------


def measure(data: Data, seed: int, settings: dict[str, dict[str, Any]]) -> pd.DataFrame:
    """Measure every setting on a split."""
    lines, split = [], Split.of(data, seed)
    for setting, parameters in settings.items():
        found = figures(split, robx.Frugal(models=split.searching, **parameters))
        if setting == "at most 2" and data.X.shape[1] <= MOST_FEATURES:
            found |= missed(split)
        if setting == "default":
            found |= left_out(split)
        lines.append({"split": seed, "setting": setting, **found})
    return pd.DataFrame(lines)


def page(lines: pd.DataFrame) -> str:
    """Write the means over the splits, with their ranges, as a page."""
    figures = [str(name) for name in lines if name not in {"data", "split", "setting", "code"}]
    parts = ["# Changes: how many, how small, and with a limit", "", str(__doc__).split("\n\n")[1]]
    for name, some in lines.groupby("data", sort=False):
        parts += ["", f"## {name}", "", f"| code | setting | {' | '.join(figures)} |"]
        parts.append("| --- " * (len(figures) + 2) + "|")
        for (code, setting), cell in some.groupby(["code", "setting"], sort=False):
            cells = [_said(cell[figure]) for figure in figures]
            parts.append(f"| {code} | {setting} | {' | '.join(cells)} |")
    return "\n".join(parts) + "\n"


def _said(values: Any) -> str:
    known = values.dropna()
    return f"{known.mean():.3g} [{known.min():.3g}, {known.max():.3g}]" if len(known) else ""


def main() -> None:
    parser = argparse.ArgumentParser(description="Changes of Frugal's answers.")
    parser.add_argument("--adult", type=Path, help="adult.data of the UCI repository")
    parser.add_argument("--heloc", type=Path, help="HELOC's file")
    parser.add_argument("--code", default="now", help="name of the code that is measured")
    parser.add_argument("--settings", nargs="*", choices=SETTINGS, help="some of the settings")
    asked = parser.parse_args()
    settings = {name: SETTINGS[name] for name in asked.settings or SETTINGS}
    file = RESULTS / "changes.csv"
    lines = pd.read_csv(file) if file.exists() else pd.DataFrame({"code": []})
    lines = lines[lines["code"] != asked.code]
    for name, data in data_sets({"adult": asked.adult, "heloc": asked.heloc}).items():
        for seed in range(SPLITS):
            new = measure(data, seed, settings)
            new.insert(0, "code", asked.code)
            new.insert(1, "data", name)
            lines = pd.concat([lines, new])
            lines.to_csv(file, index=False, float_format="%.5g")
            (RESULTS / "changes.md").write_text(page(lines), encoding="utf-8")


if __name__ == "__main__":
    main()

"""What the demo is about: German Credit, rules that a bank could set, models, and three methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import robx

if TYPE_CHECKING:
    import pandas as pd

N_TODAY, N_LATER, N_SEEN_LATER, N_MODELS = 350, 350, 300, 20
#: How robust answers must be: as 50 % of the accepted rows.
LEVEL = 0.5
#: Models that help Frugal to search, as in `robx.explain`: a third of 48.
N_SEARCHING = 16
#: What a bank could ask of applicants: an account in credit, one step up in a job, an insurance but
#: no house, a smaller loan in hundreds and a duration in half years, a guarantor, fewer loans.
RULES: dict[str, dict[str, Any]] = {
    "checking": {"change": "increase", "low": 2},
    "amount": {"kind": "continuous", "change": "decrease", "resolution": 100},
    "duration": {"kind": "continuous", "change": "any", "resolution": 6},
    "employment": {"change": "increase", "max_increase": 1},
    "debtors": {"change": "increase"},
    "property": {"change": "increase", "high": 2},
    "housing": {"change": "none"},
    "credits": {"change": "decrease"},
}


class Rows(NamedTuple):
    """A table and its labels."""

    X: pd.DataFrame
    y: pd.Series[Any]


class Case(NamedTuple):
    """A split of the data: who trains the model today and later, who applies, and the rules."""

    today: Rows
    later: Rows
    new: Rows
    schema: robx.Schema


def german(seed: int = 0) -> Case:
    """Split German Credit: the paper's ten columns, and the duration of the loan."""
    import numpy as np

    X, y, schema = robx.datasets.load_german("all")
    names = [*robx.datasets.load_german().X.columns, "duration"]
    order = np.random.default_rng(seed).permutation(len(X))
    ends = (N_TODAY, N_TODAY + N_LATER)
    parts = [Rows(X[names].iloc[rows], y.iloc[rows]) for rows in np.split(order, ends)]
    given: dict[str, Any] = RULES
    rules = robx.Schema([schema[name] for name in names]).override(**given)
    return Case(parts[0], parts[1], parts[2], rules)


def trained(data: Rows, n_rows: int, seed: int = 0) -> Any:
    """Train a model, on a random choice of the rows where there are more."""
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingClassifier as Trees

    rows = np.arange(n_rows)
    if n_rows < len(data.X):
        rows = np.random.default_rng(seed).choice(len(data.X), n_rows, replace=False)
    model = Trees(max_iter=60, max_depth=3, learning_rate=0.15, random_state=seed)
    return model.fit(data.X.iloc[rows], data.y.iloc[rows])


def pipeline(data: Rows) -> Any:
    """Train a whole pipeline on the same columns: two are scaled, two are turned into flags."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    prepare = make_column_transformer(
        (StandardScaler(), ["amount", "duration"]),
        (OneHotEncoder(handle_unknown="ignore"), ["checking", "property"]),
        remainder="passthrough",
    )
    forest = RandomForestClassifier(50, min_samples_leaf=3, random_state=0)
    return make_pipeline(prepare, forest).fit(data.X, data.y)


def new_models(later: Rows, n_models: int = N_MODELS) -> list[Any]:
    """Train the model again on other people, each time on a part of them."""
    return [trained(later, N_SEEN_LATER, seed) for seed in range(1, n_models + 1)]


def evaluated(problem: robx.Problem, model: Any, case: Case, judges: list[Any]) -> pd.DataFrame:
    """Have new models judge the answers of three methods."""
    searching = list(robx.retrainings(model, *case.today, n_models=N_SEARCHING))
    methods = {
        "Nearest neighbour": robx.NearestNeighbour(),
        "RobX": robx.RobX(),
        "Frugal": robx.Frugal(models=searching, level=LEVEL),
    }
    table = robx.evaluate(problem, methods, judges, applicants=case.new.X, progress=False)
    return table.assign(scenario=f"{len(judges)} new models")


def figures(table: pd.DataFrame) -> pd.DataFrame:
    """Give a row for each method, with how many it answers and what became of the answers."""
    lines = table[table["seed"] == "all"].pivot_table("value", "method", "metric", sort=False)
    lines["declined"] = lines["n_applicants"].astype(int)
    lines["answered"] = (lines["coverage"] * lines["declined"]).round().astype(int)
    named = {"cost_l1": "cost", "n_changes": "changes", "validity": "still accepted"}
    columns = ["declined", "answered", "cost", "changes", "still accepted", "lof"]
    return lines.rename(columns=named)[columns].rename_axis(index="method", columns=None)

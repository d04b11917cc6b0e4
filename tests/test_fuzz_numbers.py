"""Hostile numbers and sizes in every kind of file: an error of robx or a right result, in bounds.

`make test` tries a share of what `make fuzz` does; ROBX_FUZZ is ten times the number of files a
format, ROBX_FUZZ_SEED chooses others.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler

import mutations
import robx
from explainer_cases import explainer_with_categories
from hostile import Outcome, read_all
from model_files import (
    HOLES,
    X,
    Y,
    save_catboost,
    save_lightgbm,
    save_robx,
    save_xgboost,
    save_xgboost_categories,
)

pytestmark = pytest.mark.fuzz

#: `make fuzz` sets the number of files, of which each takes a process here.
FILES = max(int(os.environ.get("ROBX_FUZZ", "40")) // 10, 1)
SEED = os.environ.get("ROBX_FUZZ_SEED", os.environ.get("ROBX_FUZZ", ""))
#: What any of these files may take, beyond what the process had.
MEMORY, SECONDS = 700 * 2**20, 20


def save_skops(model: Any) -> Callable[[Path], None]:
    return lambda path: skops.io.dump(model.fit(HOLES if "Hist" in str(model) else X, Y), path)


def save_pipeline(path: Path) -> None:
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), [0, 1]),
        (OneHotEncoder(min_frequency=3, drop="first", handle_unknown="ignore"), [2]),
        remainder=KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"),
    )
    model = make_pipeline(columns, RandomForestClassifier(3, max_depth=3, random_state=0))
    table = X.copy()
    table[:, 2] = table[:, 2].round()
    skops.io.dump(model.fit(table, Y), path)


def save_answers(path: Path) -> None:
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, Y)
    problem = robx.Problem(model, X)
    robx.NearestNeighbour().explain(problem, X[:6]).save(path)


def save_explainer(path: Path) -> None:
    explainer_with_categories().save(path)


def save_table(path: Path) -> None:
    from robx.files import write_table

    words = np.where(X[:, 0] > 0, "yes", "no")
    write_table(pd.DataFrame(X, columns=list("abcd")).assign(e=words, f=range(len(X))), path)


def save_schema(path: Path) -> None:
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=["x", "y"] * 100)
    robx.Schema.infer(frame).save(path)


FORMATS: dict[str, tuple[str, str, Callable[[Path], object], mutations.Mutator]] = {
    "xgboost json": ("model", ".json", save_xgboost, mutations.json_file),
    "xgboost categories": ("model", ".json", save_xgboost_categories, mutations.json_file),
    "xgboost ubj": ("model", ".ubj", save_xgboost, mutations.ubjson_file),
    "lightgbm": ("model", ".txt", save_lightgbm, mutations.lightgbm_file),
    "catboost": ("model", ".json", save_catboost(), mutations.json_file),
    "catboost lossguide": (
        "model",
        ".json",
        save_catboost(grow_policy="Lossguide"),
        mutations.json_file,
    ),
    "robx": ("model", ".robx", save_robx, mutations.robx_file),
    "forest": (
        "model",
        ".skops",
        save_skops(RandomForestClassifier(3, max_depth=3)),
        mutations.skops_file,
    ),
    "boosting": (
        "model",
        ".skops",
        save_skops(GradientBoostingClassifier(n_estimators=3)),
        mutations.skops_file,
    ),
    "hist": (
        "model",
        ".skops",
        save_skops(HistGradientBoostingClassifier(max_iter=3, categorical_features=[1])),
        mutations.skops_file,
    ),
    "pipeline": ("model", ".skops", save_pipeline, mutations.skops_file),
    "csv": ("table", ".csv", save_table, mutations.text_file),
    "parquet": ("table", ".parquet", save_table, mutations.binary_file),
    "schema yaml": ("schema", ".yaml", save_schema, mutations.yaml_file),
    "schema json": ("schema", ".json", save_schema, mutations.json_file),
    "parameters": ("params", ".yaml", save_schema, mutations.yaml_file),
    "explainer": ("explainer", ".robx", save_explainer, mutations.explainer_file),
    "answers json": ("answers", ".json", save_answers, mutations.json_file),
    "answers parquet": ("answers", ".parquet", save_answers, mutations.parquet_answers),
}
QUICK = ["explainer", "xgboost ubj", "lightgbm", "robx", "forest", "schema yaml", "answers json"]


def mutated(name: str, folder: Path) -> list[tuple[str, Path]]:
    """Write a sound file of a format, and then damaged ones."""
    kind, suffix, save, mutate = FORMATS[name]
    original = folder / f"{name}{suffix}"
    save(original)
    rng, data = random.Random(f"{name} {SEED}"), original.read_bytes()
    files = [original]
    for number in range(FILES):
        files.append(folder / f"{name} {number}{suffix}")
        files[-1].write_bytes(mutate(data, rng))
    return [(kind, path) for path in files]


def is_right(outcome: Outcome) -> bool:
    said_so = outcome.how == "refused" and 20 < len(outcome.said) < 1200
    return (outcome.how == "read" or said_so) and outcome.grown < MEMORY


def groups() -> list[Any]:
    """Formats that share a process, which takes long to start; many files have one a format."""
    if SEED:
        return [[name] for name in FORMATS]
    others = [name for name in FORMATS if name not in QUICK]
    return [QUICK, pytest.param(others, marks=pytest.mark.slow)]


@pytest.mark.parametrize("names", groups())
def test_hostile_numbers(names: list[str], tmp_path: Path) -> None:
    files = {name: mutated(name, tmp_path) for name in names}
    found = iter(read_all([one for some in files.values() for one in some], seconds=SECONDS))
    how: Counter[str] = Counter()
    for name, some in files.items():
        outcomes = {path.name: next(found) for _, path in some}
        sound, *others = outcomes.values()
        assert sound.how == "read", sound
        assert {n: outcome for n, outcome in outcomes.items() if not is_right(outcome)} == {}
        here = Counter(outcome.how for outcome in others)
        print(name, dict(here), f"{max(o.grown for o in others) >> 20} MB at most")  # noqa: T201
        how += here
    assert how["refused"] > how.total() // 10

"""Hostile numbers and sizes in every kind of file: an error of robx or a right result, in bounds.

`make test` tries a share of what `make fuzz` does; set ROBX_FUZZ to the number of files a format.
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

import mutations
import robx
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

FILES = int(os.environ.get("ROBX_FUZZ", "4"))
#: What any of these files may take, beyond what the process had.
MEMORY, SECONDS = 700 * 2**20, 20


def save_skops(model: Any) -> Callable[[Path], None]:
    return lambda path: skops.io.dump(model.fit(HOLES if "Hist" in str(model) else X, Y), path)


def save_answers(path: Path) -> None:
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, Y)
    problem = robx.Problem(model, X)
    robx.NearestNeighbour().explain(problem, X[:6]).save(path)


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
    "csv": ("table", ".csv", save_table, mutations.text_file),
    "parquet": ("table", ".parquet", save_table, mutations.binary_file),
    "schema yaml": ("schema", ".yaml", save_schema, mutations.yaml_file),
    "schema json": ("schema", ".json", save_schema, mutations.json_file),
    "parameters": ("params", ".yaml", save_schema, mutations.yaml_file),
    "answers json": ("answers", ".json", save_answers, mutations.json_file),
    "answers parquet": ("answers", ".parquet", save_answers, mutations.parquet_answers),
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[Path, Outcome]]]:
    folder = tmp_path_factory.mktemp("fuzz")
    files: dict[str, list[tuple[str, Path]]] = {}
    for name, (kind, suffix, save, mutate) in FORMATS.items():
        original = folder / f"{name}{suffix}"
        save(original)
        files[name] = [(kind, original)]
        rng, data = (
            random.Random(f"{name} {os.environ.get('ROBX_FUZZ_SEED', '')}"),
            original.read_bytes(),
        )
        for number in range(FILES):
            path = folder / f"{name} {number}{suffix}"
            path.write_bytes(mutate(data, rng))
            files[name].append((kind, path))
    found = iter(read_all([one for some in files.values() for one in some], seconds=SECONDS))
    return {name: [(path, next(found)) for _, path in some] for name, some in files.items()}


@pytest.mark.parametrize("name", FORMATS)
def test_hostile_numbers(
    name: str, outcomes: dict[str, list[tuple[Path, Outcome]]], tmp_path: Path
) -> None:
    (_, sound), *others = outcomes[name]
    assert sound.how == "read", sound
    for path, outcome in others:
        is_right = outcome.how in {"read", "refused"} and outcome.grown < MEMORY
        if not is_right:
            shutil.copy(path, tmp_path / f"culprit{path.suffix}")
        assert is_right, (str(tmp_path), outcome)
        assert outcome.how == "read" or 20 < len(outcome.said) < 1500, outcome
    how = Counter(outcome.how for _, outcome in others)
    assert how["refused"] > 0, how

"""Every command parses a model file once, and reads a table once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import skops.io
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier

import robx.files
from cli_cases import Run
from robx.trees import catboost, lightgbm, store, xgboost
from robx.trees import skops as skops_parser

SMALL: list[object] = ["--models", 6, "--quiet"]
WITHOUT_PROMISE: list[object] = [*SMALL, "--keep", "none"]


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often files were parsed as models, or read as tables, by name."""
    seen: Counter[str] = Counter()

    def counted(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(path: Any, *arguments: Any, **named: Any) -> Any:
            seen[f"{what} {Path(path).name}"] += 1
            return function(path, *arguments, **named)

        return called

    for parser in (catboost, lightgbm, skops_parser, store, xgboost):
        monkeypatch.setattr(parser, "parse_file", counted("parsed", parser.parse_file))
    monkeypatch.setattr(robx.files, "read_table", counted("table", robx.files.read_table))
    return seen


def check_counts(counts: Counter[str], models: set[str], tables: set[str]) -> None:
    """Each of these models and tables was read once, and nothing else."""
    expected = [*(f"parsed {name}" for name in models), *(f"table {name}" for name in tables)]
    assert counts == Counter(expected)


@pytest.mark.parametrize("command", ["explain", "tau", "evaluate", "stability"])
def test_a_command_reads_its_files_once(
    command: str, folder: Path, call: Run, counts: Counter[str]
) -> None:
    words = [command, "--model", folder / "model.ubj", "--data", folder / "train.csv"]
    words += ["--label", "good", "--id", "who", "--schema", folder / "schema.yaml"]
    people = {"explain": "--applicants", "tau": "--applicants", "stability": "--rows"}
    words += [people[command], folder / "people.csv"] if command in people else []
    own = {"stability": [], "evaluate": ["--seeds", 1, "--method", "RobX", *SMALL], "tau": SMALL}
    words += own.get(command, WITHOUT_PROMISE)
    ran = call(*words)
    assert ran.code == 0, ran.err
    tables = {"train.csv"} | ({"people.csv"} if command in people else set())
    check_counts(counts, {"model.ubj"}, tables)


def test_a_table_in_two_places_is_read_once(folder: Path, call: Run, counts: Counter[str]) -> None:
    words = ["--model", folder / "model.ubj", "--data", folder / "train.csv", "--label", "good"]
    assert call("stability", *words, "--rows", folder / "train.csv").code == 0
    check_counts(counts, {"model.ubj"}, {"train.csv"})


def test_checks_and_reports_read_their_files_once(
    folder: Path, recourse: Path, call: Run, tmp_path: Path, counts: Counter[str]
) -> None:
    assert call("check", recourse, "--model", folder / "new.ubj").code == 0
    check_counts(counts, {"new.ubj"}, set())
    counts.clear()
    words = ["--model", folder / "model.ubj", "--data", folder / "train.csv"]
    words += ["--new-model", folder / "new.ubj", "--out", tmp_path / "report.json"]
    assert call("report", recourse, *words).code == 0
    check_counts(counts, {"model.ubj", "new.ubj"}, {"train.csv"})


@pytest.mark.parametrize("name", ["model.txt", "model.cbm", "model.skops"])
def test_every_kind_of_model_file_is_parsed_once(
    name: str, folder: Path, call: Run, tmp_path: Path, counts: Counter[str]
) -> None:
    table = pd.read_csv(folder / "train.csv")
    X, y, path = table.drop(columns="good"), table["good"], tmp_path / name
    if name == "model.txt":
        light = LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1).fit(X, y)
        light.booster_.save_model(path)
    elif name == "model.cbm":
        cat = CatBoostClassifier(iterations=5, verbose=False, allow_writing_files=False)
        cat.fit(X, y).save_model(str(path))
    else:
        skops.io.dump(RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, y), path)
    words = ["--model", path, "--data", folder / "train.csv", "--label", "good", "--id", "who"]
    ran = call("explain", *words, "--applicants", folder / "people.csv", *WITHOUT_PROMISE)
    assert ran.code == 0, ran.err
    check_counts(counts, {name}, {"train.csv", "people.csv"})

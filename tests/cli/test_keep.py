"""A promise on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import robx
from cli_cases import Run


@pytest.fixture(scope="module")
def words(folder: Path) -> list[object]:
    """A command that fits, but for what it promises."""
    return [
        *("--model", folder / "model.ubj", "--data", folder / "train.csv", "--label", "good"),
        *("--params", folder / "params.yaml", "--schema", folder / "schema.yaml", "--models", 9),
    ]


def test_fit_says_what_is_promised_and_keeps_it(
    folder: Path, words: list[object], call: Run, tmp_path: Path
) -> None:
    out = tmp_path / "credit.robx"
    ran = call("fit", *words, "--keep", 0.6, "--change", "bootstrap", "--out", out)
    assert ran.code == 0, ran.err
    said = "60 % of the answers will be kept by a next model trained on the same rows, drawn again"
    assert said in ran.err
    shown = json.loads(call("show", out, "--json").out)
    assert shown["promise"].startswith(said)
    answers = tmp_path / "answers.json"
    ran = call("explain", out, folder / "people.csv", "--id", "who", "--out", answers)
    assert said in ran.err
    assert robx.Counterfactuals.load(answers).origin["promise"].startswith(said)
    ran = call("explain", out, folder / "people.csv", "--keep", 0.9)
    assert ran.code != 0
    assert "--keep is for fitting" in ran.err


def test_candidates_must_accept_every_answer(
    folder: Path, words: list[object], call: Run, tmp_path: Path
) -> None:
    out = tmp_path / "answers.json"
    words = [*words, "--applicants", folder / "people.csv", "--id", "who", "--keep", "none"]
    ran = call("explain", *words, "--challenger", folder / "new.ubj", "--out", out, "--quiet")
    assert ran.code == 0, ran.err
    answers = robx.Counterfactuals.load(out)
    assert answers.ok.any()
    new = robx.import_model(folder / "new.ubj")
    assert (new.score(answers.points[answers.ok]) > 0.5).all()


def test_a_column_of_dates_orders_the_rows(
    folder: Path, words: list[object], call: Run, tmp_path: Path
) -> None:
    table = pd.read_csv(folder / "train.csv")
    dated = tmp_path / "dated.csv"
    table.assign(issued=range(len(table))).to_csv(dated, index=False)
    words = [dated if one == folder / "train.csv" else one for one in words]
    out = tmp_path / "credit.robx"
    ran = call("fit", *words, "--keep", 0.5, "--change", "later:issued", "--out", out)
    assert ran.code == 0, ran.err
    assert "a next model trained on as many rows of the time after" in ran.err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--keep", "1.2"], "1.2 is not in the range"),
        (["--keep", "0.9", "--level", "0.5"], "a promise, or a method whose robustness"),
        (["--change", "weather"], "--change must be new-rows, bootstrap, drop:N or later:COLUMN"),
        (["--change", "later:nothing"], "has no column 'nothing'"),
        (["--change", "drop:0"], "--change must be"),
    ],
)
def test_what_cannot_be_promised_is_said_in_one_sentence(
    words: list[object], given: list[str], message: str, call: Run, tmp_path: Path, folder: Path
) -> None:
    rest = ["--applicants", folder / "people.csv", "--id", "who", "--out", tmp_path / "a.json"]
    ran = call("explain", *words, *given, *rest)
    assert ran.code != 0
    assert message in " ".join(ran.err.split())


def test_strict_refuses_less_than_was_asked_for(
    words: list[object], call: Run, tmp_path: Path
) -> None:
    out = tmp_path / "credit.robx"
    ran = call("fit", *words, "--keep", 0.92, "--strict", "--out", out)
    assert ran.code != 0
    assert "cannot be promised" in ran.err
    assert not out.exists()

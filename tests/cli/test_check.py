from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from xgboost import XGBClassifier

import robx
from cli_cases import Run


@pytest.fixture(scope="module")
def issued(recourse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of answers in two files, of which one is a half of the other."""
    place = tmp_path_factory.mktemp("issued")
    answer = robx.Counterfactuals.load(recourse)
    answer.dated("2026-01-31").save(place / "january.json")
    answer.dated("2026-02-28").save(place / "february.csv")
    return place


def test_the_model_may_stand_first(folder: Path, call: Run, recourse: Path) -> None:
    first = call("check", folder / "new.ubj", recourse, "--json").json
    assert first == call("check", recourse, "--model", folder / "new.ubj", "--json").json
    assert first["model"]["file"] == "new.ubj"
    assert first["n_promises"] == robx.Counterfactuals.load(recourse).ok.sum()
    alone = call("check", recourse)
    assert alone.code == 2
    assert "check needs a new model and answers: robx check new-model.ubj reco" in alone.err


def test_folders_and_files_are_checked_at_once(
    folder: Path, call: Run, recourse: Path, issued: Path
) -> None:
    n = int(robx.Counterfactuals.load(recourse).ok.sum())
    said = call("check", folder / "new.ubj", issued, recourse, "--json").json
    assert said["n_promises"] == 3 * n
    assert [part["file"] for part in said["issued"]] == [
        *("february.csv", "january.json", "recourse.json")
    ]
    assert [part["date"] for part in said["issued"]][:2] == ["2026-02-28", "2026-01-31"]
    assert "promises in 3 files" in said["words"]
    rows = call("check", folder / "new.ubj", issued, "--all").rows
    assert {row["file"] for row in rows} == {"february.csv", "january.json"}


@pytest.mark.parametrize("ending", [".json", ".csv", ".parquet"])
def test_a_record_is_written_with_digests_threshold_and_date(
    folder: Path,
    call: Run,
    issued: Path,
    tmp_path: Path,
    ending: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    out = tmp_path / f"kept{ending}"
    assert call("check", folder / "new.ubj", issued / "january.json", "--out", out).code == 0
    new, old = (robx.import_model(folder / name).digest for name in ("new.ubj", "model.ubj"))
    if ending == ".json":
        plain = json.loads(out.read_text(encoding="utf-8"))
        found = plain["model"]["digest"], plain["issued"][0]["digest"], plain["issued"][0]["date"]
        assert (*found, plain["date"], plain["threshold"]) == (
            *(new, old, "2026-01-31", "2023-11-14", 0.5),
        )
    else:
        table = pd.read_csv(out) if ending == ".csv" else pd.read_parquet(out)
        names = ["new_model", "old_model", "issued", "checked", "threshold"]
        assert table[names].drop_duplicates().to_numpy().tolist() == [
            [new, old, "2026-01-31", "2023-11-14", 0.5]
        ]


def test_at_least_applies_to_the_lower_bound_if_asked(
    folder: Path, call: Run, recourse: Path
) -> None:
    words = ["check", folder / "new.ubj", recourse]
    said = call(*words, "--json").json
    between = (said["low"] + said["share"]) / 2
    assert said["low"] < between < said["share"]
    assert call(*words, "--at-least", between).code == 0
    assert call(*words, "--at-least", between, "--of", "share").code == 0
    broken = call(*words, "--at-least", between, "--of", "lower-bound")
    assert broken.code == 1
    assert broken.err.splitlines()[-1] == (
        f"The lower bound, {said['low']:.1%}, is below --at-least {100 * between:g}%."
    )
    for more in (1e-3, 1e-4, 1e-5):
        limit = said["low"] + more
        barely = call(*words, "--at-least", limit, "--of", "lower-bound").err.splitlines()[-1]
        assert float(barely.split(", ")[1].rstrip("%")) < 100 * limit
    assert call(*words, "--at-least", said["low"] - 0.01, "--of", "lower-bound").code == 0


def test_the_same_model_is_no_evidence_for_a_release(
    folder: Path, call: Run, recourse: Path
) -> None:
    ran = call("check", folder / "model.ubj", recourse, "--at-least", 0.1)
    assert ran.code == 1
    assert "This is the model that the answers were issued under" in ran.err
    assert "no promise of another model to judge --at-least by" in ran.err
    assert call("check", folder / "model.ubj", recourse).code == 0


def test_promises_are_counted_by_a_column(
    folder: Path, call: Run, recourse: Path, tmp_path: Path
) -> None:
    words = ["check", folder / "new.ubj", recourse]
    rows = call(*words, "--by", "savings").rows
    said = call(*words, "--by", "savings", "--json").json
    assert sum(int(row["n_promises"]) for row in rows) == said["n_promises"]
    assert [row["savings"] for row in rows] == [one["savings"] for one in said["by"]["savings"]]
    labels = robx.datasets.load_german().schema["savings"].labels
    assert labels is not None
    assert {row["savings"] for row in rows} <= set(labels)
    people = pd.read_csv(folder / "people.csv").assign(branch=lambda t: t.index % 2)
    people.to_csv(tmp_path / "more.csv", index=False)
    more = ["--applicants", tmp_path / "more.csv"]
    rows = call(*words, "--by", "branch", *more, "--id", "who").rows
    assert [row["branch"] for row in rows] == ["0", "1"]
    assert sum(int(row["n_promises"]) for row in rows) == said["n_promises"]
    unnamed = call(*words, "--by", "branch", *more)
    assert unnamed.code == 2
    assert "Name the column by which they go in the answers (--id)." in unnamed.err
    assert "has no column 'nobody'" in call(*words, "--by", "branch", *more, "--id", "nobody").err
    assert "--applicants is for --by" in call(*words, *more).err


def test_a_model_with_fewer_columns_is_asked_about_those(
    folder: Path, call: Run, recourse: Path, tmp_path: Path
) -> None:
    data = pd.read_csv(folder / "train.csv")
    X = data.drop(columns=["good", "credits"])
    XGBClassifier(n_estimators=5).fit(X, data["good"]).save_model(tmp_path / "fewer.ubj")
    ran = call("check", tmp_path / "fewer.ubj", recourse)
    assert ran.code == 0
    assert "It does not have the column credits." in ran.err

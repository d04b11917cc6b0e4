"""Bad input to every option: one sentence, what to do, exit code 2, no traceback."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import pandas as pd
import pytest
from xgboost import XGBClassifier

from cli_cases import Run, train

NO_COLUMN = ("'narrow.csv' lacks columns that the model needs: housing.",)
NO_NUMBER = ("'text.csv', row 1, column 'amount': 'much'", "the model takes numbers there")
#: What is wrong, the option that brings it, and the words that must all be in the message.
WRONG: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "no such model": ("--model", "gone.ubj", ("no model file at 'gone.ubj'",)),
    "a folder for a model": ("--model", ".", ("no model file at '.'",)),
    "a model that is text": (
        "--model",
        "words.ubj",
        ("XGBoost model words.ubj", "unknown marker b'n' at byte 0"),
    ),
    "an unknown kind of model": (
        "--model",
        "model.onnx",
        ("does not know model files", "'.onnx'", ".ubj"),
    ),
    "a pickle": (
        "--model",
        "model.pkl",
        ("'model.pkl' is a pickle", "runs code when it is loaded", "--unsafe-pickle"),
    ),
    "a model of another shape": (
        "--model",
        "small.ubj",
        ("schema", "not among the model's columns: ['checking', 'history', 'employment'"),
    ),
    "no such table": ("--data", "gone.csv", ("no file at 'gone.csv'",)),
    "an empty table": ("--data", "empty.csv", ("'empty.csv' is empty",)),
    "a table without rows": ("--data", "header.csv", ("'header.csv' has columns but no rows",)),
    "a table with a column too few": ("--data", "narrow.csv", NO_COLUMN),
    "a text column": ("--data", "text.csv", NO_NUMBER),
    "a table of another kind": (
        "--data",
        "model.ubj",
        ("table", ".csv, .csv.gz or .parquet", "'model.ubj'"),
    ),
    "no such applicants": ("--applicants", "gone.csv", ("no file at 'gone.csv'",)),
    "empty applicants": ("--applicants", "empty.csv", ("'empty.csv' is empty",)),
    "applicants with a column too few": ("--applicants", "narrow.csv", NO_COLUMN),
    "applicants with text": ("--applicants", "text.csv", NO_NUMBER),
    "no such schema": ("--schema", "gone.yaml", ("no schema file at 'gone.yaml'",)),
    "a schema that is none": (
        "--schema",
        "train.csv",
        ("'train.csv'", "schema", "a mapping with a list of 'features'"),
    ),
    "a schema of other columns": (
        "--schema",
        "other.yaml",
        ("not in the schema: ['checking', ", "not among the model's columns: ['income']"),
    ),
    "no such label": ("--label", "gone", ("'train.csv' has no column 'gone'", "label", "good")),
    "a label that is always the same": (
        "--label",
        "same",
        ("labels in 'same' of 'same.csv' are '1'",),
    ),
    "no such name": ("--id", "gone", ("'people.csv' has no column 'gone'", "name", "who")),
    "a threshold beyond 1": (
        "--threshold",
        "1.5",
        ("'--threshold': 1.5 is not in the range 0<=x<1",),
    ),
    "a target that is no class": ("--target", "7", ("--target must be one of", "0, 1", "Got '7'")),
    "parameters without labels": ("--params", "params.yaml", ("--params", "needs --label")),
    "a tau nobody reaches": (
        "--tau",
        "0.999",
        ("--tau 0.999", "a stability of 0.9", "`robx tau`"),
    ),
    "a tau that is no number": ("--tau", "high", ("'--tau': 'high' is not a valid float",)),
    "an ending of no table": (
        "--out",
        "recourse.docx",
        ("--out", ".json, .parquet or .csv", "'recourse.docx'"),
    ),
    "a folder that is not there": (
        "--out",
        "nowhere/recourse.json",
        ("--out 'nowhere/recourse.json'", "a folder that does not exist"),
    ),
    "a method that takes no tau": (
        "--method",
        "nearest",
        ("method 'nearest' takes no --tau", "--method"),
    ),
}


@pytest.fixture(scope="module")
def messy(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the folder, with all that can be wrong in it."""
    folder = Path(shutil.copytree(folder, tmp_path_factory.mktemp("messy") / "files"))
    table = pd.read_csv(folder / "train.csv")
    table.drop(columns="housing").to_csv(folder / "narrow.csv", index=False)
    table.assign(amount="much").to_csv(folder / "text.csv", index=False)
    table.assign(same=1).to_csv(folder / "same.csv", index=False)
    (folder / "empty.csv").write_text("", encoding="utf-8")
    table[:0].to_csv(folder / "header.csv", index=False)
    (folder / "words.ubj").write_text("not a model", encoding="utf-8")
    (folder / "model.onnx").write_text("not ours", encoding="utf-8")
    (folder / "model.pkl").write_bytes(pickle.dumps({"no": "model"}))
    (folder / "other.yaml").write_text(
        "robx_schema: 1\nfeatures:\n- name: income\n  kind: continuous\n", encoding="utf-8"
    )
    train(table[["amount", "savings"]], table["good"]).save_model(folder / "small.ubj")
    return folder


@pytest.mark.parametrize("wrong", WRONG)
def test_one_sentence_says_what_to_do(
    wrong: str, messy: Path, call: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(messy)
    before = {file.name for file in messy.iterdir()}
    option, value, words = WRONG[wrong]
    given = {"--model": "model.ubj", "--data": "train.csv", "--applicants": "people.csv"}
    given |= {"--method": "robx", "--tau": "0.6", "--out": str(tmp_path / "out.json")}
    given |= {"--id": "who"} if option != "--applicants" else {}
    given |= {"--schema": "schema.yaml"} if option != "--label" else {}
    given[option] = value
    given |= {"--data": "same.csv"} if value == "same" else {}
    ran = call("explain", *(word for pair in given.items() for word in pair))
    assert ran.code == 2, ran
    assert "Traceback" not in ran.err
    complaint = [line for line in ran.err.splitlines() if line.startswith("Error: ")]
    assert len(complaint) == 1, ran.err
    assert [word for word in words if word not in complaint[0]] == [], complaint[0]
    assert ran.out == ""
    assert not any(tmp_path.iterdir())
    assert {file.name for file in messy.iterdir()} == before


def test_a_pickle_is_loaded_when_asked_for_in_so_many_words(
    folder: Path, call: Run, tmp_path: Path
) -> None:
    table = pd.read_csv(folder / "train.csv")
    model = train(table[pd.read_csv(folder / "people.csv").columns[1:]], table["good"])
    file = tmp_path / "mine.pkl"
    file.write_bytes(pickle.dumps(model))
    words = ["stability", "--model", file, "--data", folder / "train.csv", "--label", "good"]
    assert call(*words).code == 2
    assert call(*words, "--unsafe-pickle").code == 0


def test_labels_that_are_turned_are_refused(messy: Path, call: Run, tmp_path: Path) -> None:
    table = pd.read_csv(messy / "train.csv")
    said = table["good"].map({1: "paid", 0: "defaulted"})
    table.assign(good=said).to_csv(tmp_path / "train.csv", index=False)
    words = ["explain", "--model", messy / "model.ubj", "--data", tmp_path / "train.csv"]
    words += ["--label", "good", "--applicants", messy / "people.csv", "--id", "who"]
    ran = call(*words, "--target", "defaulted")
    assert ran.code == 2
    assert "coded the other way round" in ran.err
    assert call(*words, "--target", "paid", "--models", 6, "--keep", "none", "--quiet").code == 0


def test_a_model_without_names_takes_columns_by_place_and_says_so(
    messy: Path, call: Run, tmp_path: Path
) -> None:
    table = pd.read_csv(messy / "train.csv")
    X = table.drop(columns="good")
    train(X.to_numpy(), table["good"]).save_model(tmp_path / "bare.ubj")
    words = ["stability", "--model", tmp_path / "bare.ubj", "--data"]
    ran = call(*words, messy / "train.csv", "--label", "good")
    assert ran.code == 0
    assert "are taken in order: checking, history" in ran.err
    refused = call(*words, messy / "train.csv")
    assert refused.code == 2
    assert "--label and --id name columns" in refused.err


def test_a_name_that_is_nearly_right_is_pointed_out(messy: Path, call: Run, tmp_path: Path) -> None:
    table = pd.read_csv(messy / "train.csv").rename(columns={"amount": "Amount"})
    table.to_csv(tmp_path / "train.csv", index=False)
    ran = call("stability", "--model", messy / "model.ubj", "--data", tmp_path / "train.csv")
    assert ran.code == 2
    assert "needs: amount. Did you mean 'Amount'?" in ran.err


def test_text_is_found_by_file_row_and_column(messy: Path, call: Run, tmp_path: Path) -> None:
    table = pd.read_csv(messy / "train.csv").astype({"amount": object})
    table.loc[6, "amount"] = "3,000.50"
    table.to_csv(tmp_path / "train.csv", index=False)
    ran = call("stability", "--model", messy / "model.ubj", "--data", tmp_path / "train.csv")
    assert ran.code == 2
    assert "train.csv', row 7, column 'amount': '3,000.50' is not a number" in ran.err


def test_a_class_among_many_must_be_named_by_the_option(call: Run, tmp_path: Path) -> None:
    table = pd.DataFrame({"a": range(60), "b": [1, 2] * 30})
    model = XGBClassifier(n_estimators=3).fit(table, [0, 1, 2] * 20)
    model.save_model(tmp_path / "three.ubj")
    table.to_csv(tmp_path / "train.csv", index=False)
    words = ["stability", "--model", tmp_path / "three.ubj", "--data", tmp_path / "train.csv"]
    ran = call(*words)
    assert ran.code == 2
    assert "Error: --target must be one of 0, 1, 2." in ran.err
    assert call(*words, "--target", 2).code == 0


def test_a_report_on_a_table_that_lacks_columns_is_refused(
    messy: Path, recourse: Path, call: Run, tmp_path: Path
) -> None:
    words = ["--model", messy / "model.ubj", "--data", messy / "narrow.csv"]
    ran = call("report", recourse, *words, "--out", tmp_path / "report.html")
    assert ran.code == 2
    assert "narrow.csv' lacks columns that the answers have: housing" in ran.err


def test_a_fault_of_ours_has_a_code_of_its_own(
    messy: Path, call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("no such thing")

    monkeypatch.setattr("robx.files.read_table", broken)
    words = ["schema", messy / "train.csv"]
    ran = call(*words)
    assert ran.code == 70
    assert "an internal error of robx (KeyError: 'no such thing')" in ran.err
    monkeypatch.setenv("ROBX_DEBUG", "1")
    with pytest.raises(KeyError):
        call(*words)

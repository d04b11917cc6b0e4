from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from cli_cases import Run
from robx.budget import allow_more
from robx.cli.wording import in_options

#: What nobody can type at a prompt.
PYTHON = re.compile(r"X_train|y_train|\w=(?=\W|$)|estimator|parameter of|Counterfactuals\.|get_par")

#: Names of files and columns are the user's own.
OWN = (
    "There is no file at 'X_train.csv'. Check the name.",
    "'data/X_train' has no column 'y_train'. It has 'target=1'.",
    "See old/X_train.csv, y_train-2.csv and my.y_train.",
)
TRAINED = "it does not say how it was trained."
ORIGINAL = "Pass the original model, or a classifier with scikit-learn's interface as estimator."
ELSE = "Leave --label out, or give models that were trained again with --retrained."


@pytest.mark.parametrize(
    ("library", "command"),
    [
        (f"{TRAINED} Pass the classifier as estimator.", f"{TRAINED} {ELSE}"),
        (f"{TRAINED} Pass it as 'estimator'.", f"{TRAINED} {ELSE}"),
        (f"{TRAINED} {ORIGINAL}", f"{TRAINED} {ELSE}"),
        (
            "The 'target' parameter of import_model must be 0 or 1. Pass the class as target=.",
            "--target must be 0 or 1. Name the class with --target.",
        ),
        (
            "It needs models. Pass them as 'models', such as list(robx.retrainings(e, X_train)).",
            "It needs models. Add --label, or --retrained.",
        ),
        ("Name it: target= of robx.import_model, one of 0, 1.", "Name it: --target, one of 0, 1."),
        (
            "Pass that of the new model: target= (--target).",
            "Pass that of the new model: --target.",
        ),
        ("The model must score X_train.", "The model must score the training table (--data)."),
        (
            f"If you trust it, {allow_more('max_memory')}.",
            "If you trust it, allow more with the environment variable ROBX_MAX_MEMORY.",
        ),
        ("The 'y_train' parameter of Problem is short.", "--label is short."),
        ("It's in X_train, not 'a'.", "It's in the training table (--data), not 'a'."),
        ("Wrap the model in robx.BlackBox.", "Wrap the model in robx.BlackBox in Python."),
    ],
)
def test_sentences_of_the_library_speak_of_options(library: str, command: str) -> None:
    said = in_options(library)
    assert said == command
    assert PYTHON.search(said) is None


@pytest.mark.parametrize("text", OWN)
def test_names_of_files_and_columns_stay(text: str) -> None:
    assert in_options(text) == text


def test_early_stopping_is_to_be_left_out(folder: Path, call: Run, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("early_stopping_rounds: 3", encoding="utf-8")
    words = ["--model", folder / "model.ubj", "--data", folder / "train.csv", "--label", "good"]
    words += ["--applicants", folder / "people.csv", "--id", "who", "--params", tmp_path / "p.yaml"]
    ran = call("explain", *words)
    assert ran.code == 2
    assert "early_stopping_rounds needs rows that are set aside" in ran.err
    assert "Leave it out of --params" in ran.err


def test_errors_of_commands_name_no_parameters(folder: Path, call: Run, tmp_path: Path) -> None:
    """Errors that the library raises while a command runs."""
    train = pd.read_csv(folder / "train.csv")
    train[:0].to_csv(tmp_path / "none.csv", index=False)
    (tmp_path / "p.yaml").write_text("lerning_rate: 1", encoding="utf-8")
    base = ["--model", folder / "model.ubj", "--applicants", folder / "people.csv", "--id", "who"]
    label, data = ["--label", "good"], ["--data", folder / "train.csv"]
    cases: dict[str, list[object]] = {
        "no rows": [*base, "--data", tmp_path / "none.csv"],
        "--params": [*base, *data, *label, "--params", tmp_path / "p.yaml"],
        "--target": [*base, *data, "--target", "7"],
    }
    for word, arguments in cases.items():
        ran = call("explain", *arguments)
        last = ran.err.splitlines()[-1]
        assert ran.code == 2, last
        assert word in last
        assert PYTHON.search(last) is None, last

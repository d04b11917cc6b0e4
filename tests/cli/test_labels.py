"""Labels that disagree with the model more often than not are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli_cases import Ran, Run, train

TABLE = pd.DataFrame({"income": np.arange(100), "years": np.arange(100) % 7})
RIGHT = (TABLE["income"] >= 50).astype(int)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that is right about all of its training rows."""
    fitted = train(TABLE, RIGHT)
    assert (fitted.predict(TABLE) == RIGHT).all()
    file = tmp_path_factory.mktemp("labels") / "model.ubj"
    fitted.save_model(file)
    return file


def explain(call: Run, model: Path, folder: Path, n_turned: int) -> Ran:
    """Explain three applicants by a table in which some labels are turned."""
    turned = np.linspace(0, 99, n_turned).astype(int)
    label = RIGHT.where(~RIGHT.index.isin(turned), 1 - RIGHT)
    TABLE.assign(paid=label).to_csv(folder / "train.csv", index=False)
    TABLE[:3].to_csv(folder / "people.csv", index=False)
    words = ["explain", "--model", model, "--data", folder / "train.csv", "--label", "paid"]
    words += [
        "--applicants",
        folder / "people.csv",
        "--method",
        "nearest",
        "--models",
        6,
        "--keep",
        "none",
    ]
    return call(*words, "--json", "--quiet")


@pytest.mark.parametrize(("n_turned", "agreed"), [(51, "49%"), (60, "40%"), (69, "31%")])
def test_a_model_that_is_right_about_less_than_half_of_the_labels_is_refused(
    model: Path, call: Run, tmp_path: Path, n_turned: int, agreed: str
) -> None:
    ran = explain(call, model, tmp_path, n_turned)
    assert ran.code == 2
    assert f"agrees with only {agreed} of the labels in 'paid'" in ran.err
    assert "coded the other way round" in ran.err


def test_a_model_that_is_right_about_half_of_the_labels_is_taken(
    model: Path, call: Run, tmp_path: Path
) -> None:
    assert explain(call, model, tmp_path, 50).json["counts"] == {"ok": 3}


def test_what_is_wrong_with_the_labels_is_not_said_of_the_target(
    model: Path, call: Run, tmp_path: Path
) -> None:
    """The file only numbers its classes, and the table has words for them."""
    TABLE.assign(paid=RIGHT.map({0: "no", 1: "yes"})).to_csv(tmp_path / "train.csv", index=False)
    words = ["tau", "--model", model, "--data", tmp_path / "train.csv", "--label", "paid"]
    ran = call(*words)
    assert ran.code == 2
    assert "must be one of The" not in ran.err
    assert "The model file does not name its classes, so 'paid' must hold 0 and 1" in ran.err
    ran = call("stability", "--model", model, "--data", tmp_path / "train.csv", "--target", "yes")
    assert ran.code == 2
    assert "Error: --target must be one of 0, 1. Got 'yes'." in ran.err

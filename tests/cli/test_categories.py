from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import robx
from catboost_cases import TOWNS, labels, people, trained
from cli_cases import Run

# A CSV file has no text without letters.
SPELLED = dict(
    zip(TOWNS, ["Aix", "Bonn", "Cork", "Düren 'west', €", "Ely", "Fes", "Graz"], strict=True)
)


def as_written(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(town=frame["town"].map(SPELLED))


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["cbm", "json"])
def test_a_file_with_categories_is_explained_and_trained_again(
    tmp_path: Path, call: Run, ending: str
) -> None:
    table, new = people(), as_written(people(30, seed=9))
    X, y = as_written(table), labels(table)
    model = trained(X, y)
    file, data, applicants = (tmp_path / name for name in (f"m.{ending}", "train.csv", "new.csv"))
    model.save_model(str(file), format=ending)
    X.assign(good=y).to_csv(data, index=False)
    new.to_csv(applicants, index=False)
    out = tmp_path / "answers.json"
    options = ["--model", file, "--data", data, "--label", "good", "--applicants", applicants]
    ran = call("explain", *options, "--models", 6, "--keep", "none", "--out", out)
    assert ran.code == 0, ran.err
    answer = robx.Counterfactuals.load(out)
    assert answer.ok.sum() > 5
    points = answer.frame[answer.ok]
    theirs = model.predict_proba(points[X.columns])[:, 1]
    assert (theirs > 0.5).all()
    np.testing.assert_allclose(answer.score[answer.ok], theirs, atol=1e-6)
    assert call("check", out, "--model", file).code == 0


def test_combined_features_in_a_file_name_the_setting(tmp_path: Path, call: Run) -> None:
    table = people()
    X, y = as_written(table), labels(table)
    file, data = tmp_path / "model.json", tmp_path / "train.csv"
    trained(X, y, max_ctr_complexity=4, iterations=30).save_model(str(file), format="json")
    X.assign(good=y).to_csv(data, index=False)
    ran = call("explain", "--model", file, "--data", data, "--applicants", data)
    assert ran.code != 0
    assert "max_ctr_complexity=1" in ran.err

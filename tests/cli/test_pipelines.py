from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import robx
from catboost_cases import labels, people
from cli_cases import Run


@pytest.mark.parametrize("method", ["frugal", pytest.param("robx", marks=pytest.mark.slow)])
def test_a_pipeline_in_a_file_is_explained_and_trained_again(
    tmp_path: Path, call: Run, method: str
) -> None:
    table = people(200)
    table = table[~table["town"].isin(["", "nan"])]
    new = people(40, seed=9)
    new = new[~new["town"].isin(["", "nan"])]
    prepared = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "income"]),
        (OneHotEncoder(handle_unknown="ignore"), ["town", "job", "owner"]),
    )
    model = make_pipeline(prepared, RandomForestClassifier(15, max_depth=5, random_state=0))
    y = labels(table)
    model.fit(table, y)
    file, data, applicants = (tmp_path / name for name in ("p.skops", "train.csv", "new.csv"))
    skops.io.dump(model, file)
    table.assign(good=y).to_csv(data, index=False)
    new.to_csv(applicants, index=False)
    out = tmp_path / "answers.json"
    options = ["--model", file, "--data", data, "--label", "good", "--applicants", applicants]
    ran = call(
        *("explain", *options, "--method", method, "--models", 6, "--keep", "none", "--out", out)
    )
    assert ran.code == 0, ran.err
    assert "black box" not in ran.err
    answer = robx.Counterfactuals.load(out)
    assert answer.ok.sum() > 5
    theirs = model.predict_proba(answer.frame[answer.ok][table.columns])[:, 1]
    assert (theirs > 0.5).all()
    np.testing.assert_allclose(answer.score[answer.ok], theirs, atol=1e-6)

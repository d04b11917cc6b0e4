"""A pipeline all the way: raw columns in, raw columns out, retrained as a whole."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import robx
from pipeline_cases import NUMBERS, last_step, outcome, raw_table
from robx.cli import robx_command
from robx.retrained import Panel, retrainings
from robx.trees import TreeEnsemble


def pipeline(last: str = "xgboost", *more: Any, unknown: str = "error") -> Any:
    prepare = make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), NUMBERS),
        (OneHotEncoder(handle_unknown=unknown), ["purpose", "job", "code"]),
        sparse_threshold=0,
    )
    return make_pipeline(prepare, *more, last_step(last))


@cache
def case() -> tuple[Any, pd.DataFrame, Any, pd.DataFrame]:
    X = raw_table(400)
    y = outcome(X)
    model = pipeline().fit(X, y)
    applicants = raw_table(60, seed=9)
    return model, X, y, applicants[model.predict_proba(applicants)[:, 1] <= 0.5]


def test_the_schema_is_guessed_on_the_raw_table() -> None:
    model, X, _, _ = case()
    problem = robx.Problem(model, X)
    kinds = {feature.name: feature.kind for feature in problem.schema.features}
    numbers = {"income": "continuous", "age": "integer", "rate": "continuous", "count": "integer"}
    labels = dict.fromkeys(["purpose", "job", "code", "note"], "categorical")
    assert kinds == {**numbers, **labels}
    code = problem.schema["code"]
    assert code.levels == (0, 10, 20, 30)


def test_the_panel_reads_the_same_codes_as_the_model() -> None:
    model, X, y, _ = case()
    problem = robx.Problem(model, X)
    models = list(retrainings(model, X, y, n_models=5, seed=1))
    models.append(clone(model).fit(*_without_boats(X, y)))
    known = {len(one[0].named_transformers_["onehotencoder"].categories_[0]) for one in models}
    assert known == {3, 4}
    panel = Panel(problem, models)
    assert sorted(panel.alike) == list(range(6))
    scores = panel.scores(problem.training)
    for ours, one in zip(scores, models, strict=True):
        few = "boat" not in one[0].named_transformers_["onehotencoder"].categories_[0]
        refused = (X["purpose"] == "boat").to_numpy() & few
        theirs = one.predict_proba(X[~refused])[:, 1]
        np.testing.assert_allclose(ours[~refused], theirs, atol=1e-6)
        assert (ours[refused] == 0).all()


def _without_boats(X: pd.DataFrame, y: Any) -> tuple[pd.DataFrame, Any]:
    keep = (X["purpose"] != "boat").to_numpy()
    return X[keep], y[keep]


def test_answers_come_back_in_raw_columns_and_pass_the_pipeline(tmp_path: Path) -> None:
    model, X, y, people = case()
    explainer = robx.Explainer(model, X, y, n_models=6, keep=None, progress=False)
    answers = explainer.explain(people[:8])
    assert answers.ok.sum() >= 4
    points = answers.points
    assert list(points.columns) == list(X.columns)
    assert (points.dtypes == people.dtypes).all()
    assert (model.predict_proba(points[answers.ok])[:, 1] > 0.5).all()
    np.testing.assert_allclose(
        model.predict_proba(points[answers.ok])[:, 1], answers.score[answers.ok], atol=1e-6
    )
    explainer.save(tmp_path / "credit.robx")
    again = robx.Explainer.load(tmp_path / "credit.robx").explain(people[:8])
    pd.testing.assert_frame_equal(again.points, points)
    assert (again.status == answers.status).all()
    words = "\n".join(answers.words(int(i)) for i in np.flatnonzero(answers.ok))
    assert "purpose:" in words or "job:" in words or "income:" in words


def test_a_missing_value_stays_legal_in_the_answer() -> None:
    model, X, _, people = case()
    problem = robx.Problem(model, X)
    answers = robx.NearestNeighbour().explain(problem, people)
    lost = people["income"].isna().to_numpy() & answers.ok
    assert lost.any()
    assert answers.points["income"][lost].isna().any()


def test_what_stays_a_black_box_says_so_once_and_in_the_report() -> None:
    _, X, y, people = case()
    model = pipeline("forest", PCA(4), unknown="ignore").fit(X, y)
    with pytest.warns(robx.SlowModel, match=r"which is slow: step 'pca' \(PCA\) mixes columns"):
        problem = robx.Problem(model, X)
    answers = robx.NearestNeighbour().explain(problem, people[:3])
    assert answers.origin["model"]["why"] == problem.model.why
    told = robx.report(answers).markdown
    assert "why its trees are not known" in told
    assert problem.model.why in told


def test_stability_moves_numbers_and_leaves_categories() -> None:
    model, X, _, people = case()
    units = robx.Problem(model, X).schema.noise_units
    value = robx.stability(model, people, n_draws=64, scale=units).value
    ensemble = robx.import_model(model)
    assert isinstance(ensemble, TreeEnsemble)
    again = robx.stability(ensemble, people, n_draws=64, scale=units).value
    np.testing.assert_array_equal(value, again)


def test_the_command_takes_a_pipeline_and_raw_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, X, y, people = case()
    monkeypatch.chdir(tmp_path)
    joblib.dump(model, "pipeline.pkl")
    X.assign(good=y).to_csv("train.csv", index=False)
    people[:4].to_csv("people.csv", index=False)
    told = "--model pipeline.pkl --unsafe-pickle --data train.csv --applicants people.csv"
    method = "--method nearest --target 1 --keep none --quiet --out answers.json"
    robx_command.main(
        ["explain", *told.split(), "--label", "good", "--models", "6", *method.split()],
        standalone_mode=False,
    )
    answers = robx.Counterfactuals.load("answers.json")
    assert answers.ok.all()
    assert (model.predict_proba(answers.points[X.columns])[:, 1] > 0.5).all()

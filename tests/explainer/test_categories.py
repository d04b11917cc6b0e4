"""CatBoost's categories, all the way from a model to answers that it accepts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import robx
from catboost_cases import CATEGORIES, classifier, labels, people, trained
from robx.problem import Problem
from robx.retrained import import_models
from robx.trees import TreeEnsemble

X = people().assign(flag=lambda frame: frame["age"] % 2 == 0)
Y = labels(X)
NAMES = [*CATEGORIES, "flag"]
NEW = people(40, seed=9).assign(flag=True)
NEW.loc[0, "town"] = "never heard of"


@pytest.fixture(scope="module")
def explainer() -> robx.Explainer:
    """Of a model that was told its categories by `fit` alone; money helps only so much."""
    changes: dict[str, dict[str, Any]] = {"income": {"max_increase": 1.0}}
    schema = robx.Schema.infer(X).override(changes)
    model = trained(X, Y, NAMES)
    return robx.Explainer(model, X, Y, schema=schema, keep=None, n_models=6)


def test_answers_are_words_and_catboost_accepts_them(explainer: robx.Explainer) -> None:
    model = trained(X, Y, NAMES)
    answer = explainer.explain(NEW)
    assert answer.ok.sum() > 5
    assert (model.predict_proba(answer.points[answer.ok])[:, 1] > 0.5).all()
    np.testing.assert_allclose(
        answer.score[answer.ok], model.predict_proba(answer.points[answer.ok])[:, 1], atol=1e-6
    )
    assert answer.points.dtypes.equals(NEW.dtypes)
    said = " ".join(answer.words(int(i)) for i in np.flatnonzero(answer.ok))
    assert "town: " in said
    assert "→ Ely" in said
    assert set(answer.points["town"][answer.ok]) <= {*X["town"], "never heard of"}
    assert answer.certificate is not None


def test_the_file_of_an_explainer_has_its_categories(
    explainer: robx.Explainer, tmp_path: Path
) -> None:
    explainer.save(tmp_path / "explainer.robx")
    again = robx.Explainer.load(tmp_path / "explainer.robx").explain(NEW)
    pd.testing.assert_frame_equal(again.points, explainer.explain(NEW).points)


def test_retrained_models_have_the_columns_of_the_first() -> None:
    problem = Problem(trained(X, Y, NAMES), X)
    halves = [trained(X[k::2], Y[k::2], NAMES) for k in range(2)]
    assert isinstance(problem.model, TreeEnsemble)
    for model, half in zip(import_models(problem, halves), halves, strict=True):
        assert isinstance(model, TreeEnsemble)
        assert model.columns == problem.model.columns
        np.testing.assert_allclose(model.score(X), half.predict_proba(X)[:, 1], atol=1e-12)


def test_retrained_pipelines_know_the_names_of_all_rows() -> None:
    def fitted(rows: slice) -> Any:
        prepared = make_column_transformer((StandardScaler(), ["age"]), remainder="passthrough")
        prepared.set_output(transform="pandas")
        names = [f"remainder__{name}" for name in NAMES]
        return make_pipeline(prepared, classifier(cat_features=names)).fit(X[rows], Y[rows])

    problem = Problem(fitted(slice(None)), X)
    half = fitted(slice(1, None, 2))
    (imported,) = import_models(problem, [half])
    assert isinstance(imported, TreeEnsemble)
    assert isinstance(problem.model, TreeEnsemble)
    assert imported.columns == problem.model.columns
    np.testing.assert_allclose(imported.score(X), half.predict_proba(X)[:, 1], atol=1e-12)


def test_a_file_finds_the_names_in_the_training_rows(tmp_path: Path) -> None:
    model = trained(X, Y, NAMES)
    model.save_model(str(tmp_path / "model.json"), format="json")
    box = Problem(robx.BlackBox(model), X)
    (imported,) = import_models(box, [tmp_path / "model.json"])
    np.testing.assert_allclose(imported.score(X), model.predict_proba(X)[:, 1], atol=1e-12)


def test_missing_and_odd_categories_are_the_trouble_of_their_row(
    explainer: robx.Explainer,
) -> None:
    odd = NEW.astype({"town": object})
    odd["town"] = [None, 2.5, *NEW["town"][2:]]
    answer = explainer.explain(odd)
    assert answer.status[:2].tolist() == [robx.Status.INFEASIBLE] * 2
    assert "takes no missing values" in answer.reason[0]
    assert "neither text nor" in answer.reason[1]
    assert answer.ok[2:].any()


def test_answers_are_checked_by_a_later_model(explainer: robx.Explainer) -> None:
    answer = explainer.explain(NEW)
    later = trained(X[:150], Y[:150], NAMES)
    check = robx.check(answer, later)
    theirs = later.predict_proba(answer.points[answer.ok])[:, 1]
    np.testing.assert_allclose(check.score[answer.ok], theirs, atol=1e-6)
    same = robx.check(answer, trained(X, Y, NAMES))
    assert same.issued[0].is_same


def test_stability_needs_no_other_rows_than_those_that_are_measured() -> None:
    model = trained(X, Y, NAMES)
    few = X.dropna()[:5]
    by_itself = robx.stability(model, few, scale=X, n_draws=32)
    imported = robx.stability(robx.import_model(model, X=X), few, scale=X, n_draws=32)
    np.testing.assert_array_equal(by_itself.value, imported.value)
    box = robx.BlackBox(model)
    np.testing.assert_allclose(robx.stability(box, few, scale=X, n_draws=32).value, by_itself.value)


@pytest.mark.slow
def test_a_promise_is_rehearsed_with_models_that_know_all_names() -> None:
    estimator = classifier(iterations=4, depth=2, cat_features=NAMES)
    made = robx.Explainer(estimator.fit(X, Y), X, Y, keep=0.8, n_models=6)
    assert made.promise is not None
    assert made.explain(NEW).ok.any()


def test_combined_features_are_explained_as_a_black_box() -> None:
    model = trained(X, Y, NAMES, max_ctr_complexity=4, iterations=30)
    with pytest.warns(robx.SlowModel, match="max_ctr_complexity=1"):
        problem = Problem(model, X)
    assert isinstance(problem.model, robx.BlackBox)
    assert "max_ctr_complexity=1" in problem.model.why
    answer = robx.NearestNeighbour().explain(problem, NEW)
    assert (model.predict_proba(answer.points[answer.ok])[:, 1] > 0.5).all()

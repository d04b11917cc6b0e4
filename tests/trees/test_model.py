from __future__ import annotations

import re
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost as xgb
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import robx
from oracles import toy_data
from robx.trees import Model

X, Y = toy_data(150, 3)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


def forest(table: Any = FRAME) -> Model:
    return robx.import_model(RandomForestClassifier(3, random_state=0).fit(table, Y))


def pipeline(table: Any = FRAME) -> Model:
    return robx.import_model(make_pipeline(StandardScaler(), LogisticRegression()).fit(table, Y))


def function() -> Model:
    return robx.BlackBox(lambda table: np.full(len(table), 0.5))


def codes() -> Model:
    """A model that splits 'b' by category, and knows its categories only by number."""
    table = FRAME.assign(b=np.arange(150) % 3)
    model = lgb.LGBMClassifier(n_estimators=3, verbose=-1, min_data_per_group=5)
    model.fit(table, (X[:, 0] > 0) ^ (np.arange(150) % 3 == 1), categorical_feature=["b"])
    return robx.import_model(model)


MODELS = {"ensemble": forest, "black box": pipeline, "function": function}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_every_model_offers_the_same(make: Any) -> None:
    model = make()
    assert isinstance(model, Model)
    assert set(model.about()) - {"why"} == {"kind", "digest", "source", "n_trees"}
    assert model.about().get("why", "") == model.why
    assert model.about()["digest"] == model.digest
    assert model.about()["source"] == model.source
    assert (model.digest is None) == (model.trees is None)
    assert model.score(FRAME).shape == (150,)
    polars = pl.DataFrame(FRAME)
    for table in (FRAME, polars, polars.to_arrow(), X, X.tolist()):
        model.check_columns(table)


def test_an_ensemble_is_its_own_trees() -> None:
    model = forest()
    assert model.trees is model
    assert model.about()["kind"] == "tree ensemble"
    assert model.about()["n_trees"] == 3
    assert model.names == model.known_names == ("a", "b", "c")


def test_of_a_black_box_only_the_type_and_the_names_are_known() -> None:
    model = pipeline()
    assert model.about() == {
        "kind": "black box",
        "digest": None,
        "source": "sklearn.pipeline.Pipeline",
        "n_trees": None,
        "why": "The pipeline is scored as a black box, which is slow: its last step "
        "(LogisticRegression) is not a tree ensemble.",
    }
    assert model.names == model.known_names == ("a", "b", "c")


def test_names_that_are_made_up_are_not_known() -> None:
    assert forest(X).names == ("x0", "x1", "x2")
    assert forest(X).known_names is None
    assert pipeline(X).names is None
    assert pipeline(X).known_names is None


# --- columns --------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [forest, pipeline])
def test_columns_are_found_in_any_order(make: Any) -> None:
    make().check_columns(FRAME[["c", "a", "b"]])


@pytest.mark.parametrize(
    ("make", "table", "message"),
    [
        (forest, FRAME[["a", "b"]], "answers lacks 1 of the model's columns: 'c'."),
        (forest, FRAME.assign(d=1), "answers has columns that the model was not trained on: 'd'"),
        (forest, X[:, :2], "answers must have the 3 columns that the model was trained on. Got 2."),
        (forest, X[0], "answers must have two dimensions (rows, columns). Got shape (3,)."),
        (forest, 7.0, "answers must have two dimensions (rows, columns). Got shape ()."),
        (
            lambda: forest(X),
            FRAME[["a", "b"]],
            "answers must have the 3 columns that the model was trained on. Got 2: 'a', 'b'.",
        ),
        (
            pipeline,
            FRAME[["a", "b"]],
            "answers must have the columns that the model was trained on. Missing: ['c']; not",
        ),
        (pipeline, X[:, :2], "answers must have the 3 columns that the model was trained on. Got"),
        (pipeline, X[0], "answers must have two dimensions (rows, columns). Got shape (3,)."),
        (
            lambda: pipeline(X),
            FRAME[["a", "b"]],
            "answers must have the 3 columns that the model was trained on. Got 2.",
        ),
        (function, X[0], "answers must have two dimensions (rows, columns). Got shape (3,)."),
        (
            forest,
            FRAME.assign(b="x"),
            "Column 'b' of answers holds String; the model takes numbers there.",
        ),
        (
            codes,
            FRAME.assign(b="x"),
            "Column 'b' of answers holds text; the model knows its categories only by number.",
        ),
    ],
)
def test_a_table_of_other_columns_is_refused(make: Any, table: Any, message: str) -> None:
    with pytest.raises(robx.InvalidInput, match=re.escape(message)):
        make().check_columns(table, "answers")


def test_values_are_not_looked_at() -> None:
    model = robx.import_model(
        xgb.XGBClassifier(n_estimators=2, n_jobs=1, enable_categorical=True).fit(
            FRAME.assign(b=pd.Categorical(np.array(["x", "y"])[np.arange(150) % 2])), Y
        )
    )
    unseen = FRAME.assign(b=pd.Categorical(["z"] * 150))
    model.check_columns(unseen)
    with pytest.raises(robx.InvalidInput, match="category 'z'"):
        model.score(unseen)
    forest().check_columns(FRAME.assign(b=None, c=np.inf))

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import robx
from oracles import toy_data

X, Y = toy_data(200)
NAMES = ["a", "b", "c", "d", "e"]
FRAME = pd.DataFrame(X, columns=NAMES)
FOREST = RandomForestClassifier(5, max_depth=3, random_state=0)
MODELS = {
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "pipeline that mixes columns": make_pipeline(PCA(3), FOREST),
    "calibrated": CalibratedClassifierCV(FOREST, cv=2),
    "neural net": MLPClassifier((4,), solver="lbfgs", max_iter=15000, random_state=0),
    "voting": VotingClassifier([("f", FOREST), ("l", LogisticRegression())], voting="soft"),
}


def pipeline(table: Any = FRAME, y: Any = Y) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(table, y)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_any_classifier_scores_as_its_own_predict_proba(model: Any) -> None:
    model.fit(X, Y)
    box = robx.import_model(model)
    assert isinstance(box, robx.BlackBox)
    assert box.target == 1
    assert box.score(X).tolist() == model.predict_proba(X)[:, 1].tolist()
    assert robx.import_model(model, 0).score(X).tolist() == model.predict_proba(X)[:, 0].tolist()


@pytest.mark.parametrize("target", ["high", "low", "mid"])
def test_the_target_is_one_of_the_labels(target: str) -> None:
    labels = np.array(["low", "mid", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = pipeline(FRAME, labels)
    place = ["high", "low", "mid"].index(target)
    box = robx.BlackBox(model, target)
    assert box.score(FRAME).tolist() == model.predict_proba(FRAME)[:, place].tolist()
    assert repr(box) == f"<BlackBox Pipeline, score = P({target!r})>"


def test_of_several_classes_one_must_be_named() -> None:
    model = pipeline(FRAME, np.digitize(X[:, 0], [-0.5, 0.5]))
    with pytest.raises(robx.InvalidInput, match="say which one counts as accepted with target="):
        robx.import_model(model)


def test_an_unknown_target_is_an_error() -> None:
    with pytest.raises(robx.InvalidInput, match=r"one of the model's classes, 0, 1\. Got 2"):
        robx.BlackBox(pipeline(), 2)


# --- functions ------------------------------------------------------------------------------------


def share(table: Any) -> Any:
    """A probability of class 1 that differs in every row."""
    return 1 / (1 + np.exp(-np.asarray(table)[:, 0]))


def test_a_function_that_gives_one_probability_a_row() -> None:
    box = robx.import_model(share)
    assert isinstance(box, robx.BlackBox)
    assert box.score(X).tolist() == share(X).tolist()


@pytest.mark.parametrize(("target", "column"), [(None, 1), (0, 0), (1, 1)])
def test_a_function_that_gives_two_classes(target: int | None, column: int) -> None:
    def both(table: Any) -> Any:
        return np.column_stack([1 - share(table), share(table)])

    box = robx.BlackBox(both, target)
    assert box.score(X).tolist() == both(X)[:, column].tolist()
    assert box.target == column


def test_a_function_that_gives_three_classes_needs_a_target() -> None:
    def three(table: Any) -> Any:
        return np.column_stack([share(table) / 2, share(table) / 2, 1 - share(table)])

    assert robx.BlackBox(three, 2).score(X).tolist() == three(X)[:, 2].tolist()
    with pytest.raises(robx.InvalidInput, match="The model has 3 classes"):
        robx.BlackBox(three).score(X)


def test_a_function_gets_a_frame_as_it_came() -> None:
    seen: list[Any] = []

    def keep(table: Any) -> Any:
        seen.append(table)
        return np.zeros(len(table))

    robx.BlackBox(keep).score(FRAME[["b", "a"]])
    assert isinstance(seen[0], pd.DataFrame)
    assert list(seen[0].columns) == ["b", "a"]


# --- tables ---------------------------------------------------------------------------------------


def test_a_frame_in_another_order_is_put_in_order() -> None:
    model = pipeline()
    box = robx.import_model(model)
    theirs = model.predict_proba(FRAME)[:, 1].tolist()
    assert box.score(FRAME[NAMES[::-1]]).tolist() == theirs
    assert box.score(pl.from_pandas(FRAME[NAMES[::-1]])).tolist() == theirs
    assert list(FRAME.columns) == NAMES


def test_an_array_is_taken_in_the_order_of_the_model() -> None:
    model = pipeline(X)
    assert robx.BlackBox(model).score(X.tolist()).tolist() == model.predict_proba(X)[:, 1].tolist()


def test_missing_and_unknown_columns_are_named() -> None:
    box = robx.import_model(pipeline())
    with pytest.raises(robx.InvalidInput, match=r"Missing: \['c'\]; not known: \['z'\]"):
        box.score(FRAME.rename(columns={"c": "z"}))
    with pytest.raises(robx.InvalidInput, match=r"Missing: \[\]; not known: \['z'\]"):
        box.score(FRAME.assign(z=0.0))
    with pytest.raises(robx.InvalidInput, match=r"Missing: \['a', 'b'\]"):
        box.score(pl.from_pandas(FRAME[["c", "d", "e"]]))


def test_a_single_row_without_its_second_dimension_is_an_error() -> None:
    with pytest.raises(robx.InvalidInput, match=r"two dimensions.*\(5,\)"):
        robx.BlackBox(share).score(X[0])


@pytest.mark.parametrize("table", [FRAME[:0], X[:0], pl.from_pandas(FRAME[:0])], ids=type)
def test_an_empty_table_has_no_scores(table: Any) -> None:
    scores = robx.BlackBox(pipeline()).score(table)
    assert scores.shape == (0,)
    assert scores.dtype == np.float64


# --- answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros(3), r"one probability for each row, 200 in all.*\(3,\)"),
        (np.zeros((3, 2)), r"one probability for each row, 200 in all.*\(3,\)"),
        (0.5, r"one probability for each row, 200 in all.*\(\)"),
        (np.zeros((200, 1, 1)), r"one probability for each row, 200 in all"),
        (np.where(np.arange(200) == 7, np.nan, 0.5), r"from 0 to 1\. Got nan in row 7"),
        (np.where(np.arange(200) == 9, 1.01, 0.5), r"from 0 to 1\. Got 1\.01 in row 9"),
        (np.where(np.arange(200) == 4, -0.1, 0.5), r"from 0 to 1\. Got -0\.1 in row 4"),
    ],
)
def test_what_is_no_probability_is_an_error(answer: Any, message: str) -> None:
    with pytest.raises(robx.InvalidInput, match=message):
        robx.BlackBox(lambda _: answer).score(X)


@pytest.mark.parametrize("model", [LinearSVC(), StandardScaler(), 3.5], ids=type)
def test_what_gives_no_probability_is_refused(model: Any) -> None:
    with pytest.raises(robx.UnsupportedModel, match=f"predict_proba.*Got {type(model).__name__}"):
        robx.import_model(model)

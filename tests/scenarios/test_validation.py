"""Tables and labels of every kind are taken; what does not fit is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from lightgbm import LGBMClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from robx.errors import InvalidInput
from robx.scenarios import (
    Bootstrap,
    DropRows,
    Hyperparameter,
    LabelFlips,
    LaterVintage,
    MoreData,
    NewSeed,
    OtherHalf,
    OtherLibrary,
    Scenario,
    Subsample,
)
from scenario_cases import (
    CATBOOST,
    ESTIMATORS,
    FOREST,
    TREE,
    WORDS,
    Recorder,
    X,
    Y,
    scores,
)


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, pl.DataFrame, pa.Table.from_pandas])
def test_rows_are_taken_in_the_tables_own_kind(kind: Any) -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    table = kind(frame)
    (model,) = Bootstrap().models(Recorder(), table, Y, n_models=1)
    (fit,) = Bootstrap().fits(Recorder(), Y, n_models=1)
    assert type(model.rows_) is type(table)
    assert np.array_equal(np.asarray(model.rows_), X[fit.rows])


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_xgboost_gives_the_same_models_for_every_kind_of_table(kind: Any) -> None:
    table = kind({name: X[:, j] for j, name in enumerate("abcd")})
    from_array = scores(DropRows(9).models(ESTIMATORS["XGBoost"], X, Y, n_models=2))
    from_table = scores(DropRows(9).models(ESTIMATORS["XGBoost"], table, Y, n_models=2), table)
    assert np.array_equal(from_array, from_table)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (Y.tolist(), [0, 1]),
        (pd.Series(Y, index=range(900, 1140)), [0, 1]),
        (pd.Series(Y, dtype="Int64"), [0, 1]),
        (pl.Series(Y), [0, 1]),
        (pa.array(Y), [0, 1]),
        (Y.astype(object), [0, 1]),
        ((Y == 1).tolist(), [False, True]),
        ([WORDS[i] for i in Y], ["bad", "good"]),
        (pd.Series([WORDS[i] for i in Y]), ["bad", "good"]),
        (pd.Series([WORDS[i] for i in Y], dtype="category"), ["bad", "good"]),
        (pl.Series([WORDS[i] for i in Y]), ["bad", "good"]),
        (pl.Series([WORDS[i] for i in Y], dtype=pl.Enum(WORDS)), ["bad", "good"]),
    ],
)
def test_labels_come_in_every_kind_of_sequence(y: Any, classes: list[Any]) -> None:
    (model,) = DropRows(5).models(FOREST, X, y, n_models=1)
    (plain,) = DropRows(5).models(FOREST, X, Y, n_models=1)
    assert model.classes_.tolist() == classes
    column = 0 if classes == ["bad", "good"] else 1
    assert np.allclose(model.predict_proba(X)[:, column], scores([plain])[0])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.0, 1.0, np.nan], r"y must have a label for every row. Row 2 has none."),
        (pl.Series([0, None, 1]), r"y must have a label for every row. Row 1 has none."),
        (["a", None, "b"], "y must hold numbers or text, .* Got None among text."),
        (pd.Series([1, "b", 0]), "y must hold numbers or text, .* Got 'b' among numbers."),
        ([0, 0, 0], r"y must have at least two classes. Got \[0\]."),
        ([], r"y must have at least two classes. Got \[\]."),
        (np.zeros((3, 1)), r"y must hold one label for each row. Got shape \(3, 1\)."),
        ([0, 1], "X and y must have the same number of rows. Got 3 and 2."),
    ],
)
def test_labels_that_do_not_fit_are_refused(y: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        DropRows(1).models(TREE, X[:3], y)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: DropRows(-3),
            "The 'k' parameter of DropRows must be an integer from 1. Got -3 instead.",
        ),
        (lambda: DropRows(2.5), "'k' parameter of DropRows must be an integer from 1. Got 2.5"),  # type: ignore[arg-type]
        (lambda: DropRows(True), "'k' parameter of DropRows must be an integer from 1. Got True"),
        (
            lambda: LabelFlips(0),
            "The 'share' parameter of LabelFlips must be a number above 0 and below 1. Got 0",
        ),
        (lambda: Subsample(1), "'share' parameter of Subsample must be a number above 0 and b"),
        (lambda: LabelFlips(float("nan")), "above 0 and below 1. Got nan"),
        (lambda: MoreData(first=1), "'first' parameter of MoreData must be a number above 0 and b"),
        (lambda: MoreData(steps=0), "'steps' parameter of MoreData must be an integer from 1"),
        (
            lambda: Hyperparameter({}),
            "The 'vary' parameter of Hyperparameter must name at least one hyperparameter. Got {}",
        ),
        (
            lambda: Hyperparameter(["max_depth"]),  # type: ignore[arg-type]
            (
                "The 'vary' parameter of Hyperparameter must be a mapping from names to lists of "
                "values, such as {'max_depth': \\[3, 5\\]}. Got \\['max_depth'\\] instead."
            ),
        ),
        (
            lambda: OtherHalf({"max_depth": 3}),  # type: ignore[dict-item]
            (
                "The 'vary' parameter of OtherHalf must be a mapping from names to lists of "
                "values, at least one each. Got 'max_depth': 3 instead."
            ),
        ),
        (lambda: OtherHalf({"max_depth": []}), "at least one each. Got 'max_depth': \\[\\]"),
        (lambda: OtherHalf({"loss": "log"}), "at least one each. Got 'loss': 'log'"),
        (lambda: OtherHalf({3: [3]}), "at least one each. Got 3: \\[3\\]"),  # type: ignore[dict-item]
        (
            lambda: Subsample(0.5, {"max_depth": 3}),  # type: ignore[dict-item]
            (
                "The 'vary' parameter of Subsample must be a mapping from names to lists of "
                "values, at least one each. Got 'max_depth': 3 instead."
            ),
        ),
        (lambda: Subsample(0.5, ["max_depth"]), "'vary' parameter of Subsample must be a map"),  # type: ignore[arg-type]
        (
            lambda: OtherLibrary(FOREST),
            "The 'estimators' parameter of OtherLibrary must be a list of at least one classifier",
        ),
        (lambda: OtherLibrary([]), "a list of at least one classifier. Got \\[\\] instead."),
        (
            lambda: OtherLibrary([TREE, StandardScaler()]),
            (
                "The 'estimators' parameter of OtherLibrary must be a classifier in scikit-learn's "
                "form, with fit, predict_proba, get_params and set_params. Got StandardScaler ins"
            ),
        ),
        (lambda: DropRows(1).base_rows(0), "'n' parameter of DropRows must be an integer from 1"),
        (lambda: OtherHalf().base_rows(1), "'n' parameter of OtherHalf must be an integer from 2"),
        (lambda: MoreData().base_rows(1), "'n' parameter of MoreData must be an integer from 2"),
        (lambda: MoreData().base_rows(9, seed=-1), "'seed' parameter of MoreData must be an int"),
        (
            lambda: LaterVintage(range(9)).base_rows(9, seed=-1),
            "'seed' parameter of LaterVintage must be an integer from 0. Got -1 instead.",
        ),
        (
            lambda: LaterVintage(range(9)).base_rows(10),
            "LaterVintage has 9 dates, and the table has 10 rows.",
        ),
    ],
)
def test_parameters_are_checked_at_once(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()


@pytest.mark.parametrize(
    ("dates", "given"),
    [
        (3, "int of shape ()"),
        ("2024-03-01", "str of shape ()"),
        ([2023, 2024], "list of shape (2,)"),
        (np.zeros((3, 1)), "ndarray of shape (3, 1)"),
        ([2023, 2024, float("nan")], "list of shape (3,)"),
        ([2023, None, 2024], "list of shape (3,)"),
        ([None, None, None], "list of shape (3,)"),
        ([{}, {}, {}], "list of shape (3,)"),
        (np.array([1.0, np.nan, 2.0], dtype=object), "ndarray of shape (3,)"),
        (pd.Series([1, None, 3], dtype="Int64"), "Series of shape (3,)"),
        (pd.to_datetime(pd.Series(["2023", "2024", None])), "Series of shape (3,)"),
        (pd.Series(["2023", "2024", None]), "Series of shape (3,)"),
        (pl.Series([1, None, 3]), "Series of shape (3,)"),
    ],
)
def test_dates_that_have_no_order_or_are_missing_are_refused(dates: Any, given: str) -> None:
    message = (
        "The 'dates' parameter of LaterVintage must have a date or a number for every row, of "
        f"three at least, none missing. Got {given}."
    )
    with pytest.raises(InvalidInput) as error:
        LaterVintage(dates)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "kind",
    [
        list,
        pd.Series,
        pl.Series,
        pd.to_datetime,
        lambda days: pd.to_datetime(days).tz_localize("UTC"),
        lambda days: pd.Series(pd.to_datetime(days)).dt.to_period("D"),
        lambda days: [day.isoformat() for day in days],
    ],
)
def test_dates_come_in_every_kind_of_sequence(kind: Any) -> None:
    days = [date(2024, 1, 1) + timedelta(days=int(k)) for k in np.argsort(X[:, 0])]
    assert np.array_equal(
        LaterVintage(kind(days)).base_rows(240), LaterVintage(days).base_rows(240)
    )


@pytest.mark.parametrize(
    ("scenario", "estimator", "options", "message"),
    [
        (DropRows(240), TREE, {}, r"DropRows\(k=240\) needs a table of more than 240 rows. Got 2"),
        (
            DropRows(1),
            DecisionTreeClassifier,
            {},
            (
                "The 'estimator' parameter of DropRows must be a classifier in scikit-learn's "
                "form, .* Got DecisionTreeClassifier instead."
            ),
        ),
        (DropRows(1), "a tree", {}, "Got str instead"),
        (DropRows(1), TREE, {"n_models": 0}, "'n_models' parameter of DropRows must be an integer"),
        (DropRows(1), TREE, {"seed": -1}, "'seed' parameter of DropRows must be an integer from 0"),
        (
            DropRows(1),
            TREE,
            {"n_jobs": 0},
            (
                "The 'n_jobs' parameter of DropRows must be an integer other than 0, or None for "
                "all cores. Got 0 instead."
            ),
        ),
        (DropRows(1), TREE, {"n_jobs": 1.5}, "'n_jobs' parameter of DropRows must be an integer"),
        (
            Hyperparameter({"max_depth": [3, 4], "depht": [3]}),
            XGBClassifier(),
            {"n_models": 1},
            (
                r"Hyperparameter cannot vary 'depht': XGBClassifier has no such parameter. Choose "
                r"one of its get_params\(\)."
            ),
        ),
        (
            OtherHalf({"model__depht": [3]}),
            ESTIMATORS["pipeline"],
            {},
            "OtherHalf cannot vary 'model__depht': Pipeline has no such parameter.",
        ),
        (OtherHalf({"model__depth": [3]}), CATBOOST, {}, "CatBoostClassifier has no such par"),
        (OtherHalf({"depht": [3]}), CATBOOST, {}, "CatBoostClassifier has no such parameter"),
        (OtherHalf({"depht": [3]}), LGBMClassifier(), {}, "LGBMClassifier has no such parameter"),
        (Subsample(0.5, {"depht": [3]}), TREE, {}, "Subsample cannot vary 'depht': DecisionTreeCl"),
        (LaterVintage(range(9)), TREE, {}, "LaterVintage has 9 dates, and the table has 240 rows."),
        (
            NewSeed(),
            KNeighborsClassifier(),
            {},
            "NewSeed needs an estimator with a random_state. KNeighborsClassifier has none.",
        ),
    ],
)
def test_bad_input_is_refused_before_anything_is_trained(
    scenario: Scenario, estimator: Any, options: Any, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        scenario.models(estimator, X, Y, **options)


@pytest.mark.parametrize(
    ("scenario", "n_yes", "n_no"),
    [
        (DropRows(200), 238, 2),
        (Bootstrap(), 239, 1),
        (OtherHalf(), 239, 1),
        (MoreData(), 239, 1),
        (LaterVintage(range(240, 0, -1)), 239, 1),
        (LabelFlips(0.25), 3, 1),
    ],
    ids=str,
)
def test_a_class_that_would_be_lost_is_said(scenario: Scenario, n_yes: int, n_no: int) -> None:
    message = (
        rf"leaves model \d+ no row of class 'no', of which y has {n_no}. Change fewer rows, or add "
        "rows of it."
    )
    with pytest.raises(InvalidInput, match=message) as error:
        scenario.fits(TREE, ["yes"] * n_yes + ["no"] * n_no, n_models=20)
    assert str(error.value).startswith(repr(scenario))

from __future__ import annotations

import hashlib
import re
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from xgboost import XGBClassifier

import robx
from robx import InvalidInput
from robx.datasets import load_german
from robx.datasets.german import CATEGORIES, COLUMNS, LEVELS, PAPER
from speed import slow_but

FIXED = {"history", "purpose", "personal", "age", "job", "dependants", "foreign"}
ONLY_RISING = {"savings", "employment", "residence", "property"}


def test_the_file_is_the_one_its_licence_speaks_of() -> None:
    data = files("robx.datasets").joinpath("german.data").read_bytes()
    assert hashlib.sha256(data).hexdigest().startswith("b21f3d81")
    assert "CC BY 4.0" in files("robx.datasets").joinpath("german.LICENSE").read_text()


def test_the_paper_has_ten_columns_of_whole_numbers() -> None:
    X, y, _ = load_german()
    assert X.shape == (1000, 10)
    assert y.value_counts().to_dict() == {1: 700, 0: 300}
    assert all(dtype.kind == "i" for dtype in X.dtypes)


def test_all_twenty_hold_the_ten_as_they_are() -> None:
    X, y, schema = load_german("all")
    ten = load_german("paper")
    assert tuple(X.columns) == COLUMNS
    assert len(COLUMNS) == 20
    assert X[list(PAPER)].equals(ten.X)
    assert y.equals(ten.y)
    assert [schema[name] for name in PAPER] == list(ten.schema)


def test_every_cell_is_the_code_of_the_file_in_other_words() -> None:
    lines = files("robx.datasets").joinpath("german.data").read_text().splitlines()
    raw = [line.split() for line in lines]
    X, y, schema = load_german("all")
    for j, name in enumerate(COLUMNS):
        feature = schema[name]
        for code, value in zip((row[j] for row in raw), X[name], strict=True):
            if name in LEVELS:
                shown = value if name in CATEGORIES else feature.say(value)
                assert shown == LEVELS[name][code]
            else:
                assert value == int(code)
    assert y.tolist() == [int(row[20] == "1") for row in raw]


@pytest.mark.parametrize("name", LEVELS)
def test_every_level_occurs_and_better_standing_is_a_larger_number(name: str) -> None:
    X, _, schema = load_german("all")
    assert set(X[name]) == set(schema[name].levels or ())
    if name in CATEGORIES:
        assert X[name].cat.categories.tolist() == list(LEVELS[name].values())
    else:
        assert X[name].max() == len(LEVELS[name]) - 1


def test_the_paper_s_order_of_checking_accounts() -> None:
    assert list(LEVELS["checking"]) == ["A14", "A11", "A12", "A13"]


def test_the_schema_says_what_people_can_do() -> None:
    _, _, schema = load_german("all")
    assert {f.name for f in schema if f.change == "none"} == FIXED
    assert {f.name for f in schema if f.change == "increase"} == ONLY_RISING
    assert {f.name for f in schema if f.kind == "categorical"} == set(CATEGORIES)
    assert {f.name for f in schema if f.kind == "integer"} == set(COLUMNS) - set(LEVELS)


@pytest.mark.parametrize("columns", ["ten", "Paper", None, ["paper"], 10])
def test_other_columns_are_refused(columns: Any) -> None:
    message = (
        f"The 'columns' parameter of load_german must be 'paper' or 'all'. Got {columns!r} instead."
    )
    with pytest.raises(InvalidInput, match=re.escape(message)):
        load_german(columns)


MODELS: dict[str, Any] = {
    "xgboost": XGBClassifier(n_estimators=40, max_depth=4, n_jobs=1, enable_categorical=True),
    "lightgbm": LGBMClassifier(n_estimators=40, n_jobs=1, verbose=-1),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("columns", slow_but(["all"], ["paper", "all"]))
def test_robust_recourse_keeps_what_is_fixed(columns: Any, model: str) -> None:
    X, y, schema = load_german(columns)
    fitted = MODELS[model].fit(X[:700], y[:700])
    people = X[700:][fitted.predict_proba(X[700:])[:, 1] <= 0.5]
    answer = robx.RobX().explain(robx.Problem(fitted, X[:700], schema), people)
    assert answer.ok.mean() > 0.5
    points, asked = answer.points[answer.ok], people[answer.ok]
    assert (fitted.predict_proba(points)[:, 1] > 0.5).all()
    assert points.dtypes.equals(X.dtypes)
    fixed = [name for name in X.columns if name in FIXED]
    pd.testing.assert_frame_equal(points[fixed], asked[fixed])
    rising = [name for name in X.columns if name in ONLY_RISING]
    assert (points[rising] >= asked[rising]).to_numpy().all()
    # Not for want of changes: people are told to do something, in words.
    assert (answer.n_changes[answer.ok] > 0).all()
    told = " ".join(answer.words(int(i)) for i in np.flatnonzero(answer.ok))
    assert "→ no account" in told

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pipeline_cases import NUMBERS, folded, last_step, outcome, raw_table
from robx.trees.alignment import in_columns
from speed import slow_but


@cache
def rows() -> pd.DataFrame:
    return raw_table(400)


def trained(X: pd.DataFrame, last: str, handle_unknown: str = "error") -> Any:
    prepare = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
        (OneHotEncoder(handle_unknown=handle_unknown), ["purpose", "job"]),
    )
    return make_pipeline(prepare, last_step(last)).fit(X, outcome(X))


@pytest.mark.parametrize(
    "last", slow_but(["xgboost", "forest"], ["xgboost", "forest", "hist", "lightgbm", "boosting"])
)
@pytest.mark.parametrize("handle_unknown", ["error", "ignore"])
def test_a_model_of_fewer_categories_scores_as_before_in_other_codes(
    last: str, handle_unknown: str
) -> None:
    X = rows()
    first = folded(trained(X, last, handle_unknown))
    some = X[(X["purpose"] != "boat") & X["job"].notna()].reset_index(drop=True)
    model = trained(some, last, handle_unknown)
    fewer = folded(model)
    assert fewer.columns != first.columns
    aligned = in_columns(fewer, first.columns)
    assert aligned is not None
    assert aligned.columns == first.columns
    readable = (X["purpose"] != "boat") & X["job"].notna()
    scores = aligned.score(X)
    np.testing.assert_array_equal(scores[readable], fewer.score(X[readable]))
    if handle_unknown == "ignore":
        np.testing.assert_allclose(scores, model.predict_proba(X)[:, 1], atol=1e-6)
    else:  # what it refuses, it does not accept
        assert (scores[~readable] == 0).all()
        assert (scores[readable] > 0).any()


def test_the_same_columns_need_nothing() -> None:
    ensemble = folded(trained(rows(), "forest"))
    assert in_columns(ensemble, ensemble.columns) is ensemble


def test_categories_that_the_columns_do_not_list_cannot_be_written() -> None:
    X = rows()
    some = X[(X["purpose"] != "boat")].reset_index(drop=True)
    assert in_columns(folded(trained(X, "tree")), folded(trained(some, "tree")).columns) is None
    turned = folded(trained(X[[*X.columns[1:], "income"]], "tree"))
    assert in_columns(turned, folded(trained(X, "tree")).columns) is None

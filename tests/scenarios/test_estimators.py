"""Copies of estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.ensemble import (
    BaggingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_info, threadpool_limits  # type: ignore[import-untyped]
from xgboost import XGBClassifier

from robx.scenarios import (
    DropRows,
    Hyperparameter,
    NewSeed,
    Scenario,
)
from scenario_cases import (
    CATBOOST,
    ESTIMATORS,
    FOREST,
    TREE,
    Recorder,
    X,
    Y,
    scores,
)


def only(estimator: Any, scenario: Scenario | None = None) -> Any:
    """The copy that is trained."""
    return (scenario or DropRows(1)).fits(estimator, Y, n_models=1)[0].estimator


def test_copies_take_one_core_unless_their_user_said_otherwise() -> None:
    assert only(XGBClassifier()).n_jobs == 1
    assert only(XGBClassifier(n_jobs=2)).n_jobs == 2
    assert only(LGBMClassifier()).n_jobs == 1
    assert only(LGBMClassifier(n_jobs=-1)).n_jobs == -1
    assert only(make_pipeline(StandardScaler(), LGBMClassifier()))[-1].n_jobs == 1
    assert only(make_pipeline(CATBOOST))[-1].get_params()["thread_count"] == 1
    assert only(OwnModel()).n_jobs == 1
    catboost = CatBoostClassifier(thread_count=2, allow_writing_files=True)
    assert only(catboost).get_params() == {"thread_count": 2, "allow_writing_files": True}
    # There None is one core, and a number may bring a warning.
    assert only(LogisticRegression()).n_jobs is None


class OwnModel(XGBClassifier):
    """A class of the user's own on top of XGBoost's."""


def test_open_mp_gets_one_core() -> None:
    def cores() -> set[int]:
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"}

    with threadpool_limits(2, user_api="openmp"):
        (model,) = DropRows(1).models(Recorder(look=cores), X, Y, n_models=1, n_jobs=1)
        assert model.seen_ == {1}
        assert cores() == {2}


def test_the_settings_of_scikit_learn_reach_the_threads() -> None:
    with sklearn.config_context(transform_output="pandas"):
        models = DropRows(1).models(Recorder(look=sklearn.get_config), X, Y, 3, n_jobs=2)
        seen = [model.seen_["transform_output"] for model in models]
    assert seen == ["pandas"] * 3


def test_estimators_without_a_seed_get_one_for_each_model() -> None:
    fits = DropRows(1).fits(RandomForestClassifier(), Y, n_models=3)
    assert len({fit.estimator.random_state for fit in fits} - {None}) == 3
    votes = VotingClassifier([("a", DecisionTreeClassifier()), ("b", DecisionTreeClassifier())])
    copy = only(BaggingClassifier(make_pipeline(votes, verbose=False), random_state=5))
    inside = copy.estimator[-1].estimators
    assert copy.random_state == 5
    assert len({None, *(tree.random_state for _, tree in inside)}) == 3
    assert only(XGBClassifier()).random_state is None
    assert "random_seed" not in only(CATBOOST).get_params()


def test_new_seeds_reach_every_part() -> None:
    parts = [("a", FOREST), ("b", CATBOOST), ("c", CatBoostClassifier(random_seed=0)), ("d", TREE)]
    copy = only(VotingClassifier(parts, voting="soft"), NewSeed())
    drawn = [
        copy.estimators[0][1].random_state,
        copy.estimators[1][1].get_params()["random_state"],
        copy.estimators[2][1].get_params()["random_seed"],
        copy.estimators[3][1].random_state,
    ]
    assert len({0, *drawn}) == 5
    assert "random_state" not in copy.estimators[2][1].get_params()


def test_a_fitted_estimator_is_trained_anew() -> None:
    fitted = clone(CATBOOST).fit(X[:50], Y[:50])
    fresh = scores(DropRows(3).models(CATBOOST, X, Y, n_models=2))
    assert np.array_equal(scores(DropRows(3).models(fitted, X, Y, n_models=2)), fresh)
    assert fitted.tree_count_ == 8


@pytest.mark.parametrize("wrap", [lambda model: model, make_pipeline], ids=["alone", "inside"])
def test_catboost_with_lists_is_copied_too(wrap: Any, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"colour": np.where(X[:, 0] > 0, "red", "blue"), "size": X[:, 1]})
    catboost = CatBoostClassifier(iterations=8, verbose=0, cat_features=["colour"])
    models = DropRows(30).models(wrap(catboost), frame, Y, n_models=2)
    one, other = scores(models, frame)
    assert not np.array_equal(one, other)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("estimator", "name", "value"),
    [
        (CATBOOST, "depth", 3),
        (make_pipeline(CATBOOST), "catboostclassifier__depth", 3),
        (XGBClassifier(), "max_depth", 3),
        (ESTIMATORS["pipeline"], "model__max_depth", 3),
        (ESTIMATORS["pipeline"], "scale", "passthrough"),
        (BaggingClassifier(CATBOOST), "estimator__l2_leaf_reg", 3),
    ],
)
def test_parameters_are_known_also_where_they_are_not_listed(
    estimator: Any, name: str, value: Any
) -> None:
    assert only(estimator, Hyperparameter({name: [value]})).get_params()[name] == value

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import robx
from families import family
from retrained_cases import labels_of, own_scores, retrained
from robx.retrained import retrainings
from robx.scenarios import Subsample
from scenario_cases import Recorder, X, Y


def test_every_model_sees_another_third_of_the_rows() -> None:
    models = list(retrainings(Recorder(), X, Y, 5, seed=2))
    fits = Subsample(1 / 3).fits(Recorder(), Y, 5, seed=2)
    for model, fit in zip(models, fits, strict=True):
        assert len(model.rows_) == 80
        np.testing.assert_array_equal(model.rows_, X[fit.rows])
        np.testing.assert_array_equal(model.y_, Y[fit.rows])
    assert len({fit.rows.tobytes() for fit in fits}) == 5


def test_models_are_trained_as_they_are_asked_for() -> None:
    Recorder.trained = 0
    models = retrainings(Recorder(), X, Y, 48)
    assert Recorder.trained == 0
    next(models)
    assert 1 <= Recorder.trained < 20


@pytest.mark.parametrize("name", ["xgboost", "catboost", "pipeline"])
def test_the_same_seed_gives_the_same_models_and_another_gives_others(name: str) -> None:
    case = family(name)
    first = own_scores(retrained(name), case.applicants)
    again = list(retrainings(case.model, case.X, labels_of(case), 6, seed=0))
    np.testing.assert_array_equal(first, own_scores(again, case.applicants))
    other = own_scores(
        list(retrainings(case.model, case.X, labels_of(case), 2, seed=1)), case.applicants
    )
    assert not np.isclose(first[:2], other).all(axis=1).any()


def test_models_may_have_one_hyperparameter_changed_each() -> None:
    tree = DecisionTreeClassifier(random_state=0)
    vary: dict[str, list[Any]] = {"max_depth": [1, 2], "criterion": ["entropy"]}
    plain, varied = (list(retrainings(tree, X, Y, 4, 3, vary=some)) for some in (None, vary))
    taken = [(model.max_depth, model.criterion) for model in varied]
    assert taken == [(1, "gini"), (2, "gini"), (None, "entropy"), (1, "gini")]
    for one, other in zip(plain, varied, strict=True):  # on the same rows
        assert one.tree_.value[0].tolist() == other.tree_.value[0].tolist()
    with pytest.raises(robx.InvalidInput, match="cannot vary 'depth'"):
        retrainings(tree, X, Y, vary={"depth": [3]})


def test_a_fitted_estimator_stays_as_it_was() -> None:
    tree = DecisionTreeClassifier(random_state=0).fit(X, Y)
    before = tree.predict_proba(X)
    list(retrainings(tree, X, Y, 2))
    np.testing.assert_array_equal(tree.predict_proba(X), before)


def test_labels_of_another_length_are_refused_at_once() -> None:
    with pytest.raises(robx.InvalidInput, match="same number of rows. Got 240 and 239"):
        retrainings(DecisionTreeClassifier(), X, Y[:-1])

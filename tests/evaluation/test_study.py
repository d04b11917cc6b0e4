from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from catboost import CatBoostClassifier
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import robx
from robx.retrained import retrainings
from robx.scenarios import Bootstrap, OtherHalf, Subsample

X, Y, SCHEMA = robx.datasets.make_gaussians(300, d=2, separation=1.0, seed=0)
STUDY = robx.Study(RandomForestClassifier(10, random_state=0, n_jobs=1), X, Y, schema=SCHEMA)


@given(seed=st.integers(0, 2**40), test=st.floats(0.05, 0.9))
def test_a_split_parts_the_rows_and_depends_on_the_seed_alone(seed: int, test: float) -> None:
    study = replace(STUDY, test=test)
    train, aside = study.split(seed)
    assert sorted([*train, *aside]) == list(range(300))
    assert len(aside) == round(test * 300)
    assert (np.diff(train) > 0).all()
    assert (np.diff(aside) > 0).all()
    assert np.array_equal(study.split(seed)[0], train)
    assert not np.array_equal(study.split(seed + 1)[0], train)


def test_a_base_model_sees_what_the_scenario_leaves_it_and_answers_those_set_aside() -> None:
    train, aside = STUDY.split(3)
    assert np.array_equal(STUDY.base_rows(Bootstrap(), 3), train)
    half = STUDY.base_rows(OtherHalf(), 3)
    assert set(half) < set(train)
    assert len(half) == len(train) // 2
    base = STUDY.base(half, 3)
    assert np.array_equal(base.problem.training, X.to_numpy()[half])
    declined = [i for i in aside if base.problem.model.score(X.iloc[[i]])[0] <= 0.5]
    assert list(base.applicants.index) == declined


def test_of_many_applicants_some_are_picked_at_random_in_order() -> None:
    rows = STUDY.base_rows(Bootstrap(), 0)
    everyone = STUDY.base(rows, 0).applicants
    some = replace(STUDY, max_applicants=10).base(rows, 0).applicants
    assert len(some) == 10
    assert set(some.index) < set(everyone.index)
    assert list(some.index) == sorted(some.index)
    assert list(some.index) != list(everyone.index[:10])
    enough = replace(STUDY, max_applicants=1000).base(rows, 0).applicants
    assert list(enough.index) == list(everyone.index)


def test_an_estimator_without_a_seed_gives_the_same_base_model_again() -> None:
    study = replace(STUDY, estimator=RandomForestClassifier(10, n_jobs=1))
    rows = study.base_rows(Bootstrap(), 0)
    scores = [study.base(rows, 0).problem.model.score(X).tolist() for _ in range(2)]
    assert scores[0] == scores[1]


def test_catboost_with_categories_can_be_studied() -> None:
    people = X.assign(kind=np.where(np.arange(300) % 3 == 0, "a", "b"))
    estimator = CatBoostClassifier(iterations=5, cat_features=["kind"], verbose=0)
    study = robx.Study(estimator, people, Y)
    table = robx.evaluate(study, {"NN": robx.NearestNeighbour()}, Bootstrap(), seeds=1, n_models=2)
    assert (table[table.metric == "coverage"].value == 1).all()


class Silent(LogisticRegression):  # type: ignore[misc]
    """Its fit returns nothing."""

    def fit(self, X: Any, y: Any) -> None:
        super().fit(X, y)


@pytest.mark.parametrize(
    "estimator",
    [
        Silent(),
        StackingClassifier([("tree", DecisionTreeClassifier(max_depth=2, random_state=0))]),
        make_pipeline(OneHotEncoder(handle_unknown="error"), LogisticRegression()),
    ],
)
def test_estimators_of_all_sorts_can_be_studied(estimator: Any) -> None:
    people = X.round(1)
    if isinstance(estimator, Pipeline):  # which has not seen every value, and refuses those
        people = people.astype(str)
    study = robx.Study(estimator, people, Y)
    table = robx.evaluate(study, {"NN": robx.NearestNeighbour()}, Bootstrap(), seeds=1, n_models=1)
    assert (table[table.metric == "coverage"].value > 0.3).all()


def test_a_base_model_that_cannot_be_trained_says_whose_it_is() -> None:
    study = replace(STUDY, estimator=LogisticRegression(C=-1))
    with pytest.raises(robx.InvalidInput, match="of seed 0 could not be trained. Logistic.* says"):
        robx.evaluate(study, {"NN": robx.NearestNeighbour()}, Bootstrap(), seeds=1, n_models=1)


def test_a_base_model_that_would_lack_a_class_is_refused() -> None:
    labels = np.where(np.arange(300) == 0, 2, Y)
    study = replace(STUDY, y=labels)
    seed = next(seed for seed in range(9) if 0 not in study.split(seed)[0])
    with pytest.raises(robx.InvalidInput, match=f"of seed {seed} would see no row of class 2"):
        study.check(Bootstrap(), seed, 1)


def test_the_estimator_itself_is_not_touched() -> None:
    STUDY.base(STUDY.base_rows(Bootstrap(), 0), 0)
    assert not hasattr(STUDY.estimator, "classes_")


def test_a_rehearsal_gives_the_same_models_again_for_the_same_seed_only() -> None:
    rows = STUDY.base_rows(Bootstrap(), 0)
    first, other = STUDY.base(rows, 0).rehearsal, STUDY.base(rows, 1).rehearsal
    assert first is not None
    assert other is not None
    scores = [
        [model.predict_proba(X)[:, 1].tolist() for model in rehearsal.models(Bootstrap(), 2)]
        for rehearsal in (first, first, other)
    ]
    assert scores[0] == scores[1] != scores[2]


def test_retrainings_are_made_once_for_all_methods_of_a_base_model() -> None:
    given: dict[int, list[Any]] = {}

    def maker(rehearsal: robx.Rehearsal) -> robx.NearestNeighbour:
        given.setdefault(rehearsal.seed, []).append(rehearsal.retrainings(4))
        return robx.NearestNeighbour()

    methods = {"one": maker, "other": maker}
    robx.evaluate(STUDY, methods, Bootstrap(), seeds=2, n_models=2)
    assert given[0][0] is given[0][1]
    assert given[1][0] is given[1][1]

    def scores(models: Any) -> list[Any]:
        return [model.score(X).tolist() for model in models]

    assert len(given[0][0]) == 4
    assert not any(one in scores(given[1][0]) for one in scores(given[0][0]))
    rehearsal = STUDY.base(STUDY.base_rows(Bootstrap(), 0), 0).rehearsal
    assert rehearsal is not None
    assert scores(rehearsal.retrainings(4)) == scores(given[0][0])
    assert len(rehearsal.retrainings(2)) == 2


def test_retrainings_see_thirds_of_the_base_models_rows_and_are_no_judges() -> None:
    base = STUDY.base(STUDY.base_rows(OtherHalf(), 1), 1)
    assert base.rehearsal is not None
    expected = list(
        retrainings(
            base.rehearsal.estimator,
            base.rehearsal.X,
            base.rehearsal.y,
            3,
            int(np.random.default_rng([1, 5]).integers(2**63)),
        )
    )
    ours = [model.score(X) for model in base.rehearsal.retrainings(3)]
    np.testing.assert_allclose(ours, [model.predict_proba(X)[:, 1] for model in expected])
    for scenario in (Bootstrap(), Subsample(1 / 3), OtherHalf()):
        judges = [judge.score(X) for judge in STUDY.changed(scenario, base, 3, 1)]
        assert not any(np.allclose(one, judge) for one in ours for judge in judges)


def test_answers_by_retrainings_can_be_evaluated() -> None:
    def frugal(rehearsal: robx.Rehearsal) -> robx.Frugal:
        return robx.Frugal(models=rehearsal.retrainings(4), noise=robx.Noise(n_draws=32))

    table = robx.evaluate(
        replace(STUDY, max_applicants=8), {"F": frugal}, Subsample(1 / 3), seeds=1, n_models=3
    )
    assert (table[table.metric == "coverage"].value > 0).all()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"estimator": RandomForestClassifier}, "must be a classifier in scikit-learn's form"),
        ({"estimator": "xgboost"}, "must be a classifier in scikit-learn's form"),
        ({"y": Y[:-1]}, "one for each of the 300 rows of X. Got 299"),
        ({"y": np.zeros((300, 2))}, "one label for each row. Got shape \\(300, 2\\)"),
        ({"y": np.where(Y == 1, np.nan, 0)}, "must have a label for every row"),
        ({"y": np.zeros(300)}, "must have at least two classes"),
        ({"target": "good"}, "must be one of the labels, \\[0, 1\\]. Got 'good' instead"),
        ({"threshold": 1}, "must be a number from 0 to below 1. Got 1 instead"),
        ({"schema": {}}, "must be a robx.Schema, or None. Got {} instead"),
        ({"test": 0}, "must be a number above 0 and below 1. Got 0 instead"),
        ({"test": 1.0}, "must be a number above 0 and below 1. Got 1.0 instead"),
        ({"test": "most"}, "must be a number above 0 and below 1. Got 'most' instead"),
        ({"max_applicants": 0}, "must be an integer from 1. Got 0 instead"),
        ({"max_applicants": 2.5}, "must be an integer from 1. Got 2.5 instead"),
    ],
)
def test_what_makes_no_sense_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(robx.InvalidInput, match=said):
        replace(STUDY, **changed)

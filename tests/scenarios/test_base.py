"""Laws that every scenario keeps, and how models are trained."""

from __future__ import annotations

import pickle
import threading
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from catboost import CatBoostClassifier
from hypothesis import given
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import (
    RandomForestClassifier,
)
from xgboost import XGBClassifier

import robx
from robx.errors import InvalidInput
from robx.scenarios import (
    Bootstrap,
    DropRows,
    Fit,
    Hyperparameter,
    LabelFlips,
    LaterVintage,
    MoreData,
    OtherLibrary,
    Scenario,
)
from robx.scenarios.base import first_sentence, train
from scenario_cases import (
    ESTIMATORS,
    FOREST,
    SCENARIOS,
    TREE,
    WORDS,
    Recorder,
    X,
    Y,
    described,
    every_estimator,
    every_scenario,
    labels,
    scores,
    seeds,
)
from speed import examples, slow_but


@every_scenario
@given(y=labels(), seed=seeds)
@examples(8)
def test_rows_are_sorted_and_in_range_and_each_has_a_label(
    scenario: Scenario, y: NDArray[Any], seed: int
) -> None:
    scenario = scenario.of_rows(np.arange(len(y)))
    for fit in scenario.fits(FOREST, y, n_models=4, seed=seed):
        assert fit.rows.dtype == np.intp
        assert fit.rows[0] >= 0
        assert fit.rows[-1] < len(y)
        assert (np.diff(fit.rows) >= (0 if scenario == Bootstrap() else 1)).all()
        assert fit.labels.dtype == y.dtype
        assert fit.labels.shape == fit.rows.shape
        if not isinstance(scenario, LabelFlips):
            assert fit.labels.tolist() == y[fit.rows].tolist()
    first = scenario.base_rows(len(y), seed)
    assert (np.diff(first) > 0).all()
    assert first.dtype == np.intp
    assert set(first.tolist()) <= set(range(len(y)))


@every_scenario
@given(y=labels(), seed=seeds)
@examples(4)
def test_a_model_depends_on_the_seed_and_its_number_alone(
    scenario: Scenario, y: NDArray[Any], seed: int
) -> None:
    scenario = scenario.of_rows(np.arange(len(y)))
    few = [described(fit) for fit in scenario.fits(FOREST, y, n_models=2, seed=seed)]
    many = [described(fit) for fit in scenario.fits(FOREST, y, n_models=5, seed=seed)]
    assert few == many[:2]


@every_scenario
def test_models_are_the_fits_trained_one_after_the_other(scenario: Scenario) -> None:
    by_hand = [
        fit.estimator.fit(X[fit.rows], fit.labels) for fit in scenario.fits(FOREST, Y, 5, seed=4)
    ]
    models = list(scenario.models(FOREST, X, Y, n_models=5, seed=4))
    assert [type(model) for model in models] == [type(model) for model in by_hand]
    assert np.array_equal(scores(models), scores(by_hand))


@every_scenario
def test_the_estimator_and_the_data_stay_as_they_were(scenario: Scenario) -> None:
    forest, table, y = RandomForestClassifier(8), X.copy(), Y.copy()
    list(scenario.models(forest, table, y, n_models=2))
    assert forest.get_params() == RandomForestClassifier(8).get_params()
    assert not hasattr(forest, "estimators_")
    assert np.array_equal(table, X)
    assert np.array_equal(y, Y)


@every_scenario
def test_new_models_differ_from_each_other(scenario: Scenario) -> None:
    one, other, third = scores(scenario.models(FOREST, X, Y, n_models=3))
    assert not np.array_equal(one, other)
    assert not np.array_equal(other, third)


@every_scenario
def test_a_scenario_is_its_words_and_its_parameters(scenario: Scenario) -> None:
    assert SCENARIOS[str(scenario)] is scenario
    copy = pickle.loads(pickle.dumps(scenario))
    assert repr(copy) == repr(scenario)
    # Estimators and arrays are not equal to their copies.
    if not isinstance(scenario, OtherLibrary | LaterVintage):
        assert copy == scenario
        assert eval(repr(scenario), vars(robx.scenarios)) == scenario  # noqa: S307
    with pytest.raises(AttributeError):
        scenario.k = 5  # type: ignore[attr-defined]


@every_scenario
def test_of_some_rows_it_is_the_same_scenario(scenario: Scenario) -> None:
    rows = np.arange(0, len(Y), 2)
    part = scenario.of_rows(rows)
    assert str(part) == str(scenario)
    assert part.next_model == scenario.next_model
    if not isinstance(scenario, LaterVintage):  # whose dates are of rows
        assert part is scenario
    for fit in part.fits(FOREST, Y[rows], n_models=2):
        assert fit.rows.max() < len(rows)
    assert part.base_rows(len(rows)).max() < len(rows)


@dataclass(frozen=True)
class WithoutTheFirst(Scenario):
    """A scenario of a user's own, with the one method that it needs."""

    def __str__(self) -> str:
        return "without the first row"

    def change(self, estimator: Any, labels: NDArray[Any], k: int, seed: int) -> Fit:
        rows = np.arange(1 + k + seed, len(labels))
        return Fit(estimator, rows, labels[rows])


NEXT_MODELS = {
    "drop 10 rows": "trained without 10 of the rows",
    "drop 1 row": "trained without 1 of the rows",
    "one hyperparameter varied": (
        "trained on the same rows with another max_depth or min_samples_leaf"
    ),
    "other half, one hyperparameter varied": (
        "trained on as many new rows of the same source, with another max_depth"
    ),
    "other half": "trained on as many new rows of the same source",
    "bootstrap": "trained on the same rows, drawn again with replacement",
    "new seed": "trained on the same rows with another seed",
    "5% of labels flipped": "trained with 5 % of the labels wrong",
    "more data after the first 50%": "trained again as more rows have come",
    "random 30% of the rows": "trained on a random 30 % of the rows",
    "random 40% of the rows": "trained on a random 40 % of the rows",
    "later vintage": "trained on as many rows of the time after",
    "other library": "of another kind, trained on the same rows",
    "without the first row": "under the change 'without the first row'",
}


def test_every_scenario_says_what_the_next_model_is() -> None:
    every: list[Scenario] = [*SCENARIOS.values(), WithoutTheFirst()]
    assert {str(scenario): scenario.next_model for scenario in every} == NEXT_MODELS
    defined = {
        made
        for made in vars(robx.scenarios).values()
        if isinstance(made, type) and issubclass(made, Scenario)
    }
    assert defined == {type(scenario) for scenario in SCENARIOS.values()} | {Scenario}


def test_fits_of_any_kind_are_trained_in_order_under_a_title() -> None:
    fits = [*Bootstrap().fits(FOREST, Y, 3), *WithoutTheFirst().fits(TREE, Y, 2)]
    again = [*Bootstrap().fits(FOREST, Y, 3), *WithoutTheFirst().fits(TREE, Y, 2)]
    by_hand = [fit.estimator.fit(X[fit.rows], fit.labels) for fit in again]
    models = list(train(fits, X, "both", n_jobs=2))
    assert np.array_equal(scores(models), scores(by_hand))
    fits = WithoutTheFirst().fits(Recorder(fails_at=len(Y) - 2), Y, 3)
    sizes = train(fits, X, "both", then=lambda model: len(model.rows_))
    assert next(sizes) == len(Y) - 1
    message = "Model 2 of 3 in 'both' could not be trained. Recorder says: no use for 238 rows."
    with pytest.raises(InvalidInput, match=message):
        next(sizes)


@every_estimator
@pytest.mark.parametrize("scenario", [Bootstrap(), *slow_but([], [LabelFlips(0.2)])], ids=str)
def test_the_same_seed_gives_the_same_models_on_any_number_of_cores(
    estimator: Any, scenario: Scenario
) -> None:
    alone = scores(scenario.models(estimator, X, Y, n_models=5, seed=7, n_jobs=1))
    assert np.array_equal(alone, scores(scenario.models(estimator, X, Y, 5, 7, n_jobs=2)))
    assert np.array_equal(alone, scores(scenario.models(estimator, X, Y, 5, 7)))
    other = scores(scenario.models(estimator, X, Y, n_models=5, seed=8))
    assert not np.isclose(alone, other).all(axis=1).any()


@pytest.mark.parametrize("name", ["XGBoost with subsampling", "LightGBM", "CatBoost", "forest"])
def test_where_nothing_changed_the_first_model_comes_again(name: str) -> None:
    first = clone(ESTIMATORS[name])
    again = OtherLibrary([first]).models(FOREST, X, Y, n_models=1)
    assert np.array_equal(scores(again), scores([first.fit(X, Y)]))


@pytest.mark.parametrize(
    ("name", "cores"),
    [
        ("XGBoost", "n_jobs"),
        ("XGBoost with subsampling", "n_jobs"),
        ("LightGBM", "n_jobs"),
        ("CatBoost", "thread_count"),
        ("forest", "n_jobs"),
    ],
)
def test_more_cores_for_one_model_do_not_change_it(name: str, cores: str) -> None:
    one, two = scores(Hyperparameter({cores: [1, 2]}).models(ESTIMATORS[name], X, Y, n_models=2))
    assert np.array_equal(one, two)


@pytest.mark.parametrize("n_jobs", [1, 2, None])
def test_a_training_that_fails_is_named_after_those_that_did_not(n_jobs: int | None) -> None:
    scenario = MoreData(first=0.5, steps=6)
    n_rows = [len(fit.rows) for fit in scenario.fits(TREE, Y, n_models=6)]
    models = scenario.models(Recorder(fails_at=n_rows[3]), X, Y, n_models=6, n_jobs=n_jobs)
    assert [len(next(models).rows_) for _ in range(3)] == n_rows[:3]
    message = (
        "Model 4 of 6 in 'more data after the first 50%' could not be trained. Recorder says: no "
        f"use for {n_rows[3]} rows"
    )
    with pytest.raises(InvalidInput, match=message) as error:
        next(models)
    assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_text_labels_that_a_library_does_not_take_are_its_own_to_refuse() -> None:
    words = [WORDS[i] for i in Y]
    with pytest.raises(InvalidInput, match="Model 1 of 2 in 'bootstrap' .* XGBClassifier says: "):
        list(Bootstrap().models(XGBClassifier(), X, words, n_models=2))


def test_nothing_is_trained_before_it_is_asked_for() -> None:
    Recorder.trained = 0
    models = DropRows(1).models(Recorder(), X, Y, n_models=20, n_jobs=2)
    assert Recorder.trained == 0
    next(models)
    assert 1 <= Recorder.trained <= 4


def test_whoever_stops_early_leaves_nothing_running() -> None:
    Recorder.trained = 0
    before = threading.active_count()
    models = DropRows(1).models(
        Recorder(look=lambda: time.sleep(0.02)), X, Y, n_models=20, n_jobs=2
    )
    first = [next(models) for _ in range(3)]
    models.close()  # type: ignore[attr-defined]
    done = Recorder.trained
    deadline = time.monotonic() + 20  # workers that have nothing to do take a moment to end
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before
    assert Recorder.trained == done <= 4
    assert len(first) == 3


def test_trainings_run_side_by_side() -> None:
    both = threading.Barrier(2)
    meeting = Recorder(look=lambda: both.wait(timeout=20))
    assert len(list(DropRows(1).models(meeting, X, Y, n_models=4, n_jobs=2))) == 4


def test_forests_side_by_side_leave_the_warning_filters_alone() -> None:
    before = list(warnings.filters)
    list(DropRows(3).models(FOREST, X, Y, n_models=40, n_jobs=4))
    assert list(warnings.filters) == before


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (
            XGBClassifier(max_depth=-3),
            "value -3 for Parameter max_depth should be greater equal to 0.",
        ),
        (XGBClassifier(objective="none"), "Unknown objective function: `none`."),
        (LGBMClassifier(num_leaves=-1, verbose=-1), "Check failed: (num_leaves) > (1)."),
        (
            CatBoostClassifier(depth=-3, verbose=False),
            'Can\'t parse parameter "depth" with value: -3.',
        ),
    ],
)
def test_of_what_a_library_says_the_first_sentence_is_told(estimator: Any, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        list(Bootstrap().models(estimator, X, Y, n_models=2))
    name = type(estimator).__name__
    assert str(caught.value) == (
        f"Model 1 of 2 in 'bootstrap' could not be trained. {name} says: {said}"
    )


def test_a_trace_is_left_out() -> None:
    error = RuntimeError("[10:20:30] /src/a.cc:27: Check failed: x Stack trace: [bt] (0) /lib")
    assert first_sentence(error) == "Check failed: x."
    assert first_sentence(ValueError()) == "ValueError."

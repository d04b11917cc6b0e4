"""What each scenario does."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier
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
    Subsample,
)
from scenario_cases import (
    DAYS,
    ESTIMATORS,
    FOREST,
    TREE,
    X,
    Y,
    labels,
    scores,
    seeds,
)
from speed import examples


@given(y=labels(), k=st.integers(1, 40), seed=seeds)
@examples(30)
def test_dropped_rows_are_k_and_by_chance(y: NDArray[Any], k: int, seed: int) -> None:
    one, other = DropRows(k).fits(TREE, y, n_models=2, seed=seed)
    assert len(one.rows) == len(other.rows) == len(y) - k
    assert len(np.unique(one.rows)) == len(y) - k


def test_every_row_is_dropped_as_often_as_any_other() -> None:
    fits = DropRows(2).fits(TREE, [0, 1] * 5, n_models=500)
    kept = np.bincount(np.concatenate([fit.rows for fit in fits]), minlength=10)
    assert (abs((500 - kept) / 500 - 0.2) < 0.07).all()


@given(y=labels(), seed=seeds)
@examples(20)
def test_a_bootstrap_has_as_many_rows_and_repeats_some(y: NDArray[Any], seed: int) -> None:
    (fit,) = Bootstrap().fits(TREE, y, n_models=1, seed=seed)
    assert len(fit.rows) == len(y)
    assert 0.4 < len(np.unique(fit.rows)) / len(y) < 0.85


@given(y=labels(), share=st.floats(0.2, 0.9), seed=seeds)
@examples(20)
def test_a_share_of_the_rows_is_drawn_none_twice(y: NDArray[Any], share: float, seed: int) -> None:
    one, other = Subsample(share).fits(TREE, y, n_models=2, seed=seed)
    assert len(one.rows) == len(other.rows) == len(np.unique(one.rows)) == round(share * len(y))
    assert one.rows.tolist() != other.rows.tolist()


def test_every_row_is_drawn_as_often_as_any_other() -> None:
    fits = Subsample(0.5).fits(TREE, [0, 1] * 20, n_models=400)
    drawn = np.bincount(np.concatenate([fit.rows for fit in fits]), minlength=40)
    assert (abs(drawn / 400 - 0.5) < 0.12).all()


def test_a_share_of_the_rows_may_vary_hyperparameters_one_by_one() -> None:
    vary = {"max_depth": [3, 5], "min_samples_leaf": [7]}
    plain, varied = (
        s.fits(TREE, Y, n_models=5, seed=3) for s in (Subsample(), Subsample(0.5, vary))
    )
    taken = [(fit.estimator.max_depth, fit.estimator.min_samples_leaf) for fit in varied]
    assert taken == [(3, 1), (5, 1), (None, 7), (3, 1), (5, 1)]
    # The rows are those of the same seed without it, and so are the estimators' seeds.
    assert [fit.rows.tolist() for fit in varied] == [fit.rows.tolist() for fit in plain]
    assert {fit.estimator.random_state for fit in varied} == {0}
    assert Subsample(0.5, {}) == Subsample(0.5, None) == Subsample()
    assert repr(Subsample(vary={"max_depth": [np.int64(3)]})) == (
        "Subsample(share=0.5, vary={'max_depth': (3,)})"
    )


@given(y=labels(), share=st.floats(0.001, 0.5), seed=seeds)
@examples(40)
def test_a_share_of_the_labels_is_flipped(y: NDArray[Any], share: float, seed: int) -> None:
    (fit,) = LabelFlips(share).fits(TREE, y, n_models=1, seed=seed)
    assert fit.rows.tolist() == list(range(len(y)))
    assert (fit.labels != y).sum() == max(1, round(share * len(y)))
    assert set(fit.labels.tolist()) == set(y.tolist())


def test_of_many_classes_labels_flip_to_all_others() -> None:
    y = np.repeat(["a", "b", "c"], 100)
    (fit,) = LabelFlips(0.4).fits(TREE, y, n_models=1)
    became = {(old, new) for old, new in zip(y, fit.labels, strict=True) if old != new}
    assert became == {(old, new) for old in "abc" for new in "abc" if old != new}


@given(y=labels(), first=st.floats(0.2, 0.99), steps=st.integers(1, 200), seed=st.integers(0, 3))
@examples(30)
def test_more_data_grows_from_the_first_rows_to_all(
    y: NDArray[Any], first: float, steps: int, seed: int
) -> None:
    scenario = MoreData(first, steps)
    n_first = len(scenario.base_rows(len(y), seed))
    assert abs(n_first - first * len(y)) <= 0.5 + 1e-9 or n_first == len(y) - 1
    fits = scenario.fits(TREE, y, n_models=steps + 1, seed=seed)
    sizes = [len(fit.rows) for fit in fits]
    assert all(
        fit.rows.tolist() == list(range(size)) for fit, size in zip(fits, sizes, strict=True)
    )
    assert sizes[0] > n_first
    assert sizes[:-1] == sorted(sizes[:-1])
    assert sizes[steps - 1] == len(y)
    assert sizes[-1] == sizes[0]
    steps_taken = np.diff([n_first, *sizes[:-1]])
    assert np.ptp(steps_taken) <= 1
    assert [fit.estimator.random_state for fit in fits[:-1]] == [0] * steps
    assert fits[-1].estimator.random_state != 0


@given(n=st.integers(2, 300), seed=seeds)
@examples(40)
def test_the_halves_are_disjoint_and_together_all_rows(n: int, seed: int) -> None:
    scenario = OtherHalf()
    first = scenario.base_rows(n, seed)
    assert len(first) == (n + 1) // 2
    try:
        fits = scenario.fits(TREE, [0, 1] * (n // 2) + [0] * (n % 2), n_models=2, seed=seed)
    except InvalidInput:
        assert n < 40  # a half without one of the classes
        return
    for fit in fits:
        assert sorted([*first.tolist(), *fit.rows.tolist()]) == list(range(n))


def test_the_halves_are_random_and_change_with_the_seed() -> None:
    halves = np.array([OtherHalf().base_rows(100, seed) for seed in range(300)])
    seen = np.bincount(halves.ravel(), minlength=100) / 300
    assert (abs(seen - 0.5) < 0.15).all()
    assert len(np.unique(halves, axis=0)) == 300


@given(
    dates=st.lists(st.integers(0, 30), min_size=3, max_size=120),
    seed=seeds,
    kind=st.sampled_from(["number", "date", "text"]),
)
@examples(60)
def test_the_next_vintage_is_as_large_and_begins_where_the_first_ends(
    dates: list[int], seed: int, kind: str
) -> None:
    given_as: Any = dates
    if kind == "date":
        given_as = [date(2024, 1, 1) + timedelta(days=day) for day in dates]
    if kind == "text":
        given_as = [f"2024-01-{day:02}" for day in dates]
    n, scenario = len(dates), LaterVintage(given_as)
    first = scenario.base_rows(n, seed)
    later = scenario.change(DecisionTreeClassifier(), np.arange(n), 0, seed).rows
    assert len(first) == len(later) == n // 3
    assert not set(first.tolist()) & set(later.tolist())
    days = np.array(dates)
    assert days[first].max() <= days[later].min()
    # Nothing lies between the two.
    between = (days > days[first].max()) & (days < days[later].min())
    assert not between.any()


def test_the_first_vintage_begins_anywhere_in_the_first_third() -> None:
    scenario = LaterVintage(np.arange(90))
    begins = [int(scenario.base_rows(90, seed)[0]) for seed in range(600)]
    assert set(begins) == set(range(31))
    seen = np.bincount(begins)
    assert (abs(seen / 600 - 1 / 31) < 0.03).all()


def test_models_of_the_next_vintage_have_the_same_rows_and_new_seeds() -> None:
    scenario = LaterVintage(DAYS)
    fits = scenario.fits(FOREST, Y, n_models=3, seed=5)
    assert len({fit.rows.tobytes() for fit in fits}) == 1
    assert len({fit.estimator.random_state for fit in fits} | {0}) == 4
    knn = scenario.fits(KNeighborsClassifier(), Y, n_models=2)  # which has no seed
    assert knn[0].rows.tolist() == knn[1].rows.tolist()
    other = scenario.fits(FOREST, Y, n_models=1, seed=6)
    assert other[0].rows.tolist() != fits[0].rows.tolist()


def test_rows_of_one_day_keep_their_order() -> None:
    scenario = LaterVintage([7] * 30)
    (fit,) = scenario.fits(TREE, [0, 1] * 15, n_models=1)
    first = scenario.base_rows(30)
    assert (np.diff(first) == 1).all()
    assert fit.rows.tolist() == list(range(first[-1] + 1, first[-1] + 11))


def test_dates_of_some_rows_are_theirs() -> None:
    rows = np.array([4, 9, 10, 11, 50, 51, 52, 100, 239])
    part = LaterVintage(DAYS).of_rows(rows)
    assert part.dates.tolist() == DAYS[rows].tolist()
    alone = LaterVintage(DAYS[rows])
    assert part.base_rows(9, seed=4).tolist() == alone.base_rows(9, seed=4).tolist()


def test_later_changes_to_the_dates_do_not_reach_the_scenario() -> None:
    dates = np.arange(30)
    scenario = LaterVintage(dates)
    before = scenario.base_rows(30).tolist()
    dates[:] = dates[::-1].copy()
    assert scenario.base_rows(30).tolist() == before


def test_hyperparameters_are_taken_one_by_one_and_then_again() -> None:
    scenario = Hyperparameter(vary={"max_depth": [3, 5], "min_samples_leaf": [np.int64(7)]})
    tree = DecisionTreeClassifier(max_depth=9, random_state=0)
    taken = [
        (fit.estimator.max_depth, fit.estimator.min_samples_leaf)
        for fit in scenario.fits(tree, Y, n_models=5)
    ]
    assert taken == [(3, 1), (5, 1), (9, 7), (3, 1), (5, 1)]
    assert type(scenario.vary["min_samples_leaf"][0]) is int


def test_later_changes_to_the_mapping_do_not_reach_the_scenario() -> None:
    vary = {"max_depth": [3, 5]}
    scenario = Hyperparameter(vary)
    vary["max_depth"].append(9)
    assert scenario == Hyperparameter({"max_depth": (3, 5)})
    assert repr(scenario) == "Hyperparameter(vary={'max_depth': (3, 5)})"


def test_the_other_half_varies_hyperparameters_and_leaves_the_seed() -> None:
    vary = {"max_depth": [2, 3], "n_estimators": [5]}
    fits = OtherHalf(vary).fits(FOREST, Y, n_models=4)
    taken = [(fit.estimator.max_depth, fit.estimator.n_estimators) for fit in fits]
    assert taken == [(2, 8), (3, 8), (None, 5), (2, 8)]
    assert {fit.estimator.random_state for fit in fits} == {0}
    assert OtherHalf({}) == OtherHalf()


def test_the_other_half_alone_gives_new_seeds_which_xgboost_makes_no_use_of() -> None:
    fits = OtherHalf().fits(FOREST, Y, n_models=3)
    assert len({fit.estimator.random_state for fit in fits} | {0}) == 4
    xgboost = scores(OtherHalf().models(ESTIMATORS["XGBoost"], X, Y, n_models=3))
    assert (xgboost == xgboost[0]).all()


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("XGBoost", False),
        ("LightGBM", False),
        ("XGBoost with subsampling", True),
        ("CatBoost", True),
        ("forest", True),
        ("pipeline", False),
    ],
)
def test_a_new_seed_changes_the_models_that_make_use_of_it(name: str, changes: bool) -> None:
    estimator = ESTIMATORS[name]
    one, other = NewSeed().models(estimator, X, Y, n_models=2)
    assert np.array_equal(*scores([one, other])) is not changes
    assert repr(one.get_params()) != repr(other.get_params())


def test_other_estimators_go_round_with_new_seeds() -> None:
    others = [TREE, KNeighborsClassifier(), XGBClassifier()]
    fits = OtherLibrary(others).fits(FOREST, Y, n_models=6)
    assert [type(fit.estimator) for fit in fits] == [type(other) for other in others] * 2
    assert all(fit.rows.tolist() == list(range(len(Y))) for fit in fits)
    assert [fits[k].estimator.random_state for k in (0, 2)] == [0, None]
    assert fits[3].estimator.random_state > 0
    assert fits[5].estimator.random_state > 0

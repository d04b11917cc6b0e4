from __future__ import annotations

import pickle
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
import sklearn
from catboost import CatBoostClassifier
from hypothesis import given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_info, threadpool_limits  # type: ignore[import-untyped]
from xgboost import XGBClassifier

from oracles import toy_data
from robx.errors import InvalidInput
from robx.scenarios import (
    Bootstrap,
    DropRows,
    Fit,
    Hyperparameter,
    LabelFlips,
    MoreData,
    NewSeed,
    OtherHalf,
    OtherLibrary,
    Scenario,
)

X, Y = toy_data(240, 4)
TREE = DecisionTreeClassifier(random_state=0)
FOREST = RandomForestClassifier(8, random_state=0)
CATBOOST = CatBoostClassifier(iterations=8, verbose=0, allow_writing_files=False)

ESTIMATORS: dict[str, Any] = {
    "XGBoost": XGBClassifier(n_estimators=8),
    "XGBoost with subsampling": XGBClassifier(n_estimators=8, subsample=0.5, random_state=3),
    "LightGBM": LGBMClassifier(n_estimators=8, verbose=-1),
    "CatBoost": CATBOOST,
    "forest": FOREST,
    "unseeded forest": RandomForestClassifier(8),
    "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=8),
    "pipeline": Pipeline([("scale", StandardScaler()), ("model", XGBClassifier(n_estimators=8))]),
}

#: Of each scenario one, for a forest.
SCENARIOS: dict[str, Scenario] = {
    "drop 10 rows": DropRows(10),
    "drop 1 row": DropRows(1),
    "one hyperparameter varied": Hyperparameter({"max_depth": [2, 3], "min_samples_leaf": (9,)}),
    "other half, one hyperparameter varied": OtherHalf({"max_depth": [2, 3, 4]}),
    "other half": OtherHalf(),
    "bootstrap": Bootstrap(),
    "new seed": NewSeed(),
    "5% of labels flipped": LabelFlips(0.05),
    "more data after the first 50%": MoreData(steps=3),
    "other library": OtherLibrary([TREE, KNeighborsClassifier(), FOREST]),
}
every_scenario = pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS.keys())
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS.keys())

seeds = st.integers(0, 2**40)


@st.composite
def labels(draw: st.DrawFn) -> NDArray[Any]:
    """Labels of two to four classes, many enough of each that no scenario loses one."""
    names = draw(st.sampled_from([[0, 1], [1, 2, 5], ["good", "bad"], list("abcd"), [True, False]]))
    n = draw(st.integers(80, 200))
    return np.resize(np.array(names), n)


def scores(models: Any, rows: Any = X) -> NDArray[np.float64]:
    return np.array([model.predict_proba(rows)[:, 1] for model in models])


def described(fit: Fit) -> tuple[Any, ...]:
    return repr(fit.estimator.get_params()), fit.rows.tolist(), fit.labels.tolist()


class Recorder(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Trains nothing and keeps what it saw; fails for tables of `fails_at` rows."""

    trained: int = 0

    def __init__(self, fails_at: int | None = None, look: Callable[[], Any] | None = None) -> None:
        self.fails_at = fails_at
        self.look = look

    def fit(self, rows: Any, y: Any) -> Self:
        Recorder.trained += 1
        self.rows_, self.y_ = rows, y
        self.seen_ = self.look() if self.look else None
        if len(rows) == self.fails_at:
            raise ZeroDivisionError(f"no use for {self.fails_at} rows")
        return self

    def predict_proba(self, rows: Any) -> Any:
        return np.full((len(rows), 2), 0.5)


# --- laws of all scenarios ------------------------------------------------------------------------


@every_scenario
@given(y=labels(), seed=seeds)
@settings(max_examples=8, deadline=None)
def test_rows_are_sorted_and_in_range_and_each_has_a_label(
    scenario: Scenario, y: NDArray[Any], seed: int
) -> None:
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
@settings(max_examples=4, deadline=None)
def test_a_model_depends_on_the_seed_and_its_number_alone(
    scenario: Scenario, y: NDArray[Any], seed: int
) -> None:
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
    if not isinstance(scenario, OtherLibrary):  # estimators are not equal to their copies
        assert copy == scenario
        assert eval(repr(scenario)) == scenario  # noqa: S307
    with pytest.raises(AttributeError):
        scenario.k = 5  # type: ignore[attr-defined]


@every_estimator
@pytest.mark.parametrize("scenario", [Bootstrap(), LabelFlips(0.2)], ids=str)
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


# --- each scenario --------------------------------------------------------------------------------


@given(y=labels(), k=st.integers(1, 40), seed=seeds)
@settings(max_examples=30, deadline=None)
def test_dropped_rows_are_k_and_by_chance(y: NDArray[Any], k: int, seed: int) -> None:
    one, other = DropRows(k).fits(TREE, y, n_models=2, seed=seed)
    assert len(one.rows) == len(other.rows) == len(y) - k
    assert len(np.unique(one.rows)) == len(y) - k


def test_every_row_is_dropped_as_often_as_any_other() -> None:
    fits = DropRows(2).fits(TREE, [0, 1] * 5, n_models=500)
    kept = np.bincount(np.concatenate([fit.rows for fit in fits]), minlength=10)
    assert (abs((500 - kept) / 500 - 0.2) < 0.07).all()


@given(y=labels(), seed=seeds)
@settings(max_examples=20, deadline=None)
def test_a_bootstrap_has_as_many_rows_and_repeats_some(y: NDArray[Any], seed: int) -> None:
    (fit,) = Bootstrap().fits(TREE, y, n_models=1, seed=seed)
    assert len(fit.rows) == len(y)
    assert 0.4 < len(np.unique(fit.rows)) / len(y) < 0.85


@given(y=labels(), share=st.floats(0.001, 0.5), seed=seeds)
@settings(max_examples=40, deadline=None)
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
@settings(max_examples=30, deadline=None)
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
@settings(max_examples=40, deadline=None)
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


# --- copies of estimators -------------------------------------------------------------------------


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


# --- what comes in --------------------------------------------------------------------------------


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


WORDS = ["good", "bad"]


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


# --- what is refused ------------------------------------------------------------------------------


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
    ],
)
def test_parameters_are_checked_at_once(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()


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
                r"Hyperparameter cannot vary 'depht': XGBClassifier has no such parameter. Its "
                r"get_params\(\) lists what there is."
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
        (LabelFlips(0.25), 3, 1),
    ],
    ids=str,
)
def test_a_class_that_would_be_lost_is_said(scenario: Scenario, n_yes: int, n_no: int) -> None:
    message = (
        rf"leaves model \d+ no row of class 'no', of which y has {n_no}. Change fewer rows, or add "
        "some of it."
    )
    with pytest.raises(InvalidInput, match=message) as error:
        scenario.fits(TREE, ["yes"] * n_yes + ["no"] * n_no, n_models=20)
    assert str(error.value).startswith(repr(scenario))


# --- training -------------------------------------------------------------------------------------


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

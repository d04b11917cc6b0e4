from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

import robx
from oracles import (
    Case,
    assert_scores_alike,
    classifier_case,
    hard_rows,
    import_ensemble,
    toy_data,
    with_missing,
)
from robx.trees import TreeEnsemble
from robx.trees import sklearn as parser
from speed import examples

X, Y = toy_data()
THREE = np.digitize(X[:, 0], [-0.5, 0.5])

#: Everything but GradientBoostingClassifier takes missing values.
SETTINGS: dict[str, tuple[type, dict[str, Any]]] = {
    "tree": (DecisionTreeClassifier, {}),
    "shallow tree": (DecisionTreeClassifier, {"max_depth": 2}),
    "entropy tree": (DecisionTreeClassifier, {"criterion": "entropy", "max_leaf_nodes": 9}),
    "random splits": (DecisionTreeClassifier, {"splitter": "random", "max_depth": 6}),
    "pruned tree": (DecisionTreeClassifier, {"ccp_alpha": 0.01}),
    "weighted tree": (DecisionTreeClassifier, {"class_weight": {0: 0.3, 1: 5.0}, "max_depth": 4}),
    "constant tree": (DecisionTreeClassifier, {"min_samples_leaf": 300}),
    "extra tree": (ExtraTreeClassifier, {"max_depth": 6}),
    "forest": (RandomForestClassifier, {}),
    "shallow forest": (RandomForestClassifier, {"max_depth": 3, "criterion": "log_loss"}),
    "leafy forest": (RandomForestClassifier, {"max_leaf_nodes": 7, "max_features": None}),
    "balanced forest": (RandomForestClassifier, {"class_weight": "balanced_subsample"}),
    "forest without bootstrap": (RandomForestClassifier, {"bootstrap": False}),
    "forest of one": (RandomForestClassifier, {"n_estimators": 1}),
    "extra trees": (ExtraTreesClassifier, {"max_depth": 7}),
    "extra trees with bootstrap": (ExtraTreesClassifier, {"bootstrap": True, "max_samples": 0.5}),
    "hist": (HistGradientBoostingClassifier, {}),
    "hist, leafy": (
        HistGradientBoostingClassifier,
        {"max_leaf_nodes": 5, "l2_regularization": 1.0},
    ),
    "hist, few bins": (HistGradientBoostingClassifier, {"max_bins": 7, "learning_rate": 0.4}),
    "hist, max_features": (HistGradientBoostingClassifier, {"max_features": 0.4}),
    "hist, balanced": (HistGradientBoostingClassifier, {"class_weight": "balanced"}),
    "hist, monotonic": (HistGradientBoostingClassifier, {"monotonic_cst": [1, 0, -1, 0, 0]}),
    "hist, constant": (HistGradientBoostingClassifier, {"min_samples_leaf": 300}),
}
BOOSTING: dict[str, dict[str, Any]] = {
    "default": {},
    "exponential": {"loss": "exponential"},
    "from zero": {"init": "zero"},
    "exponential from zero": {"loss": "exponential", "init": "zero"},
    "explicit prior": {"init": DummyClassifier(strategy="prior")},
    "leafy": {"max_leaf_nodes": 6, "max_depth": None},
    "stochastic": {"subsample": 0.5, "max_features": 2},
    "fast": {"learning_rate": 1.7, "n_estimators": 5},
    "stopped early": {"n_estimators": 300, "n_iter_no_change": 2, "learning_rate": 0.8},
    "one tree": {"n_estimators": 1},
    "constant": {"min_samples_leaf": 300},
}


def classifier(kind: type, **parameters: Any) -> Any:
    defaults: dict[str, Any] = {"random_state": 0}
    if issubclass(kind, RandomForestClassifier | ExtraTreesClassifier):
        defaults |= {"n_estimators": 20, "n_jobs": 1}
    if issubclass(kind, GradientBoostingClassifier):
        defaults |= {"n_estimators": 20}
    if issubclass(kind, HistGradientBoostingClassifier):
        defaults |= {"max_iter": 20}
    return kind(**{**defaults, **parameters})


def traits_of(kind: type) -> dict[str, bool]:
    return {
        "takes_nan": not issubclass(kind, GradientBoostingClassifier),
        "takes_inf": issubclass(kind, HistGradientBoostingClassifier),
    }


def assert_law_one(case: Case) -> TreeEnsemble:
    """As the one in oracles, without the rows that infinite thresholds push out of range."""
    ensemble = import_ensemble(case)
    rows = hard_rows(ensemble, np.asarray(case.X, dtype=np.float64), case)
    largest = np.array([column.largest for column in ensemble.columns])
    rows = rows[~(np.abs(rows) > largest).any(axis=1)]
    assert_scores_alike(ensemble, case, rows)
    with np.errstate(over="ignore"):
        narrow = rows.astype(np.float32)
    assert_scores_alike(ensemble, case, narrow)
    return ensemble


ESTIMATORS = [
    DecisionTreeClassifier,
    ExtraTreeClassifier,
    RandomForestClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
]
each_estimator = pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)


# --- law 1 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "parameters"), SETTINGS.values(), ids=SETTINGS.keys())
@pytest.mark.parametrize("missing", [False, True], ids=["full", "with holes"])
def test_trees_forests_and_hist_score_as_scikit_learn_does(
    kind: type, parameters: dict[str, Any], missing: bool
) -> None:
    model = classifier(kind, **parameters)
    assert_law_one(classifier_case(model, with_missing(X) if missing else X, Y, **traits_of(kind)))


@pytest.mark.parametrize("parameters", BOOSTING.values(), ids=BOOSTING.keys())
def test_gradient_boosting_scores_as_scikit_learn_does(parameters: dict[str, Any]) -> None:
    model = classifier(GradientBoostingClassifier, **parameters)
    case = classifier_case(model, X, Y, **traits_of(GradientBoostingClassifier))
    assert assert_law_one(case).n_trees == len(model.estimators_)


@each_estimator
@pytest.mark.parametrize("target", [0, 1, 2])
def test_any_of_several_classes_can_be_the_target(kind: type, target: int) -> None:
    model = classifier(kind, max_depth=4)
    assert_law_one(classifier_case(model, X, THREE, target=target, **traits_of(kind)))


@each_estimator
def test_either_of_two_classes_can_be_the_target(kind: type) -> None:
    model = classifier(kind, max_depth=4)
    case = classifier_case(model, X, Y, target=0, **traits_of(kind))
    rejected = assert_law_one(case).score(X)
    accepted = robx.import_model(model).score(X)
    np.testing.assert_allclose(rejected + accepted, 1, atol=1e-12)
    assert np.abs(rejected - accepted).max() > 0.5


@each_estimator
@pytest.mark.parametrize("labels", [["good", "bad"], [False, True], [-1.0, 2.0]], ids=str)
def test_labels_of_any_type(kind: type, labels: list[Any]) -> None:
    model = classifier(kind, max_depth=3)
    for target in labels:
        case = classifier_case(model, X, np.array(labels)[Y], target=target, **traits_of(kind))
        assert assert_law_one(case).target == target
        assert type(import_ensemble(case).target) is type(target)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreesClassifier])
def test_tree_and_forest_probabilities_are_the_same_to_the_last_bit(kind: type) -> None:
    model = classifier(kind, max_depth=5).fit(X, Y)
    assert robx.import_model(model).score(X).tolist() == model.predict_proba(X)[:, 1].tolist()


def test_tied_votes_are_exactly_one_half() -> None:
    table = np.array([[0.0], [1.0], [2.0], [3.0]])
    yes, no = (DecisionTreeClassifier(max_depth=1) for _ in range(2))
    yes.fit(table, [0, 0, 1, 1])
    no.fit(table, [1, 1, 0, 0])
    for n_trees in (2, 6, 98):
        forest = RandomForestClassifier(n_trees, n_jobs=1).fit(table, [0, 0, 1, 1])
        forest.estimators_ = [yes, no] * (n_trees // 2)
        ours = robx.import_model(forest).score(table)
        assert ours.tolist() == [0.5] * 4
        assert ours.tolist() == forest.predict_proba(table)[:, 1].tolist()


@pytest.mark.slow
def test_a_thousand_trees() -> None:
    model = classifier(RandomForestClassifier, n_estimators=1000, max_depth=3)
    imported = import_ensemble(classifier_case(model, X, Y))
    assert imported.n_trees == 1000
    assert imported.score(X).tolist() == model.predict_proba(X)[:, 1].tolist()


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, RandomForestClassifier])
def test_monotonic_constraints_are_in_the_leaves(kind: type) -> None:
    model = classifier(kind, monotonic_cst=[1, -1, 0, 0, 0], max_depth=5).fit(X, Y)
    free = classifier(kind, max_depth=5).fit(X, Y)
    ours = robx.import_model(model, X=X).score(X)
    assert ours.tolist() == model.predict_proba(X)[:, 1].tolist()
    assert ours.tolist() != robx.import_model(free).score(X).tolist()


def test_a_column_that_is_hardly_there_and_a_split_on_missing_alone() -> None:
    table = X.copy()
    table[1:, 3] = np.nan
    table[Y == 1, 4] = np.nan
    for kind in ESTIMATORS[:4]:
        case = classifier_case(classifier(kind), table, Y, takes_inf=False)
        ensemble = assert_law_one(case)
        assert ensemble.score(table)[Y == 1].min() > 0.5


def test_hist_stops_early() -> None:
    model = classifier(
        HistGradientBoostingClassifier, max_iter=300, early_stopping=True, n_iter_no_change=3
    )
    ensemble = assert_law_one(classifier_case(model, with_missing(X), Y))
    assert ensemble.n_trees == model.n_iter_ < 300


def test_hist_of_a_single_class() -> None:
    model = classifier(HistGradientBoostingClassifier).fit(X, np.zeros(len(X), dtype=int))
    np.testing.assert_allclose(robx.import_model(model, 0, X=X).score(X), 1)


@examples(40)
@given(
    kind=st.sampled_from(ESTIMATORS),
    depth=st.integers(1, 8),
    n_classes=st.integers(2, 4),
    scale=st.sampled_from([1e-30, 1e-3, 1.0, 1e8, 1e30]),
    seed=st.integers(0, 2**16),
    holes=st.booleans(),
)
def test_any_model_on_any_row(
    kind: type, depth: int, n_classes: int, scale: float, seed: int, holes: bool
) -> None:
    table, y = toy_data(120, 4, seed)
    y = (y + 2 * (table[:, 3] > 0)) % n_classes
    traits = traits_of(kind)
    if holes and traits["takes_nan"]:
        table = with_missing(table, 0.1, seed)
    model = classifier(kind, max_depth=depth, random_state=seed)
    if isinstance(model, GradientBoostingClassifier | HistGradientBoostingClassifier):
        model.set_params(learning_rate=0.3)
    assert_law_one(classifier_case(model, table * scale, y, target=1, **traits))


# --- tables ---------------------------------------------------------------------------------------


@each_estimator
def test_a_frame_is_read_by_its_names_in_any_order(kind: type) -> None:
    frame = pd.DataFrame(X, columns=list("abcde")).assign(flag=X[:, 0] > 0.3, b=X[:, 1].astype(int))
    model = classifier(kind, max_depth=4).fit(frame, Y)
    imported = robx.import_model(model, X=frame)
    assert isinstance(imported, TreeEnsemble)
    assert imported.names == ("a", "b", "c", "d", "e", "flag")
    assert imported.named
    ours = imported.score(frame)
    np.testing.assert_allclose(ours, model.predict_proba(frame)[:, 1], atol=1e-12)
    assert imported.score(frame[["e", "d", "flag", "c", "b", "a"]]).tolist() == ours.tolist()
    assert imported.score(pl.from_pandas(frame)).tolist() == ours.tolist()


@each_estimator
def test_an_array_leaves_the_columns_unnamed(kind: type) -> None:
    imported = robx.import_model(classifier(kind, max_depth=2).fit(X, Y))
    assert isinstance(imported, TreeEnsemble)
    assert not imported.named
    assert imported.names == ("x0", "x1", "x2", "x3", "x4")


@each_estimator
def test_missing_and_infinite_values_are_taken_where_scikit_learn_takes_them(kind: type) -> None:
    model = classifier(kind, max_depth=4).fit(X, Y)
    imported = robx.import_model(model)
    beyond_float32 = 3.5e38
    for value, message in [
        (np.nan, "missing value in row 1"),
        (np.inf, "model takes values up to"),
        (-beyond_float32, "model takes values up to"),
    ]:
        rows = X[:4].copy()
        rows[1, 0] = value
        try:
            with np.errstate(over="ignore"):
                theirs = model.predict_proba(rows)[:, 1]
        except ValueError:
            with pytest.raises(robx.InvalidInput, match=message):
                imported.score(rows)
        else:
            np.testing.assert_allclose(imported.score(rows), theirs, atol=1e-12)


def test_the_largest_float32_is_taken() -> None:
    model = classifier(RandomForestClassifier).fit(X, Y)
    rows = X[:2].copy()
    rows[:, 0] = [float(np.finfo(np.float32).max), -float(np.finfo(np.float32).max)]
    assert robx.import_model(model).score(rows).tolist() == model.predict_proba(rows)[:, 1].tolist()


# --- categories -----------------------------------------------------------------------------------


def table_with_values(n: int = 600, holes: bool = False) -> tuple[Any, Any]:
    """Two numbers and, between them, two columns of categories whose values are no codes."""
    rng = np.random.default_rng(5)
    table = np.column_stack(
        [
            np.round(2 * rng.normal(size=n)) / 2,
            rng.choice([11, 3, 7, -2], n),
            np.round(2 * rng.normal(size=n)) / 2,
            rng.choice(np.arange(12) * 0.25 - 1, n),
        ]
    )
    y = (table[:, 0] > 0) ^ np.isin(table[:, 1], [3, -2]) ^ (np.abs(table[:, 3]) > 0.6)
    y ^= table[:, 2] > 1
    return with_missing(table) if holes else table, y.astype(int)


def frame_with_categories(n: int = 300) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "amount": rng.normal(size=n),
            "purpose": pd.Categorical(rng.choice(["car", "house", "tv", "school"], n)),
            "flag": rng.random(n) < 0.5,
            "region": pd.Categorical(rng.choice([40, 10, 30], n), categories=[40, 30, 20, 10]),
        }
    )
    y = (frame["amount"] > 0) ^ frame["purpose"].isin(["car", "tv"]) ^ (frame["region"] == 30)
    return frame, y.astype(int)


def hist(**parameters: Any) -> Any:
    return classifier(
        HistGradientBoostingClassifier, **{"min_samples_leaf": 5, "max_depth": 5, **parameters}
    )


@pytest.mark.parametrize("holes", [False, True], ids=["full", "with holes"])
@pytest.mark.parametrize("columns", [[1, 3], [3], [0, 1, 2, 3]], ids=str)
def test_an_array_holds_the_values_of_categories(columns: list[int], holes: bool) -> None:
    table, y = table_with_values(holes=holes)
    case = classifier_case(hist(categorical_features=columns), table, y)
    ensemble = assert_law_one(case)
    assert [j for j, column in enumerate(ensemble.columns) if column.is_category] == columns
    assert set(ensemble.split_feature[ensemble.split_category >= 0]) == set(columns)
    rows = table[:50].copy()
    rows[:, 1] = np.nan
    assert_scores_alike(ensemble, case, rows)


def test_more_categories_than_fit_into_a_word() -> None:
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.integers(0, 200, 6000) * 3, rng.normal(size=6000)])
    y = (np.isin(table[:, 0] % 7, [1, 4]) ^ (table[:, 1] > 1)).astype(int)
    case = classifier_case(hist(categorical_features=[0], max_iter=5), table, y)
    ensemble = import_ensemble(case)
    assert (ensemble.category_bits != 0).any(axis=0).sum() == 4
    np.testing.assert_allclose(ensemble.score(table), case.probability(table), atol=1e-12)


@pytest.mark.parametrize("target", [0, 1, 2])
def test_categories_with_several_classes(target: int) -> None:
    table, y = table_with_values(holes=True)
    y = y + (table[:, 2] > 1)
    assert_law_one(classifier_case(hist(categorical_features=[1, 3]), table, y, target=target))


def test_category_columns_of_a_frame_by_name_in_any_order() -> None:
    frame, y = frame_with_categories()
    case = classifier_case(hist(categorical_features="from_dtype"), frame, y)
    ensemble = import_ensemble(case)
    assert set(ensemble.split_feature[ensemble.split_category >= 0]) == {1, 3}
    ours = ensemble.score(frame)
    np.testing.assert_allclose(ours, case.probability(frame), atol=1e-12)
    assert ensemble.score(frame[["region", "flag", "purpose", "amount"]]).tolist() == ours.tolist()
    assert (
        ensemble.score(frame.assign(purpose=frame["purpose"].astype(str))).tolist() == ours.tolist()
    )
    assert (
        ensemble.score(frame.assign(region=frame["region"].astype(int))).tolist() == ours.tolist()
    )
    moved = frame.assign(region=frame["region"].cat.reorder_categories([10, 20, 30, 40]))
    assert ensemble.score(moved).tolist() == ours.tolist()


@pytest.mark.parametrize("holes_in_training", [False, True])
def test_missing_categories_of_a_frame(holes_in_training: bool) -> None:
    frame, y = frame_with_categories()
    holes = frame.copy()
    holes.loc[::3, "purpose"] = None
    holes.loc[1::4, "region"] = None
    model = hist(categorical_features="from_dtype")
    case = classifier_case(model, holes if holes_in_training else frame, y)
    ensemble = import_ensemble(case)
    np.testing.assert_allclose(ensemble.score(holes), case.probability(holes), atol=1e-12)
    assert ensemble.columns[1].categories == ("car", "house", "school", "tv")
    assert ensemble.columns[3].categories == (10, 30, 40)


def test_text_and_flags_named_as_categories() -> None:
    frame, y = frame_with_categories()
    frame = frame.assign(purpose=frame["purpose"].astype(str), region=frame["region"].astype(int))
    case = classifier_case(hist(categorical_features=["flag", "purpose"]), frame, y)
    ensemble = import_ensemble(case)
    assert ensemble.columns[2].categories == (False, True)
    np.testing.assert_allclose(ensemble.score(frame), case.probability(frame), atol=1e-12)


@pytest.mark.parametrize(
    "dtype", [pl.Categorical, pl.Enum(["tv", "car", "school", "house"])], ids=str
)
def test_polars_categories(dtype: Any) -> None:
    frame, y = frame_with_categories()
    table = pl.from_pandas(frame.assign(region=frame["region"].astype(int))).with_columns(
        pl.col("purpose").cast(pl.String).cast(dtype)
    )
    case = classifier_case(hist(categorical_features="from_dtype"), table, y)
    ensemble = import_ensemble(case)
    ours = ensemble.score(table)
    np.testing.assert_allclose(ours, case.probability(table), atol=1e-12)
    assert ensemble.score(table.to_pandas()).tolist() == ours.tolist()
    assert (ensemble.split_category >= 0).any()


def test_a_category_column_that_was_always_missing() -> None:
    frame, y = frame_with_categories()
    frame["region"] = pd.Categorical([None] * len(frame), categories=["n", "s"])
    case = classifier_case(hist(categorical_features="from_dtype"), frame, y)
    ensemble = import_ensemble(case)
    np.testing.assert_allclose(ensemble.score(frame), case.probability(frame), atol=1e-12)


def test_an_unseen_category_scores_as_scikit_learn_scores_it() -> None:
    table, y = table_with_values()
    model = hist(categorical_features=[1]).fit(table, y)
    imported = robx.import_model(model)
    before = imported.score(table)
    table[:, 1] = 8.0
    np.testing.assert_allclose(imported.score(table), model.predict_proba(table)[:, 1], atol=1e-12)
    assert (imported.score(table) != before).any()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_none_as_a_category_is_refused(library: str) -> None:
    frame, y = frame_with_categories()
    table = frame[["amount"]].assign(
        purpose=pd.Series([None, *frame["purpose"][1:]], dtype=object),
    )
    model = hist(categorical_features=[1])
    model.fit(table if library == "pandas" else pl.from_pandas(table), y)
    with pytest.raises(robx.UnsupportedModel, match=r"was trained with None.*BlackBox"):
        robx.import_model(model)


def test_intervals_as_categories_are_refused() -> None:
    frame, y = frame_with_categories()
    binned = frame.assign(purpose=pd.cut(frame["amount"], 3))
    model = hist(categorical_features="from_dtype").fit(binned, y)
    with pytest.raises(
        robx.UnsupportedModel, match=r"'purpose'.*neither text nor numbers.*BlackBox"
    ):
        robx.import_model(model)


# --- what is not imported -------------------------------------------------------------------------


class Flipped(RandomForestClassifier):  # type: ignore[misc]
    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(X)[:, ::-1]


class Shifted(GradientBoostingClassifier):  # type: ignore[misc]
    def decision_function(self, X: Any) -> Any:
        return super().decision_function(X) + 1


class Renamed(RandomForestClassifier):  # type: ignore[misc]
    pass


@pytest.mark.parametrize("kind", [Flipped, Shifted])
def test_a_subclass_that_scores_its_own_way_is_a_blackbox(kind: type) -> None:
    model = classifier(kind).fit(X, Y)
    box = robx.import_model(model)
    assert isinstance(box, robx.BlackBox)
    assert box.score(X).tolist() == model.predict_proba(X)[:, 1].tolist()


def test_a_subclass_that_scores_as_its_parent_is_imported() -> None:
    assert isinstance(robx.import_model(classifier(Renamed).fit(X, Y), X=X), TreeEnsemble)


@pytest.mark.parametrize(
    "model", [BaggingClassifier(n_estimators=3), LogisticRegression()], ids=str
)
def test_other_classifiers_are_left_to_blackbox(model: Any) -> None:
    assert parser.from_model(model.fit(X, Y), None) is None


@each_estimator
def test_a_model_that_is_not_fitted_is_an_error(kind: type) -> None:
    with pytest.raises(robx.InvalidModel, match=f"{kind.__name__} is not fitted: train it"):
        robx.import_model(classifier(kind))


@pytest.mark.parametrize(
    "kind",
    [
        DecisionTreeRegressor,
        RandomForestRegressor,
        GradientBoostingRegressor,
        HistGradientBoostingRegressor,
    ],
)
def test_a_regressor_is_refused(kind: type) -> None:
    with pytest.raises(
        robx.UnsupportedModel, match=f"{kind.__name__} is not a classifier.*BlackBox"
    ):
        robx.import_model(kind(max_depth=2).fit(X, Y))


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, RandomForestClassifier])
def test_several_outputs_are_refused(kind: type) -> None:
    model = classifier(kind).fit(X, np.column_stack([Y, THREE]))
    with pytest.raises(robx.UnsupportedModel, match=r"2 outputs at once.*BlackBox"):
        robx.import_model(model)


@pytest.mark.parametrize(
    "init", [LogisticRegression(), DummyClassifier(strategy="stratified")], ids=str
)
def test_boosting_that_starts_from_a_model_is_refused(init: Any) -> None:
    model = classifier(GradientBoostingClassifier, init=init).fit(X, Y)
    with pytest.raises(robx.UnsupportedModel, match=r"starts from another model.*BlackBox"):
        robx.import_model(model)


def test_leaves_without_class_fractions_are_refused() -> None:
    model = classifier(DecisionTreeClassifier, max_depth=2).fit(X, Y)
    model.tree_.value[:] *= 7
    with pytest.raises(robx.UnsupportedModel, match=r"do not add up to 1.*BlackBox"):
        robx.import_model(model)


@pytest.mark.parametrize("name", ["_predictors", "_baseline_prediction", "_preprocessor", "_loss"])
def test_a_missing_private_attribute_is_unsupported(name: str) -> None:
    model = hist().fit(X, Y)
    delattr(model, name)
    with pytest.raises(robx.UnsupportedModel, match=f"there is no '{name}'.*BlackBox"):
        robx.import_model(model)


def test_an_unknown_node_field_is_unsupported() -> None:
    model = hist().fit(X, Y)
    predictor = model._predictors[0][0]
    old = predictor.nodes
    predictor.nodes = np.zeros(len(old), dtype=[*old.dtype.descr, ("twist", "u1")])
    with pytest.raises(robx.UnsupportedModel, match="its nodes differ in twist"):
        robx.import_model(model)


def test_an_unknown_loss_is_unsupported() -> None:
    model = classifier(GradientBoostingClassifier).fit(X, Y)
    model._loss = object()
    with pytest.raises(robx.UnsupportedModel, match="its loss is object"):
        robx.import_model(model)

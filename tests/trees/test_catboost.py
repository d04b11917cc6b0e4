from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import catboost as cb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import robx
from oracles import (
    Case,
    assert_law_one,
    assert_scores_alike,
    classifier_case,
    hard_rows,
    import_ensemble,
    toy_data,
    with_missing,
)
from robx.trees import TreeEnsemble, child
from speed import examples, slow_but

X, Y = toy_data()
Y3 = np.digitize(X[:, 0], [-0.5, 0.5])
FRAME = pd.DataFrame(X, columns=["age", "income", "débt [€]", 'a "quoted", name', "1"])
SETTINGS: dict[str, dict[str, Any]] = {
    "symmetric": {},
    "depthwise": {"grow_policy": "Depthwise"},
    "lossguide": {"grow_policy": "Lossguide", "max_leaves": 12},
    "nan max": {"nan_mode": "Max"},
    "nan max, lossguide": {"nan_mode": "Max", "grow_policy": "Lossguide"},
    "deep": {"depth": 8},
    "ordered": {"boosting_type": "Ordered"},
    "bernoulli": {"bootstrap_type": "Bernoulli", "subsample": 0.5},
    "few borders": {"border_count": 2},
    "starts at the average": {"boost_from_average": True, "class_weights": [1, 3]},
    "one tree": {"iterations": 1},
    "single leaves": {"grow_policy": "Depthwise", "min_data_in_leaf": 10**6},
    "ignored column": {"ignored_features": [0]},
    "cross entropy": {"loss_function": "CrossEntropy"},
    "focal": {"loss_function": "Focal:focal_alpha=0.4;focal_gamma=2"},
}


def quiet(**parameters: Any) -> dict[str, Any]:
    defaults = {"iterations": 20, "depth": 4, "verbose": False, "thread_count": 1}
    return {**defaults, "allow_writing_files": False, **parameters}


def classifier(**parameters: Any) -> cb.CatBoostClassifier:
    return cb.CatBoostClassifier(**quiet(**parameters))


def saved(model: Any, path: Path) -> Path:
    model.save_model(str(path), format=path.suffix[1:])
    return path


@pytest.mark.parametrize("parameters", SETTINGS.values(), ids=SETTINGS.keys())
@pytest.mark.parametrize("missing", [False, True], ids=["full", "with holes"])
def test_every_kind_of_tree_scores_as_catboost_does(
    parameters: dict[str, Any], missing: bool
) -> None:
    table = with_missing(X) if missing else X
    assert_law_one(classifier_case(classifier(**parameters), table, Y))


@pytest.mark.parametrize("target", [0, 1])
def test_either_class_can_be_the_target(target: int) -> None:
    assert_law_one(classifier_case(classifier(), X, Y, target=target))


@pytest.mark.parametrize("target", [0, 1, 2])
@pytest.mark.parametrize("loss", ["MultiClass", "MultiClassOneVsAll"])
@pytest.mark.parametrize("policy", ["SymmetricTree", "Lossguide"])
def test_several_classes(target: int, loss: str, policy: str) -> None:
    model = classifier(loss_function=loss, grow_policy=policy, iterations=10)
    assert_law_one(classifier_case(model, X, Y3, target=target))


def test_two_classes_by_softmax() -> None:
    assert_law_one(classifier_case(classifier(loss_function="MultiClass"), X, Y, target=0))


def test_several_classes_without_a_target_is_an_error() -> None:
    with pytest.raises(robx.InvalidInput, match="say which one counts as accepted with target="):
        robx.import_model(classifier(iterations=2).fit(X, Y3))


@pytest.mark.parametrize(
    ("labels", "target"),
    [(["bad", "good"], "good"), ([-1.5, 2.5], -1.5), ([3, 7], 3), ([False, True], False)],
)
def test_labels_of_any_kind_live_and_in_a_file(
    tmp_path: Path, labels: list[Any], target: Any
) -> None:
    model = classifier(iterations=5).fit(X, np.array(labels)[Y])
    theirs = model.predict_proba(X)[:, labels.index(target)]
    path = saved(model, tmp_path / "model.json")
    for source in (model, path):
        ensemble = robx.import_model(source, target)
        assert (ensemble.target, type(ensemble.target)) == (target, type(target))
        np.testing.assert_allclose(ensemble.score(X), theirs, atol=1e-12, rtol=0)
    with pytest.raises(robx.InvalidInput, match="one of the model's classes"):
        robx.import_model(path, "neither")


def test_classes_without_rows_in_training_are_refused() -> None:
    model = classifier(iterations=2, loss_function="MultiClass", class_names=["a", "b", "c", "d"])
    with pytest.raises(robx.UnsupportedModel, match=r"had no rows in training.*BlackBox"):
        robx.import_model(model.fit(X, np.array(["a", "c", "d"])[Y3], silent=True), "a")


def test_a_missing_value_goes_right_only_where_training_had_some_and_nan_mode_is_max() -> None:
    table = X.copy()
    table[::4, 0] = np.nan
    model = classifier(nan_mode="Max").fit(table, Y)
    ensemble = robx.import_model(model)
    assert isinstance(ensemble, TreeEnsemble)
    right = ~ensemble.split_missing_left
    assert right.any()
    assert right.tolist() == (ensemble.split_feature == 0).tolist()
    rows = with_missing(X, 0.5)
    np.testing.assert_allclose(
        ensemble.score(rows), model.predict_proba(rows)[:, 1], atol=1e-12, rtol=0
    )


def test_infinite_values_in_training() -> None:
    table = X.copy()
    table[::4, 0] = np.inf
    model = classifier(iterations=2).fit(table, Y)
    ours = robx.import_model(model, X=table).score(table)
    np.testing.assert_allclose(ours, model.predict_proba(table)[:, 1], atol=1e-12, rtol=0)


def test_missing_values_are_scored_even_where_training_forbade_them() -> None:
    assert_law_one(classifier_case(classifier(nan_mode="Forbidden"), X, Y, takes_nan=True))


def test_a_bare_catboost_and_a_sum_of_models_with_scale_and_bias() -> None:
    first = cb.CatBoost(quiet(loss_function="Logloss")).fit(X, Y)
    second = classifier(iterations=7, boost_from_average=True).fit(X, Y)
    first.set_scale_and_bias(0.5, 0.25)
    for model in (first, cb.sum_models([first, second], weights=[0.3, 1.2])):

        def theirs(rows: Any, model: Any = model) -> Any:
            return model.predict(rows, prediction_type="Probability")[:, 1]

        assert_law_one(Case(model, X, theirs))


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise"])
def test_a_json_file_scores_as_the_model_that_was_saved(tmp_path: Path, policy: str) -> None:
    model = classifier(grow_policy=policy).fit(with_missing(X), Y)
    from_file = robx.import_model(saved(model, tmp_path / "model.json"))
    assert from_file.score(X).tolist() == robx.import_model(model).score(X).tolist()


@pytest.mark.parametrize("ending", slow_but(["cbm"], ["cbm", "json"]))
def test_a_file_is_checked_against_catboost_itself(tmp_path: Path, ending: str) -> None:
    model = classifier(loss_function="MultiClass").fit(FRAME, np.array(["a", "b", "c"])[Y3])
    from_file = robx.import_model(
        saved(model, tmp_path / f"model.{ending}"),
        "b",
        X=pl.from_pandas(FRAME[FRAME.columns[::-1]]),
    )
    assert isinstance(from_file, TreeEnsemble)
    assert from_file.names == tuple(FRAME.columns)
    np.testing.assert_allclose(
        from_file.score(FRAME), model.predict_proba(FRAME)[:, 1], atol=1e-12, rtol=0
    )


def test_without_catboost_json_is_read_and_cbm_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = classifier(iterations=3).fit(X, Y)
    monkeypatch.setattr(child, "find_spec", lambda library: None)
    ensemble = robx.import_model(saved(model, tmp_path / "model.json"), X=X)
    np.testing.assert_allclose(ensemble.score(X), model.predict_proba(X)[:, 1], atol=1e-12)
    with pytest.raises(robx.UnsupportedModel, match="only be read with catboost installed"):
        robx.import_model(saved(model, tmp_path / "model.cbm"))


def test_frames_by_name_in_any_order() -> None:
    case = classifier_case(classifier(), FRAME, Y)
    ensemble = import_ensemble(case)
    assert ensemble.named
    theirs = case.probability(FRAME)
    turned = FRAME[FRAME.columns[::-1]]
    for table in (FRAME, turned, pl.from_pandas(turned), X):
        np.testing.assert_allclose(ensemble.score(table), theirs, atol=1e-12, rtol=0)
    with pytest.raises(robx.InvalidInput, match="lacks 1 of the model's columns: 'income'"):
        ensemble.score(FRAME.drop(columns="income"))


def test_a_model_trained_on_an_array_takes_any_frame_as_it_stands() -> None:
    ensemble = import_ensemble(classifier_case(classifier(), X, Y))
    assert not ensemble.named
    assert ensemble.names == ("0", "1", "2", "3", "4")
    assert ensemble.score(FRAME).tolist() == ensemble.score(X).tolist()


@examples(60)
@given(
    depth=st.integers(1, 6),
    rounds=st.integers(1, 12),
    rate=st.floats(0.05, 1.0),
    seed=st.integers(0, 2**16),
    policy=st.sampled_from(["SymmetricTree", "Depthwise", "Lossguide"]),
    nan_mode=st.sampled_from(["Min", "Max"]),
    holes=st.booleans(),
)
def test_any_model_on_any_row(
    depth: int, rounds: int, rate: float, seed: int, policy: str, nan_mode: str, holes: bool
) -> None:
    table, y = toy_data(120, 4, seed)
    model = classifier(
        depth=depth,
        iterations=rounds,
        learning_rate=rate,
        random_seed=seed,
        grow_policy=policy,
        nan_mode=nan_mode,
    )
    assert_law_one(classifier_case(model, with_missing(table, 0.1, seed) if holes else table, y))


@pytest.mark.slow
def test_three_thousand_trees_add_up_in_float64() -> None:
    case = classifier_case(classifier(iterations=3000, depth=2, learning_rate=0.01), X, Y)
    ensemble = import_ensemble(case)
    assert ensemble.n_trees == 3000
    rows = hard_rows(ensemble, X, case)[::20]
    np.testing.assert_allclose(ensemble.score(rows), case.probability(rows), atol=1e-12, rtol=0)


# --- what is refused -----------------------------------------------------------------------------


def test_models_that_are_no_classifiers_are_refused() -> None:
    for model in (cb.CatBoostRegressor(**quiet(iterations=2)), cb.CatBoostRanker()):
        with pytest.raises(robx.UnsupportedModel, match=r"is not a classifier.*robx\.BlackBox"):
            robx.import_model(model)
    bare = cb.CatBoost(quiet(iterations=2, loss_function="RMSE")).fit(X, Y)
    with pytest.raises(robx.UnsupportedModel, match=r"'RMSE'.*robx\.BlackBox"):
        robx.import_model(bare)


def test_a_model_that_was_not_fitted_is_told_so() -> None:
    with pytest.raises(robx.InvalidModel, match="is not fitted: train it"):
        robx.import_model(classifier())


def test_text_and_embedding_features_and_infinite_borders_are_refused(tmp_path: Path) -> None:
    text = pd.DataFrame({"x": X[:, 0], "note": np.array(["good day", "bad night"])[Y]})
    vector = pd.DataFrame({"x": X[:, 0], "place": [list(row) for row in X[:, 1:]]})
    infinite = np.column_stack([np.where(X[:, 0] > 0, -np.inf, 0.0), X[:, 1]])
    first = classifier(iterations=2).fit(text, Y, text_features=["note"])
    models = [
        first,
        classifier(iterations=2).fit(vector, Y, embedding_features=["place"]),
        classifier(iterations=2).fit(infinite, X[:, 0] > 0),
    ]
    for source in (*models, saved(first, tmp_path / "text.cbm")):
        with pytest.raises(robx.UnsupportedModel, match=r"text or embedding.*robx\.BlackBox"):
            robx.import_model(source)


def _edited(tmp_path: Path, edit: Any, **parameters: Any) -> Path:
    path = saved(classifier(iterations=3, **parameters).fit(X, Y), tmp_path / "edited.json")
    model = json.loads(path.read_bytes())
    edit(model)
    path.write_text(json.dumps(model))
    return path


def _tree(model: Any) -> Any:
    return model["oblivious_trees"][1]


def _split(model: Any) -> Any:
    return _tree(model)["splits"][0]


def _column(model: Any) -> Any:
    return model["features_info"]["float_features"][1]


def _classes(model: Any) -> Any:
    return model["model_info"]["class_params"]


def _name_all(model: Any) -> None:
    for column in model["features_info"]["float_features"]:
        column["feature_id"] = "same"


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda m: _tree(m)["leaf_values"].pop(), "leaf_values has 15 values; expected 16"),
        (lambda m: _tree(m).pop("leaf_values"), "lacks the field 'leaf_values'"),
        (lambda m: _tree(m).update(splits=_tree(m)["splits"] * 15), "60 levels"),
        (lambda m: _tree(m).update(splits=None), "leaf_values has 16 values; expected 1"),
        (lambda m: _tree(m)["leaf_values"].__setitem__(0, float("nan")), "not a finite number"),
        (lambda m: _tree(m)["leaf_values"].__setitem__(0, "0.1"), "must be a list of numbers"),
        (lambda m: _split(m).update(float_feature_index=77), "splits column 77"),
        (lambda m: _split(m).update(split_index=10**6), "uses border 1000000 of"),
        (lambda m: _split(m).update(split_index=-1), "split_index must be an integer"),
        (lambda m: _split(m).update(border=1e300), r"splits column \d at 1e\+300"),
        (lambda m: _split(m).update(split_type="OnlineCtr"), "OnlineCtr; its split_index says on"),
        (lambda m: m["oblivious_trees"].clear(), "no trees"),
        (lambda m: m.pop("oblivious_trees"), "lacks the field 'oblivious_trees'"),
        (lambda m: m.update(trees=[]), "both kinds of trees"),
        (lambda m: m.update(scale_and_bias=[1]), "scale and the biases"),
        (lambda m: m.update(scale_and_bias=["x", [0]]), "scale_and_bias must be a number"),
        (lambda m: m.update(scale_and_bias=[1, [0, 0]]), "has 2 biases.*Logloss"),
        (lambda m: m.update(scale_and_bias=[1e999, [0]]), "scale_and_bias must be finite"),
        (lambda m: _column(m).update(flat_feature_index=0), "its numbers must be 1"),
        (lambda m: _column(m).update(feature_index=4), "its numbers must be 1"),
        (lambda m: m["features_info"].update(float_features=[]), "no columns"),
        (lambda m: _column(m)["borders"].append(1e39), "not a finite float32"),
        (lambda m: _column(m).update(nan_value_treatment="?"), "becomes of missing values"),
        (_name_all, "two of the same name"),
        (lambda m: _classes(m).update(class_names=[0, "1"]), "labels of the type Integer"),
        (lambda m: _classes(m).update(class_names=[1, 1]), "a label twice"),
        (lambda m: m["model_info"].update(params="{"), "not valid JSON"),
        (lambda m: m["model_info"].pop("params"), "lacks the field 'loss_function'"),
        (lambda m: m.update(features_info=[]), "must be an object"),
        (lambda m: m.pop("features_info"), "lacks the field 'features_info'"),
    ],
)
def test_a_damaged_file_is_told_apart_by_its_message(
    tmp_path: Path, edit: Any, message: str
) -> None:
    with pytest.raises(robx.InvalidModel, match=message):
        robx.import_model(_edited(tmp_path, edit))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda m: m.update(surprise=1), "robx does not know: surprise"),
        (lambda m: m["features_info"].update(odd_features=[]), "robx does not know: odd_features"),
        (lambda m: _column(m).update(twist=1), "robx does not know: twist"),
        (lambda m: _tree(m).update(twist=1), "robx does not know: twist"),
        (lambda m: _split(m).update(twist=1), "robx does not know: twist"),
        (lambda m: _classes(m).update(twist=1), "robx does not know: twist"),
        (lambda m: m["features_info"].update(text_features=[{}]), "cannot be rebuilt"),
        (lambda m: _classes(m).update(class_to_label=[1, 0]), "not the ones that it names"),
        (lambda m: _classes(m).update(classes_count=3), "not the ones that it names"),
    ],
)
def test_a_field_that_may_change_the_meaning_is_refused(
    tmp_path: Path, edit: Any, message: str
) -> None:
    with pytest.raises(robx.UnsupportedModel, match=f"{message}.*robx.BlackBox"):
        robx.import_model(_edited(tmp_path, edit))


@pytest.mark.parametrize(
    ("edit", "error", "message"),
    [
        (lambda t: t.pop("right"), robx.InvalidModel, "lacks the field 'right'"),
        (lambda t: t.update(right=3), robx.InvalidModel, "must be an object"),
        (lambda t: t.update(right={}), robx.InvalidModel, "lacks the field 'value'"),
        (lambda t: t.update(right={"value": [1, 2]}), robx.InvalidModel, "2 values, not 1"),
        (lambda t: t.update(right={"value": "?"}), robx.InvalidModel, "must be a number"),
        (lambda t: t["split"].update(split_index=999), robx.InvalidModel, "uses border 999"),
        (lambda t: t.update(value=1.0), robx.UnsupportedModel, "does not know: value"),
        (lambda t: t.update(right={"value": 1, "x": 1}), robx.UnsupportedModel, "know: x"),
    ],
)
def test_a_damaged_nested_tree(
    tmp_path: Path, edit: Any, error: type[Exception], message: str
) -> None:
    path = _edited(tmp_path, lambda model: edit(model["trees"][0]), grow_policy="Lossguide")
    with pytest.raises(error, match=message):
        robx.import_model(path)


def _chain(model: Any, depth: int) -> str:
    """Hang a tree of the given depth under the name of the first one, as text."""
    split = json.dumps(model["trees"][0]["split"])
    node = '{"value": 0.5, "weight": 1}'
    model["trees"] = ["here"]
    chain = f'{{"split": {split}, "right": {node}, "left": ' * depth + node + "}" * depth
    return json.dumps(model).replace('"here"', chain)


def test_deeply_nested_trees_are_read_or_refused_but_never_crash(tmp_path: Path) -> None:
    path = _edited(tmp_path, lambda model: None, grow_policy="Depthwise")
    plain = path.read_text()
    path.write_text(_chain(json.loads(plain), 500))
    ensemble = robx.import_model(path)
    assert isinstance(ensemble, TreeEnsemble)
    assert ensemble.n_leaves == 501
    np.testing.assert_allclose(ensemble.score(X), 1 / (1 + np.exp(-0.5)))
    path.write_text(_chain(json.loads(plain), 100_000))
    with pytest.raises(robx.InvalidModel, match="not valid JSON"):
        robx.import_model(path)


def test_a_tree_of_one_leaf_among_symmetric_ones(tmp_path: Path) -> None:
    path = _edited(tmp_path, lambda m: _tree(m).update(splits=None, leaf_values=[0.25]))
    assert_file_scores_as_catboost_loads_it(path, X)


@pytest.mark.parametrize("has_nans", [False, True])
@pytest.mark.parametrize("treatment", ["AsIs", "AsFalse", "AsTrue"])
def test_every_treatment_of_missing_values(tmp_path: Path, has_nans: bool, treatment: str) -> None:
    def treat(model: Any) -> None:
        for column in model["features_info"]["float_features"]:
            column.update(has_nans=has_nans, nan_value_treatment=treatment)

    assert_file_scores_as_catboost_loads_it(_edited(tmp_path, treat), with_missing(X, 0.5))


def assert_file_scores_as_catboost_loads_it(path: Path, rows: Any) -> None:
    theirs = cb.CatBoostClassifier().load_model(str(path), format="json")
    ensemble = robx.import_model(path)
    assert isinstance(ensemble, TreeEnsemble)
    assert_scores_alike(ensemble, Case(path, X, lambda x: theirs.predict_proba(x)[:, 1]), rows)


def test_truncated_and_garbage_files(tmp_path: Path) -> None:
    model = classifier(iterations=2).fit(X, Y)
    path = saved(model, tmp_path / "model.json")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(robx.InvalidModel, match="not valid JSON"):
        robx.import_model(path)
    binary = saved(model, tmp_path / "model.cbm")
    for data in (binary.read_bytes()[:300], b"\x00garbage" * 50):
        binary.write_bytes(data)
        with pytest.raises(robx.InvalidModel, match=r"catboost could not read 'model\.cbm'"):
            robx.import_model(binary)

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost as xgb
from hypothesis import given
from hypothesis import strategies as st

import robx
from oracles import (
    Case,
    assert_law_one,
    assert_scores_alike,
    classifier_case,
    import_ensemble,
    toy_data,
    with_missing,
)
from robx.trees import TreeEnsemble
from speed import examples, slow_but

X, Y = toy_data()
SETTINGS: dict[str, dict[str, Any]] = {
    "hist": {},
    "exact": {"tree_method": "exact"},
    "approx": {"tree_method": "approx"},
    "dart": {"booster": "dart", "rate_drop": 0.4},
    "base score": {"base_score": 0.2},
    "pruned": {"gamma": 3.0},
    "lossguide": {"grow_policy": "lossguide", "max_leaves": 20, "max_depth": 0},
    "one tree": {"n_estimators": 1},
    "constant": {"n_estimators": 3, "min_child_weight": 1e6},
}


def classifier(**parameters: Any) -> xgb.XGBClassifier:
    return xgb.XGBClassifier(**{"n_estimators": 25, "max_depth": 4, "n_jobs": 1, **parameters})


def frame_with_categories(n: int = 300) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "purpose": pd.Categorical(rng.choice(["car", "house", "tv", "school"], n)),
            "amount": rng.normal(size=n),
            "region": pd.Categorical(rng.choice(["n", "e", "s", "w"], n)),
        }
    )
    frame.loc[::11, "purpose"] = None
    y = (frame["amount"] > 0) ^ frame["purpose"].isin(["car", "tv"]) ^ (frame["region"] == "n")
    return frame, y.astype(int)


@pytest.mark.parametrize("parameters", SETTINGS.values(), ids=SETTINGS.keys())
@pytest.mark.parametrize("missing", [False, True], ids=["full", "with holes"])
def test_every_booster_scores_as_xgboost_does(parameters: dict[str, Any], missing: bool) -> None:
    table = with_missing(X) if missing else X
    assert_law_one(classifier_case(classifier(**parameters), table, Y, takes_inf=False))


@pytest.mark.parametrize("target", [0, 1])
def test_either_class_can_be_the_target(target: int) -> None:
    assert_law_one(classifier_case(classifier(), X, Y, target=target, takes_inf=False))


def test_random_forest() -> None:
    model = xgb.XGBRFClassifier(n_estimators=30, max_depth=5, n_jobs=1)
    assert_law_one(classifier_case(model, X, Y, takes_inf=False))


@pytest.mark.parametrize("target", [0, 1, 2])
@pytest.mark.parametrize("objective", ["multi:softprob", "multi:softmax"])
def test_several_classes(target: int, objective: str) -> None:
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = classifier(objective=objective)
    if objective == "multi:softprob":
        assert_law_one(classifier_case(model, X, y, target=target, takes_inf=False))
    else:
        model.fit(X, y)
        imported = robx.import_model(model, target)
        np.testing.assert_allclose(
            imported.score(X), model.predict_proba(X)[:, target], atol=1e-6, rtol=0
        )


def test_several_classes_without_a_target_is_an_error() -> None:
    model = classifier().fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    with pytest.raises(robx.InvalidInput, match="say which one counts as accepted with target="):
        robx.import_model(model)


@pytest.mark.parametrize("marker", [-999.0, 0.0, 0.1, 2.0])
def test_a_marker_for_missing_is_honoured(marker: float) -> None:
    table = X.copy()
    table[np.random.default_rng(0).random(X.shape) < 0.2] = marker
    case = classifier_case(classifier(missing=marker), table, Y, takes_inf=False)
    ensemble = assert_law_one(case)
    near = np.float64(np.float32(marker))
    rows = np.repeat(table[:50], 3, axis=0)
    rows[0::3, 0] = near
    rows[1::3, 0] = np.nextafter(near, np.inf)
    rows[2::3, 0] = np.nextafter(np.float32(marker), np.float32(np.inf))
    assert_scores_alike(ensemble, case, rows)


def test_the_wrapper_stops_at_the_best_iteration_and_a_booster_does_not(tmp_path: Path) -> None:
    model = classifier(n_estimators=200, learning_rate=0.6, early_stopping_rounds=5)
    model.fit(X[:250], Y[:250], eval_set=[(X[250:], Y[250:])], verbose=False)
    booster = model.get_booster()
    assert model.best_iteration + 1 < booster.num_boosted_rounds()
    stopped = Case(model, X, lambda rows: model.predict_proba(rows)[:, 1], takes_inf=False)
    assert assert_law_one(stopped).n_trees == model.best_iteration + 1
    full = Case(booster, X, lambda rows: booster.predict(xgb.DMatrix(rows)), takes_inf=False)
    assert assert_law_one(full).n_trees == booster.num_boosted_rounds()
    model.save_model(tmp_path / "model.json")
    from_file = robx.import_model(tmp_path / "model.json", X=X)
    np.testing.assert_allclose(from_file.score(X), model.predict_proba(X)[:, 1], atol=1e-6)


@pytest.mark.parametrize("ending", slow_but(["ubj"], ["json", "ubj"]))
@pytest.mark.parametrize("booster", slow_but(["gbtree"], ["gbtree", "dart"]))
def test_a_file_scores_as_the_model_that_was_saved(
    tmp_path: Path, ending: str, booster: str
) -> None:
    model = classifier(booster=booster).fit(with_missing(X), Y)
    path = tmp_path / f"model.{ending}"
    model.save_model(path)
    from_file = robx.import_model(path, X=X[:20])
    assert isinstance(from_file, TreeEnsemble)
    assert from_file.score(X).tolist() == robx.import_model(model).score(X).tolist()


def test_native_categories_by_name_in_any_order() -> None:
    frame, y = frame_with_categories()
    case = classifier_case(classifier(enable_categorical=True), frame, y)
    ensemble = import_ensemble(case)
    ours = ensemble.score(frame)
    np.testing.assert_allclose(ours, case.probability(frame), atol=1e-6, rtol=0)
    assert ensemble.score(frame[["region", "purpose", "amount"]]).tolist() == ours.tolist()
    assert ensemble.score(pl.from_pandas(frame)).tolist() == ours.tolist()
    text = frame.assign(region=frame["region"].astype(str))
    assert ensemble.score(text).tolist() == ours.tolist()
    recoded = frame.assign(region=frame["region"].cat.reorder_categories(["w", "n", "e", "s"]))
    assert ensemble.score(recoded).tolist() == ours.tolist()


def test_categories_split_one_against_the_rest_and_by_many_codes() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 150, 2000)
    frame = pd.DataFrame({"c": pd.Categorical(codes), "x": rng.normal(size=2000)})
    y = (np.isin(codes % 7, [1, 4]) ^ (frame["x"] > 1)).astype(int)
    for max_onehot in (1, 200):
        model = classifier(enable_categorical=True, max_cat_to_onehot=max_onehot)
        case = classifier_case(model, frame, y)
        ensemble = import_ensemble(case)
        assert (ensemble.split_category >= 0).any()
        np.testing.assert_allclose(ensemble.score(frame), case.probability(frame), atol=1e-6)


def test_category_codes_in_an_array_including_unseen_ones() -> None:
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.integers(0, 9, 500), rng.normal(size=500)]).astype(float)
    y = np.isin(table[:, 0], [1, 4, 8]) ^ (table[:, 1] > 1)
    data = xgb.DMatrix(table, y, feature_types=["c", "float"], enable_categorical=True)
    booster = xgb.train({"max_depth": 4, "objective": "binary:logistic"}, data, 20)
    ensemble = robx.import_model(booster)
    rows = table.copy()
    rows[::5, 0] = rng.integers(9, 300, 100)
    rows[1::7, 0] = np.nan
    theirs = booster.predict(
        xgb.DMatrix(rows, feature_types=["c", "float"], enable_categorical=True)
    )
    np.testing.assert_allclose(ensemble.score(rows), theirs, atol=1e-6, rtol=0)


def test_a_model_that_knows_codes_alone_takes_columns_of_fixed_order() -> None:
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.integers(0, 4, 300), rng.random(300)])
    y = (table[:, 0] == 2) ^ (table[:, 1] > 0.5)
    data = xgb.DMatrix(table, y, feature_types=["c", "float"], enable_categorical=True)
    booster = xgb.train({"max_depth": 3, "objective": "binary:logistic"}, data, 5)
    ensemble = robx.import_model(booster)
    text = np.array(list("wxyz"))[table[:, 0].astype(int)]
    assert text[0] != "w"  # the order of appearance is not that of the codes
    expected = ensemble.score(table).tolist()
    pandas = pd.DataFrame({"kind": pd.Categorical(text), "x": table[:, 1]})
    assert ensemble.score(pandas).tolist() == expected
    polars = pl.DataFrame({"kind": pl.Series(text, dtype=pl.Enum(list("wxyz"))), "x": table[:, 1]})
    assert ensemble.score(polars).tolist() == expected
    with pytest.raises(robx.InvalidInput, match="of fixed order"):
        ensemble.score(polars.with_columns(pl.col("kind").cast(pl.Categorical)))
    with pytest.raises(robx.InvalidInput, match="of fixed order"):
        ensemble.score(polars.with_columns(pl.col("kind").cast(pl.String)))


@examples(25)
@given(
    depth=st.integers(1, 7),
    rounds=st.integers(1, 12),
    rate=st.floats(0.05, 1.0),
    seed=st.integers(0, 2**16),
    booster=st.sampled_from(["gbtree", "dart"]),
    method=st.sampled_from(["hist", "exact"]),
    holes=st.booleans(),
)
def test_any_model_on_any_row(
    depth: int, rounds: int, rate: float, seed: int, booster: str, method: str, holes: bool
) -> None:
    table, y = toy_data(120, 4, seed)
    model = classifier(
        max_depth=depth,
        n_estimators=rounds,
        learning_rate=rate,
        booster=booster,
        tree_method=method,
        random_state=seed,
    )
    assert_law_one(
        classifier_case(
            model, with_missing(table, 0.1, seed) if holes else table, y, takes_inf=False
        )
    )


def test_what_is_no_tree_is_refused_and_blackbox_takes_it() -> None:
    linear = classifier(booster="gblinear", verbosity=0).fit(X, Y)
    with pytest.raises(robx.UnsupportedModel, match="gblinear.*BlackBox"):
        robx.import_model(linear)
    np.testing.assert_allclose(robx.BlackBox(linear).score(X), linear.predict_proba(X)[:, 1])


def test_vector_leaves_are_refused() -> None:
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = classifier(multi_strategy="multi_output_tree", tree_method="hist").fit(X, y)
    with pytest.raises(robx.UnsupportedModel, match="multi_output_tree.*BlackBox"):
        robx.import_model(model, 1)


def test_an_objective_without_probabilities_is_refused() -> None:
    booster = xgb.train({"objective": "binary:hinge"}, xgb.DMatrix(X, Y), 3)
    with pytest.raises(robx.UnsupportedModel, match="binary:hinge.*BlackBox"):
        robx.import_model(booster)


def _edited(tmp_path: Path, edit: Any) -> Path:
    model = json.loads(classifier().fit(X, Y).get_booster().save_raw("json").decode())
    edit(model)
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(model))
    return path


def _trees(model: Any) -> Any:
    return model["learner"]["gradient_booster"]["model"]["trees"]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda m: _trees(m)[3]["left_children"].__setitem__(0, 0), "reaches a node twice"),
        (lambda m: _trees(m)[3]["left_children"].__setitem__(0, 10**6), "not one of its"),
        (lambda m: _trees(m)[0]["split_indices"].__setitem__(0, 77), "splits on column 77"),
        (lambda m: _trees(m)[0]["left_children"].pop(), "number of nodes"),
        (
            lambda m: (
                _trees(m).clear() or m["learner"]["gradient_booster"]["model"]["tree_info"].clear()
            ),
            "no trees",
        ),
        (lambda m: _trees(m)[0].pop("split_conditions"), "lacks the field 'split_conditions'"),
        (lambda m: m["learner"]["learner_model_param"].update(base_score="nonsense"), "base_score"),
        (lambda m: _trees(m)[0]["split_conditions"].__setitem__(0, float("nan")), "not a number"),
        (lambda m: m["learner"].update(gradient_booster=[]), "must be an object"),
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
        (lambda m: m["learner"].update(surprise=1), "fields that robx does not know: surprise"),
        (lambda m: _trees(m)[0].update(twist=[]), "fields that robx does not know: twist"),
        (lambda m: m.update(version=[9, 0, 0]), "XGBoost 9.0"),
    ],
)
def test_an_unknown_field_or_version_raises(tmp_path: Path, edit: Any, message: str) -> None:
    with pytest.raises(robx.UnsupportedModel, match=message):
        robx.import_model(_edited(tmp_path, edit))


def test_a_mismatch_names_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    model = classifier().fit(X, Y)
    honest = model.predict_proba

    def liar(rows: Any) -> Any:
        answer = honest(rows)
        answer[7] = 1 - answer[7]
        return answer

    monkeypatch.setattr(model, "predict_proba", liar)
    with pytest.raises(robx.ImportMismatch, match="row 7 of X"):
        robx.import_model(model, X=X)


@pytest.mark.slow
def test_five_thousand_trees() -> None:
    model = classifier(n_estimators=5000, max_depth=2, learning_rate=0.01).fit(X, Y)
    imported = robx.import_model(model, X=X)
    assert isinstance(imported, TreeEnsemble)
    assert imported.n_trees == 5000


def test_a_booster_that_predicts_classes_is_checked_by_its_margins() -> None:
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    parameters = {"objective": "multi:softmax", "num_class": 3, "max_depth": 3}
    booster = xgb.train(parameters, xgb.DMatrix(X, y), 5)
    assert isinstance(robx.import_model(booster, 1, X=X), TreeEnsemble)


def test_none_as_the_marker_for_missing_is_nan() -> None:
    table = with_missing(X)
    unset, usual = classifier(missing=None).fit(table, Y), classifier().fit(table, Y)
    assert robx.import_model(unset) == robx.import_model(usual)


def test_a_model_that_is_not_fitted_is_told_so() -> None:
    with pytest.raises(robx.InvalidModel, match="XGBClassifier is not fitted: train it"):
        robx.import_model(classifier())


def test_names_of_categories_that_xgboost_cuts_off_are_refused() -> None:
    color = pd.Categorical(["rot", "grün", "blau"] * 40)
    frame = pd.DataFrame({"color": color, "x": np.arange(120.0)})
    model = classifier(enable_categorical=True).fit(frame, np.arange(120) % 3 == 1)
    with pytest.raises(robx.UnsupportedModel, match="beyond ASCII.*BlackBox"):
        robx.import_model(model)

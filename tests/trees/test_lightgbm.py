from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import lightgbm as lgb
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
    import_ensemble,
    toy_data,
    with_missing,
)
from robx.trees import TreeEnsemble
from robx.trees.lightgbm import ZERO
from speed import examples, slow_but

X, Y = toy_data()
Y3 = np.digitize(X[:, 0], [-0.5, 0.5])
FOREST = {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1}
SETTINGS: dict[str, dict[str, Any]] = {
    "gbdt": {},
    "dart": {"boosting_type": "dart", "drop_rate": 0.4},
    "random forest": FOREST,
    "goss": {"data_sample_strategy": "goss"},
    "extra trees": {"extra_trees": True},
    "deep": {"num_leaves": 100, "min_child_samples": 1},
    "slope": {"sigmoid": 0.37},
    "cross entropy": {"objective": "cross_entropy"},
    "monotone": {"monotone_constraints": [1, 0, 0, 0, 0]},
    "no missing": {"use_missing": False},
    "zero is missing": {"zero_as_missing": True},
    "one tree": {"n_estimators": 1},
    "constant": {"min_child_samples": 10**6},
}
EAGER = {"min_child_samples": 2, "min_data_per_group": 2, "cat_smooth": 1}


def classifier(**parameters: Any) -> Any:
    return lgb.LGBMClassifier(
        **{"n_estimators": 25, "num_leaves": 12, "n_jobs": 1, "verbose": -1, **parameters}
    )


def booster_case(booster: lgb.Booster, table: Any) -> Case:
    return Case(booster, table, booster.predict)


def saved(model: Any, path: Path) -> Path:
    (model if isinstance(model, lgb.Booster) else model.booster_).save_model(path)
    return path


def frame_with_categories(n: int = 400) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "purpose": pd.Categorical(rng.choice(["car", "house", "tv", "school"], n)),
            "amount": rng.normal(size=n),
            "same": pd.Categorical(["only"] * n),
            "region": pd.Categorical(rng.choice(["n", "e", "s", "w"], n)),
        }
    )
    frame.loc[::11, "purpose"] = None
    y = (frame["amount"] > 0) ^ frame["purpose"].isin(["car", "tv"]) ^ (frame["region"] == "n")
    return frame, y.astype(int)


@pytest.mark.parametrize("parameters", SETTINGS.values(), ids=SETTINGS.keys())
@pytest.mark.parametrize("missing", [False, True], ids=["full", "with holes"])
def test_every_booster_scores_as_lightgbm_does(parameters: dict[str, Any], missing: bool) -> None:
    table = with_missing(X) if missing else X
    assert_law_one(classifier_case(classifier(**parameters), table, Y))


@pytest.mark.parametrize("target", [0, 1])
def test_either_class_can_be_the_target(target: int) -> None:
    assert_law_one(classifier_case(classifier(), X, Y, target=target))


@pytest.mark.parametrize("target", [0, 1, 2])
@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
@pytest.mark.parametrize("parameters", [{}, FOREST], ids=["gbdt", "random forest"])
def test_several_classes(target: int, objective: str, parameters: dict[str, Any]) -> None:
    model = classifier(objective=objective, **parameters)
    assert_law_one(classifier_case(model, with_missing(X), Y3, target=target))


def test_several_classes_without_a_target_is_an_error() -> None:
    with pytest.raises(robx.InvalidInput, match="say which one counts as accepted with target="):
        robx.import_model(classifier().fit(X, Y3))


@pytest.mark.parametrize("target", ["bad", "good"])
def test_labels_are_the_users(target: str) -> None:
    labels = np.array(["bad", "good"])[Y]
    assert assert_law_one(classifier_case(classifier(), X, labels, target=target)).target == target


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_early_stopping_ends_the_wrapper_at_its_best_round() -> None:
    model = classifier(n_estimators=200, learning_rate=0.6)
    stop = lgb.early_stopping(5, verbose=False)
    model.fit(X[:250], Y[:250], eval_set=[(X[250:], Y[250:])], callbacks=[stop])
    case = Case(model, X, lambda rows: model.predict_proba(rows)[:, 1])
    assert assert_law_one(case).n_trees == model.best_iteration_ < 200


def test_early_stopping_ends_a_booster_that_holds_more_rounds(tmp_path: Path) -> None:
    parameters = {"objective": "binary", "learning_rate": 0.6, "verbose": -1, "num_threads": 1}
    train = lgb.Dataset(X[:250], Y[:250])
    booster = lgb.train(
        parameters,
        train,
        200,
        valid_sets=[lgb.Dataset(X[250:], Y[250:], reference=train)],
        callbacks=[lgb.early_stopping(5, verbose=False)],
        keep_training_booster=True,
    )
    assert booster.best_iteration < booster.current_iteration()
    assert assert_law_one(booster_case(booster, X)).n_trees == booster.best_iteration
    from_file = robx.import_model(saved(booster, tmp_path / "model.txt"))
    np.testing.assert_allclose(from_file.score(X), np.asarray(booster.predict(X)), atol=1e-12)


def test_a_booster_of_several_classes_numbers_them() -> None:
    parameters = {"objective": "multiclass", "num_class": 3, "verbose": -1, "num_threads": 1}
    booster = lgb.train(parameters, lgb.Dataset(X, Y3), 10)
    case = Case(booster, X, lambda rows: np.asarray(booster.predict(rows))[:, 2], target=2)
    assert_law_one(case)


@pytest.mark.parametrize("parameters", [{}, FOREST, {"zero_as_missing": True}])
def test_a_file_scores_as_the_model_that_was_saved(
    tmp_path: Path, parameters: dict[str, Any]
) -> None:
    model = classifier(**parameters).fit(with_missing(X), Y)
    path = saved(model, tmp_path / "model.txt")
    from_file = robx.import_model(path)
    assert isinstance(from_file, TreeEnsemble)
    assert from_file.score(X).tolist() == robx.import_model(model).score(X).tolist()
    # LightGBM reads the numbers in its file exactly, and so do we.
    assert_law_one(booster_case(lgb.Booster(model_file=path), with_missing(X)))


def test_a_file_of_several_classes_takes_the_class_by_number(tmp_path: Path) -> None:
    model = classifier(n_estimators=5).fit(X, np.array(["a", "b", "c"])[Y3])
    from_file = robx.import_model(saved(model, tmp_path / "model.txt"), target=2, X=X[:20])
    np.testing.assert_allclose(from_file.score(X), model.predict_proba(X)[:, 2], atol=1e-12)


@pytest.mark.parametrize("parameters", [{}, {"zero_as_missing": True}, {"use_missing": False}])
@pytest.mark.parametrize("threshold", [0.0, 4e-36, -4e-36, ZERO, -ZERO, 5e-324, 2e-35])
def test_values_around_the_one_that_is_read_as_zero(
    parameters: dict[str, Any], threshold: float
) -> None:
    text = classifier(**parameters).fit(with_missing(X), Y).booster_.model_to_string()
    split_at = re.sub("(?m)^threshold=.*", lambda m: _all(m[0], threshold), text)
    booster = lgb.Booster(model_str=_resized(split_at))
    near = [0.0, 5e-324, 4e-36, np.nextafter(ZERO, 0), ZERO, np.nextafter(ZERO, 1), 2e-35, 3e-35]
    values = np.array([*near, *(-value for value in near), np.nan])
    rows = np.random.default_rng(0).choice(values, (300, X.shape[1]))
    case = booster_case(booster, rows)
    ensemble = import_ensemble(case)
    assert len(np.unique(ensemble.score(rows))) > 10
    assert_scores_alike(ensemble, case, rows)


def _all(line: str, value: float) -> str:
    return f"threshold={' '.join([repr(float(value))] * len(line.split(' ')))}"


@pytest.mark.parametrize("parameters", [{}, {"zero_as_missing": True}, {"use_missing": False}])
def test_category_codes_in_an_array_whatever_they_hold(parameters: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.integers(0, 70, 900), rng.normal(size=900)]).astype(float)
    table[::9, 0] = np.nan
    y = np.isin(table[:, 0] % 7, [1, 4]) ^ (table[:, 1] > 1)
    model = classifier(**EAGER, **parameters).fit(table, y, categorical_feature=[0])
    case = Case(model, table, lambda rows: model.predict_proba(rows)[:, 1])
    ensemble = import_ensemble(case)
    assert (ensemble.split_category >= 0).any()
    strange = [
        np.nan,
        -1,
        -0.5,
        0.7,
        1.999,
        69,
        70,
        71,
        300,
        1e9,
        3e9,
        1e300,
        np.inf,
        -np.inf,
        -0.0,
    ]
    rows = np.repeat(table[:60], len(strange), axis=0)
    rows[:, 0] = np.tile(strange, 60)
    assert_scores_alike(ensemble, case, rows)


def test_categories_by_name_in_any_order() -> None:
    frame, y = frame_with_categories()
    case = classifier_case(classifier(**EAGER), frame, y)
    ensemble = import_ensemble(case)
    assert [column.categories for column in ensemble.columns] == [
        ("car", "house", "school", "tv"),
        None,
        ("only",),
        ("e", "n", "s", "w"),
    ]
    ours = ensemble.score(frame)
    np.testing.assert_allclose(ours, case.probability(frame), atol=1e-12, rtol=0)
    assert len(np.unique(ours)) > 50
    assert ensemble.score(frame[["region", "same", "purpose", "amount"]]).tolist() == ours.tolist()
    recoded = frame.assign(region=frame["region"].cat.reorder_categories(["w", "n", "e", "s"]))
    assert ensemble.score(recoded).tolist() == ours.tolist()
    np.testing.assert_allclose(ours, case.probability(recoded), atol=1e-12, rtol=0)
    codes = frame.assign(
        **{c: frame[c].cat.codes.where(frame[c].notna()) for c in ("purpose", "region", "same")}
    )
    assert ensemble.score(codes.to_numpy(dtype=float)).tolist() == ours.tolist()


@pytest.mark.parametrize("kind", slow_but(["text"], ["polars", "text", "array"]))
def test_the_check_takes_every_table_that_the_ensemble_takes(tmp_path: Path, kind: str) -> None:
    frame, y = frame_with_categories()
    codes = frame.assign(**{c: frame[c].cat.codes for c in ("purpose", "region", "same")})
    text = frame.assign(region=frame["region"].astype(str))
    table = {"polars": pl.from_pandas(frame), "text": text, "array": codes.to_numpy(dtype=float)}
    model = classifier(**EAGER).fit(frame, y)
    live = robx.import_model(model, X=table[kind])
    from_file = robx.import_model(saved(model, tmp_path / "model.txt"), X=table[kind])
    assert live.score(table[kind]).tolist() == from_file.score(table[kind]).tolist()


def test_an_unseen_category_scores_as_lightgbm_scores_it() -> None:
    frame, y = frame_with_categories()
    model = classifier().fit(frame, y)
    ensemble = robx.import_model(model)
    before = ensemble.score(frame)
    frame["region"] = frame["region"].cat.rename_categories({"n": "north"})
    np.testing.assert_allclose(ensemble.score(frame), model.predict_proba(frame)[:, 1], atol=1e-12)
    assert (ensemble.score(frame) != before).any()


def test_categories_whose_columns_are_not_known_are_refused() -> None:
    frame, y = frame_with_categories()
    frame["grade"] = pd.Categorical(np.where(y, "high", "low"), ordered=True)
    with pytest.raises(robx.UnsupportedModel, match=r"4 category columns.*takes 3.*BlackBox"):
        robx.import_model(classifier().fit(frame, y))


def test_categories_given_to_the_wrong_column_are_refused_and_not_misread() -> None:
    frame, y = frame_with_categories()
    frame = frame[["amount", "region"]].assign(rooms=np.arange(len(frame)) % 4)
    model = classifier(**EAGER).fit(frame, y, categorical_feature=["rooms"])
    ensemble = robx.import_model(model)
    with pytest.raises(robx.InvalidInput, match=r"Column '(region|rooms)' of X must hold"):
        ensemble.score(frame)


def test_names_of_columns_and_the_lack_of_them(tmp_path: Path) -> None:
    names = ["größe", "a=b", "Tree=0", "tab\tin", "line\u2028in"]
    frame = pd.DataFrame(X, columns=names)
    model = classifier().fit(frame, Y)
    robx.import_model(model, X=frame)
    for source in (model, saved(model, tmp_path / "model.txt")):
        ensemble = robx.import_model(source)
        assert isinstance(ensemble, TreeEnsemble)
        assert ensemble.named
        assert ensemble.names == tuple(names)
        assert ensemble.score(frame[names[::-1]]).tolist() == ensemble.score(X).tolist()
    nameless = robx.import_model(classifier().fit(X, Y), X=frame)
    assert isinstance(nameless, TreeEnsemble)
    assert not nameless.named


def test_a_frame_may_use_the_names_that_lightgbm_gives_to_arrays() -> None:
    frame = pd.DataFrame(X, columns=[f"Column_{j}" for j in range(X.shape[1])])
    ensemble = robx.import_model(classifier().fit(frame, Y))
    assert ensemble.score(frame[frame.columns[::-1]]).tolist() == ensemble.score(X).tolist()


@examples(25)
@given(
    leaves=st.integers(2, 40),
    rounds=st.integers(1, 12),
    rate=st.floats(0.05, 1.0),
    seed=st.integers(0, 2**16),
    parameters=st.sampled_from(list(SETTINGS.values())),
    holes=st.booleans(),
)
def test_any_model_on_any_row(
    leaves: int, rounds: int, rate: float, seed: int, parameters: dict[str, Any], holes: bool
) -> None:
    table, y = toy_data(120, 5, seed)
    model = classifier(
        **{
            "num_leaves": leaves,
            "n_estimators": rounds,
            "learning_rate": rate,
            "random_state": seed,
            "min_child_samples": 3,
            **parameters,
        }
    )
    assert_law_one(classifier_case(model, with_missing(table, 0.1, seed) if holes else table, y))


def test_rounds_trained_on_a_loaded_model_are_part_of_it() -> None:
    first = classifier(n_estimators=5).fit(X, Y)
    second = classifier(n_estimators=5).fit(with_missing(X), Y, init_model=first)
    case = Case(second, with_missing(X), lambda rows: second.predict_proba(rows)[:, 1])
    assert assert_law_one(case).n_trees == 10


def test_zero_as_missing_in_some_rounds_only_is_refused() -> None:
    first = classifier(n_estimators=3).fit(X, Y)
    second = classifier(n_estimators=3, zero_as_missing=True).fit(X, Y, init_model=first)
    with pytest.raises(robx.UnsupportedModel, match=r"zero_as_missing in some.*BlackBox"):
        robx.import_model(second)


def test_what_has_no_constant_leaves_is_refused_and_blackbox_takes_it() -> None:
    linear = classifier(linear_tree=True).fit(X, Y)
    with pytest.raises(robx.UnsupportedModel, match=r"linear_tree.*BlackBox"):
        robx.import_model(linear)
    np.testing.assert_allclose(robx.BlackBox(linear).score(X), linear.predict_proba(X)[:, 1])


@pytest.mark.parametrize("model", [lgb.LGBMRegressor, lgb.LGBMRanker], ids=["regressor", "ranker"])
def test_what_is_no_classifier_is_refused(model: Any) -> None:
    group = {"group": [400]} if model is lgb.LGBMRanker else {}
    fitted = model(n_estimators=2, verbose=-1, n_jobs=1).fit(X, Y, **group)
    with pytest.raises(robx.UnsupportedModel, match=r"not a classifier.*BlackBox"):
        robx.import_model(fitted)


def test_folds_of_a_cross_validation_are_refused() -> None:
    parameters = {"objective": "binary", "verbose": -1, "num_threads": 1}
    folds = lgb.cv(parameters, lgb.Dataset(X, Y), 2, nfold=2, return_cvbooster=True)["cvbooster"]
    with pytest.raises(robx.UnsupportedModel, match="CVBooster is not a classifier"):
        robx.import_model(folds)


@pytest.mark.parametrize("objective", ["regression", "cross_entropy_lambda"])
def test_an_objective_without_probabilities_is_refused(objective: str) -> None:
    parameters = {"objective": objective, "verbose": -1, "num_threads": 1}
    booster = lgb.train(parameters, lgb.Dataset(X, Y), 2)
    with pytest.raises(robx.UnsupportedModel, match=f"objective '{objective}.*BlackBox"):
        robx.import_model(booster)


def test_an_objective_of_the_users_own_is_refused() -> None:
    model = classifier(objective=lambda y, margin: (margin - y, np.ones_like(margin))).fit(X, Y)
    with pytest.raises(robx.UnsupportedModel, match=r"objective 'custom'.*BlackBox"):
        robx.import_model(model)


def test_predictions_that_skip_trees_are_refused() -> None:
    model = classifier(pred_early_stop=True).fit(X, Y)
    with pytest.raises(robx.UnsupportedModel, match=r"pred_early_stop.*BlackBox"):
        robx.import_model(model)


def test_a_single_class_is_refused() -> None:
    with pytest.raises(robx.UnsupportedModel, match="has 1 classes"):
        robx.import_model(classifier().fit(X, np.zeros(len(X))))


# --- files that are damaged or unknown ------------------------------------------------------------


def _resized(text: str) -> str:
    """Restate the sizes of the trees, so that an edit is met where it was made."""
    head, _, body = text.partition("\n\n")
    blocks = re.split(r"(?m)^(?=Tree=|end of trees)", body)
    sizes = " ".join(str(len(block)) for block in blocks if block.startswith("Tree="))
    return re.sub("tree_sizes=.*", f"tree_sizes={sizes}", head) + "\n\n" + body


def _set(name: str, edit: Callable[[list[str]], list[str]]) -> Callable[[str], str]:
    """Edit the words of the first line that has this name."""

    def change(text: str) -> str:
        def line(match: re.Match[str]) -> str:
            return f"{name}={' '.join(edit(match[1].split(' ')))}"

        changed = re.sub(f"(?m)^{name}=(.*)$", line, text, count=1)
        assert changed != text
        return _resized(changed)

    return change


def _first(name: str, value: str) -> Callable[[str], str]:
    return _set(name, lambda words: [value, *words[1:]])


def _without(name: str) -> Callable[[str], str]:
    return lambda text: _resized(re.sub(f"(?m)^{name}=.*\n", "", text, count=1))


@cache
def _sound() -> str:
    frame, y = frame_with_categories()
    return str(classifier(n_estimators=6, **EAGER).fit(frame, y).booster_.model_to_string())


def _edited(tmp_path: Path, edit: Callable[[str], str]) -> Path:
    path = tmp_path / "edited.txt"
    path.write_bytes(edit(_sound()).encode())
    return path


HUGE = "99999999999999999999"
DAMAGED: dict[str, tuple[Callable[[str], str], str]] = {
    "cycle": (_first("left_child", "0"), "reaches a node twice"),
    "child": (
        _first("left_child", "11"),
        r"trees\[0\] has a left_child that is not one of its nodes",
    ),
    "leaf": (
        _first("right_child", "-13"),
        r"trees\[0\] has a right_child that is not one of its nodes",
    ),
    "column": (_first("split_feature", "77"), "splits on column 77; the model has 4"),
    "column below": (_first("split_feature", "-1"), "splits on column"),
    "short": (_set("threshold", lambda w: w[1:]), "threshold has 10 values; expected 11"),
    "long": (_set("leaf_value", lambda w: [*w, "1"]), "leaf_value has 13 values; expected 12"),
    "leaf count": (_first("num_leaves", "2147483647"), "leaf_value has 12 values"),
    "no leaf": (_first("num_leaves", "0"), "num_leaves must be an integer from 1"),
    "nan": (_first("leaf_value", "nan"), "leaf whose value is not a finite number"),
    "word": (_first("leaf_value", "one"), "leaf_value must be a list of numbers. Got 'one"),
    "underscore": (_first("split_feature", "1_0"), "split_feature must be a list of numbers"),
    "huge": (_first("split_feature", HUGE), "split_feature must be integers"),
    "decision": (_first("decision_type", "12"), "decision_type out of range"),
    "sets": (_first("num_cat", "2147483647"), "sets of categories that do not fit"),
    "set ends": (
        _set("cat_boundaries", lambda w: [*w[:-1], "99"]),
        "cat_boundaries that do not fit",
    ),
    "set order": (
        _set("cat_boundaries", lambda w: [w[0], "99", *w[2:]]),
        "cat_boundaries that do not fit",
    ),
    "shared set": (
        _set("threshold", lambda w: ["0" if word == "1" else word for word in w]),
        "sets of categories that do not fit",
    ),
    "set bits": (_first("cat_threshold", "4294967296"), "not a set of 32 bits"),
    "line": (
        lambda t: t.replace("split_gain=", "split_gain ", 1),
        "not a new field: 'split_gain",
    ),
    "doubled": (
        lambda t: t.replace("\nnum_class", "\nnum_class=1\nnum_class", 1),
        "not a new field",
    ),
    "lacking": (_without("leaf_value"), r"trees\[0\] lacks the field 'leaf_value'"),
    "no sizes": (lambda t: re.sub("tree_sizes=.*\n", "", t), "lacks the field 'tree_sizes'"),
    "other sizes": (
        lambda t: re.sub("tree_sizes=", "tree_sizes=1", t),
        "tree 0 where its tree_sizes",
    ),
    "no trees": (
        lambda t: _resized(re.sub(r"(?s)Tree=0.*end of trees", "end of trees", t)),
        "no trees",
    ),
    "fewer sizes": (
        lambda t: re.sub(r"(tree_sizes=.*) \d+\n", r"\1\n", t),
        "does not end its trees",
    ),
    "cut in a tree": (lambda t: t[: t.index("Tree=3") + 80], "does not have tree 3 where"),
    "cut in the parameters": (
        lambda t: t[: t.index("[max_bin")],
        "breaks off within its parameters",
    ),
    "cut in the categories": (lambda t: t.rstrip("\n")[:-3], "categories that are not valid JSON"),
    "nested": (lambda t: re.sub('"only"', "[" * 10**5, t), "categories that are not valid JSON"),
    "twice": (lambda t: re.sub('"house"', '"car"', t), "must list the categories"),
    "no name": (_first("feature_names", ""), "does not name and describe its 4 columns"),
    "names": (_set("feature_names", lambda w: w[1:]), "does not name and describe its 4 columns"),
    "infos": (_first("feature_infos", "odd"), "describes column 0 as 'odd'"),
    "columns": (_first("max_feature_idx", "2147483646"), "its 2147483647 columns"),
    "classes": (_first("num_class", "3"), "num_class that does not fit its objective"),
    "slope": (_set("objective", lambda w: [w[0], "sigmoid:-1"]), "sigmoid -1.0; expected"),
    "other file": (lambda _: "x,y\n1,2\n", "must begin with the line 'tree'"),
    "empty": (lambda _: "", "must begin with the line 'tree'"),
}


@pytest.mark.parametrize(("edit", "message"), DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_file_is_told_apart_by_its_message(
    tmp_path: Path, edit: Callable[[str], str], message: str
) -> None:
    with pytest.raises(robx.InvalidModel, match=message):
        robx.import_model(_edited(tmp_path, edit))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda t: t.replace("\nnum_class", "\nsurprise=1\nnum_class", 1), "not know: surprise"),
        (lambda t: _resized(t.replace("is_linear", "twist=1\nis_linear", 1)), "not know: twist"),
        (_first("version", "v5"), "format 'v5'.*BlackBox"),
        (
            _set("objective", lambda w: [*w, "twist"]),
            "objective 'binary sigmoid:1 twist'.*BlackBox",
        ),
        (_set("objective", lambda w: [*w, w[1]]), "objective 'binary sigmoid:1 sigmoid:1'"),
        (_first("feature_infos", "0:70000"), "more than 65536 categories"),
    ],
)
def test_an_unknown_field_or_version_raises(
    tmp_path: Path, edit: Callable[[str], str], message: str
) -> None:
    with pytest.raises(robx.UnsupportedModel, match=message):
        robx.import_model(_edited(tmp_path, edit))


def test_the_file_that_is_damaged_in_these_tests_is_sound(tmp_path: Path) -> None:
    ensemble = robx.import_model(_edited(tmp_path, _resized))
    assert isinstance(ensemble, TreeEnsemble)
    assert ensemble.n_trees == 6
    assert (ensemble.split_category >= 0).any()


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "model.txt"
    path.write_bytes(b"tree\nversion=v4\xff\n")
    with pytest.raises(robx.InvalidModel, match=r"model\.txt is not text"):
        robx.import_model(path)


def test_parameters_are_not_read(tmp_path: Path) -> None:
    path = _edited(tmp_path, lambda text: text.replace("[max_bin:", "[surprise:", 1))
    assert isinstance(robx.import_model(path), TreeEnsemble)


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
def test_three_thousand_trees() -> None:
    model = classifier(n_estimators=3000, num_leaves=4, learning_rate=0.01).fit(X, Y)
    imported = robx.import_model(model, X=X)
    assert isinstance(imported, TreeEnsemble)
    assert imported.n_trees == 3000


def test_integers_that_lightgbm_would_round_are_refused() -> None:
    table = np.random.default_rng(0).integers(0, 60, (300, 1)) + 2**25
    model = classifier().fit(table.astype(float), np.arange(300) % 2)
    ensemble = robx.import_model(model)
    with pytest.raises(robx.InvalidInput, match="integers beyond 16777216.*astype"):
        ensemble.score(table)
    np.testing.assert_allclose(
        ensemble.score(table.astype(float)), model.predict_proba(table.astype(float))[:, 1]
    )

from __future__ import annotations

import pickle
import sys
from functools import cache
from pathlib import Path
from typing import Any

import catboost
import joblib
import lightgbm
import numpy as np
import pandas as pd
import pytest
import skops.io
import xgboost
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import robx
from robx.cli import run
from robx.files import read_table, write_table
from robx.modelfiles import ModelFile, Recipe, estimator_of, with_categories
from robx.modelfiles.aliases import CATBOOST, own_names
from robx.trees.importer import ParsedFile
from speed import slow_but


@cache
def data() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((400, 4)), columns=["income", "age", "loan", "rate"])
    noise = 0.15 * rng.normal(size=400)
    return X, (X["income"] + 0.4 * X["age"] - 0.3 * X["loan"] + noise > 0.5).astype(int)


def saved_lightgbm(folder: Path, **settings: Any) -> tuple[Any, Path]:
    model = lightgbm.LGBMClassifier(verbosity=-1, n_jobs=1, **settings).fit(*data())
    model.booster_.save_model(folder / "m.txt")
    return model, folder / "m.txt"


def saved_catboost(folder: Path, ending: str = ".cbm", **settings: Any) -> tuple[Any, Path]:
    model = catboost.CatBoostClassifier(
        verbose=False, allow_writing_files=False, thread_count=1, **settings
    ).fit(*data())
    model.save_model(str(folder / f"m{ending}"), format=ending[1:])
    return model, folder / f"m{ending}"


def saved_xgboost(folder: Path, ending: str = ".ubj", **settings: Any) -> tuple[Any, Path]:
    model = xgboost.XGBClassifier(n_jobs=1, **settings).fit(*data())
    model.save_model(folder / f"m{ending}")
    return model, folder / f"m{ending}"


def saved_sklearn(folder: Path, model: Any) -> tuple[Any, Path]:
    skops.io.dump(model.fit(*data()), folder / "m.skops")
    return model, folder / "m.skops"


def recipe_of(path: Path, parameters: Any = None) -> Recipe:
    return ModelFile(path).recipe(parameters)


def again(path: Path, parameters: Any = None) -> Any:
    return recipe_of(path, parameters).estimator.fit(*data()).predict_proba(data()[0])[:, 1]


# --- loading --------------------------------------------------------------------------------------


def test_files_that_are_data_are_parsed_not_made_alive(tmp_path: Path) -> None:
    paths = [
        saved_lightgbm(tmp_path, n_estimators=2)[1],
        saved_xgboost(tmp_path, n_estimators=2)[1],
    ]
    paths += [saved_catboost(tmp_path, iterations=2)[1]]
    for path in paths:
        for given in (path, str(path)):
            file = ModelFile(given)
            assert isinstance(file.model, ParsedFile)
            assert file.model.path == path
            assert file.imported() == robx.import_model(path)
            assert file.imported(0).target == 0
            assert file.classes() == set()


def test_a_skops_file_gives_the_model_alive(tmp_path: Path) -> None:
    model, path = saved_sklearn(tmp_path, RandomForestClassifier(5, random_state=0))
    loaded = ModelFile(path).model
    assert (loaded.predict_proba(data()[0]) == model.predict_proba(data()[0])).all()


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("ending", [".pkl", ".pickle", ".joblib"])
def test_a_pickle_is_loaded_only_when_told(tmp_path: Path, ending: str) -> None:
    path, sprung = tmp_path / f"m{ending}", tmp_path / "sprung"
    path.write_bytes(pickle.dumps(Trap(sprung)))
    with pytest.raises(
        robx.UnsupportedModel, match=r"is a pickle, which runs code .* \(--unsafe-pickle\)"
    ):
        ModelFile(path).imported()
    assert not sprung.exists()
    with pytest.raises(robx.UnsupportedModel, match="holds a NoneType; robx needs a classifier"):
        ModelFile(path, unsafe_pickle=True).imported()
    assert sprung.exists()
    model = RandomForestClassifier(3).fit(*data())
    joblib.dump(model, path)
    loaded = ModelFile(path, unsafe_pickle=True).model
    assert (loaded.predict_proba(data()[0]) == model.predict_proba(data()[0])).all()


def test_files_that_cannot_be_loaded_are_refused(tmp_path: Path) -> None:
    (tmp_path / "m.pkl").write_bytes(b"no pickle")
    with pytest.raises(robx.InvalidModel, match="'m.pkl' is not a pickle that can be loaded"):
        ModelFile(tmp_path / "m.pkl", unsafe_pickle=True).imported()
    for name in ("none.ubj", "none.pkl"):
        with pytest.raises(robx.InvalidInput, match="There is no model file at"):
            ModelFile(tmp_path / name, unsafe_pickle=True).imported()
    (tmp_path / "m.onnx").write_bytes(b"x")
    with pytest.raises(robx.UnsupportedModel, match="does not know model files ending in '.onnx'"):
        ModelFile(tmp_path / "m.onnx").imported()


# --- training again -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"n_estimators": 20},
        {"n_estimators": 15, "learning_rate": 0.3, "num_leaves": 7, "scale_pos_weight": 2.5},
        {
            "n_estimators": 15,
            "subsample": 0.6,
            "subsample_freq": 1,
            "colsample_bytree": 0.5,
            "random_state": 11,
            "reg_lambda": 3.0,
            "min_child_samples": 5,
            "extra_trees": True,
        },
        {"n_estimators": 10, "boosting_type": "dart", "random_state": 3},
        {"n_estimators": 10, "monotone_constraints": [1, 0, -1, 0]},
    ],
)
def test_lightgbm_is_trained_again_to_the_same_model(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    model, path = saved_lightgbm(tmp_path, **settings)
    np.testing.assert_allclose(again(path), model.predict_proba(data()[0])[:, 1], atol=1e-12)
    recipe = recipe_of(path)
    assert recipe.words == "The model is trained again with the settings that 'm.txt' stores."
    assert not hasattr(recipe.estimator, "classes_")


def test_lightgbm_takes_as_many_rounds_as_were_kept(tmp_path: Path) -> None:
    model, path = saved_lightgbm(tmp_path, n_estimators=30)
    model.booster_.save_model(path, num_iteration=7)
    assert recipe_of(path).estimator.n_estimators == 7


@pytest.mark.parametrize("ending", slow_but([".json"], [".cbm", ".json"]))
def test_catboost_is_trained_again_to_the_same_model(ending: str, tmp_path: Path) -> None:
    for settings in (
        {"iterations": 15},
        {"iterations": 10, "depth": 3, "random_seed": 4, "class_weights": [1, 2], "rsm": 0.5},
        {"n_estimators": 10, "learning_rate": 0.2, "grow_policy": "Lossguide", "max_leaves": 5},
    ):
        model, path = saved_catboost(tmp_path, ending, **settings)
        np.testing.assert_allclose(again(path), model.predict_proba(data()[0])[:, 1], atol=1e-9)
        assert recipe_of(path).words.endswith(f"the settings that 'm{ending}' stores.")


def test_catboost_that_was_stopped_keeps_its_rounds_and_rate(tmp_path: Path) -> None:
    X, y = data()
    model = catboost.CatBoostClassifier(
        iterations=500, verbose=False, allow_writing_files=False, early_stopping_rounds=5
    )
    model.fit(X[:300], y[:300], eval_set=(X[300:], y[300:]))
    model.save_model(str(tmp_path / "m.cbm"))
    made = recipe_of(tmp_path / "m.cbm").estimator.get_params()
    assert made["iterations"] == model.tree_count_ < 500
    np.testing.assert_allclose(made["learning_rate"], model.get_all_params()["learning_rate"])
    assert "early_stopping_rounds" not in made


@pytest.mark.parametrize("ending", [".ubj", ".json"])
def test_xgboost_is_trained_again_from_what_its_trees_tell(ending: str, tmp_path: Path) -> None:
    model, path = saved_xgboost(tmp_path, ending, n_estimators=17, max_depth=3, scale_pos_weight=2)
    recipe = recipe_of(path)
    made = recipe.estimator.get_params()
    assert made["n_estimators"] == 17
    assert made["max_depth"] == 3
    assert made["scale_pos_weight"] == 2
    assert made["objective"] == "binary:logistic"
    assert made["learning_rate"] is None
    np.testing.assert_allclose(again(path), model.predict_proba(data()[0])[:, 1], atol=1e-6)
    assert recipe.words == (
        "XGBoost's files do not say how a model was trained: 17 rounds, depth 3 and the objective "
        f"binary:logistic are taken from the trees in 'm{ending}'. Everything else, such as the "
        "learning rate, is XGBoost's default unless you give it."
    )


def test_what_xgboost_does_not_tell_can_be_given(tmp_path: Path) -> None:
    model, path = saved_xgboost(tmp_path, n_estimators=30, max_depth=4, learning_rate=0.05)
    theirs = model.predict_proba(data()[0])[:, 1]
    assert np.abs(again(path) - theirs).max() > 0.01
    assert ((again(path) > 0.5) == (theirs > 0.5)).mean() > 0.85
    np.testing.assert_allclose(again(path, {"learning_rate": 0.05}), theirs, atol=1e-6)
    words = recipe_of(path, {"learning_rate": 0.05}).words
    assert words.endswith("; learning_rate as given.")


def test_xgboost_forests_and_classes_count_rounds_right(tmp_path: Path) -> None:
    X, _ = data()
    _, path = saved_xgboost(tmp_path, n_estimators=4, num_parallel_tree=3, subsample=0.5)
    made = recipe_of(path).estimator.get_params()
    assert (made["n_estimators"], made["num_parallel_tree"]) == (4, 3)
    three = (X["income"] * 3).astype(int)
    xgboost.XGBClassifier(n_estimators=5, n_jobs=1).fit(X, three).save_model(tmp_path / "t.ubj")
    made = recipe_of(tmp_path / "t.ubj").estimator
    assert made.n_estimators == 5
    assert made.objective == "multi:softprob"
    assert made.fit(X, three).predict_proba(X).shape == (400, 3)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(8, max_depth=4, random_state=3),
        HistGradientBoostingClassifier(max_iter=8, learning_rate=0.3, random_state=1),
    ],
    ids=["forest", "hist"],
)
def test_a_skops_file_is_trained_again_to_the_same_model(model: Any, tmp_path: Path) -> None:
    fitted, path = saved_sklearn(tmp_path, model)
    np.testing.assert_array_equal(again(path), fitted.predict_proba(data()[0])[:, 1])
    recipe = recipe_of(path)
    assert recipe.words == "The model is trained again with its own settings."
    assert not hasattr(recipe.estimator, "classes_")


def test_a_live_classifier_is_copied_not_changed() -> None:
    model = RandomForestClassifier(5, max_depth=3).fit(*data())
    made = estimator_of(model, {"max_depth": 6}).estimator
    assert (made.max_depth, model.max_depth) == (6, 3)
    cats = catboost.CatBoostClassifier(iterations=3, class_weights=[1, 2], verbose=False)
    assert estimator_of(cats, {"depth": 3}).estimator.get_params()["depth"] == 3


@pytest.mark.parametrize("name", ["txt", "cbm", "ubj", "skops"])
def test_a_parameter_that_there_is_not_is_refused(name: str, tmp_path: Path) -> None:
    path = {
        "txt": lambda: saved_lightgbm(tmp_path, n_estimators=2)[1],
        "cbm": lambda: saved_catboost(tmp_path, iterations=2)[1],
        "ubj": lambda: saved_xgboost(tmp_path, n_estimators=2)[1],
        "skops": lambda: saved_sklearn(tmp_path, RandomForestClassifier(2))[1],
    }[name]()
    with pytest.raises(robx.InvalidInput, match=r"has no parameter 'lerning_rate'. Its get_params"):
        recipe_of(path, {"lerning_rate": 0.1})
    rate: dict[str, Any] = {"learning_rate": 0.1} if name != "skops" else {"max_depth": 2}
    assert recipe_of(path, rate).estimator.get_params().items() >= rate.items()
    wrong: Any = [("learning_rate", 0.1)]
    with pytest.raises(robx.InvalidInput, match="must map names to values. Got list instead"):
        recipe_of(path, wrong)


def test_lightgbm_takes_settings_that_its_classifier_does_not_list(tmp_path: Path) -> None:
    _, path = saved_lightgbm(tmp_path, n_estimators=2)
    assert recipe_of(path, {"path_smooth": 2.0}).estimator.get_params()["path_smooth"] == 2.0


def test_what_cannot_be_trained_again_is_said(tmp_path: Path) -> None:
    model, _ = saved_sklearn(tmp_path, RandomForestClassifier(2))
    ensemble = robx.import_model(model)
    assert isinstance(ensemble, robx.TreeEnsemble)
    ensemble.save(tmp_path / "m.robx")
    booster = xgboost.XGBClassifier(n_estimators=2).fit(*data()).get_booster()
    for what, named in [
        (ensemble, "A TreeEnsemble"),
        (robx.BlackBox(model), "A BlackBox"),
        (ParsedFile(tmp_path / "m.robx"), "'m.robx', which holds trees without settings,"),
        (booster, "A Booster"),
    ]:
        with pytest.raises(robx.InvalidInput, match=f"^{named} cannot be trained again"):
            estimator_of(what)


def test_a_library_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, path = saved_lightgbm(tmp_path, n_estimators=2)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(robx.InvalidInput, match="needs lightgbm. Run `pip install lightgbm`"):
        recipe_of(path)


def test_a_lightgbm_file_without_settings_is_said(tmp_path: Path) -> None:
    _, path = saved_lightgbm(tmp_path, n_estimators=2)
    text = path.read_text()
    start, end = text.index("\nparameters:"), text.index("\npandas_categorical")
    path.write_text(text[:start] + text[end:])
    with pytest.raises(robx.InvalidInput, match="'m.txt' does not say how the model was trained"):
        recipe_of(path)


def test_a_file_cannot_ask_for_settings_of_its_own(tmp_path: Path) -> None:
    _, path = saved_lightgbm(tmp_path, n_estimators=2)
    text = path.read_text()
    path.write_text(
        text.replace("[forcedsplits_filename: ]", "[forcedsplits_filename: /etc/hosts]")
    )
    assert "forcedsplits_filename" not in recipe_of(path).estimator.get_params()
    _, path = saved_catboost(tmp_path, ".json", iterations=2)
    text = path.read_text().replace('"flat_params":{', '"flat_params":{"train_dir":"/tmp/x",')
    path.write_text(text)
    assert "train_dir" in path.read_text()
    assert "train_dir" not in recipe_of(path).estimator.get_params()


# --- tables from files ----------------------------------------------------------------------------


@cache
def jobs() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(1)
    job = pd.Categorical(rng.choice(["clerk", "boss", "cook"], 400), ["clerk", "cook", "boss"])
    X = pd.DataFrame({"income": rng.random(400).round(2), "job": job})
    return X, (X["income"] + 0.3 * (X["job"] == "boss") > 0.6).astype(int)


def job_files(folder: Path) -> dict[str, Any]:
    X, y = jobs()
    trees = lightgbm.LGBMClassifier(n_estimators=10, verbosity=-1, n_jobs=1).fit(X, y)
    trees.booster_.save_model(folder / "m.txt")
    boosted = xgboost.XGBClassifier(n_estimators=10, enable_categorical=True, n_jobs=1).fit(X, y)
    boosted.save_model(folder / "m.ubj")
    boosted.save_model(folder / "m.json")
    hist = HistGradientBoostingClassifier(max_iter=10, categorical_features="from_dtype").fit(X, y)
    skops.io.dump(hist, folder / "m.skops")
    return {"m.txt": trees, "m.ubj": boosted, "m.json": boosted, "m.skops": hist}


@pytest.mark.parametrize(
    "name", slow_but(["m.txt", "m.skops"], ["m.txt", "m.ubj", "m.json", "m.skops"])
)
def test_a_model_with_categories_reads_a_csv_file_and_is_trained_again(
    name: str, tmp_path: Path
) -> None:
    model = job_files(tmp_path)[name]
    X, y = jobs()
    write_table(X, tmp_path / "train.csv")
    table = read_table(tmp_path / "train.csv")
    assert not isinstance(table["job"].dtype, pd.CategoricalDtype)
    ensemble = robx.import_model(tmp_path / name)
    np.testing.assert_allclose(ensemble.score(table), model.predict_proba(X)[:, 1], atol=1e-6)
    recipe = recipe_of(tmp_path / name)
    found = robx.explain(
        tmp_path / name,
        table,
        table[:9],
        y_train=y,
        estimator=recipe.estimator,
        n_models=6,
        keep=None,
    )
    assert found.ok.any()
    assert found.certificate is not None
    assert found.certificate.n_models == 4
    assert found.points["job"].dtype == table["job"].dtype


def test_a_category_of_a_csv_file_that_the_model_does_not_know_is_named(tmp_path: Path) -> None:
    job_files(tmp_path)
    X, _ = jobs()
    write_table(X.assign(job=X["job"].astype(str).replace("cook", "chef")), tmp_path / "t.csv")
    table = read_table(tmp_path / "t.csv")
    row = int((table["job"] == "chef").to_numpy().argmax())
    with pytest.raises(
        robx.InvalidInput, match=f"Column 'job' of .* has the category 'chef' in row {row}, which"
    ):
        robx.Problem(tmp_path / "m.ubj", table)
    for name in ("m.txt", "m.skops"):  # which score it
        problem = robx.Problem(tmp_path / name, table)
        assert "chef" not in (problem.schema["job"].levels or ())
        shown = with_categories(table, problem.model)["job"]
        assert shown.tolist() == table["job"].tolist()
        assert list(shown.cat.categories)[-1] == "chef"


def test_cells_of_a_csv_file_are_what_they_spell(tmp_path: Path) -> None:
    models = job_files(tmp_path)
    people = pd.DataFrame(
        {"income": ["0.1", "much", "0.25", None], "job": ["clerk", "cook", "chef", "boss"]}
    )
    write_table(people, tmp_path / "people.csv")
    write_table(jobs()[0], tmp_path / "train.csv")
    for name in ("m.txt", "m.skops", "m.ubj"):
        out = tmp_path / f"{name}.json"
        words = ["explain", "--model", tmp_path / name, "--data", tmp_path / "train.csv"]
        people_file = tmp_path / "people.csv"
        words += ["--applicants", people_file, "--method", "nearest", "--target", 1, "--out", out]
        assert run([str(word) for word in words]) == 0
        answer = robx.Counterfactuals.load(out)
        assert answer.reason[1] == "income is 'much', which is not a number"
        assert answer.points["income"].iloc[1] == "much"
        assert answer.points["job"].tolist()[1] == "cook"
        assert answer.ok[0]
        if name == "m.ubj":
            assert "'chef', a category that the model was not trained on" in answer.reason[2]
        else:
            assert answer.ok[2]
        alone = robx.NearestNeighbour().explain(
            robx.Problem(models[name], jobs()[0]), jobs()[0][:1].assign(income=0.1, job="clerk")
        )
        assert answer.cost[0] == alone.cost[0]


def test_codes_without_names_are_asked_for(tmp_path: Path) -> None:
    X, y = jobs()
    codes = X.assign(job=X["job"].cat.codes)
    model = xgboost.XGBClassifier(
        n_estimators=5, enable_categorical=True, feature_types=["q", "c"], n_jobs=1
    )
    model.fit(codes.to_numpy(), y).save_model(tmp_path / "m.ubj")
    write_table(X, tmp_path / "t.csv")
    with pytest.raises(
        robx.InvalidInput, match="must hold category codes, or be a category column"
    ):
        robx.Problem(tmp_path / "m.ubj", read_table(tmp_path / "t.csv"))


def test_columns_get_the_categories_of_the_model_in_their_order(tmp_path: Path) -> None:
    job_files(tmp_path)
    X, _ = jobs()
    plain = X.assign(job=X["job"].astype(str), note="x")
    plain.loc[3, "job"] = None
    ensemble = robx.import_model(tmp_path / "m.txt")
    made = with_categories(plain, ensemble)
    assert made["job"].cat.categories.tolist() == ["clerk", "cook", "boss"]
    assert made["job"].isna().sum() == 1
    assert not isinstance(made["note"].dtype, pd.CategoricalDtype)
    assert made["income"].equals(X["income"])
    assert not isinstance(plain["job"].dtype, pd.CategoricalDtype)  # the caller's own is as it was
    unknown = plain.assign(job="chef")
    assert with_categories(unknown, ensemble).equals(unknown)
    assert with_categories(X, ensemble).equals(X)


def test_numbers_that_are_categories_are_told_from_codes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"branch": pd.Categorical(rng.choice([10, 20, 30], 300)), "x": rng.random(300)}
    )
    y = (X["x"] + 0.3 * (X["branch"] == 20) > 0.6).astype(int)
    model: Any = lightgbm.LGBMClassifier(n_estimators=5, verbosity=-1, n_jobs=1).fit(X, y)
    model.booster_.save_model(tmp_path / "m.txt")
    write_table(X, tmp_path / "t.csv")
    table, ensemble = read_table(tmp_path / "t.csv"), robx.import_model(tmp_path / "m.txt")
    with pytest.raises(robx.InvalidInput, match="codes and categories cannot be told apart"):
        ensemble.score(table)
    scores = ensemble.score(with_categories(table, ensemble))
    np.testing.assert_allclose(scores, model.predict_proba(X)[:, 1], atol=1e-6)


def test_codes_with_zeros_are_numbers_where_the_model_takes_numbers(tmp_path: Path) -> None:
    X, y = data()
    X = X.assign(age=np.arange(400) % 90)
    ensemble = robx.import_model(RandomForestClassifier(3, random_state=0).fit(X, y))
    padded = X.assign(age=[f"{age:02d}" for age in X["age"]])
    write_table(padded, tmp_path / "t.csv")
    table = read_table(tmp_path / "t.csv")
    with pytest.raises(robx.InvalidInput, match="Column 'age' of X must hold numbers"):
        ensemble.score(table)
    made = with_categories(table, ensemble)
    np.testing.assert_array_equal(ensemble.score(made), ensemble.score(X))
    words = table.assign(age="young")
    assert with_categories(words, ensemble).equals(words)


def test_categories_that_look_like_numbers_are_read_as_text(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    branch = pd.Categorical(rng.choice(["01", "12", "20"], 300))
    X = pd.DataFrame({"branch": branch, "x": rng.random(300)})
    y = (X["x"] + 0.3 * (X["branch"] == "12") > 0.6).astype(int)
    model: Any = lightgbm.LGBMClassifier(n_estimators=5, verbosity=-1, n_jobs=1).fit(X, y)
    model.booster_.save_model(tmp_path / "m.txt")
    some, ensemble = X[X["branch"] != "01"][:20], robx.import_model(tmp_path / "m.txt")
    for missing in (0, 3):
        people = some.assign(branch=some["branch"].where(np.arange(20) >= missing))
        write_table(people, tmp_path / "t.csv")
        table = read_table(tmp_path / "t.csv")
        assert pd.api.types.is_numeric_dtype(table["branch"].dtype)
        scores = ensemble.score(with_categories(table, ensemble))
        np.testing.assert_allclose(scores, model.predict_proba(people)[:, 1], atol=1e-6)
    unknown = table.assign(branch=1)
    assert with_categories(unknown, ensemble).equals(unknown)  # 1 is not 01


def test_a_model_without_names_goes_by_the_order_of_the_training_table() -> None:
    X, y = jobs()
    codes = X.assign(job=X["job"].cat.codes.astype(float), income=X["income"].round(0))
    model = HistGradientBoostingClassifier(max_iter=5, categorical_features=[1])
    ensemble = robx.import_model(model.fit(codes.to_numpy(), y))
    turned = with_categories(codes[["job", "income"]], ensemble, ["income", "job"])
    assert isinstance(turned["job"].dtype, pd.CategoricalDtype)
    assert not isinstance(turned["income"].dtype, pd.CategoricalDtype)


def test_other_tables_and_models_are_left_alone() -> None:
    X, y = data()
    ensemble = robx.import_model(RandomForestClassifier(2).fit(X, y))
    assert with_categories(X.to_numpy(), ensemble) is not None
    box = robx.BlackBox(LogisticRegression().fit(X, y))
    assert with_categories(X, box) is X


# --- names of hyperparameters ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alias", "own"),
    [
        *(("eta", "learning_rate"), ("lambda", "reg_lambda"), ("alpha", "reg_alpha")),
        *(("min_split_loss", "gamma"), ("num_boost_round", "n_estimators")),
        *(("seed", "random_state"), ("nthread", "n_jobs")),
    ],
)
def test_xgboost_is_told_by_any_of_its_names(tmp_path: Path, alias: str, own: str) -> None:
    _, path = saved_xgboost(tmp_path, n_estimators=3, max_depth=2)
    value = 2 if own in {"n_estimators", "n_jobs", "random_state"} else 0.3
    told = recipe_of(path, {alias: value})
    assert told.estimator.get_params()[own] == value
    assert told.words.endswith(f"{alias} as given.")
    with_own = recipe_of(path, {own: value}).estimator.fit(*data())
    np.testing.assert_array_equal(
        told.estimator.fit(*data()).predict_proba(data()[0]), with_own.predict_proba(data()[0])
    )


def test_lightgbm_is_told_by_any_of_its_names(tmp_path: Path) -> None:
    _, path = saved_lightgbm(tmp_path, n_estimators=3)
    given = {"eta": 0.3, "num_iterations": 7, "min_data_in_leaf": 5, "bagging_fraction": 0.5}
    given |= {"sub_row": 0.5, "l2_regularization": 2.0, "num_leaf": 4, "random_seed": 3}
    found = recipe_of(path, given).estimator.get_params()
    expected = {"learning_rate": 0.3, "n_estimators": 7, "min_child_samples": 5, "subsample": 0.5}
    expected |= {"reg_lambda": 2.0, "num_leaves": 4, "random_state": 3}
    assert {name: found[name] for name in expected} == expected
    table = lightgbm.basic._ConfigAliases._get_all_param_aliases()
    assert set(table["learning_rate"]) <= set(own_names_of("lightgbm", "learning_rate", table))


def own_names_of(library: str, own: str, table: dict[str, list[str]]) -> list[str]:
    """Names that become this one."""
    names = {name for others in table.values() for name in others}
    return [name for name in names if list(own_names({name: 1}, library)) == [own]]


def test_catboost_is_told_by_any_of_its_names(tmp_path: Path) -> None:
    _, path = saved_catboost(tmp_path, iterations=3, depth=2)
    live = catboost.CatBoostClassifier(n_estimators=3, max_depth=2, verbose=False)
    for model in (ModelFile(path).model, live):
        given = {"n_estimators": 4, "max_depth": 3, "eta": 0.3, "random_state": 1}
        made = estimator_of(model, given).estimator
        made.set_params(verbose=False, allow_writing_files=False, thread_count=1)
        fitted = made.fit(*data())
        assert fitted.tree_count_ == 4
        assert fitted.get_all_params()["depth"] == 3
        assert fitted.get_all_params()["learning_rate"] == pytest.approx(0.3)


def test_the_names_are_those_of_catboost_itself() -> None:
    from catboost.core import _process_synonyms_groups

    for name, own in CATBOOST.items():
        if name != "objective":  # which the library renames elsewhere
            params = {name: 1}
            _process_synonyms_groups(params)
            assert params == {own: 1}


def test_one_setting_under_two_names_is_refused(tmp_path: Path) -> None:
    _, path = saved_xgboost(tmp_path, n_estimators=3)
    with pytest.raises(robx.InvalidInput, match="'eta' and 'learning_rate' are the same hyperpar"):
        recipe_of(path, {"eta": 0.1, "learning_rate": 0.2})
    with pytest.raises(robx.InvalidInput, match="XGBClassifier has no parameter 'etta'. Its get_p"):
        recipe_of(path, {"etta": 0.1})

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import catboost_cases
import robx
from catboost_cases import CATEGORIES, TOWNS, classifier, labels, people
from oracles import Case, assert_scores_alike, import_ensemble
from robx.trees import TreeEnsemble
from robx.trees.importer import ParsedFile, import_named
from speed import examples

X = people()
Y, Y3 = labels(X), labels(X, 3)
TYPES = ["Borders:Prior=0.3", "Buckets", "Counter:Prior=2", "BinarizedTargetMeanValue"]
SETTINGS: dict[str, dict[str, Any]] = {
    "both kinds": {},
    "one hot": {"one_hot_max_size": 100},
    "statistics only": {"one_hot_max_size": 1},
    "depthwise": {"grow_policy": "Depthwise"},
    "lossguide": {"grow_policy": "Lossguide", "max_leaves": 10},
    "all types": {"simple_ctr": TYPES, "counter_calc_method": "Full"},
    "buckets": {"simple_ctr": ["Buckets"], "one_hot_max_size": 1},
    "ordered": {"boosting_type": "Ordered"},
    "nan max": {"nan_mode": "Max"},
    "few categories are kept": {"ctr_leaf_count_limit": 2},
    "all are kept": {"store_all_simple_ctr": True},
    "own types": {"per_feature_ctr": ["1:Counter:Prior=1", "3:Borders:Prior=0.1"]},
}


def trained(table: Any = X, y: Any = Y, categories: Any = None, **parameters: Any) -> Any:
    return catboost_cases.trained(table, y, categories, **parameters)


def case_of(model: Any, target: Any = None, table: Any = X) -> Case:
    place = 1 if target is None else list(model.classes_).index(target)
    return Case(model, table, lambda rows: model.predict_proba(rows)[:, place], target)


def all_rows(ensemble: TreeEnsemble, seed: int = 0) -> pd.DataFrame:
    """Every combination of categories, some of them unseen, with numbers at every threshold."""
    towns, jobs, owners = [*TOWNS, "never heard of"], [*range(-2, 7), 99], ["yes", "no", "?"]
    rows = pd.DataFrame(product(towns, jobs, owners), columns=["town", "job", "owner"])
    rng = np.random.default_rng(seed)
    for name in ("age", "income"):
        is_own = ensemble.split_feature == ensemble.names.index(name)
        at = ensemble.split_threshold[is_own]
        near = np.concatenate([at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf), [0.0]])
        rows[name] = rng.choice([*near, np.nan, np.inf, -np.inf], len(rows))
    return rows[list(X.columns)]


@pytest.mark.parametrize("parameters", SETTINGS.values(), ids=SETTINGS.keys())
def test_every_category_with_every_threshold_scores_as_catboost_does(
    parameters: dict[str, Any],
) -> None:
    case = case_of(trained(**parameters))
    ensemble = import_ensemble(case)
    assert_scores_alike(ensemble, case, all_rows(ensemble))
    assert not any(column.partly_known for column in ensemble.columns)


@pytest.mark.parametrize("target", [0, 2])
@pytest.mark.parametrize("loss", ["MultiClass", "MultiClassOneVsAll"])
def test_several_classes(loss: str, target: int) -> None:
    case = case_of(trained(y=Y3, loss_function=loss, iterations=6), target)
    ensemble = import_ensemble(case)
    assert_scores_alike(ensemble, case, all_rows(ensemble))


@examples(40)
@given(
    depth=st.integers(1, 5),
    rounds=st.integers(1, 8),
    one_hot=st.integers(1, 9),
    policy=st.sampled_from(["SymmetricTree", "Depthwise", "Lossguide"]),
    types=st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True),
    names=st.lists(st.text(max_size=6), min_size=2, max_size=9, unique=True),
    seed=st.integers(0, 2**16),
)
def test_any_model_with_any_names(
    depth: int,
    rounds: int,
    one_hot: int,
    policy: str,
    types: list[str],
    names: list[str],
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"x": rng.normal(size=80), "name": rng.choice(names, 80)})
    table["name"] = table["name"].astype(object)
    y = (table["x"] + 2 * table["name"].isin(names[:2]) + rng.normal(size=80) > 0.5).astype(int)
    if y.nunique() < 2 or table["name"].nunique() < 2:
        return
    settings = {"one_hot_max_size": one_hot, "grow_policy": policy, "simple_ctr": types}
    model = classifier(depth=depth, iterations=rounds, random_seed=seed, **settings)
    model.fit(table, y, cat_features=["name"])
    case = case_of(model, table=table)
    ensemble = import_ensemble(case)
    rows = pd.DataFrame(
        product(rng.normal(size=7), [*names, "\x00", "robx: never seen (0)"]), columns=["x", "name"]
    )
    rows["name"] = rows["name"].astype(object)
    assert_scores_alike(ensemble, case, rows)


# --- how categories are written -------------------------------------------------------------------


def test_categories_are_text_whole_numbers_or_flags_and_all_the_same() -> None:
    rng = np.random.default_rng(0)
    jobs = rng.integers(0, 4, 300)
    model = trained(pd.DataFrame({"job": jobs}), jobs % 2, ["job"], one_hot_max_size=9)
    ensemble = robx.import_model(model, X=pd.DataFrame({"job": jobs}))
    assert isinstance(ensemble, TreeEnsemble)
    assert ensemble.columns[0].categories == (0, 1, 2, 3)
    for values in (
        pd.Series([0, 1, 3, 7]),
        pd.Series(["0", "1", "3", "01"]),
        pd.Series([0, "1", np.int8(3), True], dtype=object),
        pd.Series([0, 1, 3, 9], dtype="category"),
        pd.Series([0, 1, 3, 9], dtype="Int64"),
        pd.Series([True, False]),
        pd.Series([True, False], dtype="boolean"),
        pd.Series(["1", "2"], dtype="string"),
    ):
        rows = pd.DataFrame({"job": values})
        theirs = model.predict_proba(rows)[:, 1]
        np.testing.assert_allclose(ensemble.score(rows), theirs, atol=1e-12)
        narrow = np.array([[value] for value in values.tolist()], dtype=object)
        np.testing.assert_allclose(ensemble.score(narrow), theirs, atol=1e-12)


def test_flags_are_categories_too() -> None:
    table = X.assign(owner=X["owner"] == "yes")
    case = case_of(trained(table), table=table)
    ensemble = import_ensemble(case)
    assert ensemble.columns[4].categories == (False, True)
    assert_scores_alike(ensemble, case, table)


@pytest.mark.parametrize("dtype", ["category", "string", "object"])
def test_frames_of_every_kind(dtype: str) -> None:
    model = trained(X.astype({"town": dtype}))
    theirs = model.predict_proba(X)[:, 1]
    table = X.astype({"town": dtype})[X.columns[::-1]]
    in_polars = pl.from_pandas(X.astype({"town": object}))
    for rows in (
        table,
        in_polars,
        in_polars.with_columns(pl.col("town").cast(pl.Categorical)),  # at which CatBoost crashes
        in_polars.to_arrow(),
    ):
        ensemble = robx.import_model(model, X=rows)
        np.testing.assert_allclose(ensemble.score(rows), theirs, atol=1e-12)
        np.testing.assert_allclose(ensemble.score(X), theirs, atol=1e-12)


def test_a_model_trained_on_an_array_goes_by_places() -> None:
    cells = X.to_numpy(dtype=object)
    model = trained(cells, categories=[1, 3, 4])
    ensemble = robx.import_model(model, X=cells)
    assert isinstance(ensemble, TreeEnsemble)
    assert not ensemble.named
    theirs = model.predict_proba(cells)[:, 1]
    for rows in (cells, cells[:3], X):
        np.testing.assert_allclose(ensemble.score(rows), theirs[: len(rows)], atol=1e-12)
    numbers = X[["age", "job"]].to_numpy()
    model = trained(numbers, categories=[1])
    ensemble = robx.import_model(model, X=numbers)
    theirs = model.predict_proba(numbers)[:, 1]
    np.testing.assert_allclose(ensemble.score(numbers), theirs, atol=1e-12)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (None, "has a missing value in row 1; the model does not take missing values"),
        (2.5, "must hold text or whole numbers. Got 2.5 in row 1"),
        (2**70, "must hold text or whole numbers"),
        ("\ud800", "must hold text or whole numbers"),
    ],
)
def test_cells_that_catboost_refuses_are_refused(cell: Any, message: str) -> None:
    ensemble = robx.import_model(trained(), X=X)
    rows = X[:3].astype({"town": object})
    rows.loc[1, "town"] = cell
    rows["town"] = pd.Series(["Aix", cell, "Ely"], dtype=object)
    with pytest.raises(robx.InvalidInput, match=message):
        ensemble.score(rows)


# --- names ----------------------------------------------------------------------------------------


def test_without_names_the_model_says_what_it_needs() -> None:
    with pytest.raises(robx.UnsupportedModel, match="not their names, and nothing names those of"):
        robx.import_model(trained())


def test_a_category_that_has_no_name_is_never_taken_for_an_unseen_one() -> None:
    model = trained()
    some = X[~X["town"].isin(["Bonn", ""])]
    ensemble = robx.import_model(model, X=some)
    assert isinstance(ensemble, TreeEnsemble)
    assert [column.partly_known for column in ensemble.columns] == [False, True, *[False] * 3]
    np.testing.assert_allclose(ensemble.score(some), model.predict_proba(some)[:, 1], atol=1e-12)
    for name in ("Bonn", "never heard of"):
        with pytest.raises(robx.InvalidInput, match="was not in the table that the model was impo"):
            ensemble.score(some[:3].assign(town=name))
    one_hot = robx.import_model(trained(one_hot_max_size=100), X=some)
    assert isinstance(one_hot, TreeEnsemble)
    assert one_hot.columns[1].partly_known


def test_more_names_than_the_model_knows_are_asked_about_as_well() -> None:
    case = case_of(trained(X[:200], Y[:200]))
    more = pd.concat([X, X[:2].assign(town=["Rome", "Oslo"])])
    ensemble = import_named(case.model, None, (more,), X)
    assert isinstance(ensemble, TreeEnsemble)
    assert ensemble.columns[1].categories == tuple(sorted([*TOWNS, "Rome", "Oslo"]))
    assert_scores_alike(ensemble, case, all_rows(ensemble))
    others = trained(X[100:], Y[100:])
    alike = import_named(others, None, (ensemble.columns,))
    assert isinstance(alike, TreeEnsemble)
    assert alike.columns == ensemble.columns
    assert_scores_alike(alike, case_of(others), all_rows(alike))


def test_an_ensemble_keeps_its_categories_in_a_file(tmp_path: Path) -> None:
    for table in (X, X[X["town"] != "Aix"]):
        ensemble = robx.import_model(trained(), X=table)
        assert isinstance(ensemble, TreeEnsemble)
        ensemble.save(tmp_path / "model.robx")
        assert robx.import_model(tmp_path / "model.robx") == ensemble


PIPELINES = {
    "alone": (make_pipeline(classifier(cat_features=CATEGORIES)), True),
    "as they are": (
        make_pipeline(FunctionTransformer(), classifier(cat_features=CATEGORIES)),
        True,
    ),
    "filled": (
        make_pipeline(
            make_column_transformer(
                (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "income"]),
                remainder="passthrough",
            ),
            classifier(cat_features=[2, 3, 4]),
        ),
        False,
    ),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_categories_that_reach_the_model_through_a_pipeline(name: str) -> None:
    pipeline, takes_infinite = PIPELINES[name]
    case = case_of(pipeline.fit(X, Y))
    ensemble = import_ensemble(case)
    rows = all_rows(ensemble)
    if not takes_infinite:
        rows = rows.replace([np.inf, -np.inf], 0.0)
    assert_scores_alike(ensemble, case, rows)


# --- black boxes ----------------------------------------------------------------------------------


def test_combined_features_become_a_black_box_that_says_why(tmp_path: Path) -> None:
    model = trained(max_ctr_complexity=4, iterations=30)
    with pytest.warns(robx.SlowModel, match="max_ctr_complexity=1"):
        box = robx.import_model(model, X=X)
    assert isinstance(box, robx.BlackBox)
    assert "max_ctr_complexity=1" in box.why
    np.testing.assert_allclose(box.score(X), model.predict_proba(X)[:, 1])
    assert robx.BlackBox(model).why == ""
    model.save_model(tmp_path / "model.json", format="json")
    with pytest.raises(robx.UnsupportedModel, match="max_ctr_complexity=1"):
        robx.import_model(tmp_path / "model.json", X=X)


def test_combinations_that_were_allowed_but_not_used_do_not_matter() -> None:
    case = case_of(trained(max_ctr_complexity=4, depth=1))
    ensemble = import_ensemble(case)
    assert_scores_alike(ensemble, case, all_rows(ensemble))


def test_a_model_without_its_statistics_is_refused() -> None:
    with pytest.raises(robx.UnsupportedModel, match="final_ctr_computation_mode='Skip'"):
        robx.import_model(trained(final_ctr_computation_mode="Skip"), X=X)


# --- files ----------------------------------------------------------------------------------------


def saved(model: Any, path: Path) -> Path:
    model.save_model(str(path), format=path.suffix[1:])
    return path


def test_a_file_is_asked_in_a_process_of_its_own(tmp_path: Path) -> None:
    model = trained()
    from_file = import_named(saved(model, tmp_path / "model.json"), None, (pl.from_pandas(X),))
    assert from_file == robx.import_model(model, X=X)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["cbm", "json"])
def test_a_file_is_checked_against_catboost_itself(tmp_path: Path, ending: str) -> None:
    model = trained(y=np.array(["no", "yes"])[Y])
    file = ParsedFile(saved(model, tmp_path / f"model.{ending}"))
    assert robx.import_model(file, X=X) == robx.import_model(model, X=X)
    rows = X.assign(town=X["town"].replace("Aix", "Rome"))
    theirs = model.predict_proba(rows)[:, 0]
    np.testing.assert_allclose(import_named(file, "no", (X,)).score(rows), theirs, atol=1e-12)


def test_a_file_needs_names_as_well(tmp_path: Path) -> None:
    path = saved(trained(iterations=3), tmp_path / "model.json")
    with pytest.raises(robx.UnsupportedModel, match="Pass a table that has them"):
        robx.import_model(path)


def _table(model: Any) -> Any:
    return next(iter(model["ctr_data"].values()))


def _ctr(model: Any) -> Any:
    return model["features_info"]["ctrs"][0]


def _category(model: Any) -> Any:
    return model["features_info"]["categorical_features"][2]


def _split(model: Any, kind: str) -> Any:
    trees = model["oblivious_trees"]
    return next(s for t in trees for s in t["splits"] if s["split_type"] == kind)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda m: _table(m).update(hash_stride=0), "hash_stride must be an integer from 2"),
        (lambda m: _table(m).update(hash_stride=7), "is not a table of hashes"),
        (lambda m: _table(m)["hash_map"].__setitem__(0, "x"), "is not a table of hashes"),
        (lambda m: _table(m).update(twist=1), "does not know: twist"),
        (lambda m: _ctr(m).update(ctr_type="FloatTargetMeanValue"), "statistics of the type"),
        (lambda m: _ctr(m).update(identifier="?"), "lacks the tables of its own statistics"),
        (lambda m: _ctr(m).update(twist=1), "does not know: twist"),
        (lambda m: _ctr(m)["elements"][0].update(cat_feature_index=9), "integer from 0 to 2"),
        (lambda m: _ctr(m)["elements"].append(_ctr(m)["elements"][0]), "max_ctr_complexity=1"),
        (lambda m: _ctr(m)["borders"].pop(), "split_index|border"),
        (lambda m: _category(m).update(flat_feature_index=0), "out of order|number its 5"),
        (lambda m: _category(m).update(feature_index=1), "its numbers must be 2"),
        (lambda m: _category(m).update(values=["x"]), "list of integers"),
        (lambda m: _category(m).update(twist=1), "does not know: twist"),
        (lambda m: _split(m, "OneHotFeature").update(value=7), "does not describe the question"),
        (lambda m: _split(m, "OnlineCtr").update(border=0.5), "does not describe the question"),
        (lambda m: _split(m, "OnlineCtr").update(split_index=0), "its split_index says on a"),
        (lambda m: m.pop("ctr_data"), "lacks the tables of its own statistics"),
    ],
)
def test_a_damaged_file_is_told_by_its_message(
    tmp_path: Path, edit: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(trained(iterations=6), tmp_path / "model.json")
    model = json.loads(path.read_bytes())
    edit(model)
    path.write_text(json.dumps(model))

    def always_no(*_: Any, probes: list[str], rows: list[Any]) -> Any:
        n_trees = sum(len(json.loads(probe)["oblivious_trees"]) for probe in probes)
        return np.zeros((len(rows), n_trees))

    monkeypatch.setattr("robx.trees.child.score", always_no)
    with pytest.raises((robx.InvalidModel, robx.UnsupportedModel), match=message):
        robx.import_model(path, X=X)

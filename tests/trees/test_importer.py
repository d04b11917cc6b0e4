from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import catboost as cb
import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
import xgboost as xgb
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import robx
from oracles import toy_data
from robx.trees import TreeEnsemble
from robx.trees import xgboost as xgboost_parser
from robx.trees.targets import UnknownTarget, choose_target
from speed import slow_but

X, Y = toy_data(150, 4)
NAMES = ["learner", "version", "features_info", "d"]
FRAME = pd.DataFrame(X, columns=NAMES)
CLASSES = np.digitize(X[:, 0], [-0.5, 0.5])


def xgboost(table: Any = FRAME, y: Any = Y, kind: type = xgb.XGBClassifier) -> Any:
    return kind(n_estimators=4, max_depth=3, n_jobs=1).fit(table, y)


def lightgbm(table: Any = FRAME, y: Any = Y, kind: type = lgb.LGBMClassifier) -> Any:
    return kind(n_estimators=4, num_leaves=7, verbose=-1).fit(table, y)


def catboost(table: Any = FRAME, y: Any = Y) -> Any:
    model = cb.CatBoostClassifier(iterations=4, depth=3, verbose=False, allow_writing_files=False)
    return model.fit(table, y)


def forest(table: Any = FRAME, y: Any = Y) -> Any:
    return RandomForestClassifier(4, random_state=0).fit(table, y)


def hist(table: Any = FRAME, y: Any = Y) -> Any:
    return HistGradientBoostingClassifier(max_iter=4).fit(table, y)


def save_lightgbm(path: Path) -> Any:
    model = lightgbm()
    model.booster_.save_model(path)
    return model


def save_catboost(path: Path) -> Any:
    model = catboost()
    model.save_model(str(path), format=path.suffix[1:])
    return model


def save_xgboost(path: Path) -> Any:
    model = xgboost()
    model.save_model(path)
    return model


FILES = {
    "xgboost.json": (save_xgboost, "XGBoost"),
    "xgboost.ubj": (save_xgboost, "XGBoost"),
    "lightgbm.txt": (save_lightgbm, "LightGBM"),
    "catboost.json": (save_catboost, "CatBoost"),
    "catboost.cbm": (save_catboost, "CatBoost"),
}
LIBRARIES = {
    "xgboost": xgboost,
    "lightgbm": lightgbm,
    "catboost": catboost,
    "forest": forest,
    "hist": hist,
}


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_given_to_the_library_that_wrote_it(name: str, tmp_path: Path) -> None:
    save, library = FILES[name]
    model = save(tmp_path / name)
    theirs = model.predict_proba(FRAME)[:, 1]
    for path in (tmp_path / name, str(tmp_path / name)):
        ensemble = robx.import_model(path)
        assert isinstance(ensemble, TreeEnsemble)
        assert ensemble.source.startswith(library)
        assert ensemble.names == tuple(NAMES)
        np.testing.assert_allclose(ensemble.score(FRAME), theirs, atol=1e-6)


@pytest.mark.parametrize("name", slow_but(["xgboost.json"], FILES))
def test_a_file_is_checked_on_rows_by_its_library_in_another_process(
    name: str, tmp_path: Path
) -> None:
    save, _ = FILES[name]
    theirs = save(tmp_path / name).predict_proba(FRAME)[:, 1]
    ensemble = robx.import_model(tmp_path / name, X=FRAME[NAMES[::-1]])
    np.testing.assert_allclose(ensemble.score(FRAME), theirs, atol=1e-6)


def test_a_file_that_scores_otherwise_than_its_library_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = save_xgboost(tmp_path / "model.json")
    asked: list[Any] = []

    def other(path: Path, target: Any, rows: Any, budget: robx.Budget) -> Any:
        asked.append((path, target, rows))
        answer = model.predict_proba(rows)[:, 1].astype(np.float64)
        answer[3] += 2e-6
        return answer

    monkeypatch.setattr(xgboost_parser, "file_probability", other)
    with pytest.raises(
        robx.ImportMismatch,
        match=r"does not score as its source does: row 3 of X, \[.*\], gets 0\.\d{9}; XGBoost .* "
        r"\.json file gives 0\.\d{9}\. Nothing was imported\..*robx\.BlackBox",
    ):
        robx.import_model(tmp_path / "model.json", X=FRAME)
    path, target, rows = asked[0]
    assert path == tmp_path / "model.json"
    assert target == 1
    assert rows.shape == FRAME.shape


def test_a_difference_that_is_no_number_is_a_mismatch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_xgboost(tmp_path / "model.json")
    nothing = np.full(len(X), np.nan)
    monkeypatch.setattr(xgboost_parser, "file_probability", lambda *_: nothing)
    with pytest.raises(robx.ImportMismatch, match="row 0 of X"):
        robx.import_model(tmp_path / "model.json", X=FRAME)


def test_without_the_library_there_is_nobody_to_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_xgboost(tmp_path / "model.json")
    monkeypatch.setattr(xgboost_parser, "file_probability", lambda *_: None)
    ensemble = robx.import_model(tmp_path / "model.json", X=FRAME)
    assert ensemble == robx.import_model(tmp_path / "model.json")


def test_the_sample_is_spread_over_the_whole_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = save_xgboost(tmp_path / "model.json")
    table = pd.concat([FRAME] * 20, ignore_index=True)
    seen: list[Any] = []

    def ask(path: Path, target: Any, rows: Any, budget: robx.Budget) -> Any:
        seen.append(rows.index.to_numpy())
        return model.predict_proba(rows)[:, 1]

    monkeypatch.setattr(xgboost_parser, "file_probability", ask)
    robx.import_model(tmp_path / "model.json", X=table)
    assert len(seen[0]) == 512
    assert seen[0][0] == 0
    assert seen[0][-1] == len(table) - 1
    assert np.diff(seen[0]).max() <= 6


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", str(tmp_path / "none.json"), tmp_path):
        with pytest.raises(
            robx.InvalidInput, match=r"There is no model file at '.+'\. Check the path\."
        ):
            robx.import_model(path)


@pytest.mark.parametrize("name", ["model.onnx", "model", "model.csv"])
def test_an_unknown_ending_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"{}")
    ending = Path(name).suffix
    with pytest.raises(
        robx.UnsupportedModel,
        match=rf"does not know model files ending in '{ending}'\. Expected \.json, \.ubj, \.txt, "
        r"\.cbm, \.skops or \.robx; in Python, load the model yourself and pass it\.",
    ):
        robx.import_model(tmp_path / name)


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


ENDINGS = [".pkl", ".pickle", ".joblib", ".json", ".txt", ".robx", ".ubj", ".cbm", ".skops"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_pickle_is_never_loaded(ending: str, tmp_path: Path) -> None:
    path, sprung = tmp_path / f"model{ending}", tmp_path / "sprung"
    path.write_bytes(pickle.dumps(Trap(sprung)))
    with pytest.raises(
        robx.UnsupportedModel,
        match=rf"'model{ending}' is a pickle, which runs code when it is loaded; robx does "
        r"not load it\. Save the model with skops\.io\.dump; or, if you trust the file, name it "
        r"\.pkl and allow it with --unsafe-pickle, or load it in Python and pass the model\.",
    ):
        robx.import_model(path)
    assert not sprung.exists()
    pickle.loads(path.read_bytes())
    assert sprung.exists()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_known_by_its_first_bytes_whatever_its_name(
    protocol: int, tmp_path: Path
) -> None:
    for name in ("model.json", "model.ubj", "model.cbm"):
        (tmp_path / name).write_bytes(pickle.dumps([1], protocol=protocol))
        with pytest.raises(robx.UnsupportedModel, match=f"'{name}' is a pickle"):
            robx.import_model(tmp_path / name)


def test_json_is_told_apart_whatever_its_layout(tmp_path: Path) -> None:
    for save in (save_xgboost, save_catboost):
        path = tmp_path / f"{save.__name__}.json"
        save(path)
        model = json.loads(path.read_text())
        ensemble = robx.import_model(path)
        path.write_text("\n " + json.dumps(model, indent=4, sort_keys=True))
        assert robx.import_model(path).score(X).tolist() == ensemble.score(X).tolist()


@pytest.mark.parametrize("text", ["{}", "[]", '{"name": "tree"}', "null", "x", '{"robx_schema":1}'])
def test_json_of_nobody_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(
        robx.InvalidModel, match=r"'model\.json' is not the JSON of an XGBoost or CatBoost model\."
    ):
        robx.import_model(tmp_path / "model.json")


@pytest.mark.parametrize(
    ("text", "library"), [('{"learner": 1}', "XGBoost"), ('{"trees": 1}', "CatBoost")]
)
def test_json_of_somebody_is_refused_in_their_name(text: str, library: str, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text(text)
    with pytest.raises((robx.InvalidModel, robx.UnsupportedModel), match=f"^The {library} model"):
        robx.import_model(tmp_path / "model.json")


# --- models ---------------------------------------------------------------------------------------


def test_what_was_imported_is_passed_through() -> None:
    ensemble = robx.import_model(xgboost())
    assert robx.import_model(ensemble) is ensemble
    assert robx.import_model(ensemble, target=1) is ensemble
    box = robx.BlackBox(xgboost(), 0)
    assert robx.import_model(box) is box


@pytest.mark.parametrize("kind", ["ensemble", "blackbox"])
def test_what_was_imported_cannot_be_asked_for_another_target(kind: str) -> None:
    model = xgboost()
    held = robx.import_model(model) if kind == "ensemble" else robx.BlackBox(model)
    with pytest.raises(robx.InvalidInput, match="target|asked for 0"):
        robx.import_model(held, target=0)


@pytest.mark.parametrize(
    ("make", "base"), [(xgboost, xgb.XGBClassifier), (lightgbm, lgb.LGBMClassifier)]
)
def test_a_subclass_is_imported_as_its_parent(make: Any, base: Any) -> None:
    mine = type("Mine", (base,), {"__module__": "mine"})
    ensemble = robx.import_model(make(kind=mine), X=FRAME)
    assert isinstance(ensemble, TreeEnsemble)
    assert ensemble.score(FRAME).tolist() == robx.import_model(make()).score(FRAME).tolist()


@pytest.mark.parametrize(
    ("make", "base"), [(xgboost, xgb.XGBClassifier), (lightgbm, lgb.LGBMClassifier)]
)
def test_a_subclass_that_scores_its_own_way_is_not_scored_as_its_parent(
    make: Any, base: Any
) -> None:
    class Turned(base):  # type: ignore[misc]
        def predict_proba(self, table: Any, **more: Any) -> Any:
            return super().predict_proba(table, **more)[:, ::-1]

    model = make(kind=Turned)
    theirs = model.predict_proba(FRAME)[:, 1]
    np.testing.assert_allclose(robx.import_model(model).score(FRAME), theirs, atol=1e-6)


@pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES.keys())
def test_an_unknown_target_is_an_error(make: Any) -> None:
    with pytest.raises(
        robx.InvalidInput,
        match=r"The target must be one of the model's classes, 0, 1\. "
        r"Got 'good' instead\.",
    ):
        robx.import_model(make(), "good")
    with pytest.raises(
        robx.InvalidInput,
        match=r"The model has 3 classes: say which one counts as accepted with target=.*, one of "
        r"0, 1, 2\.",
    ):
        robx.import_model(make(FRAME, CLASSES))


@pytest.mark.parametrize("name", ["xgboost.json", "lightgbm.txt", "catboost.json"])
def test_an_unknown_target_of_a_file_is_an_error(name: str, tmp_path: Path) -> None:
    FILES[name][0](tmp_path / name)
    with pytest.raises(robx.InvalidInput, match=r"classes, 0, 1\. Got 2 instead\."):
        robx.import_model(tmp_path / name, target=2)


@pytest.mark.parametrize(
    "model", [b"model.json", 7, None, object()], ids=["bytes", "number", "nothing", "object"]
)
def test_what_is_no_model_is_refused(model: Any) -> None:
    with pytest.raises(robx.UnsupportedModel, match="needs an object with predict_proba"):
        robx.import_model(model)


# --- the check ------------------------------------------------------------------------------------


CHECKED: dict[str, Any] = {
    "frame": FRAME,
    "frame in another order": FRAME[NAMES[::-1]],
    "frame of float32": FRAME.astype(np.float32),
    "frame of integers": FRAME.round().astype(int),
    "nullable": FRAME.astype("Float64"),
    "over pyarrow": FRAME.astype("double[pyarrow]"),
    "polars": pl.from_pandas(FRAME)[NAMES[::-1]],
    "pyarrow": pa.Table.from_pandas(FRAME[NAMES[::-1]], preserve_index=False),
    "array": X,
    "lists": X.tolist(),
    "no rows": FRAME[:0],
    "an array of no rows": X[:0],
    "one row": FRAME[:1],
}


@pytest.mark.parametrize("table", CHECKED.values(), ids=CHECKED.keys())
@pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES.keys())
def test_the_check_takes_every_table_that_the_ensemble_takes(make: Any, table: Any) -> None:
    model = make()
    ensemble = robx.import_model(model, X=table)
    assert isinstance(ensemble, TreeEnsemble)
    assert ensemble == robx.import_model(model)


def with_category(kind: str) -> Any:
    frame = FRAME.assign(d=pd.Categorical(np.where(np.arange(150) % 3, "red", "blue")))
    return {
        "category": frame,
        "text": frame.assign(d=frame["d"].astype(str)),
        "polars": pl.from_pandas(frame),
        "polars text": pl.from_pandas(frame).cast({"d": pl.String}),
        "pyarrow": pa.Table.from_pandas(frame, preserve_index=False),
    }[kind]


@pytest.mark.parametrize("kind", ["category", "text", "polars", "polars text", "pyarrow"])
@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "hist"])
def test_the_check_takes_categories_in_every_form(library: str, kind: str) -> None:
    frame = with_category("category")
    y = (X[:, 0] > 0) ^ (frame["d"] == "red").to_numpy()
    if library == "xgboost":
        model = xgb.XGBClassifier(n_estimators=4, enable_categorical=True, n_jobs=1).fit(frame, y)
    else:
        model = LIBRARIES[library](frame, y)
    table = with_category(kind)
    ensemble = robx.import_model(model, X=table)
    np.testing.assert_allclose(ensemble.score(table), model.predict_proba(frame)[:, 1], atol=1e-6)


def test_a_table_that_does_not_fit_is_an_error_before_anybody_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = xgboost()
    monkeypatch.setattr(model, "predict_proba", lambda rows: pytest.fail("it was asked"))
    with pytest.raises(robx.InvalidInput, match="X lacks 1 of the model's columns: 'd'"):
        robx.import_model(model, X=FRAME.drop(columns="d"))


@pytest.mark.parametrize("target", [None, "none of them"])
def test_a_few_of_many_classes_are_listed_and_all_are_at_hand(target: Any) -> None:
    names = [f"class {k}" for k in range(10_000)]
    with pytest.raises(
        UnknownTarget, match=r"one of .*'class 0', 'class 1', .*'class 7' and 9992 more\."
    ) as caught:
        choose_target(target, names)
    assert len(str(caught.value)) < 300
    assert caught.value.classes == tuple(names)
    assert pickle.loads(pickle.dumps(caught.value)).classes == tuple(names)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(),
        HistGradientBoostingClassifier(),
        xgb.XGBClassifier(),
        lgb.LGBMClassifier(),
        cb.CatBoostClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_model_that_is_not_fitted_is_refused_alike(model: Any) -> None:
    name = type(model).__name__
    with pytest.raises(
        robx.InvalidModel,
        match=rf"^The {name} is not fitted: train it, with fit\(X, y\), before it is imported or "
        r"saved\.$",
    ):
        robx.import_model(model)

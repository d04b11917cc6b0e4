from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import robx
from oracles import Case, assert_law_one, assert_scores_alike, toy_data, with_missing
from robx.trees import skops as parser
from speed import slow_but

X, y = toy_data()
HOLES = with_missing(X)
BUDGET = robx.Budget()

MODELS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y),
    "extra tree": lambda: ExtraTreeClassifier(max_depth=5, random_state=0).fit(X, y),
    "forest": lambda: RandomForestClassifier(8, random_state=0).fit(X, y),
    "weighted": lambda: RandomForestClassifier(
        8, random_state=np.random.RandomState(0), class_weight={0: 1.0, 1: 2.0}, max_samples=0.5
    ).fit(X, y),
    "extra trees": lambda: ExtraTreesClassifier(8, max_depth=6, random_state=0).fit(X, y),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=9, n_iter_no_change=3).fit(X, y),
    "exponential": lambda: GradientBoostingClassifier(
        n_estimators=9, loss="exponential", init="zero"
    ).fit(X, y),
    "hist": lambda: HistGradientBoostingClassifier(
        max_iter=9, monotonic_cst=[1, 0, 0, 0, 0], interaction_cst=[{0, 1}, {2, 3, 4}]
    ).fit(HOLES, y),
    "hist by number": lambda: HistGradientBoostingClassifier(
        max_iter=9, categorical_features=[1], early_stopping=True
    ).fit(X, y),
}


def saved(model: Any, folder: Path, **how: Any) -> Path:
    skops.io.dump(model, folder / "m.skops", **how)
    return folder / "m.skops"


def read(path: Path) -> robx.TreeEnsemble:
    return parser.from_parsed(parser.parse_file(path, BUDGET), path, None, BUDGET)


@pytest.mark.parametrize("name", MODELS)
def test_a_file_scores_as_its_model_does(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    takes_nan = name not in {"extra tree", "weighted", "extra trees", "boosting", "exponential"}
    case = Case(
        saved(model, tmp_path),
        np.where(np.isnan(HOLES), 0, HOLES),
        lambda rows: model.predict_proba(rows)[:, 1],
        takes_nan=takes_nan,
        takes_inf=name == "hist",
    )
    if name == "hist by number":  # of which thresholds say nothing
        assert_scores_alike(read(case.model), case, X)
        return
    if takes_nan:
        assert_scores_alike(read(case.model), case, HOLES)
    ensemble = assert_law_one(case)
    live = robx.import_model(model)
    assert isinstance(live, robx.TreeEnsemble)
    assert ensemble.digest == live.digest


def test_several_classes_and_their_names(tmp_path: Path) -> None:
    three = np.array(["low", "mid", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    for model in (
        GradientBoostingClassifier(n_estimators=5).fit(X, three),
        HistGradientBoostingClassifier(max_iter=5).fit(X, three),
        RandomForestClassifier(5).fit(X, three),
    ):
        path = saved(model, tmp_path)
        with pytest.raises(robx.InvalidInput, match="3 classes: say which one"):
            robx.import_model(path)
        ensemble = robx.import_model(path, target="mid", X=X)
        np.testing.assert_allclose(ensemble.score(X), model.predict_proba(X)[:, 2], atol=1e-6)
        assert type(parser.load(path, BUDGET)) is type(model)


def test_names_and_categories_of_a_frame(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"a": X[:, 0], "job": pd.Categorical(np.where(X[:, 1] > 2, "boss", "clerk"))}
    )
    model = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype")
    model.fit(frame, y)
    ensemble = robx.import_model(saved(model, tmp_path), X=frame)
    assert ensemble.names == ("a", "job")
    plain = frame.assign(job=frame["job"].astype(str))
    np.testing.assert_allclose(ensemble.score(plain), model.predict_proba(frame)[:, 1], atol=1e-6)


def test_a_compressed_file_is_read_too(tmp_path: Path) -> None:
    path = saved(MODELS["forest"](), tmp_path, compression=zipfile.ZIP_DEFLATED)
    assert robx.import_model(path, X=HOLES) is not None


def test_the_loaded_model_is_alive(tmp_path: Path) -> None:
    model = MODELS["hist"]()
    loaded = parser.load(saved(model, tmp_path), BUDGET)
    assert (loaded.predict_proba(HOLES) == model.predict_proba(HOLES)).all()
    assert loaded.get_params()["max_iter"] == 9


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression().fit(X, y),
        {"a": 1},
        [RandomForestClassifier(2).fit(X, y)],
    ],
    ids=["linear", "dict", "list"],
)
def test_other_models_are_refused_with_what_to_do(model: Any, tmp_path: Path) -> None:
    with pytest.raises(
        robx.UnsupportedModel,
        match=r"'m.skops' holds a .*\. From .skops files robx reads DecisionTreeClassifier, .*In "
        r"Python, load it with skops.io.load yourself and pass the model\.",
    ):
        robx.import_model(saved(model, tmp_path))


@pytest.mark.parametrize(
    "init", [LogisticRegression(), DecisionTreeClassifier()], ids=["linear", "tree"]
)
def test_a_model_with_another_one_inside_is_refused(init: Any, tmp_path: Path) -> None:
    model = GradientBoostingClassifier(n_estimators=2, init=init).fit(X, y)
    with pytest.raises(robx.UnsupportedModel):
        robx.import_model(saved(model, tmp_path))


class Mine(RandomForestClassifier):  # type: ignore[misc]
    """Of a type that is on no list."""


def test_a_subclass_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(
        robx.UnsupportedModel, match=r"'m.skops' holds a .*Mine\. From .skops files"
    ):
        robx.import_model(saved(Mine(2).fit(X, y), tmp_path))


@cache
def original(name: str) -> bytes:
    return bytes(skops.io.dumps(MODELS[name]()))


def rewritten(
    name: str, path: Path, change: Callable[[dict[str, Any], dict[str, bytes]], None]
) -> Path:
    """Write a file whose schema and parts were changed."""
    with zipfile.ZipFile(io.BytesIO(original(name))) as archive:
        parts = {member: archive.read(member) for member in archive.namelist()}
    schema = json.loads(parts["schema.json"])
    change(schema, parts)
    parts["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile(path / "m.skops", "w") as archive:
        for member, data in parts.items():
            archive.writestr(member, data)
    return path / "m.skops"


def attribute(schema: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = schema["content"]["content"][name]
    return found


def evil(loader: str, module: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"__loader__": loader, "__module__": module, "__class__": kind, **more}


JSON = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "is_json": True}
EVIL = {
    "a function": evil("FunctionNode", "os", "system"),
    "a type": evil("TypeNode", "subprocess", "Popen"),
    "an object": evil("ObjectNode", "sklearn.linear_model._base", "LinearRegression"),
    "a call": evil(
        "ConstructorFromReduceNode", "builtins", "list", content={**JSON, "content": "[]"}
    ),
    "a method": evil("MethodNode", "builtins", "str", content={"func": "upper", "obj": {**JSON}}),
    "an operator": evil("OperatorFuncNode", "operator", "methodcaller"),
    "a file": evil("FunctionNode", "builtins", "open"),
    "an array by another loader": evil("ObjectNode", "numpy", "ndarray"),
}


@pytest.mark.parametrize("what", EVIL)
@pytest.mark.parametrize("depth", ["on top", "deep"])
def test_anything_outside_the_list_is_named_and_not_loaded(
    what: str, depth: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(schema: dict[str, Any], parts: dict[str, bytes]) -> None:
        if depth == "on top":
            schema["content"]["content"]["verbose"] = EVIL[what]
        else:
            first = attribute(schema, "estimators_")["content"][0]
            first["content"]["content"]["verbose"] = EVIL[what]

    monkeypatch.setattr(skops.io, "loads", lambda *a, **k: pytest.fail("it was loaded"))
    named = rf"holds a {EVIL[what]['__module__']}\.{EVIL[what]['__class__']} "
    with pytest.raises(robx.UnsupportedModel, match=named):
        robx.import_model(rewritten("forest", tmp_path, change))


def test_what_skops_asks_to_be_trusted_beyond_the_list_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skops.io, "get_untrusted_types", lambda data: ["os.system"])
    with pytest.raises(robx.UnsupportedModel, match=r"holds a os\.system, which is not a part"):
        robx.import_model(saved(MODELS["tree"](), tmp_path))


def test_a_generator_of_bits_must_be_one(tmp_path: Path) -> None:
    def change(schema: dict[str, Any], parts: dict[str, bytes]) -> None:
        generator = attribute(schema, "_feature_subsample_rng")
        generator["content"]["bit_generator"]["content"]["bit_generator"]["content"] = '"seed"'

    with pytest.raises(
        robx.UnsupportedModel, match='numpy.random\'s "seed", which is not a generator'
    ):
        robx.import_model(rewritten("hist", tmp_path, change))


def test_a_method_of_its_own_is_refused(tmp_path: Path) -> None:
    def change(schema: dict[str, Any], parts: dict[str, bytes]) -> None:
        content = schema["content"]
        content["content"]["predict_proba"] = {**JSON, "content": "1"}
        content["key_types"]["content"].append(evil("TypeNode", "builtins", "str"))

    with pytest.raises(robx.InvalidModel, match="has an 'predict_proba' of its own"):
        robx.import_model(rewritten("forest", tmp_path, change))


def test_what_is_no_such_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.skops"
    whole = original("forest")
    for data in (b"", b"PK", b"not a zip", whole[: len(whole) // 2], whole[:-30]):
        path.write_bytes(data)
        with pytest.raises(
            robx.InvalidModel, match="'m.skops' is not a .skops file that can be read"
        ):
            robx.import_model(path)
    for text in ("", "[", "[]", "5", "null", '{"__class__": 3}', '{"a":' * 5000):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("schema.json", text)
        with pytest.raises(robx.RobxError):
            robx.import_model(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.json", "{}")
    with pytest.raises(robx.InvalidModel):
        robx.import_model(path)


def test_a_file_of_another_version_says_so(tmp_path: Path) -> None:
    def change(schema: dict[str, Any], parts: dict[str, bytes]) -> None:
        attribute(schema, "_sklearn_version").update(content='"1.5.2"', __id__=0)
        attribute(schema, "_loss")["content"]["content"]["closs"]["__module__"] = "_loss"

    with pytest.raises(robx.UnsupportedModel, match=r"saved by scikit-learn 1\.5\.2; this is "):
        robx.import_model(rewritten("boosting", tmp_path, change))


def test_a_forest_of_another_version_is_read_without_a_warning(tmp_path: Path) -> None:
    def change(schema: dict[str, Any], parts: dict[str, bytes]) -> None:
        schema.update(json.loads(json.dumps(schema).replace(sklearn.__version__, "1.5.2")))

    path = rewritten("forest", tmp_path, change)
    with pytest.warns(InconsistentVersionWarning):  # as skops alone would
        skops.io.load(path, trusted=["sklearn.tree._tree.Tree"])
    assert robx.import_model(path, X=HOLES) is not None


def test_an_id_has_no_say_in_what_is_built(tmp_path: Path) -> None:
    def change(schema: dict[str, Any], parts: dict[str, bytes]) -> None:
        generator = attribute(schema, "_feature_subsample_rng")
        name = generator["content"]["bit_generator"]["content"]["bit_generator"]
        schema["content"]["content"]["verbose"] = {**JSON, "content": '"seed"', "__id__": 7}
        name["__id__"] = 7

    model = parser.load(rewritten("hist", tmp_path, change), BUDGET)
    assert model.verbose == "seed"
    assert type(model._feature_subsample_rng).__name__ == "Generator"


# --- hostile trees --------------------------------------------------------------------------------


def damaged_nodes(name: str, tmp_path: Path, change: Callable[[Any], None]) -> Path:
    """Change the first array of nodes."""

    def rewrite(schema: dict[str, Any], parts: dict[str, bytes]) -> None:
        for member, data in parts.items():
            if member.endswith(".npy"):
                array = np.load(io.BytesIO(data))
                if array.dtype.names:
                    change(array)
                    buffer = io.BytesIO()
                    np.save(buffer, array)
                    parts[member] = buffer.getvalue()
                    return
        raise AssertionError("no nodes")

    return rewritten(name, tmp_path, rewrite)


def put(field: str, value: Any) -> Callable[[Any], None]:
    def change(array: Any) -> None:
        array[field][0] = value

    return change


HOSTILE = [
    ("forest", put("left_child", 10**6)),
    ("forest", put("right_child", 0)),
    ("forest", put("left_child", -7)),
    ("forest", put("feature", 99)),
    ("forest", put("feature", -5)),
    ("boosting", put("right_child", 10**9)),
    ("boosting", put("feature", 5)),
    ("hist", put("left", 10**6)),
    ("hist", put("right", 0)),
    ("hist", put("feature_idx", 77)),
    ("hist", put("is_categorical", 1)),
    ("hist by number", put("is_categorical", 1)),
]


@pytest.mark.parametrize("k", range(len(HOSTILE)))
def test_nodes_that_lead_nowhere_are_found_before_anybody_predicts(
    k: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, change = HOSTILE[k]
    path = damaged_nodes(name, tmp_path, change)
    for kind in (
        RandomForestClassifier,
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
    ):
        monkeypatch.setattr(
            kind, "_raw_predict", lambda *a: pytest.fail("predicted"), raising=False
        )
        monkeypatch.setattr(kind, "predict_proba", lambda *a: pytest.fail("predicted"))
    for work in (lambda: robx.import_model(path, X=X), lambda: parser.load(path, BUDGET)):
        with pytest.raises(robx.RobxError):
            work()


@pytest.mark.parametrize("count", ["100000", "1", "-1", "1.5", "null", '"9"'])
def test_a_tree_must_have_the_nodes_that_it_claims(count: str, tmp_path: Path) -> None:
    def change(schema: dict[str, Any], parts: dict[str, bytes]) -> None:
        first = attribute(schema, "estimators_")["content"][0]
        tree = first["content"]["content"]["tree_"]
        tree["content"]["content"]["node_count"]["content"] = count

    with pytest.raises(robx.InvalidModel, match="a tree whose sizes do not fit each other"):
        read(rewritten("forest", tmp_path, change))


def set_array(parts: dict[str, bytes], node: dict[str, Any], array: Any) -> None:
    buffer = io.BytesIO()
    np.save(buffer, array)
    parts["new.npy"] = buffer.getvalue()
    node["file"] = "new.npy"


def test_bins_that_do_not_fit_the_columns_are_refused(tmp_path: Path) -> None:
    for shape in (2, 5, 9):

        def change(schema: dict[str, Any], parts: dict[str, bytes], shape: int = shape) -> None:
            mapper = attribute(schema, "_bin_mapper")["content"]["content"]
            set_array(parts, mapper["is_categorical_"], np.zeros(shape, dtype=np.uint8))

        with pytest.raises(robx.InvalidModel, match="bins do not fit its columns"):
            robx.import_model(rewritten("hist by number", tmp_path, change))


def test_sets_of_categories_of_another_width_are_refused(tmp_path: Path) -> None:
    def change(schema: dict[str, Any], parts: dict[str, bytes]) -> None:
        first = attribute(schema, "_predictors")["content"][0]["content"][0]
        bits = first["content"]["content"]["raw_left_cat_bitsets"]
        set_array(parts, bits, np.zeros((5, 1), dtype=np.uint32))

    with pytest.raises(robx.InvalidModel, match="a width that they cannot have"):
        robx.import_model(rewritten("hist by number", tmp_path, change))


# --- damage at random -----------------------------------------------------------------------------

FUZZ = """
import sys
from pathlib import Path
import numpy as np
import robx
from robx.trees import skops
X = np.load(sys.argv[1])
for path in sorted(Path(sys.argv[2]).iterdir()):
    try:
        model = skops.load(path, robx.Budget())
    except robx.RobxError:
        print("refused")
        continue
    try:  # what was let in may complain, but not bring the process down
        model.predict_proba(X)
    except Exception:
        pass
    print("loaded")
"""


@pytest.mark.fuzz
@pytest.mark.parametrize("name", slow_but([], ["forest", "boosting", "hist by number"]))
def test_damaged_files_are_refused_or_harmless(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    folder = tmp_path / "files"
    folder.mkdir()
    with zipfile.ZipFile(io.BytesIO(original(name))) as archive:
        parts = {member: archive.read(member) for member in archive.namelist()}
    names = list(parts)
    for k in range(120):
        member = names[rng.integers(len(names))] if k % 3 else "schema.json"
        data = bytearray(parts[member])
        for _ in range(rng.integers(1, 4)):
            at = int(rng.integers(len(data)))
            data[at] = (
                int(rng.integers(256)) if k % 2 else int(rng.choice(list(b'0123456789-"{}[]')))
            )
        with zipfile.ZipFile(folder / f"{k:03}.skops", "w") as archive:
            for other, whole in parts.items():
                archive.writestr(other, bytes(data) if other == member else whole)
    np.save(tmp_path / "X.npy", X)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FUZZ, str(tmp_path / "X.npy"), str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = done.stdout.split()
    assert len(said) == 120
    assert said.count("refused") > 20

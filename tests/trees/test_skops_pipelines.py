from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
import xgboost as xgb
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    VarianceThreshold,
    mutual_info_classif,
)
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import robx
from robx.modelfiles import ModelFile
from robx.trees import skops as parser

RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "age": RNG.normal(size=150).round(2),
        "income": RNG.integers(0, 9, 150).astype(float),
        "town": RNG.choice(["Aix", "Bonn", "Cork"], 150),
        "owner": RNG.choice(["yes", "no"], 150),
    }
)
NUMBERS = X[["age", "income"]]
X.loc[::7, "age"] = np.nan
HOLES = X[["age", "income"]]
Y = ((X["income"] + X["age"].fillna(0) + (X["town"] == "Aix")) > 4).astype(int)
BUDGET = robx.Budget()


def forest() -> Any:
    return RandomForestClassifier(3, max_depth=3, random_state=0)


def prepared() -> Any:
    encoder = OneHotEncoder(handle_unknown="ignore", min_frequency=5, drop="first")
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "income"]),
        (encoder, ["town"]),
        remainder=OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    )


def of_numbers(*steps: Any) -> Any:
    return make_pipeline(*steps, forest())


PIPELINES: dict[str, tuple[Any, Any]] = {
    "scaled": (of_numbers(StandardScaler(), MinMaxScaler(), MaxAbsScaler()), NUMBERS),
    "robust": (of_numbers(RobustScaler(), PowerTransformer()), NUMBERS),
    "quantiles": (of_numbers(QuantileTransformer(n_quantiles=9), Binarizer()), NUMBERS),
    "bins": (
        of_numbers(KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf")),
        NUMBERS,
    ),
    "function": (of_numbers(FunctionTransformer(np.cbrt), FunctionTransformer()), NUMBERS),
    "selected": (
        of_numbers(VarianceThreshold(), SelectKBest(mutual_info_classif, k=1)),
        NUMBERS,
    ),
    "by a model": (of_numbers(SelectFromModel(DecisionTreeClassifier(random_state=0))), NUMBERS),
    "one by one": (
        of_numbers(RFE(DecisionTreeClassifier(random_state=0), n_features_to_select=1)),
        NUMBERS,
    ),
    "union": (
        of_numbers(FeatureUnion([("filled", SimpleImputer()), ("holes", MissingIndicator())])),
        HOLES,
    ),
    "calibrated": (CalibratedClassifierCV(forest(), ensemble=False), NUMBERS),
    "scaled, calibrated": (
        make_pipeline(StandardScaler(), CalibratedClassifierCV(forest(), ensemble=False)),
        NUMBERS,
    ),
    "columns": (make_pipeline(prepared(), forest()), X),
    "selectors": (
        make_pipeline(
            make_column_transformer(
                ("passthrough", make_column_selector(dtype_include=float)),
                (TargetEncoder(), ["town", "owner"]),
            ),
            HistGradientBoostingClassifier(max_iter=3, random_state=0),
        ),
        X,
    ),
    "slices": (
        make_pipeline(
            make_column_transformer(
                (SimpleImputer(strategy="most_frequent"), slice(0, 2)),
                ("drop", [2]),
                (OneHotEncoder(sparse_output=False, dtype=np.float32), [3]),
            ),
            GradientBoostingClassifier(n_estimators=3, random_state=0),
        ),
        X,
    ),
}


def saved(model: Any, folder: Path) -> Path:
    skops.io.dump(model, folder / "m.skops")
    return folder / "m.skops"


@pytest.mark.parametrize("name", PIPELINES)
def test_a_file_scores_as_its_pipeline_does(name: str, tmp_path: Path) -> None:
    made, table = PIPELINES[name]
    model = clone(made).fit(table, Y)
    path = saved(model, tmp_path)
    ensemble = robx.import_model(path, X=table)
    assert isinstance(ensemble, robx.TreeEnsemble)
    assert ensemble.names == tuple(table.columns)
    np.testing.assert_allclose(
        ensemble.score(table), model.predict_proba(table)[:, 1], atol=1e-6, rtol=0
    )
    assert ensemble == robx.import_model(model, X=table)


def test_a_pipeline_in_a_file_is_alive_and_can_be_trained_again(tmp_path: Path) -> None:
    model = make_pipeline(prepared(), forest()).fit(X, Y)
    file = ModelFile(saved(model, tmp_path))
    assert (file.model.predict_proba(X) == model.predict_proba(X)).all()
    again = file.recipe().estimator.fit(X, Y)
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X))
    answer = robx.explain(file.model, X, X[:20], keep=None)
    assert answer.ok.any()
    assert (model.predict_proba(answer.points[answer.ok])[:, 1] > 0.5).all()


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "table", "message"),
    [
        (of_numbers(PCA()), NUMBERS, r"holds a sklearn.decomposition._pca.PCA .*it was not loaded"),
        (
            make_pipeline(StandardScaler(), xgb.XGBClassifier(n_estimators=2)),
            NUMBERS,
            r"holds a xgboost\..*because others hold bytes that their library takes unchecked",
        ),
        (
            of_numbers(FunctionTransformer(np.nan_to_num)),
            NUMBERS,
            r"holds a numpy\.nan_to_num .*it was not loaded",
        ),
        (
            of_numbers(FunctionTransformer(np.sqrt, kw_args={"where": True})),
            NUMBERS.abs(),
            "passes arguments to its function",
        ),
        (
            CalibratedClassifierCV(forest(), ensemble=False, method="isotonic"),
            NUMBERS,
            "holds a sklearn.isotonic.IsotonicRegression",
        ),
        (
            CalibratedClassifierCV(forest(), cv=2),
            NUMBERS,
            "cannot be folded into its trees: it averages 2 calibrated models",
        ),
        (Pipeline([("m", forest())], memory="cache"), NUMBERS, r"\(memory=\). Save it with memory"),
    ],
    ids=["pca", "booster", "function", "arguments", "isotonic", "several", "memory"],
)
def test_what_is_refused(
    model: Any, table: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(robx.UnsupportedModel, match=message):
        robx.import_model(saved(clone(model).fit(table, Y), tmp_path), X=table)


def rewritten(model: Any, table: Any, folder: Path, change: Callable[[Any], None]) -> Path:
    """Write a file of a pipeline that was changed after it was fitted."""
    fitted = clone(model).fit(table, Y)
    change(fitted)
    return saved(fitted, folder)


def _set(name: str, value: Any) -> Callable[[Any], None]:
    return lambda model: setattr(model[0], name, value)


ENCODED = of_numbers(OneHotEncoder(handle_unknown="ignore"))
GROUPED = of_numbers(OneHotEncoder(handle_unknown="ignore", max_categories=3, drop="first"))


@pytest.mark.parametrize(
    ("made", "change", "message"),
    [
        (ENCODED, _set("_n_features_outs", [1, 1]), "writes to columns which it does not have"),
        (ENCODED, _set("_n_features_outs", [2**40, 9]), "columns which it does not have"),
        (ENCODED, _set("_n_features_outs", [9]), "lists do not fit its categories"),
        (ENCODED, _set("_n_features_outs", np.array([1, 9])), "lists do not fit its categories"),
        (ENCODED, lambda m: m[0].categories_.reverse(), "columns which it does not have"),
        (
            ENCODED,
            lambda m: m[0].categories_.__setitem__(1, m[0].categories_[1][::-1].copy()),
            "categories are not in order",
        ),
        (
            GROUPED,
            lambda m: m[0]._default_to_infrequent_mappings[1].__setitem__(0, 2**40),
            "columns which it does not have",
        ),
        (
            GROUPED,
            _set("_drop_idx_after_grouping", np.array([-5, -5], dtype=object)),
            "columns which it does not have",
        ),
        (
            of_numbers(KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf")),
            lambda m: setattr(m[0]._encoder, "_n_features_outs", [1, 1]),
            "columns which it does not have",
        ),
        (of_numbers(StandardScaler()), _set("transform", np.exp), "has an 'transform' of its own"),
        (
            of_numbers(StandardScaler()),
            _set("scale_", DecisionTreeRegressor().fit(NUMBERS, Y)),
            "DecisionTreeRegressor outside of a model",
        ),
        (
            of_numbers(SelectFromModel(DecisionTreeClassifier())),
            lambda m: setattr(m[0].estimator_, "n_features_in_", 7),
            "has a tree for 2 features",
        ),
    ],
    ids=[
        *("few", "many", "short", "array", "turned", "unsorted", "groups", "dropped", "inner"),
        *("method", "tree", "importances"),
    ],
)
def test_parts_that_contradict_themselves_are_refused_before_they_are_asked(
    made: Any,
    change: Callable[[Any], None],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = rewritten(made, NUMBERS, tmp_path, change)
    for kind in (OneHotEncoder, StandardScaler, SelectFromModel):
        monkeypatch.setattr(kind, "transform", lambda *_: pytest.fail("it was asked"))
    with pytest.raises(robx.InvalidModel, match=message):
        robx.import_model(path, X=NUMBERS)
    with pytest.raises(robx.InvalidModel, match=message):
        parser.load(path, BUDGET)


def test_trees_in_a_pipeline_are_checked_node_by_node(tmp_path: Path) -> None:
    data = skops.io.dumps(clone(PIPELINES["columns"][0]).fit(X, Y))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {member: archive.read(member) for member in archive.namelist()}
    for member, part in parts.items():
        if member.endswith(".npy") and (nodes := np.load(io.BytesIO(part))).dtype.names:
            nodes["left_child"][0] = 2**40
            buffer = io.BytesIO()
            np.save(buffer, nodes)
            parts[member] = buffer.getvalue()
    with zipfile.ZipFile(tmp_path / "m.skops", "w") as archive:
        for member, part in parts.items():
            archive.writestr(member, part)
    with pytest.raises(robx.InvalidModel):
        robx.import_model(tmp_path / "m.skops", X=X)


def test_a_function_of_another_module_is_never_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = skops.io.dumps(of_numbers(FunctionTransformer(np.exp)).fit(NUMBERS, Y))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {member: archive.read(member) for member in archive.namelist()}
    schema = json.loads(parts["schema.json"])
    for node in parser._nodes(schema):
        if node["__loader__"] == "FunctionNode":
            node.update(__module__="os", __class__="system")
    parts["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile(tmp_path / "m.skops", "w") as archive:
        for member, part in parts.items():
            archive.writestr(member, part)
    monkeypatch.setattr(skops.io, "loads", lambda *a, **k: pytest.fail("it was loaded"))
    with pytest.raises(robx.UnsupportedModel, match=r"holds a os\.system \(FunctionNode\)"):
        robx.import_model(tmp_path / "m.skops")

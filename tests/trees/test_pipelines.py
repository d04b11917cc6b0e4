from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
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
from xgboost import XGBClassifier

import robx
from pipeline_cases import (
    LAST,
    NUMBERS,
    PipelineCase,
    assert_folds,
    folded,
    last_step,
    make_case,
    outcome,
    raw_table,
)
from robx.trees import TreeEnsemble
from speed import slow_but, tries

#: A pipeline is held against itself on some hundred rows.
CASES = int(os.environ.get("ROBX_FUZZ", "0")) // 2


@cache
def table() -> tuple[pd.DataFrame, Any]:
    X = raw_table()
    return X, outcome(X)


def fitted(*steps: Any, last: str = "forest") -> PipelineCase:
    X, y = table()
    with warnings.catch_warnings():  # about a seed, which another version does not take otherwise
        warnings.simplefilter("ignore", FutureWarning)
        return PipelineCase(make_pipeline(*steps, last_step(last)).fit(X, y), X, y)


def why(*steps: Any, last: Any = None, X: Any = None) -> str:
    frame, y = table()
    model = make_pipeline(*steps, last or last_step("forest")).fit(frame, y)
    with pytest.warns(robx.SlowModel) as said:
        box = robx.import_model(model, X=X)
    assert isinstance(box, robx.BlackBox)
    assert [str(one.message) for one in said] == [box.why]
    start = "The pipeline is scored as a black box, which is slow: "
    assert box.why.startswith(start)
    assert box.score(frame).tolist() == model.predict_proba(frame)[:, 1].tolist()
    return box.why.removeprefix(start)


# --- numbers --------------------------------------------------------------------------------------

FILLED: dict[str, Callable[[], Any]] = {
    "standard": StandardScaler,
    "without a mean": lambda: StandardScaler(with_mean=False),
    "minmax": MinMaxScaler,
    "clipped": lambda: MinMaxScaler(clip=True),
    "largest": MaxAbsScaler,
    "robust": RobustScaler,
    "power": PowerTransformer,
    "power of two": lambda: FunctionTransformer(np.square),
    "quantiles": lambda: QuantileTransformer(n_quantiles=30),
    "normal quantiles": lambda: QuantileTransformer(n_quantiles=30, output_distribution="normal"),
    "bins": lambda: KBinsDiscretizer(5, strategy="uniform"),
    "bins in order": lambda: KBinsDiscretizer(5, encode="ordinal", strategy="uniform"),
    "flag": lambda: Binarizer(threshold=30),
    "logarithm": lambda: FunctionTransformer(np.log1p),
    "falling": lambda: FunctionTransformer(np.negative),
    "two in a row": lambda: make_pipeline(MinMaxScaler(), FunctionTransformer(np.cbrt)),
}
QUICK = ["standard", "normal quantiles", "bins", "logarithm", "falling"]


@pytest.mark.parametrize("name", slow_but(QUICK, FILLED))
def test_a_threshold_on_prepared_numbers_is_the_last_number_on_its_side(name: str) -> None:
    columns = ["income", "age"] if name == "logarithm" else NUMBERS
    step = make_column_transformer((make_pipeline(SimpleImputer(), FILLED[name]()), columns))
    ensemble = assert_folds(fitted(step))
    assert [column.is_ignored for column in ensemble.columns] == [
        column not in columns for column in table()[0].columns
    ]


def test_numbers_that_the_pipeline_refuses_are_refused() -> None:
    step = make_pipeline(SimpleImputer(), PowerTransformer(method="box-cox"))
    case = fitted(make_column_transformer((step, ["income", "age"])), last="xgboost")
    ensemble = assert_folds(case)
    low, _ = ensemble.columns[0].limits or (0, 0)
    assert low == 5e-324
    with pytest.raises(robx.InvalidInput, match="has the value 0.0 in row 0; the model takes valu"):
        ensemble.score(case.X[:1].assign(income=0.0))


def test_single_precision_is_computed_in_where_the_table_holds_it() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)) * 1e3 + 12345, columns=["a", "b"]).astype("float32")
    y = (X["a"] > X["b"]).to_numpy().astype(int)
    model = make_pipeline(StandardScaler(), XGBClassifier(n_estimators=20, n_jobs=1)).fit(X, y)
    ensemble = folded(model, X)
    t = ensemble.split_threshold.astype(np.float32)
    rows = X.iloc[rng.integers(0, 300, 3 * len(t))].reset_index(drop=True)
    for k, value in enumerate([t, np.nextafter(t, -np.inf), np.nextafter(t, np.inf)]):
        for i, j in enumerate(ensemble.split_feature):
            rows.iloc[3 * i + k, j] = value[i]
    np.testing.assert_array_equal(ensemble.score(rows), model.predict_proba(rows)[:, 1])


# --- categories -----------------------------------------------------------------------------------

ENCODERS: dict[str, Callable[[], Any]] = {
    "one-hot": lambda: OneHotEncoder(handle_unknown="ignore"),
    "one-hot, strict": OneHotEncoder,
    "one-hot, first dropped": lambda: OneHotEncoder(drop="first", handle_unknown="ignore"),
    "one-hot, infrequent": lambda: OneHotEncoder(
        min_frequency=0.2, handle_unknown="infrequent_if_exist"
    ),
    "ordinal": lambda: OrdinalEncoder(encoded_missing_value=-1),
    "ordinal, unknown": lambda: OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-7, max_categories=3
    ),
    "target": lambda: TargetEncoder(cv=3, random_state=0),
    "filled": lambda: make_pipeline(
        SimpleImputer(strategy="constant", fill_value="nothing"), OneHotEncoder()
    ),
}


@pytest.mark.parametrize("name", slow_but(["one-hot", "one-hot, infrequent"], ENCODERS))
@pytest.mark.parametrize("last", slow_but(["xgboost"], ["xgboost", "lightgbm", "hist"]))
def test_a_split_on_encoded_columns_is_a_set_of_categories(name: str, last: str) -> None:
    columns = ["purpose", "job", "code"] if name != "filled" else ["purpose", "job"]
    step = ColumnTransformer([("e", ENCODERS[name](), columns)], sparse_threshold=0)
    ensemble = assert_folds(fitted(step, last=last))
    purpose, job = ensemble.columns[4:6]
    assert sorted(purpose.categories or ()) == ["boat", "car", "home", "tv"]
    assert job.takes_missing
    assert purpose.takes_unseen == (name not in {"one-hot, strict", "ordinal", "filled"})


def test_categories_that_the_pipeline_refuses_are_refused() -> None:
    case = fitted(make_column_transformer((OneHotEncoder(), ["purpose", "job"])))
    ensemble = folded(case.pipeline)
    assert not ensemble.columns[4].takes_missing  # there was none in training
    row = case.X[:1].assign(purpose="yacht")
    with pytest.raises(
        robx.InvalidInput, match="'yacht' in row 0, which the model was not trained"
    ):
        ensemble.score(row)
    with pytest.raises(robx.InvalidInput, match="Column 'purpose' of X has a missing value in row"):
        ensemble.score(case.X[:1].assign(purpose=None))


def test_zeros_of_a_sparse_matrix_are_missing_to_xgboost_alone() -> None:
    step = make_column_transformer(
        (OneHotEncoder(), ["purpose"]), (StandardScaler(), ["count", "rate"]), sparse_threshold=1
    )
    for last in ("xgboost", "lightgbm"):
        case = fitted(step, last=last)
        assert hasattr(case.pipeline[0].transform(case.X), "tocsr")
        ensemble = assert_folds(case)
        # The mean, and only it, becomes a zero.
        at = float(case.pipeline[0].named_transformers_["standardscaler"].mean_[0])
        rows = case.X[:20].assign(count=np.resize([at, np.nextafter(at, 9), 0.0], 20))
        np.testing.assert_allclose(
            ensemble.score(rows), case.pipeline.predict_proba(rows)[:, 1], atol=1e-6
        )


def test_none_stands_for_a_missing_value_where_the_table_has_it() -> None:
    frame, y = table()
    X = frame.assign(job=frame["job"].astype(object).where(frame["job"].notna(), None))
    encoder = OneHotEncoder(handle_unknown="ignore")
    model = make_pipeline(
        make_column_transformer((encoder, ["job"]), (SimpleImputer(), ["income"])),
        last_step("forest"),
    ).fit(X, y)
    assert None in encoder.fit(X[["job"]]).categories_[0].tolist()
    assert (folded(model, X).score(X) == model.predict_proba(X)[:, 1]).all()


# --- missing values -------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", "constant"])
def test_a_missing_value_goes_where_its_filling_goes(strategy: str) -> None:
    step = SimpleImputer(strategy=strategy, add_indicator=strategy == "median")
    case = fitted(make_column_transformer((step, NUMBERS)))
    ensemble = assert_folds(case)
    assert all(column.takes_missing for column in ensemble.columns[:4])


def test_a_number_that_stands_for_a_missing_one_is_filled_too() -> None:
    frame, y = table()
    X = frame[["count", "rate"]].replace({"count": {3.0: -1.0}})
    steps = SimpleImputer(missing_values=-1.0, strategy="constant", fill_value=100.0)
    model = make_pipeline(steps, last_step("xgboost")).fit(X, y)
    ensemble = assert_folds(PipelineCase(model, X, y))
    assert not ensemble.columns[0].takes_missing
    rows = X[:3].assign(count=[-1.0, 100.0, -1.0000001])
    np.testing.assert_allclose(ensemble.score(rows), model.predict_proba(rows)[:, 1], atol=1e-7)


def test_holes_alone_can_be_looked_at() -> None:
    step = FeatureUnion([("holes", MissingIndicator()), ("values", SimpleImputer())])
    assert_folds(fitted(make_column_transformer((step, NUMBERS))))


# --- which columns --------------------------------------------------------------------------------

PLACES: dict[str, Any] = {
    "names": ["income", "age"],
    "numbers": [0, -7],
    "slice": slice(0, 2),
    "slice of names": slice("income", "age"),
    "mask": [True, True, *[False] * 6],
    "selector": make_column_selector(pattern="^(?:income|age)$"),
}


@pytest.mark.parametrize("name", PLACES)
def test_columns_are_found_however_they_are_named(name: str) -> None:
    inner = ColumnTransformer([("fill", SimpleImputer(), slice(None))])
    outer = ColumnTransformer(
        [("two", inner, PLACES[name]), ("no", "drop", ["rate"])],
        remainder=OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    )
    case = fitted(outer, last="tree")
    ensemble = folded(case.pipeline, case.X)
    assert [column.is_ignored for column in ensemble.columns] == [*[False] * 2, True, *[False] * 5]
    assert (ensemble.score(case.X) == case.pipeline.predict_proba(case.X)[:, 1]).all()


def test_a_column_may_take_several_ways() -> None:
    step = FeatureUnion(
        [
            ("scaled", make_pipeline(SimpleImputer(), StandardScaler())),
            ("same", "passthrough"),
            ("binned", make_pipeline(SimpleImputer(), KBinsDiscretizer(3, strategy="uniform"))),
        ],
        transformer_weights={"scaled": -2.0},
    )
    assert_folds(fitted(make_column_transformer((step, NUMBERS)), last="lightgbm"))


def test_numbers_may_be_categories_as_well() -> None:
    encoder = OneHotEncoder(handle_unknown="ignore")
    ensemble = assert_folds(
        fitted(
            make_column_transformer((encoder, ["code", "count"]), ("passthrough", ["code"])),
            last="xgboost",
        )
    )
    code, count = ensemble.columns[6], ensemble.columns[3]
    assert not code.is_category
    assert count.categories == (0.0, 1.0, 2.0, 3.0, 4.0)


def test_selected_columns_are_followed() -> None:
    prepare = make_column_transformer(
        (SimpleImputer(), NUMBERS), (OneHotEncoder(sparse_output=False), ["purpose"])
    )
    case = fitted(prepare, SelectKBest(f_classif, k=3), "passthrough")
    ensemble = assert_folds(case)
    assert sum(column.is_ignored for column in ensemble.columns) >= 3


def test_a_column_that_is_dropped_after_it_was_encoded_must_still_be_readable() -> None:
    prepare = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["purpose", "note"]), (StandardScaler(), ["rate"])
    )
    case = fitted(prepare, SelectKBest(f_classif, k=2))
    ensemble = assert_folds(case)
    assert ensemble.columns[7].categories == ("x", "y")
    assert not ensemble.columns[7].takes_unseen


def test_text_that_is_dropped_is_taken_whatever_it_says() -> None:
    case = fitted(make_column_transformer((SimpleImputer(), NUMBERS)))
    ensemble = folded(case.pipeline)
    notes = pd.Series(["?", None, "x", "", "long"], dtype=object)
    rows = case.X[:5].assign(note=notes, purpose=3)
    assert (ensemble.score(rows) == case.pipeline.predict_proba(rows)[:, 1]).all()
    ensemble.check_columns(rows)


def test_categories_of_the_library_pass_through() -> None:
    frame, y = table()
    X = frame.assign(purpose=frame["purpose"].astype("category"))
    prepare = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["income"]),
        ("passthrough", ["purpose"]),
    ).set_output(transform="pandas")
    model = make_pipeline(prepare, XGBClassifier(n_estimators=8, enable_categorical=True, n_jobs=1))
    model.fit(X, y)
    ensemble = folded(model, X)
    assert ensemble.columns[4].categories == ("boat", "car", "home", "tv")
    np.testing.assert_allclose(ensemble.score(X), model.predict_proba(X)[:, 1], atol=1e-6)


def test_arrays_and_polars_frames_are_read_as_the_pipeline_reads_them() -> None:
    frame, y = table()
    array = frame[NUMBERS].to_numpy()
    model = make_pipeline(SimpleImputer(), StandardScaler(), last_step("forest")).fit(array, y)
    ensemble = folded(model, array)
    assert not ensemble.named
    assert (ensemble.score(array) == model.predict_proba(array)[:, 1]).all()
    X = pl.from_pandas(frame[["income", "job"]])
    prepare = make_column_transformer((SimpleImputer(), ["income"]), (OneHotEncoder(), ["job"]))
    of_polars = make_pipeline(prepare, last_step("forest")).fit(X, y)
    assert (folded(of_polars, X).score(X) == of_polars.predict_proba(X)[:, 1]).all()


def test_a_pipeline_of_one_step_is_that_step() -> None:
    X, y = table()
    model = Pipeline([("nothing", "passthrough"), ("forest", last_step("hist"))])
    ensemble = folded(model.fit(X[NUMBERS], y))
    assert ensemble == robx.import_model(model[-1])


def test_samplers_of_imbalanced_learn_do_nothing_at_prediction() -> None:
    class Sampler:
        def fit_resample(self, X: Any, y: Any) -> Any:
            return X, y

    class Balanced(Pipeline):  # type: ignore[misc]
        def predict_proba(self, X: Any, **params: Any) -> Any:
            plain = Pipeline([step for step in self.steps if not hasattr(step[1], "fit_resample")])
            return plain.predict_proba(X, **params)

    Balanced.__module__, Balanced.__name__ = "imblearn.pipeline", "Pipeline"
    case = fitted(numbers())
    steps = [*case.pipeline.steps[:-1], ("sample", Sampler()), case.pipeline.steps[-1]]
    assert folded(Balanced(steps)) == folded(case.pipeline)


# --- what stays a black box -----------------------------------------------------------------------


def numbers() -> Any:
    return make_column_transformer((SimpleImputer(), NUMBERS))


def test_what_mixes_columns_is_said() -> None:
    prepare = ColumnTransformer([("fill", SimpleImputer(), NUMBERS)])
    assert why(prepare, PCA(2)) == "step 'pca' (PCA) mixes columns."
    nested = ColumnTransformer([("fill", make_pipeline(KNNImputer(), PCA(2)), NUMBERS)])
    assert why(nested) == (
        "step 'columntransformer > fill > knnimputer' (KNNImputer) fills a column from others."
    )
    assert why(numbers(), last=LogisticRegression(max_iter=1000)) == (
        "its last step (LogisticRegression) is not a tree ensemble."
    )


def test_what_takes_many_turns_is_not_folded() -> None:
    wave = make_pipeline(SimpleImputer(), FunctionTransformer(np.sin))
    said = why(make_column_transformer((wave, ["income"])))
    assert said.startswith("a column is neither monotone in its raw column nor constant in few")


def test_text_that_is_a_number_elsewhere_is_folded_where_all_of_it_is_known() -> None:
    X, y = table()
    frame = X[["code", "rate"]].assign(code=X["code"].astype(str))
    for handle_unknown in ("error", "ignore"):
        prepare = make_column_transformer(
            (OneHotEncoder(handle_unknown=handle_unknown), ["code"]),
            (StandardScaler(), ["code", "rate"]),
        )
        model = make_pipeline(prepare, last_step("forest")).fit(frame, y)
        imported = robx.import_model(model)
        assert isinstance(imported, TreeEnsemble) == (handle_unknown == "error")
        assert (imported.score(frame) == model.predict_proba(frame)[:, 1]).all()
    assert imported.why.endswith("column 'code' is text to one step and a number to another.")


def test_an_unfitted_pipeline_is_told_so() -> None:
    with pytest.raises(robx.InvalidModel, match="The Pipeline is not fitted: train it"):
        robx.import_model(make_pipeline(StandardScaler(), last_step("forest")))


def test_a_pipeline_with_a_predict_proba_of_its_own_is_asked() -> None:
    class Careful(Pipeline):  # type: ignore[misc]
        def predict_proba(self, X: Any, **params: Any) -> Any:
            return 0.9 * super().predict_proba(X, **params)

    X, y = table()
    model = Careful([("fill", SimpleImputer()), ("forest", last_step("forest"))])
    box = robx.import_model(model.fit(X[NUMBERS], y))
    assert isinstance(box, robx.BlackBox)
    assert box.why == ""


# --- transformers that people write ---------------------------------------------------------------


class Tidy(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Works column by column, on a frame."""

    def fit(self, X: Any, y: Any = None) -> Tidy:
        self.is_fitted_ = True
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "income": np.sqrt(X["income"].clip(lower=0).fillna(0)),
                "is_old": (X["age"] > 40.5).astype(float),
                "purpose": X["purpose"].str.upper().replace("BOAT", "TV"),
            }
        )


class Mixing(Tidy):
    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        out = super().transform(X)
        return out.assign(income=out["income"] * (1 + out["is_old"]))


class Sneaky(Tidy):
    """Mixes columns for very few rows."""

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        out = super().transform(X)
        rare = (X["age"] > 75) & (X["income"] < 10)
        return out.assign(income=out["income"].where(~rare, 30.0))


class Ranking(Tidy):
    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        return super().transform(X).assign(income=X["income"].rank())


def encoded() -> Any:
    return make_column_transformer((OneHotEncoder(), ["purpose"]), remainder="passthrough")


def test_a_transformer_that_goes_column_by_column_is_folded() -> None:
    case = fitted(Tidy(), encoded())
    ensemble = assert_folds(case)
    purpose, age = ensemble.columns[4], ensemble.columns[1]
    assert not purpose.takes_unseen
    assert set(purpose.categories or ()) == {"boat", "car", "home", "tv"}
    assert not age.is_category
    own = ensemble.split_threshold[ensemble.split_feature == 1]
    assert set(own[own < 1e30]) == {40.5}
    assert isinstance(robx.import_model(case.pipeline), robx.BlackBox)  # without rows to try it on


def test_a_transformer_that_mixes_columns_or_rows_is_not() -> None:
    X, _ = table()
    assert why(Mixing(), encoded(), X=X) == "step 'mixing' (Mixing) mixes columns."
    assert why(Sneaky(), encoded(), X=X) == "step 'sneaky' (Sneaky) mixes columns."
    assert why(Ranking(), encoded(), X=X) == "step 'ranking' (Ranking) looks at other rows as well."


def test_a_function_of_a_column_is_folded_where_there_are_rows_to_try() -> None:
    step = FunctionTransformer(lambda frame: np.log1p(frame.fillna(0).clip(lower=0)))
    assert_folds(fitted(make_column_transformer((step, ["income", "age"]))))


# --- calibrated models ----------------------------------------------------------------------------


@pytest.mark.parametrize("last", ["forest", "hist", "boosting"])
def test_a_sigmoid_after_the_trees_is_their_link(last: str) -> None:
    X, y = table()
    model = make_pipeline(numbers(), last_step(last)).fit(X, y)
    around = CalibratedClassifierCV(FrozenEstimator(model)).fit(X, y)
    inside = make_pipeline(
        numbers(), CalibratedClassifierCV(last_step(last), ensemble=False, cv=3)
    ).fit(X, y)
    for one in (around, inside):
        ensemble = assert_folds(PipelineCase(one, X, y))
        assert ensemble.link == "sigmoid"
        other = robx.import_model(one, target=0)
        np.testing.assert_allclose(other.score(X), one.predict_proba(X)[:, 0], atol=1e-12)


def test_other_calibrations_are_said_to_be_slow() -> None:
    X, y = table()
    forest, xgb = last_step("forest"), last_step("xgboost")
    for model, reason in [
        (CalibratedClassifierCV(forest, cv=2), "it averages 2 calibrated models; with ensemble="),
        (
            CalibratedClassifierCV(forest, method="isotonic", ensemble=False, cv=2),
            "its isotonic calibration is not a link of the trees' sums.",
        ),
        (
            CalibratedClassifierCV(xgb, ensemble=False, cv=2),
            "its calibration is a sigmoid after that of the trees.",
        ),
    ]:
        box = robx.import_model(model.fit(X[["rate", "count"]], y))
        assert isinstance(box, robx.BlackBox)
        start = "The CalibratedClassifierCV is scored as a black box, which is slow: "
        assert box.why.startswith(start + reason)


# --- all of it ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(tries(24, few=4)))
def test_random_pipelines_score_as_their_own_predict_proba(seed: int) -> None:
    assert_folds(make_case(seed, LAST[seed % len(LAST)]))


@pytest.mark.fuzz
@pytest.mark.skipif(not CASES, reason="make fuzz")
@pytest.mark.parametrize("seed", range(1000, 1000 + CASES))
def test_thousands_of_random_pipelines_score_as_their_own_predict_proba(seed: int) -> None:
    assert_folds(make_case(seed, LAST[seed % len(LAST)]))


def test_a_folded_pipeline_is_saved_and_read_back(tmp_path: Path) -> None:
    step = make_pipeline(SimpleImputer(), PowerTransformer(method="box-cox"))
    prepare = make_column_transformer((step, ["income"]), (OneHotEncoder(), ["purpose", "job"]))
    case = fitted(prepare)
    ensemble = folded(case.pipeline, case.X)
    ensemble.save(tmp_path / "pipeline.robx")
    again = robx.import_model(tmp_path / "pipeline.robx")
    assert isinstance(again, TreeEnsemble)
    assert again == ensemble
    assert again.columns == ensemble.columns
    assert (pickle.loads(pickle.dumps(ensemble)).score(case.X) == again.score(case.X)).all()


def test_the_import_is_the_same_every_time() -> None:
    case = make_case(3, "xgboost")
    assert folded(case.pipeline) == folded(case.pipeline, case.X)


def test_more_splits_than_are_worth_it_stay_a_black_box(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robx.trees.rewriting.MOST_TIMES", 1)
    monkeypatch.setattr("robx.trees.rewriting.MOST_NODES", 1)
    step = make_pipeline(SimpleImputer(), KBinsDiscretizer(20, strategy="uniform"))
    X, y = table()
    prepare = make_column_transformer((step, NUMBERS))
    model = make_pipeline(prepare, RandomForestClassifier(10, random_state=0)).fit(X, y)
    box = robx.import_model(model)
    assert isinstance(box, robx.BlackBox)
    assert "several times as many nodes" in box.why

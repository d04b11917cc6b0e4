"""Random tables and random pipelines over them, and the rows on which folding is hard.

A `PipelineCase` is a fitted pipeline with its raw table. `hard_rows` gives rows at, one step below
and above every threshold of the folded ensemble, with every category, unseen ones and missing ones.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_classif
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
from sklearn.tree import DecisionTreeClassifier

import robx
from robx.trees import TreeEnsemble

Rng = np.random.Generator

NUMBERS = ["income", "age", "rate", "count"]
TEXTS = ["purpose", "job", "code"]


@dataclass(frozen=True)
class PipelineCase:
    """A fitted pipeline and the table that it was fitted on."""

    pipeline: Any
    X: pd.DataFrame
    y: NDArray[np.int64]


def raw_table(n: int = 240, seed: int = 0, *, missing: bool = True) -> pd.DataFrame:
    """Loan applicants with text, numbers, whole numbers as codes, and holes."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": rng.lognormal(3, 1, n).round(2),
            "age": rng.integers(18, 80, n).astype(float),
            "rate": rng.normal(0, 1e-3, n),
            "count": rng.integers(0, 5, n).astype(float),
            "purpose": rng.choice(["car", "home", "tv", "boat"], n, p=[0.5, 0.3, 0.17, 0.03]),
            "job": rng.choice(["clerk", "cook", "none"], n),
            "code": rng.integers(0, 4, n) * 10,
            "note": rng.choice(["x", "y"], n),
        }
    )
    if missing:
        for name in ("income", "age", "job"):
            frame.loc[rng.random(n) < 0.1, name] = np.nan
    return frame


def outcome(frame: pd.DataFrame, seed: int = 1) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    worth = (
        np.log(frame["income"].fillna(20.0))
        + 0.02 * frame["age"].fillna(40.0)
        + 300 * frame["rate"]
        + (frame["purpose"] == "home")
        - (frame["job"].isna())
        + 0.02 * frame["code"]
        + 0.5 * rng.normal(size=len(frame))
    )
    return np.asarray(worth > np.median(worth), dtype=np.int64)


def last_step(name: str) -> Any:
    """A small model of one of the libraries."""
    seeds: dict[str, Any] = {"random_state": 0}
    match name:
        case "xgboost":
            return xgb.XGBClassifier(n_estimators=12, max_depth=4, n_jobs=1, **seeds)
        case "lightgbm":
            return lgb.LGBMClassifier(
                n_estimators=12, num_leaves=9, min_child_samples=5, n_jobs=1, verbose=-1, **seeds
            )
        case "catboost":
            return catboost.CatBoostClassifier(
                iterations=12, depth=4, verbose=0, thread_count=1, allow_writing_files=False
            )
        case "forest":
            return RandomForestClassifier(8, max_depth=6, n_jobs=1, **seeds)
        case "extra":
            return ExtraTreesClassifier(8, max_depth=6, n_jobs=1, **seeds)
        case "boosting":
            return GradientBoostingClassifier(n_estimators=12, **seeds)
        case "tree":
            return DecisionTreeClassifier(max_depth=6, **seeds)
        case _:
            return HistGradientBoostingClassifier(max_iter=12, **seeds)


LAST = ["xgboost", "lightgbm", "catboost", "forest", "extra", "boosting", "tree", "hist"]


def _fill(rng: Rng, always: bool) -> list[Any]:
    strategies = ["mean", "median", "most_frequent", "constant"]
    if not always and rng.random() < 0.4:
        return []
    chosen = str(rng.choice(strategies))
    value = float(rng.choice([-999.0, 0.0])) if chosen == "constant" else None
    return [SimpleImputer(strategy=chosen, fill_value=value, add_indicator=rng.random() < 0.4)]


def number_transformer(rng: Rng, fills: bool) -> Any:
    """Some way to prepare numbers, after which nothing is missing if it `fills`."""
    ways: list[Any] = [
        lambda: "passthrough",
        StandardScaler,
        MinMaxScaler,
        lambda: MinMaxScaler(clip=True),
        MaxAbsScaler,
        RobustScaler,
        PowerTransformer,
        lambda: QuantileTransformer(n_quantiles=20),
        lambda: QuantileTransformer(n_quantiles=15, output_distribution="normal"),
        lambda: FunctionTransformer(np.arctan),
        lambda: FunctionTransformer(np.negative),
        lambda: make_pipeline(StandardScaler(), FunctionTransformer(np.cbrt)),
    ]
    steps = _fill(rng, fills)
    way = ways[rng.integers(len(ways))]()
    if steps and rng.random() < 0.5:
        more: list[Any] = [
            lambda: KBinsDiscretizer(4, encode="onehot", quantile_method="averaged_inverted_cdf"),
            lambda: KBinsDiscretizer(3, encode="ordinal", strategy="uniform"),
            lambda: Binarizer(threshold=20.0),
            VarianceThreshold,
        ]
        way = more[rng.integers(len(more))]()
    steps = [*steps, way]
    made = make_pipeline(*steps)
    if not fills and rng.random() < 0.2:
        return FeatureUnion([("values", made), ("holes", MissingIndicator(features="all"))])
    return made


def text_transformer(rng: Rng) -> Any:
    """Some encoder, now and then after an imputer."""
    ways: list[Any] = [
        lambda: OneHotEncoder(handle_unknown="ignore", sparse_output=rng.random() < 0.5),
        lambda: OneHotEncoder(drop="first"),
        lambda: OneHotEncoder(drop="if_binary", handle_unknown="ignore"),
        lambda: OneHotEncoder(min_frequency=0.1, handle_unknown="infrequent_if_exist"),
        lambda: OneHotEncoder(max_categories=3, handle_unknown="infrequent_if_exist"),
        lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        lambda: OrdinalEncoder(encoded_missing_value=-2),
        lambda: OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=9, min_frequency=20
        ),
        lambda: TargetEncoder(cv=3, random_state=0),
    ]
    encoder = ways[rng.integers(len(ways))]()
    if rng.random() < 0.3:
        return make_pipeline(SimpleImputer(strategy="most_frequent"), encoder)
    return encoder


def random_pipeline(seed: int, last: str) -> Pipeline:
    """A pipeline that can be fitted on `raw_table`."""
    rng = np.random.default_rng(seed)
    fills = last == "boosting"
    numbers = [str(name) for name in rng.permutation(NUMBERS)]
    cut = int(rng.integers(1, 4))
    texts = [str(name) for name in rng.permutation(TEXTS)]
    parts: list[Any] = [
        ("first", number_transformer(rng, fills), numbers[:cut]),
        ("second", number_transformer(rng, fills), numbers[cut:]),
        ("texts", text_transformer(rng), texts[:2]),
    ]
    if rng.random() < 0.5:
        parts.append(("more", text_transformer(rng), texts[2:]))
    if rng.random() < 0.3:
        parts.append(("codes", OneHotEncoder(handle_unknown="ignore"), ["code"]))
    parts = [parts[k] for k in rng.permutation(len(parts))]
    if rng.random() < 0.2:
        parts.append(("ages", make_pipeline(*_fill(rng, True), StandardScaler()), ["age"]))
    columns = ColumnTransformer(parts, sparse_threshold=float(rng.choice([0.0, 0.3, 1.0])))
    if last == "hist":
        columns.sparse_threshold = 0.0
    elif rng.random() < 0.2 and columns.sparse_threshold == 0:
        columns.set_output(transform="default")
    steps: list[Any] = [columns]
    if rng.random() < 0.2 and fills:
        steps.append(SelectKBest(f_classif, k=4))
    return make_pipeline(*steps, last_step(last))


def make_case(seed: int, last: str) -> PipelineCase:
    """A fitted pipeline; another one where the model does not take what comes out of the first."""
    X = raw_table(seed=seed)
    y = outcome(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for again in range(20):
            with suppress(ValueError):
                return PipelineCase(random_pipeline(seed + 10_000 * again, last).fit(X, y), X, y)
    raise AssertionError(f"no pipeline of seed {seed} can be fitted")


def folded(pipeline: Any, X: Any = None) -> TreeEnsemble:
    """Import a pipeline, which must not become a black box."""
    model = robx.import_model(pipeline, X=X)
    assert isinstance(model, TreeEnsemble), getattr(model, "why", "")
    return model


def hard_rows(ensemble: TreeEnsemble, X: pd.DataFrame, seed: int = 2) -> pd.DataFrame:
    """Rows around every threshold, with every category, unseen ones and missing ones."""
    rng = np.random.default_rng(seed)
    with np.errstate(over="ignore"):  # some thresholds are the largest numbers there are
        cells = _hard_cells(ensemble)
    rows = X.iloc[rng.integers(0, len(X), len(cells))].astype(object).reset_index(drop=True)
    for i, (j, value) in enumerate(cells):
        rows.iloc[i, j] = value
    rows = rows.astype({name: float for name in X.columns if X[name].dtype.kind in "fi"})
    return rows.astype({n: X[n].dtype for n in X.columns if X[n].dtype.kind not in "fi"})


def _hard_cells(ensemble: TreeEnsemble) -> list[tuple[int, Any]]:
    cells: list[tuple[int, Any]] = []
    for j, column in enumerate(ensemble.columns):
        if column.is_ignored:
            continue
        own = ensemble.split_threshold[
            (ensemble.split_feature == j) & (ensemble.split_category < 0)
        ]
        for t in own[np.isfinite(own)].tolist():
            cells += [(j, t), (j, np.nextafter(t, -np.inf)), (j, np.nextafter(t, np.inf))]
        if column.is_category:
            cells += [(j, value) for value in column.categories or ()]
            is_text = isinstance((column.categories or (0,))[0], str)
            if column.takes_unseen:
                cells.append((j, "never seen" if is_text else 12345))
        else:
            cells += [(j, value) for value in (0.0, -0.0, 1e-40, -1e300, 1e300, 3.4e38, 1.5)]
        if column.takes_missing:
            cells.append((j, np.nan))
    return cells


def taken(ensemble: TreeEnsemble, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that the ensemble says it takes."""
    from robx.trees.rowwise import refusals

    return rows[[not reason for reason in refusals(ensemble, rows)]]


def assert_folds(case: PipelineCase) -> TreeEnsemble:
    """Hold the folded pipeline against its own predict_proba on hard rows."""
    ensemble = folded(case.pipeline, case.X)
    rows = taken(ensemble, hard_rows(ensemble, case.X))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = case.pipeline.predict_proba(rows)[:, 1]
    ours = ensemble.score(rows)
    worst = int(np.abs(ours - theirs).argmax())
    assert np.abs(ours - theirs).max() <= 1e-6, (dict(rows.iloc[worst]), ours[worst], theirs[worst])
    assert ((ours > 0.5) == (theirs > 0.5)).all()
    return ensemble

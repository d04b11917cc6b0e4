"""Models that take categories, of every library, and applicants of whom some are hostile."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import robx

#: A split leaves "farm" to the applicants alone; all tables may still list it.
JOBS = ("cook", "clerk", "judge", "farm")

MODELS: dict[str, Callable[[], Any]] = {
    "xgboost": lambda: xgb.XGBClassifier(
        n_estimators=15, max_depth=3, enable_categorical=True, n_jobs=1
    ),
    "lightgbm": lambda: lgb.LGBMClassifier(
        n_estimators=15, min_child_samples=5, verbose=-1, n_jobs=1
    ),
    "boosting": lambda: HistGradientBoostingClassifier(
        categorical_features="from_dtype", max_iter=15
    ),
    "catboost": lambda: catboost.CatBoostClassifier(
        iterations=15, verbose=0, cat_features=["job"], thread_count=1, allow_writing_files=False
    ),
    "strict pipeline": lambda: pipeline("job", "error"),
    "lenient pipeline": lambda: pipeline("job", "ignore"),
}
#: Which of them refuse a category that they were not trained on.
REFUSING = ("xgboost", "strict pipeline")


def pipeline(column: str, unknown: Any) -> Any:
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown=unknown), [column]), remainder="passthrough"
    )
    return make_pipeline(encoder, RandomForestClassifier(10, random_state=0))


def workers(n: int = 240, seed: int = 0) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """Workers of the first three jobs, and who of them is accepted."""
    rng = np.random.default_rng(seed)
    job = rng.choice(JOBS[:3], n)
    pay, years = rng.random(n).round(2), rng.integers(0, 8, n)
    worth = pay + 0.1 * years + 0.4 * (job == "judge") + rng.normal(0, 0.1, n)
    frame = pd.DataFrame({"pay": pay, "years": years, "job": pd.Categorical(job)})
    return frame, worth > 1.1


@cache
def fitted(name: str) -> Any:
    return MODELS[name]().fit(*workers())


@cache
def problem(name: str) -> robx.Problem:
    X, _ = workers()
    model = fitted(name)
    return robx.Problem(robx.BlackBox(model) if name == "catboost" else model, X)


def strangers() -> pd.DataFrame:
    """Declined applicants, of whom the second and the third have unseen jobs."""
    return pd.DataFrame(
        {
            "pay": [0.1, 0.2, 0.05, 0.3, 0.25],
            "years": [0, 1, 2, 0, 1],
            "job": pd.Categorical(["cook", "farm", "pilot", "clerk", "cook"]),
        }
    )


KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas category": lambda frame: frame,
    "pandas text": lambda frame: frame.astype({"job": "str"}),
    "polars Enum": lambda frame: pl.from_pandas(frame).with_columns(
        pl.col("job").cast(pl.Enum(frame["job"].cat.categories))
    ),
    "polars Categorical": pl.from_pandas,
    "polars text": lambda frame: pl.from_pandas(frame).with_columns(pl.col("job").cast(pl.String)),
    "Arrow dictionary": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "Arrow text": lambda frame: pa.Table.from_pandas(
        frame.astype({"job": "str"}), preserve_index=False
    ),
}

#: Cells that are no number, and what is said of them.
CELLS: dict[str, tuple[Any, str]] = {
    "text": ("much", "pay is 'much', which is not a number"),
    "digits": ("12", "pay is '12', which is not a number"),
    "bytes": (b"1", "pay is b'1', which is not a number"),
    "list": ([1, 2], "pay is [1, 2], which is not a number"),
    "date": (dt.date(2020, 1, 1), "pay is datetime.date(2020, 1, 1), which is not a number"),
    "infinity": (float("inf"), "pay is infinite"),
    "beyond float64": (10**400, "which is too large a number"),
    "signalling": (Decimal("sNaN"), "pay is Decimal('sNaN'), which is not a number"),
}


def with_cells(frame: pd.DataFrame, column: str, cells: dict[int, Any]) -> pd.DataFrame:
    """The same with other cells in a column, which then holds objects."""
    values = np.empty(len(frame), dtype=object)
    values[:] = frame[column].tolist()
    for row, cell in cells.items():
        values[row] = cell
    return frame.assign(**{column: pd.Series(values, index=frame.index, dtype=object)})

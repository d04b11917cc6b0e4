"""What an evaluation measures: plain functions on arrays.

`shares` has coverage and validity, `changes` what an answer asks for, `outliers` whether it lies
among the data, and `intervals` how far to trust a mean over base models. Nothing here knows of
models, problems or tables.
"""

from __future__ import annotations

from robx.metrics.changes import cost, n_changes
from robx.metrics.intervals import Interval, Resamples, jeffreys
from robx.metrics.outliers import FittedOutliers, Outliers
from robx.metrics.shares import (
    all_models_validity,
    base_validity,
    coverage,
    end_to_end,
    percent,
    validity,
    worst_model_validity,
)

__all__ = [
    "FittedOutliers",
    "Interval",
    "Outliers",
    "Resamples",
    "all_models_validity",
    "base_validity",
    "cost",
    "coverage",
    "end_to_end",
    "jeffreys",
    "n_changes",
    "percent",
    "validity",
    "worst_model_validity",
]

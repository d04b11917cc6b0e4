"""Compiling everything now, so that no applicant waits for it later.

Kernels are compiled when they are first called, for the types of what they are called with. These
depend on little: whether a model has categories, one score or several, in single or in double
precision, and how many draws a test takes. Small models of each kind are explained here, by every
method.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robx.arrays import AnyInts, Floats
from robx.errors import RobxError, RobxWarning
from robx.explainer import explain
from robx.kernels.compiling import Census, census
from robx.methods import (
    Closest,
    Conservative,
    Face,
    FeatureTweaking,
    Focus,
    LiveRegion,
    NearestNeighbour,
    RobX,
)
from robx.problem import Problem
from robx.retrained import retrainings
from robx.robustness import is_stable, mean_margin, stability
from robx.schema import Feature, Schema
from robx.trees import import_model

METHODS = (
    RobX(),
    Closest(),
    Conservative(),
    NearestNeighbour(),
    LiveRegion(),
    Face(),
    FeatureTweaking(),
    Focus(),
)
#: One for each size of the sets that kernels keep draws in.
DRAWS = (64, 256, 512)
N_ROWS, N_APPLICANTS, N_MODELS = 300, 12, 6


@dataclass(frozen=True)
class Compiled:
    """What compiling everything came to.

    Parameters
    ----------
    n_compiled, n_found, n_lost, folders
        As in `robx.kernels.compiling.Census`.
    seconds : float
    """

    n_compiled: int
    n_found: int
    n_lost: int
    folders: tuple[str, ...]
    seconds: float


def compile_all() -> Compiled:
    """Compile every kernel for all that it may be called with, and keep the code if possible."""
    start, before = time.perf_counter(), census()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobxWarning)  # the result says what was not kept
        for models, X, y in _cases():
            _answer(models, X, y)
    return _since(before, time.perf_counter() - start)


def _since(before: Census, seconds: float) -> Compiled:
    now = census()
    return Compiled(
        now.n_compiled - before.n_compiled,
        now.n_found - before.n_found,
        now.n_lost - before.n_lost,
        now.folders,
        seconds,
    )


def _cases() -> Iterator[tuple[list[Any], Floats, AnyInts]]:
    """Make models and some that are trained again, of each kind, with their training rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier  # noqa: PLC0415

    rng = np.random.default_rng(0)
    X = rng.random((N_ROWS, 5)).round(2)
    X[:, 2] = rng.integers(2, size=N_ROWS)
    X[:, 3] = 1 - X[:, 2]
    X[:, 4] = rng.integers(3, size=N_ROWS)
    two = (X[:, 0] + 0.3 * (X[:, 4] == 1) + 0.2 * X[:, 2] > 0.7).astype(np.int64)
    three = two + (X[:, 1] > 0.5)
    gaps = X.copy()
    gaps[:, :2][rng.random((N_ROWS, 2)) < 0.1] = np.nan
    boosted = HistGradientBoostingClassifier(
        max_iter=4, min_samples_leaf=5, categorical_features=[4], random_state=0
    )
    forest = RandomForestClassifier(4, min_samples_leaf=4, random_state=0)
    for estimator, rows in ((boosted, gaps), (forest, X)):
        for y in (two, three):
            trained = [estimator, *retrainings(estimator.fit(rows, y), rows, y, N_MODELS)]
            models = [import_model(one, int(y.max())) for one in trained]
            yield models, rows, y
            yield [_in_single_precision(one) for one in models], rows, y


def _in_single_precision(model: Any) -> Any:
    """Turn a model into one that sums in float32, as those of XGBoost do."""
    to_single = {name: getattr(model, name).astype(np.float32) for name in ("base", "leaf_value")}
    return replace(model, **to_single)


def _answer(models: list[Any], X: Floats, y: AnyInts) -> None:
    """Ask all that can be asked about a model."""
    schema = Schema(
        [
            Feature("0", scale=1.0),
            Feature("1", scale=1.0, resolution=0.01),
            Feature("2", "onehot", group="kind"),
            Feature("3", "onehot", group="kind"),
            Feature("4", "categorical", levels=(0.0, 1.0, 2.0)),
        ]
    )
    model, *retrained = models
    applicants = X[y < y.max()][:N_APPLICANTS]
    explain(model, X, applicants, models=retrained, schema=schema)
    problem = Problem(model, X, schema, y_train=y)
    for method in METHODS:
        method.explain(problem, applicants)
    for n_draws in DRAWS:
        is_stable(model, X, tau=0.6, n_draws=n_draws)
        stability(model, X, n_draws=n_draws)
    mean_margin(model, X)
    with suppress(RobxError):  # few kinds of models have an exact R
        stability(model, X, draws="exact")

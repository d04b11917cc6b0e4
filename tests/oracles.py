"""Rows that are hard to score alike, and the comparison that law 1 asks for.

A `Case` is a fitted model together with what its own library says about a table. Every parser's
tests put their cases through the same checks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import robx
from robx.trees import TreeEnsemble

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A model, its training table, and its library's probability of the target class."""

    model: Any
    X: Any
    probability: Callable[[Any], Any]
    target: Any = None
    takes_nan: bool = True
    takes_inf: bool = True


def classifier_case(model: Any, X: Any, y: Any, *, target: Any = None, **traits: bool) -> Case:
    """Fit a classifier in scikit-learn's form and ask its own predict_proba."""
    model.fit(X, y)
    label = model.classes_[1] if target is None else target
    place = list(model.classes_).index(label)
    return Case(model, X, lambda rows: model.predict_proba(rows)[:, place], target, **traits)


def toy_data(n: int = 400, d: int = 5, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    """Mixed columns, some integer or heavily tied, with a noisy nonlinear rule."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 1] = rng.integers(0, 6, n)
    X[:, 2] = np.round(X[:, 2], 1)
    y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + 0.5 * rng.normal(size=n) > 0
    return X, y.astype(np.int64)


def with_missing(X: Floats, share: float = 0.15, seed: int = 1) -> Floats:
    """A copy with holes."""
    out = X.copy()
    out[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return out


def hard_rows(ensemble: TreeEnsemble, X: Floats, case: Case, seed: int = 2) -> Floats:
    """Rows exactly at, just below and just above every threshold, in float64 and in float32.

    Random rows carry them; missing and infinite values are strewn in where the source takes them.
    """
    with np.errstate(over="ignore"):  # some thresholds are the largest numbers there are
        return _hard_rows(ensemble, X, case, np.random.default_rng(seed))


def _hard_rows(ensemble: TreeEnsemble, X: Floats, case: Case, rng: np.random.Generator) -> Floats:
    t = ensemble.split_threshold
    at = t.astype(np.float32)
    variants = np.stack(
        [
            t,
            np.nextafter(t, -np.inf),
            np.nextafter(t, np.inf),
            at,
            np.nextafter(at, np.float32(-np.inf)),
            np.nextafter(at, np.float32(np.inf)),
        ],
        axis=1,
    ).astype(np.float64)
    rows = X[rng.integers(0, len(X), variants.size)].copy()
    numeric = np.repeat(ensemble.split_category < 0, 6)
    feature = np.repeat(ensemble.split_feature, 6)
    keep = numeric & np.isfinite(variants.ravel())
    rows[keep, feature[keep]] = variants.ravel()[keep]
    extra = X[rng.integers(0, len(X), 500)].copy()
    spread = np.nanstd(X, axis=0)
    extra += rng.normal(size=extra.shape) * spread * (rng.random(extra.shape) < 0.5)
    strewn = rng.random(extra.shape)
    numeric_column = np.array([not column.is_category for column in ensemble.columns])
    if case.takes_nan:
        extra[(strewn < 0.1)] = np.nan
    if case.takes_inf:
        extra[(strewn > 0.95) & numeric_column] = np.inf
        extra[(strewn > 0.975) & numeric_column] = -np.inf
    tiny = np.array([0.0, -0.0, 1e-36, -1e-36, 1e-35, 1e-40, -1e-45, 5e-324, 1e-7])
    extra[:100][strewn[:100] < 0.3] = rng.choice(tiny, int((strewn[:100] < 0.3).sum()))
    for j in np.flatnonzero(~numeric_column):
        extra[:, j] = X[rng.integers(0, len(X), len(extra)), j]
    return np.concatenate([rows, extra])


def import_ensemble(case: Case) -> TreeEnsemble:
    """Import a case's model, checked on its own training rows; it must not be a BlackBox."""
    ensemble = robx.import_model(case.model, case.target, X=case.X)
    assert isinstance(ensemble, TreeEnsemble)
    return ensemble


def assert_scores_alike(ensemble: TreeEnsemble, case: Case, rows: Any) -> None:
    """Law 1: the same decision on every row, the same probability to 1e-6."""
    ours = ensemble.score(rows)
    theirs = np.asarray(case.probability(rows), dtype=np.float64)
    worst = int(np.abs(ours - theirs).argmax())
    assert np.abs(ours - theirs).max() <= 1e-6, (rows[worst], ours[worst], theirs[worst])
    different = np.flatnonzero((ours > 0.5) != (theirs > 0.5))
    assert len(different) == 0, (rows[different[0]], ours[different[0]], theirs[different[0]])


def assert_law_one(case: Case) -> TreeEnsemble:
    """Import the model and hold it against its library on hard rows."""
    ensemble = import_ensemble(case)
    rows = hard_rows(ensemble, np.asarray(case.X, dtype=np.float64), case)
    assert_scores_alike(ensemble, case, rows)
    with np.errstate(over="ignore"):
        narrow = rows.astype(np.float32)
    assert_scores_alike(ensemble, case, narrow)
    return ensemble

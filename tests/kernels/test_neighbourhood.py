"""These tests are small enough to run with the JIT off as well: `make test-all` does both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import naive
import robx
from oracles import toy_data, with_missing
from robx.kernels.neighbourhood import prefix_tables
from robx.kernels.sets import add_sets, cut_set
from robx.robustness.draws import draw
from robx.trees import TreeEnsemble

RAW, Y = toy_data(60, 3)
X = (RAW - RAW.min(axis=0)) / (RAW.max(axis=0) - RAW.min(axis=0))
CATEGORIES = np.column_stack([np.arange(60) % 5, X[:, 1:]])
MODELS: dict[str, tuple[Any, Any]] = {
    "boosted": (xgb.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1).fit(X, Y), X),
    "stumps": (xgb.XGBClassifier(n_estimators=9, max_depth=1, n_jobs=1).fit(X, Y), X),
    "with holes": (
        xgb.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1).fit(with_missing(X), Y),
        with_missing(X),
    ),
    "forest": (RandomForestClassifier(4, random_state=0).fit(X, Y), X),
    "categories": (
        HistGradientBoostingClassifier(
            max_iter=3, categorical_features=[0], min_samples_leaf=5
        ).fit(CATEGORIES, Y),
        CATEGORIES,
    ),
    "three classes": (
        xgb.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1).fit(X, np.arange(60) % 3),
        X,
    ),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_draws", [10, 64, 100, 260, 515])
def test_moments_equal_the_twin_s(name: str, n_draws: int) -> None:
    model, table = MODELS[name]
    ensemble = robx.import_model(model, target=1)
    assert isinstance(ensemble, TreeEnsemble)
    rows = table[:2]
    result = robx.stability(ensemble, rows, n_draws=n_draws, rng=3, n_threads=1)
    noise = draw("sobol", n_draws, 3, 3).noise
    spread = np.array([0.0 if column.is_category else 0.1 for column in ensemble.columns])
    for i, x in enumerate(ensemble.read(rows)):
        mean, std = naive.stability(
            lambda copies: [naive.score(ensemble, copy) for copy in copies], x, spread, noise
        )
        assert (result.mean[i], result.std[i]) == pytest.approx((mean, std), abs=1e-6)


@pytest.mark.parametrize("n_words", [1, 4, 8])
def test_a_set_is_cut_by_a_prefix(n_words: int) -> None:
    rng = np.random.default_rng(n_words)
    sets = rng.integers(0, 2**63, 4 * n_words).astype(np.uint64)
    prefix = rng.integers(0, 2**63, 3 * n_words).astype(np.uint64)
    prefix[n_words : 2 * n_words] = 0
    prefix[2 * n_words :] = ~np.uint64(0)
    whole = sets[n_words : 2 * n_words].copy()
    width = (0,) * n_words
    for row, flags in ((0, 3), (1, 2), (2, 1)):
        assert cut(width, sets, 1, prefix, row, 2, 3) == flags
        part = prefix[row * n_words : (row + 1) * n_words]
        assert (sets[2 * n_words : 3 * n_words] == whole & part).all()
        assert (sets[3 * n_words :] == whole & ~part).all()


@pytest.mark.parametrize("n_words", [1, 4, 8])
def test_values_are_added_to_the_draws_in_a_set(n_words: int) -> None:
    rng = np.random.default_rng(n_words)
    sets = rng.integers(0, 2**63, 5 * n_words).astype(np.uint64)
    value = rng.normal(size=7).astype(np.float32)
    place = rng.integers(0, 5, 7).astype(np.uint64)
    total = rng.normal(size=64 * n_words).astype(np.float32)
    expected = total.astype(np.float64)
    for i in range(7):
        for k in range(64 * n_words):
            if int(sets[int(place[i]) * n_words + k // 64]) >> (k % 64) & 1:
                expected[k] += value[i]
    items = value.view(np.uint32).astype(np.uint64) | (place << np.uint64(32))
    add((0,) * n_words, sets, items, total)
    np.testing.assert_allclose(total, expected, atol=1e-5)


def test_tables_hold_every_prefix() -> None:
    noise = draw("gaussian", 50, 2, 0).noise.T.copy()
    order = np.argsort(noise, axis=1)
    prefix = np.empty((2, 65, 1), dtype=np.uint64)
    ranked, start = np.empty((2, 65)), np.empty((2, 128), dtype=np.uint16)
    most = prefix_tables(noise, order, prefix, ranked, start)
    for j in range(2):
        for rank in range(65):
            members = {k for k in range(64) if int(prefix[j, rank, 0]) >> k & 1}
            assert members == set(order[j, : min(rank, 50)].tolist())
        assert ranked[j, :50].tolist() == sorted(noise[j])
        assert np.isnan(ranked[j, 50:]).all()
        inside = np.diff(np.append(start[j].astype(int), 50))
        assert inside.min() >= 0
        assert inside.max() <= most


def _compiled(function: Any) -> Any:
    """Call a function that numba replaces from compiled code, as the kernels do."""
    from numba import njit

    arity = function.__code__.co_argcount
    names = ", ".join(f"a{i}" for i in range(arity))
    scope: dict[str, Any] = {"function": function}
    exec(f"def call({names}):\n    return function({names})", scope)  # noqa: S102
    return njit(scope["call"])


cut, add = _compiled(cut_set), _compiled(add_sets)

"""These tests are small enough to run with the JIT off as well."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

import naive
import naive_soft
import robx
from oracles import toy_data, with_missing
from robx.methods.baselines.kernels.soft import soft_sums
from robx.trees import TreeEnsemble

Floats = NDArray[np.float64]

RAW, Y = toy_data(60, 3)
THREE = np.arange(60) % 3
TELLING = np.arange(60) % 3 + 3 * np.where(np.arange(60) % 7 > 0, Y, 1 - Y)
BY_CATEGORY = pd.DataFrame({"a": RAW[:, 0], "b": pd.Categorical(TELLING), "c": RAW[:, 2]})
MODELS: dict[str, tuple[Any, Any]] = {
    "boosted": (xgb.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1).fit(RAW, Y), RAW),
    "with holes": (
        xgb.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1).fit(with_missing(RAW), Y),
        with_missing(RAW),
    ),
    "three classes": (
        xgb.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1).fit(RAW, THREE),
        RAW,
    ),
    "forest": (RandomForestClassifier(4, random_state=0).fit(RAW, Y), RAW),
    "categories": (
        lgb.LGBMClassifier(
            n_estimators=4, num_leaves=5, min_child_samples=4, min_data_per_group=2,
            cat_smooth=1, cat_l2=0, min_data_in_bin=1, n_jobs=1, verbose=-1,
        ).fit(BY_CATEGORY, Y),
        BY_CATEGORY,
    ),
}  # fmt: skip
STEEPNESS = np.array([2.0, 0.7, 9.0])


def imported(name: str) -> tuple[TreeEnsemble, Floats]:
    model, table = MODELS[name]
    ensemble = robx.import_model(model, target=1)
    assert isinstance(ensemble, TreeEnsemble)
    return ensemble, ensemble.read(table)


def soften(ensemble: TreeEnsemble, Z: Floats, steepness: Floats) -> tuple[Floats, Floats]:
    """Soft sums from the base, and their gradient."""
    sums = np.tile(ensemble.base.astype(np.float64), (len(Z), 1))
    gradient = np.zeros((*sums.shape, Z.shape[1]))
    soft_sums(Z, steepness, ensemble.kernel_arrays, sums, gradient)
    return sums, gradient


def is_number(ensemble: TreeEnsemble) -> NDArray[np.bool_]:
    return np.array([not column.is_category for column in ensemble.columns])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_sums_and_gradients_equal_the_twin_s(name: str, scale: float) -> None:
    ensemble, rows = imported(name)
    sums, gradient = soften(ensemble, rows[:5], scale * STEEPNESS)
    for i, z in enumerate(rows[:5]):
        expected = naive_soft.soft_sums(ensemble, z, scale * STEEPNESS)
        slope = naive_soft.soft_gradient(ensemble, z, scale * STEEPNESS)
        np.testing.assert_allclose(sums[i], expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(gradient[i], slope, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", MODELS)
def test_gradients_equal_finite_differences(name: str) -> None:
    ensemble, rows = imported(name)
    Z, h = rows[:6], 1e-5
    _, gradient = soften(ensemble, Z, STEEPNESS)
    assert np.abs(gradient).max() > 0.01
    for j in np.flatnonzero(is_number(ensemble)):
        step = h * np.eye(Z.shape[1])[j]
        above, below = (soften(ensemble, Z + way, STEEPNESS)[0] for way in (step, -step))
        expected = (above - below) / (2 * h)
        np.testing.assert_allclose(gradient[:, :, j], expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", MODELS)
def test_steep_splits_are_the_model_s_own(name: str) -> None:
    ensemble, rows = imported(name)
    moved = rows + 0.0123 * is_number(ensemble)  # XGBoost cuts at the values of the training table
    by_number = ensemble.split_category < 0
    at = moved[:, ensemble.split_feature[by_number]]
    away = ~(np.abs(at - ensemble.split_threshold[by_number]) < 1e-4).any(axis=1)
    Z = moved[away]
    assert len(Z) > 40
    sums, gradient = soften(ensemble, Z, np.full(Z.shape[1], 1e6))
    margins = sums / ensemble.divisor * ensemble.slope
    np.testing.assert_allclose(margins, [naive.margins(ensemble, z) for z in Z], atol=1e-9)
    assert np.abs(gradient).max() < 1e-9
    scores = ensemble.probability(sums)
    np.testing.assert_allclose(scores, ensemble.score_matrix(Z), atol=1e-6)


@pytest.mark.parametrize("name", ["with holes", "categories", "three classes"])
def test_no_steepness_is_the_model_itself_even_at_a_threshold(name: str) -> None:
    ensemble, rows = imported(name)
    Z = rows[:12].copy()
    for i, split in enumerate(np.flatnonzero(ensemble.split_category < 0)[:12]):
        Z[i, ensemble.split_feature[split]] = ensemble.split_threshold[split]
    sums, gradient = soften(ensemble, Z, np.zeros(Z.shape[1]))
    expected = [naive.margins(ensemble, z) for z in Z]
    np.testing.assert_allclose(sums / ensemble.divisor * ensemble.slope, expected, atol=1e-12)
    assert (gradient == 0).all()


def test_a_threshold_sends_half_each_way() -> None:
    ensemble = stump(threshold=2.0)
    sums, gradient = soften(ensemble, np.array([[2.0]]), np.array([3.0]))
    assert sums[0, 0] == pytest.approx(ensemble.base[0] + 0.5 * (LEFT + RIGHT))
    assert gradient[0, 0, 0] == pytest.approx(3 * 0.25 * (RIGHT - LEFT))


@pytest.mark.parametrize(
    ("threshold", "z", "expected"),
    [
        (np.inf, 1e300, "left"),
        (-np.inf, -1e300, "right"),
        (np.inf, np.inf, "left"),
        (-np.inf, -np.inf, "left"),
        (1.7e308, -1.7e308, "left"),
        (-1.7e308, 1.7e308, "right"),
        (0.0, np.inf, "right"),
        (0.0, -np.inf, "left"),
        (0.0, 800.0, "right"),
        (0.0, -800.0, "left"),
    ],
)
def test_far_from_a_threshold_a_split_is_hard(threshold: float, z: float, expected: str) -> None:
    ensemble = stump(threshold)
    sums, gradient = soften(ensemble, np.array([[z]]), np.array([5.0]))
    assert sums[0, 0] - ensemble.base[0] == (LEFT if expected == "left" else RIGHT)
    assert gradient[0, 0, 0] == 0


@pytest.mark.parametrize("missing_left", [False, True])
def test_a_missing_value_goes_where_the_split_sends_it(missing_left: bool) -> None:
    ensemble = replace(stump(0.0), split_missing_left=np.array([missing_left]))
    sums, gradient = soften(ensemble, np.array([[np.nan]]), np.array([5.0]))
    assert sums[0, 0] - ensemble.base[0] == (LEFT if missing_left else RIGHT)
    assert gradient[0, 0, 0] == 0


def test_hard_columns_have_no_gradient() -> None:
    ensemble, rows = imported("boosted")
    soft = soften(ensemble, rows, STEEPNESS)[1]
    assert np.abs(soft[:, 0]).max(axis=0).min() > 0  # every column matters
    gradient = soften(ensemble, rows, STEEPNESS * [1, 0, 1])[1]
    assert (gradient[:, :, 1] == 0).all()
    assert (gradient[:, :, [0, 2]] != 0).any()
    ensemble, rows = imported("categories")
    gradient = soften(ensemble, rows, STEEPNESS)[1]
    assert (ensemble.split_category >= 0).any()
    assert (gradient[:, :, ~is_number(ensemble)] == 0).all()
    assert (gradient != 0).any()


def test_a_tree_adds_to_what_is_there() -> None:
    ensemble = stump(0.0)
    twice = replace(
        ensemble,
        tree_start=np.array([0, 3, 6]),
        tree_class=np.zeros(2, np.int32),
        node_split=np.tile(ensemble.node_split, 2),
    )
    Z, steepness = np.array([[0.3]]), np.array([2.0])
    (one, slope), (two, double) = (soften(e, Z, steepness) for e in (ensemble, twice))
    assert two - ensemble.base == pytest.approx(2 * (one - ensemble.base))
    assert double == pytest.approx(2 * slope)


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_a_point_does_not_depend_on_its_neighbours(scale: float) -> None:
    ensemble, rows = imported("three classes")
    together = soften(ensemble, rows[:37], scale * STEEPNESS)
    for i in (0, 15, 16, 36):
        alone = soften(ensemble, rows[i : i + 1], scale * STEEPNESS)
        for one, of_all in zip(alone, together, strict=True):
            assert (one[0] == of_all[i]).all()
    sums, gradient = soften(ensemble, rows[:0], STEEPNESS)
    assert (len(sums), len(gradient)) == (0, 0)


LEFT, RIGHT = -1.5, 2.25


def stump(threshold: float) -> TreeEnsemble:
    """A single split of a single column."""
    model = RandomForestClassifier(1, max_depth=1, bootstrap=False, random_state=0)
    ensemble = robx.import_model(model.fit(RAW[:, :1], Y))
    assert isinstance(ensemble, TreeEnsemble)
    assert ensemble.node_split.tolist() == [0, -1, -2]
    return replace(
        ensemble, split_threshold=np.array([threshold]), leaf_value=np.array([LEFT, RIGHT])
    )

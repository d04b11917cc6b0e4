"""Profiles: what the sum of many trees becomes as one column alone moves."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

import robx
from families import MORE, TREES, family
from retrained_cases import retrained
from robx.kernels.profiles import cell_of, profiles
from robx.kernels.trees import margins
from robx.methods.sparse_starts import averaged_sum
from robx.retrained import import_models
from speed import slow_but, tries


def naive_sum(models: list[Any], rows: Any) -> Any:
    """Average how far the target leads, model by model: over the mean of the other classes."""
    total = np.zeros(len(rows))
    for e in models:
        sums = np.tile(e.base.astype(float), (len(rows), 1))
        margins(rows, e.kernel_arrays._replace(leaf_value=e.leaf_value.astype(float)), sums)
        lead = sums[:, e.target_index]
        if len(e.base) > 1:
            lead = lead - np.delete(sums, e.target_index, axis=1).mean(axis=1)
        sign = -1 if e.link == "one_minus_sigmoid" else 1
        total += sign * lead * e.slope / e.divisor / len(models)
    return total


def measured(x: Any, trees: Any) -> tuple[float, Any]:
    room = 3 * trees.depth + 4
    gains = np.full(trees.cell_start[-1], np.nan)
    waiting, sets = np.empty((4, room), np.int64), np.empty(room, np.uint64)
    total = profiles(x, trees, np.empty(len(x), np.int64), waiting, sets, gains)
    return float(total), gains


@pytest.mark.parametrize("name", slow_but(["xgboost", "lightgbm"], TREES, [*MORE, "forest"]))
def test_they_are_the_sums_of_points_that_differ_in_one_column(name: str) -> None:
    case = family(name)
    problem = case.problem()
    assert isinstance(problem.model, robx.TreeEnsemble)
    again: Any = import_models(problem, retrained(name)[:2])
    models = [problem.model, *again]
    trees = averaged_sum(models)
    rows = problem.view.numbers(problem.training)
    rng = np.random.default_rng(0)
    n_moved = 0
    is_plain = numba.config.DISABLE_JIT  # type: ignore[attr-defined]
    for x in rows[rng.integers(len(rows), size=1 if is_plain else tries(20, 6))]:
        own = naive_sum(models, x[None])[0]
        total, gains = measured(x, trees)
        assert total == pytest.approx(own, abs=1e-9)
        for j in range(len(x)):
            first, last = trees.cell_start[j : j + 2]
            known = trees.threshold[trees.threshold_start[j] : trees.threshold_start[j + 1]]
            values = np.arange(float(last - first))
            if len(known):  # beyond an infinite threshold there is nothing
                values = np.unique(np.append(known, np.nextafter(known[-1], np.inf)))
            some = np.arange(len(values))[:: max(len(values) // 12, 1) if is_plain else 1]
            moved = np.repeat(x[None], len(some), axis=0)
            moved[:, j] = values[some]
            expected = naive_sum(models, moved) - own
            np.testing.assert_allclose(gains[first:last][some], expected, atol=1e-9)
            cells = [cell_of(j, value, trees) for value in values]
            assert cells == list(range(len(values)))
            n_moved += int((np.abs(expected) > 1e-6).sum())
    assert n_moved > 20


def test_a_missing_value_has_no_cell() -> None:
    trees = averaged_sum([robx.import_model(family("xgboost").model)])  # type: ignore[list-item]
    assert cell_of(0, np.nan, trees) == -1

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from robx import import_model
from robx.kernels import regions
from robx.kernels.grids import FREE, LEVELS, STEP

Floats = NDArray[np.float64]
NONE = np.zeros(0)


def forest() -> Any:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (120, 3)).astype(float)
    model = RandomForestClassifier(5, max_depth=4, random_state=0, n_jobs=1)
    return import_model(model.fit(X, X.sum(axis=1) + rng.normal(size=120) > 5), X=X)


def leaf_of(e: Any, root: int, x: Floats) -> int:
    node = int(root)
    while e.node_split[node] >= 0:
        split = e.node_split[node]
        left = x[e.split_feature[split]] <= e.split_threshold[split]
        node = node + 1 if left else int(e.node_right[node])
    return int(-1 - e.node_split[node])


def test_leaves_in_reach_are_those_that_some_choice_falls_into() -> None:
    e = forest()
    choices = [np.array([0.0, 1.0]), np.array([0.0, 1.0, 2.0, 3.0]), np.array([2.0, 3.0])]
    axis_start = np.cumsum([0, *map(len, choices)]).astype(np.int64)
    split_axis = e.split_feature.astype(np.int64)
    lefts = [choices[j] <= t for j, t in zip(split_axis, e.split_threshold, strict=True)]
    left_start = np.cumsum([0, *map(len, lefts)]).astype(np.int64)
    for root, end in itertools.pairwise(e.tree_start):
        leaves = np.empty((end - root + 1) // 2, dtype=np.int64)
        alive = np.empty((len(leaves), axis_start[-1]), dtype=bool)
        n = regions.leaf_options(
            root, e.node_split, e.node_right, split_axis, axis_start, left_start,
            np.concatenate(lefts), leaves, alive,
        )  # fmt: skip
        reached: dict[int, list[tuple[int, ...]]] = {}
        for places in itertools.product(*(range(len(c)) for c in choices)):
            x = np.array([c[k] for c, k in zip(choices, places, strict=True)])
            reached.setdefault(leaf_of(e, root, x), []).append(places)
        assert sorted(leaves[:n]) == sorted(reached)
        assert n < len(leaves) or len(leaves) == 1
        for leaf, row in zip(leaves[:n], alive[:n], strict=True):
            for a in range(3):
                options = {places[a] for places in reached[int(leaf)]}
                found = np.flatnonzero(row[axis_start[a] : axis_start[a + 1]])
                assert set(found.tolist()) == options


@pytest.mark.parametrize(
    ("kind", "grid"),
    [
        (STEP, np.arange(-20, 21) * 0.5),
        (LEVELS, np.array([-3.0, 0.0, 0.5, 4.0])),
    ],
)
@pytest.mark.parametrize("wanted", [-7.0, 0.3, 0.5, 9.0])
def test_the_value_of_a_cell_is_its_nearest_on_the_grid(
    kind: int, grid: Floats, wanted: float
) -> None:
    cuts = np.array([-3.0, -2.9, 0.0, 0.45, 2.0])
    out = np.empty(6)
    levels = grid if kind == LEVELS else NONE
    regions.cell_values(
        np.full(6, wanted), -4.0, 3.0, cuts, kind, 1.0, 2.0, False, levels, out
    )  # fmt: skip
    edges = [-np.inf, *cuts, np.inf]
    for k in range(6):
        inside = (grid > edges[k]) & (grid <= edges[k + 1]) & (grid >= -4) & (grid <= 3)
        if not inside.any():
            assert np.isnan(out[k])
        else:
            assert abs(out[k] - wanted) == np.abs(grid[inside] - wanted).min()
            assert out[k] in grid[inside]


def test_a_cell_without_a_grid_is_entered_by_one_step_and_not_at_its_open_end() -> None:
    out = np.empty(2)
    cuts = np.array([1.0])
    regions.cell_values(np.full(2, 0.0), -5.0, 5.0, cuts, FREE, 1.0, 1.0, False, NONE, out)
    assert out.tolist() == [0.0, np.nextafter(1.0, 2.0)]
    regions.cell_values(np.full(2, 3.0), -5.0, 5.0, cuts, FREE, 1.0, 1.0, True, NONE, out)
    assert out.tolist() == [1.0, 3.0]
    regions.cell_values(np.full(2, 0.0), -5.0, 5.0, cuts, FREE, 1.0, 1.0, True, NONE, out)
    assert out[1] == np.nextafter(np.float32(1.0), np.float32(2.0))


def test_who_wishes_nothing_is_put_in_the_middle() -> None:
    out = np.empty(2)
    regions.cell_values(
        np.full(2, np.nan), 0.0, 4.0, np.array([1.0]), FREE, 1.0, 1.0, False, NONE, out
    )
    np.testing.assert_allclose(out, [0.5, 2.5])

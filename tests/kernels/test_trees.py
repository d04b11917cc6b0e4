from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import naive
import robx
from oracles import toy_data, with_missing
from robx.kernels.trees import depths, preorder, right_children
from robx.trees import TreeEnsemble

X, Y = toy_data(60, 3)
FULL = np.array([1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0], dtype=bool)  # two splits deep, a leaf, a stump


def test_right_children_of_trees_in_preorder() -> None:
    assert right_children(FULL)[FULL].tolist() == [4, 3, 6, 10]


def test_depths_of_trees_in_preorder() -> None:
    assert depths(FULL).tolist() == [0, 1, 2, 2, 1, 2, 2, 0, 0, 1, 1]
    assert depths(np.array([False])).tolist() == [0]
    chain = np.array([1, 0, 1, 0, 1, 0, 0], dtype=bool)
    assert depths(chain).tolist() == [0, 1, 1, 2, 2, 3, 3]


def test_preorder_brings_nodes_into_order() -> None:
    left, right = np.array([2, -1, 3, -1, -1]), np.array([1, -1, 4, -1, -1])
    order = np.empty(5, dtype=np.int64)
    assert preorder(left, right, np.array([0, 5]), order) == 0
    assert order.tolist() == [0, 2, 3, 4, 1]


def test_preorder_leaves_out_what_no_root_reaches() -> None:
    left, right = np.array([-1, -1, -1]), np.array([-1, -1, -1])
    order = np.empty(3, dtype=np.int64)
    assert preorder(left, right, np.array([0, 2, 3]), order) == 0
    assert order.tolist() == [0, 2, -1]


@pytest.mark.parametrize("child", [0, 1])
def test_preorder_refuses_a_node_that_is_reached_twice(child: int) -> None:
    left, right = np.array([1, -1, -1]), np.array([child, -1, -1])
    assert preorder(left, right, np.array([0, 3]), np.empty(3, dtype=np.int64)) == -1


@pytest.mark.parametrize("holes", [False, True])
def test_scores_equal_the_twin_s(holes: bool) -> None:
    table = with_missing(X) if holes else X
    models = [
        RandomForestClassifier(5, random_state=0).fit(table, Y),
        HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=4).fit(table, Y),
    ]
    for model in models:
        ensemble = robx.import_model(model)
        assert isinstance(ensemble, TreeEnsemble)
        rows = ensemble.read(table)
        expected = [naive.score(ensemble, row) for row in rows]
        np.testing.assert_allclose(ensemble.score(table), expected, atol=1e-12)

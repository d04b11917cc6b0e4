from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import robx
from robx.tables import Column
from robx.trees import TreeEnsemble, build
from robx.trees.build import MAX_CODES, Tree, assemble

AB = [Column("a"), Column("b")]
BY_CODE = [Column("a"), Column("c", n_codes=70)]


def stump_of(**parts: Any) -> Tree:
    """A split of column 0 at 0.5, with the leaves 1 and 2."""
    fields: dict[str, Any] = {
        "left": np.array([1, -1, -1]),
        "right": np.array([2, -1, -1]),
        "feature": np.array([0, -1, -1]),
        "threshold": np.array([0.5, 0, 0]),
        "missing_left": np.array([True, False, False]),
        "value": np.array([0.0, 1.0, 2.0]),
    }
    return Tree(**{**fields, **parts})


def by_category(codes: list[int], **parts: Any) -> Tree:
    return stump_of(feature=np.array([1, 0, 0]), categories={0: codes}, **parts)


def assembled(*trees: Tree, columns: list[Column] | None = None, **more: Any) -> TreeEnsemble:
    traits: dict[str, Any] = {
        "named": True,
        "target": 1,
        "source": "by hand",
        "link": "identity",
        "base": [0.0],
    }
    return assemble(trees, AB if columns is None else columns, **{**traits, **more})


LEAF = Tree(
    left=np.array([-1]),
    right=np.array([-1]),
    feature=np.array([-1]),
    threshold=np.array([np.nan]),
    missing_left=np.array([False]),
    value=np.array([0.25]),
)


def test_trees_add_up() -> None:
    ensemble = assembled(stump_of(), LEAF, base=[10.0], divisor=2, slope=4)
    rows = [[0.5, 0], [np.nextafter(0.5, 1), 0], [np.nan, 0]]
    assert ensemble.score(rows).tolist() == [(10 + v + 0.25) / 2 * 4 for v in (1, 2, 1)]


def test_trees_add_to_the_margin_of_their_class() -> None:
    trees = [stump_of(index=0), LEAF, stump_of(index=1, value=np.array([0, 3.0, 5.0]))]
    more: dict[str, Any] = {"link": "softmax", "base": [0.0, 0.5], "target_index": 1}
    scores = assembled(*trees, **more).score([[0.0, 0], [1.0, 0]])
    margins = np.array([[1.25, 3.5], [2.25, 5.5]])
    expected = np.exp(margins[:, 1]) / np.exp(margins).sum(axis=1)
    np.testing.assert_allclose(scores, expected, rtol=1e-14)


def test_nodes_are_brought_into_preorder_and_unreachable_ones_dropped() -> None:
    tree = Tree(
        left=np.array([4, -1, -1, 1, -1, -1]),
        right=np.array([3, -1, -1, 5, -1, -1]),
        feature=np.array([0, 0, 0, 1, 0, 0]),
        threshold=np.array([0.0, 0, 0, 7.0, 0, 0]),
        missing_left=np.zeros(6, dtype=bool),
        value=np.array([0, 10.0, 99.0, 0, 20.0, 30.0]),
    )
    ensemble = assembled(tree, LEAF, tree)
    assert ensemble.node_split.tolist() == [0, -1, 1, -2, -3, -4, 0, -5, 1, -6, -7]
    assert ensemble.leaf_value.tolist() == [20, 10, 30, 0.25, 20, 10, 30]
    assert ensemble.tree_start.tolist() == [0, 5, 6, 11]
    assert ensemble.score([[-1, 0], [1, 7], [1, 8]]).tolist() == [40.25, 20.25, 60.25]


def test_equal_splits_are_shared_and_stand_in_order() -> None:
    trees = [
        stump_of(feature=np.array([feature, 0, 0]), threshold=np.array([threshold, 0, 0]))
        for feature, threshold in [(1, 3.0), (0, 5.0), (0, -1.0), (1, 3.0), (0, 0.0), (0, -0.0)]
    ]
    other_side = stump_of(missing_left=np.zeros(3, dtype=bool), threshold=np.array([5.0, 0, 0]))
    ensemble = assembled(*trees, other_side)
    assert ensemble.split_feature.tolist() == [0, 0, 0, 0, 1]
    assert ensemble.split_threshold.tolist() == [-1.0, 0.0, 5.0, 5.0, 3.0]
    assert ensemble.split_missing_left.tolist() == [True, True, False, True, True]
    assert not np.signbit(ensemble.split_threshold[1])
    assert ensemble.node_split[ensemble.tree_start[:-1]].tolist() == [4, 3, 0, 4, 1, 1, 2]
    assert ensemble.first_split.tolist() == [0, 4, 5]


def test_sums_are_made_in_the_asked_precision() -> None:
    trees = [stump_of(value=np.array([0, 0.1, 0.2]))] * 3
    narrow = assembled(*trees, dtype=np.float32)
    assert narrow.leaf_value.dtype == narrow.base.dtype == np.float32
    tenth = np.float32(0.1)
    assert narrow.score([[0, 0]]).tolist() == [float(tenth + tenth + tenth)]
    assert assembled(*trees).score([[0, 0]]).tolist() == [0.1 + 0.1 + 0.1]


# --- categories -----------------------------------------------------------------------------------


def test_each_listed_code_is_a_bit() -> None:
    ensemble = assembled(by_category([0, 3, 64, 69]), columns=BY_CODE)
    assert ensemble.category_bits.tolist() == [[0b1001, 0b100001]]
    codes = np.arange(-1, 73)
    scores = ensemble.score(np.column_stack([np.zeros(len(codes)), codes]))
    assert scores.tolist() == [1.0 if code in {0, 3, 64, 69} else 2.0 for code in codes]


def test_codes_that_are_not_listed_may_go_left_instead_unseen_ones_too() -> None:
    ensemble = assembled(by_category([0, 3, 64, 69], listed_left=False), columns=BY_CODE)
    codes = np.arange(-1, 73)
    scores = ensemble.score(np.column_stack([np.zeros(len(codes)), codes]))
    assert scores.tolist() == [2.0 if code in {0, 3, 64, 69} else 1.0 for code in codes]


@pytest.mark.parametrize("missing_left", [True, False])
def test_a_missing_category_goes_where_the_split_says(missing_left: bool) -> None:
    tree = by_category([0], missing_left=np.array([missing_left, False, False]))
    score = assembled(tree, columns=BY_CODE).score([[0, np.nan]])
    assert score.tolist() == [1.0 if missing_left else 2.0]


def test_equal_sets_of_codes_are_shared_whatever_their_order() -> None:
    trees = [by_category(codes) for codes in ([5, 1], [1, 5], [1, 5, 5], [], [2])]
    ensemble = assembled(*trees, columns=BY_CODE)
    assert ensemble.category_bits.tolist() == [[0b100010, 0], [0, 0], [0b100, 0]]
    assert len(ensemble.split_feature) == 3
    assert ensemble.split_threshold.tolist() == [0, 0, 0]


def test_the_code_for_unseen_may_be_listed() -> None:
    ensemble = assembled(by_category([70]), columns=BY_CODE)
    assert ensemble.score([[0, 69], [0, 70], [0, 1000]]).tolist() == [2, 1, 1]


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"left": np.array([], dtype=int)},
            r"Tree 1 has node arrays of different lengths, or no nodes",
        ),
        ({"right": np.array([2, -1])}, r"Tree 1 has node arrays of different lengths"),
        ({"feature": np.array([0])}, r"Tree 1 has node arrays of different lengths"),
        ({"threshold": np.array([0.5])}, r"Tree 1 has node arrays of different lengths"),
        ({"missing_left": np.zeros(4, dtype=bool)}, r"Tree 1 has node arrays of different"),
        ({"value": np.zeros(4)}, r"Tree 1 has node arrays of different lengths"),
        ({"right": np.array([-1, -1, -1])}, r"Tree 1 has a node with only one child\."),
        ({"left": np.array([3, -1, -1])}, r"Tree 1 has a child that is not one of its 3 nodes\."),
        ({"right": np.array([-2, -1, -1])}, r"Tree 1 has a child that is not one of its 3 nodes"),
        ({"left": np.array([0, -1, -1])}, r"Tree 1 reaches a node twice: it is not a tree\."),
        ({"left": np.array([2, -1, -1])}, r"Tree 1 reaches a node twice"),
        ({"feature": np.array([2, 0, 0])}, r"Tree 1 splits on column 2; the model has 2\."),
        ({"feature": np.array([-1, 0, 0])}, r"Tree 1 splits on column -1; the model has 2\."),
        ({"value": np.array([0, np.nan, 0])}, r"Tree 1 has a leaf whose value is not a finite"),
        ({"value": np.array([0, 1, np.inf])}, r"Tree 1 has a leaf whose value is not a finite"),
        ({"threshold": np.array([np.nan, 0, 0])}, r"Tree 1 has a threshold that is not a number"),
        ({"categories": {0: [1]}}, r"Tree 1 splits a number by categories, or a category by a"),
        ({"categories": {3: [1]}}, r"Tree 1 .*categories"),
        ({"index": 1}, r"a tree adds to a class out of range"),
        ({"index": -1}, r"a tree adds to a class out of range"),
    ],
)
def test_a_damaged_tree_is_named_with_what_is_wrong(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(robx.InvalidModel, match=message):
        assembled(stump_of(), stump_of(**parts))


def test_the_column_that_is_out_of_range_is_the_one_that_is_named() -> None:
    tree = Tree(
        left=np.array([1, 3, -1, -1, -1]),
        right=np.array([2, 4, -1, -1, -1]),
        feature=np.array([-3, 1, 0, 0, 0]),
        threshold=np.zeros(5),
        missing_left=np.zeros(5, dtype=bool),
        value=np.zeros(5),
    )
    with pytest.raises(robx.InvalidModel, match=r"splits on column -3; the model has 2\."):
        assembled(tree)


def test_what_stands_in_parts_that_are_not_used_does_not_matter() -> None:
    tree = stump_of(
        feature=np.array([0, 99, -7]),
        threshold=np.array([0.5, np.nan, np.inf]),
        value=np.array([np.nan, 1.0, 2.0]),
    )
    assert assembled(tree) == assembled(stump_of())


def test_infinite_thresholds_are_taken() -> None:
    never, always = np.array([-np.inf, 0, 0]), np.array([np.inf, 0, 0])
    ensemble = assembled(stump_of(threshold=never), stump_of(threshold=always))
    assert ensemble.score([[0.0, 0], [-np.inf, 0], [np.inf, 0]]).tolist() == [3, 2, 3]


def test_a_category_cannot_be_split_by_a_threshold() -> None:
    with pytest.raises(robx.InvalidModel, match="Tree 0 splits a number by categories, or a cat"):
        assembled(stump_of(feature=np.array([1, 0, 0])), columns=BY_CODE)


@pytest.mark.parametrize(("codes", "named"), [([71], 71), ([3, 99], 99), ([-1], -1), ([-4, 3], -4)])
def test_a_code_out_of_range_is_named(codes: list[int], named: int) -> None:
    with pytest.raises(robx.InvalidModel, match=rf"A split names category {named}; .* has 70\."):
        assembled(by_category(codes), columns=BY_CODE)


def test_a_value_that_the_precision_cannot_hold_is_refused() -> None:
    with pytest.raises(robx.InvalidModel, match="not (a )?finite"):
        assembled(stump_of(value=np.array([0, 1e300, 0])), dtype=np.float32)
    with pytest.raises(robx.InvalidModel, match="not (a )?finite"):
        assembled(stump_of(), base=[1e300], dtype=np.float32)


def test_a_model_without_trees_was_not_fitted() -> None:
    with pytest.raises(robx.InvalidModel, match=r"The model has no trees: was it fitted\?"):
        assembled()


def test_more_categories_than_can_be_held_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [Column("a"), Column("c", n_codes=MAX_CODES)]
    assert assembled(by_category([MAX_CODES - 1]), columns=many).score([[0, 1]]).tolist() == [2]
    more = [Column("a"), Column("c", n_codes=MAX_CODES + 1)]
    with pytest.raises(robx.UnsupportedModel, match=r"more than 65536 categories.*BlackBox"):
        assembled(by_category([0]), columns=more)
    monkeypatch.setattr(build, "MOST_WORDS", 3)
    with pytest.raises(robx.UnsupportedModel, match=r"would take more than 512 MB\."):
        assembled(by_category([0]), by_category([1]), columns=BY_CODE)


def test_the_columns_are_looked_at_once_and_not_for_every_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = 0

    def is_category(column: Column) -> bool:
        nonlocal asked
        asked += 1
        return column.n_codes > 0

    monkeypatch.setattr(Column, "is_category", property(is_category))
    columns = [Column(str(j)) for j in range(50)]
    assembled(stump_of(), columns=columns)
    for_one, asked = asked, 0
    assembled(*[stump_of()] * 200, columns=columns)
    assert asked == for_one

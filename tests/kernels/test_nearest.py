"""These tests are small enough to run with the JIT off as well: `make test-all` does both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive_nearest import Costs, Flags, Floats, by_distance
from robx.kernels.nearest import Tree, build, query
from speed import examples

Place = tuple[float, int]


@dataclass(frozen=True)
class Case:
    """Support rows, and applicants who ask for the nearest."""

    rows: Floats
    q: Floats
    low: Floats
    high: Floats
    costs: Costs
    norm: int
    skip: Flags

    def places(self, i: int) -> list[Place]:
        """All rows in order, by the twin."""
        return by_distance(
            self.rows, self.q[i], self.low[i], self.high[i], self.costs, self.norm, self.skip
        )

    def tree(self, leaf_size: int) -> Tree:
        tree: Tree = build(self.rows, self.costs.unit, self.costs.label, leaf_size)
        return tree

    def ask(self, tree: Tree, k: int, after: list[Place]) -> list[list[Place]]:
        """For each applicant the k places after one, as the kernel gives them."""
        row = np.full((len(self.q), k), 77)
        raw = np.full((len(self.q), k), 7.7)
        query(
            *tree, self.costs.unit, self.costs.label, self.q, self.low, self.high,
            self.costs.may_fill, self.costs.fill_cost, self.norm, self.skip,
            np.array([a[0] for a in after]), np.array([a[1] for a in after]), row, raw,
        )  # fmt: skip
        return [list(zip(raw[i].tolist(), row[i].tolist(), strict=True)) for i in range(len(row))]

    def nearest(self, leaf_size: int, k: int) -> list[list[Place]]:
        return self.ask(self.tree(leaf_size), k, [(-1.0, -1)] * len(self.q))


def padded(places: list[Place], k: int) -> list[Place]:
    return (places + [(np.inf, -1)] * k)[:k]


def plain(rows: Any, q: Any, norm: int = 2) -> Case:
    """Numbers only, all of unit 1, and everything is allowed."""
    rows, q = np.array(rows, dtype=np.float64), np.array(q, dtype=np.float64)
    d = q.shape[1]
    costs = Costs(np.ones(d), np.zeros(d, bool), np.zeros(d, bool), np.zeros(d))
    free = np.full(q.shape, np.inf)
    return Case(rows.reshape(-1, d), q, -free, free, costs, norm, np.zeros(len(rows), bool))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Mixed columns with holes, limits, ties and repeated rows."""
    n, d = draw(st.integers(0, 40)), draw(st.integers(1, 6))
    norm, coarse = draw(st.sampled_from([1, 2])), draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    label = rng.random(d) < draw(st.sampled_from([0.0, 0.4, 1.0]))
    holes = draw(st.sampled_from([0.0, 0.1, 0.5]))

    def values(count: int) -> Floats:
        numbers = rng.normal(size=(count, d))
        if coarse:
            numbers = np.round(2 * numbers) / 10
        found = np.where(label, rng.integers(0, 5, (count, d)), numbers)
        found[rng.random((count, d)) < holes] = np.nan
        return found

    rows = values(n)
    if n and draw(st.booleans()):
        rows = rows[rng.integers(0, n // 3 + 1, n)]
    q = values(2)
    around = np.where(np.isnan(q), 0.0, q)
    low = around + rng.choice([-np.inf, -1.0, 0.0, 0.1], q.shape)
    high = np.maximum(low, around + rng.choice([-0.1, 0.0, 1.0, np.inf], q.shape))
    costs = Costs(
        unit=rng.choice([0.0, 1 / 3, 1.0, 2.1], d),
        label=label,
        may_fill=rng.random(d) < 0.5,
        fill_cost=rng.choice([0.0, 0.3, 1.0], d),
    )
    skip = rng.random(n) < draw(st.sampled_from([0.0, 0.3, 1.0]))
    return Case(rows, q, low, high, costs, norm, skip)


@examples(300)
@given(case=cases(), k=st.integers(1, 12), leaf_size=st.sampled_from([1, 2, 5, 64]))
def test_the_nearest_rows_are_the_twin_s(case: Case, k: int, leaf_size: int) -> None:
    expected = [padded(case.places(i), k) for i in range(len(case.q))]
    assert case.nearest(leaf_size, k) == expected


@examples(100)
@given(case=cases(), k=st.integers(1, 7), leaf_size=st.sampled_from([1, 4]))
def test_pages_follow_each_other_without_gap_or_repeat(case: Case, k: int, leaf_size: int) -> None:
    tree = case.tree(leaf_size)
    after: list[Place] = [(-1.0, -1)] * len(case.q)
    found: list[list[Place]] = [[] for _ in case.q]
    for _ in range(len(case.rows) // k + 1):
        pages = case.ask(tree, k, after)
        for i, page in enumerate(pages):
            found[i] += [place for place in page if place[1] >= 0]
        after = [page[-1] for page in pages]
        after = [place if place[1] >= 0 else (np.inf, len(case.rows)) for place in after]
    assert found == [case.places(i) for i in range(len(case.q))]


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("leaf_size", [3, 16])
def test_hundreds_of_rows_are_found_as_by_the_twin(norm: int, leaf_size: int) -> None:
    rng = np.random.default_rng(norm)
    case = plain(rng.normal(size=(300, 4)) ** 3, rng.normal(size=(4, 4)), norm)
    expected = [case.places(i)[:9] for i in range(4)]
    assert case.nearest(leaf_size, 9) == expected


def test_without_rows_nothing_is_found() -> None:
    assert plain(np.empty((0, 2)), [[0, 0]]).nearest(4, 2) == [[(np.inf, -1), (np.inf, -1)]]


def test_a_single_row_is_found_and_the_rest_left_open() -> None:
    assert plain([[3, 4]], [[0, 0]]).nearest(4, 2) == [[(25, 0), (np.inf, -1)]]
    assert plain([[3, 4]], [[0, 0]], norm=1).nearest(4, 1) == [[(7, 0)]]


@pytest.mark.parametrize("fill", [0.5, np.nan])
def test_rows_that_are_all_the_same_come_in_the_order_of_their_numbers(fill: float) -> None:
    case = plain(np.full((50, 2), fill), [[0, 0]])
    raw = 0.0 if np.isnan(fill) else 0.5
    assert case.nearest(4, 3) == [[(raw, 0), (raw, 1), (raw, 2)]]
    assert case.ask(case.tree(4), 3, [(raw, 47)]) == [[(raw, 48), (raw, 49), (np.inf, -1)]]


def test_two_neighbouring_floats_are_divided() -> None:
    values = [1.0, np.nextafter(1.0, 2.0)] * 8
    case = plain(np.array(values)[:, None], [[1.0]])
    assert [row for _, row in case.nearest(1, 16)[0]] == [*range(0, 16, 2), *range(1, 16, 2)]


def test_a_number_stops_at_the_limit_and_a_forbidden_label_is_not_taken() -> None:
    case = plain([[5, 1], [2, 1], [-4, 0], [0, 2]], [[0, 0]], norm=1)
    case = replace(
        case,
        low=np.array([[-1.0, 0.0]]),
        high=np.array([[3.0, 1.0]]),
        costs=replace(case.costs, label=np.array([False, True]), unit=np.array([1.0, 10.0])),
    )
    assert case.nearest(1, 4) == [[(0, 3), (1, 2), (12, 1), (13, 0)]]


def test_a_missing_value_stays_or_is_filled_at_its_cost() -> None:
    case = plain([[9, 1], [np.nan, 2], [np.nan, np.nan]], [[np.nan, 0]], norm=1)
    assert case.nearest(1, 3) == [[(0, 2), (1, 0), (2, 1)]]
    costs = replace(case.costs, may_fill=np.array([True, True]), fill_cost=np.array([4.0, 4.0]))
    assert replace(case, costs=costs).nearest(1, 3) == [[(0, 2), (2, 1), (5, 0)]]


# --- the tree ------------------------------------------------------------------------------------


def check_tree(case: Case, leaf_size: int) -> int:
    """Number of nodes, after a look at each."""
    order, cells, start, stop, least, right, box = case.tree(leaf_size)
    d = case.rows.shape[1]
    assert sorted(order) == list(range(len(case.rows)))
    assert (start[0], stop[0]) == (0, len(case.rows))
    for node in range(len(right)):
        members = order[start[node] : stop[node]]
        if len(members):
            assert least[node] == members.min()
            values = case.rows[members]  # a column with a hole gives NaN for both
            np.testing.assert_array_equal(box[node, :, 0], values.min(axis=0))
            np.testing.assert_array_equal(box[node, :, 1], values.max(axis=0))
        if right[node]:
            assert (start[node + 1], stop[right[node]]) == (start[node], stop[node])
            assert start[node] < stop[node + 1] == start[right[node]] < stop[node]
        else:
            assert len(members) <= leaf_size
            assert (np.diff(members) > 0).all()
            leaf = cells[start[node] * d : stop[node] * d].reshape(d, len(members))
            np.testing.assert_array_equal(leaf, case.rows[members].T)
    return len(right)


@examples(100)
@given(case=cases(), leaf_size=st.integers(1, 6))
def test_each_node_holds_its_rows_and_their_ranges(case: Case, leaf_size: int) -> None:
    check_tree(case, leaf_size)


def test_a_lopsided_tree_has_more_nodes_than_room_was_made_for() -> None:
    case = plain(10.0 ** np.arange(40)[:, None], [[1e30]])
    assert check_tree(case, 8) > 4 * (40 // 8) + 1
    assert case.nearest(8, 5) == [case.places(0)[:5]]


def test_rows_too_far_away_are_never_looked_at() -> None:
    case = plain([[0.0]] * 8 + [[9.0]] * 8, [[1.0]])
    tree = case.tree(8)
    tree[1][8:] = 1.0  # in the leaf, not in its range: would be nearest if it were read
    assert case.ask(tree, 2, [(-1.0, -1)]) == [[(1, 0), (1, 1)]]


def test_rows_that_can_only_tie_are_never_looked_at() -> None:
    case = plain([[0.0]] * 64, [[1.0]])
    tree = case.tree(4)
    tree[1][4:] = 1.0
    assert case.ask(tree, 4, [(-1.0, -1)]) == [[(1, 0), (1, 1), (1, 2), (1, 3)]]


@pytest.mark.parametrize("side", [-1, 1])
def test_an_applicant_outside_the_limits_has_to_go_as_far_for_all_rows_beyond(side: int) -> None:
    case = plain(side * np.repeat([[5.0], [3.0]], 8, axis=0), [[0.0]])
    limits = (5.0, np.inf) if side > 0 else (-np.inf, -5.0)
    case = replace(case, low=np.array([[limits[0]]]), high=np.array([[limits[1]]]))
    tree = case.tree(8)
    cells = tree[1].reshape(2, 8)
    cells[abs(cells) == 3] = np.nan  # would cost nothing if it were read
    assert case.ask(tree, 2, [(-1.0, -1)]) == [[(25, 0), (25, 1)]]


def test_known_and_missing_values_are_kept_apart() -> None:
    rows = np.column_stack([np.arange(32.0), np.zeros(32)])
    rows[::2, 0] = np.nan
    *_, right, box = plain(rows, [[0, 0]]).tree(16)
    assert right.tolist() == [2, 0, 0]
    np.testing.assert_array_equal(box[:, 0], [[np.nan] * 2, [1, 31], [np.nan] * 2])

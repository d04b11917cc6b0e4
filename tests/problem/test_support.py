from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import robx
from naive_nearest import Costs, by_distance
from robx import Feature, Schema
from robx.problem import Applicants, Support
from robx.problem.gate import Gate
from robx.problem.model_view import ModelView
from robx.schema import Codec
from robx.tables import Layout
from speed import examples

Floats = NDArray[np.float64]
nan = np.nan


def support_of(rows: Floats, *features: Feature) -> Support:
    schema = Schema(features)
    codec = Codec(schema.features, Layout.of(rows, names=schema.names))
    model = robx.BlackBox(lambda table: np.full(len(table), 0.9))
    gate = Gate(schema.rules(codec, rows), ModelView.of(model, codec, rows, rows), 0.5)
    return Support(rows, np.full(len(rows), 0.9), gate)


def applicants(support: Support, matrix: Floats) -> Applicants:
    low, high = support.rules.bounds(matrix)
    return Applicants(matrix, low, high, np.zeros(len(matrix)), ("",) * len(matrix))


FEATURES = (
    Feature("a", scale=2.0, change="increase"),
    Feature("b", scale=1.0, weight=3.0, low=1, high=2),
    Feature("c", "categorical", levels=(0, 1, 2), scale=1.0),
    Feature("d", scale=1.0, may_fill=True),
)


@given(st.integers(0, 10_000), st.sampled_from([1, 2]), st.integers(1, 40))
@examples(30, derandomize=True)
def test_rows_come_in_the_order_of_what_they_would_cost(seed: int, norm: Any, k: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.random((30, 2)) * 3, rng.integers(0, 3, 30), rng.random(30)])
    rows[rng.random((30, 4)) < 0.1] = nan
    support = support_of(rows, *FEATURES)
    who = rows[:3] + 0.1 * (np.arange(4) != 2)
    people = applicants(support, who)
    found, distance = support.near(who, people, norm, k)
    rules = support.rules
    costs = Costs(rules.unit(norm), rules.is_label, rules.may_fill, rules.fill_cost)
    for i in range(3):
        low, high = np.fmin(people.low[i], who[i]), np.fmax(people.high[i], who[i])
        everyone = by_distance(rows, who[i], low, high, costs, norm, np.zeros(30, bool))
        expected = (everyone + [(np.inf, -1)] * k)[:k]
        assert found[i].tolist() == [row for _, row in expected]
        np.testing.assert_allclose(distance[i], [d for d, _ in expected], rtol=1e-12)


def test_rows_beside_somebody_outside_of_a_range_are_near() -> None:
    rows = np.array([[6.0, 0.5], [-4.0, 0.6], [2.0, 0.9]])
    support = support_of(rows, Feature("a", scale=1.0, low=5, high=9), Feature("b", scale=1.0))
    people = applicants(support, np.array([[-3.0, 0.0], [5.0, 0.0]]))
    # To the first all but one ask for a change of a; the second is in range, and goes nowhere else.
    found, distance = support.near(people.matrix, people, 1, 3)
    assert found.tolist() == [[1, 2, 0], [1, 2, 0]]
    assert distance.tolist() == [[0.6, 5.9, 9.5], [0.6, 0.9, 1.5]]


def test_a_search_goes_on_where_it_stopped_and_leaves_rows_out() -> None:
    rows = np.arange(10.0)[:, None]
    support = support_of(rows, Feature("a", scale=1.0))
    people = applicants(support, np.array([[-1.0]]))
    first, distance = support.near(people.matrix, people, 1, 4)
    after = (distance[:, -1], first[:, -1])
    skip = np.arange(10) == 5
    rest, _ = support.near(people.matrix, people, 1, 8, skip, after)
    assert first.tolist() == [[0, 1, 2, 3]]
    assert rest.tolist() == [[4, 6, 7, 8, 9, -1, -1, -1]]


@pytest.mark.parametrize(
    ("features", "rows", "plain"),
    [
        ((Feature("a", scale=1.0),), [[1.5], [2.0]], True),
        ((Feature("a", "integer", scale=1.0),), [[1.0], [2.0]], True),
        ((Feature("a", "integer", scale=1.0),), [[1.5], [2.0]], False),
        ((Feature("a", scale=1.0),), [[1.5], [nan]], False),
        ((Feature("a", scale=1.0, change="increase"),), [[1.5]], False),
        ((Feature("a", scale=1.0, low=0),), [[1.5]], False),
        ((Feature("a", "ordinal", levels=(1, 2), scale=1.0),), [[1.0], [3.0]], False),
        (tuple(Feature(n, "onehot", group="g", scale=1.0) for n in "ab"), [[1.0, 0.0]], True),
        (tuple(Feature(n, "onehot", group="g", scale=1.0) for n in "ab"), [[1.0, 1.0]], False),
    ],
)
def test_support_is_plain_only_if_each_row_is_an_answer_as_it_is(
    features: tuple[Feature, ...], rows: list[list[float]], plain: bool
) -> None:
    assert support_of(np.array(rows), *features).is_plain is plain

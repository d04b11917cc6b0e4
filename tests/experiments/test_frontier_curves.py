"""Where curves reach a validity, and what resamples make of cells."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.frontier.curves import Curve, cheapest
from experiments.frontier.methods import Point
from experiments.frontier.resamples import FIGURES, N_RESAMPLES, curves
from hypothesis import given
from hypothesis import strategies as st

from robx.evaluation import Cell


def curve(validity: list[float], cost: list[float], name: str = "NN +RobX") -> Curve:
    columns = {"validity": validity, "cost_l1": cost, "n_changes": [2 * c for c in cost]}
    figures = {of: np.array(values)[:, None] for of, values in columns.items()}
    return Curve(name, tuple(np.arange(len(validity)) / 10), figures)


def test_between_two_points_cost_is_interpolated() -> None:
    line = curve([0.8, 0.9, 1.0], [1.0, 2.0, 4.0])
    assert line.least(0.95, "cost_l1") == pytest.approx(3)
    assert line.least(0.85, "n_changes") == pytest.approx(3)
    assert line.words(line.at(0.95)) == "between 0.1 and 0.2"


def test_at_a_point_its_own_cost_counts() -> None:
    line = curve([0.8, 0.9, 1.0], [1.0, 2.0, 4.0])
    assert line.least(0.9, "cost_l1") == 2
    assert line.words(line.at(0.9)) == "at 0.1"


def test_what_is_not_reached_is_not_extrapolated() -> None:
    line = curve([0.8, 0.9, 0.94], [1.0, 2.0, 4.0])
    assert np.isnan(line.least(0.95, "cost_l1"))
    assert line.words(line.at(0.95)) == "not reached"


def test_where_all_points_are_above_the_cheapest_counts() -> None:
    line = curve([0.97, 0.96, 0.99], [2.0, 1.5, 3.0])
    assert line.least(0.95, "cost_l1") == 1.5
    assert line.words(line.at(0.95)) == "at 0.1, all above"


def test_a_line_that_turns_back_counts_where_it_is_cheapest() -> None:
    # Up to .96, back to .9 at more cost, and up again.
    line = curve([0.8, 0.96, 0.9, 1.0], [1.0, 3.0, 2.0, 5.0])
    # Crossed three times: at 2.875, at 2.83 on the way back, and at 3.5.
    assert line.least(0.95, "cost_l1") == pytest.approx(2 + 5 / 6)
    assert line.words(line.at(0.95)) == "between 0.1 and 0.2"
    # A dear point with more validity than a cheap one after it does not hide that one.
    assert curve([0.8, 0.96, 0.97], [1.0, 9.0, 2.0]).least(0.97, "cost_l1") == 2


def test_a_single_point_is_a_curve() -> None:
    line = curve([0.97], [2.0])
    assert line.least(0.95, "cost_l1") == 2
    assert np.isnan(line.least(0.98, "cost_l1"))


def test_points_without_a_validity_are_left_out_with_their_lines() -> None:
    line = curve([0.8, np.nan, 1.0], [1.0, 1.5, 4.0])
    assert line.least(0.9, "cost_l1") == 4


def test_each_resample_has_its_own_place() -> None:
    validity = np.array([[0.8, 0.96], [1.0, 0.99]])
    cost = np.array([[1.0, 1.0], [3.0, 3.0]])
    places = cheapest(validity, cost, 0.9)
    np.testing.assert_allclose(places.read(cost), [2.0, 1.0])
    assert places.above.tolist() == [False, True]


shares = st.lists(
    st.tuples(st.floats(0.5, 1), st.floats(0.1, 5)), min_size=1, max_size=8, unique=True
)


@given(shares, st.floats(0.5, 1), st.floats(0, 0.3))
def test_more_validity_never_costs_less(
    points: list[tuple[float, float]], target: float, more: float
) -> None:
    line = curve([v for v, _ in points], [c for _, c in points])
    less_cost, more_cost = line.least(target, "cost_l1"), line.least(target + more, "cost_l1")
    assert np.isnan(more_cost) or less_cost <= more_cost + 1e-9
    reached = [c for v, c in points if v >= target]
    assert np.isnan(less_cost) == (not reached)
    if reached:  # never dearer than the cheapest point, never cheaper than all of them
        assert min(c for _, c in points) - 1e-9 <= less_cost <= min(reached) + 1e-9


def cell(method: str, seed: int, later: list[list[int]], answered: list[int]) -> Cell:
    n = len(answered)
    values = np.arange(1.0, n + 1)
    return Cell(
        method=method,
        scenario="moderate",
        seed=seed,
        answered=np.array(answered, dtype=bool),
        accepted=np.array(answered, dtype=bool),
        later=np.array(later, dtype=bool),
        n_models=len(later),
        measures={name: values for name in FIGURES if name != "validity"},
        seconds=0.0,
        tau=None,
    )


def test_a_curve_has_the_means_over_base_models_and_resamples_around_them() -> None:
    n = 40  # of whom one is not answered under the first base model
    missing = [1] * (n - 1) + [0]
    half = [[k % 2 for k in range(n - 1)] + [0], [0] * n]
    cells = [cell("NN 0.5", 0, half, missing), cell("NN 0.5", 1, [[1] * n] * 2, [1] * n)]
    (line,) = curves(cells, [Point("NN", 0.5)]).values()
    first = (n - 2) / 2 / (n - 1) / 2  # half of the answered under one of two models
    assert line.seen("validity")[0] == pytest.approx((first + 1) / 2)
    assert line.seen("cost_l1")[0] == pytest.approx((n / 2 + (n + 1) / 2) / 2)
    drawn = line.figures["validity"][0, 1:]
    assert drawn.shape == (N_RESAMPLES,)
    # Base models are drawn: a quarter of the time only the second, which all accept.
    assert (drawn == 1).mean() == pytest.approx(0.25, abs=0.04)
    assert drawn.min() >= 0
    assert drawn.mean() == pytest.approx(line.seen("validity")[0], abs=0.03)
    # New models are drawn: of the first one's two, sometimes only the strict one.
    assert (drawn == 0).any()


def test_methods_meet_the_same_resamples() -> None:
    rng = np.random.default_rng(0)
    later = (rng.random((3, 20)) < 0.7).astype(int).tolist()
    cells = [cell(name, seed, later, [1] * 20) for name in ("NN 0.5", "FT 0.5") for seed in (0, 1)]
    found = curves(cells, [Point("NN", 0.5), Point("FT", 0.5)])
    for name in FIGURES:
        np.testing.assert_array_equal(found["NN"].figures[name], found["FT"].figures[name])
    assert found["NN"].figures["validity"].std() > 0


def test_points_that_leave_many_without_an_answer_are_in_no_curve() -> None:
    few, all_ = [0] * 2 + [1] * 18, [1] * 20
    later = [[1] * 20]
    cells = [cell("CCF 0.5", 0, later, all_), cell("CCF 0.9", 0, [few], few)]
    found = curves(cells, [Point("CCF", 0.5), Point("CCF", 0.9)])
    assert found["CCF"].knobs == (0.5,)

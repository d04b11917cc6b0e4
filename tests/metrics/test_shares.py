from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import robx
from robx import metrics
from robx.metrics import percent

VOTES = hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6))
BY_MODEL = [metrics.validity, metrics.worst_model_validity, metrics.all_models_validity]
BY_ROW = [metrics.coverage, metrics.base_validity]


@given(VOTES)
def test_validities_are_what_a_count_by_hand_gives(accepted: Any) -> None:
    shares = [sum(map(int, row)) / len(row) for row in accepted]
    by_all = [all(column) for column in accepted.T]
    assert metrics.validity(accepted) == pytest.approx(sum(shares) / len(shares))
    assert metrics.worst_model_validity(accepted) == pytest.approx(min(shares))
    assert metrics.all_models_validity(accepted) == pytest.approx(sum(by_all) / len(by_all))


@given(VOTES)
def test_the_stricter_the_question_the_fewer_pass(accepted: Any) -> None:
    mean, worst, every = (share(accepted) for share in BY_MODEL)
    assert 0 <= every <= worst <= mean + 1e-12 <= 1 + 1e-12


@pytest.mark.parametrize("share", BY_MODEL)
def test_without_counterfactuals_there_is_no_validity(share: Callable[[Any], float]) -> None:
    assert np.isnan(share(np.empty((3, 0), dtype=bool)))


@pytest.mark.parametrize("share", BY_ROW)
def test_a_share_is_a_mean_and_nan_of_nobody(share: Callable[[Any], float]) -> None:
    assert share([True, False, False, False]) == 0.25
    assert np.isnan(share([]))


@given(st.floats(0.01, 1), st.floats(0, 1), st.floats(0, 1))
def test_end_to_end_is_the_product(answered: float, base: float, kept: float) -> None:
    assert metrics.end_to_end(answered, base, kept) == pytest.approx(answered * base * kept)


def test_end_to_end_is_nothing_where_nobody_is_answered() -> None:
    shares = np.array([[0.0, 0.5, np.nan], [np.nan, 1.0, np.nan], [np.nan, 0.5, np.nan]])
    np.testing.assert_array_equal(metrics.end_to_end(*shares), [0.0, 0.25, np.nan])
    assert metrics.end_to_end(0.0, float("nan"), float("nan")) == 0.0


@pytest.mark.parametrize("share", BY_MODEL)
@pytest.mark.parametrize(
    ("accepted", "came"),
    [
        ([True, False], r"bool of shape \(2,\)"),
        ([[0.3, 0.7]], r"float64 of shape \(1, 2\)"),
        (np.empty((0, 4), dtype=bool), r"bool of shape \(0, 4\)"),
    ],
)
def test_votes_of_another_shape_are_refused(
    share: Callable[[Any], float], accepted: Any, came: str
) -> None:
    expected = f"'accepted' parameter of {share.__name__} must be .* Got {came} instead"
    with pytest.raises(robx.InvalidInput, match=expected):
        share(accepted)


@pytest.mark.parametrize("share", BY_ROW)
@pytest.mark.parametrize("flags", [[[True]], [1, 0], [0.5]])
def test_rows_of_another_shape_are_refused(share: Callable[[Any], float], flags: Any) -> None:
    with pytest.raises(robx.InvalidInput, match=f"{share.__name__} must be an .n,. array of b"):
        share(flags)


@given(st.floats(0, 1))
@example(0.9999)
@example(1 - 1e-12)
@example(1e-12)
def test_only_all_is_shown_as_100_and_only_nothing_as_0(share: float) -> None:
    assert (percent(share) == "100%") == (share == 1)
    assert (percent(share) == "0%") == (share == 0)
    assert abs(float(percent(share)[:-1]) / 100 - share) <= 0.001


@pytest.mark.parametrize("none", [None, float("nan")])
def test_what_is_no_share_is_nothing(none: float | None) -> None:
    assert percent(none) == ""

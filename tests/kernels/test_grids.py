"""These tests are small enough to run with the JIT off as well: `make test-all` does both."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from robx.kernels.grids import FREE, LEVELS, STEP, nearest_allowed, settle_groups, snap
from speed import examples

Floats = NDArray[np.float64]
NO_LEVELS = np.zeros(0)
STEPS = [Fraction(1), Fraction(1, 10), Fraction(1, 4), Fraction(5), Fraction(1, 3), Fraction(3, 2)]
wide = st.floats(-1e3, 1e3)


def stored(value: float, single: bool) -> float:
    return float(np.float32(value)) if single else value


def on_grid(value: float, step: Fraction, single: bool) -> bool:
    """Whether a number is a multiple of the step, as the column stores it."""
    k = round(value / float(step))
    return any(
        stored(n * step.numerator / step.denominator, single) == value for n in range(k - 1, k + 2)
    )


@given(wide, wide, wide, st.sampled_from(STEPS), st.booleans())
@examples(200, derandomize=True)
def test_a_step_is_the_nearest_multiple_within_bounds(
    value: float, low: float, high: float, step: Fraction, single: bool
) -> None:
    low, high = min(low, high), max(low, high)
    found = nearest_allowed(
        value, low, high, STEP, float(step.numerator), float(step.denominator), single, NO_LEVELS
    )
    inside = [
        place
        for end in (low, high, value)
        for k in range(-3, 4)
        if low <= (place := _multiple(end, k, step, single)) <= high
    ]
    if not inside:
        assert math.isnan(found)
        return
    assert low <= found <= high
    assert on_grid(found, step, single)
    wanted = min(max(value, low), high)
    assert abs(found - wanted) <= min(abs(place - wanted) for place in inside) + 1e-6


def _multiple(near: float, k: int, step: Fraction, single: bool) -> float:
    n = round(near / float(step)) + k
    return stored(n * step.numerator / step.denominator, single)


@given(wide, wide, wide, st.booleans())
@examples(100, derandomize=True)
def test_a_free_number_is_clipped_and_held_by_its_dtype(
    value: float, low: float, high: float, single: bool
) -> None:
    low, high = min(low, high), max(low, high)
    found = nearest_allowed(value, low, high, FREE, 1.0, 1.0, single, NO_LEVELS)
    if math.isnan(found):
        assert single
        assert np.nextafter(np.float32(low), np.float32(np.inf)) > high
        return
    assert low <= found <= high
    assert found == stored(found, single)
    assert found == min(max(value, low), high) or single


@given(
    st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=5, unique=True).map(sorted),
    st.floats(-9, 9),
    st.integers(-6, 6),
    st.integers(-6, 6),
)
@examples(100, derandomize=True)
def test_a_level_is_the_nearest_one_listed_within_bounds(
    levels: list[float], value: float, low: int, high: int
) -> None:
    found = nearest_allowed(value, low, high, LEVELS, 1.0, 1.0, False, np.array(levels))
    inside = [level for level in levels if low <= level <= high]
    if not inside:
        assert math.isnan(found)
    else:
        assert found in inside
        assert abs(found - value) == min(abs(level - value) for level in inside)


@pytest.mark.parametrize(
    ("value", "low", "high", "numerator", "denominator", "single", "expected"),
    [
        (0.30000000000000004, -1, 1, 1, 10, False, 0.3),  # as written, not 3 * 0.1
        (0.9, 0, 0.3, 1, 10, True, float(np.float32(0.2))),  # float32(0.3) is above 0.3
        (0.9, 0, 0.3, 1, 10, False, 0.3),
        (-0.2, -1, 1, 1, 1, False, 0.0),
        (2.5, 2.2, 2.8, 1, 1, False, math.nan),
        (0.3, -1, 1, 1e-320, 1, False, 0.3),  # steps finer than the numbers themselves
        (1e300, -math.inf, math.inf, 1, 10, False, 1e300),
        (math.inf, 0, 7.5, 1, 1, False, 7.0),
        (math.inf, 0, math.inf, 1, 1, False, math.nan),
        (1e300, 0, math.inf, 1, 1, True, math.nan),  # no float32
        (5e-324, -1, 1, 1, 10, False, 0.0),
    ],
)
def test_steps_at_the_edges(
    value: float,
    low: float,
    high: float,
    numerator: float,
    denominator: float,
    single: bool,
    expected: float,
) -> None:
    found = nearest_allowed(value, low, high, STEP, numerator, denominator, single, NO_LEVELS)
    np.testing.assert_equal(found, expected)
    assert math.copysign(1, found) == 1 or found < 0 or math.isnan(found)


def snapped(
    z: list[float],
    x: list[float],
    low: list[float],
    high: list[float],
    may_fill: bool = False,
    kind: int = STEP,
) -> list[float]:
    """Snap one row of columns that share a grid: whole numbers, or the levels 0, 2 and 5."""
    d = len(z)
    out = np.full((1, d), 77.0)
    levels = np.array([0.0, 2.0, 5.0])
    snap(
        np.array([z]), np.array([x]), np.array([low]), np.array([high]),
        np.full(d, may_fill), np.full(d, kind), np.ones(d), np.ones(d), np.zeros(d, bool),
        np.arange(d + 1) * (3 if kind == LEVELS else 0), np.tile(levels, d), out,
    )  # fmt: skip
    found: list[float] = out[0].tolist()
    return found


nan, inf = math.nan, math.inf


def test_missing_values_stay_missing_unless_they_may_be_filled() -> None:
    np.testing.assert_equal(snapped([3.2], [nan], [0.0], [9.0]), [nan])
    assert snapped([3.2], [nan], [0.0], [9.0], may_fill=True) == [3.0]
    np.testing.assert_equal(snapped([nan], [nan], [0.0], [9.0], may_fill=True), [nan])
    np.testing.assert_equal(snapped([12.0], [nan], [9.5], [9.7], may_fill=True), [nan])


def test_a_known_value_never_becomes_missing() -> None:
    assert snapped([nan], [4.0], [0.0], [9.0], may_fill=True) == [4.0]


def test_a_value_may_stay_off_its_grid_where_that_is_nearest() -> None:
    assert snapped([2.5, 2.6, 2.9, 2.5], [2.5] * 4, [0.0] * 4, [9.0] * 4) == [2.5, 2.5, 3.0, 2.5]
    outside = ([2.5] * 4, [3.0] * 4, [9.0] * 4)
    assert snapped([2.5, 2.7, 2.8, 5.2], *outside) == [2.5, 2.5, 3.0, 5.0]


def test_where_nothing_is_allowed_the_applicant_keeps_theirs() -> None:
    assert snapped([7.0], [2.5], [2.2], [2.8]) == [2.5]
    assert snapped([7.0], [1.0], [9.0], [3.0]) == [1.0]


@given(
    st.lists(st.floats(-3, 8), min_size=2, max_size=2),
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 5.0, 2.5]), min_size=2, max_size=2),
    st.sampled_from([STEP, LEVELS]),
)
@examples(100, derandomize=True)
def test_snapping_twice_is_snapping_once(z: list[float], x: list[float], kind: int) -> None:
    low, high = [0.0, -1.0], [4.0, 6.0]
    once = snapped(z, x, low, high, kind=kind)
    assert snapped(once, x, low, high, kind=kind) == once


def settled(
    z: list[float], x: list[float], *, optional: bool = False, fixed: bool = False
) -> list[float]:
    out = np.full((1, len(z)), 77.0)
    low, high = (np.array([x]), np.array([x])) if fixed else (np.zeros_like(out), np.ones_like(out))
    settle_groups(
        np.array([z]), np.array([x]), low * 1.0, high * 1.0, np.array([0, len(z)]),
        np.arange(len(z)), np.array([optional]), out,
    )  # fmt: skip
    found: list[float] = out[0].tolist()
    return found


def test_the_member_that_is_wanted_most_is_set() -> None:
    assert settled([0.2, 0.7, 0.1], [1, 0, 0]) == [0, 1, 0]
    assert settled([0.2, 0.1, 0.1], [0, 0, 1]) == [1, 0, 0]
    assert settled([-2.0, -3.0, -4.0], [0, 1, 0]) == [1, 0, 0]


def test_a_tie_goes_to_what_the_applicant_does_not_have() -> None:
    assert settled([0.5, 0.5], [1, 0]) == [0, 1]
    assert settled([0.5, 0.5], [0, 1]) == [1, 0]


def test_none_is_set_only_in_an_optional_group() -> None:
    assert settled([0.2, 0.1], [1, 0]) == [1, 0]
    assert settled([0.2, 0.1], [1, 0], optional=True) == [0, 0]
    assert settled([0.6, 0.1], [0, 0], optional=True) == [1, 0]
    assert settled([0.0, 0.0], [1, 0], optional=True) == [0, 0]


def test_a_group_that_is_fixed_missing_or_as_it_was_stays() -> None:
    assert settled([0.0, 1.0], [1, 0], fixed=True) == [1, 0]
    assert settled([1.0, 1.0], [1, 1]) == [1, 1]
    np.testing.assert_equal(settled([0.0, 1.0], [nan, 0]), [nan, 0])
    assert settled([nan, 1.0], [1, 0]) == [1, 0]


def test_exactly_one_member_is_set_whatever_is_wished() -> None:
    wanted = [-1.0, 0.0, 0.3, 1.0, 2.0]
    for z in product(wanted, wanted, wanted):
        found = settled(list(z), [0.0, 1.0, 0.0])
        assert sorted(found) == [0.0, 0.0, 1.0]
        assert z[found.index(1.0)] == max(z)

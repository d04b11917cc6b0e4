from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from robx.trees.rounding import FLOAT32_LARGEST, below_float32, float32_interval, up_to_float32
from speed import examples

ANY = st.floats(allow_nan=False)
NARROW = st.floats(allow_nan=False, width=32)
MAX32 = float(np.finfo(np.float32).max)


def rounded(x: NDArray[np.float64]) -> NDArray[np.float32]:
    with np.errstate(over="ignore", under="ignore"):
        return x.astype(np.float32)


def around(*numbers: float) -> NDArray[np.float64]:
    """Numbers with their neighbours: where a rounding could go wrong, it does so here."""
    with np.errstate(over="ignore", under="ignore"):
        wide = np.array(numbers)
        narrow = rounded(wide)
        neighbours = [
            narrow,
            np.nextafter(narrow, np.float32(np.inf)),
            np.nextafter(narrow, np.float32(-np.inf)),
        ]
        spread = [wide, *(n.astype(np.float64) for n in neighbours)]
        finite = [np.clip(s, -(2.0**128), 2.0**128) for s in spread]
        spread += [(a + b) / 2 for a in finite for b in finite]
        x = np.concatenate(spread)
        x = np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)])
    return np.concatenate([x, [np.inf, -np.inf, 0.0, -0.0, FLOAT32_LARGEST, -FLOAT32_LARGEST]])


@examples(400)
@given(t=ANY, x=ANY)
@example(t=0.1, x=0.1)
@example(t=MAX32, x=MAX32)
@example(t=-MAX32, x=-MAX32)
@example(t=1e300, x=1e39)
@example(t=-1e300, x=-1e39)
@example(t=np.inf, x=np.inf)
@example(t=-np.inf, x=-np.inf)
@example(t=5e-324, x=1e-45)
@example(t=-5e-324, x=-1e-46)
@example(t=0.0, x=-0.0)
def test_up_to_asks_of_a_number_what_was_asked_of_its_rounding(t: float, x: float) -> None:
    rows = around(t, x)
    moved = up_to_float32(np.array([t]))
    assert moved.dtype == np.float64
    np.testing.assert_array_equal(rounded(rows).astype(np.float64) <= t, rows <= moved[0])


@examples(400)
@given(t=st.floats(min_value=-MAX32, width=32), x=ANY)
@example(t=MAX32, x=MAX32)
@example(t=-MAX32, x=-MAX32)
@example(t=np.inf, x=MAX32)
@example(t=0.0, x=-0.0)
@example(t=1.401298464324817e-45, x=7e-46)
def test_below_asks_of_a_number_what_was_asked_of_its_rounding(t: float, x: float) -> None:
    rows = around(t, x)
    moved = below_float32(np.array([t], dtype=np.float32))
    assert moved.dtype == np.float64
    np.testing.assert_array_equal(rounded(rows) < np.float32(t), rows <= moved[0])


@examples(400)
@given(value=ANY, x=ANY)
@example(value=0.0, x=-0.0)
@example(value=-0.0, x=0.0)
@example(value=0.1, x=0.1)
@example(value=MAX32, x=MAX32)
@example(value=-MAX32, x=-MAX32)
@example(value=np.inf, x=1e39)
@example(value=-np.inf, x=-1e39)
@example(value=1e300, x=1e39)
@example(value=-999.0, x=-999.0)
@example(value=1.401298464324817e-45, x=7e-46)
def test_an_interval_holds_exactly_the_numbers_that_round_alike(value: float, x: float) -> None:
    rows = around(value, x)
    low, high = float32_interval(value)
    alike = rounded(rows) == rounded(np.array([value]))[0]
    np.testing.assert_array_equal(alike, (rows >= low) & (rows <= high))


@given(values=st.lists(ANY, min_size=1, max_size=8))
def test_a_vector_is_moved_number_by_number(values: list[float]) -> None:
    one_by_one = [float(up_to_float32(np.array([value]))[0]) for value in values]
    assert up_to_float32(np.array(values)).tolist() == one_by_one
    with np.errstate(over="ignore", under="ignore"):
        narrow = np.array(values, dtype=np.float32)
    alone = [float(below_float32(narrow[i : i + 1])[0]) for i in range(len(narrow))]
    assert below_float32(narrow).tolist() == alone


@given(t=NARROW)
def test_thresholds_keep_their_order(t: float) -> None:
    here = np.array([t], dtype=np.float32)
    assert below_float32(here)[0] <= up_to_float32(here)[0]
    if np.isfinite(t):
        assert below_float32(here)[0] < t <= up_to_float32(here)[0]


def test_the_largest_number_that_stays_finite() -> None:
    with np.errstate(over="ignore"):
        assert np.float32(FLOAT32_LARGEST) == np.finfo(np.float32).max
        assert np.isinf(np.float32(np.nextafter(FLOAT32_LARGEST, np.inf)))


@pytest.mark.parametrize("missing", [-999.0, 0.0, 1e20])
def test_a_marker_lies_in_its_own_interval(missing: float) -> None:
    low, high = float32_interval(missing)
    assert low < missing < high

"""These tests are small enough to run with the JIT off as well: `make test-all` does both."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from robx.kernels.lof import factors
from speed import examples

Floats = NDArray[np.float64]
TINY = 1e-10


def naive_factor(
    point: list[float], rows: list[list[float]], reach: list[float], density: list[float], k: int
) -> float:
    """The definition: of equally far rows the earlier one is nearer."""
    far = []
    for i, row in enumerate(rows):
        squared = 0.0
        for a, b in zip(row, point, strict=True):
            squared += (a - b) ** 2
        far.append((squared, i))
    near = sorted(far)[:k]
    way = sum(max(math.sqrt(squared), reach[i]) for squared, i in near) / k
    return sum(density[i] for _, i in near) / k * (way + TINY)


def by_kernel(points: Floats, rows: Floats, reach: Floats, density: Floats, k: int) -> Floats:
    out = np.full(len(points), np.nan)
    factors(points, np.ascontiguousarray(rows.T), reach, density, k, TINY, out)
    return out


@given(data=st.data(), n=st.integers(1, 12), d=st.integers(1, 3), m=st.integers(0, 4))
@examples(60)
def test_factors_are_those_of_the_definition_also_with_ties_and_copies(
    data: st.DataObject, n: int, d: int, m: int
) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    # Few values, so that many distances tie and many rows are copies of each other.
    rows = rng.integers(0, data.draw(st.sampled_from([2, 4, 1000])), (n, d)).astype(float)
    points = rng.integers(0, 4, (m, d)).astype(float)
    reach, density = rng.random(n) * 3, rng.random(n) + 0.1
    k = data.draw(st.integers(1, n))
    expected = [
        naive_factor(point, rows.tolist(), reach.tolist(), density.tolist(), k)
        for point in points.tolist()
    ]
    np.testing.assert_allclose(by_kernel(points, rows, reach, density, k), expected, rtol=1e-12)


def test_of_equally_far_rows_the_earlier_one_is_nearer() -> None:
    rows = np.array([[1.0], [-1.0], [-1.0], [1.0]])
    density = np.array([1.0, 10.0, 100.0, 1000.0])
    for k, mean in ((1, 1.0), (2, 5.5), (3, 37.0), (4, 277.75)):
        found = by_kernel(np.zeros((1, 1)), rows, np.zeros(4), density, k)
        assert found[0] == pytest.approx(mean)


def test_a_point_does_not_depend_on_the_others() -> None:
    rng = np.random.default_rng(0)
    rows, points = rng.random((40, 3)), rng.random((9, 3))
    reach, density = rng.random(40), rng.random(40)
    whole = by_kernel(points, rows, reach, density, 7)
    single = [by_kernel(points[[i]], rows, reach, density, 7)[0] for i in range(9)]
    assert whole.tobytes() == np.array(single).tobytes()

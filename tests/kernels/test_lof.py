"""These tests are small enough to run with the JIT off as well: `make test-all` does both."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.neighbors import LocalOutlierFactor

from robx.kernels.lof import Rows, factor, factors, measure, measure_again, nearest, rounding
from robx.metrics import Outliers
from speed import examples, tries

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
    out, nobody = np.full(len(points), np.nan), np.full(len(rows), np.nan)
    columns = np.ascontiguousarray(rows.T)
    factors(points, Rows(rows, columns, reach, density, nobody, k, TINY), out)
    return out


@given(data=st.data(), n=st.integers(1, 12), d=st.integers(1, 3), m=st.integers(0, 4))
@examples(60)
def test_factors_are_those_of_the_definition_also_with_ties_and_copies(
    data: st.DataObject, n: int, d: int, m: int
) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    # Few values, so that many distances tie and many rows are copies of each other.
    rows = rng.integers(0, data.draw(st.sampled_from([2, 4, 1000])), (n, d)).astype(float)
    points = rng.integers(0, 4, (m, d)).astype(float) + 0.5  # as far from several rows
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


@pytest.mark.parametrize(("n", "d", "k"), [(30, 2, 5), (60, 7, 20), (8, 3, 7)])
def test_factors_are_those_of_scikit_learn_for_points_that_are_no_rows(
    n: int, d: int, k: int
) -> None:
    rng = np.random.default_rng(n)
    rows, points = rng.normal(size=(n, d)), rng.normal(size=(20, d)) * 2
    theirs = LocalOutlierFactor(n_neighbors=k, novelty=True).fit(rows)
    arrays, out = Outliers(n_neighbors=k).fit(rows).arrays, np.empty(20)
    factors(points, arrays, out)
    np.testing.assert_allclose(out, -theirs.score_samples(points), rtol=1e-9)


def test_a_point_that_is_a_row_gets_the_factor_of_the_row() -> None:
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.random((12, 2)), [1, 2, *(1 for _ in range(10))], axis=0)
    arrays, out = Outliers(n_neighbors=4).fit(rows).arrays, np.empty(len(rows))
    factors(arrays.rows, arrays, out)
    assert out.tobytes() == arrays.own.tobytes()
    for i, row in enumerate(arrays.rows):
        rest = np.delete(arrays.rows, i, axis=0)
        expected = Outliers(n_neighbors=4).fit(rest)
        if not (rest == row).all(axis=1).any():
            np.testing.assert_allclose(out[i], expected.factor(row[None])[0], rtol=1e-12)


class Walk:
    """A point that moves a coordinate at a time, measured anew and from what is known of it."""

    def __init__(self, rows: Rows, point: Floats) -> None:
        self.rows, self.point, self.size = rows, point, float(np.abs(rows.rows).max())
        self.total, self.kept = np.empty(len(rows.rows)), np.empty(len(rows.rows))
        measure(point, rows.columns, self.kept)
        self.last = float(np.sort(self.kept)[rows.k - 1])
        self.drift = self._rounding(point)

    def anew(self, new: Floats) -> tuple[Any, ...]:
        measure(new, self.rows.columns, self.total)
        return self._found(new, math.inf, -1.0)

    def again(self, new: Floats) -> tuple[Any, ...]:
        self.drift += max(self._rounding(self.point), self._rounding(new))
        apart = measure_again(self.point, new, self.rows.columns, self.kept, self.total)
        limit = (math.sqrt(self.last) + apart) ** 2 * (1 + 1e-11) + 2 * self.drift
        found = self._found(new, limit, self.drift)
        self.point, self.kept, self.last = new, self.total.copy(), found[1][-1]
        return found

    def _rounding(self, point: Floats) -> float:
        return float(rounding(len(point), max(self.size, float(np.abs(point).max()))))

    def _found(self, point: Floats, limit: float, drift: float) -> tuple[Any, ...]:
        near, squared = np.zeros(self.rows.k, np.int64), np.zeros(self.rows.k)
        nearest(point, self.rows.rows, self.total, limit, drift, self.rows.k, near, squared)
        return near.tolist(), squared.tolist(), factor(self.rows, near, squared)


@pytest.mark.parametrize("largest", [1.0, 1e6])
@pytest.mark.parametrize("decimals", [0, 1, 12])
def test_distances_that_are_kept_up_to_date_give_the_same_neighbours(
    largest: float, decimals: int
) -> None:
    for seed in range(tries(20, 4)):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(40, 6)).round(decimals)  # few decimals make ties
        rows[0, 0] *= largest
        arrays = Outliers(n_neighbors=5).fit(rows).arrays
        walk = Walk(arrays, rows[3].copy())
        for step in range(60):
            point = walk.point.copy()
            j = rng.integers(6)
            point[j] = rng.normal() if step % 3 else rows[rng.integers(40), j]
            if step % 17 == 5:
                point[0] = largest
            expected = walk.anew(point)
            assert walk.again(point) == expected

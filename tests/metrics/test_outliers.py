from __future__ import annotations

import math
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from sklearn.neighbors import LocalOutlierFactor

import robx
from robx.metrics import Outliers
from speed import examples, slow_but

Floats = NDArray[np.float64]
RNG = np.random.default_rng(0)


def sklearn_factors(rows: Floats, points: Floats, k: int) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of more neighbours than rows
        return np.asarray(
            -LocalOutlierFactor(n_neighbors=k, novelty=True).fit(rows).score_samples(points)
        )


def naive_factor(rows: Floats, point: Floats, k: int) -> float:
    """The definition, for one point: without it, and ties by the order of coordinates."""
    crowd = sorted(tuple(row) for row in rows.tolist())
    x = tuple(point.tolist())
    if x in crowd:
        crowd.remove(x)
    k = min(k, len(crowd) - 1)

    def nearest(place: tuple[float, ...], own: int | None) -> list[tuple[float, int]]:
        found = []
        for i, other in enumerate(crowd):
            squared = 0.0
            for a, b in zip(place, other, strict=True):
                squared += (a - b) * (a - b)
            if i != own:
                found.append((math.sqrt(squared), i))
        return sorted(found)[:k]

    def density(neighbours: list[tuple[float, int]]) -> float:
        reach = [max(distance, nearest(crowd[i], i)[-1][0]) for distance, i in neighbours]
        return float(1 / (np.mean(reach) + 1e-10))

    own_neighbours = nearest(x, None)
    others = [density(nearest(crowd[i], i)) for _, i in own_neighbours]
    return float(np.mean(others) / density(own_neighbours))


@pytest.mark.parametrize(
    "rows",
    [
        RNG.normal(size=(60, 3)),
        RNG.random((60, 18)),  # scikit-learn searches more columns than 15 in another way
        np.column_stack([RNG.random((40, 2)), np.ones((40, 2))]),
        np.repeat(RNG.random((15, 3)), [1, 2, 3, 1, 1, 4, 1, 6, 1, 1, 2, 1, 1, 1, 9], axis=0),
        RNG.exponential(size=(50, 1)),
    ],
    ids=["plain", "many columns", "constant columns", "copies", "one column"],
)
@pytest.mark.parametrize("k", slow_but([1, 20, 59, 100], [1, 5, 20, 33, 58, 59, 60, 100]))
def test_a_fitted_row_gets_what_scikit_learn_gives_it_when_fitted_without(
    rows: Floats, k: int
) -> None:
    found = Outliers(n_neighbors=k).fit(rows).factor(rows)
    refitted = [
        sklearn_factors(np.delete(rows, i, axis=0), rows[[i]], k)[0] for i in range(len(rows))
    ]
    np.testing.assert_allclose(found, refitted, rtol=1e-9)


@pytest.mark.parametrize("n_columns", [1, 4, 20])
@pytest.mark.parametrize("k", [1, 20, 79, 80, 200])
def test_other_points_get_what_scikit_learn_gives_them(n_columns: int, k: int) -> None:
    rows = RNG.normal(size=(80, n_columns))
    points = 2 * RNG.normal(size=(50, n_columns))
    found = Outliers(n_neighbors=k).fit(rows).factor(points)
    np.testing.assert_allclose(found, sklearn_factors(rows, points, k), rtol=1e-9)


@pytest.mark.parametrize("contamination", ["auto", 0.05, 0.3, 0.5])
def test_labels_are_those_of_scikit_learn(contamination: Any) -> None:
    rows = np.repeat(RNG.normal(size=(150, 2)), np.arange(150) % 4 + 1, axis=0)
    points = 2 * RNG.normal(size=(200, 2))
    theirs = LocalOutlierFactor(contamination=contamination, novelty=True).fit(rows)
    ours = Outliers(contamination=contamination).fit(rows)
    assert ours.offset == pytest.approx(theirs.offset_, rel=1e-12)
    labels = ours.label(points)
    assert labels.dtype == np.int8
    assert set(labels.tolist()) == {-1, 1}
    np.testing.assert_array_equal(labels, theirs.predict(points))


def test_a_lonely_row_is_not_its_own_company() -> None:
    rows = np.vstack([RNG.normal(size=(100, 2)), [[9.0, 9.0]]])
    with_itself = sklearn_factors(rows, rows[-1:], 1)[0]
    assert with_itself < 1.5 < Outliers(n_neighbors=1).fit(rows).factor(rows[-1:])[0]


def test_of_several_equal_rows_one_is_left_out() -> None:
    rows = np.vstack([RNG.normal(size=(100, 2)), [[9.0, 9.0]] * 4])
    fewer = Outliers(n_neighbors=3).fit(rows).label(rows[-1:])
    more = Outliers(n_neighbors=4).fit(rows).label(rows[-1:])
    assert (fewer.tolist(), more.tolist()) == ([1], [-1])


GRIDS = st.integers(1, 3).flatmap(
    lambda d: st.tuples(
        hnp.arrays(np.int64, st.tuples(st.integers(3, 14), st.just(d)), elements=st.integers(0, 3)),
        hnp.arrays(np.int64, (3, d), elements=st.integers(-1, 4)),
    )
)


@examples(150)
@given(GRIDS, st.integers(1, 16), st.sampled_from([1.0, 0.1, 1 / 3]))
def test_on_grids_full_of_ties_the_definition_is_followed(grid: Any, k: int, step: float) -> None:
    rows, points = (step * part for part in grid)
    everything = np.vstack([rows, points])
    found = Outliers(n_neighbors=k).fit(rows).factor(everything)
    expected = [naive_factor(rows, point, k) for point in everything]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize(
    "rows",
    [
        np.eye(40),  # everyone is equally far from everyone
        1e7 + RNG.random((40, 17)),  # a fast search rounds such distances
        RNG.permutation(np.argwhere(np.ones((12, 12)))).astype(np.float64),
        np.ones((30, 2)),
        RNG.integers(0, 2, (60, 16)).astype(np.float64),
    ],
    ids=["all tied", "far from the origin", "a grid", "all equal", "binary"],
)
def test_hard_cases_follow_the_definition(rows: Floats) -> None:
    points = np.vstack([rows[:8], rows[:4] + 0.01])
    found = Outliers(n_neighbors=6).fit(rows).factor(points)
    expected = [naive_factor(rows, point, 6) for point in points]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("n_columns", [2, 16])
def test_the_order_of_rows_and_the_company_of_points_do_not_matter(n_columns: int) -> None:
    rows = RNG.integers(0, 3, (300, n_columns)) / 3
    points = np.vstack([rows[:50], RNG.integers(0, 4, (50, n_columns)) / 3])
    found = Outliers().fit(rows).factor(points)
    shuffled = Outliers().fit(RNG.permutation(rows))
    assert shuffled.factor(points).tobytes() == found.tobytes()
    one_by_one = np.concatenate([shuffled.factor(point[None]) for point in points])
    assert one_by_one.tobytes() == found.tobytes()


def test_a_long_search_is_cut_into_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = RNG.integers(0, 3, (200, 3)).astype(np.float64)
    found = Outliers().fit(rows).factor(rows)
    monkeypatch.setattr("robx.metrics.outliers.CELLS", 1000)
    assert Outliers().fit(rows).factor(rows).tobytes() == found.tobytes()


def test_no_matrix_of_all_pairs_is_made() -> None:
    rows = RNG.random((6000, 4))
    tracemalloc.start()
    Outliers().fit(rows).factor(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6000 * 6000 * 8 / 3


def test_both_zeros_are_one() -> None:
    rows = np.vstack([RNG.normal(size=(50, 2)), [[-0.0, 1.0]]])
    zeros = np.array([[0.0, 1.0], [-0.0, 1.0]])
    found = Outliers().fit(rows).factor(zeros)
    assert found[0] == found[1] == pytest.approx(sklearn_factors(rows[:-1], zeros[:1], 20)[0])


def test_a_point_without_a_place_has_no_factor_and_stops_no_other() -> None:
    fitted = Outliers().fit(RNG.normal(size=(50, 2)))
    points = np.array([[np.nan, 0.0], [np.inf, 0.0], [1e200, 0.0], [0.1, 0.0]])
    assert np.isnan(fitted.factor(points)).tolist() == [True, True, True, False]
    assert fitted.label(points).tolist() == [0, 0, 0, 1]
    assert fitted.factor(np.empty((0, 2))).shape == fitted.label(np.empty((0, 2))).shape == (0,)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"n_neighbors": 0},
            "'n_neighbors' parameter of Outliers must be an integer from 1. Got 0",
        ),
        ({"n_neighbors": 2.0}, "must be an integer from 1. Got 2.0"),
        ({"contamination": 0.0}, "'contamination' parameter .* above 0 and at most 0.5, or 'auto'"),
        ({"contamination": 0.6}, "Got 0.6 instead"),
        ({"contamination": "some"}, "Got 'some' instead"),
        ({"fitted_on": "declined"}, "must be 'support' or 'accepted'. Got 'declined' instead"),
    ],
)
def test_settings_that_make_no_sense_are_refused(parameters: Any, message: str) -> None:
    with pytest.raises(robx.InvalidInput, match=message):
        Outliers(**parameters)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([1.0, 2.0, 3.0], r"at least 3 rows .* Got rows of shape \(3,\)"),
        ([[1.0], [2.0]], r"Got rows of shape \(2, 1\)"),
        (np.empty((5, 0)), r"Got rows of shape \(5, 0\)"),
        ([[1.0], [2.0], [np.nan]], "finite numbers below 1e150 in size. Fill in missing values"),
    ],
)
def test_rows_that_have_no_neighbours_are_refused(rows: Any, message: str) -> None:
    with pytest.raises(robx.InvalidInput, match=message):
        Outliers().fit(rows)


@pytest.mark.parametrize("points", [[0.0, 0.0], [[0.0]]])
def test_points_of_other_columns_are_refused(points: Any) -> None:
    fitted = Outliers().fit(RNG.normal(size=(50, 2)))
    with pytest.raises(robx.InvalidInput, match=r"takes points of shape \(n, 2\)"):
        fitted.factor(points)

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import robx
from robx import InvalidInput
from robx.datasets import make_gaussians
from speed import examples


@examples(30)
@given(
    n=st.integers(2, 300),
    d=st.integers(1, 6),
    separation=st.floats(0, 50),
    seed=st.integers(0, 2**32),
)
def test_halves_are_equal_for_any_size(n: int, d: int, separation: float, seed: int) -> None:
    X, y, schema = make_gaussians(n, d, separation=separation, seed=seed)
    assert X.shape == (n, d)
    assert int(y.sum()) == (n + 1) // 2
    assert schema.names == tuple(f"x{j}" for j in range(d))
    again = make_gaussians(n, d, separation=separation, seed=seed)
    assert X.equals(again.X)
    assert y.equals(again.y)


@pytest.mark.parametrize(("d", "separation"), [(1, 0.0), (2, 2.0), (5, 3.0)])
def test_the_classes_are_gaussians_around_opposite_centres(d: int, separation: float) -> None:
    X, y, _ = make_gaussians(200_000, d, separation=separation, seed=3)
    mu = np.full(d, separation / 2 / np.sqrt(d))
    for label, centre in ((1, mu), (0, -mu)):
        rows = X[y == label].to_numpy()
        np.testing.assert_allclose(rows.mean(axis=0), centre, atol=0.015)
        np.testing.assert_allclose(np.cov(rows.T), np.eye(d).squeeze(), atol=0.02)
    # The best rule asks on which side of the middle a row lies.
    right = ((X.sum(axis=1) > 0) == (y == 1)).mean()
    assert right == pytest.approx(norm.cdf(separation / 2), abs=0.005)


def test_rows_come_in_random_order() -> None:
    _, y, _ = make_gaussians(10_000)
    assert y[:1000].mean() == pytest.approx(0.5, abs=0.06)
    assert (y.diff().dropna() != 0).mean() == pytest.approx(0.5, abs=0.03)


def test_another_seed_gives_other_rows() -> None:
    assert not make_gaussians(50, seed=0).X.equals(make_gaussians(50, seed=1).X)


def test_a_million_rows_take_well_under_a_second() -> None:
    start = time.process_time()
    make_gaussians(1_000_000)
    assert time.process_time() - start < 1


def test_recourse_leads_towards_the_other_centre() -> None:
    X, y, schema = make_gaussians(400, separation=3.0)
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(30, max_depth=5, random_state=0, n_jobs=1).fit(X, y)
    people = X[model.predict_proba(X)[:, 1] <= 0.5][:20]
    answer = robx.RobX(tau=0.6).explain(robx.Problem(model, X, schema), people)
    assert answer.ok.all()
    assert (answer.points.sum(axis=1) > people.sum(axis=1)).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n": 1}, "'n' parameter of make_gaussians must be an integer from 2. Got 1 instead."),
        ({"n": 10.0}, "'n' parameter of make_gaussians must be an integer from 2. Got 10.0"),
        ({"n": True}, "'n' parameter of make_gaussians must be an integer from 2. Got True"),
        ({"d": 0}, "'d' parameter of make_gaussians must be an integer from 1. Got 0 instead."),
        ({"d": "2"}, "'d' parameter of make_gaussians must be an integer from 1. Got '2'"),
        ({"seed": -1}, "'seed' parameter of make_gaussians must be an integer from 0. Got -1"),
        ({"seed": None}, "'seed' parameter of make_gaussians must be an integer from 0. Got None"),
        ({"separation": -1.0}, "must be a number from 0. Got -1.0 instead."),
        ({"separation": float("nan")}, "must be a number from 0. Got nan instead."),
        ({"separation": float("inf")}, "must be a number from 0. Got inf instead."),
        ({"separation": "2"}, "'separation' parameter of make_gaussians must be a number"),
        ({"separation": True}, "must be a number from 0. Got True instead."),
    ],
)
def test_what_cannot_be_drawn_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        make_gaussians(**given)


def test_numpy_numbers_are_numbers() -> None:
    n, d, separation, seed = np.int8(127), np.int32(3), np.float32(1), np.uint8(1)
    found = make_gaussians(n, d, separation=separation, seed=seed)  # type: ignore[arg-type]
    assert found.X.equals(make_gaussians(127, 3, separation=1.0, seed=1).X)

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import robx
from robx.metrics import cost, n_changes

NAN = float("nan")
PAIRS = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=5).map(lambda shape: (2, *shape)),
    elements=st.sampled_from([NAN, -3.0, 0.0, 0.5, 2.0]),
)


@given(PAIRS, st.sampled_from([0.5, 1.0, 4.0]))
def test_cost_and_changes_are_what_a_loop_gives(pairs: Any, scale: float) -> None:
    points, applicants = pairs
    for i, (z, x) in enumerate(zip(points, applicants, strict=True)):
        moves = []
        for after, before in zip(z, x, strict=True):
            if np.isnan(after) or np.isnan(before):
                moves.append(float(np.isnan(after) != np.isnan(before)))
            else:
                moves.append(abs(after - before) / scale)
        assert cost(points, applicants, scale)[i] == pytest.approx(sum(moves))
        assert cost(points, applicants, scale, norm=2)[i] == pytest.approx(np.hypot.reduce(moves))
        assert n_changes(points, applicants)[i] == sum(move > 0 for move in moves)


def test_each_column_has_its_own_scale() -> None:
    assert cost([[4.0, 4.0]], [[0.0, 0.0]], scale=[1.0, 4.0]).tolist() == [5.0]


def test_nobody_costs_nothing() -> None:
    nobody = np.empty((0, 3))
    assert cost(nobody, nobody).shape == n_changes(nobody, nobody).shape == (0,)
    assert n_changes(nobody, nobody).dtype == np.int64


@pytest.mark.parametrize(
    ("points", "applicants"), [([1.0], [1.0]), ([[1.0]], [[1.0, 2.0]]), ([[1.0]], [[1.0], [2.0]])]
)
def test_rows_that_do_not_belong_together_are_refused(points: Any, applicants: Any) -> None:
    with pytest.raises(robx.InvalidInput, match=r"cost takes points and applicants of the"):
        cost(points, applicants)
    with pytest.raises(robx.InvalidInput, match=r"n_changes takes points and applicants of the"):
        n_changes(points, applicants)


@pytest.mark.parametrize("scale", [0.0, -1.0, NAN, np.inf, [1.0, 1.0, 1.0], [[1.0, 1.0]]])
def test_a_scale_that_is_none_is_refused(scale: Any) -> None:
    with pytest.raises(robx.InvalidInput, match="one for each of the 2 columns"):
        cost([[1.0, 2.0]], [[1.0, 2.0]], scale=scale)


def test_other_norms_are_refused() -> None:
    norm: Literal[1, 2] = 3  # type: ignore[assignment]
    with pytest.raises(robx.InvalidInput, match="must be 1 or 2. Got 3 instead"):
        cost([[1.0]], [[1.0]], norm=norm)

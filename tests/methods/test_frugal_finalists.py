"""How many starts of an applicant Frugal pulls back to the end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import robx

NAMES = ("high", "idle", "long", "deep")
ROWS = np.array([[0.9, 0.9, 0, 0], [0, 0, 0.65, 0.65], [0, 0, 0, 0]])


def accepted(rows: Any) -> Any:
    """Two ways: one feature high up; or one a little and another a lot."""
    high, _, long, deep = np.asarray(rows, dtype=float).T
    score = np.where((high >= 0.85) | ((long >= 0.05) & (deep >= 0.6)), 0.9, 0.1)
    return np.column_stack([1 - score, score])


def test_the_second_best_start_can_win_when_what_is_left_of_its_changes_is_halved() -> None:
    schema = robx.Schema(tuple(robx.Feature(name, scale=1.0) for name in NAMES))
    problem = robx.Problem(robx.BlackBox(accepted), ROWS, schema)
    method = robx.Frugal(base=None, realism=None, level=0.0, noise=robx.Noise(1e-9, 256))
    # With nothing halved, the first row is cheaper: its idle feature is undone altogether.
    undone = replace(method, halvings=0).explain(problem, ROWS[2:])
    assert undone.points.tolist() == [[0.9, 0, 0, 0]]
    (answer,) = method.explain(problem, ROWS[2:]).points
    assert answer[:2].tolist() == [0, 0]
    assert 0.05 <= answer[2] < 0.1
    assert 0.6 <= answer[3] <= 0.65

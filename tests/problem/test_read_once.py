"""Tables are read once on the way in and written once on the way out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import robx
from families import family
from robx.schema import codec
from robx.tables import count_rows, read_matrix, rewrite_and_read


class Counter:
    """Counts the rows that pass through a function."""

    def __init__(self, function: Any) -> None:
        self.function, self.rows = function, list[int]()

    def __call__(self, X: Any, *rest: Any, **more: Any) -> Any:
        self.rows.append(count_rows(X))
        return self.function(X, *rest, **more)


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> tuple[Counter, Counter]:
    reading, writing = Counter(read_matrix), Counter(rewrite_and_read)
    monkeypatch.setattr(codec, "read_matrix", reading)
    monkeypatch.setattr(codec, "rewrite_and_read", writing)
    return reading, writing


@pytest.mark.parametrize("name", ["xgboost", "forest", "pipeline"])
def test_the_training_table_is_read_once(name: str, counters: tuple[Counter, Counter]) -> None:
    case = family(name)
    case.problem()
    assert counters[0].rows.count(count_rows(case.X)) == 1


@pytest.mark.parametrize(
    "method",
    [robx.NearestNeighbour(), robx.RobX(base=None), robx.Frugal(base=None)],
    ids=lambda method: type(method).__name__,
)
def test_applicants_are_read_once_and_answers_written_once(
    method: robx.Method, counters: tuple[Counter, Counter]
) -> None:
    problem, case = family("xgboost").problem(), family("xgboost")
    some = case.applicants.iloc[np.flatnonzero(case.probability(case.applicants) <= 0.5)[:3]]
    reading, writing = counters
    reading.rows.clear()
    answer = method.explain(problem, some)
    assert (reading.rows, writing.rows) == ([3], [])  # nobody has looked yet
    assert answer.points is answer.noted(seed=1).points
    assert answer.words(0)
    assert (reading.rows, writing.rows) == ([3], [3])
    several = robx.alternatives(method, problem, some, n_answers=2)
    assert len(several.points) == len(several.alternatives[0].points) == 3
    assert (reading.rows, writing.rows) == ([3, 3], [3, 3, 3])

"""A row that a model refuses does not take the others with it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.trees.rowwise import score_rows


@given(st.lists(st.booleans(), max_size=40))
def test_every_row_that_the_model_takes_has_its_score(refused: list[bool]) -> None:
    def score(rows: NDArray[np.intp]) -> Floats:
        if any(refused[i] for i in rows):
            raise RuntimeError("too rich.\nTry less.")
        return rows / 100

    scores, reasons = score_rows(score, len(refused))
    expected = [np.nan if no else i / 100 for i, no in enumerate(refused)]
    np.testing.assert_array_equal(scores, expected)
    said = "the model refuses the row: RuntimeError: too rich"
    assert reasons == [said if no else "" for no in refused]


@pytest.mark.parametrize("n_rows", [0, 1, 50])
def test_a_model_that_takes_every_row_is_asked_once_about_all(n_rows: int) -> None:
    asked: list[int] = []

    def score(rows: NDArray[np.intp]) -> Floats:
        asked.append(len(rows))
        return rows / 100

    scores, reasons = score_rows(score, n_rows)
    assert asked == [n_rows][: min(n_rows, 1)]
    assert scores.tolist() == (np.arange(n_rows) / 100).tolist()
    assert not any(reasons)


def test_one_refused_row_takes_few_calls() -> None:
    asked: list[int] = []

    def score(rows: NDArray[np.intp]) -> Floats:
        asked.append(len(rows))
        if 700 in rows:
            raise InvalidInput("Column 'age' of X is infinite.")
        return rows / 1024

    scores, reasons = score_rows(score, 1024)
    assert len(asked) == 21
    assert np.flatnonzero(np.isnan(scores)).tolist() == [700]
    assert reasons[700] == "the model refuses the row: Column 'age' of X is infinite"

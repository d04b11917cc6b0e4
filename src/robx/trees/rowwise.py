"""Scoring rows of which a model may refuse some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Floats
from robx.errors import RobxError
from robx.tables import count_rows, read_matrix, take
from robx.trees.model import Model


def score_rows(score: Callable[[NDArray[np.intp]], Any], n_rows: int) -> tuple[Floats, list[str]]:
    """Score rows one and all; a row that makes the model raise does not take the others with it.

    Where `score` raises, the rows are halved until those that it refuses stand alone.

    Parameters
    ----------
    score : function from positions of rows, (m,) int, to their scores, (m,) float
    n_rows : int

    Returns
    -------
    scores : (n_rows,) float64
        NaN for refused rows.
    reasons : list of str
        Why the model refuses the row; empty where it does not.

    Examples
    --------
    >>> def score(rows):
    ...     if 2 in rows:
    ...         raise ValueError("Unknown category 'boat'.")
    ...     return rows / 10
    >>> scores, reasons = score_rows(score, 4)
    >>> scores.tolist()
    [0.0, 0.1, nan, 0.3]
    >>> reasons[2]
    "the model refuses the row: ValueError: Unknown category 'boat'"
    """
    scores, reasons = np.full(n_rows, np.nan), [""] * n_rows
    waiting = [np.arange(n_rows)] if n_rows else []
    while waiting:
        rows = waiting.pop()
        try:
            scores[rows] = score(rows)
        except Exception as error:
            if len(rows) > 1:
                waiting += np.array_split(rows, 2)[::-1]
            else:
                reasons[rows[0]] = f"the model refuses the row: {first_line(error)}"
    return scores, reasons


def refusals(model: Model, X: Any) -> list[str]:
    """Say of each row of a table why a model does not score it; empty where it does."""
    n_rows = count_rows(X)
    if model.trees is None:
        return score_rows(lambda rows: model.score(take(X, rows)), n_rows)[1]
    reasons: dict[int, str] = {}
    read_matrix(X, model.trees.columns, named=model.trees.named, reasons=reasons)
    return [reasons.get(row, "") for row in range(n_rows)]


def first_line(error: Exception) -> str:
    """Give the first line of what an error says; an error of robx needs no name."""
    said = str(error).strip().split("\n")[0].rstrip(".")
    return said if isinstance(error, RobxError) else f"{type(error).__name__}: {said}"

"""Scoring a table in which some rows may make a model raise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Floats
from robx.errors import RobxError


def score_rows(
    score: Callable[[NDArray[np.intp]], Floats], n_rows: int
) -> tuple[Floats, list[str]]:
    """Score n rows; a row on which the model raises gets NaN, and what the model said.

    All rows are scored at once; only if that raises, the halves are, and so on.

    Parameters
    ----------
    score : function
        Scores the rows with these numbers.
    n_rows : int

    Returns
    -------
    scores : (n,) float64
    reasons : n strings
        Empty where the model gave a score.
    """
    out, reasons = np.full(n_rows, np.nan), [""] * n_rows
    waiting = [np.arange(n_rows)] if n_rows else []
    while waiting:
        rows = waiting.pop()
        try:
            out[rows] = score(rows)
        except Exception as error:
            if len(rows) == 1:
                reasons[rows[0]] = f"the model refuses the row: {first_line(error)}"
            else:
                waiting += [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
    return out, reasons


def first_line(error: Exception) -> str:
    """Give the first line of an error, with its type unless it is one of our own."""
    said = str(error).strip().split("\n")[0].rstrip(".")
    return said if isinstance(error, RobxError) else f"{type(error).__name__}: {said}"

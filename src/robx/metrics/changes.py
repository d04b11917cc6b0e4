"""What a counterfactual asks for: how far to move, and in how many columns."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robx.arrays import Floats
from robx.errors import InvalidInput


def cost(
    points: ArrayLike, people: ArrayLike, scale: ArrayLike = 1.0, norm: Literal[1, 2] = 1
) -> Floats:
    """Distance from each person to their point.

    A value that is missing on both sides costs nothing; one that is missing on one side costs as
    much as a move by one `scale`.

    Parameters
    ----------
    points, people : (n, d)
        Row i of `points` belongs to row i of `people`.
    scale : float or (d,)
        What counts as one unit in each column.
    norm : {1, 2}

    Returns
    -------
    (n,) float64

    Examples
    --------
    >>> cost([[5.0, 20.0]], [[2.0, 60.0]], scale=[1.0, 10.0]).tolist()
    [7.0]
    >>> cost([[5.0, 20.0]], [[2.0, 60.0]], scale=[1.0, 10.0], norm=2).tolist()
    [5.0]
    """
    after, before = _pairs(points, people, "cost")
    if norm not in (1, 2):
        raise InvalidInput(f"The 'norm' parameter of cost must be 1 or 2. Got {norm!r} instead.")
    unit = np.asarray(scale, dtype=np.float64)
    if unit.shape not in ((), after.shape[1:]) or not ((unit > 0) & np.isfinite(unit)).all():
        raise InvalidInput(
            "The 'scale' parameter of cost must be a number above 0, or one for each of the "
            f"{after.shape[1]} columns. Got {scale!r} instead."
        )
    moved = np.abs(after - before) / unit
    moved = np.where(np.isnan(after) != np.isnan(before), 1.0, moved)
    moved[np.isnan(after) & np.isnan(before)] = 0.0
    return np.asarray(np.linalg.norm(moved, ord=norm, axis=1))


def n_changes(points: ArrayLike, people: ArrayLike) -> NDArray[np.int64]:
    """Count the columns in which each person is to change.

    Parameters
    ----------
    points, people : (n, d)
        Row i of `points` belongs to row i of `people`. A value that is missing on both sides is no
        change.

    Returns
    -------
    (n,) int64

    Examples
    --------
    >>> nan = float("nan")
    >>> n_changes([[1.0, 2.0, nan], [1.0, 3.0, 4.0]], [[1.0, 5.0, nan], [0.0, 5.0, nan]]).tolist()
    [1, 3]
    """
    after, before = _pairs(points, people, "n_changes")
    same = (after == before) | (np.isnan(after) & np.isnan(before))
    return np.asarray((~same).sum(axis=1), dtype=np.int64)


def _pairs(points: ArrayLike, people: ArrayLike, owner: str) -> tuple[Floats, Floats]:
    after = np.asarray(points, dtype=np.float64)
    before = np.asarray(people, dtype=np.float64)
    if after.ndim != 2 or after.shape != before.shape:
        raise InvalidInput(
            f"{owner} takes points and people of one shape (n, d), row by row. Got points of shape "
            f"{after.shape} and people of shape {before.shape}."
        )
    return after, before

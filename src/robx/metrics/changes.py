"""What a counterfactual asks for: how far to move, and in how many columns."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robx.arrays import Floats, same
from robx.errors import InvalidInput
from robx.parameters import require


def cost(
    points: ArrayLike, applicants: ArrayLike, scale: ArrayLike = 1.0, norm: Literal[1, 2] = 1
) -> Floats:
    """Distance from each applicant to their counterfactual.

    A value that is missing on both sides costs nothing; a value that is missing on one side costs
    as much as a move by one `scale`.

    Parameters
    ----------
    points, applicants : (n, d)
        Row i of `points` belongs to row i of `applicants`.
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
    after, before = _pairs(points, applicants, "cost")
    require(norm in (1, 2), norm, "norm", "cost", "1 or 2")
    unit = np.asarray(scale, dtype=np.float64)
    sound = unit.shape in ((), after.shape[1:]) and bool(((unit > 0) & np.isfinite(unit)).all())
    expected = f"a number above 0, or one for each of the {after.shape[1]} columns"
    require(sound, scale, "scale", "cost", expected)
    moved = np.abs(after - before) / unit
    moved[np.isnan(moved)] = 1.0
    moved[same(after, before)] = 0.0
    return np.asarray(np.linalg.norm(moved, ord=norm, axis=1))


def n_changes(points: ArrayLike, applicants: ArrayLike) -> NDArray[np.int64]:
    """Count the columns in which each applicant is to change.

    Parameters
    ----------
    points, applicants : (n, d)
        Row i of `points` belongs to row i of `applicants`. A value that is missing on both sides is
        not a change.

    Returns
    -------
    (n,) int64

    Examples
    --------
    >>> nan = float("nan")
    >>> n_changes([[1.0, 2.0, nan], [1.0, 3.0, 4.0]], [[1.0, 5.0, nan], [0.0, 5.0, nan]]).tolist()
    [1, 3]
    """
    after, before = _pairs(points, applicants, "n_changes")
    return np.asarray((~same(after, before)).sum(axis=1), dtype=np.int64)


def _pairs(points: ArrayLike, applicants: ArrayLike, owner: str) -> tuple[Floats, Floats]:
    after = np.asarray(points, dtype=np.float64)
    before = np.asarray(applicants, dtype=np.float64)
    if after.ndim != 2 or after.shape != before.shape:
        raise InvalidInput(
            f"{owner} takes points and applicants of the same shape (n, d). Got points of shape "
            f"{after.shape} and applicants of shape {before.shape}."
        )
    return after, before

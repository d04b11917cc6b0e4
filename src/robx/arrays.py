"""Arrays by the names that signatures use, and equality in which a missing value equals another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
#: Of any width, as kernels take them.
AnyFloats = NDArray[np.floating[Any]]
AnyInts = NDArray[np.integer[Any]]


def same(a: NDArray[Any], b: NDArray[Any]) -> Bools:
    """Tell where two arrays hold equal values, or are both NaN.

    Examples
    --------
    >>> same(np.array([1.0, np.nan, 2.0]), np.array([1.0, np.nan, np.nan]))
    array([ True,  True, False])
    """
    return np.asarray((a == b) | ((a != a) & (b != b)))  # noqa: PLR0124 - only NaN differs from itself


def same_rows(a: NDArray[Any], b: NDArray[Any]) -> Bools:
    """Tell which rows of two (..., d) arrays hold the same values: (...,) bool."""
    return np.asarray(same(a, b).all(axis=-1))

"""The line of float64 numbers: points on it, their order, and places between them.

Finite float64 numbers are counted through, in order, by `ordered`: 0.0 is number 0, the next larger
one number 1, and so on. A search on these numbers ends at two neighbours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Floats

Ints = NDArray[np.int64]
#: The sign bit of a float64, as an integer.
SIGN = np.int64(-(2**63))
#: The number of the largest finite float64.
LAST = np.int64(0x7FEF_FFFF_FFFF_FFFF)
#: Beyond this size the ends of what a pipeline takes need not be exact.
FAR = 2.0**64
#: How far around a guess points are laid, in neighbours.
OFFSETS = np.array([1, 2, 4, 16, 64, 2**8, 2**12, 2**16, 2**20, 2**26, 2**34], dtype=np.int64)
#: How far around a place is looked whether it is the only one.
WINDOW = np.concatenate([np.arange(1, 9), 2 ** np.arange(4, 51, 2)]).astype(np.int64)


def ordered(values: Floats) -> Ints:
    """Count finite numbers in order; -0.0 counts as 0.0.

    >>> ordered(np.array([0.0, -0.0, 5e-324, -5e-324])).tolist()
    [0, 0, 1, -1]
    """
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.int64)
    return np.where(bits < 0, SIGN - bits, bits)


def unordered(numbers: Ints) -> Floats:
    """Give the numbers that `ordered` counted."""
    return np.where(numbers < 0, SIGN - numbers, numbers).view(np.float64)


def wide_grid(knots: list[float], values: Floats) -> Floats:
    """Give points all over the line, ascending: powers of two, knots and their neighbours, values.

    Parameters
    ----------
    knots : list of float
    values : (m,) float64
        Others of interest, such as the training table's.
    """
    exponents = np.unique(np.concatenate([np.arange(-1074, 1024, 16), np.arange(-40, 70), [1023]]))
    powers = np.ldexp(1.0, exponents)
    edges = np.array(knots, dtype=np.float64)
    around = [edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)]
    largest = [float(np.finfo(np.float64).max)]
    points = np.concatenate([powers, -powers, [0.0], largest, [-largest[0]], *around, values])
    return np.asarray(np.unique(points[np.isfinite(points)] + 0.0))


def between(low: Ints, high: Ints, guess: Ints, n_even: int) -> Ints:
    """Lay points strictly between neighbours that are far apart: (n, k) int64, ascending.

    Parameters
    ----------
    low, high : (n,) int64
        ``low < high``.
    guess : (n,) int64
        Around which points are dense.
    n_even : int
        How many points are laid evenly.
    """
    share = (np.arange(1, n_even + 1) / (n_even + 1))[None, :]
    even = low[:, None] + ((high - low)[:, None] * share).astype(np.int64)
    near = guess[:, None] + np.concatenate([-OFFSETS, [0], OFFSETS])[None, :]
    points = np.concatenate([even, near], axis=1)
    np.clip(points, (low + 1)[:, None], np.maximum(high - 1, low + 1)[:, None], out=points)
    points.sort(axis=1)
    return points


def around(place: Ints, low: Ints, high: Ints) -> Ints:
    """Lay points around places, within bounds: (n, k) int64, ascending."""
    offsets = np.concatenate([-WINDOW[::-1], [0], WINDOW])
    points = np.clip(place, -LAST + WINDOW[-1], LAST - WINDOW[-1])[:, None] + offsets[None, :]
    points = np.concatenate([points, place[:, None], (place + 1)[:, None]], axis=1)
    np.clip(points, low[:, None], high[:, None], out=points)
    points.sort(axis=1)
    return points

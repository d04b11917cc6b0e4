"""Local outlier factors of points among rows whose own densities are known."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robx.arrays import AnyFloats, AnyInts
from robx.kernels.compiling import njit

#: More than four times what rounding does to a number, as a part of it.
ROUNDING = 1e-15


class Rows(NamedTuple):
    """n fitted rows, with c coordinates each.

    Parameters
    ----------
    rows : (n, c) float64
    columns : (c, n) float64
        The same, a coordinate after the other. Of rows that are equally far the earlier is nearer.
    reach, density : (n,) float64
        Of each row: the distance of its k-th neighbour, and its local reachability density.
    own : (n,) float64
        The factor of each row among the others.
    k : int
        Number of neighbours, at most n.
    tiny : float
        Keeps densities finite.
    """

    rows: AnyFloats
    columns: AnyFloats
    reach: AnyFloats
    density: AnyFloats
    own: AnyFloats
    k: int
    tiny: float


@njit(nogil=True, cache=True)
def measure(point: AnyFloats, columns: AnyFloats, total: AnyFloats) -> None:
    """Write the squared distance of each row."""
    total[:] = 0.0
    for j in range(columns.shape[0]):  # a coordinate at a time, so that rows share registers
        at = point[j]
        for row in range(columns.shape[1]):
            difference = columns[j, row] - at
            total[row] += difference * difference


@njit(nogil=True, cache=True)
def measure_again(
    old: AnyFloats, new: AnyFloats, columns: AnyFloats, kept: AnyFloats, total: AnyFloats
) -> float:
    """Write rough squared distances, from those of a point that differs in few coordinates.

    Returns how far the two points are apart.
    """
    apart, is_first = 0.0, True
    for j in range(columns.shape[0]):
        a, b = old[j], new[j]
        if a != b:
            apart += (b - a) * (b - a)
            twice, middle = 2 * (a - b), (a + b) / 2
            if is_first:
                for row in range(columns.shape[1]):
                    total[row] = kept[row] + twice * (columns[j, row] - middle)
            else:
                for row in range(columns.shape[1]):
                    total[row] += twice * (columns[j, row] - middle)
            is_first = False
    if is_first:
        total[:] = kept
    return math.sqrt(apart)


@njit(nogil=True, cache=True)
def rounding(n_coordinates: int, largest: float) -> float:
    """How far a squared distance may be off, measured once or brought up to date once more.

    It is a sum of as many squares, none above four times the largest coordinate's, each of which
    is rounded, and so is each sum. `largest` is that of all rows, and of the point before as well:
    digits that its distances lost are not in those made from them.
    """
    return ROUNDING * (n_coordinates + 2) ** 2 * largest * largest


@njit(nogil=True, cache=True)
def nearest(
    point: AnyFloats,
    rows: AnyFloats,
    total: AnyFloats,
    limit: float,
    drift: float,
    k: int,
    near: AnyInts,
    squared: AnyFloats,
) -> None:
    """Find the k nearest rows, of those that are equally far the earlier ones.

    Parameters
    ----------
    point : (c,) float64
    rows : (n, c) float64
    total : (n,) float64
        Squared distances.
    limit : float
        No smaller than the k-th of these.
    drift : float
        How far these may be off; negative if they are exact. Rows that may be among the nearest are
        then measured anew.
    k : int
    near, squared : (k,) int64, (k,) float64
        Receive the rows and their squared distances, ascending.
    """
    _keep_nearest(total, limit, k, near, squared)
    if drift < 0:
        return
    limit = squared[k - 1] + 2 * drift
    found = 0
    for row in range(rows.shape[0]):
        if total[row] > limit:
            continue
        away = 0.0
        for j in range(rows.shape[1]):
            difference = rows[row, j] - point[j]
            away += difference * difference
        found = _keep(row, away, found, k, near, squared)


@njit(nogil=True, cache=True)
def _keep_nearest(
    total: AnyFloats, limit: float, k: int, near: AnyInts, squared: AnyFloats
) -> None:
    found = 0
    for row in range(total.shape[0]):
        if total[row] <= limit:
            found = _keep(row, total[row], found, k, near, squared)
            if found == k:
                limit = squared[k - 1]


@njit(nogil=True, cache=True)
def _keep(row: int, away: float, found: int, k: int, near: AnyInts, squared: AnyFloats) -> int:
    """Put a row among the nearest if it is one of them; returns how many there are."""
    if found == k and away >= squared[k - 1]:
        return found
    place = found if found < k else k - 1
    while place > 0 and squared[place - 1] > away:
        squared[place], near[place] = squared[place - 1], near[place - 1]
        place -= 1
    squared[place], near[place] = away, row
    return min(found + 1, k)


@njit(nogil=True, cache=True)
def factor(rows: Rows, near: AnyInts, squared: AnyFloats) -> float:
    """Local outlier factor, from the k nearest rows; a row's own where the point is one."""
    if squared[0] == 0:
        return float(rows.own[near[0]])
    way, others = 0.0, 0.0
    for place in range(rows.k):
        way += max(math.sqrt(squared[place]), rows.reach[near[place]])
        others += rows.density[near[place]]
    return float((others / rows.k) * (way / rows.k + rows.tiny))


@njit(nogil=True, cache=True)
def factors(points: AnyFloats, rows: Rows, out: AnyFloats) -> None:
    """Write the local outlier factor of each point, all of whose coordinates are finite: (m,)."""
    near, squared = np.empty(rows.k, np.int64), np.empty(rows.k)
    total = np.empty(rows.columns.shape[1])
    for i in range(points.shape[0]):
        measure(points[i], rows.columns, total)
        nearest(points[i], rows.rows, total, math.inf, -1.0, rows.k, near, squared)
        out[i] = factor(rows, near, squared)

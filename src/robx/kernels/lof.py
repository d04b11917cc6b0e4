"""Local outlier factors of new points among rows whose own densities are known."""

from __future__ import annotations

import math

import numpy as np

from robx.arrays import AnyFloats
from robx.kernels.compiling import njit


@njit(nogil=True, cache=True)
def factors(
    points: AnyFloats,
    columns: AnyFloats,
    reach: AnyFloats,
    density: AnyFloats,
    k: int,
    tiny: float,
    out: AnyFloats,
) -> None:
    """Fill in the local outlier factor of each point.

    Parameters
    ----------
    points : (m, d) float64
    columns : (d, n) float64
        The rows, a column after the other. Of rows that are equally far the earlier one is nearer.
    reach, density : (n,) float64
        Of each row: the distance of its k-th neighbour, and its local reachability density.
    k : int
        Number of neighbours, at most n.
    tiny : float
        Keeps densities finite.
    out : (m,) float64
    """
    d, n = columns.shape
    near = np.empty(k, np.int64)
    squared = np.empty(k)
    total = np.empty(n)
    for i in range(points.shape[0]):
        total[:] = 0.0
        for j in range(d):  # a column at a time, so that rows share vector registers
            for row in range(n):
                difference = columns[j, row] - points[i, j]
                total[row] += difference * difference
        found = 0
        for row in range(n):
            if found == k and total[row] >= squared[k - 1]:
                continue
            place = found if found < k else k - 1
            found = min(found + 1, k)
            while place > 0 and squared[place - 1] > total[row]:
                squared[place], near[place] = squared[place - 1], near[place - 1]
                place -= 1
            squared[place], near[place] = total[row], row
        way, others = 0.0, 0.0
        for place in range(k):
            way += max(math.sqrt(squared[place]), reach[near[place]])
            others += density[near[place]]
        out[i] = (others / k) * (way / k + tiny)

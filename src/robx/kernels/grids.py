"""Bringing points onto the values that a schema allows.

Every column has a grid: all numbers (`FREE`), whole multiples of a step (`STEP`, which is
``k * numerator / denominator`` so that a step of 0.1 gives the same floats as writing 0.1, 0.2, ...
does), or listed values (`LEVELS`, ascending). A column stored as float32 takes only numbers that
float32 holds. Whatever the grid and the bounds, a value may stay what it is; a change leads within;
no value becomes infinite.
"""

from __future__ import annotations

import math

import numpy as np

from robx.arrays import AnyFloats, AnyInts, Bools
from robx.kernels.compiling import njit

FREE, STEP, LEVELS = 0, 1, 2
#: From here on steps are finer than the numbers themselves: any number is on the grid.
MOST_STEPS = 2.0**50
LARGEST_SINGLE = float(np.finfo(np.float32).max)


@njit(nogil=True, cache=True)
def nearest_allowed(
    value: float,
    low: float,
    high: float,
    kind: int,
    numerator: float,
    denominator: float,
    single: bool,
    levels: AnyFloats,
) -> float:
    """Value of a grid in ``[low, high]`` that is nearest to `value`; NaN if there is none."""
    if kind == LEVELS:
        best = math.nan
        for level in levels:
            if low <= level <= high and not (abs(level - value) >= abs(best - value)):
                best = level
        return best
    found = min(max(value, low), high)
    if (abs(found) > LARGEST_SINGLE and single) or math.isinf(found):
        return math.nan
    k = np.rint(found / (numerator / denominator))
    if kind == STEP and abs(k) < MOST_STEPS:
        if _place(k, numerator, denominator, single) < low:
            k += 1.0
        if _place(k, numerator, denominator, single) > high:
            k -= 1.0
        found = _place(k, numerator, denominator, single)
    elif single:
        found = float(np.float32(found))
        if found < low:
            found = float(np.nextafter(np.float32(found), np.float32(np.inf)))
        if found > high:
            found = float(np.nextafter(np.float32(found), np.float32(-np.inf)))
    if low <= found <= high:
        return found + 0.0  # no negative zero
    return math.nan


@njit(nogil=True, cache=True)
def _place(k: float, numerator: float, denominator: float, single: bool) -> float:
    """Value of step k, as the column stores it."""
    value = k * numerator / denominator
    return float(np.float32(value)) if single else value


@njit(nogil=True, cache=True)
def snap(
    Z: AnyFloats,
    X: AnyFloats,
    low: AnyFloats,
    high: AnyFloats,
    may_fill: Bools,
    kind: AnyInts,
    numerator: AnyFloats,
    denominator: AnyFloats,
    single: Bools,
    level_start: AnyInts,
    level_value: AnyFloats,
    out: AnyFloats,
) -> None:
    """Write for each wanted point in `Z` the nearest values that the applicant in `X` may have.

    Column by column. A missing value stays missing unless it may be filled; a known one never
    becomes missing. Where no value is allowed at all, the applicant's own is written.
    """
    for i in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            x, z = X[i, j], Z[i, j]
            if x != x and (z != z or not may_fill[j]):
                out[i, j] = x
                continue
            if z != z:  # nothing is asked for: what they have, or next to it what is in range
                z = x
            stays = x == x  # what they have, they may keep
            if stays and (z == x or low[i, j] == x == high[i, j]):
                out[i, j] = x
                continue
            least, most = low[i, j], high[i, j]
            if kind[j] == FREE and not single[j] and least <= z <= most and math.isfinite(z):
                out[i, j] = z + 0.0  # as `nearest_allowed` has it
                continue
            levels = level_value  # a part of it is made only where it is looked at
            if kind[j] == LEVELS:
                levels = level_value[level_start[j] : level_start[j + 1]]
            found = nearest_allowed(
                z, least, most, kind[j], numerator[j], denominator[j], single[j], levels
            )
            if found != found or (stays and abs(z - x) <= abs(z - found)):
                found = x
            out[i, j] = found


@njit(nogil=True, cache=True)
def settle_groups(
    Z: AnyFloats,
    X: AnyFloats,
    low: AnyFloats,
    high: AnyFloats,
    group_start: AnyInts,
    group_member: AnyInts,
    optional: Bools,
    out: AnyFloats,
) -> None:
    """Set exactly one member of each one-hot group: the one that `Z` wants most.

    Where an optional group has more weight missing from its members than on any, none is set. Ties
    go to a member that the applicant in `X` does not have yet. A group of which `low` and `high`
    leave no choice, or of which the applicant's values are missing, stays as it is.
    """
    for i in range(Z.shape[0]):
        for g in range(group_start.shape[0] - 1):
            members = group_member[group_start[g] : group_start[g + 1]]
            total, missing, differs, is_free = 0.0, False, False, False
            for j in members:
                missing = missing or X[i, j] != X[i, j] or Z[i, j] != Z[i, j]
                is_free = is_free or low[i, j] < high[i, j]
                total += Z[i, j]
                differs = differs or Z[i, j] != X[i, j]
            if missing or not differs or not is_free:
                for j in members:
                    out[i, j] = X[i, j]
                continue
            best, best_value, best_is_new = -1, -math.inf, False
            for j in members:
                is_new = X[i, j] < 0.5
                if Z[i, j] > best_value or (Z[i, j] == best_value and is_new and not best_is_new):
                    best, best_value, best_is_new = j, Z[i, j], is_new
            if optional[g] and 1.0 - total > best_value:
                best = -1
            for j in members:
                out[i, j] = 1.0 if j == best else 0.0

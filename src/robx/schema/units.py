"""One unit of cost, and one of noise, for a column, from its values."""

from __future__ import annotations

import numpy as np

from robx.arrays import Floats

#: The unit is the range of a column, but at most so many times the distance between two quantiles.
STRETCH, TAIL = 2.5, 0.05
#: That of noise is at most so many times this distance: the ranges of even columns are not cut.
NOISE_STRETCH = 1.25
#: Columns with fewer rows, or fewer different values, keep their range: they show no outliers.
LEAST_ROWS, LEAST_VALUES = 50, 12
#: A value that more rows than this share have says nothing about how the others spread.
COMMON = 0.5


def range_of(values: Floats) -> float:
    """Distance from the least to the largest value, 1 where it cannot be divided by.

    Examples
    --------
    >>> range_of(np.array([1.0, 4.0])), range_of(np.array([3.0, 3.0]))
    (3.0, 1.0)
    """
    if len(values) == 0:
        return 1.0
    with np.errstate(over="ignore"):
        width = float(values.max() - values.min())
    # Too small to divide by, or too large to be a number.
    width = width if np.isfinite(1 / width if width else np.inf) else 1.0
    return min(width, float(np.finfo(np.float64).max))


def unit_of(values: Floats) -> float:
    """Range of values, cut where outliers stretch it.

    The range of an income with one millionaire is a million, and in such units a thousand costs
    nothing. So the unit is at most 2.5 times the distance between the 5th and the 95th percentile:
    the ranges of bell-shaped columns are not cut, unless these have very many rows. Of a column in
    which most rows have the same value, such as 0, the other rows decide.

    Parameters
    ----------
    values : (n,) float64
        Finite.

    Examples
    --------
    >>> incomes = np.arange(101.0)
    >>> unit_of(incomes), unit_of(np.append(incomes, 1e6))
    (100.0, 227.24999999999997)
    """
    width = range_of(values)
    if len(values) < LEAST_ROWS or width <= _spread(values):
        return width
    different, counts = np.unique(values, return_counts=True)
    if len(different) < LEAST_VALUES:
        return width
    spread = _spread(values)
    if counts.max() > COMMON * len(values):
        common = different[counts.argmax()]
        spread = _spread(values[values != common], common)
    return min(width, spread) if spread > 0 and np.isfinite(1 / spread) else width


def noise_unit_of(values: Floats, unit: float) -> float:
    """Unit of noise of a column with this unit of cost: smaller, where most values lie close.

    Noise in units of the whole range moves most people of a heavy-tailed column, such as capital
    gains, to where hardly anybody is. So the unit of noise is at most 1.25 times the distance
    between the 5th and the 95th percentile. Where these are the same, the standard deviation
    decides, as it would for an even column.

    Examples
    --------
    >>> incomes = np.arange(101.0)
    >>> noise_unit_of(incomes, 100.0), noise_unit_of(np.append(incomes, 1e6), 227.25)
    (100.0, 113.6)
    """
    if len(values) < LEAST_ROWS or len(np.unique(values)) < LEAST_VALUES:
        return unit
    spread = _spread(values, stretch=NOISE_STRETCH)
    if spread == 0:
        with np.errstate(over="ignore", invalid="ignore"):
            spread = float(np.sqrt(12) * values.std())
    spread = float(f"{spread:.4g}")  # more digits would say nothing in a schema that people read
    return min(unit, spread) if spread > 0 and np.isfinite(1 / spread) else unit


def _spread(values: Floats, also: float | None = None, stretch: float = STRETCH) -> float:
    """Distance between two quantiles, stretched; `also` is a value that lies between them."""
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = np.quantile(values, [TAIL, 1 - TAIL])
        low, high = (low, high) if also is None else (min(low, also), max(high, also))
        spread = stretch * float(high - low)
    return spread if np.isfinite(spread) else 0.0

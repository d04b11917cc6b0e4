"""The round number of which the values of a column are multiples."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from robx.arrays import Bools, Floats

#: Numbers with up to this many decimals get them as their resolution.
MOST_DECIMALS = 3
#: Round numbers are one of these times a power of ten.
LEADING = (Fraction(5), Fraction(5, 2), Fraction(2), Fraction(1))
#: Fewer rows, or fewer different values, show no coarser steps.
LEAST_ROWS, LEAST_VALUES = 50, 5
#: Of the values that are not 0 at least this share must be multiples.
NEARLY_ALL = 0.99
#: By chance no column in ten to the power of this would have only such values.
CHANCE = 6.0
#: More rows than this are looked at in even distances.
MOST_ROWS = 20_000


def guess_resolution(values: Floats, *, single: bool) -> float | None:
    """Guess the step between the values that a column holds: None where there is none, or 1.

    Values of a few rows show how many decimals they have. Values of many rows may show that they
    come in hundreds, or in twentieths.

    Parameters
    ----------
    values : (n,) float64
        Finite.
    single : bool
        Whether the column is stored as float32.

    Examples
    --------
    >>> guess_resolution(np.array([0.5, 1.25]), single=False)
    0.01
    >>> guess_resolution(100.0 * np.arange(80), single=False)
    100.0
    """
    fine = _decimals(values, single)
    coarse = _coarse(values, fine, single)
    found = fine if coarse is None else coarse
    return None if found is None or found == 1 else float(found)


def _decimals(values: Floats, single: bool) -> Fraction | None:
    """Find the fewest decimals that all values have."""
    for decimals in range(MOST_DECIMALS + 1):
        rounded = np.round(values, decimals)
        if single and decimals:
            rounded = rounded.astype(np.float32).astype(np.float64)
        if (rounded == values).all():
            return Fraction(1, 10**decimals)
    return None


def _coarse(values: Floats, fine: Fraction | None, single: bool) -> Fraction | None:
    """Find the largest round number of which nearly all values are multiples."""
    known = values[values != 0]
    known = known[:: len(known) // MOST_ROWS + 1]
    if len(known) < LEAST_ROWS or not (np.abs(known) < 1e15).all():
        return None
    different, counts = np.unique(known, return_counts=True)
    finest = Fraction(1, 10**MOST_DECIMALS) if fine is None else fine
    power = math.floor(math.log10(np.abs(known).max()))
    while Fraction(10) ** power >= finest:
        for lead in LEADING:
            step = lead * Fraction(10) ** power
            if step != fine and (step / finest).denominator == 1:
                fits = _are_multiples(different, step, single)
                # A column of full precision has a thousand finer steps to choose from.
                choice = math.log10(step / finest) if fine is not None else 3.0
                is_no_chance = fits.sum() >= max(LEAST_VALUES, CHANCE / choice)
                if is_no_chance and counts[fits].sum() >= NEARLY_ALL * len(known):
                    return step
        power -= 1
    return None


def _are_multiples(values: Floats, step: Fraction, single: bool) -> Bools:
    """Tell which values are multiples of a step, up to the rounding of a product."""
    multiple = np.rint(values / float(step)) * step.numerator / step.denominator
    rounding = float(np.finfo(np.float32 if single else np.float64).eps)
    return np.asarray(np.abs(multiple - values) <= rounding * np.abs(values))

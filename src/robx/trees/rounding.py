"""Folding a library's float32 casts into float64 thresholds.

XGBoost, CatBoost and scikit-learn's trees round a value to float32 before they compare it. Whether
``float32(x) <= t`` holds is monotone in ``x``, so there is one largest float64 for which it does;
comparing ``x`` itself with that number gives the same answer on every float64. That way the cast
ends at import, and every ensemble compares ``x <= threshold`` in float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: The largest float64 that still rounds to a finite float32.
FLOAT32_LARGEST = float(np.nextafter((2.0**128 + float(np.finfo(np.float32).max)) / 2, 0.0))


def up_to_float32(threshold: NDArray[np.floating]) -> NDArray[np.float64]:
    """Largest float64 ``x`` for which ``float32(x) <= threshold``.

    >>> import numpy as np
    >>> t = up_to_float32(np.array([0.1]))
    >>> x = np.array([t[0], np.nextafter(t[0], 1.0)])
    >>> x.astype(np.float32) <= np.float64(0.1)
    array([ True, False])
    """
    wide = np.asarray(threshold, dtype=np.float64)
    with np.errstate(over="ignore"):
        low = wide.astype(np.float32)
        low = np.where(low.astype(np.float64) > wide, np.nextafter(low, np.float32(-np.inf)), low)
    return _last_that_rounds_to(low)


def below_float32(threshold: NDArray[np.float32]) -> NDArray[np.float64]:
    """Largest float64 ``x`` for which ``float32(x) < threshold``."""
    with np.errstate(over="ignore"):
        return _last_that_rounds_to(np.nextafter(threshold, np.float32(-np.inf)))


def float32_interval(value: float) -> tuple[float, float]:
    """Give the closed range of float64 numbers that round to the same float32 as `value`."""
    with np.errstate(over="ignore"):
        narrow = np.array([value]).astype(np.float32)
    high = float(_last_that_rounds_to(narrow)[0])
    if np.isneginf(narrow[0]):
        return -np.inf, high
    return float(np.nextafter(below_float32(narrow)[0], np.inf)), high


def _last_that_rounds_to(low: NDArray[np.float32]) -> NDArray[np.float64]:
    """Largest float64 that rounds to `low` or anything below it (ties go to the even one)."""
    below = low.astype(np.float64)
    with np.errstate(over="ignore"):
        above = np.nextafter(low, np.float32(np.inf)).astype(np.float64)
    # Past the largest float32, numbers round to infinity from half a step above it.
    above = np.where(np.isinf(above) & np.isfinite(below), 2.0**128, above)
    below_finite = np.where(np.isneginf(below), -(2.0**128), below)
    with np.errstate(over="ignore", invalid="ignore"):
        middle = (below_finite + above) / 2
        tie_goes_up = middle.astype(np.float32) > low
    last = np.where(tie_goes_up, np.nextafter(middle, -np.inf), middle)
    return np.where(np.isposinf(below), np.inf, last)

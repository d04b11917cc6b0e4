"""Numbers made whole, which is all that the solver takes."""

from __future__ import annotations

import numpy as np

#: Costs and sums of leaf values become whole numbers of about so many bits.
COST_BITS, MARGIN_BITS = 32, 34


def unit_for(largest: float, bits: int) -> float:
    """Power of two that makes a number one of about so many bits.

    Examples
    --------
    >>> unit_for(3.0, 10)  # 768 has ten bits
    256.0
    """
    return float(2.0 ** min(bits - np.ceil(np.log2(largest or 1.0)), 900))

"""Curves of cost over validity, and where on them a validity is reached at the least cost.

A curve is the line through its points in the order of the knob. It need not rise: more of the knob
may cost more for less. So what counts at a validity is the cheapest place on the line that has at
least that validity, a point or a place between two neighbours. This is the lower envelope of the
line, the same for all methods; it never falls as validity rises, and says nothing beyond the
highest validity that was seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Curve", "Places", "cheapest"]

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Places:
    """A place on each of r curves: a point, or between two neighbours.

    Parameters
    ----------
    left, right : (r,) int
        The neighbours; the same for a point.
    share : (r,) float64
        How far from the left one to the right one; NaN where there is no place.
    above : (r,) bool
        Whether the lowest knob has more than the validity that was asked for already.
    """

    left: Integers
    right: Integers
    share: Floats
    above: NDArray[np.bool_]

    def read(self, values: Floats) -> Floats:
        """Interpolate what is known at points, (k, r): (r,), NaN where there is no place."""
        every = np.arange(values.shape[1])
        before, after = values[self.left, every], values[self.right, every]
        # Not before + share * (after - before): a point's own value must come back as it is.
        return np.asarray((1 - self.share) * before + self.share * after)


def cheapest(validity: Floats, cost: Floats, target: float) -> Places:
    """Find the cheapest place with at least a validity, on each of r curves.

    Parameters
    ----------
    validity, cost : (k, r) float64
        Of the points, in the order of the knob. Points without them are left out, and so are the
        lines to them.
    target : float

    Examples
    --------
    >>> cost = np.array([[1.0], [2.0], [4.0]])
    >>> places = cheapest(np.array([[0.8], [0.9], [1.0]]), cost, 0.95)
    >>> places.read(cost).round(6)
    array([3.])
    """
    k, r = validity.shape
    low, high = validity[:-1], validity[1:]
    crosses = ((low < target) & (high > target)) | ((low > target) & (high < target))
    share = np.divide(target - low, high - low, out=np.zeros_like(low), where=crosses)
    between = np.where(crosses, (1 - share) * cost[:-1] + share * cost[1:], np.inf)
    at_points = np.where(validity >= target, cost, np.inf)
    every = np.nan_to_num(np.vstack([at_points, between]), nan=np.inf, posinf=np.inf)
    best = every.argmin(axis=0)
    left = np.where(best < k, best, best - k)
    right = np.where(best < k, best, best - k + 1)
    shares = np.vstack([np.zeros((k, r)), share])[best, np.arange(r)]
    shares = np.where(np.isfinite(every.min(axis=0)), shares, np.nan)
    return Places(left, right, shares, validity[0] > target)


@dataclass(frozen=True, eq=False)
class Curve:
    """A method's points under one change of the model.

    Parameters
    ----------
    name : str
    knobs : k floats
        In order; NaN for a method without one.
    figures : mapping from names to (k, 1 + r) float64
        As seen, and in each of r resamples. With ``validity``.
    """

    name: str
    knobs: tuple[float, ...]
    figures: Mapping[str, Floats]

    def seen(self, figure: str) -> Floats:
        """Give a figure of all points as it was seen: (k,)."""
        return np.asarray(self.figures[figure][:, 0])

    def at(self, target: float, cost: str = "cost_l1") -> Places:
        """Find the cheapest place with at least a validity: as seen, and in each resample."""
        return cheapest(self.figures["validity"], self.figures[cost], target)

    def least(self, target: float, cost: str) -> float:
        """Give the least cost with at least a validity, as seen; NaN where it is not reached."""
        seen = self.figures[cost][:, :1]
        return float(cheapest(self.figures["validity"][:, :1], seen, target).read(seen)[0])

    def words(self, places: Places) -> str:
        """Say where the place is that was seen."""
        if np.isnan(places.share[0]):
            return "not reached"
        left, right = self.knobs[places.left[0]], self.knobs[places.right[0]]
        if left == right:
            return f"at {left:g}" + (", all above" if places.above[0] else "")
        return f"between {left:g} and {right:g}"

"""The stability metric: how firmly a model accepts a point and its neighbourhood.

`measure` has the two functions; `draws` the noise, `noise` its size on each column, `probe` the two
ways to score a neighbourhood, `exact` what needs no draws, and `settings` all of it as one value.
"""

from __future__ import annotations

from robx.robustness.exact import mean_margin
from robx.robustness.measure import Stability, is_stable, stability
from robx.robustness.settings import Noise

__all__ = ["Noise", "Stability", "is_stable", "mean_margin", "stability"]

"""The stability metric: how firmly a model accepts a point and what lies around it.

`measure` has the two verbs; `draws` the noise, `noise` its size on each column, `probe` the two
ways of asking a model, `exact` what needs no draws.
"""

from __future__ import annotations

from robx.robustness.exact import mean_margin
from robx.robustness.measure import Stability, is_stable, stability
from robx.robustness.settings import Noise

__all__ = ["Noise", "Stability", "is_stable", "mean_margin", "stability"]

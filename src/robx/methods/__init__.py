"""The methods: small frozen dataclasses of parameters with one verb, ``explain(problem, X)``."""

from __future__ import annotations

from robx.methods.base import Method
from robx.methods.baselines.face import Face
from robx.methods.baselines.feature_tweaking import FeatureTweaking
from robx.methods.baselines.focus import Focus
from robx.methods.closest import Closest
from robx.methods.conservative import Conservative
from robx.methods.diversity import alternatives
from robx.methods.frugal import Frugal
from robx.methods.function import MethodLike, as_method
from robx.methods.given import Given
from robx.methods.live_region import LiveRegion
from robx.methods.nearest import NearestNeighbour
from robx.methods.robx import RobX

__all__ = [
    "Closest",
    "Conservative",
    "Face",
    "FeatureTweaking",
    "Focus",
    "Frugal",
    "Given",
    "LiveRegion",
    "Method",
    "MethodLike",
    "NearestNeighbour",
    "RobX",
    "alternatives",
    "as_method",
]

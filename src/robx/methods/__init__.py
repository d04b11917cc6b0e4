"""The methods: small frozen dataclasses of parameters with one verb, ``explain(problem, X)``."""

from __future__ import annotations

from robx.methods.base import Method
from robx.methods.conservative import Conservative
from robx.methods.face import Face
from robx.methods.focus import Focus
from robx.methods.given import Given
from robx.methods.nearest import NearestNeighbour
from robx.methods.robx import RobX
from robx.methods.tweak import FeatureTweaking

__all__ = [
    "Conservative",
    "Face",
    "FeatureTweaking",
    "Focus",
    "Given",
    "Method",
    "NearestNeighbour",
    "RobX",
]

"""The methods: small frozen dataclasses of parameters with one verb, ``explain(problem, X)``."""

from __future__ import annotations

from robx.methods.base import Method
from robx.methods.given import Given
from robx.methods.nearest import Conservative, NearestNeighbour
from robx.methods.robx import RobX

__all__ = ["Conservative", "Given", "Method", "NearestNeighbour", "RobX"]

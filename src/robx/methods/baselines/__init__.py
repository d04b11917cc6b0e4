"""The methods that the paper compares RobX with: feature tweaking, FOCUS and FACE."""

from __future__ import annotations

from robx.methods.baselines.face import Face
from robx.methods.baselines.feature_tweaking import FeatureTweaking
from robx.methods.baselines.focus import Focus

__all__ = ["Face", "FeatureTweaking", "Focus"]

"""After a retraining: which of the promises that were made does the new model keep."""

from __future__ import annotations

from robx.checking.result import Check
from robx.checking.run import check

__all__ = ["Check", "check"]

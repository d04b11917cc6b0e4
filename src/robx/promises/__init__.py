"""After a retraining: which of the promises that were made does the new model keep."""

from __future__ import annotations

from robx.promises.checker import check
from robx.promises.result import Check

__all__ = ["Check", "check"]

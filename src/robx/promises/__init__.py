"""After a retraining: which of the issued answers does the new model still accept."""

from __future__ import annotations

from robx.promises.checker import check
from robx.promises.result import Check

__all__ = ["Check", "check"]

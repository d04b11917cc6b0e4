"""Data to try things on."""

from __future__ import annotations

from robx.datasets.german import load_german

__all__ = ["load_german"]

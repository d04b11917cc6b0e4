"""Example data: German Credit, Adult, HELOC, and two Gaussians."""

from __future__ import annotations

from robx.datasets.adult import load_adult
from robx.datasets.dataset import Dataset
from robx.datasets.gaussians import make_gaussians
from robx.datasets.german import load_german
from robx.datasets.heloc import load_heloc

__all__ = ["Dataset", "load_adult", "load_german", "load_heloc", "make_gaussians"]

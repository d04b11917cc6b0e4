"""Counterfactual explanations for tree ensembles that survive retraining.

Names are loaded on first use: importing robx costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from robx.errors import ImportMismatch, InvalidInput, InvalidModel, RobxError, UnsupportedModel

if TYPE_CHECKING:
    from robx import datasets as datasets
    from robx.robustness import Stability as Stability
    from robx.robustness import is_stable as is_stable
    from robx.robustness import mean_margin as mean_margin
    from robx.robustness import stability as stability
    from robx.trees import BlackBox as BlackBox
    from robx.trees import TreeEnsemble as TreeEnsemble
    from robx.trees import import_model as import_model

__version__ = "0.1.0"

_ROOMS = {
    "BlackBox": "robx.trees",
    "Stability": "robx.robustness",
    "TreeEnsemble": "robx.trees",
    "import_model": "robx.trees",
    "is_stable": "robx.robustness",
    "mean_margin": "robx.robustness",
    "stability": "robx.robustness",
}

__all__ = [  # noqa: PLE0604
    "ImportMismatch",
    "InvalidInput",
    "InvalidModel",
    "RobxError",
    "UnsupportedModel",
    "datasets",
    *_ROOMS,
]


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("robx.datasets")
    if name in _ROOMS:
        return getattr(import_module(_ROOMS[name]), name)
    raise AttributeError(f"module 'robx' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)

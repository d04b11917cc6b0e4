"""Counterfactual explanations for tree ensembles that survive retraining.

Names are loaded on first use: importing robx costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from robx.errors import ImportMismatch, InvalidInput, InvalidModel, RobxError, UnsupportedModel

if TYPE_CHECKING:
    from robx import datasets as datasets
    from robx import metrics as metrics
    from robx import plots as plots
    from robx import scenarios as scenarios
    from robx.bounding import InvalidationBound as InvalidationBound
    from robx.bounding import invalidation_bound as invalidation_bound
    from robx.checking import Check as Check
    from robx.checking import check as check
    from robx.choosing import TauChoice as TauChoice
    from robx.choosing import choose_tau as choose_tau
    from robx.evaluation import Rehearsal as Rehearsal
    from robx.evaluation import Study as Study
    from robx.evaluation import evaluate as evaluate
    from robx.explaining import explain as explain
    from robx.methods import Closest as Closest
    from robx.methods import Conservative as Conservative
    from robx.methods import Face as Face
    from robx.methods import FeatureTweaking as FeatureTweaking
    from robx.methods import Focus as Focus
    from robx.methods import Frugal as Frugal
    from robx.methods import Given as Given
    from robx.methods import LiveRegion as LiveRegion
    from robx.methods import NearestNeighbour as NearestNeighbour
    from robx.methods import RobX as RobX
    from robx.methods import alternatives as alternatives
    from robx.problem import Certificate as Certificate
    from robx.problem import Counterfactuals as Counterfactuals
    from robx.problem import Problem as Problem
    from robx.problem import Status as Status
    from robx.reporting import Report as Report
    from robx.reporting import report as report
    from robx.retrained import certify as certify
    from robx.retrained import retrainings as retrainings
    from robx.robustness import Noise as Noise
    from robx.robustness import Stability as Stability
    from robx.robustness import is_stable as is_stable
    from robx.robustness import mean_margin as mean_margin
    from robx.robustness import stability as stability
    from robx.schema import Feature as Feature
    from robx.schema import Schema as Schema
    from robx.trees import BlackBox as BlackBox
    from robx.trees import TreeEnsemble as TreeEnsemble
    from robx.trees import import_model as import_model

__version__ = "0.1.0"

_ROOMS = {
    "alternatives": "robx.methods",
    "BlackBox": "robx.trees",
    "Certificate": "robx.problem",
    "certify": "robx.retrained",
    "check": "robx.checking",
    "Check": "robx.checking",
    "choose_tau": "robx.choosing",
    "Closest": "robx.methods",
    "Conservative": "robx.methods",
    "Counterfactuals": "robx.problem",
    "evaluate": "robx.evaluation",
    "explain": "robx.explaining",
    "Face": "robx.methods",
    "Feature": "robx.schema",
    "FeatureTweaking": "robx.methods",
    "Focus": "robx.methods",
    "Frugal": "robx.methods",
    "Given": "robx.methods",
    "import_model": "robx.trees",
    "invalidation_bound": "robx.bounding",
    "InvalidationBound": "robx.bounding",
    "is_stable": "robx.robustness",
    "LiveRegion": "robx.methods",
    "mean_margin": "robx.robustness",
    "NearestNeighbour": "robx.methods",
    "Noise": "robx.robustness",
    "Problem": "robx.problem",
    "Rehearsal": "robx.evaluation",
    "report": "robx.reporting",
    "Report": "robx.reporting",
    "retrainings": "robx.retrained",
    "RobX": "robx.methods",
    "Schema": "robx.schema",
    "stability": "robx.robustness",
    "Stability": "robx.robustness",
    "Status": "robx.problem",
    "Study": "robx.evaluation",
    "TauChoice": "robx.choosing",
    "TreeEnsemble": "robx.trees",
}

#: Rooms that are used by their own names.
_MODULES = ("datasets", "metrics", "plots", "scenarios")

__all__ = [  # noqa: PLE0604
    "ImportMismatch",
    "InvalidInput",
    "InvalidModel",
    "RobxError",
    "UnsupportedModel",
    *_ROOMS,
    *_MODULES,
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"robx.{name}")
    if name in _ROOMS:
        return getattr(import_module(_ROOMS[name]), name)
    raise AttributeError(f"module 'robx' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)

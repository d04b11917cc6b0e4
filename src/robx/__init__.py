"""Counterfactual explanations for tree ensembles that survive retraining.

Names are loaded on first use: importing robx costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from robx.errors import (
    BudgetExceeded,
    GuessedSchema,
    ImportMismatch,
    InvalidInput,
    InvalidModel,
    LessPromised,
    RobxError,
    RobxWarning,
    SlowModel,
    UnsupportedModel,
    WrongWayRound,
)

if TYPE_CHECKING:
    from robx import datasets as datasets
    from robx import metrics as metrics
    from robx import plots as plots
    from robx import scenarios as scenarios
    from robx.answers import Certificate as Certificate
    from robx.answers import Counterfactuals as Counterfactuals
    from robx.answers import Crowds as Crowds
    from robx.answers import Status as Status
    from robx.budget import Budget as Budget
    from robx.evaluation import Rehearsal as Rehearsal
    from robx.evaluation import Study as Study
    from robx.evaluation import evaluate as evaluate
    from robx.explainer import Explainer as Explainer
    from robx.explainer import explain as explain
    from robx.invalidation import InvalidationBound as InvalidationBound
    from robx.invalidation import invalidation_bound as invalidation_bound
    from robx.methods import Closest as Closest
    from robx.methods import Conservative as Conservative
    from robx.methods import Face as Face
    from robx.methods import FeatureTweaking as FeatureTweaking
    from robx.methods import Focus as Focus
    from robx.methods import Frugal as Frugal
    from robx.methods import Given as Given
    from robx.methods import LiveRegion as LiveRegion
    from robx.methods import Method as Method
    from robx.methods import NearestNeighbour as NearestNeighbour
    from robx.methods import RobX as RobX
    from robx.methods import alternatives as alternatives
    from robx.problem import Problem as Problem
    from robx.promises import Check as Check
    from robx.promises import check as check
    from robx.rehearsal import Promise as Promise
    from robx.reports import Report as Report
    from robx.reports import report as report
    from robx.retrained import certify as certify
    from robx.retrained import retrainings as retrainings
    from robx.robustness import Noise as Noise
    from robx.robustness import Stability as Stability
    from robx.robustness import is_stable as is_stable
    from robx.robustness import mean_margin as mean_margin
    from robx.robustness import stability as stability
    from robx.schema import Feature as Feature
    from robx.schema import Relation as Relation
    from robx.schema import Schema as Schema
    from robx.tau_choice import TauChoice as TauChoice
    from robx.tau_choice import choose_tau as choose_tau
    from robx.trees import BlackBox as BlackBox
    from robx.trees import TreeEnsemble as TreeEnsemble
    from robx.trees import import_model as import_model

__version__ = "0.1.0"

_HOMES = {
    "alternatives": "robx.methods",
    "BlackBox": "robx.trees",
    "Budget": "robx.budget",
    "Certificate": "robx.answers",
    "certify": "robx.retrained",
    "check": "robx.promises",
    "Check": "robx.promises",
    "choose_tau": "robx.tau_choice",
    "Closest": "robx.methods",
    "Conservative": "robx.methods",
    "Counterfactuals": "robx.answers",
    "Crowds": "robx.answers",
    "evaluate": "robx.evaluation",
    "explain": "robx.explainer",
    "Explainer": "robx.explainer",
    "Face": "robx.methods",
    "Feature": "robx.schema",
    "FeatureTweaking": "robx.methods",
    "Focus": "robx.methods",
    "Frugal": "robx.methods",
    "Given": "robx.methods",
    "import_model": "robx.trees",
    "invalidation_bound": "robx.invalidation",
    "InvalidationBound": "robx.invalidation",
    "is_stable": "robx.robustness",
    "LiveRegion": "robx.methods",
    "mean_margin": "robx.robustness",
    "Method": "robx.methods",
    "NearestNeighbour": "robx.methods",
    "Noise": "robx.robustness",
    "Problem": "robx.problem",
    "Promise": "robx.rehearsal",
    "Rehearsal": "robx.evaluation",
    "Relation": "robx.schema",
    "report": "robx.reports",
    "Report": "robx.reports",
    "retrainings": "robx.retrained",
    "RobX": "robx.methods",
    "Schema": "robx.schema",
    "stability": "robx.robustness",
    "Stability": "robx.robustness",
    "Status": "robx.answers",
    "Study": "robx.evaluation",
    "TauChoice": "robx.tau_choice",
    "TreeEnsemble": "robx.trees",
}

#: Packages that are used by their own names.
_MODULES = ("datasets", "metrics", "plots", "scenarios")

__all__ = [  # noqa: PLE0604
    "BudgetExceeded",
    "GuessedSchema",
    "ImportMismatch",
    "InvalidInput",
    "InvalidModel",
    "LessPromised",
    "RobxError",
    "RobxWarning",
    "SlowModel",
    "UnsupportedModel",
    "WrongWayRound",
    *_HOMES,
    *_MODULES,
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"robx.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'robx' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)

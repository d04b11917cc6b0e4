"""Scenarios: how a model may change after its counterfactuals were handed out.

A scenario holds its parameters and yields new models for any classifier in scikit-learn's form.
`data` has those that change the rows or the labels, `settings` those that change the estimator;
`base` is what they share, and `estimators` knows how estimators are copied, seeded and kept to one
core.

This room trains models. It does not judge them.
"""

from __future__ import annotations

from robx.scenarios.base import Fit, Scenario, read_labels
from robx.scenarios.data import Bootstrap, DropRows, LabelFlips, MoreData, Subsample
from robx.scenarios.estimators import check_estimator, fresh
from robx.scenarios.settings import Hyperparameter, NewSeed, OtherHalf, OtherLibrary

__all__ = [
    "Bootstrap",
    "DropRows",
    "Fit",
    "Hyperparameter",
    "LabelFlips",
    "MoreData",
    "NewSeed",
    "OtherHalf",
    "OtherLibrary",
    "Scenario",
    "Subsample",
    "check_estimator",
    "fresh",
    "read_labels",
]

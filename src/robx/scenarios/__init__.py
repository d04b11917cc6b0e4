"""Scenarios: how a model may change after its counterfactuals were issued.

A scenario holds its parameters and trains new models of any classifier in scikit-learn's form.
`data` has the scenarios that change rows or labels, `settings` those that change the estimator;
`base` is what they share, and `estimators` copies estimators, sets their seeds and keeps them to
one core. Nothing here judges models.
"""

from __future__ import annotations

from robx.scenarios.base import Fit, Scenario, read_labels
from robx.scenarios.data import Bootstrap, DropRows, LabelFlips, LaterVintage, MoreData, Subsample
from robx.scenarios.estimators import check_estimator, fresh
from robx.scenarios.settings import Hyperparameter, NewSeed, OtherHalf, OtherLibrary

__all__ = [
    "Bootstrap",
    "DropRows",
    "Fit",
    "Hyperparameter",
    "LabelFlips",
    "LaterVintage",
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

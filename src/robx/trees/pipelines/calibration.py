"""Calibrated classifiers: a sigmoid after the trees.

scikit-learn calibrates what a model decides by, its `decision_function`, or its probability where
it has none: to ``1 / (1 + exp(a * f + b))`` with the sigmoid method. Boosted trees of scikit-learn
decide by their margin, and forests by an average of leaves, so for both the sigmoid is a link of
their own sums. After another sigmoid, or with steps (the isotonic method), there is no such link.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from robx.tables import Category
from robx.trees.ensemble import TreeEnsemble
from robx.trees.model import Model
from robx.trees.reasons import CannotFold
from robx.trees.targets import choose_target, class_labels


def calibrated(
    model: Any, target: Category | None, import_inner: Callable[[Any, Category | None], Model]
) -> TreeEnsemble:
    """Give the trees of a fitted `CalibratedClassifierCV` with the sigmoid as their link.

    Raises
    ------
    CannotFold
        If there are several models, or the calibration is no link of their sums.
    """
    several = model.calibrated_classifiers_
    if len(several) != 1:
        raise CannotFold(
            f"it averages {len(several)} calibrated models; with ensemble=False there is one"
        )
    classes = class_labels(model)
    chosen, place = choose_target(target, classes)
    one = several[0]
    calibrator = one.calibrators[0]
    if len(classes) != 2 or len(one.calibrators) != 1:
        raise CannotFold("it calibrates each of several classes by itself")
    if one.method != "sigmoid":
        raise CannotFold(f"its {one.method} calibration is not a link of the trees' sums")
    # A frozen model is the same model.
    frozen = type(one.estimator).__name__ == "FrozenEstimator"
    inner = one.estimator.estimator if frozen else one.estimator
    trees = import_inner(inner, classes[1]).trees
    if trees is None:
        raise CannotFold(f"it calibrates a {type(inner).__name__}, which is not a tree ensemble")
    by_margin = hasattr(one.estimator, "decision_function")
    if not (by_margin and trees.link == "sigmoid") and trees.link != "identity":
        raise CannotFold("its calibration is a sigmoid after that of the trees")
    a, b = float(calibrator.a_), float(calibrator.b_)
    if not (np.isfinite(a) and np.isfinite(b) and a < 0):
        raise CannotFold("its calibration does not rise with the score")
    divisor = 1.0 if by_margin else trees.divisor
    return replace(
        trees,
        target=chosen,
        source=f"{trees.source}, calibrated",
        link=("one_minus_sigmoid", "sigmoid")[place],
        target_index=0,
        divisor=divisor,
        slope=-a,
        base=trees.base + trees.base.dtype.type(b / a * divisor),
    )

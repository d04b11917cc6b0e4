"""What the trees of XGBoost show of their training.

The parameters that a booster holds tell nothing: `load_model` leaves XGBoost's defaults in it, and
`set_params` reaches it after `fit`, too. The trees tell. They have a number and a depth; and an
inner node keeps its weight w = -G / (H + lambda), a leaf has its weight times the learning rate,
and the gradients G of two leaves add up to that of the node above them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from robx.arrays import Floats
from robx.modelfiles.differences import Difference, Parameters, counted, exceeded

#: XGBoost's defaults.
DEFAULTS = {
    "n_estimators": 100,
    "learning_rate": 0.3,
    "max_depth": 6,
    "max_leaves": 0,
    "reg_lambda": 1.0,
}
#: What is left of the parameters after `load_model`.
LOADED = ("objective", "booster", "base_score", "enable_categorical", "missing", "feature_types")
#: With any of these, leaves are more than their gradients; see `_learning_rate`.
BESIDE_GRADIENTS = (
    *("reg_alpha", "max_delta_step", "monotone_constraints", "callbacks"),
    *("process_type", "multi_strategy"),
)
#: Learning rates of trees and parameters may differ by this share, for rounding in float32.
NEAR = 0.02
#: Gradients of two leaves that cancel out but for this share tell nothing: the rest is rounding.
#: Those of a first tree do where XGBoost starts from the mean of the labels, its default.
CANCELLED = 0.01


def of_xgboost(model: Any, said: Parameters) -> Iterator[Difference]:
    """Compare an `XGBClassifier` with its parameters.

    Parameters
    ----------
    model : fitted XGBClassifier or XGBRFClassifier
    said : mapping
        Parameters that it would be trained with.
    """
    booster = model.get_booster()
    learner = json.loads(booster.save_raw("json"))["learner"]
    boosted = learner["gradient_booster"]
    shape = boosted.get("gbtree", boosted).get("model", {})
    if "trees" not in shape:  # linear
        return
    trees = _trees(shape["trees"])
    depth, rounds = max(map(_depth, trees), default=0), int(booster.num_boosted_rounds())
    if isinstance(said.get("base_score"), str | list) and _says_nothing(said):
        shown = f"{rounds} rounds of trees of up to depth {depth}, loaded from a file"
        yield Difference("", shown, "nothing of n_estimators, max_depth and learning_rate")
        return
    known = {**said, **{n: v for n, v in DEFAULTS.items() if said.get(n) is None}}
    if not any(base.__name__ == "XGBRFClassifier" for base in type(model).__mro__):
        stops = (said.get("early_stopping_rounds"), said.get("callbacks"))
        may_stop = booster.attr("best_iteration") is not None or any(stops)
        yield from counted(rounds, "rounds", "n_estimators", known, may_stop=may_stop)
    yield from _kind(boosted["name"], learner["objective"]["name"], said)
    yield from exceeded(depth, f"trees of depth {depth}", "max_depth", known)
    if known.get("tree_method") != "exact":  # which has no such maximum
        leaves = max((int((tree["left"] < 0).sum()) for tree in trees), default=0)
        yield from exceeded(leaves, f"{leaves} leaves", "max_leaves", known)
    n_parallel = int(shape["gbtree_model_param"]["num_parallel_tree"])
    has_rate = boosted["name"] == "gbtree" and n_parallel <= 1
    if has_rate and not any(known.get(name) for name in BESIDE_GRADIENTS):
        yield from _learning_rate(trees, known)


def _says_nothing(said: Parameters) -> bool:
    """Whether all parameters that shape the training are lost."""
    return all(value is None for name, value in said.items() if name not in LOADED)


def _kind(kind: str, objective: str, said: Parameters) -> Iterator[Difference]:
    booster, wanted = said.get("booster") or "gbtree", said.get("objective")
    if booster != kind:
        yield Difference("booster", f"booster={kind}", f"booster={booster}")
    both_multi = objective.startswith("multi:") and str(wanted).startswith("multi:")
    if isinstance(wanted, str) and wanted != objective and not both_multi:
        yield Difference("objective", f"objective={objective}", f"objective={wanted}")


def _trees(plain: list[dict[str, Any]]) -> list[dict[str, Floats]]:
    names = {
        "left": "left_children",
        "right": "right_children",
        "weight": "base_weights",
        "value": "split_conditions",
        "hessian": "sum_hessian",
    }
    return [
        {short: np.asarray(tree[name], dtype=np.float64) for short, name in names.items()}
        for tree in plain
    ]


def _depth(tree: dict[str, Floats]) -> int:
    level, depth = np.zeros(1, dtype=np.int64), -1
    while len(level):
        depth += 1
        level = level[tree["left"][level] >= 0]
        level = np.concatenate([tree["left"][level], tree["right"][level]]).astype(np.int64)
    return depth


def _learning_rate(trees: list[dict[str, Floats]], known: Parameters) -> Iterator[Difference]:
    """Fit the learning rate to all nodes above two leaves, with the lambda that is said."""
    above, below = [], []
    for tree in trees:
        gradient = tree["weight"] * (tree["hessian"] + known["reg_lambda"])
        inner = np.flatnonzero(tree["left"] >= 0)
        left, right = (tree[side][inner].astype(np.int64) for side in ("left", "right"))
        both = (tree["left"][left] < 0) & (tree["left"][right] < 0)
        scaled = tree["value"] * (tree["hessian"] + known["reg_lambda"])
        one, other = scaled[left[both]], scaled[right[both]]
        tells = np.abs(one + other) > CANCELLED * (np.abs(one) + np.abs(other))
        above.append(gradient[inner[both]][tells])
        below.append((one + other)[tells])
    up, down = np.concatenate([*above, np.zeros(0)]), np.concatenate([*below, np.zeros(0)])
    if not up.any():
        return
    rate, said = float(up @ down / (up @ up)), float(known["learning_rate"])
    if abs(rate - said) > NEAR * said:
        shown = f"leaves of a learning rate of {rate:.2g}"
        yield Difference("learning_rate", shown, f"learning_rate={said:g}")

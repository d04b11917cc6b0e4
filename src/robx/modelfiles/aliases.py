"""Hyperparameters have several names in the model libraries; here they get the classifier's own."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from robx.errors import InvalidInput
from robx.modelfiles.boosters import RENAMED

#: Of XGBoost, which has no table of them: names of its own interface and of its classifier.
XGBOOST = {
    "eta": "learning_rate",
    "lambda": "reg_lambda",
    "alpha": "reg_alpha",
    "min_split_loss": "gamma",
    "seed": "random_state",
    "nthread": "n_jobs",
    "num_round": "n_estimators",
    "num_boost_round": "n_estimators",
}
#: Of CatBoost, whose classifier takes all of them, but only one of each group.
CATBOOST = {
    "eta": "learning_rate",
    "n_estimators": "iterations",
    "num_boost_round": "iterations",
    "num_trees": "iterations",
    "max_depth": "depth",
    "reg_lambda": "l2_leaf_reg",
    "colsample_bylevel": "rsm",
    "random_state": "random_seed",
    "objective": "loss_function",
    "max_bin": "border_count",
    "min_child_samples": "min_data_in_leaf",
    "num_leaves": "max_leaves",
    "early_stopping_rounds": "od_wait",
    "custom_loss": "custom_metric",
}
#: Names of the classifier of LightGBM for parameters of LightGBM itself.
LIGHTGBM = {
    **RENAMED,
    "num_iterations": "n_estimators",
    "seed": "random_state",
    "num_threads": "n_jobs",
}


def own_names(given: Mapping[str, Any], library: str) -> dict[str, Any]:
    """Give hyperparameters under the names of a library's classifier.

    Parameters
    ----------
    given : mapping
    library : str
        "xgboost", "lightgbm", "catboost", or any other, which has one name for each.

    Examples
    --------
    >>> own_names({"eta": 0.1, "max_depth": 3}, "xgboost")
    {'learning_rate': 0.1, 'max_depth': 3}
    """
    makers = {"xgboost": lambda: XGBOOST, "catboost": lambda: CATBOOST, "lightgbm": _lightgbm}
    known = makers.get(library, dict)()
    named: dict[str, Any] = {}
    said: dict[str, str] = {}
    for name, value in given.items():
        own = known.get(name, name)
        if own in named and named[own] != value:
            raise InvalidInput(
                f"'{said[own]}' and '{name}' are the same hyperparameter. Give it once."
            )
        named[own], said[own] = value, name
    return named


def library_of(classifier: type) -> str:
    """Name the library that a class comes from."""
    return classifier.__module__.partition(".")[0]


def _lightgbm() -> dict[str, str]:
    """Read the library's own table; a version without it knows only the names in ours."""
    aliases = getattr(import_module("lightgbm.basic"), "_ConfigAliases", None)
    table: Mapping[str, list[str]] = getattr(aliases, "_get_all_param_aliases", dict)()
    found = dict(LIGHTGBM)
    for name, others in table.items():
        own = LIGHTGBM.get(name, name)
        found |= {other: own for other in others if other != own}
    return found

"""Copies of estimators, ready for training: their seeds set, and on one core each."""

from __future__ import annotations

import inspect
from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from robx.errors import InvalidInput

#: Libraries that take all cores, and a fixed seed, unless told otherwise; and what to tell them.
#: CatBoost writes a log into the working folder, where trainings side by side would meet.
ONE_CORE: dict[str, dict[str, Any]] = {
    "xgboost": {"n_jobs": 1},
    "lightgbm": {"n_jobs": 1},
    "catboost": {"thread_count": 1, "allow_writing_files": False},
}


def check_estimator(estimator: Any, name: str, owner: str) -> None:
    """Refuse what is not a classifier in scikit-learn's form."""
    verbs = ("fit", "get_params", "set_params")
    is_sound = not isinstance(estimator, type) and all(hasattr(estimator, v) for v in verbs)
    # Some, such as a StackingClassifier, have their predict_proba only once they are fitted.
    if not is_sound or not (hasattr(estimator, "predict_proba") or is_classifier(estimator)):
        raise InvalidInput(
            f"The '{name}' parameter of {owner} must be a classifier in scikit-learn's form, with "
            f"fit, predict_proba, get_params and set_params. Got {_named(estimator)} instead."
        )


def check_parameter(estimator: Any, name: str, owner: str) -> None:
    """Refuse to vary a parameter that the estimator does not have."""
    if name not in _parameters(estimator):
        raise InvalidInput(
            f"{owner} cannot vary '{name}': {_named(estimator)} has no such parameter. Its "
            "get_params() lists what there is."
        )


def fresh(estimator: Any, rng: np.random.Generator) -> Any:
    """An unfitted copy whose training can be repeated and takes one core.

    What its user has set stays. A random_state of None, which in scikit-learn means another model
    at every training, becomes a seed from `rng`; XGBoost, LightGBM and CatBoost have a fixed seed
    of their own then, and keep it.
    """
    copy = _unfitted(estimator)
    have = _parameters(copy)
    told: dict[str, Any] = {}
    for start, part in _parts(copy).items():
        library = _library(part)
        if library is None:
            told |= {f"{start}random_state": int(rng.integers(2**31 - 1))}
        else:
            told |= {start + name: value for name, value in ONE_CORE[library].items()}
    return copy.set_params(**{name: told[name] for name in told if have.get(name, "") is None})


def set_seeds(estimator: Any, rng: np.random.Generator) -> bool:
    """Give the estimator and all inside it new seeds; whether there were any to give."""
    have = _parameters(estimator)
    seeds = {}
    for start in _parts(estimator):
        by_catboost = f"{start}random_seed"
        name = f"{start}random_state" if have.get(by_catboost) is None else by_catboost
        if name in have:
            seeds[name] = int(rng.integers(2**31 - 1))
    estimator.set_params(**seeds)
    return bool(seeds)


def _unfitted(estimator: Any) -> Any:
    """A copy. scikit-learn's clone refuses CatBoost with lists, such as its cat_features."""
    if _library(estimator) == "catboost":
        return type(estimator)(**deepcopy(estimator.get_params()))
    try:
        return clone(estimator)
    except RuntimeError:  # with CatBoost inside
        return deepcopy(estimator)


def _parts(estimator: Any) -> dict[str, Any]:
    """The estimator and those inside it, by what the names of their parameters start with."""
    inside = {
        f"{name}__": value
        for name, value in estimator.get_params().items()
        if hasattr(value, "get_params") and not isinstance(value, type)
    }
    return {"": estimator, **inside}


def _parameters(estimator: Any) -> dict[str, Any]:
    """All parameters by name, also those that CatBoost does not list until they are set."""
    unset = {
        start + name: parameter.default
        for start, part in _parts(estimator).items()
        for name, parameter in inspect.signature(type(part)).parameters.items()
        if parameter.kind not in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}
    }
    return {**unset, **estimator.get_params()}


def _library(part: Any) -> str | None:
    packages = [base.__module__.partition(".")[0] for base in type(part).__mro__]
    return next((package for package in packages if package in ONE_CORE), None)


def _named(estimator: Any) -> str:
    return estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__

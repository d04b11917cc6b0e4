"""Copies of estimators that are ready for training, with seeds and on one core each."""

from __future__ import annotations

import inspect
from copy import deepcopy
from typing import Any

import numpy as np

from robx.errors import InvalidInput

#: Parameters for libraries that by default use all cores (and a fixed seed). CatBoost writes a log
#: into the working folder, where parallel trainings would collide.
ONE_CORE: dict[str, dict[str, Any]] = {
    "xgboost": {"n_jobs": 1},
    "lightgbm": {"n_jobs": 1},
    "catboost": {"thread_count": 1, "allow_writing_files": False},
}


def check_estimator(estimator: Any, name: str, owner: str) -> None:
    """Refuse what is not a classifier in scikit-learn's form."""
    from sklearn.base import is_classifier  # noqa: PLC0415 - takes long to load

    verbs = ("fit", "get_params", "set_params")
    is_sound = not isinstance(estimator, type) and all(hasattr(estimator, v) for v in verbs)
    # Some, such as a StackingClassifier, have predict_proba only after they are fitted.
    if not is_sound or not (hasattr(estimator, "predict_proba") or is_classifier(estimator)):
        raise InvalidInput(
            f"The '{name}' parameter of {owner} must be a classifier in scikit-learn's form, with "
            f"fit, predict_proba, get_params and set_params. Got {_named(estimator)} instead."
        )


def check_parameter(estimator: Any, name: str, owner: str) -> None:
    """Refuse to vary a parameter that the estimator does not have."""
    if name not in _parameters(estimator):
        raise InvalidInput(
            f"{owner} cannot vary '{name}': {_named(estimator)} has no such parameter. Choose one "
            "of its get_params()."
        )


def fresh(estimator: Any, rng: np.random.Generator) -> Any:
    """Make an unfitted copy whose training can be repeated and takes one core.

    Parameters that are set stay. A random_state of None, with which scikit-learn gives another
    model at every training, becomes a seed from `rng`; XGBoost, LightGBM and CatBoost then have a
    fixed seed of their own, and keep it.
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
    """Give the estimator and those inside it new seeds; return whether there are any."""
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
    """Copy an estimator; scikit-learn's clone refuses CatBoost with lists as parameters."""
    from sklearn.base import clone  # noqa: PLC0415 - takes long to load

    if _library(estimator) == "catboost":
        return type(estimator)(**deepcopy(estimator.get_params()), **lost_categories(estimator))
    try:
        return clone(estimator)
    except RuntimeError:  # with CatBoost inside
        return deepcopy(estimator)


def lost_categories(model: Any) -> dict[str, Any]:
    """Give the `cat_features` of a CatBoost model that only its `fit` was told."""
    if model.get_params().get("cat_features") is not None or not model.is_fitted():
        return {}
    names, found = list(model.feature_names_), list(model.get_cat_feature_indices())
    is_named = names != [str(j) for j in range(len(names))]
    return {"cat_features": [names[j] if is_named else int(j) for j in found]} if found else {}


def _parts(estimator: Any) -> dict[str, Any]:
    """The estimator and those inside it, by the prefix of their parameters' names."""
    inside = {
        f"{name}__": value
        for name, value in estimator.get_params().items()
        if hasattr(value, "get_params") and not isinstance(value, type)
    }
    return {"": estimator, **inside}


def _parameters(estimator: Any) -> dict[str, Any]:
    """All parameters by name, including those that CatBoost lists only when they are set."""
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

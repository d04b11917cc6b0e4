"""Where answers come from: the model, what counts as accepted, and the versions at work."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from robx.errors import InvalidInput
from robx.parameters import is_number
from robx.tables import Category
from robx.trees import Model

#: Distributions that a model's library comes from, by the word that its source begins with.
LIBRARIES = {
    "XGBoost": ("xgboost-cpu", "xgboost"),
    "LightGBM": ("lightgbm",),
    "CatBoost": ("catboost",),
}


def origin_of(model: Model, n_features: int, n_support: int, threshold: float) -> dict[str, Any]:
    """Tell, in plain values, what answers are about to be made with."""
    return {
        "model": {**model.about(), "n_features": n_features},
        "target": plain_label(model.target),
        "threshold": threshold,
        "n_support": n_support,
        "versions": _versions(model),
    }


def checked_origin(plain: Any) -> dict[str, Any]:
    """Check what others rely on in an origin from a file; old files have none."""
    if not isinstance(plain, Mapping):
        raise _damaged(f"their origin is {plain!r}")
    origin = dict(plain)
    for name in ("model", "versions"):
        if not isinstance(origin.get(name, {}), Mapping):
            raise _damaged(f"their origin has no '{name}'")
    threshold, target = origin.get("threshold", 0.5), origin.get("target")
    if not is_number(threshold) or not 0 <= threshold < 1:
        raise _damaged(f"their threshold must be a number from 0 to below 1. Got {threshold!r}")
    if target is not None and not isinstance(target, str | bool | int | float):
        raise _damaged(f"their target must be a label. Got {target!r}")
    return origin


def _damaged(said: str) -> InvalidInput:
    return InvalidInput(f"The counterfactuals are damaged: {said[:200]}.")


def plain_label(label: Any) -> Category | None:
    """Give a class label as a plain value."""
    plain = label.item() if hasattr(label, "item") else label
    return plain if plain is None or isinstance(plain, str | bool | int | float) else str(plain)


def _versions(model: Model) -> dict[str, str]:
    found = {
        "robx": _version("robx"),
        "python": platform.python_version(),
        "numpy": _version("numpy"),
        "scikit-learn": _version("scikit-learn"),
    }
    for name in LIBRARIES.get(model.source.split(" ")[0], ()):
        known = _version(name)
        found |= {name.removesuffix("-cpu"): known} if known is not None else {}
    return {name: known for name, known in found.items() if known is not None}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None

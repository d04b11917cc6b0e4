"""Where answers come from: the model, what counts as accepted, and the versions at work."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
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


def origin_of(
    model: Model,
    n_features: int,
    n_support: int,
    threshold: float,
    versions: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Tell, in plain values, what answers are about to be made with.

    Unless `versions` are given, they are those that are installed.
    """
    return {
        "model": {**model.about(), "n_features": n_features},
        "target": plain_label(model.target),
        "threshold": threshold,
        "n_support": n_support,
        "versions": _versions(model) if versions is None else dict(versions),
    }


def utc_date() -> str:
    """Give today's date in UTC, as ISO 8601 has it; SOURCE_DATE_EPOCH stands in for the clock.

    Only commands ask for it: functions take a date, so that the same input gives the same bytes.
    It is a day, so that a command gives the same bytes when it is repeated.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is not None and not epoch.isdecimal():
        raise InvalidInput(
            "The environment variable SOURCE_DATE_EPOCH must be a number of seconds since 1970. "
            f"Got {epoch!r}."
        )
    now = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(int(epoch), UTC)
    return now.date().isoformat()


def checked_date(date: Any, owner: str) -> str:
    """Check a date, or a date and time, in the form of ISO 8601."""
    try:
        datetime.fromisoformat(date)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"The 'date' parameter of {owner} must be a date in the form of ISO 8601, such as "
            f"'2026-11-16' or '2026-11-16T09:30:00Z'. Got {date!r} instead."
        ) from None
    return str(date)


def checked_origin(plain: Any) -> dict[str, Any]:
    """Check what others rely on in an origin from a file; old files have none."""
    if not isinstance(plain, Mapping):
        raise _damaged(f"their origin is {plain!r}")
    origin = dict(plain)
    for name in ("model", "versions"):
        if not isinstance(origin.get(name, {}), Mapping):
            raise _damaged(f"their origin has no '{name}'")
    for name in ("date", "wanted", "schema"):
        if not isinstance(origin.get(name, ""), str):
            raise _damaged(f"their {name} must be text. Got {origin[name]!r}")
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
        "robx": version_of("robx"),
        "python": platform.python_version(),
        "numpy": version_of("numpy"),
        "scikit-learn": version_of("scikit-learn"),
    }
    for name in LIBRARIES.get(model.source.split(" ")[0], ()):
        known = version_of(name)
        found |= {name.removesuffix("-cpu"): known} if known is not None else {}
    return {name: known for name, known in found.items() if known is not None}


def version_of(name: str) -> str | None:
    """Give the version of an installed distribution, without loading it."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None

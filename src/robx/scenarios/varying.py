"""Hyperparameters that vary from model to model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from robx.errors import InvalidInput
from robx.scenarios.estimators import check_parameter


def read_vary(vary: Any, owner: str) -> dict[str, tuple[Any, ...]]:
    """Copy the mapping, with plain numbers."""
    wanted = f"The 'vary' parameter of {owner} must be a mapping from names to lists of values"
    if not isinstance(vary, Mapping):
        raise InvalidInput(f"{wanted}, such as {{'max_depth': [3, 5]}}. Got {vary!r} instead.")
    read: dict[str, tuple[Any, ...]] = {}
    for name, values in vary.items():
        is_list = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)
        listed = tuple(values) if is_list else ()
        if not isinstance(name, str) or not listed:
            raise InvalidInput(f"{wanted}, at least one each. Got {name!r}: {values!r} instead.")
        read[name] = tuple(v.item() if isinstance(v, np.generic) else v for v in listed)
    return read


def set_one(estimator: Any, vary: Mapping[str, Sequence[Any]], k: int, owner: str) -> None:
    """Set the k-th pair of a name and a value; after the last comes the first again."""
    for name in vary:
        check_parameter(estimator, name, owner)
    pairs = [(name, value) for name, values in vary.items() for value in values]
    name, value = pairs[k % len(pairs)]
    estimator.set_params(**{name: value})

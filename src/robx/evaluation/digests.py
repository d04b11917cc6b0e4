"""Keys of a log: `joblib.hash` of data, estimators, parameters and versions.

No code is hashed: functions and classes count by their names (a function also by what it holds),
libraries by their versions, estimators by their parameters, and fitted models by their state.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache, cached_property, partial
from importlib.metadata import distributions
from types import CellType, FunctionType
from typing import Any

import joblib
import narwhals as nw

from robx.errors import InvalidInput
from robx.methods import Method
from robx.trees import BlackBox, TreeEnsemble

#: What tells objects of a type apart.
TELLING: dict[type, tuple[str, ...]] = {
    TreeEnsemble: ("digest",),
    BlackBox: ("model", "target"),
    partial: ("func", "args", "keywords"),
    FunctionType: ("__module__", "__qualname__", "__defaults__", "__kwdefaults__", "__closure__"),
    CellType: ("cell_contents",),
    type: ("__module__", "__qualname__"),
}


def digest(*values: Any) -> str:
    """Hash values and versions, to the same text in every process."""
    try:
        return str(joblib.hash([_versions(), _plain(values, fitted=False)], hash_name="sha1"))
    except Exception as error:
        raise InvalidInput(
            "The log of an evaluation cannot tell one of its inputs from others "
            f"({next(iter(error.args), error)}): leave the log out, or pass named functions and "
            "objects that can be pickled."
        ) from error


@cache
def _versions() -> list[str]:
    named = {"robx", "scikit-learn", "xgboost", "xgboost-cpu", "lightgbm", "catboost"}
    return sorted(f"{d.name} {d.version}" for d in distributions() if d.name in named)


def _plain(value: Any, *, fitted: bool) -> Any:
    """Give nested lists: `joblib.hash` would sort mappings, and count which objects are shared."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return value
    inside, parts = fitted or isinstance(value, (*TELLING, Method)), _parts(value, fitted)
    each = [joblib.hash(value)] if parts is None else [_plain(p, fitted=inside) for p in parts]
    return [f"{type(value).__module__}.{type(value).__qualname__}", *each]


def _parts(value: Any, fitted: bool) -> Any:
    """Take a value apart; None for what is hashed whole."""
    telling = next((TELLING[kind] for kind in TELLING if isinstance(value, kind)), ())
    if telling and getattr(value, "__name__", "") != "<lambda>":  # a name that many have
        return [getattr(value, name) for name in telling]
    if isinstance(value, list | tuple | Mapping):
        return value.items() if isinstance(value, Mapping) else value
    if isinstance(value, set | frozenset):
        return sorted(value, key=lambda part: str(joblib.hash(_plain(part, fitted=fitted))))
    if hasattr(value, "get_params") and not fitted:
        return [value.get_params(deep=False)]
    if dataclasses.is_dataclass(value) and hasattr(value, "__dict__"):
        made = [n for n in vars(value) if isinstance(getattr(type(value), n, 0), cached_property)]
        return [item for item in vars(value).items() if item[0] not in made]
    table = nw.from_native(value, eager_only=True, pass_through=True)
    if isinstance(table, nw.DataFrame):  # whose copies are contiguous, which joblib counts
        columns = zip(table.schema.items(), table.to_pandas().items(), strict=True)
        return [(name, str(of), c.dtype, c.to_numpy(copy=True)) for (name, of), (_, c) in columns]
    return None

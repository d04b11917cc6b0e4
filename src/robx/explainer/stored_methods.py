"""Methods as plain values: a name and parameters, never code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from robx.errors import InvalidInput
from robx.methods import (
    Closest,
    Conservative,
    FeatureTweaking,
    Focus,
    Frugal,
    LiveRegion,
    Method,
    NearestNeighbour,
    RobX,
)
from robx.robustness import Noise

#: Methods that a file can hold. `Face` is not one of them: it walks over all training rows.
STORABLE: dict[str, type[Method]] = {
    one.__name__: one
    for one in (
        Frugal,
        RobX,
        NearestNeighbour,
        Conservative,
        Closest,
        FeatureTweaking,
        Focus,
        LiveRegion,
    )
}
#: Parameters that are not plain: models, which have parts of their own.
APART, CHALLENGERS = ("models", "panel"), "challengers"
#: So many bases of bases may be inside each other.
DEEPEST = 8


def is_storable(method: Method) -> bool:
    """Whether a file can hold a method."""
    try:
        method_to_plain(method)
    except InvalidInput:
        return False
    return True


def method_to_plain(method: Method) -> dict[str, Any]:
    """Give a method as plain values, without its retrained models.

    Examples
    --------
    >>> method_to_plain(NearestNeighbour(norm=2))["parameters"]["norm"]
    2
    """
    if STORABLE.get(type(method).__name__) is not type(method):
        raise InvalidInput(
            f"An explainer of the method {method.title} cannot be saved, because a file holds data "
            f"and no code. Methods that can be saved are {', '.join(STORABLE)}. Keep this "
            "explainer in the process that made it."
        )
    plain = {
        field.name: _plain(getattr(method, field.name), f"{type(method).__name__}.{field.name}")
        for field in fields(method)
        if field.name not in (*APART, CHALLENGERS)
    }
    return {"method": type(method).__name__, "parameters": plain}


def method_from_plain(
    plain: Any,
    models: tuple[Any, ...] = (),
    challengers: tuple[Any, ...] = (),
    depth: int = 0,
) -> Method:
    """Make the method that `method_to_plain` described, with its models."""
    if not isinstance(plain, Mapping) or set(plain) != {"method", "parameters"}:
        raise _damaged("a method has a name and parameters")
    made, given = STORABLE.get(str(plain["method"])), plain["parameters"]
    if made is None or not isinstance(given, Mapping):
        raise _damaged(f"its method {str(plain['method'])[:40]!r} is not known")
    if depth > DEEPEST:
        raise _damaged(f"its methods are nested more than {DEEPEST} deep")
    known = {field.name for field in fields(made)}
    if set(given) != known - {*APART, CHALLENGERS}:
        raise _damaged(f"the parameters of {made.__name__} are not those that it has")
    parameters = {name: _from_plain(value, depth) for name, value in given.items()}
    parameters |= {name: models for name in APART if name in known}
    if CHALLENGERS in known:
        parameters[CHALLENGERS] = challengers
    try:
        return made(**parameters)
    except (TypeError, ValueError) as error:
        raise _damaged(f"its method {made.__name__} cannot be made: {error}") from error


def _plain(value: Any, what: str) -> Any:
    if isinstance(value, Method):
        return method_to_plain(value)
    if isinstance(value, Noise):
        inner = {f.name: _plain(getattr(value, f.name), "noise") for f in fields(value)}
        return {"noise": inner}
    if isinstance(value, Mapping):
        return {"by_name": {str(name): float(number) for name, number in value.items()}}
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InvalidInput(
        f"An explainer whose {what} is a {type(value).__name__} cannot be saved: a file holds "
        "plain parameters only. Keep this explainer in the process that made it."
    )


def _from_plain(value: Any, depth: int) -> Any:
    if not isinstance(value, Mapping):
        if value is not None and not isinstance(value, bool | int | float | str):
            raise _damaged("a parameter of its method is not plain")
        return value
    if set(value) == {"by_name"} and isinstance(value["by_name"], Mapping):
        return {str(name): number for name, number in value["by_name"].items()}
    if set(value) == {"noise"} and isinstance(value["noise"], Mapping):
        inner = value["noise"]
        if set(inner) != {field.name for field in fields(Noise)}:
            raise _damaged("the parameters of its noise are not those that it has")
        return Noise(**{name: _from_plain(one, depth) for name, one in inner.items()})
    return method_from_plain(value, depth=depth + 1)


def _damaged(said: str) -> InvalidInput:
    return InvalidInput(f"The explainer is damaged: {said}.")

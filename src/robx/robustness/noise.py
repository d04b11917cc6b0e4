"""How much noise each column gets: sigma, in units of the column's scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from robx.arrays import Floats
from robx.errors import InvalidInput


def per_column(value: Any, names: Sequence[str], parameter: str) -> Floats:
    """Read a number, an array of d or a mapping from names into d numbers from 0 on.

    >>> per_column({"b": 2, "a": 1}, ["a", "b"], "sigma")
    array([1., 2.])
    """
    if hasattr(value, "to_dict") and not hasattr(value, "columns"):  # a pandas Series: by name
        value = {str(name): number for name, number in value.to_dict().items()}
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in names]
        lacking = [name for name in names if name not in value]
        if unknown or lacking:
            raise InvalidInput(
                f"The '{parameter}' parameter must name each column once. "
                f"Not known: {unknown[:5]}; left out: {lacking[:5]}."
            )
        value = [value[name] for name in names]
    try:
        numbers = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), len(names)))
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"The '{parameter}' parameter must be a number, {len(names)} numbers (one per column) or "
            f"a mapping from column names to numbers. Got {value!r} instead."
        ) from error
    wrong = ~(np.isfinite(numbers) & (numbers >= 0))
    if wrong.any():
        bad = int(wrong.argmax())
        raise InvalidInput(
            f"The '{parameter}' parameter must be finite and not negative. "
            f"Got {numbers[bad]} for column '{names[bad]}'."
        )
    return numbers


def spread_of(
    sigmas: Floats, scale: Any, names: Sequence[str], read: Callable[[Any], Floats]
) -> Floats:
    """Standard deviation of each column's noise, (d,), in the column's own units.

    A scale of None is 1 for all; `read` turns a table into a matrix, whose ranges count.
    """
    if scale is None:
        return sigmas
    if isinstance(scale, Mapping) or (np.ndim(scale) < 2 and not hasattr(scale, "columns")):
        return _product(sigmas, per_column(scale, names, "scale"), names)
    matrix = read(scale)
    finite = np.where(np.isfinite(matrix), matrix, np.nan)
    known = ~np.isnan(finite).all(axis=0) if len(finite) else np.zeros(len(names), dtype=bool)
    if not (known | (sigmas == 0)).all():
        lacking = int((~known & (sigmas > 0)).argmax())
        raise InvalidInput(
            f"The 'scale' table has no value in column '{names[lacking]}': it has no range."
        )
    spread = np.zeros(len(names))
    spread[known] = np.nanmax(finite[:, known], axis=0) - np.nanmin(finite[:, known], axis=0)
    return _product(sigmas, spread, names)


def _product(sigmas: Floats, scale: Floats, names: Sequence[str]) -> Floats:
    with np.errstate(over="ignore", divide="ignore"):
        spread = sigmas * scale
        # Noise too small to divide by moves nothing.
        spread = np.where(np.isinf(1 / spread), 0.0, spread)
    if np.isinf(spread).any():
        column = names[int(np.isinf(spread).argmax())]
        raise InvalidInput(f"sigma times scale must be finite. It is not for column '{column}'.")
    return spread

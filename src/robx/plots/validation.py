"""What plots take: columns of numbers, and axes to draw on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.parameters import require


def numbers(table: pd.DataFrame, name: str, owner: str) -> Floats:
    """Give a column as numbers, NaN where it has none: (n,) float64."""
    try:
        values = np.asarray(table[name].to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{owner} needs numbers in column '{name}'. Got {table[name].dtype}."
        ) from error
    return np.where(np.isfinite(values), values, np.nan)


def check_ax(ax: Any, owner: str) -> None:
    """Refuse what cannot be drawn on."""
    sound = ax is None or isinstance(ax, Axes)
    require(sound, ax, "ax", owner, "matplotlib Axes, or None for a new figure")


def axes_for(axes: Any, n: int, owner: str) -> NDArray[np.object_] | None:
    """Give the caller's axes as an array of n, or None where there are none."""
    if axes is None:
        return None
    given = np.ravel(np.asarray([axes] if isinstance(axes, Axes) else axes, dtype=object))
    sound = len(given) == n and all(isinstance(ax, Axes) for ax in given)
    expected = f"{n} matplotlib Axes, or None for a new figure"
    require(sound, list(given), "axes", owner, expected)
    return given

"""What comes in: tables with the columns that a plot needs, and axes to draw on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from robx.errors import InvalidInput
from robx.parameters import check_number


def check_table(table: Any, needed: Sequence[str], owner: str, maker: str) -> pd.DataFrame:
    """Refuse what is not a table with these columns; `maker` makes such tables.

    Examples
    --------
    >>> check_table(pd.DataFrame({"score": [0.5]}), ["score", "mean"], "histograms", "a table")
    Traceback (most recent call last):
    robx.errors.InvalidInput: histograms needs a table with columns score, mean, as a table gives.
    Missing: mean. Got: score.
    """
    expected = f"{owner} needs a table with columns {', '.join(needed)}, as {maker} gives."
    if not isinstance(table, pd.DataFrame):
        raise InvalidInput(f"{expected} Got {type(table).__name__}, which is no pandas table.")
    missing = [name for name in needed if name not in table.columns]
    if missing:
        have = ", ".join(map(str, table.columns)) or "no columns"
        raise InvalidInput(f"{expected} Missing: {', '.join(missing)}. Got: {have}.")
    return table


def numbers(table: pd.DataFrame, name: str, owner: str) -> NDArray[np.float64]:
    """Give a column as numbers, NaN where it has none: (n,) float64."""
    try:
        values = np.asarray(table[name].to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{owner} needs numbers in column '{name}'. Got {table[name].dtype}."
        ) from error
    return np.where(np.isfinite(values), values, np.nan)


def check_tau(tau: Any, owner: str) -> None:
    """Refuse a tau that is no number."""
    if tau is not None:
        check_number(tau, "tau", owner, or_else=", or None")


def check_ax(ax: Any, owner: str) -> None:
    """Refuse what cannot be drawn on."""
    if ax is not None and not isinstance(ax, Axes):
        raise InvalidInput(
            f"The 'ax' parameter of {owner} must be matplotlib Axes, or None for a new figure. Got "
            f"{type(ax).__name__} instead."
        )


def axes_for(axes: Any, n: int, owner: str) -> NDArray[np.object_] | None:
    """Give the caller's axes as an array of n, or None where there are none."""
    if axes is None:
        return None
    listed = [axes] if isinstance(axes, Axes) else axes
    given = list(np.ravel(np.asarray(listed, dtype=object)))
    if len(given) != n or not all(isinstance(ax, Axes) for ax in given):
        what = f"{len(given)} of {type(given[0]).__name__}" if given else "none"
        raise InvalidInput(
            f"The 'axes' parameter of {owner} must be {n} matplotlib Axes, or None for a new "
            f"figure. Got {what} instead."
        )
    return np.array(given, dtype=object)

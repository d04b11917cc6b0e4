"""The pictures of a page: each is drawn from its table in the summary, as a piece of SVG."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from robx import plots
from robx.plots.distributions import draw_bins

#: Columns in which None stands for a bound that is not there.
BOUNDS = {"low": -np.inf, "high": np.inf}


def drawn(picture: dict[str, Any]) -> str:
    """Draw a picture from its table."""
    table, kind = pd.DataFrame(picture["rows"]), picture["kind"]
    if kind == "asked":
        axes: Any = plots.asked_features(table)
    elif kind == "example":
        axes = plots.before_after(_with_bounds(table))
    elif kind == "frontier":
        axes = plots.frontier(table)
    else:
        axes = draw_bins(table, picture["tau"])
    return plots.svg(axes, title=picture["title"])


def _with_bounds(table: pd.DataFrame) -> pd.DataFrame:
    """Make bounds that are not stated infinite, where there is a distance."""
    moves = table["shift"].notna()
    bounds = {
        name: table[name].astype(float).where(table[name].notna() | ~moves, end)
        for name, end in BOUNDS.items()
    }
    return table.assign(shift=table["shift"].astype(float), **bounds)

"""The pictures of a page: each is drawn from its table in the summary, as a piece of SVG."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from robx import plots
from robx.plots.distributions import draw_bins
from robx.reports.renderers.histogram import spread

Plain = dict[str, Any]
#: Columns in which None stands for a bound that is not there.
BOUNDS = {"low": -np.inf, "high": np.inf}


def drawn(picture: Plain) -> str:
    """Draw a picture from its table."""
    table = pd.DataFrame(picture["rows"])
    if picture["kind"] == "answers":
        return spread(table, picture["tau"], picture["title"])
    draw = DRAWINGS[picture["kind"]]
    return plots.svg(draw(table, picture), title=picture["title"])


def _asked(table: pd.DataFrame, _: Plain) -> Any:
    return plots.asked_features(table)


def _example(table: pd.DataFrame, _: Plain) -> Any:
    """Draw what changes; where there is a distance but no bound, the room is endless."""
    moves = table["shift"].notna()
    bounds = {
        name: table[name].astype(float).where(table[name].notna() | ~moves, end)
        for name, end in BOUNDS.items()
    }
    return plots.before_after(table.assign(shift=table["shift"].astype(float), **bounds))


def _histograms(table: pd.DataFrame, picture: Plain) -> Any:
    return draw_bins(table, picture["tau"])


def _frontier(table: pd.DataFrame, _: Plain) -> Any:
    return plots.frontier(table)


DRAWINGS = {
    "asked": _asked,
    "example": _example,
    "support": _histograms,
    "frontier": _frontier,
}

"""Results that grow from run to run: what is there already is not made again."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

import robx


def extend(
    path: Path,
    key: list[str],
    cells: Iterable[tuple[Any, ...]],
    make: Callable[..., list[dict[Any, Any]]],
    seconds: float,
) -> None:
    """Make the lines of cells that a file lacks, one after the other, until the time is up.

    Parameters
    ----------
    path : path of a CSV file
    key : list of str
        Columns that tell cells apart, in the order of their values.
    cells : iterable of tuples
    make : function
        From the values of a cell to its lines.
    seconds : float
    """
    warnings.simplefilter("ignore", robx.RobxWarning)
    path.parent.mkdir(parents=True, exist_ok=True)
    known = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=key)
    have = set(known[key].itertuples(index=False, name=None))
    end = time.monotonic() + seconds
    for cell in cells:
        if cell in have:
            continue
        if time.monotonic() > end:
            break
        known = pd.concat([known, pd.DataFrame(make(*cell))], ignore_index=True)
        known.to_csv(path, index=False, float_format="%.5g")
        print(*cell, flush=True)

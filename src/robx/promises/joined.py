"""Checks of several files of answers by one model, as one check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from robx.promises.result import Check

#: Arrays with a value for each row, and tuples.
ROWS = ("applicants", "status", "promised", "kept", "score_before", "score")
TUPLES = ("changes", "reason", "alternatives", "issued")


def joined(checks: Sequence[Check]) -> Check:
    """Put checks by the same model one below the other; alternatives stay with their files."""
    first = checks[0]
    if len(checks) == 1:
        return first
    own = [check.own for check in checks if check.own is not None]
    values: dict[str, Any] = {name: _below([getattr(one, name) for one in checks]) for name in ROWS}
    values |= {name: _chained(checks, name) for name in TUPLES}
    values["left_out"] = tuple(dict.fromkeys(_chained(checks, "left_out")))
    values["own"] = pd.concat(own, ignore_index=True) if len(own) == len(checks) else None
    return replace(first, **values)


def _below(arrays: list[Any]) -> Any:
    kinds = {array.dtype.kind for array in arrays}
    return np.concatenate([a if len(kinds) == 1 else a.astype(object) for a in arrays])


def _chained(checks: Sequence[Check], name: str) -> tuple[Any, ...]:
    return tuple(chain.from_iterable(getattr(check, name) for check in checks))

"""Kept promises by groups of applicants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Bools
from robx.metrics import jeffreys

if TYPE_CHECKING:
    import pandas as pd

    from robx.schema import Feature

#: Numbers with more different values than this are cut at their quantiles.
MOST_VALUES = 6
#: Into so many groups.
N_GROUPS = 4
MISSING = "missing"


def kept_by(
    values: Any,
    name: str,
    promised: Bools,
    kept: Bools,
    confidence: float,
    feature: Feature | None = None,
) -> pd.DataFrame:
    """Count promises, and those that are kept, by group: a row each, in the order of the groups."""
    import pandas as pd  # noqa: PLC0415 - made only when looked at

    names, groups = group_names(values, feature)
    group_of = np.array(names, dtype=object)
    rows = []
    for group in groups:
        here = promised & (group_of == group)
        n, n_kept = int(here.sum()), int(kept[here].sum())
        rows.append((group, n, n_kept, *jeffreys(n_kept, n, confidence)))
    return pd.DataFrame(rows, columns=[name, "n_promises", "n_kept", "share", "low", "high"])


def group_names(values: Any, feature: Feature | None = None) -> tuple[list[str], list[str]]:
    """Name the group of each applicant, and list the groups in order.

    Numbers with many values are cut at their quartiles; levels go by their labels.

    Examples
    --------
    >>> group_names([5, 1, 5])
    (['5', '1', '5'], ['1', '5'])
    >>> group_names([1, 2, 3, 4, 5, 6, 7, 8, float("nan")])[1]
    ['1 to 2', '3 to 4', '5 to 6', '7 to 8', 'missing']
    """
    import pandas as pd  # noqa: PLC0415 - as above

    column = pd.Series(values).reset_index(drop=True)
    known = column.dropna()
    is_number = pd.api.types.is_numeric_dtype(column.dtype)
    if is_number and not pd.api.types.is_bool_dtype(column.dtype):
        has_levels = feature is not None and feature.levels is not None
        if known.nunique() > MOST_VALUES and not has_levels:
            return _quantiles(column.to_numpy(dtype=np.float64))
        order = sorted(known.unique().tolist())
        words = {value: feature.say(value) if feature else f"{value:g}" for value in order}
    else:
        order = sorted(known.unique().tolist(), key=str)
        words = {value: str(value) for value in order}
    names = [words[v] if has else MISSING for v, has in zip(column, column.notna(), strict=True)]
    groups = list(dict.fromkeys(words.values()))
    return names, [*groups, MISSING] if MISSING in names else groups


def _quantiles(numbers: NDArray[np.float64]) -> tuple[list[str], list[str]]:
    """Cut numbers into groups of about the same size, named by the numbers in them."""
    known = numbers[~np.isnan(numbers)]
    cuts = np.quantile(known, np.arange(1, N_GROUPS) / N_GROUPS, method="lower")
    place = np.searchsorted(np.unique(cuts), numbers)
    words: dict[int, str] = {}
    for k in range(int(place[~np.isnan(numbers)].max()) + 1):
        here = numbers[(place == k) & ~np.isnan(numbers)]
        if len(here):
            low, high = here.min(), here.max()
            words[k] = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    names = [MISSING if np.isnan(v) else words[int(p)] for v, p in zip(numbers, place, strict=True)]
    return names, [*words.values(), *([MISSING] if np.isnan(numbers).any() else [])]

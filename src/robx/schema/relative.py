"""Limits relative to what an applicant has: by how much a value may rise and fall.

`Feature` states them: `max_increase` and `max_decrease`, in the units of the column, or in steps
where it has ordered levels. `within` is both at once, as a number or as text with the unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from robx.arrays import Floats

if TYPE_CHECKING:
    from robx.schema.feature import Feature

AMOUNT = re.compile(r"\s*(\d+\.?\d*(?:[eE][+-]?\d+)?)\s*(\D*)", re.ASCII)
#: What the levels of an ordinal feature are counted in.
STEPS = "steps"
#: Rounding of sums, as a share of a grid's step and of the numbers themselves.
STEP_SLACK, DOUBLE_SLACK, SINGLE_SLACK = 1e-9, 2.0**-50, 2.0**-22
#: Below this, float32 holds whole numbers exactly.
WHOLE_IN_SINGLE = 2.0**24


def amount(within: Any, unit: str | None) -> float | str:
    """Read how far a value may move both ways; what cannot be read is said in words.

    Examples
    --------
    >>> amount(2, None), amount("2 years", "years"), amount("1 year", "years")
    (2.0, 2.0, 1.0)
    >>> amount("2 years", None)
    "within names the unit 'years'; declare it as 'unit: years'. Got '2 years'"
    """
    found = AMOUNT.fullmatch(within) if isinstance(within, str) else None
    if found is not None:
        word = found[2].strip()
        if word and (unit is None or word.removesuffix("s") != unit.removesuffix("s")):
            return f"within names the unit {word!r}; declare it as 'unit: {word}'. Got {within!r}"
        return float(found[1])
    if isinstance(within, int | float | np.number) and not isinstance(within, bool):
        return float(within)
    return f"within must be a number, or a number with the unit. Got {within!r}"


def complaints(f: Feature) -> Iterable[str]:
    """Say what is wrong with the limits and the unit of a feature."""
    for name in ("max_increase", "max_decrease"):
        value = getattr(f, name)
        if not isinstance(value, float):
            continue
        if not f.is_number:
            yield f"a {f.kind} feature has no order, so no {name}"
        if value < 0:
            yield f"{name} must not be negative. Got {value:g}"
        if f.kind == "ordinal" and value != round(value):
            yield f"{name} of an ordinal feature is a whole number of levels. Got {value:g}"
    if f.unit is None:
        return
    if not isinstance(f.unit, str) or not f.unit.strip() or not f.unit.isprintable():
        yield f"its unit must be a word such as 'years'. Got {f.unit!r}"
    elif f.kind not in {"continuous", "integer"}:
        yield f"only continuous and integer features have a unit. Got {f.unit!r}"


def words(f: Feature) -> list[str]:
    """Say by how much a feature may rise and fall, where its direction does not say it already."""
    rise = f.max_increase if f.change in {"any", "increase"} else None
    fall = f.max_decrease if f.change in {"any", "decrease"} else None
    only = f.change in {"increase", "decrease"}
    if rise is not None and rise == fall:
        return [f"may rise or fall by at most {_said(f, rise)}"]
    parts = []
    for way, most in (("rise", rise), ("fall", fall)):
        if most is not None:
            parts.append(f"{'' if only else f'may {way} '}by at most {_said(f, most)}")
    return parts


def _said(f: Feature, number: float) -> str:
    plain = np.format_float_positional(float(f"{number:.6g}"), trim="-")
    unit = STEPS if f.kind == "ordinal" else f.unit
    return plain if unit is None else f"{plain} {'step' if unit == STEPS and number == 1 else unit}"


def bounds(
    f: Feature, x: Floats, levels: Floats, step: float, *, single: bool
) -> tuple[Floats, Floats]:
    """Minimum and maximum that applicants with values x may come to have: (n,) each.

    Parameters
    ----------
    f : Feature
    x : (n,) float64
    levels : (k,) float64
        The levels, ascending; empty where the column has none.
    step : float
        Of the column's grid; 0 where it has none.
    single : bool
        Whether the column is stored as float32.
    """
    low, high = np.full(len(x), -np.inf), np.full(len(x), np.inf)
    if f.kind == "ordinal":
        # Levels above an applicant, and below, whether or not they are on a level themselves.
        above, below = np.searchsorted(levels, x, "right"), np.searchsorted(levels, x, "left") - 1
        if f.max_increase is not None:
            place = above + int(f.max_increase) - 1
            high = np.where(place < above, x, levels[np.clip(place, 0, len(levels) - 1)])
        if f.max_decrease is not None:
            place = below - int(f.max_decrease) + 1
            low = np.where(place > below, x, levels[np.clip(place, 0, len(levels) - 1)])
        missing = np.isnan(x)  # from nowhere, no number of steps leads too far
        low, high = np.where(missing, -np.inf, low), np.where(missing, np.inf, high)
        return np.fmin(low, x), np.fmax(high, x)
    with np.errstate(over="ignore", invalid="ignore"):  # of infinite values nothing is known
        for most, end, sign in ((f.max_decrease, low, -1.0), (f.max_increase, high, 1.0)):
            if most is not None:
                slack = _slack(np.abs(x) + most, most, step, single=single) if step else 0.0
                end[:] = x + sign * (most + slack)
    return low, high


def _slack(size: Floats, most: float, step: float, *, single: bool) -> Floats:
    """By how much sums of a size may be off on a grid; never so far that the next step counts."""
    is_whole = step == round(step) and most == round(most)
    exact = (size < WHOLE_IN_SINGLE) & is_whole if single else np.ones(len(size), dtype=bool)
    share = np.where(exact, DOUBLE_SLACK, SINGLE_SLACK)
    return np.minimum(step * STEP_SLACK + share * size, 0.5 * step)

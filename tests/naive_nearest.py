"""Slow, obvious twin of the search for the nearest support rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Costs:
    """What changes cost, column by column."""

    unit: Floats
    label: Flags
    may_fill: Flags
    fill_cost: Floats


def adapted(s: Floats, q: Floats, low: Floats, high: Floats, costs: Costs) -> Floats:
    """A support row as it would look for an applicant."""
    row = q.copy()
    for j, value in enumerate(s):
        if math.isnan(value):
            continue
        if math.isnan(q[j]):
            row[j] = value if costs.may_fill[j] else math.nan
        elif not costs.label[j]:
            row[j] = min(max(value, low[j]), high[j])
        elif low[j] <= value <= high[j]:
            row[j] = value
    return row


def raw_distance(row: Floats, q: Floats, costs: Costs, norm: int) -> float:
    """Sum of what the changes from q to a row cost, each to the power of the norm."""
    total = 0.0
    for j in range(len(q)):
        cost = 0.0
        if math.isnan(q[j]):
            cost = 0.0 if math.isnan(row[j]) else float(costs.fill_cost[j])
        elif costs.label[j]:
            cost = float(costs.unit[j]) if row[j] != q[j] else 0.0
        else:
            cost = abs(float(row[j]) - float(q[j])) * float(costs.unit[j])
        total += cost if norm == 1 else cost * cost
    return total


def by_distance(
    rows: Floats, q: Floats, low: Floats, high: Floats, costs: Costs, norm: int, skip: Flags
) -> list[tuple[float, int]]:
    """All rows that are not skipped, as (raw distance, row number), nearest first."""
    return sorted(
        (raw_distance(adapted(s, q, low, high, costs), q, costs, norm), i)
        for i, s in enumerate(rows)
        if not skip[i]
    )

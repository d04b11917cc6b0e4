"""The nearest point that keeps all rules, relations included."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Bools, Floats, same, same_rows
from robx.kernels import grids
from robx.schema.rules import Rules

#: Branch-and-bound nodes before the solver gives its best so far.
NODE_LIMIT = 2000
#: A value that is off its grid by less than this share of a step is on it.
GRID_SLACK = 1e-9
#: Columns that are tried both ways: staying outside of their range or grid, and moving onto it.
MOST_STAYING = 4


def project(
    rules: Rules, Z: Floats, X: Floats, bounds: tuple[Floats, Floats]
) -> tuple[Floats, NDArray[np.bool_]]:
    """Bring points onto what the applicants may have, and tell for which there is such a point.

    Without relations columns do not depend on each other, and the nearest allowed value of each
    makes the nearest point. Where a relation is broken after that, the columns that it ties
    together are solved for as a small mixed-integer program, nearest in L1.

    Returns
    -------
    points : (n, d) float64
    possible : (n,) bool
    """
    out = rules.settle(Z, X, bounds)
    within = (out >= bounds[0]) & (out <= bounds[1]) & np.isfinite(out)
    possible = np.asarray((within | same(out, X) | rules.follows).all(axis=1))
    for i in np.flatnonzero(possible & ~rules.keeps(out, X)):
        found = [
            point
            for low, high in _ways_to_stay(rules, X[i], bounds[0][i], bounds[1][i])
            if (point := _solve(rules, Z[i], X[i], low, high, out[i])) is not None
        ]
        if not found and rules.keeps(X[i : i + 1], X[i : i + 1])[0]:
            found = [X[i]]  # where the solver knows no better, they may stay as they are
        possible[i] = bool(found)
        if found:
            wanted = np.where(np.isfinite(Z[i]), Z[i], out[i])
            away = np.nansum(np.abs(np.array(found) - wanted) * rules.unit(1), axis=1)
            out[i] = found[int(away.argmin())]
    return out, possible


def _ways_to_stay(
    rules: Rules, x: Floats, low: Floats, high: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """Give bounds for each choice of columns that stay outside of their range or grid.

    What an applicant has is always allowed, and the solver knows only ranges and grids.
    """
    kind, numerator, denominator, *_ = rules.grid
    with np.errstate(invalid="ignore", over="ignore"):
        steps = x / (numerator / denominator)
        off_grid = (kind == grids.STEP) & (np.abs(steps - np.rint(steps)) > GRID_SLACK)
        outside = (x < low) | (x > high) | off_grid
    moves = ((low != x) | (high != x)) & ~rules.follows
    loose = outside & moves & (kind != grids.LEVELS) & _tied(rules)
    columns = np.flatnonzero(loose)[:MOST_STAYING]
    for stays in product((False, True), repeat=len(columns)):
        held = columns[np.array(stays, dtype=bool)]
        bounds = low.copy(), high.copy()
        bounds[0][held] = bounds[1][held] = x[held]
        yield bounds


def _tied(rules: Rules) -> Bools:
    """Columns that relations name, with the causes of those that follow from others: (d,) bool."""
    names = (rules.relations_in_numbers.matrix != 0).any(axis=0)
    for j, causes in rules.effects_in_numbers.from_last():
        names |= (causes != 0) & names[j]
    return np.asarray(names)


def _solve(
    rules: Rules, z: Floats, x: Floats, low: Floats, high: Floats, start: Floats
) -> Floats | None:
    """Nearest point that keeps the relations, over the columns they name; the others stay.

    Each such column is ``value = step * whole number``, a choice among its levels, or free; its
    distance from the wanted value is a variable of its own.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 - loads slowly

    matrix, bound = rules.relations_in_numbers.matrix, rules.relations_in_numbers.bound
    wide = [side[0] for side in rules.reach(x[None], low[None], high[None])]
    tied = [int(j) for j in np.flatnonzero(_tied(rules) & ~np.isnan(start))]
    known = np.array([not np.isnan(start[row != 0]).any() for row in matrix], dtype=bool)
    if not tied:
        return None
    unit = rules.unit(1)
    wanted = np.where(np.isfinite(z), z, start)
    # Variables: for each tied column its parts (one, or one a level), then its distance.
    value_of: dict[int, list[tuple[int, float]]] = {}
    variables: list[tuple[float, float, bool]] = []
    for j in tied:
        factors, variable = _parts(rules, j, x[j], wide[0][j], wide[1][j])
        value_of[j] = [(len(variables) + n, factor) for n, factor in enumerate(factors)]
        variables += [variable] * len(factors)
    lows, highs, whole = (list(side) for side in zip(*variables, strict=True))
    n_values = len(lows)
    n_all = n_values + len(tied)
    price = np.zeros(n_all)
    rows: list[Floats] = []
    limits: list[tuple[float, float]] = []

    def row(parts: list[tuple[int, float]]) -> Floats:
        out = np.zeros(n_all)
        for place, factor in parts:
            out[place] += factor
        return out

    for n, j in enumerate(tied):
        away = [(n_values + n, -1.0)]
        rows += [row(value_of[j] + away), row([(p, -f) for p, f in value_of[j]] + away)]
        limits += [(-np.inf, wanted[j]), (-np.inf, -wanted[j])]
        price[n_values + n] = unit[j] or 1e-9
        if rules.grid[0][j] == grids.LEVELS:
            rows.append(row([(place, 1.0) for place, _ in value_of[j]]))
            limits.append((1.0, 1.0))
    for r in np.flatnonzero(known):
        parts = [(p, f * matrix[r, j]) for j in tied for p, f in value_of[j] if matrix[r, j] != 0]
        rows.append(row(parts))
        limits.append((-np.inf, bound[r]))
    for j, causes, start_at in _following(rules, x, tied):
        parts = [(p, -f * causes[i]) for i in tied for p, f in value_of[i] if causes[i] != 0]
        rows.append(row(value_of[j] + parts))
        limits.append((start_at - rules.rounding(j), start_at + rules.rounding(j)))
    solved = milp(
        price,
        integrality=np.array(whole + [0] * len(tied)),
        bounds=Bounds(np.array(lows + [0.0] * len(tied)), np.array(highs + [np.inf] * len(tied))),
        constraints=LinearConstraint(
            np.array(rows), [limit[0] for limit in limits], [limit[1] for limit in limits]
        ),
        options={"node_limit": NODE_LIMIT, "mip_rel_gap": 0.0},
    )
    if solved.x is None:
        return None
    out = start.copy()
    for j in tied:
        out[j] = sum(solved.x[place] * factor for place, factor in value_of[j])
    return _verified(rules, out[None], x[None], (low[None], high[None]))


def _verified(
    rules: Rules, found: Floats, x: Floats, bounds: tuple[Floats, Floats]
) -> Floats | None:
    """Bring what the solver found home, which is good to some digits, and look at it."""
    for candidate in (rules.settle(found, x, bounds), found):
        home = rules.settle(candidate, x, bounds)
        if rules.keeps(candidate, x)[0] and same_rows(home, candidate)[0]:
            return np.asarray(candidate[0])
    return None


def _parts(
    rules: Rules, j: int, x: float, low: float, high: float
) -> tuple[list[float], tuple[float, float, bool]]:
    """Say what a column's value is a sum of: factors of its variables, and what these may be.

    That is their minimum and maximum, and whether they are whole numbers.
    """
    kind, numerator, denominator, _, level_start, level_value = rules.grid
    if kind[j] == grids.LEVELS:
        levels = level_value[level_start[j] : level_start[j + 1]]
        options = dict.fromkeys(float(v) for v in (*levels, x) if low <= v <= high or v == x)
        return list(options), (0.0, 1.0, True)
    if kind[j] == grids.FREE:
        return [1.0], (low, high, False)
    step = numerator[j] / denominator[j]
    with np.errstate(over="ignore"):
        least, most = np.ceil(low / step - GRID_SLACK), np.floor(high / step + GRID_SLACK)
    if least > most:  # no step lies within: what the applicant has stays
        return [1.0], (x, x, False)
    return [step], (least, most, True)


def _following(rules: Rules, x: Floats, tied: list[int]) -> list[tuple[int, Floats, float]]:
    """Columns that follow from others: each with its causes, and what it less these starts at."""
    effects = rules.effects_in_numbers
    return [
        (j, causes, x[j] - sum(causes[i] * x[i] for i in tied if causes[i] != 0))
        for j, causes in zip(effects.targets, effects.matrix, strict=True)
        if j in tied
    ]

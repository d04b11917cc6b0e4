"""Ways that change few features: at every step the move that gains most for its cost.

A way starts at the applicant. The profiles of the averaged model (`robx.kernels.profiles`) tell
what every value of every feature would gain; the move with the most gain for what it costs is made,
where no more gain counts than is needed. A way goes on for some steps once it has what it needs,
since more is asked of an answer than a margin. Several ways begin with different features.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robx.arrays import AnyFloats, AnyInts
from robx.kernels.compiling import njit
from robx.kernels.conditions import Conditions, People, admit, is_changed, read, same_point, share
from robx.kernels.profiles import Sum, profiles

#: Moves that cost less than this are compared by their gain alone.
LEAST_COST = 1e-3
#: Moves that are tried in one step, where the best are not allowed.
MOST_TRIED = 4
#: How much more is needed after each step that goes on, as a part of what was needed.
FURTHER = 0.25


class Options(NamedTuple):
    """What features may be set to: n options, each for one feature.

    Parameters
    ----------
    values : (n, d) float64
        In the columns of its feature.
    feature : (n,) int64
    cell_start, cell : (n + 1,), (c,) int64
        The cells of its values in the profiles: where those of each option begin, and their places.
    """

    values: AnyFloats
    feature: AnyInts
    cell_start: AnyInts
    cell: AnyInts


@njit(nogil=True, cache=True)
def sparse_ways(
    people: People,
    conditions: Conditions,
    trees: Sum,
    options: Options,
    least: float,
    needed: float,
    price: float,
    most_steps: int,
    points: AnyFloats,
    count: AnyInts,
) -> None:
    """Write the places that ways of m applicants come to once they are accepted.

    Parameters
    ----------
    people, conditions
        See `robx.kernels.conditions`.
    trees : Sum
        The averaged model.
    options : Options
    least, needed : float
        The margin from which places are written, and the one that is aimed at.
    price : float
        What a changed feature costs beside how far it moves.
    most_steps : int
    points : (m, w, k, d) float64
        Receives the places of w ways, at most k of each.
    count : (m, w) int64
        Receives how many there are.
    """
    m, n_ways, n_places, d = points.shape
    n_options = options.feature.shape[0]
    cells, numbers = np.empty(d, np.int64), np.empty(d)
    room = 3 * trees.depth + 4
    waiting, sets = np.empty((4, room), np.int64), np.empty(room, np.uint64)
    gains = np.empty(trees.cell_start[-1])
    worth, at_first = np.empty(n_options), np.empty(n_options)
    is_used = np.zeros(conditions.features.shape[0], np.bool_)
    here = np.empty(d)
    for i in range(m):
        is_used[:] = False
        read(people.rows[i], i, people, conditions, numbers)
        own = profiles(numbers, trees, cells, waiting, sets, gains)
        _rate(i, people.rows[i], people, conditions, options, gains, needed - own, price, at_first)
        for w in range(n_ways):
            here[:] = people.rows[i]
            count[i, w] = 0
            margin, goal, steps = own, needed, 0
            while steps < most_steps and count[i, w] < n_places:
                if steps == 0:
                    worth[:] = at_first
                    for o in range(n_options):
                        if is_used[options.feature[o]]:
                            worth[o] = -math.inf
                else:
                    _rate(i, here, people, conditions, options, gains, goal - margin, price, worth)
                moved = _move(i, here, people, conditions, options, worth)
                if moved < 0:
                    break
                if steps == 0:
                    is_used[options.feature[moved]] = True
                steps += 1
                read(here, i, people, conditions, numbers)
                margin = profiles(numbers, trees, cells, waiting, sets, gains)
                if margin > least:
                    points[i, w, count[i, w]] = here
                    count[i, w] += 1
                if margin >= goal:
                    goal = margin + FURTHER * (needed - own)


@njit(nogil=True, cache=True)
def _rate(
    i: int,
    here: AnyFloats,
    people: People,
    conditions: Conditions,
    options: Options,
    gains: AnyFloats,
    lacking: float,
    price: float,
    worth: AnyFloats,
) -> None:
    """Write what every option gains for its cost; -inf where it is not allowed or gains nothing."""
    x, features, values = people.rows[i], conditions.features, options.values
    d = here.shape[0]
    at = here.copy()
    for o in range(options.feature.shape[0]):
        worth[o] = -math.inf
        gain = 0.0
        for place in range(options.cell_start[o], options.cell_start[o + 1]):
            gain += gains[options.cell[place]]
        if not gain > 0:
            continue
        feature = options.feature[o]
        allowed = True
        for j in range(d):
            if features[feature, j]:
                value = values[o, j]
                at[j] = value
                inside = people.low[i, j] <= value <= people.high[i, j]
                allowed = allowed and (value == x[j] or inside)
        if allowed:
            now = share(feature, here, x, conditions)
            then = share(feature, at, x, conditions)
            if not is_changed(feature, here, x, features):
                then += price
            worth[o] = min(gain, lacking) / max(then - now, LEAST_COST)
        for j in range(d):
            if features[feature, j]:
                at[j] = here[j]


@njit(nogil=True, cache=True)
def _move(
    i: int,
    here: AnyFloats,
    people: People,
    conditions: Conditions,
    options: Options,
    worth: AnyFloats,
) -> int:
    """Make the best move that is allowed; returns which option it was, or -1."""
    d = here.shape[0]
    wanted, point, spare = np.empty((1, d)), np.empty((1, d)), np.empty((1, d))
    for _ in range(MOST_TRIED):
        best = worth.argmax()
        if worth[best] == -math.inf:
            return -1
        for j in range(d):
            is_own = conditions.features[options.feature[best], j]
            wanted[0, j] = options.values[best, j] if is_own else here[j]
        legal = admit(wanted, i, people, conditions, point, spare)
        if legal and not same_point(point[0], here):
            here[:] = point[0]
            return int(best)
        worth[best] = -math.inf
    return -1

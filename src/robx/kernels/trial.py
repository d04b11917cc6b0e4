"""A point under test, and the point before it: what is asked of points, compiled.

A test asks, the cheapest first, whether a point is accepted, robust under retraining, typical, and
stable under noise. Searches move one or two features at a time, so that most of what was found out
about the point before holds for the next: leaves of most trees, distances to the fitted rows but
for one coordinate, and what most trees say of its noisy copies. `Trial` holds this for the point
before; `passes` asks about another, which takes its place if it passes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robx.arrays import AnyFloats, AnyInts, Bools, Words
from robx.kernels import lof
from robx.kernels.compiling import njit
from robx.kernels.conditions import Conditions, People, read
from robx.kernels.forests import AT_ONCE as TREES_AT_ONCE
from robx.kernels.forests import BEYOND, Forests, rank, scores_again
from robx.kernels.leaf_masks import Lookups, new_lookups
from robx.kernels.neighbourhood import (
    AT_ONCE,
    IDENTITY,
    SIGMOID,
    SOFTMAX,
    Tables,
    Walk,
    moments,
    open_columns,
    walk_trees,
)
from robx.kernels.sets import HALF, add_sets, aligned

#: Kinds of columns among the coordinates.
NUMBER, LABEL, MEMBER = range(3)
#: A stability that is nearer to tau than this, which sums in another order explain, is measured as
#: everywhere else.
NEAR = 1e-4
#: Squared distances are measured anew where those that are kept up to date may be off by so many
#: times what rounding does to them.
MOST_DRIFT = 1000
#: What rounding explains in a distance, as a part of it.
TINY = 1e-11


class Places(NamedTuple):
    """How points become coordinates: see `robx.problem.embedding`.

    Parameters
    ----------
    kind, first : (d,) int64
        What a column is, and its first coordinate.
    scale, middle : (d,) float64
    has_mark : (d,) bool
        Columns that have one more coordinate, which says that the value is missing.
    level_start, level : (d + 1,) int64, float64
        Levels of columns of categories.
    largest : float
        The largest coordinate of a fitted row.
    """

    kind: AnyInts
    first: AnyInts
    scale: AnyFloats
    middle: AnyFloats
    has_mark: Bools
    level_start: AnyInts
    level: AnyFloats
    largest: float


class Asked(NamedTuple):
    """What is asked of points.

    Parameters
    ----------
    threshold, tau, min_mean, max_outlier_score : float
        `min_mean` is what the mean score of the retrained models must reach; `max_outlier_score` is
        inf where the outlier score does not count.
    most_rejecting : int
        How many of the retrained models may reject.
    n_must : int
        How many of the ensembles must accept: the model and its challengers.
    forests : Forests
        These, and then the retrained models.
    spread : (u,) float64
        Noise of the walk's columns.
    walk, tables, n_draws
        See `robx.kernels.neighbourhood`.
    root_class : (R,) int64
        The class of each tree of the walk.
    bits : (u,) uint64
        A bit for each of the walk's columns, as in `robx.kernels.forests`.
    n_runs : int
    fitted : robx.kernels.lof.Rows
    places : Places
    """

    threshold: float
    tau: float
    min_mean: float
    max_outlier_score: float
    most_rejecting: int
    n_must: int
    forests: Forests
    spread: AnyFloats
    walk: Walk
    tables: Tables
    n_draws: int
    root_class: AnyInts
    bits: Words
    n_runs: int
    fitted: lof.Rows
    places: Places


class Trial(NamedTuple):
    """What is known of points before, and what is found out about the one under test.

    Each of three parts, scores (S), distances (D) and noise (N), is about the last point that was
    asked about it and passed.

    Parameters
    ----------
    numbers : (d,) float64
        The point as the model reads it.
    ranked, ranks : (u,) float64, (u + 1 + B,) uint64
        The values that were last ranked, and their ranks: see `robx.kernels.forests`.
    score_numbers, noise_numbers : (d,) float64
        The points that S and N are about.
    leaf, kept_leaf, way, kept_way, changed, at, turn, lookups
        S: see `robx.kernels.forests`.
    scores : (E,) float64
    place, kept_place : (c,) float64
        D: coordinates.
    away, kept_away : (n,) float64
        D: squared distances to the fitted rows.
    near, squared, kept_last : (k,) int64, (k,) float64, (1,) float64
        D: the nearest of them, and the squared distance of the point before to its last one.
    drift : (2,) float64
        D: how far the squared distances may be off, of this point and of the one before.
    parts : (2, R, draws) float32
        N: what each tree says of each noisy copy, of this point and of the one before.
    slot : (R,) int64
        N: which of the two is the point before.
    touched : (2, R) uint64
        N: bits of the columns that noisy copies were asked about in each tree.
    redone : (R + 1,) int64
        N: trees that this point was put through.
    total : (C, draws) float32
    columns, sets, items, visits
        N: for `robx.kernels.neighbourhood.walk_trees`.
    counts : (8,) int64
        See the names of its places.
    """

    numbers: AnyFloats
    ranked: AnyFloats
    ranks: Words
    score_numbers: AnyFloats
    noise_numbers: AnyFloats
    leaf: AnyFloats
    kept_leaf: AnyFloats
    way: Words
    kept_way: Words
    changed: AnyInts
    at: Words
    turn: AnyInts
    lookups: Lookups
    scores: AnyFloats
    place: AnyFloats
    kept_place: AnyFloats
    away: AnyFloats
    kept_away: AnyFloats
    near: AnyInts
    squared: AnyFloats
    kept_last: AnyFloats
    drift: AnyFloats
    parts: AnyFloats
    slot: AnyInts
    touched: Words
    redone: AnyInts
    total: AnyFloats
    columns: AnyFloats
    sets: Words
    items: Words
    visits: Words
    counts: AnyInts


#: Places in `Trial.counts`: trees in `changed` and in `redone`; whether scores, distances and noise
#: of the point under test are known; whether distances of a point before are; whether tests leave
#: out noise, for now; how many tests were made.
CHANGED, REDONE, HAS_SCORES, HAS_PLACE, HAS_NOISE, KNOWN_PLACE, IS_QUIET, TESTS, N_COUNTS = range(9)


@njit(nogil=True, cache=True)
def new_trial(asked: Asked, d: int) -> Trial:
    """Make room for the tests of one thread."""
    n_trees = asked.forests.root.shape[0]
    n_coordinates, n_rows = asked.fitted.columns.shape
    n_roots, n_words = asked.walk.roots.shape[0], len(asked.tables.width)
    n_copies = 64 * n_words * asked.tables.prefix.shape[0]
    nodes = asked.walk.group_nodes
    everything = ~np.uint64(0)
    # A point that is known for no column differs from all others, as NaN does from infinity.
    return Trial(
        np.empty(d),
        np.full(asked.forests.column.shape[0], np.inf),
        np.full(asked.forests.bit.shape[0], np.uint64(BEYOND)),
        np.full(d, np.inf),
        np.full(d, np.inf),
        np.empty(n_trees),
        np.empty(n_trees),
        np.empty(n_trees, np.uint64),
        np.full(n_trees, everything),
        np.empty(n_trees + 1, np.int64),
        np.empty(2 * TREES_AT_ONCE, np.uint64),
        np.arange(asked.forests.base.shape[0]),
        new_lookups(asked.forests.masks, asked.forests.base.shape[1]),
        np.empty(asked.forests.base.shape[0]),
        np.empty(n_coordinates),
        np.zeros(n_coordinates),
        np.empty(n_rows),
        np.empty(n_rows),
        np.empty(max(asked.fitted.k, 1), np.int64),
        np.zeros(max(asked.fitted.k, 1)),
        np.full(1, np.inf),
        np.zeros(2),
        np.empty((2, n_roots, n_copies), np.float32),
        np.zeros(n_roots, np.int64),
        np.full((2, n_roots), everything),
        np.empty(n_roots + 1, np.int64),
        np.empty((asked.walk.base.shape[0], n_copies), np.float32),
        np.empty(4 * asked.walk.columns.shape[0]),
        aligned((2 * nodes + 1) * n_words),
        np.empty(3 * nodes + 2, np.uint64),
        np.empty(2 * AT_ONCE, np.uint64),
        np.zeros(N_COUNTS, np.int64),
    )


@njit(nogil=True, cache=True)
def passes(
    z: AnyFloats,
    i: int,
    people: People,
    conditions: Conditions,
    asked: Asked,
    trial: Trial,
) -> bool:
    """Whether a point of applicant i passes; what was found out is then kept for the next."""
    trial.counts[TESTS] += 1
    _read(z, i, people, conditions, asked, trial)
    good = (
        _is_robust(asked, trial)
        and _outlier_score(z, i, people, asked, trial) <= asked.max_outlier_score
        and (trial.counts[IS_QUIET] or _is_stable(asked, trial))
    )
    if good:
        _keep(trial)
    _forget(trial)
    return good


@njit(nogil=True, cache=True)
def use_ranks(
    z: AnyFloats, row: AnyFloats, ranks: AnyInts, conditions: Conditions, asked: Asked, trial: Trial
) -> None:
    """Take the ranks of a row for those of a point, where it has the row's values."""
    column, is_category = asked.forests.column, asked.forests.is_category
    is_read, ranked, known = conditions.is_read, trial.ranked, trial.ranks
    for u in range(is_category.shape[0]):
        j = column[u]
        if not is_category[u] and not is_read[j] and z[j] == row[j]:
            ranked[u], known[u] = z[j], np.uint64(ranks[u])


@njit(nogil=True, cache=True)
def is_stable(
    z: AnyFloats, i: int, people: People, conditions: Conditions, asked: Asked, trial: Trial
) -> bool:
    """Whether a point passes that part of the test which is about noise."""
    _read(z, i, people, conditions, asked, trial)
    good = _is_stable(asked, trial)
    if good:
        _keep(trial)
    return good


@njit(nogil=True, cache=True)
def begin_at(
    z: AnyFloats, i: int, people: People, conditions: Conditions, asked: Asked, trial: Trial
) -> None:
    """Take a point that passes for the point before: the next are near it."""
    _read(z, i, people, conditions, asked, trial)
    if asked.forests.masks.part_start.shape[0] <= 1:  # masks do not look at the point before
        _is_robust(asked, trial)
    _outlier_score(z, i, people, asked, trial)
    _keep(trial)
    _forget(trial)


@njit(nogil=True, cache=True, inline="always")
def _read(
    z: AnyFloats, i: int, people: People, conditions: Conditions, asked: Asked, trial: Trial
) -> None:
    """Write the point as the model reads it; nothing is known of it yet."""
    read(z, i, people, conditions, trial.numbers)
    rank(trial.numbers, trial.ranked, asked.forests, trial.ranks)
    for part in range(KNOWN_PLACE):
        trial.counts[part] = 0


@njit(nogil=True, cache=True)
def _moved(numbers: AnyFloats, before: AnyFloats) -> np.uint64:
    """Bits of the columns in which two points differ."""
    moved = np.uint64(0)
    for j in range(before.shape[0]):
        differ = numbers[j] != before[j] and (numbers[j] == numbers[j] or before[j] == before[j])
        moved |= np.uint64(differ) << np.uint64(j & 63)
    return moved


@njit(nogil=True, cache=True, inline="always")
def _keep(trial: Trial) -> None:
    """Keep what was found out about the point."""
    counts = trial.counts
    if counts[HAS_SCORES]:
        changed, leaf, way = trial.changed, trial.leaf, trial.way
        kept_leaf, kept_way = trial.kept_leaf, trial.kept_way
        for k in range(counts[CHANGED]):
            tree = changed[k]
            kept_leaf[tree], kept_way[tree] = leaf[tree], way[tree]
        trial.score_numbers[:] = trial.numbers
        counts[CHANGED] = 0
    if counts[HAS_NOISE]:
        for k in range(counts[REDONE]):
            trial.slot[trial.redone[k]] ^= 1
        trial.noise_numbers[:] = trial.numbers
    if counts[HAS_PLACE]:
        trial.kept_place[:] = trial.place
        trial.kept_away[:] = trial.away
        trial.kept_last[0] = trial.squared[-1]
        trial.drift[1] = trial.drift[0]
        counts[KNOWN_PLACE] = 1


@njit(nogil=True, cache=True)
def _forget(trial: Trial) -> None:
    """Go back to the scores of the point before."""
    changed, leaf, way = trial.changed, trial.leaf, trial.way
    kept_leaf, kept_way = trial.kept_leaf, trial.kept_way
    for k in range(trial.counts[CHANGED]):
        tree = changed[k]
        leaf[tree], way[tree] = kept_leaf[tree], kept_way[tree]


# --- scores --------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _scores(n: int, asked: Asked, trial: Trial) -> bool:
    """Score the point by the first n ensembles, as long as it can still be robust."""
    moved = _moved(trial.numbers, trial.score_numbers)
    trial.counts[CHANGED], is_robust = scores_again(
        trial.ranks, moved, n, asked.forests, trial.leaf, trial.way, trial.kept_way,
        trial.changed, trial.counts[CHANGED], trial.at, asked.n_must, asked.threshold,
        asked.min_mean, asked.most_rejecting, trial.turn, trial.lookups, trial.scores,
    )  # fmt: skip
    return is_robust


@njit(nogil=True, cache=True, inline="always")
def _is_robust(asked: Asked, trial: Trial) -> bool:
    """Whether all accept the point who must, and retrained models give it the mean score."""
    is_robust = _scores(asked.forests.link.shape[0], asked, trial)
    trial.counts[HAS_SCORES] = is_robust
    return is_robust


# --- outlier score -------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def write_place(
    z: AnyFloats, x: AnyFloats, has_no_place: Bools, places: Places, out: AnyFloats
) -> None:
    """Write the coordinates of a point, for an applicant with these values."""
    for j in range(z.shape[0]):
        value, at = z[j], places.first[j]
        is_missing = value != value or (value == x[j] and has_no_place[j])
        if places.kind[j] == LABEL:
            for level in places.level[places.level_start[j] : places.level_start[j + 1]]:
                out[at] = math.sqrt(0.5) if value == level else 0.0
                at += 1
        elif places.kind[j] == MEMBER:
            out[at] = 0.0 if is_missing else math.sqrt(0.5) * value
            at += 1
        else:
            out[at] = (places.middle[j] if is_missing else value) / places.scale[j]
            at += 1
        if places.has_mark[j]:
            out[at] = 1.0 if is_missing else 0.0


@njit(nogil=True, cache=True, inline="always")
def _outlier_score(z: AnyFloats, i: int, people: People, asked: Asked, trial: Trial) -> float:
    """Local outlier factor of the point; -inf where it does not count."""
    if asked.max_outlier_score == math.inf or asked.fitted.k == 0:
        return -math.inf
    trial.counts[HAS_PLACE] = 1
    place, kept = trial.place, trial.kept_place
    write_place(z, people.rows[i], people.has_no_place[i], asked.places, place)
    n_moved, largest, of_both = 0, asked.places.largest, asked.places.largest
    for j in range(place.shape[0]):
        n_moved += place[j] != kept[j]
        largest = max(largest, abs(place[j]))
        of_both = max(of_both, abs(place[j]), abs(kept[j]))
    k, columns = asked.fitted.k, asked.fitted.columns
    rounding = lof.rounding(columns.shape[0], largest)
    drift = trial.drift[1] + lof.rounding(columns.shape[0], of_both)
    is_known = trial.counts[KNOWN_PLACE] != 0 and 3 * n_moved <= place.shape[0]
    if is_known and drift <= MOST_DRIFT * rounding:
        apart = lof.measure_again(kept, place, columns, trial.kept_away, trial.away)
        limit = (math.sqrt(trial.kept_last[0]) + apart) ** 2 * (1 + TINY) + 2 * drift
        trial.drift[0] = drift
    else:
        lof.measure(place, columns, trial.away)
        limit, drift, trial.drift[0] = math.inf, -1.0, rounding
    lof.nearest(place, asked.fitted.rows, trial.away, limit, drift, k, trial.near, trial.squared)
    return lof.factor(asked.fitted, trial.near, trial.squared)


# --- stability -----------------------------------------------------------------------------------


@njit(nogil=True, cache=True, inline="always")
def _is_stable(asked: Asked, trial: Trial) -> bool:
    """Whether the stability of the point is at least tau."""
    if asked.tau == -math.inf:
        return True
    value = _stability(asked, trial)
    trial.counts[HAS_NOISE] = 1
    if abs(value - asked.tau) > NEAR:
        return value >= asked.tau
    return _exact_stability(asked, trial) >= asked.tau


@njit(nogil=True, cache=True, inline="always")
def _exact_stability(asked: Asked, trial: Trial) -> float:
    """Stability as `robx.stability` measures it."""
    row = np.empty((1, asked.walk.columns.shape[0]))
    for u in range(row.shape[1]):
        row[0, u] = trial.numbers[asked.walk.columns[u]]
    centre, sums = np.empty((1, 1)), np.zeros((1, asked.n_runs, 2))
    moments(row, asked.spread, asked.walk, asked.tables, asked.n_draws, centre, sums)
    one, two = 0.0, 0.0
    for run in range(asked.n_runs):
        one += sums[0, run, 0]
        two += sums[0, run, 1]
    shift, square = one / asked.n_draws, two / asked.n_draws
    return float(centre[0, 0] + shift - math.sqrt(max(square - shift * shift, 0.0)))


@njit(nogil=True, cache=True)
def _stability(asked: Asked, trial: Trial) -> float:
    """Stability from what each tree says of each noisy copy, which is kept where nothing moved."""
    width, prefix, ranked = asked.tables.width, asked.tables.prefix, asked.tables.ranked
    start, steps = asked.tables.start, asked.tables.steps
    walked, nodes, thresholds = asked.walk.columns, asked.walk.nodes, asked.walk.thresholds
    roots, by_category = asked.walk.roots, asked.walk.by_category
    category_bits, root_class = asked.walk.category_bits, asked.root_class
    slot, touched, redone, bits = trial.slot, trial.touched, trial.redone, asked.bits
    sets, items, visits, columns = trial.sets, trial.items, trial.visits, trial.columns
    n_words, cells, n_roots = len(width), start.shape[2], roots.shape[0]
    block = 64 * n_words
    moved = _moved(trial.numbers, trial.noise_numbers)
    count = 0
    for root in range(n_roots):
        redone[count] = root  # overwritten by the next if it is not wanted
        touched[1 - slot[root], root] = 0
        count += touched[slot[root], root] & moved != 0
    trial.counts[REDONE] = count
    x = np.empty(walked.shape[0])
    for u in range(x.shape[0]):
        x[u] = trial.numbers[walked[u]]
    half, three, two = np.uint64(HALF), np.uint64(3), np.uint64(2)
    for b in range(prefix.shape[0]):
        n_here = min(block, asked.n_draws - b * block)
        for w in range(n_words):
            filled = min(max(n_here - 64 * w, 0), 64)
            full = ~np.uint64(0)
            sets[w] = full if filled == 64 else ~(full << np.uint64(filled))
        flat_ranked, flat_start = ranked[b].reshape(-1), start[b].reshape(-1)
        open_columns(x, asked.spread, by_category, ranked[b], n_here, cells, columns)
        for k in range(count):
            root = redone[k]
            leaves = walk_trees(
                width, roots[root : root + 1], nodes, thresholds, by_category, category_bits,
                columns, flat_ranked, flat_start, cells, steps, n_here, prefix[b], sets, items,
                visits,
            )  # fmt: skip
            other = 1 - slot[root]
            part = trial.parts[other, root, b * block : (b + 1) * block]
            part[:] = 0
            add_sets(width, sets, items[leaves:], part)
            for visit in range(visits[0]):
                touched[other, root] |= bits[nodes[three * (items[visit] & half) + two] & half]
    total = trial.total
    for c in range(total.shape[0]):
        total[c] = asked.walk.base[c]
    k = 0
    for root in range(n_roots):
        which = slot[root]
        if k < count and redone[k] == root:
            which = 1 - which
            k += 1
        _add(trial.parts[which, root], total[root_class[root]])
    return _mean_less_deviation(total, asked)


@njit(nogil=True, cache=True)
def _add(part: AnyFloats, total: AnyFloats) -> None:
    for k in range(total.shape[0]):
        total[k] += part[k]


@njit(nogil=True, cache=True, inline="always")
def _mean_less_deviation(total: AnyFloats, asked: Asked) -> float:
    """Apply the link to the margins of all copies; the mean of the scores less their deviation."""
    link, target, factor = asked.walk.link, asked.walk.target, asked.walk.slope / asked.walk.divisor
    sign = -factor if link == SIGMOID else factor
    centre, one, two = 0.0, 0.0, 0.0
    for k in range(asked.n_draws):
        if link == IDENTITY:
            score = total[0, k] * factor
        elif link == SOFTMAX:
            below = 0.0
            for c in range(total.shape[0]):
                below += math.exp((total[c, k] - total[target, k]) * factor)
            score = 1 / below
        else:
            score = 1 / (1 + math.exp(total[0, k] * sign))
        if k == 0:
            centre = score
        one += score - centre
        two += (score - centre) * (score - centre)
    one, two = one / asked.n_draws, two / asked.n_draws
    return float(centre + one - math.sqrt(max(two - one * one, 0.0)))

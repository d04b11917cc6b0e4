"""Starts that change few features, for searches that pull starts back.

Pulled-back rows of the support win where rows are few and models unsure; where models are sure, a
move of one or two features is often enough and much cheaper. `robx.kernels.sparse_moves` looks for
such moves by the averaged model: the model and its retrained ones as one sum of trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Floats, Ints
from robx.kernels.conditions import Conditions
from robx.kernels.profiles import MOST_CODES, Sum, cell_of, logit
from robx.kernels.sparse_moves import Options, sparse_ways
from robx.kernels.trees import depths
from robx.methods.few_changes import values_of_features
from robx.methods.point_tests import PointTest, RobustnessTest
from robx.parallel import available_threads, in_threads
from robx.problem import Applicants, Problem, conditions_of, people_of
from robx.schema import Norm
from robx.trees import TreeEnsemble
from robx.trees.combined import joined

#: Values of one feature to try: these quantiles of the accepted rows.
QUANTILES = np.linspace(0, 1, 24)
#: Retrained models beside the model, and nodes in all, that are averaged at most.
MOST_MODELS, MOST_NODES = 3, 300_000
#: Steps of a way, and the places on it that are offered.
N_STEPS, N_PLACES = 6, 3
#: Applicants that a thread takes at a time at most.
AT_ONCE = 64


class Offered(NamedTuple):
    """Places on the ways of m applicants.

    Parameters
    ----------
    points : (m, w, k, d) float64
    number : (m, w) int64
        How many there are on each way, the cheapest first.
    """

    points: Floats
    number: Ints

    @classmethod
    def none(cls, m: int, d: int) -> Offered:
        """Offer nothing."""
        return cls(np.zeros((m, 0, 1, d)), np.zeros((m, 0), dtype=np.int64))

    def passing(self, test: PointTest) -> Iterator[tuple[int, Floats]]:
        """Give of each way the first place that passes, and its applicant."""
        m, n_ways = self.number.shape
        first = np.full((m, n_ways), -1)
        for k in range(self.points.shape[2]):
            who, way = np.nonzero((first < 0) & (k < self.number))
            passed = test(self.points[who, way, k])
            first[who[passed], way[passed]] = k
        for i, w in zip(*np.nonzero(first >= 0), strict=True):
            yield int(i), self.points[i, w, first[i, w]]


@dataclass(frozen=True, eq=False)
class SparseStarts:
    """The averaged model and the options of a problem, as the kernel takes them."""

    problem: Problem
    conditions: Conditions
    trees: Sum
    options: Options

    @classmethod
    def of(cls, test: RobustnessTest, norm: Norm) -> SparseStarts | None:
        """Return the problem's, made on first use; None where there are none."""
        key = ("sparse starts", test.panel, norm)
        made: SparseStarts | None = test.problem.memo.get(key, lambda: cls._of(test, norm))
        return made

    @classmethod
    def _of(cls, test: RobustnessTest, norm: Norm) -> SparseStarts | None:
        problem = test.problem
        conditions, trees = conditions_of(problem.gate, norm), problem.view.trees
        if conditions is None or trees is None or len(problem.support) == 0:
            return None
        models = [trees]
        if test.panel is not None:
            models += [test.panel.alike[k] for k in sorted(test.panel.alike)][:MOST_MODELS]
        averaged = averaged_sum(models)
        return cls(problem, conditions, averaged, options_of(problem, averaged))

    def offer(
        self, applicants: Applicants, test: RobustnessTest, n_ways: int, price: float
    ) -> Offered:
        """Look for moves of few features that the averaged model scores as the test asks."""
        problem, n = self.problem, len(applicants)
        people = people_of(problem.gate, applicants)
        points = np.empty((n, n_ways, N_PLACES, applicants.matrix.shape[1]))
        count = np.zeros((n, n_ways), dtype=np.int64)
        asked = max(test.stable.tau, problem.threshold)
        if test.panel is not None:
            asked = max(test.min_retrained_score, problem.threshold)
        least, needed = (self._margin(score) for score in (problem.threshold, asked))

        def run(part: slice) -> None:
            sparse_ways(
                people.part(part),
                self.conditions,
                self.trees,
                self.options,
                least,
                needed,
                price,
                N_STEPS,
                points[part],
                count[part],
            )

        in_threads(run, n, min(max(n // (4 * available_threads()), 1), AT_ONCE))
        return Offered(points, count)

    def _margin(self, score: float) -> float:
        """Give the margin of a score; of several classes, if all others are alike."""
        trees = self.problem.view.trees
        if trees is None or trees.link == "identity":
            return score
        return float(logit(score) + np.log(max(len(trees.base) - 1, 1)))


def averaged_sum(models: Sequence[TreeEnsemble]) -> Sum:
    """Add up the trees of models, as many as there is room for, so that margins are averaged."""
    sizes = np.cumsum([len(e.node_split) for e in models])
    models = models[: max(int((sizes <= MOST_NODES).sum()), 1)]
    trees, d, n = joined(models), len(models[0].columns), len(models)
    by_code = trees.category_row >= 0
    n_codes = np.array([column.n_codes for column in models[0].columns], dtype=np.int64)
    thresholds = [np.unique(trees.threshold[(trees.feature == j) & ~by_code]) for j in range(d)]
    threshold_start = np.cumsum([0, *map(len, thresholds)]).astype(np.int64)
    cell = np.full(len(trees.feature), -1, dtype=np.int64)
    for j, known in enumerate(thresholds):
        of_column = (trees.feature == j) & ~by_code
        cell[of_column] = np.searchsorted(known, trees.threshold[of_column])
    n_cells = [
        len(known) + 1 if len(known) else (codes + 1 if 0 < codes < MOST_CODES else 0)
        for known, codes in zip(thresholds, n_codes, strict=True)
    ]
    factor = [np.repeat(_weights(e)[e.tree_class] / n, _n_leaves(e)) for e in models]
    base = sum(float(_weights(e) @ e.base) for e in models) / n
    return Sum(
        trees.feature.astype(np.int64),
        np.ascontiguousarray(trees.missing_left),
        cell,
        trees.category_row.astype(np.int64),
        trees.category_bits,
        trees.tree_start,
        trees.node_split,
        trees.node_right,
        trees.leaf_value.astype(np.float64) * np.concatenate(factor),
        float(base),
        np.cumsum([0, *n_cells]).astype(np.int64),
        threshold_start,
        np.concatenate([np.zeros(0), *thresholds]),
        int(depths(trees.node_split >= 0).max(initial=0)),
    )


def _n_leaves(e: TreeEnsemble) -> NDArray[np.int64]:
    """Number of leaves of each tree, which are numbered tree by tree."""
    return np.add.reduceat((e.node_split < 0).astype(np.int64), e.tree_start[:-1])


def _weights(e: TreeEnsemble) -> Floats:
    """What each margin counts for: the target leads by its own less the mean of the others."""
    way = -1.0 if e.link == "one_minus_sigmoid" else 1.0
    out = np.full(len(e.base), -1.0 / max(len(e.base) - 1, 1))
    out[e.target_index] = way
    return out * e.slope / e.divisor


def options_of(problem: Problem, trees: Sum) -> Options:
    """List values that accepted rows have, feature by feature, and the cells that they are in."""
    columns_of = problem.rules.features_of_columns
    values, feature = values_of_features(problem, QUANTILES)
    cells, start = [], [0]
    for row, k in zip(problem.view.numbers(values), feature.tolist(), strict=True):
        for j in np.flatnonzero(columns_of[k]).tolist():
            cell, n_cells = cell_of(j, row[j], trees), int(np.diff(trees.cell_start)[j])
            if 0 <= cell < n_cells:
                cells.append(int(trees.cell_start[j]) + cell)
        start.append(len(cells))
    return Options(values, feature, np.array(start), np.array(cells, dtype=np.int64))

"""The neighbourhood graph of the support, on which FACE looks for paths.

Its nodes are the training rows, accepted or not; equal rows are one node, since many of them would
have only each other for neighbours. Edges join near rows, and are the longer the sparser the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from robx.arrays import Bools, Floats, Ints
from robx.problem import Applicants, Problem, Support
from robx.schema import Norm

#: Edges are not shortened further where the data are denser than this share of the median r_k.
LEAST_RHO = 0.1
#: Quantile of the distances to the k-th neighbour that is the radius unless one is given.
RADIUS_QUANTILE = 0.9
#: Edges that are measured at once where values are missing.
BLOCK = 100_000


@dataclass(frozen=True)
class Neighbourhood:
    """Which rows are near each other; see `Face` for the parameters."""

    kind: Literal["knn", "radius"]
    n_neighbours: int
    radius: float | None
    max_neighbours: int

    @property
    def most(self) -> int:
        """Number of neighbours that a node chooses at most."""
        return self.n_neighbours if self.kind == "knn" else self.max_neighbours

    @property
    def width(self) -> int:
        """Number of neighbours to ask for: those chosen, and enough to tell the density."""
        return max(self.n_neighbours, self.most)


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph on n distinct rows of the training table.

    Parameters
    ----------
    rows : Support
        The n nodes and their scores.
    count : (n,) int64
        How often each stands in the table.
    norm : {1, 2}
    shape : Neighbourhood
    radius : float
        Neighbours are at most this far; infinite for a graph of nearest neighbours.
    r : (n,) float64
        Distance to the k-th other row of the table, 0 for a row that stands there more than k
        times. The density at a row falls as this grows.
    unit : float
        The median of `r` over the table: ``rho = r / unit``.
    first, near, weight
        The edges, as the kernel `paths` takes them; each stands there in both directions.
    """

    rows: Support
    count: Ints
    norm: Norm
    shape: Neighbourhood
    radius: float
    r: Floats
    unit: float
    first: Ints
    near: Ints
    weight: Floats

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of(cls, problem: Problem, norm: Norm, shape: Neighbourhood) -> Graph:
        """Build the graph of a problem, or take the one that was built before."""
        made: Graph = problem.memo.get(
            ("graph", norm, shape), lambda: cls._build(problem, norm, shape)
        )
        return made

    @classmethod
    def _build(cls, problem: Problem, norm: Norm, shape: Neighbourhood) -> Graph:
        rows, count = problem.memo.get(("distinct rows",), lambda: _distinct_rows(problem))
        n = len(rows)
        if n == 0:
            near, none = np.zeros(0, dtype=np.int64), np.zeros(0)
            first = np.zeros(1, dtype=np.int64)
            return cls(rows, count, norm, shape, np.inf, none, 1.0, first, near, none)
        near, distance = _without_self(*_neighbours(rows, rows.rows, norm, shape.width + 1))
        r = _kth_distance(near, distance, count, count - 1, shape.n_neighbours)
        radius = np.inf
        if shape.kind == "radius":
            radius = _radius(near, distance, shape) if shape.radius is None else shape.radius
        unit = _unit(np.repeat(r, count))
        i, place = np.nonzero((near[:, : shape.most] >= 0) & (distance[:, : shape.most] <= radius))
        i, j, length = _both_ways(i, near[i, place], distance[i, place], n)
        _measure_missing(rows, norm, i, j, length)
        rho = np.maximum(r / unit, LEAST_RHO)
        weight = length * (rho[i] + rho[j]) / 2
        first = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=n))]).astype(np.int64)
        return cls(rows, count, norm, shape, float(radius), r, unit, first, j, weight)

    def join(self, applicants: Applicants) -> tuple[Ints, Floats]:
        """Find the edges by which applicants join the graph.

        They lead to the nearest rows *as these would look for the applicant*, so to what is near in
        what they can change; the density where they stand is that of the table as it is.

        Returns
        -------
        near : (m, k) int64
            The nodes; -1 where there are no more.
        weight : (m, k) float64
            Lengths of the edges; infinite where there are no more.
        """
        wide = self.shape.width
        around, distance = _neighbours(self.rows, applicants.matrix, self.norm, wide)
        none_yet = np.zeros(len(applicants), dtype=np.int64)
        r = _kth_distance(around, distance, self.count, none_yet, self.shape.n_neighbours)
        rho, rho_there = (np.maximum(v / self.unit, LEAST_RHO) for v in (r, self.r))
        fitted = ~self.is_plain_for(applicants)
        if fitted.any():
            some = applicants.take(np.flatnonzero(fitted))
            around[fitted], raw = self.rows.near(some.matrix, some, self.norm, wide)
            distance[fitted] = _rooted(raw, self.norm)
        near, distance = around[:, : self.shape.most], distance[:, : self.shape.most]
        there = (near >= 0) & (distance <= self.radius)
        length = np.where(there, distance, 0.0) * (rho[:, None] + rho_there[near]) / 2
        return np.where(there, near, -1), np.where(there, length, np.inf)

    def is_plain_for(self, applicants: Applicants) -> Bools:
        """For whom every row is an allowed answer as it is: (m,) bool."""
        return np.asarray(self.rows.is_plain & ~np.isnan(applicants.matrix).any(axis=1))

    def is_dense(self, share: float) -> Bools:
        """Which nodes are not among the given share of rows where the data are sparsest: (n,)."""
        if len(self) == 0:
            return np.zeros(0, dtype=bool)
        return np.asarray(self.r <= np.quantile(np.repeat(self.r, self.count), 1 - share))

    @cached_property
    def n_parts(self) -> int:
        """Number of parts between which there is no edge."""
        from scipy.sparse import csr_array  # noqa: PLC0415 - only for a refusal
        from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

        n = len(self)
        edges: Any = csr_array((np.ones(len(self.near)), self.near, self.first), shape=(n, n))
        return int(connected_components(edges, directed=False)[0])


def _distinct_rows(problem: Problem) -> tuple[Support, Ints]:
    """Rows that are finite and keep the relations, each once, and how often each is there."""
    table = np.ascontiguousarray(problem.training[problem.gate.keeps(problem.training)])
    if len(table) == 0:
        return Support(table, np.zeros(0), problem.gate), np.zeros(0, dtype=np.int64)
    # Compared byte by byte: one zero, and one sign for what is missing.
    same = np.where(np.isnan(table), np.inf, table + 0.0)
    keys = np.ascontiguousarray(same).view(np.dtype((np.void, same.itemsize * same.shape[1])))
    _, place, count = np.unique(keys.ravel(), return_index=True, return_counts=True)
    order = np.argsort(place)
    rows = np.ascontiguousarray(table[place[order]])
    return Support(rows, problem.gate.score(rows), problem.gate), count[order].astype(np.int64)


def _rooted(raw: Floats, norm: Norm) -> Floats:
    return raw if norm == 1 else np.sqrt(raw)


def _neighbours(rows: Support, points: Floats, norm: Norm, k: int) -> tuple[Ints, Floats]:
    """Find the k nearest nodes, as they are: (m, k) each; -1 and inf where there are no more."""
    near, raw = rows.near(points, Applicants.anywhere(points), norm, k)
    return near, _rooted(raw, norm)


def _without_self(near: Ints, distance: Floats) -> tuple[Ints, Floats]:
    """Take each node out of its own neighbours, or else the last of them."""
    n, k = near.shape
    is_self = near == np.arange(n)[:, None]
    # A node is not its own first neighbour where others lack what makes them differ.
    is_self[~is_self.any(axis=1), -1] = True
    return near[~is_self].reshape(n, k - 1), distance[~is_self].reshape(n, k - 1)


def _kth_distance(near: Ints, distance: Floats, count: Ints, already: Ints, k: int) -> Floats:
    """Distance to the k-th row of the table; rows count as often as they are there.

    Parameters
    ----------
    near, distance : (m, at least k)
        Distinct rows, nearest first.
    count : (n,) int64
    already : (m,) int64
        Rows that are counted at distance 0.
    k : int
        Where there are fewer rows, the last one counts.
    """
    there = near >= 0
    so_far = already[:, None] + np.cumsum(np.where(there, count[near], 0), axis=1)
    enough = so_far >= k
    last = np.maximum(there.sum(axis=1) - 1, 0)
    at = np.where(enough.any(axis=1), enough.argmax(axis=1), last)
    r = distance[np.arange(len(near)), at]
    return np.where((already >= k) | ~there.any(axis=1), 0.0, r)


def _unit(r: Floats) -> float:
    """The median, or the mean where most rows stand in the table many times; never 0."""
    for middle in (float(np.median(r)), float(r.mean())):
        if middle > 0:
            return middle
    return 1.0


def _radius(near: Ints, distance: Floats, shape: Neighbourhood) -> float:
    """Derive the radius: most nodes have `n_neighbours` within it."""
    last = np.minimum((near >= 0).sum(axis=1), shape.n_neighbours) - 1
    if (last < 0).any():  # there is one node only
        return 0.0
    return float(np.quantile(distance[np.arange(len(near)), last], RADIUS_QUANTILE))


def _both_ways(i: Ints, j: Ints, length: Floats, n: int) -> tuple[Ints, Ints, Floats]:
    """Add the way back to each edge, each only once, in the order of i and j."""
    key = np.concatenate([i * n + j, j * n + i])
    key, place = np.unique(key, return_index=True)
    return key // n, key % n, np.concatenate([length, length])[place]


def _measure_missing(rows: Support, norm: Norm, i: Ints, j: Ints, length: Floats) -> None:
    """Measure edges again where one end lacks a value: having it or not is a difference.

    Neighbours are those that are near in what both have. Were the edges free in the rest, a row
    that lacks a value would be a way from any value to any other at no cost.
    """
    lacks = np.asarray(np.isnan(rows.rows).any(axis=1))
    edges = np.flatnonzero(lacks[i] | lacks[j])
    for at in range(0, len(edges), BLOCK):
        some = edges[at : at + BLOCK]
        length[some] = rows.rules.cost(rows.rows[i[some]], rows.rows[j[some]], norm)

"""Slow, obvious twin of FACE: every distance measured, Dijkstra's algorithm as in a textbook."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from naive_nearest import Costs, Floats, by_distance

Edges = dict[int, dict[int, float]]
LEAST_RHO, RADIUS_QUANTILE = 0.1, 0.9


@dataclass
class SlowGraph:
    """The graph on the distinct rows of a table."""

    rows: Floats
    count: list[int]
    costs: Costs
    norm: int
    k: int
    most: int
    radius: float
    r: list[float]
    unit: float
    edges: Edges

    def rho(self, r: float) -> float:
        return max(r / self.unit, LEAST_RHO)

    def start(self, x: Floats, low: Floats, high: Floats) -> dict[int, float]:
        """Edges by which an applicant joins."""
        r = kth(neighbours(self.rows, x, self.costs, self.norm), self.count, 0, self.k)
        near = neighbours(self.rows, x, self.costs, self.norm, low, high)[: self.most]
        rho = self.rho(r)
        return {
            j: length * (rho + self.rho(self.r[j])) / 2
            for length, j in near
            if length <= self.radius
        }

    def dense(self, share: float) -> list[bool]:
        """Which rows are not among the sparsest."""
        limit = np.quantile(np.repeat(self.r, self.count), 1 - share)
        return [r <= limit for r in self.r]

    def lengths(self, start: dict[int, float]) -> dict[int, float]:
        """Length of the shortest path to every node that can be reached."""
        return dijkstra(self.edges, start)


def neighbours(
    rows: Floats,
    x: Floats,
    costs: Costs,
    norm: int,
    low: Floats | None = None,
    high: Floats | None = None,
) -> list[tuple[float, int]]:
    """All rows by distance, each as it would look for x."""
    low = np.full_like(x, -np.inf) if low is None else low
    high = np.full_like(x, np.inf) if high is None else high
    places = by_distance(rows, x, low, high, costs, norm, np.zeros(len(rows), dtype=bool))
    return [(math.sqrt(raw) if norm == 2 else raw, j) for raw, j in places]


def kth(near: list[tuple[float, int]], count: list[int], already: int, k: int) -> float:
    """Distance to the k-th row of the table, or to the last there is."""
    each = [0.0] * already + [length for length, j in near for _ in range(count[j])]
    return each[min(k, len(each)) - 1] if each else 0.0


def apart(a: Floats, b: Floats, costs: Costs, norm: int) -> float:
    """Distance between two rows; what only one has costs as much as filling it in."""
    total = 0.0
    for j in range(len(a)):
        if math.isnan(a[j]) and math.isnan(b[j]):
            cost = 0.0
        elif math.isnan(a[j]) or math.isnan(b[j]):
            cost = float(costs.fill_cost[j])
        elif costs.label[j]:
            cost = float(costs.unit[j]) if a[j] != b[j] else 0.0
        else:
            cost = abs(float(a[j]) - float(b[j])) * float(costs.unit[j])
        total += cost**norm
    return total if norm == 1 else math.sqrt(total)


def slow_graph(
    table: Floats, costs: Costs, norm: int, k: int, most: int, radius: float | None
) -> SlowGraph:
    """Build the graph; a radius of None is derived from the data."""
    rows, count = distinct(table)
    near = [
        [(d, j) for d, j in neighbours(rows, row, costs, norm) if j != i]
        for i, row in enumerate(rows)
    ]
    r = [kth(near[i], count, count[i] - 1, k) for i in range(len(rows))]
    if radius is None:
        to_last = [near[i][min(k, len(near[i])) - 1][0] for i in range(len(rows))]
        radius = float(np.quantile(to_last, RADIUS_QUANTILE))
    table_r = np.repeat(r, count)
    unit = float(np.median(table_r)) or float(np.mean(table_r)) or 1.0
    graph = SlowGraph(rows, count, costs, norm, k, most, radius, r, unit, {})
    graph.edges = {i: {} for i in range(len(rows))}
    for i in range(len(rows)):
        for d, j in near[i][:most]:
            if d <= radius:
                length = apart(rows[i], rows[j], costs, norm)
                weight = length * (graph.rho(r[i]) + graph.rho(r[j])) / 2
                graph.edges[i][j] = graph.edges[j][i] = weight
    return graph


def distinct(table: Floats) -> tuple[Floats, list[int]]:
    """Rows in the order in which they first come, and how often each does."""
    found: dict[tuple[str, ...], list[int]] = {}
    for i, row in enumerate(table):
        found.setdefault(tuple(repr(float(v) + 0.0) for v in row), []).append(i)
    places = list(found.values())
    return table[[place[0] for place in places]], [len(place) for place in places]


def dijkstra(edges: Edges, start: dict[int, float]) -> dict[int, float]:
    """Length of the shortest path from outside to each node."""
    done: dict[int, float] = {}
    waiting = [(length, node) for node, length in start.items()]
    heapq.heapify(waiting)
    while waiting:
        length, node = heapq.heappop(waiting)
        if node in done:
            continue
        done[node] = length
        for other, step in edges[node].items():
            if other not in done:
                heapq.heappush(waiting, (length + step, other))
    return done

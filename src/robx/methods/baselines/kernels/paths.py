"""Shortest paths on a graph with weighted edges: Dijkstra's algorithm.

The graph
---------
The edges of node ``i`` lead to ``near[first[i] : first[i + 1]]`` and are as long as `weight` says
at the same places; lengths are at least 0. The search begins outside the graph, from where an edge
of its own leads to each of some nodes.

Nodes wait in a heap, the nearest on top and of equally near ones the lowest: results do not depend
on anything but the graph. ``place[i]`` is where node i stands in the heap, or -1.
"""

from __future__ import annotations

import numpy as np

from robx.arrays import AnyFloats, AnyInts, Bools, Floats, Ints
from robx.kernels.compiling import njit


@njit(nogil=True, cache=True)
def _precedes(reach: AnyFloats, a: int, b: int) -> bool:
    return reach[a] < reach[b] or (reach[a] == reach[b] and a < b)


@njit(nogil=True, cache=True)
def _rise(heap: AnyInts, place: AnyInts, reach: AnyFloats, at: int) -> None:
    """Bring a node that came nearer to its place in the heap."""
    node = heap[at]
    while at > 0:
        parent = (at - 1) // 2
        if not _precedes(reach, node, heap[parent]):
            break
        heap[at] = heap[parent]
        place[heap[at]] = at
        at = parent
    heap[at] = node
    place[node] = at


@njit(nogil=True, cache=True)
def _take_top(heap: AnyInts, place: AnyInts, reach: AnyFloats, size: int) -> int:
    """Take the nearest node out of a heap of some size."""
    top, node = int(heap[0]), int(heap[size - 1])
    place[top] = -1
    size -= 1
    if size == 0:
        return top
    at, child = 0, 1
    while child < size:
        if child + 1 < size and _precedes(reach, heap[child + 1], heap[child]):
            child += 1
        if not _precedes(reach, heap[child], node):
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at, child = child, 2 * child + 1
    heap[at] = node
    place[node] = at
    return top


@njit(nogil=True, cache=True)
def _run(
    first: AnyInts,
    near: AnyInts,
    weight: AnyFloats,
    start: AnyInts,
    start_weight: AnyFloats,
    is_end: Bools,
    ends: AnyInts,
    reach: AnyFloats,
    before: AnyInts,
) -> int:
    """Go from near to far until `ends` is full or no node is left; how many ends were found."""
    n = reach.shape[0]
    heap, place, size, count = np.empty(n, np.int64), np.full(n, -1, np.int64), 0, 0
    reach[:], before[:] = np.inf, -1
    for s in range(start.shape[0]):
        node = start[s]
        if start_weight[s] < reach[node]:
            reach[node] = start_weight[s]
            if place[node] < 0:
                heap[size], place[node] = node, size
                size += 1
            _rise(heap, place, reach, place[node])
    while size > 0 and count < ends.shape[0]:
        node = _take_top(heap, place, reach, size)
        size -= 1
        if is_end[node]:
            ends[count] = node
            count += 1
        for e in range(first[node], first[node + 1]):
            other, length = near[e], reach[node] + weight[e]
            if length < reach[other]:  # never so for nodes that were taken: they are nearer
                reach[other], before[other] = length, node
                if place[other] < 0:
                    heap[size], place[other] = other, size
                    size += 1
                _rise(heap, place, reach, place[other])
    return count


@njit(nogil=True, cache=True)
def spread(first: AnyInts, near: AnyInts, weight: AnyFloats, start: AnyInts) -> tuple[Floats, Ints]:
    """Find the shortest paths from some nodes, whichever is nearest, to all.

    Parameters
    ----------
    first : (n + 1,) int64
    near : (E,) int64
    weight : (E,) float64
        The graph.
    start : (s,) int64

    Returns
    -------
    reach : (n,) float64
        Length of the path to each node; infinite where there is none.
    before : (n,) int64
        The node before it; -1 for those that the paths start from.
    """
    n = first.shape[0] - 1
    reach, before = np.empty(n), np.empty(n, np.int64)
    nowhere, ends = np.zeros(n, np.bool_), np.empty(1, np.int64)
    _run(first, near, weight, start, np.zeros(len(start)), nowhere, ends, reach, before)
    return reach, before


@njit(nogil=True, cache=True)
def search(
    first: AnyInts,
    near: AnyInts,
    weight: AnyFloats,
    start: AnyInts,
    start_weight: AnyFloats,
    is_end: Bools,
    n_wanted: int,
) -> tuple[Floats, Ints, Ints]:
    """Find the ends with the shortest paths, and the paths.

    Parameters
    ----------
    first, near, weight
        The graph, as for `spread`.
    start : (s,) int64
        Nodes to which an edge leads from outside.
    start_weight : (s,) float64
        Lengths of these edges.
    is_end : (n,) bool
    n_wanted : int
        How many ends to find, at least 1.

    Returns
    -------
    length : (w,) float64
        Lengths of the paths, ascending; fewer than `n_wanted` where there are no more.
    stop : (w + 1,) int64
        Path k is ``nodes[stop[k] : stop[k + 1]]``.
    nodes : int64
        The paths one after the other, each from one of `start` to its end.
    """
    n = first.shape[0] - 1
    reach, before, ends = np.empty(n), np.empty(n, np.int64), np.empty(n_wanted, np.int64)
    count = _run(first, near, weight, start, start_weight, is_end, ends, reach, before)
    length, stop = np.empty(count), np.zeros(count + 1, np.int64)
    for k in range(count):
        length[k], stop[k + 1] = reach[ends[k]], stop[k]
        node = ends[k]
        while node >= 0:
            stop[k + 1] += 1
            node = before[node]
    nodes = np.empty(stop[count], np.int64)
    for k in range(count):
        node, at = ends[k], stop[k + 1]
        while node >= 0:
            at -= 1
            nodes[at] = node
            node = before[node]
    return length, stop, nodes

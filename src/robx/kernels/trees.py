"""Laying out trees and scoring rows with them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robx.arrays import AnyFloats, AnyInts, Bools, Words
from robx.kernels.compiling import njit

#: Set beside a column where missing values go left.
MISSING_LEFT = 2**31
#: The exponential of what is beyond is too large for a number.
LARGEST_EXPONENT = 709.782712893384


class Trees(NamedTuple):
    """The layout that all kernels share.

    Nodes of all trees stand in one array, each tree in preorder, so that the left child of node
    ``i`` is ``i + 1``. ``node_split[i]`` is the index of the node's split, or ``-1 - leaf`` for a
    leaf. Splits are shared between nodes and sorted by feature: a row goes left when ``x <=
    threshold``, when ``x`` is missing and ``missing_left`` is set, or, for a split with a category
    row, when the bit of its code is set there.

    Kernels take the arrays out once: a tuple counts their users at every look.
    """

    feature: AnyInts
    threshold: AnyFloats
    missing_left: Bools
    category_row: AnyInts
    category_bits: Words
    tree_start: AnyInts
    tree_class: AnyInts
    node_split: AnyInts
    node_right: AnyInts
    leaf_value: AnyFloats


@njit(nogil=True, cache=True)
def preorder(left: AnyInts, right: AnyInts, start: AnyInts, order: AnyInts) -> int:
    """Write the nodes that each root reaches, in preorder.

    Parameters
    ----------
    left, right : (N,) int64
        Children, as indices into these arrays; negative for a leaf.
    start : (T + 1,) int64
        First node of each tree, which is its root.
    order : (N,) int64
        Receives the old indices in the new order; the unused end is filled with -1.

    Returns
    -------
    int
        ``-1 - tree`` for the first tree in which a node is reached twice (a cycle or a shared
        child), 0 if there is none.
    """
    n_nodes = left.shape[0]
    seen = np.zeros(n_nodes, dtype=np.bool_)
    stack = np.empty(n_nodes + 1, dtype=np.int64)
    count = 0
    for tree in range(start.shape[0] - 1):
        stack[0] = start[tree]
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if seen[node]:
                return -1 - tree
            seen[node] = True
            order[count] = node
            count += 1
            if left[node] >= 0:
                stack[depth] = right[node]
                stack[depth + 1] = left[node]
                depth += 2
    order[count:] = -1
    return 0


@njit(nogil=True, cache=True)
def right_children(is_split: Bools) -> AnyInts:
    """Right child of every split of full binary trees in preorder; 0 at leaves.

    A tree that is not closed leaves its open splits at 0; nothing is read out of range.
    """
    n_nodes = is_split.shape[0]
    right = np.zeros(n_nodes, dtype=np.int32)
    waiting = np.empty(n_nodes, dtype=np.int64)
    depth = 0
    for node in range(n_nodes):
        if is_split[node]:
            waiting[depth] = node
            depth += 1
        elif depth > 0 and node + 1 < n_nodes:
            depth -= 1
            right[waiting[depth]] = node + 1
    return right


@njit(nogil=True, cache=True)
def depths(is_split: Bools) -> AnyInts:
    """Number of splits above each node, for full binary trees in preorder."""
    found = np.empty(is_split.shape[0], dtype=np.int64)
    waiting = np.empty(is_split.shape[0] + 1, dtype=np.int64)
    n_waiting = 0
    depth = 0
    for node in range(is_split.shape[0]):
        found[node] = depth
        if is_split[node]:
            depth += 1
            waiting[n_waiting] = depth  # of its right child
            n_waiting += 1
        else:
            depth = 0
            if n_waiting > 0:
                n_waiting -= 1
                depth = waiting[n_waiting]
    return found


@njit(nogil=True, cache=True)
def margins(X: AnyFloats, trees: Trees, out: AnyFloats) -> None:
    """Add every tree's leaf value to ``out[row, class]``, tree by tree, in the dtype of ``out``.

    Sums are carried out in the order of the trees and in the precision of the leaf values, so that
    a library that sums in float32 is followed bit by bit.
    """
    feature, threshold, missing_left, category_row, category_bits = trees[:5]
    tree_start, tree_class, node_split, node_right, leaf_value = trees[5:]
    n_rows = X.shape[0]
    # A few rows at a time through each tree: its nodes are then still at hand for the next row.
    for first in range(0, n_rows, 64):
        for tree in range(tree_class.shape[0]):
            for i in range(first, min(first + 64, n_rows)):
                node = tree_start[tree]
                split = node_split[node]
                while split >= 0:
                    x = X[i, feature[split]]
                    row = category_row[split]
                    if x != x:
                        left = missing_left[split]
                    elif row < 0:
                        left = x <= threshold[split]
                    else:
                        code = int(x)
                        word = category_bits[row, code >> 6]
                        left = (word >> np.uint64(code & 63)) & np.uint64(1) != 0
                    node = node + 1 if left else node_right[node]
                    split = node_split[node]
                out[i, tree_class[tree]] += leaf_value[-1 - split]


@njit(nogil=True, cache=True)
def margins_of_numbers(
    X: AnyFloats,
    nodes: Words,
    thresholds: AnyFloats,
    tree_start: AnyInts,
    tree_class: AnyInts,
    leaf_value: AnyFloats,
    out: AnyFloats,
) -> None:
    """Do as `margins` does, for trees without splits by category.

    Parameters
    ----------
    X : (n, d) float64
    nodes : (2 * N,) uint64
        Two words for each node, in one place of memory: the threshold as bits, or a leaf's number;
        and the column, with `MISSING_LEFT` where a missing value goes left, and in the upper half
        the right child, or 0 for a leaf.
    thresholds : (2 * N,) float64
        The same memory as numbers.
    tree_start, tree_class, leaf_value
        See `Trees`.
    out : (n, C)
        Sums of leaf values, in their dtype.
    """
    one, upper = np.uint64(1), np.uint64(32)
    column, missing_left = np.uint64(MISSING_LEFT - 1), np.uint64(MISSING_LEFT)
    n_rows = X.shape[0]
    for first in range(0, n_rows, 64):
        for tree in range(tree_class.shape[0]):
            root = np.uint64(tree_start[tree])
            for i in range(first, min(first + 64, n_rows)):
                node = root
                about = nodes[(node << one) + one]
                right = about >> upper
                while right != 0:
                    x = X[i, about & column]
                    left = x <= thresholds[node << one]
                    if x != x:
                        left = about & missing_left != 0
                    node = node + one if left else right
                    about = nodes[(node << one) + one]
                    right = about >> upper
                out[i, tree_class[tree]] += leaf_value[nodes[node << one]]


@njit(nogil=True, cache=True)
def exponential(x: float) -> float:
    """Exponential function of the C library, infinite where it is too large for a number.

    NumPy's own differs from it in the last bit, here and there and by processor. All scores are
    made with this one, so that the same sum is the same score wherever it is compared.
    """
    return math.exp(x) if x < LARGEST_EXPONENT else math.inf


@njit(nogil=True, cache=True)
def decays(margins: AnyFloats, out: AnyFloats) -> None:
    """Write the exponential of each margin's negative: (n,) float64."""
    for i in range(margins.shape[0]):
        out[i] = exponential(-margins[i])

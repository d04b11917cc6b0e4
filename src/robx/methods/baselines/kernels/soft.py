"""Sums and gradients of trees whose splits are sigmoids, as in FOCUS.

A soft split sends a point right with the chance ``sigmoid(steepness * (z - threshold))`` and left
with the rest, so that a tree's value is a smooth function of the point: the sum over its leaves of
the leaf value times the chances on its path [1]_. For a block of points:

1. `_fill_chances` finds the chance of going right at each distinct split, once for all trees;
2. `_walk` goes through a tree once. On the way down it carries the chance of getting there; on the
   way up, the sum over the leaves below of chance times value. A split whose branches bring up
   ``l`` and ``r``, and which sends a point right with chance p, adds ``r (1 - p) - l p`` times its
   steepness to the gradient.

The points of a block are the lanes of one vector. As in `robx.kernels.sets`, each operation on
lanes is a plain function, which runs when the JIT is off, and has vector instructions below it.

References
----------
.. [1] Lucic, Oosterhuis, Haned, de Rijke: FOCUS: Flexible optimizable counterfactual explanations
   for tree ensembles. AAAI 2022.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from robx.arrays import AnyFloats, AnyInts
from robx.kernels.compiling import njit
from robx.kernels.trees import Trees

#: Points in a block: two vector registers, so that one is computed while the other is waited for.
LANES = 16
#: Subtrees that are reached with a smaller chance are left out: half a rounding error of a whole.
NOTHING = 2.0**-53


@njit(nogil=True, cache=True)
def soft_sums(
    Z: AnyFloats, steepness: AnyFloats, trees: Trees, sums: AnyFloats, gradient: AnyFloats
) -> None:
    """Add every tree's soft value to ``sums``, and its derivatives to ``gradient``.

    Parameters
    ----------
    Z : (m, d) float64
        The points.
    steepness : (d,) float64
        Slope of the sigmoid for each unit of a column. Columns of steepness 0 route hard, as do
        missing values, categories and infinite thresholds: they have no gradient.
    trees : Trees
    sums : (m, C) float64
        Gains the soft sum of leaf values of each class; starts as the base.
    gradient : (m, C, d) float64
        Gains the derivative of each sum in each coordinate.
    """
    feature, tree_start, tree_class = trees.feature, trees.tree_start, trees.tree_class
    node_split, node_right, leaf_value = trees.node_split, trees.node_right, trees.leaf_value
    n_points, n_features = Z.shape
    n_classes = sums.shape[1]
    longest = 0  # no path has more splits than half of its tree's nodes
    for tree in range(tree_class.shape[0]):
        longest = max(longest, (tree_start[tree + 1] - tree_start[tree]) // 2)
    path = np.empty(longest + 1, dtype=np.int64)
    side = np.zeros(longest + 2, dtype=np.int64)
    reach = np.zeros((longest + 2, LANES))
    found = np.empty((2 * longest + 4, LANES))
    chance = np.zeros((feature.shape[0], LANES))
    slope = np.empty((n_classes * n_features, LANES))
    for first in range(0, n_points, LANES):
        n_real = min(LANES, n_points - first)
        reach[0, :n_real], reach[0, n_real:] = 1, 0  # lanes without a point get nowhere
        slope[:] = 0
        _fill_chances(Z[first : first + n_real], steepness, trees, chance)
        for tree in range(tree_class.shape[0]):
            k = tree_class[tree]
            _walk(
                tree_start[tree], k * n_features, chance, feature, node_split, node_right,
                leaf_value, path, side, reach, found, slope,
            )  # fmt: skip
            for lane in range(n_real):
                sums[first + lane, k] += found[0, lane]
        for lane in range(n_real):
            for k in range(n_classes):
                for j in range(n_features):
                    gain = steepness[j] * slope[k * n_features + j, lane]
                    gradient[first + lane, k, j] += gain


@njit(nogil=True, cache=True)
def _fill_chances(Z: AnyFloats, steepness: AnyFloats, trees: Trees, chance: AnyFloats) -> None:
    """Chance of going right at each split, exactly 0 or 1 where a point is routed hard."""
    feature, threshold, missing_left, category_row, category_bits = trees[:5]
    for s in range(feature.shape[0]):
        j = feature[s]
        # As plain floats, which overflow to infinity in silence when the JIT is off.
        cut, steep = float(threshold[s]), float(steepness[j])
        row = category_row[s]
        for lane in range(Z.shape[0]):
            value = float(Z[lane, j])
            if value != value:
                chance[s, lane] = 0.0 if missing_left[s] else 1.0
            elif row >= 0:
                code = int(value)
                word = category_bits[row, code >> 6]
                left = (word >> np.uint64(code & 63)) & np.uint64(1) != 0
                chance[s, lane] = 0.0 if left else 1.0
            elif steep == 0 or math.isinf(cut):
                chance[s, lane] = 0.0 if value <= cut else 1.0
            else:
                away = steep * (value - cut)
                decay = math.exp(-abs(away))
                chance[s, lane] = (1.0 if away > 0 else decay) / (1.0 + decay)


@njit(nogil=True, cache=True)
def _walk(
    root: int,
    first_slope: int,
    chance: AnyFloats,
    feature: AnyInts,
    node_split: AnyInts,
    node_right: AnyInts,
    leaf_value: AnyFloats,
    path: AnyInts,
    side: AnyInts,
    reach: AnyFloats,
    found: AnyFloats,
    slope: AnyFloats,
) -> None:
    """Write one tree's values to ``found[0]`` and add to the slope of each column.

    The split at depth k of the current path is ``path[k]``. ``reach[k]`` is the chance of getting
    there, ``side[k]`` says whether it is a right child (1) or not (0), and ``found[2 k + side]``
    receives what it brings up. ``side[0]`` is 0, and ``reach[0]`` 1 in the lanes of points.
    """
    node, depth = root, 0
    while True:
        split = node_split[node]
        value = 0.0  # below a branch that is left out
        if split >= 0:
            path[depth] = node
            side[depth + 1] = 0
            depth += 1
            if _send(reach, depth - 1, chance, split, 0):
                node += 1
                continue
        else:
            value = float(leaf_value[-1 - split])
        _weigh(reach, depth, value, found, 2 * depth + side[depth])
        while depth > 0:
            parent = path[depth - 1]
            split = node_split[parent]
            if side[depth] == 0:
                side[depth] = 1
                if _send(reach, depth - 1, chance, split, 1):
                    node = node_right[parent]
                    break
                _weigh(reach, depth, 0.0, found, 2 * depth + 1)
            depth -= 1
            column = first_slope + feature[split]
            _join(found, 2 * depth + 2, 2 * depth + side[depth], chance, split, slope, column)
        if depth == 0:
            return


# --- operations on lanes ------------------------------------------------------------------------


def _send(reach: AnyFloats, depth: int, chance: AnyFloats, split: int, right: int) -> bool:
    """Chance of getting to a child, in ``reach[depth + 1]``; returns whether there is any."""
    share = chance[split] if right else 1 - chance[split]
    child = reach[depth] * share
    # Lane by lane, so that no point depends on whether the others in its block go on.
    child[~(child > NOTHING)] = 0
    reach[depth + 1] = child
    return bool(child.any())


def _weigh(reach: AnyFloats, depth: int, value: float, found: AnyFloats, to: int) -> None:
    """Chance times value of a leaf."""
    found[to] = reach[depth] * value


def _join(
    found: AnyFloats,
    left: int,
    to: int,
    chance: AnyFloats,
    split: int,
    slope: AnyFloats,
    column: int,
) -> None:
    """Add up a split's two branches, ``left`` and ``left + 1``, and its part of the slope."""
    below, above, p = found[left], found[left + 1], chance[split]
    slope[column] += above * (1 - p) - below * p
    found[to] = below + above


VECTOR = ir.VectorType(ir.DoubleType(), LANES)
INDEX = types.intp


def _row(context: Any, builder: Any, array_type: Any, array: Any, i: Any) -> Any:
    """Place of a row of lanes."""
    data = context.make_array(array_type)(context, builder, value=array).data
    first = builder.gep(data, [builder.mul(i, ir.Constant(ir.IntType(64), LANES))])
    return builder.bitcast(first, VECTOR.as_pointer())


def _all(value: float) -> Any:
    return ir.Constant(VECTOR, [value] * LANES)


@intrinsic
def _send_vector(_typing: Any, reach: Any, depth: Any, chance: Any, split: Any, right: Any) -> Any:
    signature = types.boolean(reach, INDEX, chance, INDEX, INDEX)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        reach, depth, chance, split, right = args
        word, mask = ir.IntType(64), ir.IntType(LANES)
        p = builder.load(_row(context, builder, sig.args[2], chance, split), align=8)
        to_right = builder.icmp_signed("!=", right, ir.Constant(word, 0))
        share = builder.select(to_right, p, builder.fsub(_all(1.0), p))
        here = builder.load(_row(context, builder, sig.args[0], reach, depth), align=8)
        child = builder.fmul(here, share)
        some = builder.fcmp_ordered(">", child, _all(NOTHING))
        below = builder.add(depth, ir.Constant(word, 1))
        place = _row(context, builder, sig.args[0], reach, below)
        builder.store(builder.select(some, child, _all(0.0)), place, align=8)
        return builder.icmp_unsigned("!=", builder.bitcast(some, mask), ir.Constant(mask, 0))

    return signature, codegen


@intrinsic
def _weigh_vector(_typing: Any, reach: Any, depth: Any, value: Any, found: Any, to: Any) -> Any:
    signature = types.void(reach, INDEX, types.float64, found, INDEX)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        reach, depth, value, found, to = args
        here = builder.load(_row(context, builder, sig.args[0], reach, depth), align=8)
        undefined, zero = ir.Constant(VECTOR, ir.Undefined), ir.Constant(ir.IntType(32), 0)
        first = builder.insert_element(undefined, value, zero)
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        spread = builder.shuffle_vector(first, undefined, zeros)
        place = _row(context, builder, sig.args[3], found, to)
        builder.store(builder.fmul(here, spread), place, align=8)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def _join_vector(
    _typing: Any, found: Any, left: Any, to: Any, chance: Any, split: Any, slope: Any, column: Any
) -> Any:
    signature = types.void(found, INDEX, INDEX, chance, INDEX, slope, INDEX)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        found, left, to, chance, split, slope, column = args
        right = builder.add(left, ir.Constant(ir.IntType(64), 1))
        below = builder.load(_row(context, builder, sig.args[0], found, left), align=8)
        above = builder.load(_row(context, builder, sig.args[0], found, right), align=8)
        p = builder.load(_row(context, builder, sig.args[3], chance, split), align=8)
        rise = builder.fmul(above, builder.fsub(_all(1.0), p))
        gain = builder.fsub(rise, builder.fmul(below, p))
        place = _row(context, builder, sig.args[5], slope, column)
        builder.store(builder.fadd(builder.load(place, align=8), gain), place, align=8)
        total = _row(context, builder, sig.args[0], found, to)
        builder.store(builder.fadd(below, above), total, align=8)
        return context.get_dummy_value()

    return signature, codegen


@overload(_send, strict=False)
def _compile_send(reach: Any, depth: Any, chance: Any, split: Any, right: Any) -> Any:
    return lambda reach, depth, chance, split, right: _send_vector(
        reach, depth, chance, split, right
    )


@overload(_weigh, strict=False)
def _compile_weigh(reach: Any, depth: Any, value: Any, found: Any, to: Any) -> Any:
    return lambda reach, depth, value, found, to: _weigh_vector(reach, depth, value, found, to)


@overload(_join, strict=False)
def _compile_join(
    found: Any, left: Any, to: Any, chance: Any, split: Any, slope: Any, column: Any
) -> Any:
    return lambda found, left, to, chance, split, slope, column: _join_vector(
        found, left, to, chance, split, slope, column
    )

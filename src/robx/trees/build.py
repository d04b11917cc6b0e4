"""From a library's own node arrays to a `TreeEnsemble`.

Parsers give `Tree`s: plain node arrays in which a row goes left when ``x <= threshold``. This
module checks every index, refuses cycles, brings nodes into preorder and shares equal splits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.budget import Budget
from robx.errors import InvalidModel, UnsupportedModel
from robx.kernels.trees import preorder
from robx.tables import Category, Column
from robx.trees.ensemble import Link, TreeEnsemble
from robx.trees.targets import choose_target

#: More categories than this in one column are refused: each split holds a bit for every one.
MAX_CODES = 65_536
MOST_WORDS = 2**26
#: More classes than this are refused: each of them has a margin of its own.
MAX_CLASSES = 10_000
#: Bytes of memory for a tree and for a node, all that is made of them on the way included.
TREE_BYTES = 2048
NODE_BYTES = 256


@dataclass(frozen=True)
class Tree:
    """One tree as a parser read it; node 0 is the root.

    Parameters
    ----------
    left, right : (m,) int
        Children of each node; -1 (both) for a leaf.
    feature : (m,) int
        Column that the node splits on; ignored at leaves.
    threshold : (m,) float64
        Goes left when ``x <= threshold``; ignored at leaves and at nodes in `categories`.
    missing_left : (m,) bool
        Where a missing value goes.
    value : (m,) float
        Value of each leaf; ignored at splits.
    index : int
        Which class's margin the tree adds to.
    categories : mapping from node to codes
        For each split on categories, the codes that it lists.
    listed_left : bool
        Whether listed codes go left and all others right, or the other way round.
    """

    left: NDArray[np.integer[Any]]
    right: NDArray[np.integer[Any]]
    feature: NDArray[np.integer[Any]]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.floating[Any]]
    index: int = 0
    categories: Mapping[int, Sequence[int] | NDArray[np.integer[Any]]] = field(default_factory=dict)
    listed_left: bool = True


def check_size(n_trees: int, n_nodes: int, where: str, budget: Budget) -> None:
    """Refuse more trees and nodes than the budget allows."""
    budget.check_memory(TREE_BYTES * n_trees + NODE_BYTES * n_nodes, where)


def counted(trees: Iterable[Tree], where: str, budget: Budget) -> list[Tree]:
    """List trees as they are read, and stop where they become too many for the budget."""
    kept: list[Tree] = []
    n_nodes = 0
    for tree in trees:
        kept.append(tree)
        n_nodes += len(tree.left)
        check_size(len(kept), n_nodes, where, budget)
    return kept


def assemble_classifier(
    trees: Sequence[Tree],
    columns: Sequence[Column],
    *,
    target: Category | None,
    classes: Sequence[Category] | None,
    base: Sequence[float],
    one_against_all: bool = False,
    **traits: Any,
) -> TreeEnsemble:
    """Lay out boosted trees, with one margin for two classes or one for each class.

    Parameters
    ----------
    trees, columns, base, **traits
        As for `assemble`; each tree's `index` is that of its margin.
    target : label, optional
        See `choose_target`.
    classes : sequence of labels, optional
        Their numbers from 0 unless given.
    one_against_all : bool
        Whether each class has a sigmoid of its own: the margins of the others do not matter then.
    """
    labels = list(range(max(len(base), 2))) if classes is None else classes
    chosen, place = choose_target(target, labels)
    if one_against_all:
        trees = [replace(tree, index=0) for tree in trees if tree.index == place]
        base, place = [base[place]], 1
    link: Link = "softmax" if len(base) > 1 else ("one_minus_sigmoid", "sigmoid")[place]
    index = place if len(base) > 1 else 0
    return assemble(
        trees, columns, target=chosen, link=link, target_index=index, base=base, **traits
    )


def assemble(
    trees: Sequence[Tree],
    columns: Sequence[Column],
    *,
    named: bool,
    target: Category,
    source: str,
    link: Link,
    base: Sequence[float],
    target_index: int = 0,
    divisor: float = 1.0,
    slope: float = 1.0,
    dtype: type[np.float32] | type[np.float64] = np.float64,
) -> TreeEnsemble:
    """Check the trees and lay them out as a `TreeEnsemble`.

    Raises
    ------
    InvalidModel
        If there is no tree, an index is out of range, arrays differ in length, a node is reached
        twice, or a leaf value or threshold is not a number.
    """
    if not trees:
        raise InvalidModel("The model has no trees: was it fitted?")
    if any(column.n_codes > MAX_CODES for column in columns):
        raise UnsupportedModel(
            f"A column has more than {MAX_CODES} categories. Wrap the model in robx.BlackBox."
        )
    by_category = np.array([column.is_category for column in columns], dtype=bool)
    for number, tree in enumerate(trees):
        _check_tree(tree, number, by_category)
    sizes = [len(tree.left) for tree in trees]
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    nodes = _join(trees, start)
    order = np.empty(start[-1], dtype=np.int64)
    if broken := preorder(nodes["left"], nodes["right"], start, order):
        raise InvalidModel(f"Tree {-1 - broken} reaches a node twice: it is not a tree.")
    order = order[order >= 0]
    nodes = {name: array[order] for name, array in nodes.items()}
    is_split = nodes["left"] >= 0
    category_bits, category = _category_table(trees, columns, start, order)
    splits, split_of_node = _share_splits(nodes, category, is_split)
    with np.errstate(over="ignore"):  # what does not fit becomes infinite, and is refused
        leaf_value = nodes["value"][~is_split].astype(dtype)
        start_value = np.asarray(base, dtype=np.float64).astype(dtype)
    node_split = np.empty(len(order), dtype=np.int32)
    node_split[is_split] = split_of_node
    node_split[~is_split] = -1 - np.arange((~is_split).sum())
    tree_of_node = np.searchsorted(start, order, side="right") - 1
    return TreeEnsemble(
        columns=tuple(columns),
        named=named,
        target=target,
        source=source,
        link=link,
        target_index=target_index,
        divisor=float(divisor),
        slope=float(slope),
        base=start_value,
        category_bits=category_bits,
        tree_start=np.searchsorted(tree_of_node, np.arange(len(trees) + 1)).astype(np.int64),
        tree_class=np.array([tree.index for tree in trees], dtype=np.int32),
        node_split=node_split,
        leaf_value=leaf_value,
        **splits,
    )


def codes_in(bits: NDArray[np.uint32]) -> NDArray[np.int32]:
    """List the codes whose bits are set in a row of 32-bit words."""
    flags = np.unpackbits(bits.astype("<u4").view(np.uint8), bitorder="little")
    return np.flatnonzero(flags).astype(np.int32)


def count_codes(trees: Sequence[Tree], n_codes: Sequence[int]) -> list[int]:
    """Raise each column's number of categories to what the splits name of it."""
    counts = list(n_codes)
    for tree in trees:
        for node, codes in tree.categories.items():
            j = int(tree.feature[node]) if node < len(tree.feature) else -1
            if 0 <= j < len(counts):  # `assemble` refuses any other
                counts[j] = max(counts[j], int(np.max(codes, initial=0)) + 1)
    return counts


def _check_tree(tree: Tree, number: int, by_category: NDArray[np.bool_]) -> None:
    size = len(tree.left)
    parts = (tree.right, tree.feature, tree.threshold, tree.missing_left, tree.value)
    if size == 0 or any(len(part) != size for part in parts):
        raise InvalidModel(f"Tree {number} has node arrays of different lengths, or no nodes.")
    left, right = np.asarray(tree.left), np.asarray(tree.right)
    leaf = left == -1
    if not np.array_equal(leaf, right == -1):
        raise InvalidModel(f"Tree {number} has a node with only one child.")
    children = np.concatenate([left[~leaf], right[~leaf]])
    if len(children) and (children.min() < 0 or children.max() >= size):
        raise InvalidModel(f"Tree {number} has a child that is not one of its {size} nodes.")
    feature = np.asarray(tree.feature)[~leaf]
    outside = feature[(feature < 0) | (feature >= len(by_category))]
    if len(outside):
        raise InvalidModel(
            f"Tree {number} splits on column {outside[0]}; the model has {len(by_category)}."
        )
    if not np.isfinite(tree.value[leaf]).all():
        raise InvalidModel(f"Tree {number} has a leaf whose value is not a finite number.")
    nodes, is_category = np.flatnonzero(~leaf), by_category[feature]
    if set(nodes[is_category].tolist()) != set(tree.categories):
        raise InvalidModel(
            f"Tree {number} splits a number by categories, or a category by a threshold."
        )
    if np.isnan(np.asarray(tree.threshold)[nodes[~is_category]]).any():
        raise InvalidModel(f"Tree {number} has a threshold that is not a number.")


def _join(trees: Sequence[Tree], start: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    types = {"left": "i8", "right": "i8", "feature": "i4", "threshold": "f8", "missing_left": "?"}
    nodes = {
        name: np.concatenate([np.asarray(getattr(tree, name), dtype) for tree in trees])
        for name, dtype in {**types, "value": "f8"}.items()
    }
    shift = np.repeat(start[:-1], np.diff(start))
    for side in ("left", "right"):
        nodes[side] = np.where(nodes[side] >= 0, nodes[side] + shift, -1)
    return nodes


def _category_table(
    trees: Sequence[Tree],
    columns: Sequence[Column],
    start: NDArray[np.int64],
    order: NDArray[np.int64],
) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Bits of every distinct set of categories, and each node's row among them or -1."""
    words = max((column.n_codes for column in columns), default=0) // 64 + 1
    rows: dict[bytes, int] = {}
    known: dict[tuple[int, bool, bytes], int] = {}
    row_of_node = np.full(start[-1], -1, dtype=np.int32)
    for first, tree in zip(start.tolist(), trees, strict=False):
        for node, codes in tree.categories.items():
            limit = columns[int(tree.feature[node])].n_codes
            listed = np.asarray(codes, dtype=np.int64)
            as_listed = (limit, tree.listed_left, listed.tobytes())
            if as_listed in known:  # few sets are listed by many splits
                row_of_node[first + node] = known[as_listed]
                continue
            key = np.unique(listed)
            outside = key[(key < 0) | (key > limit)]
            if len(outside):
                raise InvalidModel(f"A split names category {outside[0]}; its column has {limit}.")
            goes_left = np.zeros(64 * words, dtype=bool)
            goes_left[: limit + 1] = not tree.listed_left
            goes_left[key] = tree.listed_left
            packed = np.packbits(goes_left, bitorder="little").tobytes()
            known[as_listed] = rows.setdefault(packed, len(rows))
            row_of_node[first + node] = known[as_listed]
            if len(rows) * words > MOST_WORDS:
                raise UnsupportedModel("The model's category splits would take more than 512 MB.")
    bits = np.frombuffer(b"".join(rows) or bytes(8 * words), dtype="<u8").astype(np.uint64)
    return bits.reshape(-1, words), row_of_node[order]


def _share_splits(
    nodes: Mapping[str, NDArray[Any]], category: NDArray[np.int32], is_split: NDArray[np.bool_]
) -> tuple[dict[str, NDArray[Any]], NDArray[np.intp]]:
    """Sort the distinct splits by column and threshold, and tell which one each node uses."""
    # Adding zero turns -0.0 into 0.0; a split on categories has no threshold.
    threshold = np.where(category >= 0, 0.0, nodes["threshold"]) + 0.0
    table: dict[str, NDArray[Any]] = {
        "feature": nodes["feature"][is_split].astype(np.int32),
        "category": category[is_split].astype(np.int32),
        "threshold": threshold[is_split],
        "missing_left": nodes["missing_left"][is_split].astype(bool),
    }
    order = np.lexsort(tuple(table.values())[::-1])
    is_new = np.zeros(len(order), dtype=bool)
    is_new[:1] = True
    for values in table.values():
        is_new[1:] |= values[order][1:] != values[order][:-1]
    inverse = np.empty(len(order), dtype=np.intp)
    inverse[order] = np.cumsum(is_new) - 1
    splits = {
        f"split_{name}": np.ascontiguousarray(table[name][order[is_new]])
        for name in ("feature", "threshold", "missing_left", "category")
    }
    return splits, inverse

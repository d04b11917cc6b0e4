"""Trees over other columns: every split of an ensemble written anew.

A `Cut` says which raw values go left at one split. Most cuts are splits themselves; one that sends
numbers left in several runs becomes several nodes, and what no value reaches is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Bools, Floats
from robx.tables import Column
from robx.trees.build import Tree, assemble
from robx.trees.ensemble import TreeEnsemble
from robx.trees.reasons import CannotFold

#: So many times the nodes of the model may come out of the rewriting, and so many at any rate.
MOST_TIMES, MOST_NODES = 4, 20_000


@dataclass(frozen=True)
class Cut:
    """Which raw values of a column go left at a split.

    Parameters
    ----------
    column : int
        The raw column.
    missing_left : bool
    ends : (k,) float64
        Of numbers: the last of each run that goes one way, but of the last run.
    first_left : bool
        Of numbers: whether the first run goes left.
    codes : (n_codes + 1,) bool, optional
        Of categories: which of them go left; the last is the one for unseen ones.
    """

    column: int
    missing_left: bool
    ends: Floats = field(default_factory=lambda: np.zeros(0))
    first_left: bool = False
    codes: Bools | None = None

    @property
    def is_plain(self) -> bool:
        """Whether one node does, whatever stands above it."""
        if self.codes is not None:
            return not self.is_constant
        return len(self.ends) == 1

    @property
    def is_constant(self) -> bool:
        """Whether all values go the same way."""
        if self.codes is not None:
            return bool((self.codes == self.missing_left).all())
        return len(self.ends) == 0 and self.first_left == self.missing_left


def rewritten(
    model: TreeEnsemble, cuts: Sequence[Cut], columns: Sequence[Column], named: bool, source: str
) -> TreeEnsemble:
    """Give an ensemble that splits raw columns where another one splits columns made of them.

    Parameters
    ----------
    model : TreeEnsemble
    cuts : sequence of Cut
        One for each of its distinct splits.
    columns : sequence of Column
        The raw columns.
    named : bool
        Whether their names are the user's.
    source : str
    """
    trees = rewritten_trees(model, cuts, columns)
    return reassembled(model, trees, columns, named, source)


def reassembled(
    model: TreeEnsemble, trees: Sequence[Tree], columns: Sequence[Column], named: bool, source: str
) -> TreeEnsemble:
    """Give an ensemble that adds up as another does, of other trees over other columns."""
    return assemble(
        trees,
        columns,
        named=named,
        target=model.target,
        source=source,
        link=model.link,
        base=model.base.tolist(),
        target_index=model.target_index,
        divisor=model.divisor,
        slope=model.slope,
        dtype=np.float32 if model.leaf_value.dtype == np.float32 else np.float64,
    )


def rewritten_trees(
    model: TreeEnsemble, cuts: Sequence[Cut], columns: Sequence[Column]
) -> list[Tree]:
    """Give the trees of `rewritten`, before they are laid out."""
    budget = max(MOST_TIMES * len(model.node_split), MOST_NODES)
    plain = np.array([cut.is_plain for cut in cuts], dtype=bool)
    tables = _Tables(cuts)
    trees = []
    for k in range(model.n_trees):
        nodes = slice(int(model.tree_start[k]), int(model.tree_start[k + 1]))
        used = model.node_split[nodes]
        if plain[used[used >= 0]].all():
            trees.append(tables.same_shape(model, nodes, int(model.tree_class[k])))
        else:
            trees.append(_Rewriting(model, cuts, columns, budget).tree(nodes.start, k))
        budget -= len(trees[-1].left)
        if budget < 0:
            raise CannotFold("its splits would take several times as many nodes on raw columns")
    return trees


class _Tables:
    """Plain cuts as arrays over the splits."""

    def __init__(self, cuts: Sequence[Cut]) -> None:
        self.column = np.array([cut.column for cut in cuts], dtype=np.int64)
        self.threshold = np.array([cut.ends[0] if len(cut.ends) else 0.0 for cut in cuts])
        self.is_category = np.array([cut.codes is not None for cut in cuts], dtype=bool)
        # A run of numbers that goes right comes first: the children change places.
        self.swaps = np.array([c.codes is None and not c.first_left for c in cuts], dtype=bool)
        self.missing_left = np.array([cut.missing_left for cut in cuts], dtype=bool)
        self.codes = [None if c.codes is None else np.flatnonzero(c.codes) for c in cuts]

    def same_shape(self, model: TreeEnsemble, nodes: slice, index: int) -> Tree:
        """Give a tree with the same nodes and other splits."""
        split = model.node_split[nodes]
        is_leaf = split < 0
        own = np.maximum(split, 0)
        swaps = self.swaps[own] if len(self.swaps) else np.zeros(len(own), dtype=bool)
        at = np.arange(len(split))
        left, right = at + 1, model.node_right[nodes].astype(np.int64) - nodes.start
        first, second = np.where(swaps, right, left), np.where(swaps, left, right)
        value = np.zeros(len(split))
        value[is_leaf] = model.leaf_value[-1 - split[is_leaf]]
        if is_leaf.all():
            zeros = np.zeros(len(split))
            return _tree(zeros - 1, zeros - 1, zeros, zeros, zeros, value, index, {})
        sets: dict[int, Any] = {
            int(n): self.codes[split[n]] for n in np.flatnonzero(~is_leaf & self.is_category[own])
        }
        return _tree(
            np.where(is_leaf, -1, first),
            np.where(is_leaf, -1, second),
            np.where(is_leaf, 0, self.column[own]),
            np.where(is_leaf | self.is_category[own], 0.0, self.threshold[own]),
            np.where(is_leaf, False, self.missing_left[own] != swaps),
            value,
            index,
            sets,
        )


class _Rewriting:
    """Writes one tree node by node, and knows on its way which values can still come by.

    Of a column of numbers that is a range, open below: (low, high], and whether it may be missing;
    of one of categories a set of codes, and the same.
    """

    def __init__(
        self, model: TreeEnsemble, cuts: Sequence[Cut], columns: Sequence[Column], budget: int
    ) -> None:
        self.model, self.cuts, self.columns, self.budget = model, cuts, columns, budget
        self.left: list[int] = []
        self.right: list[int] = []
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.missing: list[bool] = []
        self.value: list[float] = []
        self.sets: dict[int, Any] = {}

    def tree(self, root: int, k: int) -> Tree:
        """Rewrite tree k, whose first node is `root`."""
        # What is still to be written: a node of the model, what is known above it, whose child.
        waiting: list[tuple[int, dict[int, Any], tuple[list[int], int] | None]] = [(root, {}, None)]
        while waiting:
            node, known, parent = waiting.pop()
            node = self._settled(node, known)
            place = len(self.left)
            if place > self.budget:
                raise CannotFold("its splits would take several times as many nodes on raw columns")
            if parent is not None:
                parent[0][parent[1]] = place
            split = int(self.model.node_split[node])
            for part in (self.left, self.right, self.feature):
                part.append(-1)
            self.threshold.append(0.0)
            self.missing.append(False)
            self.value.append(0.0)
            if split < 0:
                self.value[place] = float(self.model.leaf_value[-1 - split])
                continue
            left, right = self._write(place, self.cuts[split], node, known)
            waiting += [(*right, (self.right, place)), (*left, (self.left, place))]
        parts: list[Any] = [self.left, self.right, self.feature, self.threshold, self.missing]
        left, right, feature, threshold, missing = map(np.array, parts)
        index = int(self.model.tree_class[k])
        value = np.array(self.value)
        return _tree(left, right, feature, threshold, missing, value, index, self.sets)

    def _settled(self, node: int, known: dict[int, Any]) -> int:
        """Go down from a node for as long as all that can come by goes the same way."""
        while (split := int(self.model.node_split[node])) >= 0:
            side = self._side(self.cuts[split], known)
            if side is None:
                break
            node = node + 1 if side else int(self.model.node_right[node])
        return node

    def _side(self, cut: Cut, known: dict[int, Any]) -> bool | None:
        """Tell the side that all values go to, or None."""
        if cut.codes is not None:
            codes, missing = known.get(cut.column, (np.ones(len(cut.codes), dtype=bool), True))
            ways = set(cut.codes[codes].tolist())
        else:
            low, high, missing = known.get(cut.column, (-np.inf, np.inf, True))
            ways = {way for _, way in _runs(cut, low, high)} if low < high else set()
        if missing and self.columns[cut.column].takes_missing:
            ways.add(cut.missing_left)
        return bool(ways.pop()) if len(ways) == 1 else (True if not ways else None)

    def _write(self, place: int, cut: Cut, node: int, known: dict[int, Any]) -> tuple[Any, Any]:
        """Write one node; give its children as nodes of the model, with what is known there."""
        j = cut.column
        children = (node + 1, int(self.model.node_right[node]))
        self.feature[place] = j
        if cut.codes is not None:
            codes, missing = known.get(j, (np.ones(len(cut.codes), dtype=bool), True))
            self.missing[place] = cut.missing_left
            self.sets[place] = np.flatnonzero(cut.codes)
            listed = codes & cut.codes, missing and cut.missing_left
            others = codes & ~cut.codes, missing and not cut.missing_left
            return (children[0], {**known, j: listed}), (children[1], {**known, j: others})
        low, high, missing = known.get(j, (-np.inf, np.inf, True))
        runs = _runs(cut, low, high) if low < high else []
        missing = missing and self.columns[j].takes_missing
        if len(runs) <= 1:  # only a missing value goes the other way
            way = runs[0][1]
            self.threshold[place], self.missing[place] = self.columns[j].largest, False
            return (
                (children[0 if way else 1], {**known, j: (low, high, False)}),
                (children[1 if way else 0], {**known, j: (np.inf, np.inf, True)}),
            )
        middle = len(runs) // 2 - 1
        end = runs[middle][0]
        goes_first = missing and _joins_first(runs, middle, cut.missing_left)
        self.threshold[place], self.missing[place] = end, goes_first
        below = {**known, j: (low, end, missing and goes_first)}
        above = {**known, j: (end, high, missing and not goes_first)}
        return (node, below), (node, above)


def _runs(cut: Cut, low: float, high: float) -> list[tuple[float, bool]]:
    """Runs of numbers within (low, high]: where each ends, and whether it goes left."""
    ends = cut.ends
    first = int(np.searchsorted(ends, low, side="right")) if low > -np.inf else 0
    last = int(np.searchsorted(ends, high, side="left"))
    ways = [bool(cut.first_left) == (k % 2 == 0) for k in range(first, last + 1)]
    return list(zip([*ends[first:last].tolist(), high], ways, strict=True))


def _joins_first(runs: list[tuple[float, bool]], middle: int, missing_left: bool) -> bool:
    """Whether a missing value goes with the first runs: where that needs no node of its own."""
    first, second = runs[: middle + 1], runs[middle + 1 :]
    if len(first) == 1 and first[0][1] == missing_left:
        return True
    if len(second) == 1 and second[0][1] == missing_left:
        return False
    return any(way == missing_left for _, way in first)


def _tree(
    left: NDArray[Any],
    right: NDArray[Any],
    feature: NDArray[Any],
    threshold: NDArray[Any],
    missing: NDArray[Any],
    value: NDArray[Any],
    index: int,
    sets: dict[int, Any],
) -> Tree:
    return Tree(
        left.astype(np.int64),
        right.astype(np.int64),
        feature.astype(np.int64),
        threshold.astype(np.float64),
        missing.astype(bool),
        value.astype(np.float64),
        index,
        sets,
    )

"""Ensembles that read other codes for the same columns, written in the codes of one of them.

A pipeline that is trained again on fewer rows may know fewer categories. Written in the columns of
the first, it reads the same numbers, and many such ensembles are scored at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robx.arrays import Bools, Ints
from robx.tables import Column
from robx.trees.build import Tree
from robx.trees.ensemble import TreeEnsemble
from robx.trees.reasons import CannotFold
from robx.trees.rewriting import Cut, reassembled, rewritten_trees

#: A margin as low as this is a probability of exactly 0.
ZERO_MARGIN = 1000.0
#: Beyond this size it makes no difference which numbers a model takes.
FAR = 2.0**64
#: The place of a code that counts as missing, and of one that is refused.
MISSING, REFUSED = -1, -2


def in_columns(ensemble: TreeEnsemble, columns: Sequence[Column]) -> TreeEnsemble | None:
    """Write an ensemble in the codes of other columns; None where these say too little.

    What the ensemble refuses and the columns take, such as a category that it was not trained on,
    gets a score of 0: it does not accept what it cannot read.

    Parameters
    ----------
    ensemble : TreeEnsemble
    columns : sequence of Column
        Of another ensemble over the same table.
    """
    own = ensemble.columns
    if tuple(columns) == own:
        return ensemble
    if len(own) != len(columns) or not all(map(_is_alike, own, columns)):
        return None
    places = [_places(mine, other) for mine, other in zip(own, columns, strict=True)]
    try:
        trees = rewritten_trees(ensemble, _cuts(ensemble, places), columns)
    except CannotFold:
        return None
    for j, (mine, other) in enumerate(zip(own, columns, strict=True)):
        refused = places[j] == REFUSED
        if other.is_category and not other.takes_unseen:
            refused[-1:] = False
        loses = other.takes_missing and not mine.takes_missing
        if refused.any() or loses:
            beyond = refused if other.is_category else other.largest
            trees = _refusing(ensemble, trees, j, beyond, loses)
    return reassembled(ensemble, trees, columns, ensemble.named, ensemble.source)


def _is_alike(mine: Column, other: Column) -> bool:
    """Whether two columns differ only in what can be written in codes of the other."""
    if mine.name != other.name or mine.missing_range != other.missing_range:
        return False
    if mine.is_ignored or other.is_ignored:
        return mine.is_ignored
    if mine.is_category != other.is_category or mine.largest_integer != other.largest_integer:
        return False
    if mine.is_category:
        same = replace(mine, takes_missing=other.takes_missing) == other
        known = mine.categories is not None and other.categories is not None
        return same or (
            known
            and mine.by_value == other.by_value
            and set(mine.categories or ()) <= set(other.categories or ())
        )
    limits = [column.limits or (-np.inf, np.inf) for column in (mine, other)]
    largest = min(mine.largest, other.largest)
    return largest >= FAR and limits[0][0] <= limits[1][0] and limits[0][1] >= limits[1][1]


def _places(mine: Column, other: Column) -> Ints:
    """For each code of another column, and that of unseen ones, the own code."""
    if not mine.is_category:
        return np.zeros(0, dtype=np.int64)
    unseen = mine.n_codes
    if mine.unseen_is_missing:
        unseen = MISSING if mine.takes_missing else REFUSED
    elif not mine.takes_unseen:
        unseen = REFUSED
    places = np.full(other.n_codes + 1, unseen, dtype=np.int64)
    if mine.categories is None:
        places[: mine.n_codes] = np.arange(mine.n_codes)
        return places
    codes = {category: code for code, category in enumerate(mine.categories)}
    for k, category in enumerate(other.categories or ()):
        places[k] = codes.get(category, unseen)
    return places


def _cuts(e: TreeEnsemble, places: Sequence[Ints]) -> list[Cut]:
    bits = np.unpackbits(e.category_bits.view(np.uint8), axis=1, bitorder="little").astype(bool)
    cuts = []
    for s, j in enumerate(e.split_feature.tolist()):
        lost, row = bool(e.split_missing_left[s]), int(e.split_category[s])
        if row < 0:
            cuts.append(Cut(j, lost, e.split_threshold[s : s + 1], first_left=True))
            continue
        codes = bits[row][np.maximum(places[j], 0)]
        codes[places[j] == MISSING] = lost
        cuts.append(Cut(j, lost, codes=codes))
    return cuts


def _refusing(
    e: TreeEnsemble, trees: Sequence[Tree], j: int, codes: Bools | float, missing: bool
) -> list[Tree]:
    """Give trees that add up to a score of 0 for some codes of a column, or where it is missing.

    For a column of numbers, `codes` is the largest that there is.
    """
    if e.link == "identity":  # all add nothing
        return [_guarded(tree, j, codes, missing, 0.0) for tree in trees]
    bound = np.abs(e.leaf_value).max(initial=0.0) * len(trees) + np.abs(e.base).max()
    margin = -float(bound + ZERO_MARGIN * max(1.0, abs(e.divisor / e.slope)))
    if e.link == "one_minus_sigmoid":
        margin = -margin
    first = next((k for k, tree in enumerate(trees) if tree.index == e.target_index), 0)
    return [
        _guarded(tree, j, codes, missing, margin if tree.index == e.target_index else 0.0)
        if k == first
        else tree
        for k, tree in enumerate(trees)
    ]


def _guarded(tree: Tree, j: int, codes: Bools | float, missing: bool, value: float) -> Tree:
    """Put a node above a tree that sends some values to a leaf of their own."""
    n = len(tree.left)
    left, right = (np.asarray(side) for side in (tree.left, tree.right))
    left, right = (np.where(side >= 0, side + 1, -1) for side in (left, right))
    # Numbers all go on; a category that is refused goes to the leaf, which is the last node.
    sets = {node + 1: listed for node, listed in tree.categories.items()}
    largest = codes if isinstance(codes, float) else 0.0
    if not isinstance(codes, float):
        sets[0] = np.flatnonzero(~codes)
    return Tree(
        np.concatenate([[1], left, [-1]]),
        np.concatenate([[n + 1], right, [-1]]),
        np.concatenate([[j], tree.feature, [0]]),
        np.concatenate([[largest], tree.threshold, [0.0]]),
        np.concatenate([[not missing], tree.missing_left, [False]]),
        np.concatenate([[0.0], tree.value, [value]]),
        tree.index,
        sets,
    )

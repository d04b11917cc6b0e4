"""`TreeEnsemble`: a frozen set of flat arrays that scores as the model it was imported from does.

Everything that is particular to a library (casts, missing markers, category codes, how it sums) has
been folded into the arrays by its parser; nothing below this line knows where a model came from.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Floats
from robx.errors import InvalidInput, InvalidModel
from robx.kernels import trees as kernels
from robx.kernels.neighbourhood import Walk
from robx.tables import Category, Column, check_columns, read_matrix
from robx.trees.model import Model
from robx.trees.walk import make_walk, packed_nodes

Link = Literal["identity", "sigmoid", "one_minus_sigmoid", "softmax"]
#: In the order in which `robx.kernels.neighbourhood` numbers them.
LINKS: tuple[Link, ...] = ("identity", "sigmoid", "one_minus_sigmoid", "softmax")

Indices = NDArray[np.int32]
#: What each array may be made of.
ARRAY_TYPES = {
    "base": ("f4", "f8"),
    "split_feature": ("i4",),
    "split_threshold": ("f8",),
    "split_missing_left": ("?",),
    "split_category": ("i4",),
    "category_bits": ("u8",),
    "tree_start": ("i8",),
    "tree_class": ("i4",),
    "node_split": ("i4",),
    "leaf_value": ("f4", "f8"),
}
#: Fields of a column that are told only where they are not as in most models.
UNTOLD = frozenset({"takes_unseen", "as_text", "partly_known", "limits", "is_ignored"})


@dataclass(frozen=True, eq=False)
class TreeEnsemble(Model):
    """A tree ensemble as flat arrays; the score is the probability of the target class.

    `robx.import_model` makes it. Two ensembles are equal if their digests are.

    The margin of class ``k`` is ``(base[k] + sum of its trees' leaf values) / divisor * slope``;
    the link turns margins into the probability of the target class. Trees are stored in preorder
    over a shared table of distinct splits (see `robx.kernels.trees`). Sums are made in the dtype of
    `leaf_value`, float32 where the source library sums in float32.

    Parameters
    ----------
    columns : tuple of Column
        What each of the d input columns is.
    named : bool
        Whether the column names come from the training table.
    target : str, int, float or bool
        The class whose probability is the score.
    source : str
        The library and kind of model that this was imported from.
    link : {"identity", "sigmoid", "one_minus_sigmoid", "softmax"}
        How margins become a probability.
    target_index : int
        The target's position among the softmax margins; 0 for other links.
    divisor, slope : float
        See above: averaged forests divide by their number of trees.
    base : (C,) array
        Start of each margin's sum.
    split_feature, split_threshold, split_missing_left, split_category : (S,) arrays
        The distinct splits, sorted by feature; `split_category` is a row of `category_bits` or -1.
    category_bits : (B, W) uint64
        For each set of categories, one bit a code: set for those that go left.
    tree_start : (T + 1,) int64
        First node of each tree.
    tree_class : (T,) int32
        Which margin each tree adds to.
    node_split : (N,) int32
        Split of each node, or ``-1 - leaf``. Its left child is the next node.
    leaf_value : (L,) float32 or float64
        Value of each leaf.
    """

    columns: tuple[Column, ...]
    named: bool
    target: Category
    source: str
    link: Link
    target_index: int
    divisor: float
    slope: float
    base: NDArray[Any]
    split_feature: Indices
    split_threshold: Floats
    split_missing_left: NDArray[np.bool_]
    split_category: Indices
    category_bits: NDArray[np.uint64]
    tree_start: NDArray[np.int64]
    tree_class: Indices
    node_split: Indices
    leaf_value: NDArray[Any]

    def __post_init__(self) -> None:
        _check(self)
        for array in self.arrays().values():
            _frozen(array)

    # --- what callers use ------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the input columns, in the model's order."""
        return tuple(column.name for column in self.columns)

    @property
    def known_names(self) -> tuple[str, ...] | None:
        """The same where they come from the training table, None where they are made up."""
        return self.names if self.named else None

    @property
    def trees(self) -> TreeEnsemble:
        """The ensemble itself."""
        return self

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.tree_class)

    @property
    def n_leaves(self) -> int:
        """Number of leaves over all trees."""
        return len(self.leaf_value)

    @cached_property
    def node_right(self) -> Indices:
        """Right child of each node: (N,) int32, 0 at leaves."""
        return _frozen(np.asarray(kernels.right_children(self.node_split >= 0), dtype=np.int32))

    @cached_property
    def kernel_arrays(self) -> kernels.Trees:
        """Splits and trees as kernels take them."""
        return kernels.Trees(
            self.split_feature,
            self.split_threshold,
            self.split_missing_left,
            self.split_category,
            self.category_bits,
            self.tree_start,
            self.tree_class,
            self.node_split,
            self.node_right,
            self.leaf_value,
        )

    @cached_property
    def _packed_nodes(self) -> NDArray[np.uint64] | None:
        return packed_nodes(self)

    @cached_property
    def walk(self) -> Walk:
        """The same trees as `robx.kernels.neighbourhood` walks them."""
        return make_walk(self, LINKS.index(self.link))

    @cached_property
    def stack_size(self) -> int:
        """Length of the stack with which `robx.kernels.boxes` walks the deepest tree."""
        return 3 * int(kernels.depths(self.node_split >= 0).max()) + 1

    @cached_property
    def first_split(self) -> NDArray[np.int64]:
        """Where each column's splits begin: (d + 1,) int64."""
        edges = np.searchsorted(self.split_feature, np.arange(len(self.columns) + 1))
        return _frozen(edges.astype(np.int64))

    def score(self, X: object) -> Floats:
        """Probability of the target class for each row.

        Parameters
        ----------
        X : table of shape (n, d)
            A frame with the model's columns in any order, or an array in the model's order.

        Returns
        -------
        (n,) float64
        """
        return self.score_matrix(self.read(X))

    def read(self, X: object, what: str = "X") -> Floats:
        """Read a table into the numbers that the splits are written in: (n, d) float64."""
        return read_matrix(X, self.columns, named=self.named, what=what)

    def check_columns(self, X: object, what: str = "X") -> None:
        """See `Model.check_columns`."""
        check_columns(X, self.columns, named=self.named, what=what)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the ensemble to a file that `robx.import_model` reads back: no pickle, only data.

        Parameters
        ----------
        path : path ending in `.robx`
        """
        from robx.trees.store import save  # noqa: PLC0415 - the store builds ensembles, so it imports us

        save(self, Path(path))

    def score_matrix(self, matrix: Floats) -> Floats:
        """Score rows that `read` has already turned into numbers."""
        if matrix.ndim != 2 or matrix.shape[1] != len(self.columns):
            raise InvalidInput(
                f"The matrix must have {len(self.columns)} columns, as `read` gives it. Got shape "
                f"{matrix.shape}."
            )
        sums = np.empty((len(matrix), len(self.base)), dtype=self.leaf_value.dtype)
        sums[:] = self.base
        if self._packed_nodes is None:
            kernels.margins(matrix, self.kernel_arrays, sums)
        else:
            nodes, shape = self._packed_nodes, (self.tree_start, self.tree_class, self.leaf_value)
            numbers = np.ascontiguousarray(matrix, dtype=np.float64)
            kernels.margins_of_numbers(numbers, nodes, nodes.view(np.float64), *shape, sums)
        return self.probability(sums)

    def probability(self, sums: NDArray[Any]) -> Floats:
        """Turn sums of leaf values, (n, C), into the probability of the target class: (n,)."""
        margin = sums
        if self.divisor != 1:
            margin = margin / margin.dtype.type(self.divisor)
        if self.slope != 1:
            margin = margin * margin.dtype.type(self.slope)
        if self.link == "identity":
            return margin[:, 0].astype(np.float64)
        if self.link == "softmax":
            return _softmax(margin)[:, self.target_index].astype(np.float64)
        one = margin.dtype.type(1)
        # The exponential is rounded once to the precision of the sum, as a C library does.
        wide = np.empty(len(margin))
        kernels.decays(margin[:, 0].astype(np.float64), wide)
        with np.errstate(over="ignore"):
            decay = wide.astype(margin.dtype)
        probability = one / (one + decay)
        if self.link == "one_minus_sigmoid":
            probability = one - probability
        return np.asarray(probability, dtype=np.float64)

    # --- identity --------------------------------------------------------------------------------

    @cached_property
    def digest(self) -> str:
        """Content digest: equal for ensembles that read and score tables alike."""
        sha = hashlib.sha256()
        # Where it came from does not count: a model and its file are equal.
        header = {name: value for name, value in self.header().items() if name != "source"}
        sha.update(json.dumps(header, sort_keys=True).encode())
        for name, array in self.arrays().items():
            sha.update(f"{name}{array.dtype.str}{array.shape}".encode())
            sha.update(np.ascontiguousarray(array).tobytes())
        return sha.hexdigest()

    def header(self) -> dict[str, Any]:
        """Everything but the arrays, as plain values.

        How names are spelled (`Column.blank`) is not told: the source tells it. Nor is what holds
        of most columns, such as that unseen categories are taken.
        """
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self.arrays()}
        columns = [
            {
                f.name: value
                for f in fields(Column)
                if f.name != "blank"
                and ((value := getattr(column, f.name)) != f.default or f.name not in UNTOLD)
            }
            for column in self.columns
        ]
        return {**plain, "columns": columns}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
        return {
            f.name: value
            for f in fields(self)
            if isinstance(value := getattr(self, f.name), np.ndarray)
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeEnsemble) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __repr__(self) -> str:
        return (
            f"<TreeEnsemble {self.source}: {self.n_trees} trees, {self.n_leaves} leaves, "
            f"{len(self.columns)} columns, score = P({self.target!r}), {self.digest[:12]}>"
        )


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Forbid writing: a kernel that follows a changed array may never come back."""
    array.flags.writeable = False
    return array


def _softmax(margin: NDArray[Any]) -> NDArray[Any]:
    shifted = np.exp(margin - margin.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


# --- soundness: what every kernel relies on -----------------------------------------------------


def _check(e: TreeEnsemble) -> None:
    for complaint in _complaints(e):
        raise InvalidModel(f"The model's arrays contradict each other: {complaint}.")


def _complaints(e: TreeEnsemble) -> Iterator[str]:
    """Say what is wrong; each check may rely on those before it, since the first one raises."""
    n_trees, n_classes = len(e.tree_class), len(e.base)
    for name, types in ARRAY_TYPES.items():
        array = getattr(e, name)
        size = len(e.split_feature) if name.startswith("split_") else len(array)
        shape = (size, *array.shape[1:]) if name == "category_bits" else (size,)
        if not any(array.dtype == kind for kind in types) or array.shape != shape:
            yield f"{name} is {array.dtype}{array.shape}, not {np.dtype(types[0])}{shape}"
    if e.base.dtype != e.leaf_value.dtype or e.category_bits.ndim != 2:
        yield "base and leaf_value differ in type, or category_bits is not a matrix"
    if len(e.tree_start) != n_trees + 1:
        yield f"tree_start has {len(e.tree_start)} entries for {n_trees} trees"
    if e.link not in LINKS or not (np.isfinite(e.slope) and np.isfinite(e.divisor) and e.divisor):
        yield "the link, slope or divisor is unknown"
    if n_classes < 1 or (e.link != "softmax" and n_classes != 1):
        yield f"a {e.link} link with {n_classes} margins"
    if not 0 <= e.target_index < n_classes:
        yield f"target index {e.target_index} of {n_classes}"
    if not (np.isfinite(e.leaf_value).all() and np.isfinite(e.base).all()):
        yield "a leaf value is not finite"
    if n_trees < 1:
        yield "there are no trees"
    if e.named and len(set(e.names)) < len(e.columns):
        yield "two columns have the same name"
    if any(not c.is_category and (c.by_value or c.categories) for c in e.columns):
        yield "a column of numbers has categories"
    yield from _split_complaints(e)
    yield from _shape_complaints(e)


def _split_complaints(e: TreeEnsemble) -> Iterator[str]:
    if _outside(e.split_feature, 0, len(e.columns)):
        yield "a split names a column out of range"
    if np.isnan(e.split_threshold).any():
        yield "a threshold is not a number"
    if _outside(e.split_category, -1, len(e.category_bits)):
        yield "a split names a set of categories out of range"
    if any(not 0 <= column.n_codes < 64 * e.category_bits.shape[1] for column in e.columns):
        yield "a set of categories is too short for its column"
    codes = np.array([column.n_codes for column in e.columns], dtype=np.int64)
    of_split = codes[e.split_feature] if len(e.split_feature) else np.zeros(0, np.int64)
    if ((of_split > 0) != (e.split_category >= 0)).any():
        yield "a number is split by categories, or a category by a threshold"
    if (np.diff(e.split_feature) < 0).any():
        yield "the splits are not sorted by column"


def _shape_complaints(e: TreeEnsemble) -> Iterator[str]:
    """Check that every tree is a full binary tree in preorder."""
    n_nodes = len(e.node_split)
    is_split = e.node_split >= 0
    if _outside(e.node_split, -len(e.leaf_value), len(e.split_feature)):
        yield "a node names a split or a leaf out of range"
    if _outside(e.tree_class, 0, len(e.base)):
        yield "a tree adds to a class out of range"
    start = e.tree_start
    if len(start) < 1 or start[0] != 0 or start[-1] != n_nodes or (np.diff(start) < 1).any():
        yield "the trees do not follow one another"
    # A tree is closed where its leaves outrun its splits by one, and not before its last node.
    open_before = np.concatenate([[0], np.cumsum(np.where(is_split, 1, -1))])
    open_in_tree = open_before[:-1] - np.repeat(open_before[start[:-1]], np.diff(start))
    if (open_in_tree < 0).any() or (np.diff(open_before[start]) != -1).any():
        yield "a tree is not closed"


def _outside(values: NDArray[np.integer[Any]], low: int, high: int) -> bool:
    return bool(len(values)) and bool(values.min() < low or values.max() >= high)

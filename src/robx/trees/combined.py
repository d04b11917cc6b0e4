"""Several ensembles that read the same columns, scored at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Floats
from robx.kernels import trees as kernels
from robx.trees.ensemble import TreeEnsemble


class Combined:
    """Ensembles whose sums become scores in the same way, as one with a margin for each class.

    Each has the bytes of its own `TreeEnsemble.score_matrix`: the kernel, the order and the
    precision of the sums are the same.

    Parameters
    ----------
    ensembles : sequence of TreeEnsemble
        Of one `way_of`.
    """

    def __init__(self, ensembles: Sequence[TreeEnsemble]) -> None:
        self._first, self._n = ensembles[0], len(ensembles)
        self._base = np.concatenate([e.base for e in ensembles])
        self._arrays = joined(ensembles)

    @staticmethod
    def way_of(e: TreeEnsemble) -> tuple[Any, ...]:
        """Tell apart ensembles that make scores of sums in different ways."""
        return e.link, e.divisor, e.slope, e.leaf_value.dtype.str, e.target_index, len(e.base)

    def scores(self, numbers: Floats) -> Floats:
        """Score of each ensemble for each row, which is in its numbers: (ensembles, n)."""
        sums = np.empty((len(numbers), len(self._base)), dtype=self._base.dtype)
        sums[:] = self._base
        kernels.margins(numbers, self._arrays, sums)
        score = self._first.probability(sums.reshape(-1, len(self._first.base)))
        return score.reshape(len(numbers), self._n).T


def joined(ensembles: Sequence[TreeEnsemble]) -> kernels.Trees:
    """The trees of all ensembles, one after the other, with classes of their own.

    Splits, nodes and leaves are numbered through; the splits are sorted ensemble by ensemble. Leaf
    values are in the precision of the first.
    """
    n_words = max(e.category_bits.shape[1] for e in ensembles)
    arrays: list[list[NDArray[Any]]] = []
    splits, bits, nodes, leaves, classes = 0, 0, 0, 0, 0
    for e in ensembles:
        row = e.split_category
        arrays.append(
            [
                e.split_feature,
                e.split_threshold,
                e.split_missing_left,
                np.where(row >= 0, row + bits, row),
                np.pad(e.category_bits, ((0, 0), (0, n_words - e.category_bits.shape[1]))),
                e.tree_start[:-1] + nodes,
                e.tree_class + classes,
                np.where(e.node_split >= 0, e.node_split + splits, e.node_split - leaves),
                e.node_right + nodes,
                e.leaf_value,
            ]
        )
        splits, bits = splits + len(e.split_feature), bits + len(e.category_bits)
        nodes, leaves = nodes + len(e.node_split), leaves + len(e.leaf_value)
        classes += len(e.base)
    own = ensembles[0].kernel_arrays  # for whose dtypes kernels are compiled
    together: list[Any] = [np.concatenate(some) for some in zip(*arrays, strict=True)]
    together[5] = np.append(together[5], nodes)
    alike = kernels.Trees(
        *(array.astype(like.dtype) for array, like in zip(together, own, strict=True))
    )
    for array in alike:
        array.flags.writeable = False
    return alike

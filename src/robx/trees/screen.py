"""Which rows can score above a cutoff at all: a bound for many rows that are compared with one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from robx.arrays import Bools, Floats
from robx.kernels.row_sets import BLOCK, WIDTH, rough_sums

if TYPE_CHECKING:
    from robx.trees.ensemble import TreeEnsemble

#: How far a link, evaluated in single precision, may be off.
SLACK = 1e-6


def may_exceed(ensemble: TreeEnsemble, matrix: Floats, cutoff: float) -> Bools:
    """Tell which rows may score above a cutoff, without fail and with few that do not: (n,) bool.

    Parameters
    ----------
    ensemble : TreeEnsemble
    matrix : (n, d) float64
        Rows, as `TreeEnsemble.read` gives them.
    cutoff : float
    """
    walk, n = ensemble.walk, len(matrix)
    padded = -(-n // BLOCK) * BLOCK
    columns = np.zeros((len(walk.columns), padded))
    columns[:, :n] = matrix[:, walk.columns].T
    sums = np.empty((len(walk.base), padded), dtype=np.float32)
    sums[:] = walk.base[:, None]
    rough_sums(columns, n, walk, WIDTH, sums)
    rough = sums[:, :n].T.astype(np.float64)
    # Upwards for the target, downwards for the other classes; or both ways, where the link decides.
    lift = np.where(np.arange(len(walk.base)) == ensemble.target_index, 1, -1) * walk.rounding
    best = np.maximum(ensemble.probability(rough + lift), ensemble.probability(rough - lift))
    return np.asarray(~(best + SLACK <= cutoff))  # what is not a number may be anything

"""What an accepted score asks of the sum of leaf values."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robx.arrays import Floats, Ints
from robx.methods.exact.whole import MARGIN_BITS, unit_for
from robx.methods.leaf_space import signs
from robx.trees import TreeEnsemble

#: Scores so near to zero are as good as zero.
TINY = 1e-300
#: Sums below this many units are exact in single precision too.
EXACT_BITS = 23


@dataclass(frozen=True, eq=False)
class Condition:
    """Whole weights of leaves, what they must add up to, and what suffices whatever is rounded."""

    weights: Ints
    least: int
    safe: int

    def made_safe(self) -> Condition:
        """Ask for what suffices."""
        return replace(self, least=self.safe)


class Demand:
    """Linear conditions on sums of a model's leaf values that every accepted point meets.

    One sum makes the score of most ensembles. That of several classes is concave in the target's
    lead: any number of tangents hold, and one at a point that fails cuts it off.

    Parameters
    ----------
    ensemble : TreeEnsemble
    cutoff : float
        Score that an answer must be above.
    """

    def __init__(self, ensemble: TreeEnsemble, cutoff: float) -> None:
        self.ensemble, self.cutoff = ensemble, cutoff
        e = self.ensemble
        is_leaf = e.node_split < 0
        tree = np.empty(e.n_leaves, dtype=np.int64)
        tree_of_node = np.repeat(np.arange(e.n_trees), np.diff(e.tree_start))
        tree[-1 - e.node_split[is_leaf]] = tree_of_node[is_leaf]
        self.class_of_leaf = e.tree_class[tree]
        numbers = np.concatenate([e.leaf_value, e.base]).astype(np.float64)
        largest = np.zeros(e.n_trees)
        np.maximum.at(largest, tree, np.abs(numbers[: e.n_leaves]))
        sums = np.abs(numbers[e.n_leaves :]).max() + np.cumsum(largest)
        self.total = float(sums[-1])
        self.scale = unit_for(self.total, MARGIN_BITS)
        # How far the library's own sum, and whole weights, may be from the true one.
        self.error = float(sums.sum() + sums[-1]) * float(np.finfo(e.leaf_value.dtype).eps) / 2
        self.error += (e.n_trees / 2 + 1) / self.scale
        for bits in range(21 if e.link != "softmax" else 0):
            whole = numbers * 2.0**bits
            if (whole == np.rint(whole)).all() and self.total * 2.0**bits < 2.0**EXACT_BITS:
                # Votes: sums are exact, and a tie is one.
                self.scale, self.error = 2.0**bits, 0.0
                break

    def first(self) -> list[Condition]:
        """Give the conditions to start with."""
        e = self.ensemble
        if e.link == "softmax":
            return self._softmax()
        way = float(signs(e)[0])
        most = int(np.ceil(self.total * self.scale)) + 1
        low, high = -most, most + 1
        while low < high:  # the least sum that is accepted
            middle = (low + high) // 2
            total = np.array([[way * middle / self.scale]], dtype=e.leaf_value.dtype)
            if e.probability(total)[0] > self.cutoff:
                high = middle
            else:
                low = middle + 1
        return [self._condition(np.array([way]), low / self.scale)]

    def _softmax(self) -> list[Condition]:
        e = self.ensemble
        n = len(e.base)
        # A tangent far out in each direction says that the target leads that class alone.
        far = 1e6 * np.sign(e.slope * e.divisor) * np.eye(n)
        return [self.tangent(s) for s in (np.zeros(n), *np.delete(far, e.target_index, axis=0))]

    def tangent(self, sums: Floats) -> Condition:
        """Condition that the target's lead, at most its tangent at some sums, is large enough."""
        e = self.ensemble
        unit = e.slope / e.divisor
        margin = sums * unit
        others = np.delete(np.arange(len(sums)), e.target_index)
        top = margin[others].max()
        share = np.exp(margin[others] - top)
        lead = margin[e.target_index] - top - np.log(share.sum())
        slope = np.zeros(len(sums))
        slope[e.target_index] = unit
        slope[others] = -unit * share / share.sum()
        needed = np.log(max(self.cutoff, TINY)) - np.log1p(-self.cutoff)
        return self._condition(slope, needed - lead + slope @ sums - 1e-5)

    def _condition(self, slope: Floats, least: float) -> Condition:
        e = self.ensemble
        worth = slope[self.class_of_leaf] * e.leaf_value.astype(np.float64) * self.scale
        needed = (least - slope @ e.base.astype(np.float64)) * self.scale
        slack = self.error * max(np.abs(slope).sum(), 1.0) * self.scale
        least, safe = int(np.ceil(needed - slack)), int(np.ceil(needed + slack))
        return Condition(np.rint(worth).astype(np.int64), least, safe)

"""Who must accept an answer: the problem's own model, and enough of a panel of retrained models."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robx.arrays import Bools, Floats, Ints
from robx.kernels.trees import Trees
from robx.methods.exact.demand import Demand
from robx.methods.leaf_space import trees_of
from robx.problem import Problem
from robx.retrained import Panel
from robx.trees import TreeEnsemble
from robx.trees.combined import joined


@dataclass(frozen=True, eq=False)
class Quorum:
    """The models that are asked about an answer: the problem's own first, and then the panel.

    It is a `robx.methods.point_tests.PointTest` as well.

    Parameters
    ----------
    problem : Problem
    cutoff : float
        Score of the problem's own model that an answer must be above.
    panel : Panel, optional
        Retrained models that read the same columns. They accept what scores above the problem's
        threshold.
    at_least : int
        How many of them must accept.
    """

    problem: Problem
    cutoff: float
    panel: Panel | None = None
    at_least: int = 0

    @property
    def n_spared(self) -> int:
        """How many of the panel need not accept."""
        return 0 if self.panel is None else len(self.panel) - self.at_least

    @cached_property
    def demands(self) -> list[Demand]:
        """What each model asks of its leaves."""
        others = () if self.panel is None else self.panel.alike.values()
        threshold = self.problem.threshold
        first = Demand(trees_of(self.problem).trees, self.cutoff)
        return [first, *(Demand(one, threshold) for one in others)]

    @cached_property
    def trees(self) -> Trees:
        """The trees of all models, one after the other; see `first_tree` and `first_leaf`."""
        return joined(self._ensembles)

    @cached_property
    def first_tree(self) -> Ints:
        """Where the trees of each model begin: (models + 1,) int64."""
        return np.cumsum([0, *(e.n_trees for e in self._ensembles)])

    @cached_property
    def first_leaf(self) -> Ints:
        """Where the leaves of each model begin: (models + 1,) int64."""
        return np.cumsum([0, *(e.n_leaves for e in self._ensembles)])

    @cached_property
    def splits(self) -> list[Ints]:
        """The splits of each column."""
        return [np.flatnonzero(self.trees.feature == j) for j in range(len(self.problem.names))]

    @property
    def _ensembles(self) -> list[TreeEnsemble]:
        return [demand.ensemble for demand in self.demands]

    def accepting(self, points: Floats) -> Bools:
        """Tell which models accept which points: (models, n) bool."""
        own = self.problem.gate.exceeds(points, self.cutoff)[None]
        if self.panel is None:
            return own
        return np.concatenate([own, self.panel.scores(points) > self.problem.threshold])

    def suffices(self, accepting: Bools) -> Bools:
        """Tell for which points enough models accept: (n,) bool."""
        return np.asarray(accepting[0] & (accepting[1:].sum(axis=0) >= self.at_least))

    def words(self) -> str:
        """Say what is asked of a point."""
        said = f"scores above {self.cutoff:g}"
        if self.panel is None:
            return said
        n = len(self.panel)
        return f"{said} and is accepted by at least {self.at_least} of {n} retrained models"

    # --- as a test of points ---------------------------------------------------------------------

    @property
    def key(self) -> Hashable:
        """See `PointTest`."""
        return "quorum", self.cutoff, self.panel, self.at_least

    @property
    def without_noise(self) -> None:
        """See `PointTest`."""

    def __call__(self, points: Floats) -> Bools:
        """See `PointTest`."""
        return self.suffices(self.accepting(points))

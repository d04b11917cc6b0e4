"""`Panel`: retrained models that are asked about a problem's points, many times over."""

from __future__ import annotations

from typing import Any

import numpy as np

from robx.arrays import Floats, Ints
from robx.kernels import forests
from robx.problem import Problem
from robx.problem.memo import Identity
from robx.retrained.scoring import ModelScores, import_models
from robx.trees import TreeEnsemble


class Panel:
    """Retrained models of a problem, ready to be asked about points.

    They help to choose, so they must not judge the choice as well: whoever chooses with them adds
    them to ``problem.used_models``.

    Parameters
    ----------
    problem : Problem
    models : sequence of models
    """

    def __init__(self, problem: Problem, models: Any) -> None:
        self.problem = problem
        self.models = import_models(problem, models)
        self._scoring = ModelScores(problem, self.models)

    @classmethod
    def of(cls, problem: Problem, models: Any) -> Panel:
        """Return the problem's panel of these models, made on first use."""
        key = ("panel", Identity(models))
        made: Panel = problem.memo.get(key, lambda: cls(problem, models))
        return made

    def digests(self) -> list[str]:
        """Name the models by their content, as far as they have one."""
        return self._scoring.digests()

    def __len__(self) -> int:
        return len(self.models)

    def scores(self, points: Floats) -> Floats:
        """Score of each model for each point: (models, n) float64."""
        return self._scoring.scores(points)

    def mean_scores(self, points: Floats) -> Floats:
        """Mean score of the models for each point: (n,) float64."""
        score, out = np.ascontiguousarray(self.scores(points).T), np.empty(len(points))
        forests.mean_scores(score, out)
        return out

    def rejecting(self, points: Floats) -> Ints:
        """Number of models that do not accept each point: (n,) int64."""
        return np.asarray((~(self.scores(points) > self.problem.threshold)).sum(axis=0))

    @property
    def alike(self) -> dict[int, TreeEnsemble]:
        """Models that take the same numbers for their columns as the problem's own does."""
        return self._scoring.alike

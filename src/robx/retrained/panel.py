"""`Panel`: retrained models that are asked about a problem's points, many times over."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.parallel import in_threads
from robx.problem import Problem
from robx.problem.memo import Identity
from robx.problem.used_models import scores_or_zero
from robx.retrained.scoring import check_readers, import_models
from robx.trees import TreeEnsemble

#: Rows that one thread scores at a time.
CHUNK = 128
#: More standard deviations than this are as good as any number of them.
MOST = 1e6


class Panel:
    """Retrained models of a problem, ready to be asked about points.

    They help to choose, so they must not judge the choice as well: whoever chooses with them adds
    them to ``problem.used_models``.

    Parameters
    ----------
    problem : Problem
    models : sequence of at least two models
    """

    def __init__(self, problem: Problem, models: Any) -> None:
        self.problem = problem
        self.models = import_models(problem, models)
        if len(self.models) < 2:
            raise InvalidInput(
                "Of retrained models, at least two are needed, to see how they differ. Got one. "
                "Some 16 are better."
            )
        check_readers(problem, self.models)

    @classmethod
    def of(cls, problem: Problem, models: Any) -> Panel:
        """Return the problem's panel of these models, made on first use."""
        key = ("panel", Identity(models))
        made: Panel = problem.memo.get(key, lambda: cls(problem, models))
        return made

    def digests(self) -> list[str]:
        """Name the models by their content, as far as they have one."""
        return [model.digest for model in self.models if model.digest is not None]

    def __len__(self) -> int:
        return len(self.models)

    def scores(self, points: Floats) -> Floats:
        """Score of each model for each point: (models, n) float64."""
        out = np.empty((len(self.models), len(points)))
        alike = self._alike
        if alike:
            numbers = self.problem.view.numbers(points)

            def run(part: slice) -> None:
                for k, ensemble in alike.items():
                    out[k, part] = ensemble.score_matrix(numbers[part])

            in_threads(run, len(points), CHUNK)
        if len(alike) < len(self.models) and len(points):
            table = self.problem.codec.write(points)
            for k, model in enumerate(self.models):
                if k not in alike:
                    out[k] = scores_or_zero(model, table)
        return out

    def margins(self, points: Floats) -> Floats:
        """How many standard deviations the models' mean score is above the threshold: (n,)."""
        # A point a row, so that its sums do not depend on the points beside it.
        score = np.ascontiguousarray(self.scores(points).T)
        above, spread = score.mean(axis=1) - self.problem.threshold, score.std(axis=1, ddof=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            margins = np.where(above == 0, 0.0, above / spread)
        return np.clip(margins, -MOST, MOST)

    @cached_property
    def _alike(self) -> dict[int, TreeEnsemble]:
        """Models that take the same numbers for their columns as the problem's own does."""
        columns = self.problem.view.columns
        return {
            k: model.trees
            for k, model in enumerate(self.models)
            if model.trees is not None and columns and model.trees.columns == columns
        }

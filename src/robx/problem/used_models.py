"""`UsedModels`: models that something was chosen with, and that must not judge the choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.schema import Codec
from robx.tables import count_rows, take
from robx.trees import Model
from robx.trees.rowwise import score_rows

#: Models whose scores differ by less, on so many training rows, are one model.
SAME, MOST_ROWS = 1e-6, 1000


class UsedModels:
    """The models that helped to choose something about a problem.

    Models with a digest are known by it; others by their scores of training rows, and of rows mixed
    from their columns. Whatever a model is wrapped in, these are the same; two models may well
    agree on the rows that both have learned, but hardly on mixed ones.

    Parameters
    ----------
    codec : Codec
    rows : (n, d) float64
        The training rows.
    """

    def __init__(self, codec: Codec, rows: Floats) -> None:
        self._codec, self._rows = codec, rows
        self._models: list[Model] = []
        self._portraits: dict[int, Floats] = {}

    def __len__(self) -> int:
        return len(self._models)

    def add(self, models: Sequence[Model]) -> None:
        """Note that these models were looked at; one without a digest as it is now."""
        for model in models:
            if any(model is known for known in self._models):
                continue
            if model.digest is None:
                self._portraits[len(self._models)] = self._portrait(model)
            self._models.append(model)

    def refuse(self, judges: Sequence[Model], digests: Sequence[str] = ()) -> None:
        """Refuse to judge by models that were used to choose: they would flatter the choice.

        Parameters
        ----------
        judges : sequence of Model
        digests : sequence of str
            Of ensembles that were used elsewhere.
        """
        used = {model.digest for model in self._models if model.digest is not None} | {*digests}
        for k, judge in enumerate(judges):
            if judge.digest in used or self._looks_known(judge):
                raise InvalidInput(
                    f"Model {k} of {len(judges)} was used to choose tau or answers for this "
                    "problem, so it cannot judge them as well. Choose with some models and judge "
                    "by others."
                )

    def _looks_known(self, judge: Model) -> bool:
        """Compare scores with every used model, unless digests have told the two apart."""
        portrait = None
        for k, model in enumerate(self._models):
            if judge.digest is not None and model.digest is not None:
                continue
            if k not in self._portraits:
                self._portraits[k] = self._portrait(model)
            portrait = self._portrait(judge) if portrait is None else portrait
            if np.allclose(portrait, self._portraits[k], rtol=0, atol=SAME):
                return True
        return False

    def _portrait(self, model: Model) -> Floats:
        n = len(self._rows)
        rows = self._rows[np.unique(np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.intp))]
        mixed = np.random.default_rng(0).permuted(rows, axis=0)
        return scores_or_zero(model, self._codec.write(np.concatenate([rows, mixed])))


def scores_or_zero(model: Model, X: Any) -> Floats:
    """Score each row, 0 where the model raises: it does not accept what it cannot read.

    A model trained on fewer rows may not know every category.
    """
    n = count_rows(X)
    scores, _ = score_rows(lambda rows: model.score(X if len(rows) == n else take(X, rows)), n)
    return np.nan_to_num(scores, nan=0.0)

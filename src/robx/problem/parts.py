"""`Parts`: what a problem is made of once its training table has been read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from robx.arrays import Bools, Floats
from robx.problem.model_view import ModelView
from robx.schema import Schema


@dataclass(frozen=True, eq=False)
class Parts:
    """All that answers need of a model and its training table.

    Parameters
    ----------
    view : ModelView
        The model with the codec of its tables.
    schema : Schema
        In the model's order of columns, every scale filled in.
    threshold : float
    seen : (2, d) float64
        Minimum and maximum of each column in training.
    rows : (n, d) float64
        The accepted training rows.
    score : (n,) float64
        Their scores.
    n_training : int
        Number of training rows, accepted or not: people, not rows that stand for them.
    middles : (d,) float64 and (d,) bool, optional
        Median of each column in training, and whether values are missing in it: made of the
        training rows unless given.
    versions : mapping, optional
        Versions of the libraries at work, for the origin of answers; those that are installed
        unless given.
    k_anonymous : int, optional
        How many people each row stands for, at least. Then scales, minima, maxima and medians come
        from such rows, too.
    """

    view: ModelView
    schema: Schema
    threshold: float
    seen: Floats
    rows: Floats
    score: Floats
    n_training: int
    middles: tuple[Floats, Bools] | None = None
    versions: Mapping[str, str] | None = None
    k_anonymous: int | None = None

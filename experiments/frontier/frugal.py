"""Frugal, as `robx.explain` makes it: with labels to train again with, or with noise alone.

Models to choose with are trained from the base model's own rows, which a `Rehearsal` has; nothing
of the evaluation is seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import robx
from robx.methods.base import Method

__all__ = ["Maker", "certifying", "with_models", "with_noise_alone"]

Maker = Callable[[robx.Rehearsal], Method]
Level = float | Literal["auto"]

#: Models that `robx.explain` trains, and how many of them help to search.
N_MODELS, N_SEARCHING = 48, 16


def with_models(base: Method, level: Level, **parameters: Any) -> Maker:
    """Make Frugal as it is with labels, at a level or at the one that it takes by itself."""

    def made(rehearsal: robx.Rehearsal) -> Method:
        models = rehearsal.retrainings(N_MODELS)[:N_SEARCHING]
        return robx.Frugal(base=base, norm=base.norm, level=level, models=models, **parameters)

    return made


def with_noise_alone(base: Method, level: Level) -> Method:
    """Make Frugal as it is without labels."""
    return robx.Frugal(base=base, norm=base.norm, level=level)


def certifying(rehearsal: robx.Rehearsal) -> tuple[Any, ...]:
    """Give the models that certify, which have no say in the search."""
    return rehearsal.retrainings(N_MODELS)[N_SEARCHING:]

"""The one parameter of a method that makes its answers more robust."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from robx.arrays import Floats
from robx.methods import Frugal, Method
from robx.methods.point_tests import mean_scores_of_support
from robx.problem import Problem
from robx.retrained import Panel

#: Parameters that ask more of an answer the higher they are, all in units of a score.
DIALS = ("min_retrained_score", "tau", "gamma")
#: Places on the way from the threshold to 1 that are tried.
PLACES = (0.04, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.68, 0.76, 0.84, 0.9, 0.95)


def dial_of(method: Method) -> str | None:
    """Name the parameter of a method that is turned to keep a promise; None if it has none."""
    known = {field.name for field in fields(method)}
    return next((name for name in DIALS if name in known), None)


def is_set(method: Method) -> bool:
    """Whether the caller has turned the dial, or asks for a level in its place."""
    dial = dial_of(method)
    if dial is None:
        return False
    has_level = getattr(method, "level", "auto") != "auto"
    return has_level or getattr(method, dial) not in {None, "auto"}


def with_dial(method: Method, value: float) -> Method:
    """Give the method with its dial turned."""
    turned: dict[str, Any] = {str(dial_of(method)): value}
    return replace(method, **turned)


def rungs(threshold: float) -> Floats:
    """Values of a dial to try, from the least robust: (r,) float64."""
    return threshold + (1 - threshold) * np.array(PLACES)


def rank_of(method: Method, problem: Problem, value: float) -> float:
    """Share of the accepted rows that fall short of a value; NaN where that is not known.

    Models on fewer rows may be coarser as well as less sure, so that a mean score does not mean the
    same to them. Its rank among the rows that they accept does.
    """
    known = _scores_of_rows(method, problem)
    return np.nan if known is None else float((known < value).mean())


def value_at(method: Method, problem: Problem, rank: float) -> float:
    """Value that a share of the accepted rows falls short of; 0 where the dial is another."""
    known = _scores_of_rows(method, problem)
    return 0.0 if known is None else float(np.quantile(known, rank))


def _scores_of_rows(method: Method, problem: Problem) -> Floats | None:
    if not isinstance(method, Frugal) or not len(method.models) or not len(problem.support):
        return None
    return mean_scores_of_support(Panel.of(problem, method.models))

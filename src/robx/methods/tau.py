"""tau, the least stability that passes: as a number, or by the quantile rule."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from robx.errors import InvalidInput
from robx.problem import Problem
from robx.robustness import Noise

__all__ = ["QUANTILE", "Tau", "check_tau", "quantile_tau", "tau_in_numbers"]

Tau = float | Literal["auto"]

#: The share of the accepted support whose stability "auto" leaves below tau.
QUANTILE = 0.75


def check_tau(tau: Any, owner: str) -> None:
    """Refuse what is neither a finite number nor "auto"."""
    is_number = isinstance(tau, int | float | np.integer | np.floating)
    if tau != "auto" and (not is_number or isinstance(tau, bool) or not np.isfinite(tau)):
        raise InvalidInput(
            f"The 'tau' parameter of {owner} must be a finite number or 'auto'. Got {tau!r} "
            "instead."
        )


def quantile_tau(problem: Problem, noise: Noise, quantile: float) -> float:
    """Take the quantile of R over the accepted support; the threshold where nothing is accepted."""
    values = problem.stability_of_support(noise).value
    return float(np.quantile(values, quantile)) if len(values) else problem.threshold


def tau_in_numbers(tau: Tau, problem: Problem, noise: Noise) -> tuple[float, str]:
    """Return tau, and where it comes from in words."""
    if tau != "auto":
        return float(tau), "given"
    value = quantile_tau(problem, noise, QUANTILE)
    return value, f"the {QUANTILE:.0%} quantile of R over {len(problem.support)} accepted rows"

"""tau, the least stability that passes: as a number, or by the quantile rule."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from robx.parameters import is_number, require
from robx.problem import Problem
from robx.robustness import Noise

Tau = float | Literal["auto"]

#: The share of the accepted support whose stability "auto" leaves below tau.
QUANTILE = 0.75
#: Of more accepted rows than this, so many spread over them are measured.
MOST_ROWS = 20_000


def check_tau(tau: Any, owner: str) -> None:
    """Refuse what is neither a finite number nor "auto"."""
    sound = (isinstance(tau, str) and tau == "auto") or is_number(tau)
    require(sound, tau, "tau", owner, "a finite number or 'auto'")


def spread_over(n: int) -> NDArray[np.intp]:
    """Choose rows to measure, of n: all of them, or a sample spread over them."""
    return np.arange(n) if n <= MOST_ROWS else np.linspace(0, n - 1, MOST_ROWS).astype(np.intp)


def sampled_stability(problem: Problem, noise: Noise) -> tuple[NDArray[np.float64], str]:
    """Give R of the accepted support, of many rows a sample, and say which rows these are."""
    rows = problem.support.rows
    n = len(rows)
    if n <= MOST_ROWS:
        return problem.stability_of_support(noise).value, f"{n} accepted rows"
    some = spread_over(n)
    key = ("sampled stability", noise.key(problem.names))
    sample: NDArray[np.float64] = problem.cached(
        key, lambda: problem.stability(rows[some], noise).value
    )
    return sample, f"{MOST_ROWS} of {n} accepted rows"


def tau_in_numbers(tau: Tau, problem: Problem, noise: Noise) -> tuple[float, str]:
    """Return tau, and where it comes from in words."""
    if tau != "auto":
        return float(tau), "given"
    values, rows = sampled_stability(problem, noise)
    if len(values) == 0:
        return problem.threshold, "the threshold: no row of the support is accepted"
    return float(np.quantile(values, QUANTILE)), f"the {QUANTILE:.0%} quantile of R over {rows}"

"""The paper's methods by their names in its tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd

import robx
from experiments.compare import NO_TAU, uses_tau
from experiments.settings import GAUSSIAN, N_TARGETS, STEP
from experiments.spec import Spec, base_of
from robx.methods.base import Method
from robx.schema import Norm

__all__ = ["SWEEP", "Asked", "asked", "make", "make_by_sweep", "where_validity_stops"]

Tau = float | Literal["auto"]

BASES: dict[str, Callable[..., Method]] = {
    "FT": robx.FeatureTweaking,
    "FOCUS": robx.Focus,
    "FACE": robx.Face,
    "NN": robx.NearestNeighbour,
}

#: The rule that raises tau until validity stops to improve, and what it looks at.
SWEEP = "sweep"
SWEEP_TAUS = tuple(round(0.5 + 0.05 * k, 2) for k in range(10))
SWEEP_MODELS, SWEEP_APPLICANTS, SWEEP_POINT = 10, 200, 0.01


@dataclass(frozen=True)
class Asked:
    """A method with its norm and tau: what `robx.evaluate` is asked about.

    Parameters
    ----------
    norm : {1, 2}
    method : str
        As the paper calls it.
    tau_rule : str
        "paper", "auto", "sweep", a number, or "none" for methods without a tau.
    """

    norm: Norm
    method: str
    tau_rule: str

    def __str__(self) -> str:
        tau = "" if self.tau_rule == NO_TAU else f", tau {self.tau_rule}"
        return f"L{self.norm} {self.method}{tau}"


def asked(spec: Spec, data: str) -> list[Asked]:
    """List what a table needs: methods with a tau by the paper's and by the quantile rule."""
    rules = ["paper", "auto"]
    if spec.taus:
        rules += [SWEEP, *(f"{tau:g}" for tau in spec.taus)]
    return [
        Asked(norm, method, rule)
        for norm in spec.norms
        for method in spec.rows(data)
        for rule in (rules if uses_tau(method) else [NO_TAU])
    ]


def make(wanted: Asked, paper_tau: float) -> Method:
    """Make a method in the paper's setting.

    Examples
    --------
    >>> make(Asked(2, "FOCUS gamma=0.8", "none"), 0.93).gamma
    0.8
    >>> make(Asked(1, "NN +RobX", "paper"), 0.93).tau
    0.93
    """
    base = base_of(wanted.method)
    if wanted.method == "CCF":
        return _conservative(wanted.norm, _tau(wanted.tau_rule, paper_tau))
    if base is not None:
        return robx.RobX.paper(
            tau=_tau(wanted.tau_rule, paper_tau),
            base=make(Asked(wanted.norm, base, NO_TAU), paper_tau),
            norm=wanted.norm,
            step=STEP,
            n_targets=N_TARGETS,
            noise=replace(GAUSSIAN, staged=False),
        )
    found = re.fullmatch(r"(FT|FOCUS|FACE|NN)(?: gamma=(0\.\d+))?", wanted.method)
    if found is None:
        raise ValueError(f"The paper has no method {wanted.method!r}.")
    name, gamma = found.groups()
    return BASES[name](norm=wanted.norm, **({} if gamma is None else {"gamma": float(gamma)}))


def _conservative(norm: Norm, tau: Tau) -> robx.Conservative:
    return robx.Conservative(tau=tau, norm=norm, noise=GAUSSIAN)


def _tau(rule: str, paper_tau: float) -> Tau:
    if rule == "auto":
        return "auto"
    return paper_tau if rule == "paper" else float(rule)


# --- tau by a sweep -------------------------------------------------------------------------------


def make_by_sweep(wanted: Asked, vary: dict[str, list[int]]) -> Callable[[robx.Rehearsal], Method]:
    """Make a method whose tau is raised from 0.5 until CCF's validity stops to improve.

    The paper does so on a validation set. Here it is some of the rows that the base model was
    trained on and declines, and the models to try are trained on halves of the same rows.
    """

    def chosen(rehearsal: robx.Rehearsal) -> Method:
        models = rehearsal.models(robx.scenarios.OtherHalf(vary), n_models=SWEEP_MODELS)
        choice = robx.choose_tau(
            rehearsal.problem,
            rehearsal.applicants[:SWEEP_APPLICANTS],
            models,
            method=_conservative(wanted.norm, "auto"),
            taus=SWEEP_TAUS,
        )
        return make(replace(wanted, tau_rule=repr(where_validity_stops(choice.table))), 0.0)

    return chosen


def where_validity_stops(table: pd.DataFrame) -> float:
    """Return the least tau whose validity is within a point of the best.

    Examples
    --------
    >>> swept = pd.DataFrame({"tau": [0.5, 0.6, 0.7], "validity": [0.8, 0.995, 1.0]})
    >>> where_validity_stops(swept)
    0.6
    """
    enough = table["validity"] >= table["validity"].max() - SWEEP_POINT
    return float(table.loc[enough, "tau"].min())

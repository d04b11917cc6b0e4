"""Whether Frugal is cheaper than RobX at equal validity, and than everything else from 80 % up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from experiments.frontier.curves import Curve
from experiments.frontier.methods import FRUGAL
from experiments.frontier.spec import TIE, Goal
from experiments.spec import ROBX
from robx.metrics.intervals import tail_share

__all__ = ["Against", "Cheaper", "at_equal_validity", "not_below"]

Floats = NDArray[np.float64]

#: Validity from which on Frugal is to lie below every other curve.
FROM = 0.8
LEVEL = 0.95


@dataclass(frozen=True)
class Against:
    """Frugal against RobX from the same base, at the same validity.

    Parameters
    ----------
    scenario, base : str
    goal : Goal
    robx, frugal : float
        The figure, at the cheapest place with the validity; NaN where it is not reached.
    robx_validity, frugal_validity : float
        More than was asked for where a curve begins above it.
    robx_at, frugal_at : str
        Where these places are.
    seen, low, high : float
        The ratio or difference, with a 95 % interval.
    reached : float
        Share of the resamples in which both curves reach the validity: the interval is of these.
    """

    scenario: str
    base: str
    goal: Goal
    robx: float
    frugal: float
    robx_validity: float
    frugal_validity: float
    robx_at: str
    frugal_at: str
    seen: float
    low: float
    high: float
    reached: float

    @property
    def met(self) -> str:
        """Say whether the goal is met; without RobX there is nothing to compare with."""
        if math.isnan(self.robx):
            return "not compared"
        return "met" if self.goal.holds(self.seen) else "missed"


def at_equal_validity(
    scenario: str, curves: Mapping[str, Curve], base: str, goal: Goal, n_seeds: int
) -> Against:
    """Compare Frugal with RobX from the same base.

    All figures are read where L1 cost is least, so that they belong to the same answers.
    """
    robx, frugal = curves.get(base + ROBX), curves.get(base + FRUGAL)
    if robx is None or frugal is None:
        raise ValueError(f"There are no curves of RobX and Frugal from {base} under {scenario!r}.")
    theirs, own = robx.at(goal.at), frugal.at(goal.at)
    before, after = theirs.read(robx.figures[goal.figure]), own.read(frugal.figures[goal.figure])
    compared = after - before if goal.compare == "difference" else _ratio(after, before)
    drawn = compared[1:]
    known = drawn[~np.isnan(drawn)]
    tail = tail_share(LEVEL, n_seeds)
    low, high = np.quantile(known, [tail, 1 - tail]) if len(known) else (np.nan, np.nan)
    return Against(
        scenario,
        base,
        goal,
        float(before[0]),
        float(after[0]),
        float(theirs.read(robx.figures["validity"])[0]),
        float(own.read(frugal.figures["validity"])[0]),
        robx.words(theirs),
        frugal.words(own),
        float(compared[0]),
        float(low),
        float(high),
        len(known) / len(drawn) if len(drawn) else math.nan,
    )


def _ratio(above: Floats, below: Floats) -> Floats:
    ratio = np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
    return np.asarray(ratio)


# --- against everything else ----------------------------------------------------------------------


@dataclass(frozen=True)
class Cheaper:
    """A point of another method, and what Frugal costs at the same validity.

    Parameters
    ----------
    scenario, frugal, other : str
        The change, and the two curves.
    figure : str
    knob : float
        Of the other.
    validity, cost : float
        Of the other.
    frugal_cost : float
        Least cost of Frugal at this validity or more; NaN where Frugal does not reach it.
    """

    scenario: str
    frugal: str
    other: str
    figure: str
    knob: float
    validity: float
    cost: float
    frugal_cost: float

    @property
    def holds(self) -> bool:
        """Whether Frugal lies below, or there."""
        return self.frugal_cost <= self.cost + TIE

    @property
    def excess(self) -> float:
        """How much more Frugal costs."""
        return self.frugal_cost - self.cost


def not_below(
    scenario: str, curves: Mapping[str, Curve], figures: Sequence[str] = ("cost_l1", "n_changes")
) -> list[Cheaper]:
    """Ask of every point of the other methods from 80 % validity up whether Frugal lies below."""
    own = [curve for name, curve in curves.items() if name.endswith(FRUGAL)]
    others = [curve for name, curve in curves.items() if FRUGAL not in name]
    return [
        Cheaper(
            scenario,
            frugal.name,
            other.name,
            figure,
            other.knobs[k],
            float(other.seen("validity")[k]),
            float(other.seen(figure)[k]),
            frugal.least(float(other.seen("validity")[k]), figure),
        )
        for frugal, other, figure in product(own, others, figures)
        for k in np.flatnonzero(other.seen("validity") >= FROM)
    ]

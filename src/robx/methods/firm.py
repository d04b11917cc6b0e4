"""`Firm`: a test that cannot be gamed by pulling a point to the edge of one model.

A point that is optimised against the stability R of one model keeps R and loses what R stood for.
Three things are asked instead, each as a rank among the accepted rows, so that one number, the
level, says how much in any data and for any model:

- under retraining: its steadiness, by how many standard deviations the mean score of retrained
  models is above the threshold, is at least that of a share `level` of the accepted rows;
- under noise: R is at least that of two thirds of this share, or of all of it where there are no
  retrained models;
- among people: the point is no odder than a share `typical` of the accepted rows. Who cannot get
  there is answered without it.

With fewer than ten accepted rows a rank says little, and oddity is not asked about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robx.arrays import Bools, Floats
from robx.methods.realism import Realism
from robx.methods.stable import Stable
from robx.methods.tau import sampled_stability, spread_over
from robx.problem import Problem
from robx.retrained import Panel
from robx.robustness import Noise

#: What is asked under noise beside retrained models, as a part of the level. They tell more about
#: retraining than noise does, so answers of the same validity are cheaper for it; but without any
#: noise, answers come to lie just beside the splits that all models share.
BESIDE_MODELS = 2 / 3


@dataclass(frozen=True, eq=False)
class Firm:
    """A test of points: accepted, stable under noise, steady under retraining, and typical.

    Parameters
    ----------
    stable : Stable
    panel : Panel, optional
        Retrained models.
    least_steadiness : float
        What the panel asks.
    realism : Realism, optional
    most_oddity : float
        What realism allows.
    """

    stable: Stable
    panel: Panel | None = None
    least_steadiness: float = -np.inf
    realism: Realism | None = None
    most_oddity: float = np.inf

    @classmethod
    def at(
        cls,
        problem: Problem,
        noise: Noise,
        level: float,
        panel: Panel | None,
        realism: Realism | None,
        typical: float,
        max_oddity: float | None,
    ) -> Firm:
        """Make the test of a level."""
        values, _ = sampled_stability(problem, noise)
        of_noise = level if panel is None else BESIDE_MODELS * level
        tau = float(np.quantile(values, of_noise)) if len(values) else problem.threshold
        least = -np.inf
        if panel is not None and len(values):
            least = max(0.0, float(np.quantile(_steadiness_of_support(panel), level)))
        most = np.inf
        if realism is not None:
            most = float(np.quantile(realism.own, typical))
            most = most if max_oddity is None else min(most, max_oddity)
        return cls(Stable(problem, tau, noise), panel, least, realism, most)

    @property
    def problem(self) -> Problem:
        """Whose points it is about."""
        return self.stable.problem

    @property
    def key(self) -> Any:
        """See `robx.methods.stable.Test`."""
        return (
            self.stable.key,
            id(self.panel),  # which the problem keeps
            self.least_steadiness,
            id(self.realism),
            self.most_oddity,
        )

    def __call__(self, points: Floats) -> Bools:
        """Tell which points pass: (n,) bool. What is asked last costs most."""
        passed = self.stable(points)
        if self.realism is not None:
            passed[passed] = self.realism.oddity(points[passed]) <= self.most_oddity
        if self.panel is not None:
            passed[passed] = self.panel.steadiness(points[passed]) >= self.least_steadiness
        return passed

    def measured(self, points: Floats) -> dict[str, Floats]:
        """Measure what was asked beyond stability, by name: (n,) each."""
        out = {}
        if self.panel is not None:
            out["steadiness"] = self.panel.steadiness(points)
        if self.realism is not None:
            out["oddity"] = self.realism.oddity(points)
        return out

    def words(self) -> str:
        """Say what is asked."""
        parts = [f"R >= {self.stable.tau:.3g}"]
        if self.panel is not None:
            parts.append(
                f"steadiness >= {self.least_steadiness:.2g} over {len(self.panel)} retrained models"
            )
        if self.realism is not None:
            parts.append(f"oddity <= {self.most_oddity:.3g} where it can be had")
        return ", ".join(parts)


def reason(level: float, typical: float, test: Firm) -> str:
    """Say why a test asks for as much as it does."""
    asked = []
    if test.panel is not None:
        asked.append(f"as steady under retraining as {level:.0%} of the accepted rows")
    of_noise = level if test.panel is None else BESIDE_MODELS * level
    asked.append(f"as stable under noise as {of_noise:.0%} of the accepted rows")
    said = f"level {level:g} asks for answers at least {' and '.join(asked)}"
    if test.realism is not None:
        said += f"; they are to be no odder than {typical:.0%} of them"
    return said


def _steadiness_of_support(panel: Panel) -> Floats:
    """Steadiness of the accepted rows, of many a sample."""
    problem = panel.problem
    rows = problem.support.rows[spread_over(len(problem.support))]
    found: Floats = problem.cached(("steadiness", id(panel)), lambda: panel.steadiness(rows))
    return found

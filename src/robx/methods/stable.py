"""Tests that points must pass: the paper's, and what others are to look like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from robx.arrays import Bools, Floats
from robx.problem import Problem
from robx.robustness import Noise


class Test(Protocol):
    """A condition on points of a problem: they are accepted, and more."""

    @property
    def problem(self) -> Problem:
        """Whose points it is about."""

    @property
    def key(self) -> Any:
        """Tells it from other tests of the same problem."""

    def __call__(self, points: Floats) -> Bools:
        """Tell which points pass: (n,) bool."""


@dataclass(frozen=True, eq=False)
class Stable:
    """The paper's test: a point is accepted, and its stability R is at least tau."""

    problem: Problem
    tau: float
    noise: Noise

    @property
    def key(self) -> Any:
        """See `Test`."""
        return self.noise.key(self.problem.names), self.tau

    def __call__(self, points: Floats) -> Bools:
        """See `Test`."""
        passed = self.problem.accepts(points)
        passed[passed] = self.problem.passes(points[passed], self.tau, self.noise)
        return passed

"""The methods of the frontier by name: a curve each, and a point of it for each knob."""

from __future__ import annotations

from dataclasses import dataclass

import robx
from experiments import methods
from experiments.frontier import frugal
from experiments.frontier.spec import Frontier
from experiments.peers import DiceGenetic, Nice
from experiments.spec import ROBX
from robx.methods.base import Method

__all__ = ["ANY", "DEFAULT", "FRUGAL", "NOISE", "Point", "make", "points"]

#: How curves of Frugal are called, after their bases, and the points that it picks by itself.
FRUGAL, DEFAULT = " +Frugal", " +Frugal, default"
#: Frugal without labels, and Frugal without the condition that answers be typical.
NOISE, ANY = " +Frugal, noise alone", " +Frugal, typical or not"
DICE = "DiCE genetic"


@dataclass(frozen=True)
class Point:
    """A method with one value of its knob.

    Parameters
    ----------
    curve : str
        The method.
    knob : float, optional
        Only for those that have one.
    """

    curve: str
    knob: float | None = None

    def __str__(self) -> str:
        return self.curve if self.knob is None else f"{self.curve} {self.knob:g}"

    @property
    def is_frugal(self) -> bool:
        """Whether it is Frugal."""
        return FRUGAL in self.curve


def points(spec: Frontier, data: str) -> list[Point]:
    """List all points, curve by curve, in the order of their knobs."""
    knobs = spec.knobs[data]
    gammas, taus = (*spec.bases, "NICE"), ("CCF", *(base + ROBX for base in spec.bases))
    return [
        *(Point(curve, knob) for curve in gammas for knob in knobs["gamma"]),
        Point(DICE),
        *(Point(curve, knob) for curve in taus for knob in knobs["tau"]),
        *(Point(base + FRUGAL, knob) for base in spec.bases for knob in knobs["level"]),
        *(
            Point(spec.bases[0] + kind, knob)
            for kind in (NOISE, ANY)
            for knob in knobs["level"][::2]
        ),
        *(Point(base + DEFAULT) for base in spec.bases),
    ]


def make(point: Point, spec: Frontier) -> Method | frugal.Maker:
    """Make the method of a point.

    Examples
    --------
    >>> from experiments.frontier.spec import load_frontier
    >>> make(Point("NN +RobX", 0.6), load_frontier()).tau
    0.6
    """
    if point.curve.endswith(DEFAULT):
        return frugal.with_models(_base(point.curve.removesuffix(DEFAULT), spec), "auto")
    if point.curve == DICE:
        return DiceGenetic()
    if point.knob is None:
        raise ValueError(f"The method {point.curve!r} needs a value of its knob.")
    if point.curve.endswith(FRUGAL):
        return frugal.with_models(_base(point.curve.removesuffix(FRUGAL), spec), point.knob)
    if point.curve.endswith(ANY):
        base = _base(point.curve.removesuffix(ANY), spec)
        return frugal.with_models(base, point.knob, realism=None)
    if point.curve.endswith(NOISE):
        return frugal.with_noise_alone(_base(point.curve.removesuffix(NOISE), spec), point.knob)
    if point.curve == "NICE":
        return Nice(norm=spec.norm, gamma=point.knob)
    if point.curve in methods.BASES:
        return methods.BASES[point.curve](norm=spec.norm, gamma=point.knob)
    return methods.make(methods.Asked(spec.norm, point.curve, repr(point.knob)), 0.0)


def _base(name: str, spec: Frontier) -> Method:
    made: dict[str, type[Method]] = {"NN": robx.NearestNeighbour, "FT": robx.FeatureTweaking}
    return made[name](norm=spec.norm)

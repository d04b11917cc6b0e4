"""What the frontier is made of: `specs/frontier.yaml`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import yaml

import robx
from experiments.settings import SPECS
from experiments.study import Scaling, Train, scenario

__all__ = ["NAME", "TIE", "Change", "Frontier", "Goal", "load_frontier"]

NAME = "frontier"
#: Figures that differ by less are the same.
TIE = 1e-9
Figure = Literal["cost_l1", "n_changes", "lof", "lof_raw"]


@dataclass(frozen=True)
class Change:
    """A model change.

    Parameters
    ----------
    train : {"whole", "half"}
        The part of the training rows that base models see.
    change : {"other-half", "bootstrap", "drop-rows"}
    least : float, optional
        Validity that Frugal's own choice must reach.
    """

    train: Train
    change: Literal["other-half", "bootstrap", "drop-rows"]
    least: float | None = None

    def scenario(self, data: str) -> robx.scenarios.Scenario:
        """Make it."""
        if self.change == "bootstrap":
            return robx.scenarios.Bootstrap()
        return scenario(self.change, data, self.train)


@dataclass(frozen=True)
class Goal:
    """What Frugal must reach against RobX at the same validity.

    Parameters
    ----------
    figure : str
    at : float
        The validity.
    compare : {"ratio", "difference"}
        Frugal's over RobX's, or Frugal's less RobX's.
    most, least : float, optional
        One of them.
    """

    figure: Figure
    at: float
    compare: Literal["ratio", "difference"]
    most: float | None = None
    least: float | None = None

    def __post_init__(self) -> None:
        if (self.most is None) == (self.least is None):
            raise ValueError(f"A goal has a 'most' or a 'least', not both. Got {self!r}.")

    def holds(self, seen: float) -> bool:
        """Whether a ratio or difference reaches it; what is not known does not."""
        if self.most is not None:
            return seen <= self.most + TIE
        return self.least is not None and seen >= self.least - TIE

    def __str__(self) -> str:
        if self.most is not None:
            return f"at most {self.most:g}"
        return f"at least {self.least:g}"


@dataclass(frozen=True)
class Frontier:
    """The methods, their knobs, the changes and the goals.

    Parameters
    ----------
    title : str
    scaling : {"range", "deviation"}
        The unit of each feature.
    norm : {1, 2}
    applicants : int
        For a base model, at most.
    bases : names of methods
        Of RobX and Frugal.
    scenarios : mapping from names to Change
    knobs : mapping from data sets to mappings from knobs to values, which rise
        ``gamma`` of NN, FT and NICE, ``tau`` of CCF and RobX, ``level`` of Frugal.
    goals : Goals
    """

    title: str
    scaling: Scaling
    norm: Literal[1, 2]
    applicants: int
    bases: tuple[Literal["NN", "FT"], ...]
    scenarios: dict[str, Change]
    knobs: dict[str, dict[str, tuple[float, ...]]]
    goals: tuple[Goal, ...]


def load_frontier() -> Frontier:
    """Read the spec; a field that it does not have is an error."""
    text = (SPECS / f"{NAME}.yaml").read_text(encoding="utf-8")
    plain: dict[str, Any] = yaml.safe_load(text)
    plain["bases"] = tuple(plain["bases"])
    plain["scenarios"] = {name: Change(**of) for name, of in plain["scenarios"].items()}
    plain["goals"] = tuple(Goal(**of) for of in plain["goals"])
    plain["knobs"] = {
        data: {name: tuple(values) for name, values in of.items()}
        for data, of in plain["knobs"].items()
    }
    for data, of in plain["knobs"].items():
        for name, values in of.items():
            if list(values) != sorted(set(values)):
                raise ValueError(f"Values of a knob must rise. Those of {name} for {data} do not.")
    return Frontier(**plain)

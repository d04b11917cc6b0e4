"""`Promise`: what may be said of an explainer's answers, and what it was rehearsed on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from robx.errors import InvalidInput
from robx.methods import Method
from robx.parameters import is_number, is_whole
from robx.problem import Problem
from robx.rehearsal.calibration import Calibration
from robx.rehearsal.dials import value_at
from robx.rehearsal.outcome import Choice, Outcome

#: Numbers in a promise that are shares.
SHARES = ("asked", "keep", "rank", "rehearsed", "low", "high", "extended", "answered", "places")


@dataclass(frozen=True)
class Promise:
    """The share of its answers that the next model will keep.

    Parameters
    ----------
    keep : float
        The share that is promised: what was asked for, or the most that can be.
    asked : float
        The share that was asked for.
    change : str
        What the next model is, in words: "trained on as many new rows of the same source".
    dial, value
        The parameter of the method that was chosen for it, and what it is set to.
    rank : float
        Share of the accepted rows that fell short of this value in the trials; 0 where that is not
        known. The value is that of the trials, or the one with this rank among all rows, if that
        asks for more.
    rehearsed, low, high : float
        Share of the rehearsed answers that was kept; in the worst and in the best trial.
    extended : float
        The share that this means for all rows, which are easier than parts of them.
    n_trials, n_answers : int
        Number of trials, and of answers that were judged in them at the chosen setting.
    answered : float
        Share of the people in these trials who were answered.
    places : float
        To how many places their answers lead, in effect, as a part of their number.
    cost : float
        Mean cost of the rehearsed answers.
    calibration : Calibration, optional
        From the mean score of the searching models to what new rows make of an answer.
    """

    keep: float
    asked: float
    change: str
    dial: str
    value: float
    rank: float
    rehearsed: float
    low: float
    high: float
    extended: float
    n_trials: int
    n_answers: int
    answered: float
    places: float
    cost: float
    calibration: Calibration | None = None

    @classmethod
    def of(cls, outcome: Outcome, asked: float, change: str, seed: int) -> Promise:
        """Choose, and say what was rehearsed."""
        choice: Choice = outcome.choose(asked)
        return cls(
            keep=choice.keep,
            asked=asked,
            change=change,
            dial=outcome.dial,
            value=choice.value,
            rank=choice.rank,
            rehearsed=choice.rehearsed,
            low=choice.low,
            high=choice.high,
            extended=choice.extended,
            n_trials=outcome.n_trials,
            n_answers=int((outcome.n_people * choice.answered).sum().round()),
            answered=choice.answered,
            places=choice.places,
            cost=choice.cost,
            calibration=Calibration.of(outcome, seed),
        )

    def carried_over(self, method: Method, problem: Problem) -> Promise:
        """Give the promise for a method on all rows.

        Each setting is that of the trials, or the one with the same rank among the accepted rows,
        if that asks for more.
        """
        known = self.calibration
        if known is not None:
            at = np.array([value_at(method, problem, rank) for rank in known.rank])
            known = replace(known, score=np.maximum.accumulate(np.maximum(known.score, at)))
        value = max(self.value, value_at(method, problem, self.rank))
        return replace(self, value=value, calibration=known)

    @property
    def is_met(self) -> bool:
        """Whether as much is promised as was asked for."""
        return self.keep >= self.asked

    @property
    def sentence(self) -> str:
        """The promise in one sentence."""
        return f"{_percent(self.keep)} of the answers will be kept by a next model {self.change}."

    @property
    def basis(self) -> str:
        """What it rests on, and in what it may fail."""
        said = []
        if not self.is_met:
            said.append(
                f"{_percent(self.asked)} were asked for, and cannot be promised: with these rows "
                f"at most {_percent(self.keep)} can."
            )
        said.append(
            f"This was rehearsed {self.n_trials} times on parts of the training rows: "
            f"{_percent(self.rehearsed)} of {self.n_answers} answers were kept, between "
            f"{_percent(self.low)} and {_percent(self.high)} in single trials. With all rows, "
            f"which are easier, that means {_percent(self.extended)}."
        )
        said.append(
            "It is about all answers together, not about each, and fails if the next model is made "
            "in another way, or if applicants or the rows it is trained on are of another kind."
        )
        return " ".join(said)

    def __str__(self) -> str:
        return f"{self.sentence} {self.basis}"

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values."""
        plain = asdict(self)
        plain["calibration"] = None if self.calibration is None else self.calibration.to_dict()
        return plain

    @classmethod
    def from_dict(cls, plain: Any) -> Promise:
        """Make one from plain values."""
        names = set(cls.__dataclass_fields__)
        if not isinstance(plain, Mapping) or set(plain) != names:
            raise InvalidInput("its promise does not have the fields of one.")
        texts = all(isinstance(plain[name], str) for name in ("change", "dial"))
        shares = all(is_number(plain[name]) and 0 <= plain[name] <= 1 for name in SHARES)
        numbers = all(is_number(plain[name]) for name in ("value", "cost"))
        counts = all(is_whole(plain[name]) for name in ("n_trials", "n_answers"))
        if not (texts and shares and numbers and counts):
            raise InvalidInput("its promise holds numbers that cannot be.")
        known = plain["calibration"]
        calibration = None if known is None else Calibration.from_dict(known)
        return cls(**{**plain, "calibration": calibration})


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"

"""`Cell`: the outcome of one method, under one scenario, for one base model.

Everything that the table shows is computed from cells, so that a log of them is a log of the
evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from robx.answers import Counterfactuals, Status
from robx.arrays import Bools, Floats
from robx.metrics import FittedOutliers
from robx.problem import Problem, coordinates
from robx.retrained import acceptance
from robx.robustness import Noise
from robx.tables import take
from robx.trees import Model

#: Raw outlier factors are cut off here.
MOST_FACTOR = 10.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Measured:
    """Measurements of the answers for n applicants of one base model.

    Parameters
    ----------
    answered : (n,) bool
        Who has an answer whose status is ok.
    accepted : (n,) bool
        Which answers the base model accepts as issued.
    measures : mapping from names to (n,) float64
        Cost, number of changes, stability and outlier factors of each answer.
    seconds : float
        Time per applicant.
    tau : float, optional
        If the method has one.
    """

    answered: Bools
    accepted: Bools
    measures: Mapping[str, Floats]
    seconds: float
    tau: float | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Answers(Measured):
    """The answers of one method for the declined applicants of one base model.

    Parameters
    ----------
    points : table of shape (n, d)
    """

    points: Any

    @classmethod
    def of(
        cls,
        answer: Counterfactuals,
        problem: Problem,
        outliers: Mapping[str, FittedOutliers],
        seconds: float,
    ) -> Answers:
        """Measure the answers of a method, with the same noise for all methods."""
        declined = np.flatnonzero([status != Status.ACCEPTED for status in answer.status])
        table, answered = take(answer.points, declined), answer.ok[declined]
        applicants = problem.read(take(answer.applicants, declined)).matrix
        points = problem.read(table)
        stability = np.full(len(declined), np.nan)
        stability[answered] = problem.gate.stability(points.matrix[answered], Noise()).value
        measures = {
            "cost_l1": problem.rules.cost(points.matrix, applicants, 1),
            "cost_l2": problem.rules.cost(points.matrix, applicants, 2),
            "n_changes": answer.n_changes[declined].astype(np.float64),
            "stability": stability,
        }
        places = coordinates(problem, points.matrix)
        for name, fitted in outliers.items():
            suffix = f"_{name}" if name else ""
            factor = fitted.factor(places)
            measures[f"lof{suffix}"] = fitted.label_of(factor).astype(np.float64)
            # Near repeated rows the factor has no bound: one point must not make up the mean.
            measures[f"lof_raw{suffix}"] = np.minimum(factor, MOST_FACTOR)
        tau = answer.settings.get("tau")
        return cls(
            points=problem.codec.as_trained(table),
            answered=answered,
            accepted=points.score > problem.threshold,
            measures=measures,
            seconds=seconds / max(len(declined), 1),
            tau=tau if isinstance(tau, float) else None,
        )

    def judged_by(self, models: Sequence[Model], threshold: float) -> Bools:
        """Whether each model accepts each answer: (models, n); false where there is no answer."""
        verdicts = np.zeros((len(models), len(self.answered)), dtype=bool)
        if self.answered.any():
            answers = take(self.points, np.flatnonzero(self.answered))
            verdicts[:, self.answered] = acceptance(models, answers, threshold)
        return verdicts


@dataclass(frozen=True, eq=False, kw_only=True)
class Cell(Measured):
    """The answers of one method, and how the models of one scenario judge them.

    Parameters
    ----------
    method, scenario : str
    seed : int
        Seed for the base model.
    later : (models, n) bool
        Which answers each new model accepts.
    n_models : int
        Number of different models among these.
    """

    method: str
    scenario: str
    seed: int
    later: Bools
    n_models: int

    @classmethod
    def of(
        cls,
        method: str,
        scenario: str,
        seed: int,
        answers: Answers,
        models: Sequence[Model],
        threshold: float,
    ) -> Cell:
        """Have new models judge answers."""
        different = {m.digest or id(m) for m in models}
        return cls(
            method=method,
            scenario=scenario,
            seed=seed,
            later=answers.judged_by(models, threshold),
            n_models=len(different),
            **{known.name: getattr(answers, known.name) for known in fields(Measured)},
        )

    def only(self, applicants: Bools) -> Cell:
        """Count only some of the applicants as answered."""
        return replace(self, answered=self.answered & applicants)

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values."""
        measures = {
            name: [value if np.isfinite(value) else None for value in values.tolist()]
            for name, values in self.measures.items()
        }
        bits = {"answered": _as_text(self.answered), "accepted": _as_text(self.accepted)}
        later = [_as_text(row) for row in self.later]
        return {**vars(self), **bits, "later": later, "measures": measures}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Cell:
        """Make a cell from plain values, as `to_dict` gives them."""
        answered, accepted = _as_bools(plain["answered"]), _as_bools(plain["accepted"])
        later = [_as_bools(row) for row in plain["later"]]
        measures = {
            str(name): np.array(values, dtype=np.float64)
            for name, values in plain["measures"].items()
        }
        n = len(answered)
        if any(len(row) != n for row in (accepted, *later, *measures.values())):
            raise ValueError("its rows differ in length")
        return cls(
            method=str(plain["method"]),
            scenario=str(plain["scenario"]),
            seed=int(plain["seed"]),
            answered=answered,
            accepted=accepted,
            later=np.array(later, dtype=bool).reshape(len(later), n),
            n_models=int(plain["n_models"]),
            measures=measures,
            seconds=float(plain["seconds"]),
            tau=None if plain["tau"] is None else float(plain["tau"]),
        )


def _as_text(bits: Bools) -> str:
    return "".join("1" if bit else "0" for bit in bits)


def _as_bools(text: str) -> Bools:
    if set(text) - {"0", "1"}:
        raise ValueError("a flag is neither 1 nor 0")
    return np.array([bit == "1" for bit in text], dtype=bool)

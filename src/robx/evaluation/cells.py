"""`Cell`: the outcome of one method, under one scenario, for one base model.

Everything that the table shows is computed from cells, so that a log of them is a log of the
evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
class Cell:
    """The answers of one method for n applicants of one base model, and how models judge them.

    Parameters
    ----------
    method : str
    seed : int
        Seed for the base model.
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
    scenario : str
    later : (models, n) bool
        Which answers each new model of the scenario accepts.
    n_models : int
        Number of different models among these.
    """

    method: str
    seed: int
    answered: Bools
    accepted: Bools
    measures: Mapping[str, Floats]
    seconds: float
    tau: float | None
    scenario: str = ""
    later: Bools = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))
    n_models: int = 0

    @classmethod
    def unjudged(
        cls,
        method: str,
        seed: int,
        answer: Counterfactuals,
        problem: Problem,
        outliers: Mapping[str, FittedOutliers],
        seconds: float,
    ) -> tuple[Cell, Any]:
        """Measure the answers of a method, all methods with the same noise; give the points too."""
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
        cell = cls(
            method=method,
            seed=seed,
            answered=answered,
            accepted=points.score > problem.threshold,
            measures=measures,
            seconds=seconds / max(len(declined), 1),
            tau=tau if isinstance(tau, float) else None,
        )
        return cell, problem.codec.as_trained(table)

    def judged(
        self,
        scenario: str,
        points: Any,
        models: Sequence[Model],
        threshold: float,
    ) -> Cell:
        """Have the models of a scenario judge the points; they accept none without an answer."""
        later = np.zeros((len(models), len(self.answered)), dtype=bool)
        if self.answered.any():
            answers = take(points, np.flatnonzero(self.answered))
            later[:, self.answered] = acceptance(models, answers, threshold)
        different = {m.digest or id(getattr(m, "model", m)) for m in models}
        return replace(self, scenario=scenario, later=later, n_models=len(different))

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

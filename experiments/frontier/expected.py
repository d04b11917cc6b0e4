"""What the operating point that Frugal picks by itself promises, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

import robx
from experiments.frontier.frugal import certifying
from experiments.frontier.methods import DEFAULT, Point, make
from experiments.frontier.spec import Change, Frontier

__all__ = ["Operating", "operating_points", "rehearsed"]


@dataclass(frozen=True)
class Operating:
    """The point that Frugal picks by itself, under one change.

    Parameters
    ----------
    scenario, base : str
    expected : float
        Validity in the rehearsal.
    came, low, high : float
        Validity that came, with its interval.
    least : float, optional
        What it must reach.
    coverage, cost_l1, n_changes : float
    """

    scenario: str
    base: str
    expected: float
    came: float
    low: float
    high: float
    least: float | None
    coverage: float
    cost_l1: float
    n_changes: float

    @property
    def met(self) -> str:
        """Say whether it reaches what it must."""
        if self.least is None:
            return "no goal"
        return "met" if self.came >= self.least else "missed"


def rehearsed(
    study: robx.Study, spec: Frontier, change: Change, data: str, seeds: Sequence[int]
) -> dict[str, float]:
    """Estimate the validity of each base's default before the model changes.

    It is what the certificates of `robx.explain` say: the share of the models retrained on thirds
    of the base model's rows, and not used in the search, that accept the answers.
    """
    scenario = change.scenario(data)
    found: dict[str, list[float]] = {name: [] for name in spec.bases}
    for seed in seeds:
        first = study.base(study.base_rows(scenario, seed), seed)
        if first.rehearsal is None:
            raise ValueError("A rehearsal needs the training of the base model.")
        for name in spec.bases:
            maker = make(Point(name + DEFAULT), spec)
            method = maker if isinstance(maker, robx.methods.Method) else maker(first.rehearsal)
            answer = method.explain(first.problem, first.applicants)
            certified = robx.certify(first.problem, answer, certifying(first.rehearsal))
            if certified.certificate is not None:
                found[name].append(certified.certificate.share)
    return {base: float(np.mean(each)) if each else np.nan for base, each in found.items()}


def operating_points(
    table: pd.DataFrame, spec: Frontier, expected: dict[str, dict[str, float]]
) -> list[Operating]:
    """Put what was expected beside what came.

    Parameters
    ----------
    table : DataFrame
        As `experiments.frontier.run.wide` gives it.
    spec : Frontier
    expected : mapping from scenarios to bases to validity
    """
    lines = {(line["scenario"], line["method"]): line for line in table.to_dict("records")}
    found = []
    for scenario, change in spec.scenarios.items():
        for base in spec.bases:
            line = lines[scenario, base + DEFAULT]
            found.append(
                Operating(
                    scenario=scenario,
                    base=base,
                    expected=expected[scenario][base],
                    came=float(line["validity"]),
                    low=float(line["low"]),
                    high=float(line["high"]),
                    least=change.least,
                    coverage=float(line["coverage"]),
                    cost_l1=float(line["cost_l1"]),
                    n_changes=float(line["n_changes"]),
                )
            )
    return found

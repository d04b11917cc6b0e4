"""From what came of each applicant to curves, with resamples that all methods share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.frontier.curves import Curve
from experiments.frontier.methods import Point
from robx.evaluation import Cell

__all__ = ["FIGURES", "LEAST_COVERAGE", "curves"]

Floats = NDArray[np.float64]

#: What a curve knows of its points.
FIGURES = ("validity", "cost_l1", "n_changes", "lof", "lof_raw")
#: Points that answer fewer are left out of curves: cost and validity are those of the answered.
LEAST_COVERAGE = 0.95
#: Resamples of the applicants and new models of a base model; resamples of base models draw them.
WITHIN, N_RESAMPLES = 500, 2000


@dataclass(frozen=True, eq=False)
class Draws:
    """How often each applicant and each new model counts, for one base model.

    Parameters
    ----------
    people : (r, n) float64
    models : (r, m) float64
    """

    people: Floats
    models: Floats

    @classmethod
    def of(cls, cell: Cell, rng: np.random.Generator) -> Draws:
        """Count everything once, and then as drawn with replacement: 1 + WITHIN rows."""
        n_models, n = cell.later.shape
        return cls(_counts(n, rng), _counts(n_models, rng))

    def figure(self, cell: Cell, name: str) -> Floats:
        """Work out a figure of a cell: (r,); NaN where nobody who is drawn has an answer."""
        counted = cell.answered.astype(np.float64)
        if name == "validity":
            accepted = np.einsum("rn,mn->rm", self.people * counted, cell.later.astype(np.float64))
            above = (accepted * self.models).sum(axis=1) / self.models.sum(axis=1)
        else:
            values = cell.measures[name]
            counted *= np.isfinite(values)
            above = self.people @ np.where(counted > 0, values, 0.0)
        below = self.people @ counted
        figure = np.divide(above, below, out=np.full(len(below), np.nan), where=below > 0)
        return np.asarray(figure)


def _counts(n: int, rng: np.random.Generator) -> Floats:
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=WITHIN)
    return np.vstack([np.ones(n), drawn]).astype(np.float64)


def curves(cells: Sequence[Cell], points: Sequence[Point], seed: int = 0) -> dict[str, Curve]:
    """Make a curve of each method from the cells of one scenario.

    A resample draws base models with replacement, and for each of them its applicants and its new
    models with replacement; all methods meet the same. Figures are means over base models.

    Parameters
    ----------
    cells : cells of one scenario
        By all points, for all base models.
    points : Points
        In the order of their knobs.
    seed : int
        Of the resamples.
    """
    rng = np.random.default_rng(seed)
    by_name: dict[str, dict[int, Cell]] = {}
    for cell in cells:
        by_name.setdefault(cell.method, {})[cell.seed] = cell
    first = by_name[str(points[0])]
    seeds = sorted(first)
    draws = {base: Draws.of(first[base], rng) for base in seeds}
    # Row 0 is what was seen: each base model once, with each of its applicants and models once.
    which = rng.integers(len(seeds), size=(N_RESAMPLES, len(seeds)))
    within = rng.integers(1, WITHIN + 1, size=which.shape)
    which = np.vstack([np.arange(len(seeds)), which])
    within = np.vstack([np.zeros(len(seeds), dtype=np.int64), within])

    found: dict[str, list[tuple[float, dict[str, Floats]]]] = {}
    for point in points:
        own = by_name[str(point)]
        if np.mean([own[base].answered.mean() for base in seeds]) < LEAST_COVERAGE:
            continue
        figures = {}
        for name in FIGURES:
            each = np.array([draws[base].figure(own[base], name) for base in seeds])
            figures[name] = each[which, within].mean(axis=1)
        knob = np.nan if point.knob is None else point.knob
        found.setdefault(point.curve, []).append((knob, figures))
    return {
        curve: Curve(
            curve,
            tuple(knob for knob, _ in some),
            {name: np.array([figures[name] for _, figures in some]) for name in FIGURES},
        )
        for curve, some in found.items()
    }

"""From cells to one tidy table: every metric with an interval, for each base model and for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from robx.arrays import Floats
from robx.evaluation.cells import Cell
from robx.metrics import Interval, Resamples, end_to_end
from robx.metrics.intervals import mean_of_ratios

COLUMNS = ["method", "scenario", "seed", "metric", "value", "low", "high"]


class Figure(NamedTuple):
    """A metric made of ratios of sums over applicants.

    `parts` are averaged with `weights`, and `combine` makes one figure of the resulting ratios.
    """

    parts: Callable[[Cell], Any]
    weights: Callable[[Cell], Any] = attrgetter("answered")
    combine: Callable[[Floats], Floats] = mean_of_ratios


def _minimum(ratios: Floats) -> Floats:
    return np.asarray(ratios.min(axis=0))


def _everyone(cell: Cell) -> Any:
    return np.ones(len(cell.answered))


FIGURES = {
    "coverage": Figure(attrgetter("answered"), _everyone),
    "base_validity": Figure(attrgetter("accepted")),
    "validity": Figure(lambda cell: cell.later.mean(axis=0)),
    "worst_model_validity": Figure(attrgetter("later"), combine=_minimum),
    "all_models_validity": Figure(lambda cell: cell.later.all(axis=0)),
    "end_to_end": Figure(
        lambda cell: [cell.answered, cell.accepted, cell.later.mean(axis=0)],
        lambda cell: [_everyone(cell), cell.answered, cell.answered],
        lambda ratios: end_to_end(ratios[0], ratios[1], ratios[2]),
    ),
}


def tabulate(
    cells: Sequence[Cell], methods: Sequence[str], scenarios: Sequence[str], *, common: bool
) -> pd.DataFrame:
    """Make the table of an evaluation.

    Parameters
    ----------
    cells : cells of all methods, scenarios and seeds
    methods, scenarios : names, in the order of the table
    common : bool
        Whether only the applicants whom all methods answer count.
    """
    rows: list[tuple[Any, ...]] = []
    drawn: dict[tuple[int, ...], Resamples] = {}  # shared by all figures of the same applicants
    for scenario in scenarios:
        for method in methods:
            own = [c for c in cells if (c.method, c.scenario) == (method, scenario)]
            counted = [_shared(cell, cells) for cell in own] if common else own
            groups: list[tuple[Any, list[int]]] = [(c.seed, [k]) for k, c in enumerate(own)]
            groups.append(("all", list(range(len(own)))))
            for seed, places in groups:
                some = [own[k] for k in places], [counted[k] for k in places]
                for metric, interval in _intervals(*some, drawn):
                    rows.append((method, scenario, seed, metric, *interval))
    return pd.DataFrame(rows, columns=COLUMNS)


def _shared(cell: Cell, cells: Sequence[Cell]) -> Cell:
    """Count only the applicants whom all methods answer, under the same scenario and base model."""
    beside = [c.answered for c in cells if (c.scenario, c.seed) == (cell.scenario, cell.seed)]
    return cell.only(np.all(beside, axis=0))


def _intervals(
    own: list[Cell], counted: list[Cell], drawn: dict[tuple[int, ...], Resamples]
) -> Iterator[tuple[str, Interval]]:
    """Compute every metric of the cells of one or more base models."""
    sizes = tuple(len(cell.answered) for cell in own)
    if sizes not in drawn:
        drawn[sizes] = Resamples(sizes)
    resamples = drawn[sizes]
    measures = {name: _measure(name) for name in own[0].measures}
    for name, figure in {**FIGURES, **measures}.items():
        # These two are about all applicants.
        cells = own if name in {"coverage", "end_to_end"} else counted
        parts = [figure.parts(cell) for cell in cells]
        weights = [figure.weights(cell) for cell in cells]
        # Resampling makes a minimum of shares too low.
        centred = figure.combine is _minimum
        yield name, resamples.interval(parts, weights, combine=figure.combine, centred=centred)
    yield "seconds", _of_models(resamples, [cell.seconds for cell in own])
    if all(cell.tau is not None for cell in own):
        yield "tau", _of_models(resamples, [cell.tau for cell in own])
    yield "n_applicants", _count(sum(sizes))
    yield "n_answered", _count(sum(int(cell.answered.sum()) for cell in counted))
    yield "n_models", _count(sum(cell.n_models for cell in own))


def _count(number: int) -> Interval:
    return Interval(float(number), float(number), float(number))


def _measure(name: str) -> Figure:
    return Figure(
        lambda cell: cell.measures[name],
        lambda cell: cell.answered & np.isfinite(cell.measures[name]),
    )


def _of_models(resamples: Resamples, values: Sequence[Any]) -> Interval:
    """Pool what belongs to base models, not to applicants."""
    each = [np.full(size, value) for size, value in zip(resamples.sizes, values, strict=True)]
    return resamples.interval(each)

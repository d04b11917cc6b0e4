"""From cells to one tidy table: every metric, for each base model and for all, with an interval."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from robx.arrays import Floats
from robx.evaluation.cells import Cell
from robx.metrics import Interval, Resamples, end_to_end

COLUMNS = ["method", "scenario", "seed", "metric", "value", "low", "high"]


class Figure(NamedTuple):
    """A metric as ratios of sums over applicants: what is averaged, over whom, made one how."""

    parts: Callable[[Cell], Any]
    weights: Callable[[Cell], Any]
    combine: Callable[[Floats], Floats]


def _only(ratios: Floats) -> Floats:
    return np.asarray(ratios[0])


def _least(ratios: Floats) -> Floats:
    return np.asarray(ratios.min(axis=0))


def _answered(cell: Cell) -> Any:
    return cell.answered


def _everyone(cell: Cell) -> Any:
    return np.ones(len(cell.answered))


FIGURES = {
    "coverage": Figure(_answered, _everyone, _only),
    "base_validity": Figure(lambda cell: cell.accepted, _answered, _only),
    "validity": Figure(lambda cell: cell.later.mean(axis=0), _answered, _only),
    "worst_model_validity": Figure(lambda cell: cell.later, _answered, _least),
    "all_models_validity": Figure(lambda cell: cell.later.all(axis=0), _answered, _only),
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
        Whether only applicants count whom all methods answer.
    """
    rows: list[tuple[Any, ...]] = []
    drawn: dict[tuple[int, ...], Resamples] = {}  # all figures of the same people share resamples
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
    """Count only whom all methods answer, under the same scenario and base model."""
    place = (cell.scenario, cell.seed)
    beside = [other.answered for other in cells if (other.scenario, other.seed) == place]
    return cell.only(np.all(beside, axis=0))


def _intervals(
    own: list[Cell], counted: list[Cell], drawn: dict[tuple[int, ...], Resamples]
) -> Iterator[tuple[str, Interval]]:
    """Work out every metric of the cells of one or more base models."""
    sizes = tuple(len(cell.answered) for cell in own)
    if sizes not in drawn:
        drawn[sizes] = Resamples(sizes)
    resamples = drawn[sizes]
    whole = {"coverage", "end_to_end"}  # these speak of everyone who asks
    measures = {name: _measure(name) for name in own[0].measures}
    for name, figure in {**FIGURES, **measures}.items():
        cells = own if name in whole else counted
        parts = [figure.parts(cell) for cell in cells]
        weights = [figure.weights(cell) for cell in cells]
        # The least of resampled shares is too low by itself.
        centred = figure.combine is _least
        yield name, resamples.interval(parts, weights, combine=figure.combine, centred=centred)
    yield "seconds", _of_models(resamples, [cell.seconds for cell in own])
    if all(cell.tau is not None for cell in own):
        yield "tau", _of_models(resamples, [cell.tau for cell in own])
    yield "n_applicants", _count(sum(len(cell.answered) for cell in own))
    yield "n_answered", _count(sum(int(cell.answered.sum()) for cell in counted))
    yield "n_models", _count(sum(cell.n_models for cell in own))


def _count(number: int) -> Interval:
    return Interval(float(number), float(number), float(number))


def _measure(name: str) -> Figure:
    return Figure(
        lambda cell: cell.measures[name],
        lambda cell: cell.answered & np.isfinite(cell.measures[name]),
        _only,
    )


def _of_models(resamples: Resamples, values: Sequence[Any]) -> Interval:
    """Pool what belongs to base models, not to applicants."""
    each = [np.full(size, value) for size, value in zip(resamples.sizes, values, strict=True)]
    return resamples.interval(each)

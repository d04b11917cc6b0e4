"""Transformers that robx does not know: whether they go column by column, found by trying.

Rows of the raw table are sent through the pipeline with one column changed at a time. A column of
the model is made of one raw column if it changes with no other, and if the same value of that one
gives the same, whatever row it stands in and whatever other rows come with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from robx.arrays import Floats, same
from robx.errors import RobxError
from robx.tables import Column, read_matrix
from robx.trees.ensemble import TreeEnsemble
from robx.trees.pipelines.asking import densely, transformed
from robx.trees.pipelines.samples import Sample
from robx.trees.pipelines.tracing import Facts, Flow
from robx.trees.reasons import CannotFold

#: Rows into which values are put, and values of each column that are put into them.
N_ROWS, N_VALUES = 40, 24
TOLERANCE = 1e-6


def probed(
    steps: Sequence[Any], model: TreeEnsemble, names: Sequence[str], sample: Sample, what: str
) -> tuple[list[Flow], list[Facts]]:
    """Find by trying which raw column each column of the model is made of.

    Parameters
    ----------
    steps : sequence of transformers
    model : TreeEnsemble
    names : sequence of str
        Of the raw columns.
    sample : Sample
    what : str
        The step that is not known, for the reason where this fails.

    Raises
    ------
    CannotFold
        If a column is made of several, or of the other rows as well.
    """
    front = _Front(steps, model)
    frame = sample.frame[list(names)].reset_index(drop=True)
    rng = np.random.default_rng(0)
    base = frame.iloc[rng.integers(0, len(frame), N_ROWS)].reset_index(drop=True)
    read = front.ask(base, what)
    fewer = front.ask(base.iloc[::-2].reset_index(drop=True), what)
    if not same(fewer, read[::-2]).all():
        raise CannotFold(f"{what} looks at other rows as well")
    sources = np.full(len(model.columns), -1)
    for j, name in enumerate(names):
        values = frame[name].iloc[_spread(frame[name], rng)]
        tried = pd.concat([base] * N_VALUES, ignore_index=True)
        tried[name] = values.repeat(N_ROWS).set_axis(tried.index)
        found = front.ask(tried, what).reshape(N_VALUES, N_ROWS, -1)
        own = ~same(found, np.broadcast_to(read, found.shape)).all(axis=(0, 1))
        if (own & (sources >= 0)).any():
            raise CannotFold(f"{what} mixes columns")
        if not same(found, found[:, :1])[:, :, own].all():
            raise CannotFold(f"{what} mixes columns")
        sources[own] = j
    # What nothing changes is taken for a function of the first column, which does not matter.
    flows = [Flow(max(int(j), 0), "steps", exact=False) for j in sources]
    return flows, [_facts(sample, j, name) for j, name in enumerate(names)]


def _spread(column: Any, rng: np.random.Generator) -> Any:
    """Rows in which a column has values all over: from the least to the largest, and any."""
    picks = rng.integers(0, len(column), N_VALUES // 2)
    order = np.argsort(column.astype(str) if column.dtype.kind not in "biuf" else column)
    ends = np.linspace(0, len(column) - 1, N_VALUES - len(picks)).astype(np.intp)
    return np.concatenate([picks, np.asarray(order)[ends]])


def check_whole(
    steps: Sequence[Any], model: TreeEnsemble, folded: TreeEnsemble, sample: Sample, what: str
) -> None:
    """Compare scores on all rows of a sample, and on rows mixed from their columns.

    Raises
    ------
    CannotFold
        If one differs.
    """
    front, frame = _Front(steps, model), sample.frame[list(folded.names)].reset_index(drop=True)
    rng = np.random.default_rng(1)
    mixed = pd.DataFrame(
        {name: frame[name].iloc[rng.permutation(len(frame))].array for name in frame.columns}
    )
    for rows in (frame, mixed):
        refused: dict[int, str] = {}
        numbers = read_matrix(rows, folded.columns, named=folded.named, reasons=refused)
        read = front.ask(rows, what)
        read[list(refused)] = numbers[list(refused)] = 0.0
        for k, column in enumerate(model.columns):
            if column.missing_range is not None and not column.is_category:
                low, high = column.missing_range
                read[(read[:, k] >= low) & (read[:, k] <= high), k] = np.nan
        differs = np.abs(model.score_matrix(read) - folded.score_matrix(numbers)) > TOLERANCE
        differs[list(refused)] = False
        if differs.any():
            raise CannotFold(f"{what} mixes columns")


def _facts(sample: Sample, j: int, name: str) -> Facts:
    facts = Facts(is_odd=True)
    labels = sample.labels(name, j)
    if labels is None:
        facts.is_number = True
    else:  # of others nothing is known
        facts.categories.append(labels)
        facts.refuses.add("unseen")
    return facts


class _Front:
    """The transformers, and the model's reading of what they give."""

    def __init__(self, steps: Sequence[Any], model: TreeEnsemble) -> None:
        self.steps, self.model = steps, model
        self.columns = [
            c if c.is_category else Column(c.name, blank=c.blank) for c in model.columns
        ]

    def ask(self, table: Any, what: str) -> Floats:
        try:
            table = densely(transformed(self.steps, table), self.model)
            return read_matrix(table, self.columns, named=self.model.named, own=True)
        except RobxError as error:
            raise CannotFold(f"{what} gives what the model does not read: {error}") from error
        except Exception as error:
            raise CannotFold(f"{what} refuses rows that robx tries") from error

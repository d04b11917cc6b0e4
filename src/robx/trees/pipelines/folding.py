"""`fold`: a fitted pipeline becomes a `TreeEnsemble` over its raw columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import sklearn

from robx.arrays import Floats
from robx.tables import Category, Column
from robx.trees.category_names import UnnamedCategories
from robx.trees.ensemble import TreeEnsemble
from robx.trees.model import Model
from robx.trees.pipelines.asking import Asker, RawColumn
from robx.trees.pipelines.categories import (
    Reading,
    plain_categories,
    read_categories,
    read_missing,
)
from robx.trees.pipelines.lines import FAR, wide_grid
from robx.trees.pipelines.numbers import Sides, Splits, find_sides, limits_of, search_together
from robx.trees.pipelines.probing import check_whole, probed
from robx.trees.pipelines.samples import Sample
from robx.trees.pipelines.tracing import Facts, Flow, Trace, is_sampler
from robx.trees.reasons import CannotFold, named
from robx.trees.rewriting import Cut, rewritten

#: Imports the last step of a pipeline.
ImportLast = Callable[[Any, Category | None, object | None, Sequence[Any]], Model]
#: Numbers that are tried where the pipeline must be given one, all columns alike.
BASES = (1.0, 0.0, 0.5, 2.0)
LARGEST = float(np.finfo(np.float64).max)


def fold(
    pipeline: Any, target: Category | None, import_last: ImportLast, X: Any = None
) -> TreeEnsemble:
    """Fold a fitted pipeline into the trees of its last step.

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline
    target : label, optional
        See `robx.import_model`.
    import_last : function
        Imports the last step.
    X : table, optional
        Rows like those that the pipeline was fitted on. They tell in which dtype columns are
        stored, and let transformers be tried that robx does not know.

    Raises
    ------
    CannotFold
        If a step does not become splits on raw columns.
    """
    last = pipeline.steps[-1][1]
    steps = [(n, s) for n, s in pipeline.steps[:-1] if not is_sampler(s) and not _is_nothing(s)]
    try:
        model = import_last(last, target, None, ())
    except UnnamedCategories:  # they have their names in the table that reaches the model
        if X is None:
            raise
        model = import_last(last, target, None, (_transformed(steps, X),))
    if model.trees is None:
        why = model.why.partition(": ")[2].rstrip(".")
        raise CannotFold(why or f"its last step ({type(last).__name__}) is not a tree ensemble")
    if not steps:
        return model.trees
    return _Folding(steps, model.trees, None if X is None else Sample(X)).result()


def _transformed(steps: Sequence[tuple[str, Any]], X: Any) -> Any:
    """Give what the transformers make of a table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, step in steps:
            try:
                X = step.transform(X)
            except Exception as error:
                raise CannotFold(f"{named(step, name)} does not take the table") from error
    return X


def _is_nothing(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


@dataclass(frozen=True)
class _Plan:
    """What the raw columns are to the pipeline, by position.

    Parameters
    ----------
    ignored, copied, numbers : lists of int
        Columns that nothing reads; that reach the model as they stand; other numbers.
    categories : mapping from columns to categories
    """

    ignored: list[int]
    copied: list[int]
    numbers: list[int]
    categories: dict[int, tuple[Category, ...]]


class _Folding:
    """One pipeline on its way to an ensemble.

    Parameters
    ----------
    steps : sequence of (str, transformer)
        All that transform.
    model : TreeEnsemble
        The last step.
    sample : Sample, optional
    """

    def __init__(
        self, steps: Sequence[tuple[str, Any]], model: TreeEnsemble, sample: Sample | None
    ) -> None:
        self.model, self.sample = model, sample
        self.tried = ""
        self.names, self.named = _raw_names(steps[0][1], steps[0][0], sample)
        self.flows, self.facts = self._traced(steps)
        if len(self.flows) != len(model.columns):
            raise CannotFold(
                f"its model takes {len(model.columns)} columns where robx expects {len(self.flows)}"
            )
        self.source = f"scikit-learn {sklearn.__version__} Pipeline of {model.source}"
        plan = self._plan()
        self.asker = self._asker(steps, plan)
        if plan.copied and self.asker.zero_is_missing:
            plan = replace(plan, copied=[], numbers=sorted([*plan.numbers, *plan.copied]))
        self.plan = plan

    def _traced(self, steps: Sequence[tuple[str, Any]]) -> tuple[list[Flow], list[Facts]]:
        """Follow the columns through the steps; where one is not known, try it."""
        trace = Trace(len(self.names))
        flows = trace.start()
        try:
            for name, step in steps:
                flows = trace.through(step, flows, name)
        except CannotFold as cannot:
            if not (cannot.unknown and self.sample is not None and self.named):
                raise
            self.tried = cannot.unknown
            transformers = [step for _, step in steps]
            return probed(transformers, self.model, self.names, self.sample, self.tried)
        for j, name in enumerate(self.names):
            if self.sample is not None and self.sample.holds_none(name, j):
                trace.facts[j].blank = None
        return flows, trace.facts

    # --- what the columns are ---------------------------------------------------------------------

    def _plan(self) -> _Plan:
        plan = _Plan([], [], [], {})
        for j, name in enumerate(self.names):
            facts, own = self.facts[j], self._own(j)
            # What a selector drops has still to be read by the steps before it.
            if not own and not facts.categories and not facts.is_number:
                plan.ignored.append(j)
                continue
            if own and all(flow.exact for _, flow in own):
                plan.copied.append(j)
                continue
            for k, flow in own:
                column = self.model.columns[k]
                if column.is_category and flow.manner == "same":
                    facts.categories.append(list(column.categories or range(column.n_codes)))
                elif flow.manner in {"same", "monotone"}:
                    facts.is_number = True
            # A number of which an encoder takes some values only is a category to all steps.
            is_listed = bool(facts.categories) and "unseen" in facts.refuses
            if (facts.is_number and not is_listed) or not facts.categories:
                facts.knots += _as_knots(name, facts.categories)
                plan.numbers.append(j)
            else:
                plan.categories[j] = plain_categories(name, facts.categories)
        return plan

    def _own(self, j: int) -> list[tuple[int, Flow]]:
        """Columns of the model that are made of a raw column."""
        return [(k, flow) for k, flow in enumerate(self.flows) if flow.raw == j]

    def _asker(self, steps: Sequence[tuple[str, Any]], plan: _Plan) -> Asker:
        """Find a row that the pipeline takes, and ask it for the first time."""
        sources = [flow.raw for flow in self.flows]
        transformers = [step for _, step in steps]
        for base in BASES:
            raw = [self._raw(j, name, base, plan) for j, name in enumerate(self.names)]
            asker = Asker(transformers, self.model, raw, sources, self.named)
            if asker.attempt({}) is not None:
                return asker
        raise CannotFold("robx finds no row of numbers that it takes")

    def _raw(self, j: int, name: str, base: float, plan: _Plan) -> RawColumn:
        if j in plan.categories:
            known = plan.categories[j]
            is_text = not known or isinstance(known[0], str)
            dtype = np.dtype(object) if is_text else "fitting"
            return RawColumn(name, known[0] if known else None, dtype)
        if j in plan.copied:
            column = self.model.columns[self._own(j)[0][0]]
            if column.is_category and column.categories and not column.by_value:
                listed = pd.CategoricalDtype(list(column.categories))
                return RawColumn(name, column.categories[0], listed)
            if column.is_category:
                return RawColumn(name, column.categories[0] if column.categories else 0.0)
        dtype = np.dtype(np.float64)
        if self.sample is not None:
            dtype = self.sample.number_dtype(name, j)
        return RawColumn(name, base, dtype)

    # --- all columns ------------------------------------------------------------------------------

    def result(self) -> TreeEnsemble:
        """Ask about every split, and write the trees anew."""
        plan, asker = self.plan, self.asker
        columns: list[Column] = [Column(name, is_ignored=True) for name in self.names]
        cuts: dict[int, Cut] = {}
        for j in plan.copied:
            columns[j] = self._copied_column(j)
            cuts |= self._copied_cuts(j)
        readings = read_categories(asker, plan.categories, self.facts)
        for j, reading in readings.items():
            columns[j] = self._category_column(j, reading)
            cuts |= self._category_cuts(j, reading)
        missing = read_missing(asker, plan.numbers)
        limits = limits_of(asker, {j: self._grid(j) for j in plan.numbers})
        self._check_sources(limits)
        found = self._sides(limits)
        for j in plan.numbers:
            lost = missing[j]
            columns[j] = _number_column(self.names[j], limits[j], lost is not None)
            splits = self._splits(j)
            lost_left = self._left_of(splits, lost)
            for k, s in enumerate(self._split_ids(j)):
                side = found[j][k]
                cuts[s] = Cut(j, bool(lost_left[k]), side.ends, side.first_left)
        every = [cuts[s] for s in range(len(self.model.split_feature))]
        folded = rewritten(self.model, every, columns, self.named, self.source)
        if self.tried and self.sample is not None:
            check_whole(asker.steps, self.model, folded, self.sample, self.tried)
        return folded

    def _split_ids(self, j: int) -> list[int]:
        """Numbers of the model's splits on columns that are made of a raw column."""
        own = [k for k, _ in self._own(j)]
        return [int(s) for s in np.flatnonzero(np.isin(self.model.split_feature, own))]

    def _splits(self, j: int) -> Splits:
        e, ids = self.model, self._split_ids(j)
        column = e.split_feature[ids].astype(np.int64)
        marked = [self.asker.marked(k) or (np.nan, np.nan) for k in column.tolist()]
        bits = np.unpackbits(e.category_bits.view(np.uint8), axis=1, bitorder="little")
        return Splits(
            column,
            e.split_threshold[ids],
            e.split_missing_left[ids],
            e.split_category[ids].astype(np.int64),
            bits.astype(bool),
            np.array(marked, dtype=np.float64).reshape(-1, 2),
        )

    def _left_of(self, splits: Splits, read: Floats | None) -> Any:
        """Which splits a single row goes left at; anywhere if it is refused."""
        if read is None:
            return np.zeros(len(splits), dtype=bool)
        return splits.go_left(read[splits.column], slice(None))

    # --- columns that reach the model as they stand -----------------------------------------------

    def _copied_column(self, j: int) -> Column:
        several = [replace(self.model.columns[k], name=self.names[j]) for k, _ in self._own(j)]
        if any(column != several[0] for column in several):
            raise CannotFold(f"column '{self.names[j]}' reaches its model twice, in different ways")
        return replace(several[0], blank=" ")

    def _copied_cuts(self, j: int) -> dict[int, Cut]:
        splits, cuts = self._splits(j), {}
        n_codes = self.model.columns[self._own(j)[0][0]].n_codes
        for k, s in enumerate(self._split_ids(j)):
            lost, row = bool(splits.missing_left[k]), int(splits.codes[k])
            if row >= 0:
                cuts[s] = Cut(j, lost, codes=splits.bits[row, : n_codes + 1])
            else:
                cuts[s] = Cut(j, lost, splits.threshold[k : k + 1], first_left=True)
        return cuts

    # --- categories -------------------------------------------------------------------------------

    def _category_column(self, j: int, reading: Reading) -> Column:
        categories = self.plan.categories[j]
        refused = self.asker.refused_cells(reading.known)[:, self.asker.columns_of[j]]
        if refused.any():
            raise CannotFold(f"its model refuses a category of column '{self.names[j]}'")
        return Column(
            self.names[j],
            n_codes=max(len(categories), 1),
            categories=categories,
            by_value=True,
            takes_unseen=reading.unseen is not None,
            takes_missing=reading.missing is not None,
        )

    def _category_cuts(self, j: int, reading: Reading) -> dict[int, Cut]:
        splits, n_codes = self._splits(j), max(len(reading.known), 1)
        codes = np.zeros((n_codes + 1, len(splits)), dtype=bool)
        codes[: len(reading.known)] = splits.go_left(reading.known[:, splits.column], slice(None))
        codes[n_codes] = self._left_of(splits, reading.unseen)
        lost = self._left_of(splits, reading.missing)
        return {
            s: Cut(j, bool(lost[k]), codes=codes[:, k]) for k, s in enumerate(self._split_ids(j))
        }

    # --- numbers ----------------------------------------------------------------------------------

    def _grid(self, j: int) -> Floats:
        facts, values = self.facts[j], np.zeros(0)
        if facts.is_odd and self.sample is not None:
            values = self.sample.numbers(self.names[j], j)
            values = np.concatenate([values, (values[1:] + values[:-1]) / 2])
        return wide_grid([*facts.knots, self.asker.raw[j].base], values)

    def _check_sources(self, limits: dict[int, tuple[float, float]]) -> None:
        """Make sure that no column of the model changes with a raw column that is not its own."""
        tries: list[tuple[int, Any]] = []
        for j, known in self.plan.categories.items():
            tries += [(j, value) for value in known[:4]]
        for j, (low, high) in limits.items():
            tries += [
                (j, value) for value in (low / 2 + high / 2, -3.0, 7.0) if low <= value <= high
            ]
        if not tries:
            return
        base = self.asker.ask({})[0]
        values: dict[int, list[Any]] = {}
        for row, (j, value) in enumerate(tries):
            kept = values.setdefault(j, [])
            kept += [self.asker.raw[j].base] * (row - len(kept)) + [value]
        read = self.asker.ask(values)
        for row, (j, _) in enumerate(tries):
            differs = ~((read[row] == base) | (np.isnan(read[row]) & np.isnan(base)))
            others = np.setdiff1d(np.flatnonzero(differs), self.asker.columns_of[j])
            if len(others):
                raise CannotFold(f"column '{self.names[j]}' has a say in columns of others")

    def _sides(self, limits: dict[int, tuple[float, float]]) -> dict[int, list[Sides]]:
        grids = {}
        for j, (low, high) in limits.items():
            grid = self._grid(j)
            grids[j] = np.unique([low, *grid[(grid > low) & (grid < high)], high])
        marked = {j: marks for j in grids if (marks := self._marks(j)) is not None}
        for j, sides in search_together(
            self.asker, {j: find_sides(marks, grids[j]) for j, marks in marked.items()}
        ).items():
            ends = np.concatenate([side.ends for side in sides])
            grids[j] = np.unique([*grids[j], *ends, *np.nextafter(ends, np.inf)])
        return search_together(
            self.asker, {j: find_sides(self._splits(j), grid) for j, grid in grids.items()}
        )

    def _marks(self, j: int) -> Splits | None:
        """Splits at the ends of the numbers that mean "missing" to the model."""
        splits = self._splits(j)
        keep = np.flatnonzero(~np.isnan(splits.marked[:, 0]))
        if not len(keep):
            return None
        low, high = splits.marked[keep].T
        n = 2 * len(keep)
        return Splits(
            np.tile(splits.column[keep], 2),
            np.concatenate([np.nextafter(low, -np.inf), high]),
            np.zeros(n, dtype=bool),
            np.full(n, -1),
            splits.bits,
            np.full((n, 2), np.nan),
        )


def _raw_names(step: Any, where: str, sample: Sample | None) -> tuple[list[str], bool]:
    """Names of the raw columns, and whether the pipeline was fitted on a frame."""
    names = getattr(step, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names], True
    n_columns = getattr(step, "n_features_in_", None)
    if n_columns is None and sample is not None and sample.layout.kind == "pandas":
        return list(sample.names), True
    if n_columns is None:
        raise CannotFold(f"{named(step, where)} does not say which columns it was fitted on")
    return [f"x{j}" for j in range(int(n_columns))], False


def _as_knots(name: str, lists: Sequence[Sequence[Any]]) -> list[float]:
    """Categories of a column that is also a number."""
    known = plain_categories(name, lists)
    if any(isinstance(value, str) for value in known):
        raise CannotFold(f"column '{name}' is text to one step and a number to another")
    return [float(value) for value in known]


def _number_column(name: str, limits: tuple[float, float], takes_missing: bool) -> Column:
    low, high = limits
    largest = min(-low, high)
    if largest >= FAR:
        return Column(name, takes_missing=takes_missing, largest=largest)
    return Column(name, takes_missing=takes_missing, largest=LARGEST, limits=limits)

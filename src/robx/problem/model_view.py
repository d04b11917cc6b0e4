"""`ModelView`: a model as a problem asks it, about points in the schema's numbers.

Points are (n, d) float64 in the model's order of columns: numbers as they are, levels and
categories by `Feature.level_numbers`, missing values as NaN. What a tree ensemble's splits are
written in differs where columns are categories, or where some number means "missing" to the model;
a black box takes a table. Nothing outside of this module asks which of the two a model is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from robx.arrays import Bools, Floats, same
from robx.errors import InvalidInput, RobxError, RobxWarning, warn_caller
from robx.parallel import in_threads
from robx.parameters import listed
from robx.recent import Recent
from robx.robustness import Noise
from robx.robustness.draws import Draws
from robx.robustness.noise import spread_of
from robx.robustness.probe import EnsembleProbe, Probe, open_probe
from robx.schema import Codec, Feature, Rules, Schema
from robx.schema.codec import MOST_LAYOUTS
from robx.schema.guess import guess_features
from robx.schema.unlisted import NO_WORDS, Word, Words
from robx.tables import (
    Category,
    Column,
    Layout,
    Table,
    as_named_frame,
    check_columns,
    column_names,
    count_rows,
    number_column,
    number_limits,
    positions,
    read_label,
    read_matrix,
    take,
)
from robx.trees import BlackBox, Model, TreeEnsemble
from robx.trees.screen import may_exceed

#: Training rows on which the model's own reading is compared with ours.
SAMPLE = 512
#: By column, the schema's numbers of its levels, and an ensemble's codes for them.
Codes = dict[int, tuple[Floats, Floats]]
#: Rows that are looked at, or scored by a thread, at a time.
ROWS_AT_ONCE, SCORED_AT_ONCE = 2**14, 1024


class ModelView(ABC):
    """What a problem asks of a model.

    Parameters
    ----------
    model : Model
    codec : Codec
        Translates between tables and the schema's numbers.

    Attributes
    ----------
    trees : TreeEnsemble, optional
        The trees, where they are known: what a method needs that looks into them.
    columns : tuple of Column
        What the model says of its columns; empty where it says nothing.
    stored_draws : tuple of Draws
        Draws that came in a file, to be used in place of new ones.
    """

    trees: TreeEnsemble | None = None
    columns: tuple[Column, ...] = ()
    stored_draws: tuple[Draws, ...] = ()

    @cached_property
    def missing_ranges(self) -> Floats:
        """From where to where numbers mean "missing": (d, 2) float64, NaN where none do."""
        ranges = [column.missing_range or (np.nan, np.nan) for column in self.columns]
        return np.array(ranges, dtype=np.float64).reshape(-1, 2)

    @cached_property
    def needs_reading(self) -> bool:
        """Whether what the model reads differs from the schema's numbers in any column."""
        return any(column.needs_settling for column in self.columns)

    def __init__(self, model: Model, codec: Codec) -> None:
        self.model, self.codec = model, codec
        #: For each column that is split by category, the schema's numbers for its levels,
        #: ascending, and the model's codes for them.
        self.codes: dict[int, tuple[Floats, Floats]] = {}
        self.names = tuple(feature.name for feature in codec.features)

    @staticmethod
    def of(model: Model, codec: Codec, X_train: Any, rows: Floats) -> ModelView:
        """View a model through the codec that read the training table into `rows`.

        What means "missing" to the model becomes missing in them.
        """
        if isinstance(model, BlackBox):
            return BlackBoxView(model, codec)
        assert model.trees is not None  # noqa: S101 - for the type checker
        return EnsembleView.reading(model.trees, codec, X_train, rows)

    def mark_missing(self, matrix: Floats) -> None:
        """Turn what was read from a table, and means "missing" to the model, into NaN in place."""
        del matrix  # a black box does not tell

    @property
    def marks_missing(self) -> bool:
        """Whether a number may mean "missing" to the model, as `mark_missing` has it."""
        return False

    def refusals(self, matrix: Floats, words: Words = NO_WORDS) -> list[str]:  # noqa: ARG002
        """Say of each row why the model would not take it; empty where it does.

        Parameters
        ----------
        matrix : (n, d) float64
        words : dict
            The values in it that are no level. A black box is asked about them like about others.
        """
        reasons = [""] * len(matrix)
        _say(np.isinf, "is infinite", self.names, matrix, reasons)
        return reasons

    def unknown(self, matrix: Floats) -> Bools:
        """Tell which values are no level, or none to the model: (n, d) bool."""
        return self.codec.holds_unlisted(matrix)

    def readable(self, points: Floats, X: Floats, rules: Rules) -> Bools:  # noqa: ARG002
        """Tell which points turn no known value into one that means "missing": (n,) bool."""
        return np.ones(len(points), dtype=bool)

    def without_markers(self, points: Floats, X: Floats, rules: Rules) -> Floats:  # noqa: ARG002
        """Give points with NaN for what is not the applicant's own and cannot be asked for: (n, d).

        That is what means "missing" to the model, and text that is no level.
        """
        return np.where(self.codec.holds_unlisted(points) & ~same(points, X), np.nan, points)

    def check_form(self, table: Table, what: str) -> None:
        """Refuse a table whose columns are not stored as the model takes them."""
        self.model.check_columns(table.native, what)

    def numbers(self, points: Floats) -> Floats:
        """Give points in the numbers that the model's splits are written in, where it has any."""
        return points

    @abstractmethod
    def score(self, points: Floats) -> Floats:
        """Score points: (n,) float64."""

    def may_exceed(self, points: Floats, cutoff: float) -> Bools:  # noqa: ARG002
        """Tell which points may score above a cutoff, none of them left out: (n,) bool."""
        return np.ones(len(points), dtype=bool)

    def spread(self, noise: Noise, unit: Floats) -> Floats:
        """Standard deviation of the noise on each column: (d,) float64."""
        return spread_of(noise.sigmas(self.names), unit, self.names, lambda rows: rows)

    @abstractmethod
    def probe(self, points: Floats, noise: Noise, unit: Floats) -> Probe:
        """Open the model on points whose neighbourhoods are to be measured."""

    def draws(self, noise: Noise) -> Draws:
        """Give the draws with which neighbourhoods are measured."""
        return noise.draws_of(len(self.names), self.stored_draws)


class EnsembleView(ModelView):
    """A tree ensemble, which takes points as numbers.

    Parameters
    ----------
    trees : TreeEnsemble
    codec : Codec
    codes : dict
        For each column that the ensemble splits by category, the schema's numbers for its levels,
        ascending, and the ensemble's codes for them.

    Attributes
    ----------
    is_category : (d,) bool
        Columns that the ensemble splits by category.
    """

    trees: TreeEnsemble

    def __init__(self, trees: TreeEnsemble, codec: Codec, codes: Codes) -> None:
        super().__init__(trees, codec)
        self.trees, self.columns, self.codes = trees, trees.columns, codes
        self.is_category = np.array([column.is_category for column in self.columns], dtype=bool)
        self._sound_layouts, self._spreads = Recent(MOST_LAYOUTS), Recent(MOST_LAYOUTS)

    @classmethod
    def reading(cls, trees: TreeEnsemble, codec: Codec, X_train: Any, rows: Floats) -> EnsembleView:
        """View an ensemble through the codec that read the training table; see `ModelView.of`."""
        view = cls(trees, codec, {})
        view.mark_missing(rows)
        view.codes = _category_codes(trees, codec, rows[:1])
        view._check_bridge(X_train, rows)
        return view

    def mark_missing(self, matrix: Floats) -> None:
        """See `ModelView.mark_missing`.

        A zero stays a number, whatever it means to the model. A category that the model was not
        trained on stays what it is, also where the model takes it for a missing value.
        """
        for j, (low, high) in self._markers.items():
            matrix[(low <= matrix[:, j]) & (matrix[:, j] <= high), j] = np.nan

    @property
    def marks_missing(self) -> bool:
        """See `ModelView.marks_missing`."""
        return bool(self._markers)

    @cached_property
    def _markers(self) -> dict[int, tuple[float, float]]:
        """Ranges of numbers that mean "missing", by column, but for those that zero is in."""
        ranges = {j: column.missing_range for j, column in enumerate(self.columns)}
        return {
            j: closed
            for j, closed in ranges.items()
            if closed is not None and not closed[0] <= 0.0 <= closed[1]
        }

    def refusals(self, matrix: Floats, words: Words = NO_WORDS) -> list[str]:
        """See `ModelView.refusals`."""
        reasons = super().refusals(matrix)
        for (j, number), word in words.items():
            refused: dict[int, str] = {}
            word.code = self._read_word(j, word, refused)
            for i in np.flatnonzero(matrix[:, j] == number) if refused else ():
                reasons[i] = reasons[i] or refused[0]
        if self._largest.min() < np.inf:
            with np.errstate(invalid="ignore"):
                _say(
                    lambda some: np.abs(some) > self._largest,
                    "is larger than the model takes",
                    self.names,
                    matrix,
                    reasons,
                )
        limits = number_limits(self.columns)
        if len(limits):
            _say(
                lambda some: (some < limits[:, 0]) | (some > limits[:, 1]),
                "is not among the numbers that the model takes",
                self.names,
                matrix,
                reasons,
            )
        if self._refuses_missing.any():
            _say(
                lambda some: np.isnan(some) & self._refuses_missing,
                "is missing, and the model takes no missing values",
                self.names,
                matrix,
                reasons,
            )
        return reasons

    @cached_property
    def _largest(self) -> Floats:
        return np.array([np.inf if c.is_category else c.largest for c in self.columns])

    @cached_property
    def _refuses_missing(self) -> Bools:
        return np.array([not c.takes_missing for c in self.columns], dtype=bool)

    def check_form(self, table: Table, what: str) -> None:
        """See `ModelView.check_form`. Columns of numbers alone need no second look.

        Nor does a table of a layout that was looked at before.
        """
        if not self.codes or table.kind == "numpy":  # whose columns are known to be so many
            return
        if table.layout not in self._sound_layouts:
            columns, named = self.trees.columns, self.trees.named
            if check_columns(table, columns, named=named, what=what):
                self._sound_layouts.get(table.layout, lambda: True)

    def numbers(self, points: Floats) -> Floats:
        """See `ModelView.numbers`."""
        if not self.needs_reading:
            return np.ascontiguousarray(points)
        out = np.array(points, dtype=np.float64, order="C")
        for j in self.codes:
            self._write_codes(j, out[:, j])
        if self._has_ranges:
            low, high = self.missing_ranges.T
            out[(low <= out) & (out <= high)] = np.nan
        return out

    @cached_property
    def _has_ranges(self) -> bool:
        return not np.isnan(self.missing_ranges).all()

    def _write_codes(self, j: int, values: Floats) -> None:
        """Turn level numbers of a column into the ensemble's codes, in place; NaN stays."""
        if not np.isnan(values).any():
            values[:] = self._coded(j, values)
            return
        known = ~np.isnan(values)
        values[known] = self._coded(j, values[known])

    def _coded(self, j: int, values: Floats) -> Floats:
        """Turn level numbers of a column into the ensemble's codes, and other values too."""
        levels, codes = self.codes[j]
        place = np.searchsorted(levels[:-1], values)
        out = codes[place] if len(levels) else np.full(len(values), np.nan)
        other = levels[place] != values if len(levels) else np.ones(len(values), dtype=bool)
        if not other.any():
            return np.asarray(out)
        if not self.codec.holds_labels[j]:  # a number, which the ensemble reads itself
            out[other] = read_matrix(values[other][:, None], [self.columns[j]], named=False)[:, 0]
            return np.asarray(out)
        numbers, back = np.unique(values[other], return_inverse=True)
        out[other] = np.array([self._code_of(j, number) for number in numbers.tolist()])[back]
        return np.asarray(out)

    def _code_of(self, j: int, number: float) -> float:
        """Give the ensemble's code for a value that is no level, by its number."""
        word = self.codec.unlisted.find(j, number)
        if word is None:
            return np.nan
        if word.code is None:
            word.code = self._read_word(j, word, {})
        return word.code

    def _read_word(self, j: int, word: Word, refused: dict[int, str]) -> float:
        """Read a value that is no level as the ensemble does; `refused` is told why it does not."""
        column = self.columns[j]
        if column.categories is None:  # the order of the training table's categories gives codes
            storage = dict(zip(self.codec.layout.names, self.codec.layout.columns, strict=True))
            column = replace(column, categories=storage[self.names[j]].categories)
        return read_label(word.value, replace(column, name=self.names[j]), refused)

    def unknown(self, matrix: Floats) -> Bools:
        """See `ModelView.unknown`."""
        unknown = super().unknown(matrix)
        if self.codes:
            lost = np.isnan(self.numbers(matrix)) & ~np.isnan(matrix)
            unknown |= lost & self.is_category
        return unknown

    def readable(self, points: Floats, X: Floats, rules: Rules) -> Bools:
        """See `ModelView.readable`. A one-hot column at 0 is not missing, but another is set."""
        if not self.needs_reading:
            return np.ones(len(points), dtype=bool)
        return np.asarray(~self._lost(points, X, rules).any(axis=1))

    def without_markers(self, points: Floats, X: Floats, rules: Rules) -> Floats:
        """See `ModelView.without_markers`."""
        points = super().without_markers(points, X, rules)
        return np.where(self._lost(points, X, rules), np.nan, points)

    def _lost(self, points: Floats, X: Floats, rules: Rules) -> Bools:
        """Which values are not the applicant's own and mean "missing" to the model: (n, d)."""
        if not self.needs_reading:
            return np.zeros(points.shape, dtype=bool)
        lost = np.isnan(self.numbers(points)) & ~np.isnan(points) & ~same(points, X)
        return np.asarray(lost & ~rules.is_member)

    def score(self, points: Floats) -> Floats:
        """See `ModelView.score`."""
        if len(points) <= SCORED_AT_ONCE:
            return self.trees.score_matrix(self.numbers(points))
        out = np.empty(len(points))

        def run(part: slice) -> None:
            out[part] = self.trees.score_matrix(self.numbers(points[part]))

        in_threads(run, len(points), SCORED_AT_ONCE)
        return out

    def may_exceed(self, points: Floats, cutoff: float) -> Bools:
        """See `ModelView.may_exceed`."""
        out = np.empty(len(points), dtype=bool)

        def run(part: slice) -> None:
            out[part] = may_exceed(self.trees, self.numbers(points[part]), cutoff)

        in_threads(run, len(points), 4096)
        return out

    def probe(self, points: Floats, noise: Noise, unit: Floats) -> Probe:
        """See `ModelView.probe`. Categories have no distances, and get no noise."""
        return EnsembleProbe(self.trees, self.numbers(points), self.spread(noise, unit))

    def spread(self, noise: Noise, unit: Floats) -> Floats:
        """See `ModelView.spread`."""

        def make() -> Floats:
            sigmas = np.where(self.is_category, 0.0, noise.sigmas(self.names))
            return spread_of(sigmas, unit, self.names, self.trees.read)

        if not isinstance(noise.sigma, int | float):
            return make()
        found: Floats = self._spreads.get((noise.sigma, unit.tobytes()), make)
        return found

    def _check_bridge(self, X_train: Any, rows: Floats) -> None:
        """Make sure that our numbers mean to the ensemble what the table means to it."""
        some = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), SAMPLE)).astype(np.intp))
        table = X_train if self.trees.named else self.codec.as_trained(X_train)
        if len(some) < count_rows(X_train):
            table = take(table, some)
        theirs = self.trees.read(table, "X_train")
        # What the model takes no notice of may be read in any way.
        noted = np.array([not column.is_ignored for column in self.columns], dtype=bool)
        if not same(self.numbers(rows[some]), theirs)[:, noted].all():
            raise RobxError(
                "The training table reads differently through the schema than through the model. "
                "Please report this with the dtypes of its columns."
            )


class BlackBoxView(ModelView):
    """A model that is known only by its scores of tables."""

    model: BlackBox

    def score(self, points: Floats) -> Floats:
        """See `ModelView.score`."""
        return self.model.score(self.table(points)) if len(points) else np.zeros(0)

    def probe(self, points: Floats, noise: Noise, unit: Floats) -> Probe:
        """See `ModelView.probe`. A black box sees its columns as the table has them."""
        order = [self.names.index(name) for name in self.codec.layout.names]
        sigmas = noise.sigmas([self.names[j] for j in order])
        return open_probe(self.model, self.table(points), sigmas, unit[order])

    def table(self, points: Floats) -> Any:
        """Write points as the model takes them.

        A scikit-learn model knows the names of a frame that it was fitted on, and no names if it
        was fitted on an array; it warns of a table of the other sort.
        """
        if self.model.takes_arrays and not self.codec.holds_labels.any():
            return points.copy()
        table = self.codec.write(points)
        return table if self.model.names is None else as_named_frame(table, self.names)


# --- which columns, which categories -------------------------------------------------------------


def ordered_schema(schema: Schema | None, model: Model, X_train: Any, layout: Layout) -> Schema:
    """Give the schema with its features in the model's order; guess one where none is given."""
    names = model_order(model, layout)
    given = Schema(guess_features(X_train, layout.names)) if schema is None else schema
    given = _with_categories(_named(given, layout), model, X_train, names)
    schema = _with_known_levels(given, model, names, is_stated=schema is not None)
    place = {feature.name: feature for feature in schema.features}
    lacking = [name for name in names if name not in place]
    extra = [name for name in place if name not in names]
    if lacking or extra:
        said = [f"not in the schema: {lacking[:8]}"] if lacking else []
        said += [f"not among the model's columns: {extra[:8]}"] if extra else []
        raise InvalidInput(
            "The schema must name the model's columns, all of them and no others; "
            f"{'; '.join(said)}."
        )
    return schema.reordered(names)


def _named(schema: Schema, layout: Layout) -> Schema:
    """Give a schema that was made of an array, which has no names, the names of the columns."""
    made_up = tuple(map(str, range(len(layout.names))))
    if layout.kind != "numpy" or schema.names != made_up or layout.names == made_up:
        return schema
    if schema.relations or schema.effects:  # which speak of the columns by their numbers
        return schema
    names = dict(zip(made_up, layout.names, strict=True))
    return replace(
        schema,
        features=tuple(f.replaced(name=names[f.name]) for f in schema.features),
        together=tuple(one.renamed(names) for one in schema.together),
    )


def model_order(model: Model, layout: Layout) -> tuple[str, ...]:
    """Give the table's column names in the model's order."""
    if model.known_names is None:
        return layout.names
    columns = model.known_names if model.trees is None else model.trees.columns
    return tuple(layout.names[k] for k in positions(columns, layout.names, "X_train"))


def _with_categories(schema: Schema, model: Model, X_train: Any, names: Sequence[str]) -> Schema:
    """Take columns that the model splits by category for categories, where nothing is against it.

    A table does not tell them from whole numbers.
    """
    changes: dict[str, Any] = {}
    by_name = {feature.name: feature for feature in schema.features}
    for position, name in enumerate(names):
        feature = by_name.get(name)
        if feature is None or not _is_plain_number(feature):
            continue
        levels = _category_levels(model, X_train, names, position)
        if levels:
            change = "any" if feature.change == "any" else "none"
            fields = {"kind": "categorical", "levels": levels, "change": change}
            changes[name] = feature.replaced(**fields, resolution=None, scale=None, noise=None)
    return schema.override(changes) if changes else schema


def _category_levels(
    model: Model, X_train: Any, names: Sequence[str], position: int
) -> tuple[Category, ...]:
    """Give the levels of a column of numbers that a model takes for categories, else none."""
    if model.trees is None:
        if not isinstance(model, BlackBox) or position not in model.category_places:
            return ()
        have = column_names(X_train) or tuple(names)
        values = number_column(X_train, have.index(names[position]))
        return tuple(int(level) for level in np.unique(values[~np.isnan(values)]))
    columns = model.trees.columns
    if position >= len(columns) or not columns[position].is_category:
        return ()
    column = columns[position]
    if column.by_value and column.categories:
        return column.categories
    found = np.unique(model.trees.read(X_train, "X_train")[:, position])
    return tuple(int(level) for level in found[~np.isnan(found) & (found < column.n_codes)])


def _is_plain_number(feature: Feature) -> bool:
    """Whether a feature says no more of a column than that it holds numbers."""
    limits = (feature.low, feature.high, feature.max_increase, feature.max_decrease)
    is_free = all(limit is None for limit in limits)
    return feature.is_number and feature.levels is None and is_free


def _with_known_levels(
    schema: Schema, model: Model, names: Sequence[str], *, is_stated: bool
) -> Schema:
    """Leave out levels that the model was not trained on: no change is to lead to them.

    Of ordered levels they keep their places where the model takes them for missing values, which
    no change leads to either.
    """
    columns = dict(zip(names, () if model.trees is None else model.trees.columns, strict=False))
    changes: dict[str, Any] = {}
    for feature in schema.features:
        column = columns.get(feature.name)
        if column is None or not column.categories or feature.levels is None:
            continue
        keep = [k for k, level in enumerate(feature.levels) if level in column.categories]
        if not keep:
            raise InvalidInput(
                f"Feature {feature.name!r} must list levels that the model was trained on, such as "
                f"{column.categories[0]!r}. Got {listed(feature.levels)}."
            )
        in_order = feature.kind == "ordinal" and column.unseen_is_missing
        if in_order or len(keep) == len(feature.levels):
            continue
        # It may be misspelled; an ordered dtype may well list levels that nobody has.
        if is_stated and feature.kind != "ordinal":
            unknown = [level for level in feature.levels if level not in column.categories]
            warn_caller(
                f"The model was not trained on {listed(unknown)}, which the schema lists as levels "
                f"of '{feature.name}'. No change leads there; check the spelling.",
                RobxWarning,
            )
        labels = None if feature.labels is None else [feature.labels[k] for k in keep]
        changes[feature.name] = {"levels": [feature.levels[k] for k in keep], "labels": labels}
    return schema.override(changes) if changes else schema


def _category_codes(ensemble: TreeEnsemble, codec: Codec, some: Floats) -> Codes:
    """Ask the ensemble for its codes of the levels of columns that it splits by category.

    It is asked by a row that is known to be sound, `some`, with another level each time.
    """
    found = {}
    for j, column in enumerate(ensemble.columns):
        if not column.is_category:
            continue
        feature = codec.features[j]
        levels = levels_in_order(feature)
        if len(levels) == 0 and feature.change == "none":  # missing in every row
            found[j] = (levels, levels)
            continue
        if len(levels) == 0:
            raise InvalidInput(
                f"The model takes '{feature.name}' for categories, so its feature must be "
                f"categorical or ordinal and list its levels. Got {feature.kind}."
            )
        rows = np.repeat(some, len(levels), axis=0)
        rows[:, j] = levels
        table = codec.write(rows)
        codes = read_matrix(
            table, ensemble.columns, named=ensemble.named, what="the schema's levels", reasons={}
        )
        found[j] = (levels, codes[:, j])
    return found


def levels_in_order(feature: Feature) -> Floats:
    """Give the numbers of a feature's levels, ascending, as `EnsembleView.codes` lists them."""
    if feature.kind == "onehot":
        return np.array([0.0, 1.0])
    return np.sort(np.array(feature.level_numbers, dtype=np.float64))


def _say(
    is_wrong: Callable[[Floats], Any],
    what: str,
    names: Sequence[str],
    matrix: Floats,
    reasons: list[str],
) -> None:
    """Name the first column that is wrong in each row that has no reason yet."""
    for first in range(0, len(matrix), ROWS_AT_ONCE):
        wrong = is_wrong(matrix[first : first + ROWS_AT_ONCE])
        if not wrong.any():
            continue
        for k in np.flatnonzero(wrong.any(axis=1)):
            i = first + int(k)
            reasons[i] = reasons[i] or f"{names[int(wrong[k].argmax())]} {what}"

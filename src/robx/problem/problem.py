"""`Problem`: a model, the rows it was trained on, what may change, and what counts as accepted."""

from __future__ import annotations

import copy
import threading
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.answers.origin import origin_of
from robx.arrays import Bools, Floats
from robx.errors import InvalidInput, RobxError
from robx.parallel import in_threads
from robx.parameters import check_number
from robx.problem.applicants import Applicants
from robx.problem.bridge import category_codes, coded, for_columns, guess_schema, holds
from robx.problem.support import Support
from robx.robustness import Noise, Stability
from robx.schema import Codec, Schema
from robx.tables import (
    Category,
    Column,
    Layout,
    as_named_frame,
    column_names,
    count_rows,
    in_order,
    take,
)
from robx.trees import BlackBox, TreeEnsemble, import_model


class Problem:
    """What methods are asked about: model, support, schema and threshold, all checked.

    Parameters
    ----------
    model : fitted model, path, TreeEnsemble or BlackBox
        Anything that `robx.import_model` takes.
    X_train : table of shape (n, d)
        The rows that the model was trained on, or others like them: the support. Columns in the
        model's own units; missing values are legal where the model takes them.
    schema : Schema, optional
        What may change. Guessed with `Schema.infer` unless given; look at ``problem.schema``.
    target : label, optional
        The class that applicants wish for: of two classes the second unless given.
    threshold : float
        Accepted are scores above this.

    Attributes
    ----------
    model : TreeEnsemble or BlackBox
    schema : Schema
        In the model's order of columns, every scale filled in.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X = np.random.default_rng(0).random((300, 3)).round(2)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, X[:, 0] > 0.5)
    >>> Problem(forest, X)
    <Problem: 300 rows, 157 accepted (score > 0.5), 3 features>
    """

    def __init__(
        self,
        model: Any,
        X_train: Any,
        schema: Schema | None = None,
        target: Category | None = None,
        threshold: float = 0.5,
    ) -> None:
        check_number(threshold, "threshold", "Problem", least=0, below=1)
        self.threshold = float(threshold)
        if schema is not None and not isinstance(schema, Schema):
            raise InvalidInput(
                f"The 'schema' parameter of Problem must be a robx.Schema. Got "
                f"{type(schema).__name__} instead. Schema.load reads one from a file."
            )
        if count_rows(X_train) == 0:
            raise InvalidInput("X_train has no rows: there is nothing to compare applicants with.")
        self.model: TreeEnsemble | BlackBox = import_model(model, target, X=X_train)
        if isinstance(self.model, BlackBox):
            self.model.ordered(X_train)  # which checks the columns
        layout = Layout.of(X_train, names=self._names_for_arrays(schema))
        guessed = schema or guess_schema(self.model, X_train, layout)
        ordered = for_columns(guessed, self._order(layout))
        self.codec = Codec(ordered.features, layout)
        self.codes: dict[int, tuple[Floats, Floats]] = {}
        support = self._read(X_train, "X_train")
        theirs = self._read_as_model(X_train, support, "X_train")
        if isinstance(self.model, TreeEnsemble):
            self.codes = category_codes(self.model, self.codec, support[:1])
        self.schema = ordered.fit_matrix(support)
        self.codec = Codec(self.schema.features, layout)
        _refuse_empty_columns(support, self.schema)
        self.rules = self.schema.rules(self.codec, support)
        self._check_bridge(support, theirs)
        score = self._score_of_support(support)
        usable = np.isfinite(np.where(np.isnan(support), 0.0, support)).all(axis=1)
        usable &= self.rules.keeps_relations(support) & (score > self.threshold)
        self.n_rows = len(support)
        self.support = Support(np.ascontiguousarray(support[usable]), score[usable], self.rules)
        self.all_rows = support
        #: Models that something was chosen with, with scores; they must not judge it too.
        self.models_seen: tuple[tuple[TreeEnsemble | BlackBox, Floats | None], ...] = ()
        self._cache: dict[Any, Any] = {}
        self._lock = threading.RLock()

    # --- reading ---------------------------------------------------------------------------------

    @cached_property
    def origin(self) -> dict[str, Any]:
        """What answers are made with, in plain values: model, target, threshold, versions."""
        return origin_of(self.model, len(self.schema), self.n_rows, self.threshold)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features, in the model's order."""
        return tuple(feature.name for feature in self.codec.features)

    def read(self, X: Any, what: str = "X") -> Applicants:
        """Read and check applicants. Rows that the model would refuse have no score."""
        matrix = self._read(X, what)
        refused = self._refused(matrix)
        sound = np.array([not reason for reason in refused], dtype=bool)
        some, rows = matrix[sound], np.flatnonzero(sound)
        self._read_as_model(X if sound.all() else take(X, rows), some, what)
        matrix[sound] = some
        low, high = self.rules.bounds(matrix)
        score = np.full(len(matrix), np.nan)
        score[sound], reasons = self._score_each(matrix[sound])
        for i, reason in zip(np.flatnonzero(sound), reasons, strict=True):
            refused[i] = reason
            sound[i] = not reason
        with np.errstate(invalid="ignore"):
            blocked = (low > high) & ~np.isnan(matrix)
        for i in np.flatnonzero(blocked.any(axis=1) & sound):
            j = int(blocked[i].argmax())
            feature = self.schema.features[j]
            refused[i] = f"{feature.name} = {feature.say(matrix[i, j])} ({feature.constraint()})"
        return Applicants(matrix, low, high, score, tuple(refused))

    def _refused(self, matrix: Floats) -> list[str]:
        """Say of each row why the model, or arithmetic, would not take it; empty if it does."""
        reasons = [""] * len(matrix)
        takes_missing = np.array([c.takes_missing for c in self._columns] or [True])
        largest = np.array(
            [np.inf if c.is_category else c.largest for c in self._columns] or [np.inf]
        )
        missing = np.isnan(matrix) & ~takes_missing
        with np.errstate(invalid="ignore"):
            large = np.abs(matrix) > largest
        for wrong, what in (
            (np.isinf(matrix), "is infinite"),
            (large, "is larger than the model takes"),
            (missing, "is missing, and the model takes no missing values"),
        ):
            for i in np.flatnonzero(wrong.any(axis=1)):
                reasons[i] = reasons[i] or f"{self.names[int(wrong[i].argmax())]} {what}"
        return reasons

    def read_given(self, X: Any) -> Floats:
        """Read counterfactuals that were made elsewhere: (n, d) float64, unchecked."""
        return self._read(X, "base")

    def as_trained(self, X: Any) -> Any:
        """Give a table of applicants or answers with its columns as the training table has them.

        A model that does not know the names of its columns goes by their order. An array has the
        order of this problem's model.
        """
        layout = self.codec.layout
        if not layout.named:
            return X
        if column_names(X) is None and layout.names != self.names:
            X = as_named_frame(X, self.names)
        return in_order(X, layout.names)

    def _read(self, X: Any, what: str) -> Floats:
        """Read a table. A number that means "missing" to the model is missing, but for a zero."""
        matrix = self.codec.read(X, what)
        for j, column in enumerate(self._columns):
            if column.missing_range is not None and not holds(column.missing_range, 0.0):
                matrix[holds(column.missing_range, matrix[:, j]), j] = np.nan
        return matrix

    def _read_as_model(self, X: Any, matrix: Floats, what: str) -> Floats:
        """Have the ensemble read a table: it knows what it refuses.

        Codes that are missing to it become missing in the matrix that was read before.
        """
        if isinstance(self.model, BlackBox):
            return matrix
        theirs = self.model.read(X if self.model.named else self.as_trained(X), what)
        is_category = np.array([column.is_category for column in self._columns])
        matrix[np.isnan(theirs) & is_category] = np.nan
        return theirs

    @property
    def _columns(self) -> tuple[Column, ...]:
        """What an ensemble says of its columns; a black box says nothing."""
        return self.model.columns if isinstance(self.model, TreeEnsemble) else ()

    def _names_for_arrays(self, schema: Schema | None) -> tuple[str, ...] | None:
        """Names for the columns of an array: the model's, else the schema's, else none."""
        knows = isinstance(self.model, BlackBox) or self.model.named
        names = self.model.names if knows else None
        return names if names is not None or schema is None else schema.names

    def _order(self, layout: Layout) -> tuple[str, ...]:
        """Give the table's column names in the model's order."""
        if isinstance(self.model, BlackBox):
            return layout.names if self.model.names is None else self.model.names
        if not self.model.named:
            return layout.names
        spelled = {name.replace(" ", "_"): name for name in layout.names}
        spelled |= {name: name for name in layout.names}
        return tuple(spelled.get(name, name) for name in self.model.names)

    # --- asking the model ------------------------------------------------------------------------

    def score(self, matrix: Floats) -> Floats:
        """Score points that are given as numbers: (n,) float64."""
        if len(matrix) == 0:
            return np.zeros(0)
        if isinstance(self.model, BlackBox):
            return self.model.score(self._table(matrix))
        ensemble, numbers = self.model, self.model_numbers(matrix)
        out = np.empty(len(matrix))

        def run(part: slice) -> None:
            out[part] = ensemble.score_matrix(numbers[part])

        in_threads(run, len(matrix), 1024)
        return out

    def _score_of_support(self, matrix: Floats) -> Floats:
        """Score the training rows; what a black box raises is an error at the door."""
        try:
            return self.score(matrix)
        except RobxError:
            raise
        except Exception as error:
            raise InvalidInput(
                f"The model must be able to score X_train. It raised {_named(error)}."
            ) from error

    def _score_each(self, matrix: Floats) -> tuple[Floats, list[str]]:
        """Score applicants; rows on which a black box raises get NaN, and what it said."""
        try:
            return self.score(matrix), [""] * len(matrix)
        except Exception as error:
            if len(matrix) == 1:
                return np.array([np.nan]), [f"the model refuses the row: {_named(error)}"]
        half = len(matrix) // 2
        parts = [self._score_each(matrix[:half]), self._score_each(matrix[half:])]
        return np.concatenate([score for score, _ in parts]), [r for _, part in parts for r in part]

    def _table(self, matrix: Floats) -> Any:
        """Write points as a black box takes them.

        A scikit-learn model knows the names of a frame that it was fitted on, and no names if it
        was fitted on an array; it warns of a table of the other sort.
        """
        assert isinstance(self.model, BlackBox)  # noqa: S101 - for the type checker
        fitted_on_array = self.model.names is None and hasattr(self.model.model, "n_features_in_")
        if fitted_on_array and not self.codec.holds_labels.any():
            return matrix.copy()
        table = self.codec.write(matrix)
        return table if self.model.names is None else as_named_frame(table, self.names)

    def accepts(self, matrix: Floats, gamma: float | None = None) -> Bools:
        """Tell which points are accepted, with a score above `gamma` if that is higher: (n,)."""
        return np.asarray(self.score(matrix) > self.bar(gamma))

    def is_readable(self, points: Floats, own: Floats) -> Bools:
        """Tell which points change nothing into a number that means "missing" to the model."""
        if all(column.missing_range is None for column in self._columns):
            return np.ones(len(points), dtype=bool)
        lost = np.isnan(self.model_numbers(points)) & ~np.isnan(points)
        return np.asarray(~(lost & self.rules.changed(points, own)).any(axis=1))

    def bar(self, gamma: float | None) -> float:
        """Return the score that an answer must be above."""
        return self.threshold if gamma is None else max(gamma, self.threshold)

    def stability(self, matrix: Floats, noise: Noise) -> Stability:
        """Measure the stability of points."""
        if len(matrix) == 0:
            return Stability(np.zeros(0), np.zeros(0), np.zeros(0), 0)
        return noise.measure(self._probe(matrix, noise))

    def passes(self, matrix: Floats, tau: float, noise: Noise) -> Bools:
        """Tell which points pass the stability test: (n,) bool."""
        if len(matrix) == 0:
            return np.zeros(0, dtype=bool)
        return noise.passes(self._probe(matrix, noise), tau)

    def _probe(self, matrix: Floats, noise: Noise) -> Any:
        points = (
            self._table(matrix) if isinstance(self.model, BlackBox) else self.model_numbers(matrix)
        )
        # A black box sees its columns as the table has them.
        order = (
            [self.names.index(name) for name in self.codec.layout.names]
            if isinstance(self.model, BlackBox)
            else list(range(len(self.names)))
        )
        names = tuple(self.names[j] for j in order)
        return noise.open(self.model, points, self.rules.noise[order], names)

    def model_numbers(self, matrix: Floats) -> Floats:
        """Turn the schema's numbers into those that the ensemble's splits are written in."""
        assert isinstance(self.model, TreeEnsemble)  # noqa: S101 - for the type checker
        plain = all(not column.needs_settling for column in self.model.columns)
        if plain:
            return np.ascontiguousarray(matrix)
        out = np.array(matrix, dtype=np.float64, order="C")
        for j, (levels, codes) in self.codes.items():
            known = ~np.isnan(out[:, j])
            out[known, j] = coded(out[known, j], levels, codes, self.model.columns[j])
        for j, column in enumerate(self.model.columns):
            if column.missing_range is not None:
                out[holds(column.missing_range, out[:, j]), j] = np.nan
        return out

    def _check_bridge(self, support: Floats, theirs: Floats) -> None:
        """Make sure that our numbers mean to the ensemble what the table means to it."""
        if isinstance(self.model, BlackBox):
            return
        if not np.array_equal(self.model_numbers(support), theirs, equal_nan=True):
            raise RobxError(
                "The training table reads differently through the schema than through the model. "
                "Please report this with the dtypes of its columns."
            )

    # --- shared by methods -----------------------------------------------------------------------

    def stability_of_support(self, noise: Noise) -> Stability:
        """Measure the stability of every accepted row once."""
        found: Stability = self.cached(
            ("stability", noise.key(self.names)), lambda: self.stability(self.support.rows, noise)
        )
        return found

    def tested_rows(self, key: Any) -> NDArray[np.int8]:
        """Return what is known of each accepted row: 0 not tested yet, 1 passes, 2 does not.

        The caller, whose test the key names, fills it in as it tests rows.
        """
        found: NDArray[np.int8] = self.cached(
            ("tested", key), lambda: np.zeros(len(self.support), np.int8)
        )
        return found

    def renewed(self) -> Problem:
        """Return the same problem with nothing worked out yet."""
        return copy.copy(self)

    def cached(self, key: Any, make: Any) -> Any:
        """Return what was made under a key, made now if it was not."""
        with self._lock:
            if key not in self._cache:
                self._cache[key] = make()
            return self._cache[key]

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in {"_cache", "_lock"}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._cache = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return (
            f"<Problem: {self.n_rows} rows, {len(self.support)} accepted (score > "
            f"{self.threshold:g}), {len(self.schema)} features>"
        )


def _named(error: Exception) -> str:
    """Name an error by its first line."""
    said = str(error).strip().split("\n")[0].rstrip(".")
    return f"{type(error).__name__}: {said}"


def _refuse_empty_columns(support: Floats, schema: Schema) -> None:
    empty = ~np.isfinite(support).any(axis=0)
    if empty.any():
        raise InvalidInput(
            f"Column '{schema.names[int(empty.argmax())]}' of X_train has no value in any row, so "
            "it has no scale. Drop it, or pass rows that have it."
        )

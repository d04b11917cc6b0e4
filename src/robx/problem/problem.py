"""`Problem`: a model, the rows it was trained on, what may change, and what counts as accepted."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.answers import Crowds
from robx.answers.origin import origin_of
from robx.arrays import Bools, Floats
from robx.errors import InvalidInput, RobxError
from robx.parameters import check_number, check_whole
from robx.problem.anonymity import Cells
from robx.problem.applicants import Applicants
from robx.problem.gate import Gate
from robx.problem.memo import Memo
from robx.problem.model_view import ModelView, ordered_schema
from robx.problem.parts import Parts
from robx.problem.people import PeopleIndex
from robx.problem.support import Support
from robx.problem.used_models import UsedModels
from robx.robustness import Noise, Stability
from robx.scenarios import read_labels
from robx.schema import Codec, Rules, Schema
from robx.schema.codec import Reading
from robx.schema.guess import warn_of_guess
from robx.tables import Category, Layout, Table, count_rows, is_records, opened
from robx.trees import Model, import_model
from robx.trees.rowwise import first_line, score_rows


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
        What may change. Unless given, it is guessed as `Schema.infer` does, with a warning of the
        category `GuessedSchema`; look at ``problem.schema``.
    target : label, optional
        The class that counts as accepted: of two classes the second unless given.
    threshold : float
        A score above this is accepted.
    y_train : (n,) labels, optional
        Labels of the rows of `X_train`, for methods that need them.
    k_anonymous : int, optional
        Replace the training rows by rows that stand for at least so many people each. Nothing
        beyond the model and the rules is then known of a single person; see "Privacy" in the
        documentation.

    Attributes
    ----------
    model : TreeEnsemble or BlackBox
    schema : Schema
        In the model's order of columns, every scale filled in.
    view : ModelView
        The model, asked about points as numbers.
    gate : Gate
        Makes points legal for applicants, tells which are, and scores them.
    support : Support
        The accepted training rows, indexed.
    training : (n, d) float64
        All training rows; with `k_anonymous`, what stands for them. An error where the problem
        comes from a file, which does not hold them.
    n_training : int
        Number of training rows.
    people : (m, d) float64, optional
        The accepted training rows themselves, to count how many share an answer. With
        `k_anonymous` they are neither in files nor in copies of the problem.
    memo : Memo
        What was worked out for this problem.
    used_models : UsedModels
        Retrained models that helped to choose something; they must not judge it too.

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
        y_train: Any = None,
        k_anonymous: int | None = None,
    ) -> None:
        check_number(threshold, "threshold", "Problem", least=0, below=1)
        if k_anonymous is not None:
            check_whole(k_anonymous, "k_anonymous", "Problem", least=2)
        self.threshold = float(threshold)
        if schema is not None and not isinstance(schema, Schema):
            raise InvalidInput(
                f"The 'schema' parameter of Problem must be a robx.Schema. Got "
                f"{type(schema).__name__} instead. Schema.load reads one from a file."
            )
        if count_rows(X_train) == 0:
            raise InvalidInput("X_train has no rows: there is nothing to compare applicants with.")
        self.model: Model = import_model(model, target, X=X_train)
        if self.model.trees is None:
            self.model.check_columns(X_train, "X_train")
        layout = Layout.of(X_train, names=_names_for_arrays(self.model, schema))
        ordered = ordered_schema(schema, self.model, X_train, layout)
        codec = Codec(ordered.features, layout)
        training = codec.read(X_train, "X_train")
        view = ModelView.of(self.model, codec, X_train, training)
        ordered = _without_empty(ordered, training)
        if schema is None:
            ordered = ordered.with_guessed_ties(training)
            warn_of_guess(ordered.features, [one.names for one in ordered.together])
        n = len(training)
        self.labels = None if y_train is None else _labels_of(y_train, n)
        gate, score, usable = self._fit(ordered, view, training)
        rows = people = np.ascontiguousarray(training[usable])
        if k_anonymous is not None:
            training = self._aggregated(training, gate, usable, k_anonymous)
            gate, score, usable = self._fit(ordered, view, training)
            rows = np.ascontiguousarray(training[usable])
        made = self.schema, self.threshold, gate.rules.seen, rows, score[usable], n
        self._assemble(Parts(view, *made, k_anonymous=k_anonymous), training, people)

    def _fit(self, schema: Schema, view: ModelView, rows: Floats) -> tuple[Gate, Floats, Bools]:
        """Take scales and bounds from rows; return a gate, their scores and which are usable.

        Usable rows are accepted and break nothing that ties columns.
        """
        self.schema = schema.fit_matrix(rows, view.codec.single)
        gate = Gate(self.schema.rules(view.codec, rows), view, self.threshold)
        score = _score_of(rows, gate)
        usable = gate.keeps(rows) & (score > self.threshold)
        # What is no level may stay, but is nothing to lead others to.
        return gate, score, usable & ~view.unknown(rows).any(axis=1)

    def _aggregated(self, training: Floats, gate: Gate, usable: Bools, k: int) -> Floats:
        """Give rows that stand for at least k training rows each, and labels that stand for theirs.

        They are on allowed values; those that break a rule of the schema are left out.
        """
        n, rules = len(training), gate.rules
        if k > n:
            raise InvalidInput(
                f"The 'k_anonymous' parameter of Problem must be at most {n}, the number of rows "
                f"in X_train. Got {k} instead."
            )
        cells = Cells.of(rules, training, usable, k)
        rows, legal = gate.settled(cells.middles(rules, training))
        if not legal.any():
            raise InvalidInput(
                f"With k_anonymous={k}, no row that stands for {k} people keeps the rules of the "
                "schema. Choose a smaller k_anonymous, or look at the relations."
            )
        if self.labels is not None:
            self.labels = cells.most_frequent(self.labels)[legal]
        return np.ascontiguousarray(rows[legal])

    @classmethod
    def restored(cls, parts: Parts) -> Problem:
        """Make a problem from what a file holds of it: not all training rows, and no labels."""
        problem = cls.__new__(cls)
        problem.model, problem.threshold, problem.labels = parts.view.model, parts.threshold, None
        people = parts.rows if parts.k_anonymous is None else None
        problem._assemble(parts, None, people)
        return problem

    def _assemble(self, parts: Parts, training: Floats | None, people: Floats | None) -> None:
        """Put a problem together, however its parts came about."""
        self.view, self.codec, self.schema = parts.view, parts.view.codec, parts.schema
        rules = replace(self.schema.rules(self.codec, None), seen=parts.seen)
        self.gate = Gate(rules, self.view, self.threshold)
        self.support = Support(parts.rows, parts.score, self.gate)
        self.n_training, self._training = parts.n_training, training
        self.k_anonymous, self.people = parts.k_anonymous, people
        self._middles, self._versions = parts.middles, parts.versions
        self.memo = Memo()
        self.used_models = UsedModels(self.codec, parts.rows if training is None else training)

    @property
    def is_restored(self) -> bool:
        """Whether the problem comes from a file, which does not hold all training rows."""
        return self._training is None

    @property
    def training(self) -> Floats:
        """All training rows, or what stands for them: (n, d) float64."""
        if self._training is None:
            kept = "the accepted training rows" if self.k_anonymous is None else "aggregated rows"
            raise InvalidInput(
                f"This problem was loaded from a file, which holds {kept} and no others. "
                "Make robx.Problem(model, X_train) for what needs all of them."
            )
        return self._training

    @property
    def middles(self) -> tuple[Floats, Bools]:
        """Median of each column, and whether values are missing in it: (d,) each."""
        if self._middles is None:
            self._middles = middles_of(self.training)
        return self._middles

    @property
    def rules(self) -> Rules:
        """The schema as arrays."""
        return self.gate.rules

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features, in the model's order."""
        return self.view.names

    @cached_property
    def origin(self) -> dict[str, Any]:
        """What answers are made with, in plain values: model, target, threshold, versions."""
        of = self.model, len(self.schema), self.n_training, self.threshold
        known = origin_of(*of, self._versions)
        return known if self.k_anonymous is None else {**known, "k_anonymous": self.k_anonymous}

    def read(self, X: Any, what: str = "X") -> Applicants:
        """Read and check applicants. Rows that the model would refuse have no score."""
        # Dicts are read by the training table's columns alone.
        table = None if is_records(X) else opened(X, what)
        read = self.codec.read_rows(X if table is None else table, what)
        if table is not None:
            self.view.check_form(table, what)
        self.view.mark_missing(read.matrix)
        return self.applicants(read, table)

    def applicants(self, read: Reading, table: Table | None = None) -> Applicants:
        """Give rows that were read already, from a table, as applicants: scored, with bounds."""
        matrix = read.matrix
        refused = np.array(self.view.refusals(matrix, read.words), dtype=object)
        trouble = np.where(read.trouble == "", refused, read.trouble)
        sound = np.flatnonzero(trouble == "")
        score = np.full(len(matrix), np.nan)
        score[sound], trouble[sound] = score_rows(
            lambda rows: self.gate.score(matrix[sound[rows]]), len(sound)
        )
        limits, reasons = self.rules.bounds, tuple(trouble)
        return Applicants.within(limits, matrix, score, reasons, read.words, table)

    # --- shared by methods -----------------------------------------------------------------------

    def stability_of_support(self, noise: Noise) -> Stability:
        """Measure the stability of every accepted row once."""
        found: Stability = self.memo.get(
            ("stability", noise.key(self.names)),
            lambda: self.gate.stability(self.support.rows, noise),
        )
        return found

    def crowds(self, points: Floats, X: Floats, answered: Bools) -> Crowds | None:
        """Count who shares the answers of applicants X; nothing where people are not known."""
        if self.people is None:
            return None
        people = self.people
        index: PeopleIndex = self.memo.get(("people",), lambda: PeopleIndex(people))
        return index.crowds(points, X, answered, self.k_anonymous)

    def renewed(self) -> Problem:
        """Return the same problem with nothing worked out yet."""
        other = copy.copy(self)
        other.people, other.memo = self.people, Memo()
        return other

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self.k_anonymous is not None:  # nobody's row leaves this process
            state["people"] = None
        return state

    @property
    def in_words(self) -> str:
        """Rows, accepted ones and features, in words."""
        each = "" if self.k_anonymous is None else f", for at least {self.k_anonymous} people each"
        accepted = f"{len(self.support)} accepted (score > {self.threshold:g}{each})"
        return f"{self.n_training} rows, {accepted}, {len(self.schema)} features"

    def __repr__(self) -> str:
        return f"<Problem: {self.in_words}>"


def _score_of(training: Floats, gate: Gate) -> Floats:
    """Score the training rows; what a black box raises is an error of the input."""
    try:
        return gate.score(training)
    except RobxError:
        raise
    except Exception as error:
        raise InvalidInput(
            f"The model must be able to score X_train. It raised {first_line(error)}."
        ) from error


def middles_of(rows: Floats) -> tuple[Floats, Bools]:
    """The median of each column, and whether values are missing in it: (d,) each."""
    known = [column[np.isfinite(column)] for column in rows.T]
    middle = [np.median(column) if len(column) else 0.0 for column in known]
    return np.array(middle), np.asarray(np.isnan(rows).any(axis=0))


def _names_for_arrays(model: Model, schema: Schema | None) -> tuple[str, ...] | None:
    """Names for the columns of an array: the model's, else the schema's, else none."""
    if model.known_names is not None or schema is None:
        return model.known_names
    return schema.names


def _labels_of(y_train: Any, n_rows: int) -> NDArray[Any]:
    labels = read_labels(y_train)
    if len(labels) != n_rows:
        raise InvalidInput(
            f"y_train must have a label for each of the {n_rows} rows of X_train. Got "
            f"{len(labels)}."
        )
    return labels


def _without_empty(schema: Schema, rows: Floats) -> Schema:
    """Fix features that are missing in every row: nothing was seen that a change could lead to."""
    empty = ~np.asarray(np.isfinite(rows).any(axis=0))
    fixed = {
        f.name: {"change": "none", "may_fill": False}
        for f, is_empty in zip(schema.features, empty, strict=True)
        if is_empty and f.group is None and (f.low is None or f.high is None)
    }
    return schema.override(fixed) if fixed else schema

"""`Problem`: a model, the rows it was trained on, what may change, and what counts as accepted."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.answers.origin import origin_of
from robx.arrays import Floats
from robx.errors import InvalidInput, RobxError
from robx.parameters import check_number
from robx.problem.applicants import Applicants
from robx.problem.gate import Gate
from robx.problem.memo import Memo
from robx.problem.model_view import ModelView, ordered_schema
from robx.problem.support import Support
from robx.problem.used_models import UsedModels
from robx.robustness import Noise, Stability
from robx.scenarios import read_labels
from robx.schema import Codec, Rules, Schema
from robx.schema.codec import Reading
from robx.schema.guess import warn_of_guess
from robx.tables import Category, Layout, count_rows
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
        All training rows.
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
        self.model: Model = import_model(model, target, X=X_train)
        if self.model.trees is None:
            self.model.check_columns(X_train, "X_train")
        layout = Layout.of(X_train, names=_names_for_arrays(self.model, schema))
        ordered = ordered_schema(schema, self.model, X_train, layout)
        self.codec = Codec(ordered.features, layout)
        self.training = self.codec.read(X_train, "X_train")
        self.view = ModelView.of(self.model, self.codec, X_train, self.training)
        ordered = _without_empty(ordered, self.training)
        if schema is None:
            ordered = ordered.with_guessed_ties(self.training)
            warn_of_guess(ordered.features, [one.names for one in ordered.together])
        self.schema = ordered.fit_matrix(self.training, self.codec.single)
        rules = self.schema.rules(self.codec, self.training)
        self.gate = Gate(rules, self.view, self.threshold)
        score = self._score_of_training()
        usable = self.gate.keeps(self.training) & (score > self.threshold)
        # What is no level may stay, but is nothing to lead others to.
        usable &= ~self.view.unknown(self.training).any(axis=1)
        rows = np.ascontiguousarray(self.training[usable])
        self.support = Support(rows, score[usable], self.gate)
        self.labels = None if y_train is None else _labels_of(y_train, len(self.training))
        self.memo = Memo()
        self.used_models = UsedModels(self.codec, self.training)

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
        return origin_of(self.model, len(self.schema), len(self.training), self.threshold)

    def read(self, X: Any, what: str = "X") -> Applicants:
        """Read and check applicants. Rows that the model would refuse have no score."""
        read = self.codec.read_rows(X, what)
        self.view.check_form(X, what)
        self.view.mark_missing(read.matrix)
        return self.applicants(read)

    def applicants(self, read: Reading) -> Applicants:
        """Give rows that were read already as applicants, scored and with their bounds."""
        matrix = read.matrix
        refused = np.array(self.view.refusals(matrix, read.words), dtype=object)
        trouble = np.where(read.trouble == "", refused, read.trouble)
        sound = np.flatnonzero(trouble == "")
        score = np.full(len(matrix), np.nan)
        score[sound], trouble[sound] = score_rows(
            lambda rows: self.gate.score(matrix[sound[rows]]), len(sound)
        )
        low, high = self.rules.bounds(matrix)
        return Applicants(matrix, low, high, score, tuple(trouble), read.words)

    def _score_of_training(self) -> Floats:
        """Score the training rows; what a black box raises is an error of the input."""
        try:
            return self.gate.score(self.training)
        except RobxError:
            raise
        except Exception as error:
            raise InvalidInput(
                f"The model must be able to score X_train. It raised {first_line(error)}."
            ) from error

    # --- shared by methods -----------------------------------------------------------------------

    def stability_of_support(self, noise: Noise) -> Stability:
        """Measure the stability of every accepted row once."""
        found: Stability = self.memo.get(
            ("stability", noise.key(self.names)),
            lambda: self.gate.stability(self.support.rows, noise),
        )
        return found

    def renewed(self) -> Problem:
        """Return the same problem with nothing worked out yet."""
        other = copy.copy(self)
        other.memo = Memo()
        return other

    def __repr__(self) -> str:
        return (
            f"<Problem: {len(self.training)} rows, {len(self.support)} accepted (score > "
            f"{self.threshold:g}), {len(self.schema)} features>"
        )


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

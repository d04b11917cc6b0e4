"""`BlackBox`: any model that can be asked for a probability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import narwhals as nw
import narwhals.selectors as ncs
import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput, UnsupportedModel
from robx.tables import Category, column_names
from robx.trees.model import Model
from robx.trees.targets import choose_target, class_labels


class BlackBox(Model):
    """A model that is known only by the probabilities it gives.

    It may be a Pipeline, a calibrated classifier, a neural net or a plain function. It is scored
    and taken by `robx.stability` as a `TreeEnsemble` is, but more slowly, because every noisy copy
    of a row goes through the model itself. Noise moves the numeric columns of a frame as floats;
    text, category and boolean columns stay as they are, and so do those in CatBoost's
    `cat_features`.

    Parameters
    ----------
    model : object with ``predict_proba``, or callable
        A callable takes a table and returns (n,) probabilities of the target class, or (n, C) for
        all classes.
    target : label, optional
        The class whose probability is the score: of two classes the second unless given. The
        classes of a callable are numbered from 0.
    why : str
        Why it is not a `TreeEnsemble`, in a sentence; empty where that was not asked for.

    Examples
    --------
    >>> import numpy as np
    >>> box = BlackBox(lambda X: X.mean(axis=1))
    >>> box.score(np.array([[0.2, 0.4], [1.0, 0.0]]))
    array([0.3, 0.5])
    """

    def __init__(self, model: Any, target: Category | None = None, why: str = "") -> None:
        self._ask: Callable[[Any], Any]
        if hasattr(model, "predict_proba"):
            self._ask = model.predict_proba
        elif callable(model):
            self._ask = model
        else:
            raise UnsupportedModel(
                "BlackBox needs an object with predict_proba, or a function from a table to "
                f"probabilities. Got {type(model).__name__}."
            )
        self.model, self.why = model, why
        self.target: Category | None = target
        self._classes = class_labels(model) if hasattr(model, "classes_") else None
        if self._classes is not None:
            self.target, self._place = choose_target(target, self._classes)
        self._names = _trained_names(model)
        # A CatBoost model that was pickled says 0, which no model has.
        self._n_columns: int | None = getattr(model, "n_features_in_", None) or None
        self.source = f"{type(model).__module__}.{type(model).__qualname__}"

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns that the model was trained on; None if it does not know them."""
        return self._names

    @property
    def category_places(self) -> tuple[int, ...]:
        """Places of the columns that the model says it takes for categories; only CatBoost does."""
        ask = getattr(self.model, "get_cat_feature_indices", None)
        return tuple(map(int, ask())) if callable(ask) else ()

    @property
    def takes_arrays(self) -> bool:
        """Whether the model was fitted on an array: it knows no names, and warns of a frame."""
        return self._names is None and hasattr(self.model, "n_features_in_")

    def score(self, X: object) -> NDArray[np.float64]:
        """Probability of the target class for each row.

        Parameters
        ----------
        X : table of shape (n, d)
            As the model itself takes it. A frame's columns may be in any order if the model knows
            their names.

        Returns
        -------
        (n,) float64
        """
        table = self._without_names(self.ordered(X))
        n_rows = len(table)
        if n_rows == 0:
            return np.zeros(0)
        answer = np.asarray(self._ask(table), dtype=np.float64)
        if answer.ndim == 2:  # one column is that of the target
            answer = answer[:, self._column(answer.shape[1]) if answer.shape[1] > 1 else 0]
        if answer.shape != (n_rows,):
            raise InvalidInput(
                f"The model must give one probability for each row, {n_rows} in all. "
                f"Got an array of shape {answer.shape}."
            )
        if not ((answer >= 0) & (answer <= 1)).all():
            row = int((~((answer >= 0) & (answer <= 1))).argmax())
            raise InvalidInput(
                f"The model must give probabilities from 0 to 1. Got {answer[row]} in row {row}."
            )
        return answer

    def check_columns(self, X: object, what: str = "X") -> None:
        """See `Model.check_columns`. Types are not checked: only the model knows them."""
        n_columns = self.ordered(X, what).shape[1]
        if self._n_columns not in {None, n_columns}:
            raise InvalidInput(
                f"{what} must have the {self._n_columns} columns that the model was trained on. "
                f"Got {n_columns}."
            )

    def ordered(self, X: Any, what: str = "X") -> Any:
        """Return the table with its columns in the model's order."""
        have = column_names(X)
        if have is None:
            table = np.asarray(X)
            if table.ndim != 2:
                raise InvalidInput(
                    f"{what} must have two dimensions (rows, columns). Got shape {table.shape}."
                )
            return table
        if self.names is None or have == self.names:
            return X
        missing = [name for name in self.names if name not in have]
        if missing or len(have) != len(self.names):
            extra = [name for name in have if name not in self.names]
            raise InvalidInput(
                f"{what} must have the columns that the model was trained on. Missing: {missing}; "
                f"not known: {extra}."
            )
        return nw.from_native(X, eager_only=True).select(list(self.names)).to_native()

    def _without_names(self, table: Any) -> Any:
        """Give a frame of numbers as an array to a model that was fitted on one, which warns."""
        if not self.takes_arrays:
            return table
        frame = nw.from_native(table, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            return table
        numbers = frame.select(ncs.numeric() | ncs.boolean())
        if len(numbers.columns) < len(frame.columns):
            return table
        return np.asarray(numbers.select(nw.all().cast(nw.Float64)).to_numpy(), dtype=np.float64)

    def _column(self, n_classes: int) -> int:
        if self._classes is not None:
            return self._place
        self.target, place = choose_target(self.target, list(range(n_classes)))
        return place

    def __repr__(self) -> str:
        return f"<BlackBox {type(self.model).__name__}, score = P({self.target!r})>"


def _trained_names(model: Any) -> tuple[str, ...] | None:
    names: Sequence[Any] | None = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))

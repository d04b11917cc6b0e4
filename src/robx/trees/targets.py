"""The class that the score is the probability of, and models that have none, or no trees."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput, InvalidModel, UnsupportedModel
from robx.parameters import listed
from robx.tables import Category


class UnknownTarget(InvalidInput):
    """The target is not one of a model's classes, or must be given and is not.

    Parameters
    ----------
    message : str
    classes : sequence of labels
        Those to choose from.
    """

    def __init__(self, message: str, classes: Sequence[Category]) -> None:
        super().__init__(message)
        self.classes = tuple(classes)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.classes)


class OnlyScores(UnsupportedModel):
    """A model's trees cannot be taken apart; alive, it can still be asked for its scores.

    Parameters
    ----------
    reason : str
        A clause that says why.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"The model cannot be taken apart into trees: {reason}.")
        self.reason = reason


def choose_target(target: Category | None, classes: Sequence[Category]) -> tuple[Category, int]:
    """Find the target among the classes: of two, the second unless told otherwise.

    >>> choose_target(None, ["bad", "good"])
    ('good', 1)
    """
    if target is None:
        if len(classes) != 2:
            raise UnknownTarget(
                f"The model has {len(classes)} classes: say which one counts as accepted with "
                f"target= (--target), one of {listed(classes)}.",
                classes,
            )
        return classes[1], 1
    for place, label in enumerate(classes):
        if label == target:
            return label, place
    raise UnknownTarget(
        f"The target must be one of the model's classes, "
        f"{listed(classes)}. Got {target!r} instead.",
        classes,
    )


def class_labels(model: Any) -> list[Category]:
    """Labels of a fitted classifier's classes, as plain Python values."""
    return [label.item() if hasattr(label, "item") else label for label in model.classes_]


def wrapper_probability(model: Any, target: Category, X: Any) -> NDArray[Any]:
    """Ask a classifier in scikit-learn's form for the probability of a class."""
    _, place = choose_target(target, class_labels(model))
    with warnings.catch_warnings():  # about an array where the model was trained on a frame
        warnings.simplefilter("ignore", UserWarning)
        return np.asarray(model.predict_proba(X))[:, place]


def of_class(answer: NDArray[Any] | None, target: Category) -> NDArray[Any] | None:
    """Pick a class out of a bare booster's answer: one column for two classes, else one each."""
    if answer is None:
        return None
    if answer.ndim == 2:
        return answer[:, int(target)]
    return answer if int(target) == 1 else 1 - answer


def not_fitted(model: object) -> InvalidModel:
    """Say that a model has not learned anything yet."""
    return InvalidModel(
        f"The {type(model).__name__} is not fitted: train it, with fit(X, y), before it is "
        "imported or saved."
    )


def not_a_classifier(model: object) -> UnsupportedModel:
    """Say that a model has no classes."""
    return UnsupportedModel(
        f"{type(model).__name__} is not a classifier: robx needs the probability of a class. Wrap "
        "a function that returns probabilities in robx.BlackBox."
    )


def no_probability(objective: str, known: Sequence[str]) -> UnsupportedModel:
    """Say that a library's objective does not end in a probability."""
    return UnsupportedModel(
        f"The {objective} does not give class probabilities that robx can rebuild; robx takes "
        f"{', '.join(known)}. Wrap a function that returns probabilities in robx.BlackBox."
    )

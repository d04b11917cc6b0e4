"""`estimator_of`: an unfitted classifier like a model, to train it again."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robx.errors import InvalidInput
from robx.modelfiles import boosters
from robx.modelfiles.loader import load_model
from robx.trees import BlackBox, TreeEnsemble
from robx.trees.importer import file_parser

#: What the file of each library tells of its training.
READERS = {
    "robx.trees.xgboost": boosters.xgboost_recipe,
    "robx.trees.lightgbm": boosters.lightgbm_recipe,
    "robx.trees.catboost": boosters.catboost_recipe,
}


@dataclass(frozen=True)
class Recipe:
    """How to train a model again.

    Parameters
    ----------
    estimator : unfitted classifier
        In scikit-learn's form.
    words : str
        How its settings are known.
    """

    estimator: Any
    words: str


def estimator_of(model: Any, parameters: Mapping[str, Any] | None = None) -> Recipe:
    """Give an unfitted classifier like a model, and say how its settings are known.

    Parameters
    ----------
    model : path or fitted classifier
        A file that `load_model` takes, but no `.robx`; or a classifier in scikit-learn's form.
    parameters : mapping, optional
        Settings of the classifier that you know better; they override what was found out.

    Returns
    -------
    Recipe
        Its `estimator` is to be trained on labels as the model knows them: 0 and 1 where a file
        has no names for its classes.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> forest = RandomForestClassifier(50, max_depth=4).fit([[0.0], [1.0]], [0, 1])
    >>> recipe = estimator_of(forest, {"max_depth": 5})
    >>> recipe.estimator
    RandomForestClassifier(max_depth=5, n_estimators=50)
    >>> print(recipe.words)
    It is trained again with the settings of the model itself; max_depth as given.
    """
    if not isinstance(parameters or {}, Mapping):
        raise InvalidInput(
            "The 'parameters' parameter of estimator_of must map names to values. Got "
            f"{type(parameters).__name__} instead."
        )
    given = dict(parameters or {})
    if isinstance(model, TreeEnsemble | BlackBox):
        raise _not_again(f"a {type(model).__name__}")
    if isinstance(model, str | os.PathLike):
        loaded = load_model(model)
        if isinstance(loaded, Path):
            return _of_file(loaded, given)
        model = loaded
    return _of_classifier(model, given)


def _of_file(path: Path, given: dict[str, Any]) -> Recipe:
    read = READERS.get(file_parser(path))
    if read is None:
        raise _not_again(f"'{path.name}', which holds trees and no settings,")
    maker, settings, words = read(path)
    unknown = sorted(set(given) - _names(maker()) - set(settings) - boosters.ALSO_KNOWN)
    _refuse(unknown, maker.__name__)
    return Recipe(maker(**{**settings, **given}), _said(words, given))


def _of_classifier(model: Any, given: dict[str, Any]) -> Recipe:
    if not all(hasattr(model, verb) for verb in ("fit", "get_params", "set_params")):
        raise _not_again(f"a {type(model).__name__}")
    from sklearn.base import clone  # noqa: PLC0415 - takes long to load

    try:
        copy = clone(model)
    except RuntimeError:  # CatBoost with lists among its settings
        copy = type(model)(**deepcopy(model.get_params()))
    _refuse(sorted(set(given) - _names(copy)), type(model).__name__)
    words = "It is trained again with the settings of the model itself"
    return Recipe(copy.set_params(**given), _said(words, given))


def _names(estimator: Any) -> set[str]:
    """All parameters, also those that CatBoost does not list until they are set."""
    listed = inspect.signature(type(estimator)).parameters.values()
    named = {p.name for p in listed if p.kind not in {p.VAR_POSITIONAL, p.VAR_KEYWORD}}
    return named | set(estimator.get_params())


def _refuse(unknown: list[str], owner: str) -> None:
    if unknown:
        raise InvalidInput(
            f"{owner} has no parameter {unknown[0]!r}. Its get_params() lists what there is."
        )


def _not_again(what: str) -> InvalidInput:
    return InvalidInput(
        f"{what[0].upper()}{what[1:]} cannot be trained again: nobody knows how it was trained. "
        "Pass the original model, or a classifier in scikit-learn's form as estimator."
    )


def _said(words: str, given: dict[str, Any]) -> str:
    return f"{words}; {', '.join(sorted(given))} as given." if given else f"{words}."

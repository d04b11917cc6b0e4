"""`ModelFile`: a model file, parsed once; `estimator_of`: an unfitted classifier like a model."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from robx.budget import Budget
from robx.errors import InvalidInput, InvalidModel, UnsupportedModel
from robx.modelfiles import boosters
from robx.modelfiles.aliases import library_of, own_names
from robx.modelfiles.lost_parameters import refuse_lost_parameters
from robx.scenarios.estimators import lost_categories
from robx.tables import Category
from robx.trees import BlackBox, TreeEnsemble, import_model
from robx.trees.category_names import Source, UnnamedCategories
from robx.trees.importer import PICKLES, ParsedFile, check_file, file_parser, import_named

#: What the file of each library says about its training.
READERS = {
    "robx.trees.xgboost": boosters.xgboost_recipe,
    "robx.trees.lightgbm": boosters.lightgbm_recipe,
    "robx.trees.catboost": boosters.catboost_recipe,
}


class ModelFile:
    """A model file, opened without running code and parsed once.

    Parameters
    ----------
    path : path
        Of a file of XGBoost, LightGBM, CatBoost, scikit-learn (`.skops`) or robx; or a pickle.
    unsafe_pickle : bool
        Whether to load a pickle (`.pkl`, `.pickle`, `.joblib`). Loading runs any code in it:
        allow it only for files that you trust.
    budget : Budget, optional
        What reading the file may take.

    Examples
    --------
    >>> import tempfile
    >>> import skops.io
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> path = Path(tempfile.mkdtemp()) / "model.skops"
    >>> skops.io.dump(DecisionTreeClassifier().fit([[0.0], [1.0]], ["bad", "good"]), path)
    >>> file = ModelFile(path)
    >>> file.model, file.imported().target, sorted(file.classes("good"))
    (DecisionTreeClassifier(), 'good', ['bad', 'good'])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        unsafe_pickle: bool = False,
        budget: Budget | None = None,
    ) -> None:
        self.path = Path(path)
        self.unsafe_pickle = unsafe_pickle
        self.budget = budget or Budget.default()
        #: Gives tables that name the categories of a model that does not hold their names.
        self.sources: Callable[[], Sequence[Source]] = tuple
        self._imported: dict[str, TreeEnsemble | BlackBox] = {}

    @cached_property
    def model(self) -> Any:
        """What robx takes: a classifier (of `.skops` or a pickle), else a `ParsedFile`."""
        if self.path.suffix in PICKLES:
            return _unpickled(self.path, self.budget, unsafe_pickle=self.unsafe_pickle)
        check_file(self.path, self.budget)
        if file_parser(self.path) == "robx.trees.skops":
            from robx.trees.skops import load  # noqa: PLC0415 - takes long to load

            return load(self.path, self.budget)
        return ParsedFile(self.path, self.budget)

    def imported(self, target: Category | None = None) -> TreeEnsemble | BlackBox:
        """Import the model, once for each class that is asked for."""
        key = repr(target)
        if key not in self._imported:
            try:
                imported = import_model(self.model, target)
            except UnnamedCategories:
                imported = import_named(self.model, target, self.sources())
            self._imported[key] = imported
        return self._imported[key]

    def classes(self, target: Category | None = None) -> set[Category]:
        """Labels that the file names, as far as they are known; most files only number them."""
        if hasattr(self.model, "classes_"):
            return set(self.model.classes_.tolist())
        named = self.imported(target).target
        return {named} if isinstance(named, str) else set()

    def recipe(self, parameters: Mapping[str, Any] | None = None) -> Recipe:
        """Say how to train the model again; see `estimator_of`."""
        return estimator_of(self.model, parameters)


def _unpickled(file: Path, budget: Budget, *, unsafe_pickle: bool) -> Any:
    check_file(file, budget, is_pickle=True)
    if not unsafe_pickle:
        raise UnsupportedModel(
            f"'{file.name}' is a pickle, which runs code when it is loaded. Save the model in its "
            "library's own format, or with skops.io.dump; or, if you trust the file, allow it with "
            "unsafe_pickle=True (--unsafe-pickle)."
        )
    import joblib  # noqa: PLC0415 - takes long to load

    try:
        with warnings.catch_warnings():  # about the version that wrote it
            warnings.simplefilter("ignore", UserWarning)
            model = joblib.load(file)
    except Exception as error:  # a pickle may raise anything
        raise InvalidModel(
            f"'{file.name}' is not a pickle that can be loaded: {type(error).__name__}: "
            f"{str(error)[:200]}"
        ) from error
    if not hasattr(model, "predict_proba"):
        raise UnsupportedModel(
            f"'{file.name}' holds a {type(model).__name__}; robx needs a classifier with "
            "predict_proba."
        )
    return model


@dataclass(frozen=True)
class Recipe:
    """How to train a model again.

    Parameters
    ----------
    estimator : unfitted classifier
        With scikit-learn's interface.
    words : str
        Where its settings are known from.
    """

    estimator: Any
    words: str


def estimator_of(model: Any, parameters: Mapping[str, Any] | None = None) -> Recipe:
    """Give an unfitted classifier like a model, and say where its settings are known from.

    Parameters
    ----------
    model : fitted classifier or ParsedFile
        A classifier with scikit-learn's interface; of a file, what `ModelFile.model` gives.
    parameters : mapping, optional
        Settings of the classifier that you know better; they override what was found. Any name
        that the library knows a setting by will do, such as ``eta`` for ``learning_rate``.

    Returns
    -------
    Recipe
        Its `estimator` takes labels as the model knows them: 0 and 1 where a file has no names
        for its classes.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> forest = RandomForestClassifier(50, max_depth=4).fit([[0.0], [1.0]], [0, 1])
    >>> recipe = estimator_of(forest, {"max_depth": 5})
    >>> recipe.estimator
    RandomForestClassifier(max_depth=5, n_estimators=50)
    >>> print(recipe.words)
    The model is trained again with its own settings; max_depth as given.
    """
    if not isinstance(parameters or {}, Mapping):
        raise InvalidInput(
            "The 'parameters' parameter of estimator_of must map names to values. Got "
            f"{type(parameters).__name__} instead."
        )
    given = dict(parameters or {})
    found = _of_file if isinstance(model, ParsedFile) else _of_classifier
    estimator, words = found(model, given)
    known = f"; {', '.join(sorted(given))} as given" if given else ""
    return Recipe(estimator, f"{words}{known}.")


def _of_file(file: ParsedFile, given: dict[str, Any]) -> tuple[Any, str]:
    if file.parser not in READERS:
        raise _not_again(f"'{file.path.name}', which holds trees without settings,")
    maker, settings, words = READERS[file.parser](file)
    given = own_names(given, library_of(maker))
    _refuse(set(given) - _names(maker()) - set(settings) - boosters.ALSO_KNOWN, maker.__name__)
    return maker(**{**settings, **given}), words


def _of_classifier(model: Any, given: dict[str, Any]) -> tuple[Any, str]:
    if not all(hasattr(model, verb) for verb in ("fit", "get_params", "set_params")):
        raise _not_again(f"A {type(model).__name__}")
    from sklearn.base import clone  # noqa: PLC0415 - takes long to load

    try:
        copy = clone(model)
    except RuntimeError:  # CatBoost with lists among its settings
        copy = type(model)(**deepcopy(model.get_params()))
    library = library_of(type(model))
    given = own_names(given, library)
    _refuse(set(given) - _names(copy), type(model).__name__)
    refuse_lost_parameters(model, given)
    if library == "catboost":  # which refuses a second name for what it was given by another
        settings = {**deepcopy(copy.get_params()), **lost_categories(model)}
        copy = type(model)(**own_names(settings, library))
    return copy.set_params(**given), "The model is trained again with its own settings"


def _names(estimator: Any) -> set[str]:
    """All parameters, also those that CatBoost does not list until they are set."""
    listed = inspect.signature(type(estimator)).parameters.values()
    named = {p.name for p in listed if p.kind not in {p.VAR_POSITIONAL, p.VAR_KEYWORD}}
    return named | set(estimator.get_params())


def _refuse(unknown: set[str], owner: str) -> None:
    if unknown:
        raise InvalidInput(
            f"{owner} has no parameter {min(unknown)!r}. Its get_params() lists those it has."
        )


def _not_again(what: str) -> InvalidInput:
    return InvalidInput(
        f"{what} cannot be trained again: it does not say how it was trained. Pass the original "
        "model, or a classifier with scikit-learn's interface as estimator."
    )

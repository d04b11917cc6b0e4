"""`ModelFile`: a model file, opened and parsed once, with everything that is made of it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from robx.errors import InvalidModel, UnsupportedModel
from robx.modelfiles.recipes import Recipe, estimator_of
from robx.tables import Category
from robx.trees import BlackBox, TreeEnsemble, import_model
from robx.trees.importer import PICKLES, ParsedFile, check_file, file_parser


class ModelFile:
    """A model file, opened without running code and parsed once.

    Parameters
    ----------
    path : path
        Of a file of XGBoost, LightGBM, CatBoost, scikit-learn (`.skops`) or robx; or a pickle.
    unsafe_pickle : bool
        Whether to load a pickle (`.pkl`, `.pickle`, `.joblib`). Loading runs any code in it:
        allow it only for files that you trust.

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

    def __init__(self, path: str | os.PathLike[str], *, unsafe_pickle: bool = False) -> None:
        self.path = Path(path)
        self.unsafe_pickle = unsafe_pickle
        self._imported: dict[str, TreeEnsemble | BlackBox] = {}

    @cached_property
    def model(self) -> Any:
        """What robx takes: a classifier (of `.skops` or a pickle), else a `ParsedFile`."""
        if self.path.suffix in PICKLES:
            return _unpickled(self.path, unsafe_pickle=self.unsafe_pickle)
        check_file(self.path)
        if file_parser(self.path) == "robx.trees.skops":
            from robx.trees.skops import load  # noqa: PLC0415 - takes long to load

            return load(self.path)
        return ParsedFile(self.path)

    def imported(self, target: Category | None = None) -> TreeEnsemble | BlackBox:
        """Import the model, once for each class that is asked for."""
        key = repr(target)
        if key not in self._imported:
            self._imported[key] = import_model(self.model, target)
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


def _unpickled(file: Path, *, unsafe_pickle: bool) -> Any:
    check_file(file, is_pickle=True)
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

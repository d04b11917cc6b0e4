"""`import_model`: how models come in, alive or in a file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from robx.budget import Budget
from robx.errors import (
    ImportMismatch,
    InvalidInput,
    InvalidModel,
    RobxError,
    SlowModel,
    UnsupportedModel,
    warn_caller,
)
from robx.tables import Category, count_rows, listing_only, take
from robx.trees.blackbox import BlackBox
from robx.trees.category_names import Source, spelled_out
from robx.trees.ensemble import TreeEnsemble
from robx.trees.targets import OnlyScores, not_fitted

#: The parser for models whose class is defined in this package.
PARSERS = {
    "xgboost": "robx.trees.xgboost",
    "lightgbm": "robx.trees.lightgbm",
    "catboost": "robx.trees.catboost",
    "sklearn": "robx.trees.sklearn",
}
#: The parser for files with this ending; `.json` is settled by looking inside.
FILE_PARSERS = {
    ".ubj": "robx.trees.xgboost",
    ".txt": "robx.trees.lightgbm",
    ".cbm": "robx.trees.catboost",
    ".robx": "robx.trees.store",
    ".skops": "robx.trees.skops",
}
#: The parser for JSON whose outermost object begins with this field.
JSON_PARSERS = {
    **dict.fromkeys(("learner", "version"), "robx.trees.xgboost"),
    **dict.fromkeys(
        ("ctr_data", "features_info", "model_info", "oblivious_trees", "scale_and_bias", "trees"),
        "robx.trees.catboost",
    ),
}
#: Parsers that look into a table: for names of categories, or for types of a pipeline's columns.
NAMED_BY_TABLE = frozenset({"robx.trees.catboost", "robx.trees.skops"})
#: Endings of pickles, which are not read.
PICKLES = frozenset({".pkl", ".pickle", ".joblib"})
#: Packages whose pipelines are folded into their trees.
PIPELINES = frozenset({"sklearn", "imblearn"})
#: Classes in them that hold the model which they score.
WRAPPINGS = frozenset({"Pipeline", "CalibratedClassifierCV"})
SAMPLE = 512
TOLERANCE = 1e-6


class ParsedFile:
    """A model file that is parsed once, however often it is imported.

    `import_model` takes it wherever it takes a path.

    Parameters
    ----------
    path : path
        Of a file that `import_model` takes.
    budget : Budget, optional
        What reading the file may take.
    """

    def __init__(self, path: str | os.PathLike[str], budget: Budget | None = None) -> None:
        self.path = Path(path)
        self.budget = budget or Budget.default()
        check_file(self.path, self.budget)
        #: The module that reads it.
        self.parser = file_parser(self.path)
        self._ensembles: dict[str, tuple[Sequence[Source], TreeEnsemble]] = {}

    @cached_property
    def contents(self) -> Any:
        """What its parser read: records, the sections of a text, or a classifier."""
        with self.budget.reading(f"'{self.path.name}'"):
            return import_module(self.parser).parse_file(self.path, self.budget)

    def ensemble(
        self, target: Category | None = None, sources: Sequence[Source] = ()
    ) -> TreeEnsemble:
        """Give the ensemble that scores a class, made once for each.

        The names of categories are looked up in `sources`, if the file does not hold them.
        """
        looked_up = sources if self.parser in NAMED_BY_TABLE else ()
        key = f"{target!r} {[id(source) for source in looked_up]}"
        if key not in self._ensembles:
            make = import_module(self.parser).from_parsed
            contents = self.contents
            given = (sources,) if self.parser in NAMED_BY_TABLE else ()
            with self.budget.reading(f"'{self.path.name}'"):
                made = make(contents, self.path, target, self.budget, *given)
            self._ensembles[key] = (looked_up, made)  # the sources stay, and so do their ids
        return self._ensembles[key][1]

    def any_ensemble(self) -> TreeEnsemble:
        """Give an ensemble whatever class it scores, to look at its trees."""
        made = next(iter(self._ensembles.values()), None)
        return self.ensemble(0) if made is None else made[1]


def import_model(
    model: Any,
    target: Category | None = None,
    X: object | None = None,
    *,
    budget: Budget | None = None,
) -> TreeEnsemble | BlackBox:
    """Import a model, so that it can be scored and probed fast.

    Parameters
    ----------
    model : fitted model, path or callable
        A classifier of XGBoost, LightGBM, CatBoost or scikit-learn, or the path of a saved model
        (`.json` and `.ubj` of XGBoost, `.txt` of LightGBM, `.cbm` and `.json` of CatBoost, `.skops`
        of scikit-learn, `.robx` of robx). A pipeline of scikit-learn that ends in such a classifier
        is folded into its trees, over the raw columns. Anything else with ``predict_proba``, or a
        function from a table to probabilities, becomes a `BlackBox`; where that is a pipeline, its
        `why` says which step cannot be folded. A file is taken as data: nothing in it is executed
        or unpickled.
    target : label, optional
        The class whose probability is the score: of two classes the second unless given; of more,
        it must be given. Its number from 0 where a file or a bare booster holds no labels.
    X : table, optional
        Rows to check the import on, best the training table: a sample of them is scored by the
        library itself and by the result. CatBoost's models do not hold the names of their
        categories, which are looked up here: categories that X lacks are refused later.
    budget : Budget, optional
        What reading a file may take, in bytes, memory and time.

    Returns
    -------
    TreeEnsemble or BlackBox
        With ``.score(X)``, and taken by `robx.stability` and `robx.is_stable`.

    Raises
    ------
    UnsupportedModel
        If the model is of a kind that cannot be imported. `robx.BlackBox` may still take it.
    InvalidModel
        If a model or file is damaged, or a model is not fitted.
    BudgetExceeded
        If a file takes more than its budget allows.
    ImportMismatch
        If the result scores one of the rows in `X` differently from the library.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> ensemble = import_model(forest, target=2, X=X)
    >>> bool((ensemble.score(X) == forest.predict_proba(X)[:, 2]).all())
    True

    A pipeline is folded into its trees:

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> pipeline = make_pipeline(StandardScaler(), forest).fit(X, y)
    >>> folded = import_model(pipeline, target=2)
    >>> bool((folded.score(X) == pipeline.predict_proba(X)[:, 2]).all())
    True
    """
    return import_named(model, target, () if X is None else (X,), X, budget=budget)


def import_named(
    model: Any,
    target: Category | None,
    sources: Sequence[Source],
    X: object | None = None,
    *,
    budget: Budget | None = None,
) -> TreeEnsemble | BlackBox:
    """Import a model, as `import_model` does, with the names of categories from other tables.

    Parameters
    ----------
    model, target, X, budget
        As for `import_model`.
    sources : sequence of tables or of Columns
        Where the names are looked up, if the model does not hold them: tables, or tuples of
        columns of models that are imported already.
    """
    if isinstance(model, TreeEnsemble | BlackBox):
        if target is not None and target != model.target:
            raise InvalidInput(
                f"The model is imported already and scores the probability of {model.target!r}, "
                f"not of {target!r}. Import the original model with that target."
            )
        return model
    if isinstance(model, str | os.PathLike):
        model = ParsedFile(model, budget)
    if isinstance(model, ParsedFile):
        return _import_file(model, target, sources, X)
    imported = import_live(model, target, X, sources)
    if isinstance(imported, TreeEnsemble) and X is not None:
        imported = _checked(model, imported, X)
    if isinstance(imported, BlackBox) and imported.why:
        warn_caller(imported.why, SlowModel)
    return imported


def _checked(model: Any, imported: TreeEnsemble, X: object) -> TreeEnsemble | BlackBox:
    """Check an import on rows; a pipeline that was not folded soundly stays a black box."""
    parser = import_module(_parser_of(model) or PARSERS["sklearn"])
    folded = holds_model(model)

    def ask(rows: Any) -> Any:
        return parser.probability(model, imported.target, rows)

    try:
        _check(imported, X, ask, by_dtype=not folded)
    except ImportMismatch:
        if not folded:
            raise
        why = "folded into its trees, it scores a row of the table differently"
        return BlackBox(model, imported.target, _slow(model, why))
    return imported


def import_live(
    model: Any,
    target: Category | None = None,
    X: object | None = None,
    sources: Sequence[Source] = (),
) -> TreeEnsemble | BlackBox:
    """Import a fitted model that is in memory, unchecked and without a warning.

    `X` are rows like those that a pipeline was fitted on; names of categories that the model does
    not hold are looked up in `sources`.
    """
    if holds_model(model):
        return _unwrapped(model, target, X)
    module = _parser_of(model)
    if module is None:
        return BlackBox(model, target)
    from sklearn.exceptions import NotFittedError  # noqa: PLC0415 - takes long to load

    parser = import_module(module)
    given = (sources,) if module in NAMED_BY_TABLE else ()
    try:
        parsed: TreeEnsemble | None = parser.from_model(model, target, *given)
    except NotFittedError as error:
        raise not_fitted(model) from error
    except OnlyScores as error:
        if not hasattr(model, "predict_proba"):
            raise
        return BlackBox(model, target, _slow(model, error.reason))
    # None is a classifier of the library that is not a tree ensemble.
    return BlackBox(model, target) if parsed is None else parsed


def holds_model(model: object) -> bool:
    """Whether a model is a pipeline or a calibrated one, which is folded."""
    return _wrapping(model) is not None


def _wrapping(model: object) -> str | None:
    """Name the class of a pipeline or a calibrated model, where its library's code scores it."""
    scoring = next((b for b in type(model).__mro__ if "predict_proba" in vars(b)), object)
    is_known = scoring.__module__.split(".")[0] in PIPELINES
    return scoring.__name__ if is_known and scoring.__name__ in WRAPPINGS else None


def _unwrapped(model: Any, target: Category | None, X: object | None) -> TreeEnsemble | BlackBox:
    """Fold a pipeline into its trees; one that cannot be folded is a black box that says why."""
    from sklearn.exceptions import NotFittedError  # noqa: PLC0415 - takes long to load
    from sklearn.utils.validation import check_is_fitted  # noqa: PLC0415

    from robx.trees.pipelines import CannotFold, calibrated, fold  # noqa: PLC0415

    try:
        check_is_fitted(model)
        if _wrapping(model) == "Pipeline":
            return fold(model, target, import_live, X)
        return calibrated(model, target, lambda inner, label: import_live(inner, label, X))
    except NotFittedError as error:
        raise not_fitted(model) from error
    except CannotFold as cannot:
        reason = cannot.reason
    except UnsupportedModel as error:
        reason = f"its model cannot be imported. {str(error).rstrip('.')}"
    except RobxError:
        raise
    except Exception as error:  # of a transformer that nobody knows; the pipeline itself may do
        reason = f"folding it ended in {type(error).__name__}: {str(error)[:200].rstrip('.')}"
    return BlackBox(model, target, _slow(model, reason))


def _slow(model: object, reason: str) -> str:
    name = "pipeline" if _wrapping(model) == "Pipeline" else type(model).__name__
    return f"The {name} is scored as a black box, which is slow: {reason}."


def _parser_of(model: object) -> str | None:
    """Find the parser of the library whose code scores the model: a subclass may have its own."""
    bases = type(model).__mro__
    scoring = next((b for b in bases if "predict_proba" in vars(b)), None)
    packages = [base.__module__.split(".")[0] for base in ([scoring] if scoring else bases)]
    return next((PARSERS[package] for package in packages if package in PARSERS), None)


def _import_file(
    file: ParsedFile, target: Category | None, sources: Sequence[Source], X: object | None
) -> TreeEnsemble:
    ensemble = file.ensemble(target, sources)
    if X is not None:
        ask = import_module(file.parser).file_probability
        _check(ensemble, X, lambda rows: ask(file.path, ensemble.target, rows, file.budget))
    return ensemble


def check_file(path: Path, budget: Budget, *, is_pickle: bool = False) -> None:
    """Refuse what is not a file, is too large to be read, or is a pickle unless that is known."""
    try:
        size = path.stat().st_size if path.is_file() else None
    except OSError:  # a name too long, or not allowed
        size = None
    if size is None:
        raise InvalidInput(f"There is no model file at '{str(path)[:200]}'. Check the path.")
    budget.check_bytes(size, f"'{path.name}'")
    if not is_pickle and (path.suffix in PICKLES or _begins_as_pickle(path)):
        raise UnsupportedModel(
            f"'{path.name}' is a pickle, which runs code when it is loaded; robx does not load it. "
            "Save the model with skops.io.dump; or, if you trust the file, name it .pkl and allow "
            "it with --unsafe-pickle, or load it in Python and pass the model."
        )


def _begins_as_pickle(path: Path) -> bool:
    """Whether a file begins as pickles do since 2003, whatever its name: no model's own does."""
    try:
        with path.open("rb") as file:
            return re.match(rb"\x80[\x02-\x05]", file.read(2)) is not None
    except OSError as error:
        raise InvalidInput(
            f"'{path}' cannot be read: {error.strerror}. Check its permissions."
        ) from error


def file_parser(path: Path) -> str:
    """Name the module that reads a file: by its ending, `.json` by what is inside."""
    if path.suffix in FILE_PARSERS:
        return FILE_PARSERS[path.suffix]
    if path.suffix != ".json":
        raise UnsupportedModel(
            f"robx does not know model files ending in '{path.suffix}'. Expected .json, .ubj, "
            ".txt, .cbm, .skops or .robx; in Python, load the model yourself and pass it."
        )
    # Which library wrote it is told by the first field of the outermost object.
    with path.open("rb") as file:
        first = re.match(rb'\s*\{\s*"(\w*)"', file.read(1024))
    parser = None if first is None else JSON_PARSERS.get(first[1].decode())
    if parser is None:
        raise InvalidModel(
            f"'{path.name}' is not the JSON of an XGBoost or CatBoost model. Save the model again "
            "with its own save_model; in Python, you can pass the model itself."
        )
    return parser


def _check(
    ensemble: TreeEnsemble, X: Any, probability: Callable[[Any], Any], *, by_dtype: bool = True
) -> None:
    """Score a sample of rows both ways, and refuse the import at the first that differs.

    `by_dtype` tells whether the library knows categories by the dtype of their column.
    """
    n_rows = count_rows(X)
    rows = np.unique(np.linspace(0, max(n_rows - 1, 0), min(n_rows, SAMPLE)).astype(int))
    # Few rows are read as they are: what is not a table is told so by the reader.
    try:
        matrix = ensemble.read(X if n_rows <= SAMPLE else take(X, rows))
    except InvalidInput:
        ensemble.read(X)  # which names the row by its number in the whole table
        raise
    if n_rows == 0:
        return
    ours = ensemble.score_matrix(matrix)
    sample = take(X, rows, ensemble.columns if ensemble.named else None)
    strict = {c.name: c.categories for c in ensemble.columns if not c.takes_unseen}
    if by_dtype and any(column.as_text for column in ensemble.columns):
        sample = spelled_out(sample, matrix, ensemble.columns)
    elif strict and by_dtype:
        # A library that refuses unseen categories refuses a dtype that lists them, too.
        sample = listing_only(sample, strict)
    try:
        theirs = probability(sample)
    except (TypeError, ValueError, KeyError, AssertionError) as error:
        if isinstance(error, RobxError):
            raise
        raise InvalidInput(
            f"The model's own library refuses the rows to check the import on: {str(error)[:300]} "
            "Pass X as the model was trained on it, or import without X."
        ) from error
    if theirs is None:  # a file whose library is not installed
        return
    differs = ~(np.abs(ours - np.asarray(theirs, dtype=np.float64)) <= TOLERANCE)
    if differs.any():
        first = int(differs.argmax())
        raise ImportMismatch(
            f"The imported model does not score as its source does: row {rows[first]} of X, "
            f"{matrix[first].tolist()}, gets {ours[first]:.9f}; {ensemble.source} gives "
            f"{theirs[first]:.9f}. Nothing was imported. A library that is older than the one that "
            "wrote a file can read it wrongly: upgrade it. Otherwise please report this with the "
            "library's version; robx.BlackBox takes the model as it is."
        )

"""The parts of a pipeline from a `.skops` file, checked before any of them may transform a row.

That a file names only types of a fixed list does not make a pipeline sound. scikit-learn believes
what its own objects say of themselves: a one-hot encoder writes to columns that it does not have if
its lists contradict each other, a selector asks trees that were never checked how much each feature
matters, and a number of jobs is a number of processes. So every object in a pipeline is looked at
here: trees are read by our own parser, lists are compared, and what only training needs and may do
harm is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from robx.budget import Budget
from robx.errors import InvalidModel, UnsupportedModel
from robx.trees import sklearn
from robx.trees.pipelines.tracing import RISING
from robx.trees.targets import class_labels

#: What holds a model, and is not one.
WRAPPINGS = (Pipeline, CalibratedClassifierCV)
TREES = (
    *(DecisionTreeClassifier, ExtraTreeClassifier, RandomForestClassifier, ExtraTreesClassifier),
    *(GradientBoostingClassifier, HistGradientBoostingClassifier),
)
#: What only fitted trees have.
FITTED = ("tree_", "estimators_", "_predictors")
#: Functions that a `FunctionTransformer` may call.
FUNCTIONS = {f"numpy.{name}" for name in (*RISING, "absolute", "fabs", "square")}
#: Functions by which features were scored in training.
SCORES = {
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.feature_selection._univariate_selection.chi2",
    "sklearn.feature_selection._mutual_info.mutual_info_classif",
}
#: What holds a model, by the names that files have for them.
ROOTS = {"sklearn.pipeline.Pipeline", "sklearn.calibration.CalibratedClassifierCV"}
#: What pipelines and calibrated models are made of, besides models.
OBJECTS = {
    *ROOTS,
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.feature_selection._from_model.SelectFromModel",
    "sklearn.feature_selection._rfe.RFE",
    *(
        f"sklearn.feature_selection._univariate_selection.{name}"
        for name in (
            *("GenericUnivariateSelect", "SelectFdr", "SelectFpr", "SelectFwe"),
            *("SelectKBest", "SelectPercentile"),
        )
    ),
    "sklearn.feature_selection._variance_threshold.VarianceThreshold",
    "sklearn.frozen._frozen.FrozenEstimator",
    "sklearn.impute._base.MissingIndicator",
    "sklearn.impute._base.SimpleImputer",
    "sklearn.pipeline.FeatureUnion",
    *(
        f"sklearn.preprocessing._data.{name}"
        for name in (
            *("Binarizer", "MaxAbsScaler", "MinMaxScaler", "PowerTransformer"),
            *("QuantileTransformer", "RobustScaler", "StandardScaler"),
        )
    ),
    "sklearn.preprocessing._discretization.KBinsDiscretizer",
    "sklearn.preprocessing._encoders.OneHotEncoder",
    "sklearn.preprocessing._target_encoder.TargetEncoder",
}


def check_parts(model: Any, where: str, budget: Budget) -> None:
    """Refuse a pipeline or a calibrated model of which a part is not sound.

    Parameters
    ----------
    model : Pipeline or CalibratedClassifierCV
    where : str
        What to call its file in messages.
    budget : Budget

    Raises
    ------
    InvalidModel, UnsupportedModel
    """
    for part in _parts(model):
        refuse_methods(part, where)
        if isinstance(part, TREES):
            _check_trees(part, where, budget)
        elif any(name in vars(part) for name in (*FITTED, "nodes")):
            raise InvalidModel(f"{where} has a {type(part).__name__} outside of a model.")
        elif isinstance(part, OneHotEncoder) and hasattr(part, "categories_"):
            _check_encoder(part, where)
        elif isinstance(part, FunctionTransformer):
            _check_function(part, where)
        elif isinstance(part, Pipeline) and part.memory is not None:
            raise UnsupportedModel(
                f"{where} holds a pipeline that keeps what it learned in files (memory=). Save it "
                "with memory=None."
            )
        elif isinstance(part, ColumnTransformer | FeatureUnion):
            part.n_jobs = None  # how many at once makes no difference to what comes out


def refuse_methods(part: Any, where: str) -> None:
    """Refuse an object that has something else in the place of a method."""
    hidden = sorted(name for name in vars(part) if callable(getattr(type(part), name, None)))
    if hidden:
        raise InvalidModel(f"The model in {where} has an '{hidden[0]}' of its own.")


def _parts(model: Any) -> Iterator[Any]:
    """Find scikit-learn's objects in a model, wherever they stand, but not those within trees."""
    waiting = [model]
    while waiting:
        value = waiting.pop()
        if type(value).__module__.split(".")[0] == "sklearn" and hasattr(value, "__dict__"):
            yield value
            if not isinstance(value, TREES):
                waiting.extend(vars(value).values())
        elif isinstance(value, Mapping):
            waiting.extend(value.values())
        elif isinstance(value, list | tuple | set):
            waiting.extend(value)
        elif isinstance(value, np.ndarray) and value.dtype == object:
            waiting.extend(value.ravel().tolist())


def _check_trees(model: Any, where: str, budget: Budget) -> None:
    """Read the trees of a fitted model; one that is to be trained yet has none."""
    if not any(name in vars(model) for name in FITTED):
        return
    check_binning(model)
    sklearn.from_model(model, class_labels(model)[0], budget)
    for tree in np.ravel(getattr(model, "estimators_", [model])):
        known = getattr(tree, "tree_", None)  # scikit-learn counts importances by its own number
        if known is not None and known.n_features != model.n_features_in_:
            raise InvalidModel(f"{where} has a tree for {known.n_features} features.")


def check_binning(model: Any) -> None:
    """Check what a boosted model looks up by feature without looking whether it is there."""
    mapper = getattr(model, "_bin_mapper", None)
    if mapper is None:
        return
    known = np.asarray(mapper.is_categorical_)
    front = int(np.sum(model.is_categorical_)) if model.is_categorical_ is not None else 0
    if known.shape != (model.n_features_in_,) or not np.array_equal(
        np.flatnonzero(known), np.arange(front)
    ):
        raise InvalidModel("The model's bins do not fit its columns.")
    for predictor in [one for each in model._predictors for one in each]:
        if np.shape(predictor.raw_left_cat_bitsets)[1:] != (8,):
            raise InvalidModel("The model's sets of categories have a width that they cannot have.")


def _check_encoder(encoder: Any, where: str) -> None:
    """Check that every category has a column of its own: the encoder writes without looking."""
    n = len(encoder.categories_)
    groups = getattr(encoder, "_default_to_infrequent_mappings", None) or [None] * n
    dropped = getattr(encoder, "_drop_idx_after_grouping", None)
    dropped = [None] * n if dropped is None else list(dropped)
    widths = encoder._n_features_outs
    are_counts = type(widths) is list and all(type(width) is int for width in widths)
    if not are_counts or not len(groups) == len(dropped) == len(widths) == n:
        raise InvalidModel(f"{where} has a OneHotEncoder whose lists do not fit its categories.")
    for known, group, drop, width in zip(encoder.categories_, groups, dropped, widths, strict=True):
        codes = np.arange(len(known)) if group is None else np.asarray(group)
        if not _is_in_order(np.asarray(known)) or codes.shape != np.shape(known):
            raise InvalidModel(f"{where} has a OneHotEncoder whose categories are not in order.")
        columns = codes if drop is None else np.where(codes > drop, codes - 1, codes)[codes != drop]
        used = np.unique(columns)
        fits = len(used) == width and (width == 0 or (used[0] == 0 and used[-1] == width - 1))
        if codes.dtype.kind not in "iu" or not fits:
            raise InvalidModel(
                f"{where} has a OneHotEncoder that writes to columns which it does not have."
            )


def _is_in_order(categories: NDArray[Any]) -> bool:
    """Whether categories can be looked up: numbers, by halving, only where they rise."""
    if categories.ndim != 1 or categories.dtype.kind not in "OUSbiuf":
        return False
    if categories.dtype.kind in "OUS":
        return True
    numbers = categories.astype(np.float64)
    rising = np.diff(numbers[:-1] if len(numbers) and np.isnan(numbers[-1]) else numbers) > 0
    return bool(rising.all())


def _check_function(step: Any, where: str) -> None:
    functions = [step.func, step.inverse_func]
    known = {getattr(np, name.partition(".")[2]) for name in FUNCTIONS}
    is_own = type(step.func).__name__ == "partial"  # of scikit-learn's boosting, within a model
    if is_own or any(one is not None and one not in known for one in functions):
        raise UnsupportedModel(
            f"{where} has a FunctionTransformer that calls something other than a function of "
            "numpy that robx knows. In Python, load it with skops.io.load yourself and pass the "
            "model."
        )
    if step.kw_args or step.inv_kw_args:
        raise UnsupportedModel(
            f"{where} has a FunctionTransformer that passes arguments to its function, which robx "
            "does not take from a file."
        )

"""scikit-learn: its fitted trees, forests and boosted trees to a `TreeEnsemble`.

How scikit-learn scores, as far as it matters here. Trees, forests and `GradientBoostingClassifier`
round values to float32, go left when that is ``<= threshold`` in float64, and refuse infinite
values. A forest adds up the class fractions of its leaves, tree by tree in float64, and divides by
the number of trees. `GradientBoostingClassifier` starts from a prior, adds each leaf's value times
the learning rate, and refuses missing values; the others send them down the side that each split
names, whether or not the training table had any.

`HistGradientBoostingClassifier` compares in float64 and takes infinite values. It moves category
columns to the front and turns each category into its rank among the training categories; one that
was not trained on counts as missing.

Node arrays are read in the layout of scikit-learn 1.5 to 1.9; in any other one nothing is guessed.
Files of such models are read by `robx.trees.skops`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import getattr_static
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from robx.budget import UNLIMITED, Budget
from robx.errors import UnsupportedModel
from robx.tables import Category, Column
from robx.trees.build import Tree, assemble, assemble_classifier, codes_in, counted
from robx.trees.ensemble import TreeEnsemble
from robx.trees.rounding import FLOAT32_LARGEST, up_to_float32
from robx.trees.targets import (
    choose_target,
    class_labels,
    not_a_classifier,
    not_fitted,
    wrapper_probability,
)

#: Methods that take part in scoring: a subclass that changes one is not the model that we know.
SCORING = (
    "predict_proba decision_function _raw_predict _raw_predict_init _predict_iterations "
    "_preprocess_X _validate_X_predict"
)
NODE_FIELDS = (
    "left_child right_child feature threshold impurity n_node_samples weighted_n_node_samples "
    "missing_go_to_left"
)
HIST_NODE_FIELDS = (
    "value count feature_idx num_threshold missing_go_to_left left right gain depth is_leaf "
    "bin_threshold is_categorical bitset_idx"
)
#: The factor before the sigmoid (or softmax) of each loss.
SLOPES = {"HalfBinomialLoss": 1.0, "HalfMultinomialLoss": 1.0, "ExponentialLoss": 2.0}


def from_model(
    model: Any, target: Category | None, budget: Budget = UNLIMITED
) -> TreeEnsemble | None:
    """Import a tree, a forest or boosted trees; None for any other kind of classifier."""
    if isinstance(model, RegressorMixin) and not hasattr(model, "predict_proba"):
        raise not_a_classifier(model)
    parse = next((parse for kind, parse in PARSERS.items() if _scores_as(model, kind)), None)
    if parse is None:
        return None
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise not_fitted(model) from error
    if getattr(model, "n_outputs_", 1) != 1:
        raise UnsupportedModel(
            f"The {type(model).__name__} predicts {model.n_outputs_} outputs at once; robx needs "
            "one. Wrap a function that returns the probability of interest in robx.BlackBox."
        )
    return parse(model, target, budget)


def probability(model: Any, target: Category, X: Any) -> NDArray[Any]:
    """Ask scikit-learn itself."""
    return wrapper_probability(model, target, X)


def _scores_as(model: Any, kind: type) -> bool:
    # Looked up statically: scikit-learn hides some methods behind a descriptor that makes new ones.
    return isinstance(model, kind) and all(
        getattr_static(type(model), name, None) is getattr_static(kind, name, None)
        for name in SCORING.split()
    )


# --- the three ways to add up trees ---------------------------------------------------------------


def _tree_or_forest(model: Any, target: Category | None, budget: Budget) -> TreeEnsemble:
    estimators = getattr(model, "estimators_", [model])
    if not estimators or not all(_scores_as(each, DecisionTreeClassifier) for each in estimators):
        raise _not_known(model, "its estimators_ are not plain decision trees")
    classes = class_labels(model)
    chosen, place = choose_target(target, classes)
    read = (_fractions(model, each, len(classes), place) for each in estimators)
    trees = counted(read, f"The {type(model).__name__}", budget)
    takes_missing = _get(estimators[0], "_support_missing_values")(_probe(model))
    return assemble(
        trees,
        _float32_columns(model, bool(takes_missing)),
        named=hasattr(model, "feature_names_in_"),
        target=chosen,
        source=_source(model),
        link="identity",
        base=[0.0],
        divisor=len(trees),
    )


def _fractions(model: Any, estimator: Any, n_classes: int, place: int) -> Tree:
    """Read a tree whose leaves hold the fraction of a class."""
    nodes, values = _nodes_and_values(estimator, n_classes)
    if not (np.abs(values.sum(axis=1) - 1) <= 1e-6).all():
        raise UnsupportedModel(
            f"The {type(model).__name__} has a leaf whose class fractions do not add up to 1, "
            "as in models of scikit-learn before 1.3 or trained with a total weight of 0. "
            "Train it again, or wrap it in robx.BlackBox."
        )
    return _tree(nodes, values[:, place])


def _gradient_boosting(model: Any, target: Category | None, budget: Budget) -> TreeEnsemble:
    stages = _get(model, "estimators_")
    slope = _slope(model, stages.shape[1])
    read = (_addend(model, each, k) for (_, k), each in np.ndenumerate(stages))
    trees = counted(read, "The GradientBoostingClassifier", budget)
    init = _get(model, "init_")
    prior = isinstance(init, DummyClassifier) and init.strategy == "prior"
    if not prior and not (isinstance(init, str) and init == "zero"):
        raise UnsupportedModel(
            f"The GradientBoostingClassifier starts from another model, init={init!r}; robx takes "
            "init=None and init='zero'. Wrap it in robx.BlackBox."
        )
    columns = _float32_columns(model, takes_missing=False)
    base = _get(model, "_raw_predict_init")(_probe(model))[0]
    return _boosted(model, target, trees, columns, base, slope)


def _addend(model: Any, estimator: Any, index: int) -> Tree:
    nodes, values = _nodes_and_values(estimator, 1)
    return _tree(nodes, model.learning_rate * values[:, 0], index=index)


def _hist_gradient_boosting(model: Any, target: Category | None, budget: Budget) -> TreeEnsemble:
    columns, order = _hist_columns(model)
    read = (
        _hist_tree(model, predictor, order, index=k)
        for each in _get(model, "_predictors")
        for k, predictor in enumerate(each)
    )
    trees = counted(read, "The HistGradientBoostingClassifier", budget)
    base = np.ravel(_get(model, "_baseline_prediction"))
    return _boosted(model, target, trees, columns, base, _slope(model, len(base)))


def _slope(model: Any, n_margins: int) -> float:
    """Check the loss, which decides how margins become probabilities."""
    loss = type(_get(model, "_loss")).__name__
    wanted = len(_get(model, "classes_")) if loss == "HalfMultinomialLoss" else 1
    if loss not in SLOPES or n_margins != wanted:
        raise _not_known(model, f"its loss is {loss}, with {n_margins} margins")
    return SLOPES[loss]


def _boosted(
    model: Any,
    target: Category | None,
    trees: Sequence[Tree],
    columns: Sequence[Column],
    base: NDArray[np.float64],
    slope: float,
) -> TreeEnsemble:
    return assemble_classifier(
        trees,
        columns,
        named=hasattr(model, "feature_names_in_"),
        target=target,
        classes=class_labels(model),
        source=_source(model),
        base=base.tolist(),
        slope=slope,
    )


PARSERS: dict[type, Callable[[Any, Category | None, Budget], TreeEnsemble]] = {
    DecisionTreeClassifier: _tree_or_forest,
    RandomForestClassifier: _tree_or_forest,
    ExtraTreesClassifier: _tree_or_forest,
    GradientBoostingClassifier: _gradient_boosting,
    HistGradientBoostingClassifier: _hist_gradient_boosting,
}


# --- nodes ----------------------------------------------------------------------------------------


def _nodes_and_values(estimator: Any, width: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return a tree's node records and the (m, width) values of its nodes."""
    state = _get(estimator, "tree_").__getstate__()
    nodes = _check_fields(estimator, state.get("nodes"), NODE_FIELDS)
    values = np.asarray(state.get("values"), dtype=np.float64)
    if values.shape != (len(nodes), 1, width):
        raise _not_known(estimator, f"node values of shape {values.shape}")
    return nodes, values[:, 0, :]


def _tree(nodes: NDArray[Any], value: NDArray[np.float64], index: int = 0) -> Tree:
    return Tree(
        left=nodes["left_child"],
        right=nodes["right_child"],
        feature=nodes["feature"],
        threshold=up_to_float32(nodes["threshold"]),
        missing_left=nodes["missing_go_to_left"] != 0,
        value=value,
        index=index,
    )


def _hist_tree(model: Any, predictor: Any, order: NDArray[np.intp], index: int) -> Tree:
    nodes = _check_fields(model, _get(predictor, "nodes"), HIST_NODE_FIELDS)
    is_leaf = nodes["is_leaf"] != 0
    by_category = np.flatnonzero((nodes["is_categorical"] != 0) & ~is_leaf)
    bits = np.asarray(_get(predictor, "raw_left_cat_bitsets"))
    return Tree(
        left=np.where(is_leaf, -1, nodes["left"].astype(np.int64)),
        right=np.where(is_leaf, -1, nodes["right"].astype(np.int64)),
        feature=order[np.where(is_leaf, 0, nodes["feature_idx"])],
        threshold=nodes["num_threshold"],
        missing_left=nodes["missing_go_to_left"] != 0,
        value=nodes["value"],
        index=index,
        categories={int(n): codes_in(bits[nodes["bitset_idx"][n]]) for n in by_category},
    )


# --- columns --------------------------------------------------------------------------------------


def _probe(model: Any) -> NDArray[np.float32]:
    """Make a row to ask for what is the same for every row."""
    return np.zeros((1, _get(model, "n_features_in_")), dtype=np.float32)


def _names(model: Any) -> list[str]:
    """Names of the training table's columns; those of an array are made up."""
    made_up = [f"x{j}" for j in range(_get(model, "n_features_in_"))]
    return [str(name) for name in getattr(model, "feature_names_in_", made_up)]


def _float32_columns(model: Any, takes_missing: bool) -> list[Column]:
    return [Column(n, takes_missing=takes_missing, largest=FLOAT32_LARGEST) for n in _names(model)]


def _hist_columns(model: Any) -> tuple[list[Column], NDArray[np.intp]]:
    """Return the user's columns, and which of them each column of the trees is."""
    names = _names(model)
    columns = [Column(name) for name in names]
    preprocessor = _get(model, "_preprocessor")
    if preprocessor is None:
        return columns, np.arange(len(columns))
    is_category = np.asarray(_get(model, "is_categorical_"), dtype=bool)
    front = np.flatnonzero(is_category)
    encoder = _get(preprocessor, "named_transformers_").get("encoder")
    known = _get(encoder, "categories_")
    if len(is_category) != len(columns) or len(known) != len(front):
        raise _not_known(model, f"categories of {len(known)} columns for {len(front)}")
    for j, values in zip(front.tolist(), known, strict=True):
        categories = _categories(names[j], values.tolist())
        columns[j] = Column(
            names[j],
            n_codes=max(len(categories), 1),  # a column that was always missing has none
            categories=categories,
            by_value=True,
            unseen_is_missing=True,
        )
    return columns, np.concatenate([front, np.flatnonzero(~is_category)])


def _categories(name: str, values: list[Any]) -> tuple[Category, ...]:
    """Training categories in the order of their codes, without the NaN that comes last."""
    if values and isinstance(values[-1], float) and np.isnan(values[-1]):
        values = values[:-1]
    if None in values:
        raise UnsupportedModel(
            f"Column '{name}' was trained with None, which scikit-learn takes for a category and "
            "tells apart from NaN; in a table they are the same. Train with a category of your own "
            "in its place, or wrap the model in robx.BlackBox."
        )
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    if strange := [value for value in values if not isinstance(value, str | int | float)]:
        raise UnsupportedModel(
            f"Column '{name}' has categories that are neither text nor numbers, such as "
            f"{strange[0]!r}. Train with their names, or wrap the model in robx.BlackBox."
        )
    return tuple(values)


# --- what is not as we know it --------------------------------------------------------------------


def _get(owner: Any, name: str) -> Any:
    """Return an attribute that only scikit-learn's own code promises."""
    try:
        return getattr(owner, name)
    except AttributeError as error:
        raise _not_known(owner, f"there is no '{name}'") from error


def _check_fields(owner: Any, nodes: Any, known: str) -> NDArray[Any]:
    array = np.asarray(nodes)
    if different := set(array.dtype.names or ()) ^ set(known.split()):
        raise _not_known(owner, f"its nodes differ in {', '.join(sorted(different))}")
    return array


def _not_known(owner: Any, what: str) -> UnsupportedModel:
    return UnsupportedModel(
        f"This version of scikit-learn ({sklearn.__version__}) keeps a {type(owner).__name__} in a "
        f"form that robx does not know: {what}. Wrap the model in robx.BlackBox, or use a version "
        "of scikit-learn that robx knows."
    )


def _source(model: Any) -> str:
    return f"scikit-learn {sklearn.__version__} {type(model).__name__}"

"""Whether a fitted model was trained with the parameters that it would be trained again with.

`XGBClassifier.load_model` brings back trees and no parameters, a booster may be put into another
classifier, and `set_params` may be called after `fit`. Trained again, such a model becomes another
one without a word. So what a fitted model shows is compared with what its parameters say, by one
small function for each library. A model that was stopped early, or whose trees stayed small, is no
difference: parameters are bounds there.

The model libraries are not imported: everything is asked of the fitted model itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from robx.errors import InvalidInput
from robx.modelfiles.aliases import own_names
from robx.modelfiles.differences import (
    Difference,
    Parameters,
    counted,
    exceeded,
    same_value,
    unequal,
)
from robx.modelfiles.shown_by_xgboost import of_xgboost

#: Parameters of scikit-learn's trees that a forest or boosting hands on to each of them.
OF_TREES = (
    *("max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf"),
    *("max_features", "max_leaf_nodes", "min_impurity_decrease", "ccp_alpha"),
)
#: Parameters that say nothing of what is trained, or that copies get values of their own for:
#: XGBoost fits its objective to the number of classes.
APART = frozenset(("random_state", "random_seed", "n_jobs", "thread_count", "objective"))
#: Parameters of LightGBM that its boosters keep, also in files.
OF_LIGHTGBM = (
    *("n_estimators", "num_leaves", "max_depth", "learning_rate", "boosting_type"),
    *("min_child_samples", "min_child_weight", "min_split_gain", "reg_alpha", "reg_lambda"),
    *("subsample", "subsample_freq", "colsample_bytree"),
)
#: Other names of LightGBM's kinds of boosting.
BOOSTING = {"gbrt": "gbdt", "random_forest": "rf"}
#: Parameters of CatBoost, beside the number of trees, that its models keep, also in files.
OF_CATBOOST = ("depth", "learning_rate", "l2_leaf_reg", "loss_function")


def refuse_lost_parameters(model: Any, given: Parameters | None = None) -> None:
    """Refuse to train a fitted model again with other parameters than it shows.

    Parameters
    ----------
    model : classifier
        Of any library; what is not fitted, or not known, passes.
    given : mapping, optional
        Parameters that the caller states, under the classifier's own names. They are not compared.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> forest = RandomForestClassifier(50, max_depth=4).fit([[0.0], [1.0]], [0, 1])
    >>> refuse_lost_parameters(forest)
    >>> refuse_lost_parameters(forest.set_params(n_estimators=100))
    Traceback (most recent call last):
    robx.errors.InvalidInput: The RandomForestClassifier cannot be trained again as it was: it shows
    50 trees, but its parameters say n_estimators=100. Pass the classifier with its true parameters
    as 'estimator'.
    """
    found = list(_differences(model, dict(given or {})))
    if found:
        raise InvalidInput(
            f"The {type(model).__name__} cannot be trained again as it was: it shows "
            f"{_listed(one.shown for one in found)}, but its parameters say "
            f"{_listed(one.said for one in found)}. Pass the classifier with its true parameters "
            "as 'estimator'."
        )


def _differences(model: Any, given: Parameters) -> Iterator[Difference]:
    """Compare what a model and those inside it show with their parameters."""
    if not hasattr(model, "get_params"):
        return
    library = _library(model)
    compare, fitted = LIBRARIES.get(library, (_of_scikit_learn, "__dict__"))
    if _has(model, fitted):
        own = own_names({n: v for n, v in given.items() if "__" not in n}, library)
        for one in compare(model, {**_named(model.get_params(), library), **own}):
            if one.parameter not in own:
                yield one
    steps = getattr(model, "steps", None)
    if isinstance(steps, list) and steps:
        name, last = steps[-1]
        start = f"{name}__"
        inside = {n.removeprefix(start): v for n, v in given.items() if n.startswith(start)}
        yield from _differences(last, inside)


# --- one function for each library ----------------------------------------------------------------


def _of_scikit_learn(model: Any, said: Parameters) -> Iterator[Difference]:
    """Count the trees, look at those that are alone, and compare copies with their originals."""
    trees: Any = getattr(model, "estimators_", ())
    gives_up = hasattr(model, "estimator_weights_")  # AdaBoost ends when there is nothing to learn
    if "n_estimators" in said and len(trees) and not gives_up:
        may_stop = said.get("n_iter_no_change") is not None
        yield from counted(len(trees), "trees", "n_estimators", said, may_stop=may_stop)
    if hasattr(model, "n_iter_") and "max_iter" in said and hasattr(model, "_predictors"):
        may_stop = bool(getattr(model, "do_early_stopping_", True))
        yield from counted(int(model.n_iter_), "rounds", "max_iter", said, may_stop=may_stop)
    for size in _sizes(model):
        yield from exceeded(size.depth, f"trees of depth {size.depth}", "max_depth", said)
        yield from exceeded(size.leaves, f"{size.leaves} leaves", "max_leaf_nodes", said)
    if "max_leaf_nodes" in said and len(trees):  # the trees of a forest keep what they were told
        last = trees[-1] if isinstance(trees, list) else trees.ravel()[-1]
        yield from unequal(last.get_params(), said, OF_TREES)
    for fitted, original in _copies(model, said):
        if type(fitted) is type(original):
            theirs = original.get_params()
            yield from unequal(fitted.get_params(), theirs, {*theirs} - APART)
            yield from _differences(fitted, {})


def _of_lightgbm(model: Any, said: Parameters) -> Iterator[Difference]:
    """Compare with what the booster keeps, also one from a file; it may have ended early."""
    kept = _named(model.booster_.params, "lightgbm")
    n_rounds = int(model.booster_.current_iteration())
    found = [*unequal(kept, said, OF_LIGHTGBM)]
    found += counted(n_rounds, "rounds", "n_estimators", said, may_stop=True)
    yield from {one.parameter: one for one in found}.values()


def _of_catboost(model: Any, said: Parameters) -> Iterator[Difference]:
    """Compare with what the model keeps; `load_model` brings it back, also as parameters."""
    n_trees = int(model.tree_count_)
    try:
        kept = dict(model.get_all_params())
    except Exception:  # CatBoost's own error, of a model that was put together from others
        words = f"{n_trees} trees that do not say how they were trained"
        if "iterations" not in said:
            yield Difference("", words, "nothing of iterations, depth and learning_rate")
        return
    may_stop = bool(kept.get("use_best_model")) or any(name.startswith("od_") for name in kept)
    asked = {"iterations": said.get("iterations", 1000)}
    yield from counted(n_trees, "trees", "iterations", asked, may_stop=may_stop)
    yield from unequal(kept, said, OF_CATBOOST)


#: By library, the function, and what only fitted models have.
LIBRARIES: dict[str, tuple[Callable[[Any, Parameters], Iterator[Difference]], str]] = {
    "xgboost": (of_xgboost, "_Booster"),
    "lightgbm": (_of_lightgbm, "booster_"),
    "catboost": (_of_catboost, "tree_count_"),
}


class _Size(NamedTuple):
    """The deepest tree, and the most leaves, of a model."""

    depth: int
    leaves: int


def _sizes(model: Any) -> Iterator[_Size]:
    """Measure a single tree of scikit-learn, or histogram boosting."""
    if hasattr(model, "tree_"):
        yield _Size(int(model.tree_.max_depth), int(model.tree_.n_leaves))
    nodes = [tree.nodes for trees in getattr(model, "_predictors", ()) for tree in trees]
    if nodes:
        depth = max(int(part["depth"].max()) for part in nodes)
        yield _Size(depth, max(int(part["is_leaf"].sum()) for part in nodes))


def _copies(model: Any, said: Parameters) -> Iterator[tuple[Any, Any]]:
    """Classifiers inside a fitted one that are copies of what its parameters hold."""
    fitted = list(getattr(model, "estimators_", ()))
    fitted += [one.estimator for one in getattr(model, "calibrated_classifiers_", ())]
    if hasattr(said.get("estimator"), "get_params"):
        yield from ((one, said["estimator"]) for one in fitted)
    named = said.get("estimators")
    if isinstance(named, list):  # of a vote or a stack, without those that were dropped
        kept = [one for _, one in named if not isinstance(one, str)]
        yield from zip(fitted, kept, strict=False)


def _named(params: Parameters, library: str) -> dict[str, Any]:
    """Parameters by the classifier's own names, without those that contradict each other."""
    values: dict[str, list[Any]] = {}
    for name, value in sorted(params.items(), key=lambda one: one[1] is None):
        (own,) = own_names({name: value}, library)
        known = BOOSTING.get(value, value) if isinstance(value, str) else value
        values.setdefault(own, []).append(known)
    return {
        own: first
        for own, (first, *others) in values.items()
        if all(other is None or same_value(first, other) for other in others)
    }


def _has(model: Any, name: str) -> bool:
    """Whether a model has what only fitted ones have; the libraries raise errors of their own."""
    try:
        return getattr(model, name, None) is not None
    except Exception:
        return False


def _library(model: Any) -> str:
    packages = [base.__module__.partition(".")[0] for base in type(model).__mro__]
    return next((package for package in packages if package in LIBRARIES), "")


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(parts))

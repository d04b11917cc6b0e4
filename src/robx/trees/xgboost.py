"""XGBoost: its JSON (or UBJSON) model to a `TreeEnsemble`.

How XGBoost scores, as far as it matters here: values are rounded to float32; a row goes left when
``x < split_condition``; a category goes right when it is listed; sums start at the base margin
and run over the trees in float32. Dart weights scale whole trees. Early stopping leaves all rounds
in the model: the scikit-learn wrapper scores with those up to the best one, a bare `Booster` with
all of them. The value that means "missing" is known to the wrapper alone.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from robx.budget import UNLIMITED, Budget
from robx.errors import InvalidModel, UnsupportedModel
from robx.tables import Category, Column, as_pandas
from robx.trees import child
from robx.trees.build import (
    MAX_CLASSES,
    MAX_CODES,
    Tree,
    assemble_classifier,
    check_size,
    count_codes,
    counted,
)
from robx.trees.ensemble import TreeEnsemble
from robx.trees.records import Record, parse_json, parse_number
from robx.trees.rounding import FLOAT32_LARGEST, below_float32, float32_interval
from robx.trees.targets import (
    class_labels,
    no_probability,
    not_a_classifier,
    of_class,
    wrapper_probability,
)
from robx.trees.ubjson import parse_ubjson

#: The newest model format whose fields are known.
NEWEST = (3, 4)
BINARY = ("binary:logistic", "reg:logistic")
MULTI = ("multi:softprob", "multi:softmax")

SCORE_FILE = """
import xgboost
model = xgboost.XGBClassifier()
model.load_model(source)
scores = model.predict_proba(X)
"""

LEARNER_FIELDS = (
    "attributes feature_names feature_types gradient_booster learner_model_param objective"
)
PARAM_FIELDS = "base_score boost_from_average num_class num_feature num_target"
MODEL_FIELDS = "cats gbtree_model_param iteration_indptr tree_info trees weight_drop"
TREE_FIELDS = (
    "base_weights categories categories_nodes categories_segments categories_sizes default_left id "
    "leaf_weights left_children loss_changes parents right_children split_conditions split_indices "
    "split_type sum_hessian tree_param"
)


def from_model(model: Any, target: Category | None) -> TreeEnsemble:
    """Import an `XGBClassifier`, `XGBRFClassifier` or `Booster`."""
    wrapped = hasattr(model, "get_booster")
    if wrapped and not hasattr(model, "predict_proba"):
        raise not_a_classifier(model)
    booster = model.get_booster() if wrapped else model
    marker = model.missing if wrapped else None
    return _parse(
        parse_json(bytes(booster.save_raw("json")), "The XGBoost model"),
        target,
        kind=type(model).__name__,
        classes=class_labels(model) if wrapped else None,
        missing=math.nan if marker is None else float(marker),
        stop_at_best=wrapped,
    )


def parse_file(path: Path, budget: Budget) -> Record:
    """Read a saved `.json` or `.ubj` model."""
    parse = parse_ubjson if path.suffix == ".ubj" else parse_json
    return parse(budget.read(path), f"The XGBoost model {path.name}", budget)


def from_parsed(
    parsed: Record, path: Path, target: Category | None, budget: Budget
) -> TreeEnsemble:
    """Import what `parse_file` read, as `XGBClassifier.load_model` would score it."""
    return _parse(parsed, target, kind=f"{path.suffix} file", stop_at_best=True, budget=budget)


def probability(model: Any, target: Category, X: Any) -> NDArray[Any] | None:
    """Ask XGBoost itself."""
    if hasattr(model, "predict_proba"):
        return wrapper_probability(model, target, as_pandas(X))
    from xgboost import DMatrix  # noqa: PLC0415 - only its own models come here

    names = None if hasattr(X, "columns") else model.feature_names
    data = DMatrix(X, feature_names=names, enable_categorical=True)
    margin = np.asarray(model.predict(data, output_margin=True))
    if margin.ndim == 2:  # multi:softmax would predict the class itself
        return softmax(margin, axis=1)[:, int(target)]
    return of_class(np.asarray(model.predict(data)), target)


def file_probability(path: Path, target: Category, X: Any, budget: Budget) -> NDArray[Any] | None:
    """Ask XGBoost itself, in a process of its own."""
    return of_class(child.score(SCORE_FILE, "xgboost", path, as_pandas(X), budget), target)


def _parse(
    root: Record,
    target: Category | None,
    *,
    kind: str,
    classes: list[Category] | None = None,
    missing: float = math.nan,
    stop_at_best: bool,
    budget: Budget = UNLIMITED,
) -> TreeEnsemble:
    version = _version(root.only("learner version"))
    learner = root.record("learner").only(LEARNER_FIELDS)
    param = learner.record("learner_model_param").only(PARAM_FIELDS)
    if "num_target" in param and param.integer("num_target") > 1:
        raise UnsupportedModel("The model predicts several targets at once; robx needs one.")
    n_classes = max(param.integer("num_class", high=MAX_CLASSES), 1)
    if n_classes == 1 and classes is not None and len(classes) != 2:
        raise UnsupportedModel(
            f"The model separates {len(classes)} classes; robx needs two or more."
        )
    objective = learner.record("objective").text("name")
    if objective not in (MULTI if n_classes > 1 else BINARY):
        raise no_probability(f"XGBoost objective '{objective}'", BINARY + MULTI)
    model, weights = _booster(learner.record("gradient_booster"))
    names = learner.sequence("feature_names") if "feature_names" in learner else []
    n_features = param.integer("num_feature", low=1)
    budget.check_columns(n_features, root.where)
    columns = _columns(learner, model, names, n_features, missing)
    records, index = model.records("trees"), model.integers("tree_info")
    n_trees = _rounds_used(learner, model, n_classes) if stop_at_best else len(records)
    if len(index) != len(records) or ((index < 0) | (index >= n_classes)).any():
        raise InvalidModel("The XGBoost model's tree_info does not fit its trees and classes.")
    weights = np.ones(n_trees) if weights is None else weights
    if len(weights) < n_trees:
        raise InvalidModel("The XGBoost dart model lacks weights for some of its trees.")
    read = (
        _read_tree(record, int(index[i]), float(weights[i]))
        for i, record in enumerate(records[:n_trees])
    )
    stated = sum(r.record("tree_param").integer("num_nodes") for r in records)
    check_size(len(records), stated, root.where, budget)
    trees = _with_thresholds(counted(read, root.where, budget))
    n_codes = count_codes(trees, [column.n_codes for column in columns])
    return assemble_classifier(
        trees,
        [
            column if n == column.n_codes else replace(column, n_codes=n)
            for column, n in zip(columns, n_codes, strict=True)
        ],
        named=bool(names),
        target=target,
        classes=classes,
        source=f"XGBoost {version} {kind}",
        base=_base_margins(param.any("base_score"), n_classes),
        dtype=np.float32,
    )


def _version(root: Record) -> str:
    version = root.integers("version") if "version" in root else np.zeros(0, np.int64)
    if len(version) < 2 or not (version[0], version[1]) >= (1, 0):
        raise UnsupportedModel("The XGBoost model does not name a version that robx knows.")
    if (version[0], version[1]) > NEWEST:
        raise UnsupportedModel(
            f"The model was written by XGBoost {version[0]}.{version[1]}; robx knows the format up "
            f"to {NEWEST[0]}.{NEWEST[1]}. Update robx, or wrap the model in robx.BlackBox."
        )
    return ".".join(map(str, version.tolist()))


def _booster(booster: Record) -> tuple[Record, NDArray[np.float64] | None]:
    """Find the trees, and each tree's weight where some were dropped out (dart)."""
    name = booster.text("name")
    if name == "gbtree":
        # From XGBoost 3.3 on dropout is an option of the tree booster; its weights stand beside the
        # model in 3.3, and inside it from 3.4 on.
        model = booster.only("model name weight_drop").record("model").only(MODEL_FIELDS)
        holder = booster if "weight_drop" in booster else model
        return model, holder.numbers("weight_drop") if "weight_drop" in holder else None
    if name == "dart":
        inner = booster.only("gbtree name weight_drop").record("gbtree").only("model name")
        return inner.record("model").only(MODEL_FIELDS), booster.numbers("weight_drop")
    raise UnsupportedModel(
        f"The XGBoost booster '{name}' is not made of trees. Wrap the model in robx.BlackBox."
    )


def _columns(
    learner: Record, model: Record, names: list[Any], n_features: int, missing: float
) -> list[Column]:
    types = learner.sequence("feature_types") if "feature_types" in learner else []
    if (names and len(names) != n_features) or (types and len(types) != n_features):
        raise InvalidModel(f"The XGBoost model names {len(names)} of its {n_features} columns.")
    if unknown := {str(t) for t in types} - {"c", "float", "int", "i", "q"}:
        raise UnsupportedModel(f"XGBoost column types that robx does not know: {sorted(unknown)}.")
    known = _categories(model, n_features)
    is_category = [kind == "c" for kind in types] or [False] * n_features
    is_marked = not math.isnan(missing)
    return [
        Column(
            str(names[j]) if names else f"f{j}",
            n_codes=max(len(known[j] or ()), 1) if is_category[j] else 0,
            categories=known[j] if is_category[j] else None,
            takes_unseen=not (is_category[j] and known[j]),
            missing_range=float32_interval(missing) if is_marked else None,
            largest=math.inf if math.isinf(missing) else FLOAT32_LARGEST,
        )
        for j in range(n_features)
    ]


def _categories(model: Record, n_features: int) -> list[tuple[Category, ...] | None]:
    """Read the training categories, which XGBoost stores since 3.1."""
    if "cats" not in model:
        return [None] * n_features
    encodings = model.record("cats").only("enc feature_segments sorted_idx").records("enc")
    if len(encodings) not in (0, n_features):
        raise InvalidModel("The XGBoost model's categories do not fit its columns.")
    return [_decode(encoding) for encoding in encodings] or [None] * n_features


def _decode(encoding: Record) -> tuple[Category, ...] | None:
    values = encoding.sequence("values")
    if not values:
        return None
    if "offsets" not in encoding.only("offsets values type"):
        return tuple(values)
    offsets = encoding.integers("offsets")
    ordered = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(values)
    if not ordered or (np.diff(offsets) < 0).any():
        raise InvalidModel("The XGBoost model's category names are out of order.")
    if any(isinstance(value, int) and not 0 <= value < 128 for value in values):
        raise UnsupportedModel(
            "XGBoost cuts off names of categories that have letters beyond ASCII when it stores "
            "them, so they cannot be told apart. Name them in ASCII, train on codes, or wrap the "
            "live model in robx.BlackBox."
        )
    try:
        text = bytes(values)
        return tuple(text[a:b].decode() for a, b in pairwise(offsets.tolist()))
    except (TypeError, ValueError) as error:
        raise InvalidModel("The XGBoost model's category names are not text.") from error


def _rounds_used(learner: Record, model: Record, n_classes: int) -> int:
    """Count the trees up to the best iteration, or all where there was no early stopping."""
    n_trees = len(model.sequence("trees"))
    attributes = learner.record("attributes") if "attributes" in learner else Record({}, "")
    if "best_iteration" not in attributes:
        return n_trees
    rounds = attributes.integer("best_iteration") + 1
    if "iteration_indptr" in model:
        bounds = model.integers("iteration_indptr")
        used = int(bounds[rounds]) if rounds < len(bounds) else 0
    else:
        param = model.record("gbtree_model_param")
        each = param.integer("num_parallel_tree") if "num_parallel_tree" in param else 1
        used = rounds * max(each, 1) * n_classes
    if not 0 < used <= n_trees:
        raise InvalidModel("The XGBoost model's best iteration is not one of its rounds.")
    return used


def _base_margins(base_score: Any, n_classes: int) -> list[float]:
    text = base_score.strip("[]").split(",") if isinstance(base_score, str) else [base_score]
    scores = [np.float32(parse_number(t, "The XGBoost base_score")) for t in text]
    if len(scores) not in (1, n_classes):
        raise InvalidModel(
            f"The XGBoost model has {len(scores)} base scores; expected {n_classes}."
        )
    if n_classes > 1:
        return [float(s) for s in (scores * n_classes if len(scores) == 1 else scores)]
    if not 0 < scores[0] < 1:
        raise InvalidModel(f"The XGBoost base_score must lie between 0 and 1. Got {scores[0]}.")
    one = np.float32(1)
    return [float(-np.log((one / scores[0] - one).astype(np.float64)).astype(np.float32))]


def _with_thresholds(trees: list[Tree]) -> list[Tree]:
    """Turn conditions of splits into thresholds, for all trees at once."""
    if not trees:
        return trees
    ends = np.cumsum([len(tree.threshold) for tree in trees])
    conditions = np.concatenate([tree.threshold for tree in trees]).astype(np.float32)
    parts = np.split(below_float32(conditions), ends[:-1])
    return [replace(tree, threshold=part) for tree, part in zip(trees, parts, strict=True)]


def _read_tree(record: Record, index: int, weight: float) -> Tree:
    """Read a tree, with its conditions for thresholds."""
    param = record.only(TREE_FIELDS).record("tree_param")
    param.only("num_deleted num_feature num_nodes size_leaf_vector")
    if "size_leaf_vector" in param and param.integer("size_leaf_vector") > 1:
        raise UnsupportedModel(
            "The model was trained with multi_strategy='multi_output_tree', which has a vector in "
            "each leaf. Wrap it in robx.BlackBox."
        )
    left = record.integers("left_children")
    if len(left) != param.integer("num_nodes"):
        raise InvalidModel(f"{record.where} does not have the number of nodes that it states.")
    with np.errstate(over="ignore", invalid="ignore"):
        condition = record.numbers("split_conditions").astype(np.float32)
        value = condition * np.float32(weight)
    return Tree(
        left=left,
        right=record.integers("right_children"),
        feature=record.integers("split_indices"),
        threshold=condition.astype(np.float64),
        missing_left=record.integers("default_left").astype(bool),
        value=value,
        index=index,
        categories=_right_codes(record, left < 0),
        listed_left=False,
    )


def _right_codes(record: Record, leaf: NDArray[np.bool_]) -> dict[int, NDArray[np.int64]]:
    """Read the codes that go right at each split by category; `leaf` tells which nodes split."""
    if "split_type" not in record:
        return {}
    split_type = record.integers("split_type")
    if len(split_type) != len(leaf) or ((split_type != 0) & (split_type != 1)).any():
        raise InvalidModel(f"{record.where} has split types that do not fit its nodes.")
    codes = record.integers("categories")
    if ((codes < 0) | (codes > MAX_CODES)).any():
        raise InvalidModel(f"{record.where} has a category code out of range.")
    parts = [record.integers(f"categories_{part}") for part in ("nodes", "segments", "sizes")]
    # No code belongs to two nodes, so that a small file cannot unfold to a large model.
    if parts[2].sum() > len(codes):
        raise InvalidModel(f"{record.where} has categories that belong to several nodes.")
    found: dict[int, NDArray[np.int64]] = {}
    for node, first, size in zip(*(part.tolist() for part in parts), strict=False):
        if not (0 <= node < len(leaf) and 0 <= first <= first + size <= len(codes)):
            raise InvalidModel(f"{record.where} has categories that do not belong to a node.")
        found[node] = codes[first : first + size]
    by_category = set(np.flatnonzero((split_type == 1) & ~leaf).tolist())
    if by_category != {node for node in found if not leaf[node]}:
        raise InvalidModel(f"{record.where} has a category split without categories.")
    return {node: found[node] for node in by_category}

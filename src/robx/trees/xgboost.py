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
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from robx.errors import InvalidModel, UnsupportedModel
from robx.tables import Category, Column, as_pandas
from robx.trees import child
from robx.trees.build import MAX_CODES, Tree, assemble
from robx.trees.ensemble import Link, TreeEnsemble
from robx.trees.records import Record, parse_json, parse_number
from robx.trees.rounding import FLOAT32_LARGEST, below_float32, float32_interval
from robx.trees.targets import choose_target, class_labels, of_class, wrapper_probability
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

MODEL_FIELDS = (
    "cats",
    "gbtree_model_param",
    "iteration_indptr",
    "tree_info",
    "trees",
    "weight_drop",
)
TREE_FIELDS = (
    "base_weights",
    "categories",
    "categories_nodes",
    "categories_segments",
    "categories_sizes",
    "default_left",
    "id",
    "leaf_weights",
    "left_children",
    "loss_changes",
    "parents",
    "right_children",
    "split_conditions",
    "split_indices",
    "split_type",
    "sum_hessian",
    "tree_param",
)


def from_model(model: Any, target: Category | None) -> TreeEnsemble:
    """Import an `XGBClassifier`, `XGBRFClassifier` or `Booster`."""
    wrapped = hasattr(model, "get_booster")
    if wrapped and not hasattr(model, "predict_proba"):
        raise UnsupportedModel(
            f"{type(model).__name__} is not a classifier: robx needs the probability of a class. "
            "Wrap a function that returns one in robx.BlackBox."
        )
    booster = model.get_booster() if wrapped else model
    marker = model.missing if wrapped else None
    missing = math.nan if marker is None else float(marker)
    classes = class_labels(model) if wrapped else None
    data = bytes(booster.save_raw("json"))
    return _parse(
        parse_json(data, "The XGBoost model"),
        target,
        kind=type(model).__name__,
        classes=classes,
        missing=missing,
        stop_at_best=wrapped,
    )


def parse_file(path: Path) -> Record:
    """Read a saved `.json` or `.ubj` model."""
    data = path.read_bytes()
    where = f"The XGBoost model {path.name}"
    return parse_ubjson(data, where) if path.suffix == ".ubj" else parse_json(data, where)


def from_parsed(parsed: Record, path: Path, target: Category | None) -> TreeEnsemble:
    """Import what `parse_file` read, as `XGBClassifier.load_model` would score it."""
    return _parse(parsed, target, kind=f"{path.suffix} file", stop_at_best=True)


def probability(model: Any, target: Category, X: Any) -> NDArray[Any]:
    """Ask XGBoost itself."""
    if hasattr(model, "predict_proba"):
        return wrapper_probability(model, target, as_pandas(X))
    from xgboost import DMatrix  # noqa: PLC0415 - only its own models come here

    enable = {"enable_categorical": True}
    data = DMatrix(
        X, feature_names=None if hasattr(X, "columns") else model.feature_names, **enable
    )
    margin = np.asarray(model.predict(data, output_margin=True))
    if margin.ndim == 2:  # multi:softmax would predict the class itself
        return softmax(margin, axis=1)[:, int(target)]
    return of_class(np.asarray(model.predict(data)), target)


def file_probability(path: Path, target: Category, X: Any) -> NDArray[Any] | None:
    """Ask XGBoost itself, in a process of its own."""
    scores = child.score(SCORE_FILE, "xgboost", path, as_pandas(X))
    return None if scores is None else of_class(scores, target)


def _parse(
    root: Record,
    target: Category | None,
    *,
    kind: str,
    classes: list[Category] | None = None,
    missing: float = math.nan,
    stop_at_best: bool,
) -> TreeEnsemble:
    root.only(("learner", "version"))
    version = _version(root)
    learner = root.record("learner").only(
        (
            "attributes",
            "feature_names",
            "feature_types",
            "gradient_booster",
            "learner_model_param",
            "objective",
        )
    )
    param = learner.record("learner_model_param").only(
        ("base_score", "boost_from_average", "num_class", "num_feature", "num_target")
    )
    if "num_target" in param and param.integer("num_target", low=0) > 1:
        raise UnsupportedModel("The model predicts several targets at once; robx needs one.")
    n_classes = max(param.integer("num_class", low=0, high=10_000), 1)
    if n_classes == 1 and classes is not None and len(classes) != 2:
        raise UnsupportedModel(
            f"The model separates {len(classes)} classes; robx needs two or more."
        )
    model, tree_weight = _booster(learner.record("gradient_booster"))
    columns = _columns(learner, model, param.integer("num_feature", low=1), missing)
    records = model.records("trees")
    n_trees = _rounds_used(learner, model, n_classes) if stop_at_best else len(records)
    index = model.integers("tree_info")
    if len(index) != len(records) or (
        len(index) and not 0 <= index.min() <= index.max() < n_classes
    ):
        raise InvalidModel("The XGBoost model's tree_info does not fit its trees and classes.")
    weights = np.ones(n_trees) if tree_weight is None else tree_weight
    if len(weights) < n_trees:
        raise InvalidModel("The XGBoost dart model lacks weights for some of its trees.")
    trees = [
        _read_tree(record, int(index[i]), float(weights[i]))
        for i, record in enumerate(records[:n_trees])
    ]
    columns = _with_codes(columns, trees)
    chosen, place = choose_target(target, classes or list(range(max(n_classes, 2))))
    link: Link = "softmax" if n_classes > 1 else ("sigmoid", "one_minus_sigmoid")[1 - place]
    objective = learner.record("objective").text("name")
    if objective not in (MULTI if n_classes > 1 else BINARY):
        raise UnsupportedModel(
            f"The XGBoost objective '{objective}' gives no class probability; robx takes "
            f"{', '.join(BINARY + MULTI)}. For another one, wrap a function that returns "
            "probabilities in robx.BlackBox."
        )
    return assemble(
        trees,
        columns,
        named=bool(learner.sequence("feature_names")) if "feature_names" in learner else False,
        target=chosen,
        source=f"XGBoost {version} {kind}",
        link=link,
        target_index=place if n_classes > 1 else 0,
        base=_base_margins(param.any("base_score"), n_classes),
        dtype=np.float32,
    )


def _version(root: Record) -> str:
    version = root.integers("version") if "version" in root else np.zeros(0, np.int64)
    if len(version) < 2 or not (version[0], version[1]) >= (1, 0):
        raise UnsupportedModel("The XGBoost model names no version that robx knows (1.0 or later).")
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
        model = booster.only(("model", "name", "weight_drop")).record("model").only(MODEL_FIELDS)
        holder = booster if "weight_drop" in booster else model
        return model, holder.numbers("weight_drop") if "weight_drop" in holder else None
    if name == "dart":
        booster.only(("gbtree", "name", "weight_drop"))
        inner = booster.record("gbtree").only(("model", "name"))
        return inner.record("model").only(MODEL_FIELDS), booster.numbers("weight_drop")
    raise UnsupportedModel(
        f"The XGBoost booster '{name}' is not made of trees. Wrap the model in robx.BlackBox."
    )


def _columns(learner: Record, model: Record, n_features: int, missing: float) -> list[Column]:
    names = learner.sequence("feature_names") if "feature_names" in learner else []
    types = learner.sequence("feature_types") if "feature_types" in learner else []
    if (names and len(names) != n_features) or (types and len(types) != n_features):
        raise InvalidModel(f"The XGBoost model names {len(names)} of its {n_features} columns.")
    if unknown := {str(t) for t in types} - {"c", "float", "int", "i", "q"}:
        raise UnsupportedModel(f"XGBoost column types that robx does not know: {sorted(unknown)}.")
    known = _categories(model, n_features)
    span = None if math.isnan(missing) else float32_interval(missing)
    columns = []
    for j in range(n_features):
        is_category = bool(types) and types[j] == "c"
        columns.append(
            Column(
                str(names[j]) if names else f"f{j}",
                n_codes=(len(known[j] or ()) or 1) if is_category else 0,
                categories=known[j] if is_category else None,
                missing_range=span,
                largest=math.inf if math.isinf(missing) else FLOAT32_LARGEST,
            )
        )
    return columns


def _categories(model: Record, n_features: int) -> list[tuple[Category, ...] | None]:
    """Read the training categories, which XGBoost stores since 3.1."""
    nothing: list[tuple[Category, ...] | None] = [None] * n_features
    if "cats" not in model:
        return nothing
    cats = model.record("cats").only(("enc", "feature_segments", "sorted_idx"))
    encodings = cats.records("enc")
    if not encodings:
        return nothing
    if len(encodings) != n_features:
        raise InvalidModel("The XGBoost model's categories do not fit its columns.")
    return [_decode(encoding) for encoding in encodings]


def _decode(encoding: Record) -> tuple[Category, ...] | None:
    values = encoding.sequence("values")
    if not values:
        return None
    if "offsets" not in encoding.only(("offsets", "values", "type")):
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
        return tuple(
            text[a:b].decode()
            for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        )
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
        if rounds >= len(bounds) or not 0 < bounds[rounds] <= n_trees:
            raise InvalidModel("The XGBoost model's best iteration is not one of its rounds.")
        return int(bounds[rounds])
    param = model.record("gbtree_model_param")
    each = max(param.integer("num_parallel_tree"), 1) if "num_parallel_tree" in param else 1
    if rounds * each * n_classes > n_trees:
        raise InvalidModel("The XGBoost model's best iteration is not one of its rounds.")
    return rounds * each * n_classes


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


def _read_tree(record: Record, index: int, weight: float) -> Tree:
    record.only(TREE_FIELDS)
    param = record.record("tree_param").only(
        ("num_deleted", "num_feature", "num_nodes", "size_leaf_vector")
    )
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
        threshold=below_float32(condition),
        missing_left=record.integers("default_left").astype(bool),
        value=value,
        index=index,
        categories=_right_codes(record),
        listed_left=False,
    )


def _with_codes(columns: list[Column], trees: list[Tree]) -> list[Column]:
    """Count the categories that splits name, where the model does not list them."""
    n_codes = [column.n_codes for column in columns]
    for tree in trees:
        for node, codes in tree.categories.items():
            j = int(tree.feature[node]) if node < len(tree.feature) else -1
            if not 0 <= j < len(columns):
                raise InvalidModel(f"The XGBoost model splits on column {j} of {len(columns)}.")
            n_codes[j] = max(n_codes[j], max(codes, default=0) + 1)
    return [replace(column, n_codes=n) for column, n in zip(columns, n_codes, strict=True)]


def _right_codes(record: Record) -> dict[int, list[int]]:
    if "split_type" not in record:
        return {}
    split_type = record.integers("split_type")
    leaf = record.integers("left_children") < 0
    if len(split_type) != len(leaf) or not np.isin(split_type, (0, 1)).all():
        raise InvalidModel(f"{record.where} has split types that do not fit its nodes.")
    codes = record.integers("categories")
    parts = zip(
        record.integers("categories_nodes").tolist(),
        record.integers("categories_segments").tolist(),
        record.integers("categories_sizes").tolist(),
        strict=False,
    )
    found: dict[int, list[int]] = {}
    for node, first, size in parts:
        if not (0 <= node < len(leaf) and 0 <= first <= first + size <= len(codes)):
            raise InvalidModel(f"{record.where} has categories that belong to no node.")
        found[node] = codes[first : first + size].tolist()
        if any(not 0 <= code <= MAX_CODES for code in found[node]):
            raise InvalidModel(f"{record.where} has a category code out of range.")
    by_category = set(np.flatnonzero((split_type == 1) & ~leaf).tolist())
    if by_category != {node for node in found if not leaf[node]}:
        raise InvalidModel(f"{record.where} has a category split without categories.")
    return {node: found[node] for node in by_category}

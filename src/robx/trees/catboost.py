"""CatBoost: its JSON model (or a `.cbm` file, by way of JSON) to a `TreeEnsemble`.

How CatBoost scores, as far as it matters here: values are rounded to float32; a row goes right when
``x > border``; infinite values compare as such. A missing value goes left, except in a column that
had missing values in training with ``nan_mode="Max"``: there it goes right. The leaf values add up
in float64, are scaled, and a bias comes on top. A tree either asks the same question all along a
level (the default), with the answer to question ``i`` as bit ``i`` of the leaf's number, or is a
tree of nested nodes. Every split states its border twice: in full, and as a position in the list of
all borders, which is the one that CatBoost itself goes by; here the two must agree.

A split on a category is a set of categories, whatever CatBoost makes of them: see
`catboost_columns` and `catboost_categories`. Not here: statistics of combined features, text and
embedding features, which are not about single columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.budget import UNLIMITED, Budget
from robx.errors import InvalidModel, UnsupportedModel
from robx.tables import Category, Column, read_matrix
from robx.trees import child
from robx.trees.build import MAX_CLASSES, Tree, assemble_classifier, check_size, counted
from robx.trees.catboost_categories import Naming
from robx.trees.catboost_columns import Splits, read_features
from robx.trees.category_names import Source
from robx.trees.ensemble import TreeEnsemble
from robx.trees.records import Record, parse_json, parse_number
from robx.trees.targets import (
    OnlyScores,
    choose_target,
    class_labels,
    no_probability,
    not_a_classifier,
    not_fitted,
)

BINARY = ("Logloss", "CrossEntropy", "Focal")
ONE_AGAINST_ALL = "MultiClassOneVsAll"
LOSSES = (*BINARY, "MultiClass", ONE_AGAINST_ALL)
#: CatBoost's own limit for a tree that asks one question a level.
MAX_DEPTH = 16

CLASS_FIELDS = "class_label_type class_names class_to_label classes_count"
LABEL_TYPES: dict[str, set[type]] = {
    "Boolean": {bool},
    "Float": {float, int},
    "Integer": {int},
    "String": {str},
}

TO_JSON = """
import catboost, json
model = catboost.CatBoost().load_model(source, format="cbm")
try:
    model.save_model(output, format="json")
except catboost.CatBoostError as error:
    with open(output, "w") as file:
        json.dump({"refused": str(error)}, file)
"""

SCORE_FILE = """
import catboost
target = given["target"]
model = catboost.CatBoostClassifier().load_model(source, format=source.rsplit(".", 1)[1])
classes = list(model.classes_)
if not given["is_array"]:
    X = X.to_numpy(dtype=object)
scores = model.predict_proba(X)[:, classes.index(target) if classes else int(target)]
"""

LEAVES = """
import catboost, tempfile
def leaves(probe):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "probe.json")
        if hasattr(os, "memfd_create"):
            path = f"/proc/self/fd/{os.memfd_create('robx')}"
        with open(path, "w") as file:
            file.write(probe)
        model = catboost.CatBoost().load_model(path, format="json")
    return model.calc_leaf_indexes(numpy.array(given["rows"], dtype=object), thread_count=1)
scores = numpy.hstack([leaves(probe) for probe in given["probes"]])
"""


def from_model(model: Any, target: Category | None, sources: Sequence[Source] = ()) -> TreeEnsemble:
    """Import a `CatBoostClassifier`, or a `CatBoost` that was trained as one.

    The names of its categories are looked up in `sources`.
    """
    from catboost import CatBoostError  # noqa: PLC0415 - only its own models come here

    kind = type(model).__name__
    bases = {base.__name__ for base in type(model).__mro__}
    if bases & {"CatBoostRegressor", "CatBoostRanker"} or not hasattr(model, "save_model"):
        raise not_a_classifier(model)
    if not model.is_fitted():
        raise not_fitted(model)
    try:
        data = child.written(lambda path: model.save_model(path, format="json"))
    except CatBoostError as error:
        raise _refused_by_catboost(str(error)) from error
    return _parse(parse_json(data, "The CatBoost model"), target, kind, Naming(sources, _leaves))


def parse_file(path: Path, budget: Budget) -> Record:
    """Read a saved `.json` model, or a `.cbm` model as CatBoost converts it."""
    is_binary = path.suffix == ".cbm"
    data = child.convert(TO_JSON, "catboost", path, budget) if is_binary else budget.read(path)
    root = parse_json(data, f"The CatBoost model {path.name}", budget)
    if is_binary and "refused" in root:
        raise _refused_by_catboost(root.text("refused"))
    return root


def from_parsed(
    parsed: Record,
    path: Path,
    target: Category | None,
    budget: Budget,
    sources: Sequence[Source] = (),
) -> TreeEnsemble:
    """Import what `parse_file` read, as `CatBoostClassifier.load_model` would score it.

    The names of its categories are looked up in `sources`; CatBoost is asked about them in a
    process of its own.
    """

    def ask(probes: list[str], rows: list[list[Any]]) -> NDArray[Any]:
        empty = np.zeros((0, 0))
        found = child.score(LEAVES, "catboost", path, empty, budget, probes=probes, rows=rows)
        if found is None:
            raise UnsupportedModel(
                f"'{path.name}' has categories, which only CatBoost can find in its tables. "
                "Install catboost."
            )
        return found

    try:
        return _parse(parsed, target, f"{path.suffix} file", Naming(sources, ask), budget)
    except OnlyScores as error:
        raise UnsupportedModel(
            f"{error} Or load '{path.name}' with CatBoost and pass the model itself, which robx "
            "then asks for its scores."
        ) from error


def probability(model: Any, target: Category, X: Any) -> NDArray[Any]:
    """Ask CatBoost itself."""
    _, place = choose_target(target, class_labels(model))
    rows = X.to_numpy(dtype=object) if _has_text(X) else _matrix(X)
    return np.asarray(model.predict(rows, prediction_type="Probability"))[:, place]


def file_probability(path: Path, target: Category, X: Any, budget: Budget) -> NDArray[Any] | None:
    """Ask CatBoost itself, in a process of its own."""
    # The target is a label out of the file: it travels as data, not in the script.
    rows = X if _has_text(X) else _matrix(X)
    return child.score(SCORE_FILE, "catboost", path, rows, budget, target=target)


def _leaves(probes: list[str], rows: list[list[Any]]) -> NDArray[Any]:
    """Ask CatBoost, in this process, for the leaves of rows in models of our own."""
    from catboost import CatBoost  # noqa: PLC0415

    cells = np.array(rows, dtype=object)
    found = []
    for probe in probes:
        model = CatBoost()
        child.offered(probe.encode(), partial(model.load_model, format="json"))
        found.append(model.calc_leaf_indexes(cells, thread_count=1))
    return np.hstack(found)


def _has_text(X: Any) -> bool:
    """Whether the rows are a frame in which `spelled_out` wrote the categories as text."""
    return hasattr(X, "iloc") and any(dtype.kind == "O" for dtype in X.dtypes)


def _matrix(X: Any) -> NDArray[np.float64]:
    """Read rows in the model's order: CatBoost does not know every kind of frame."""
    return read_matrix(X, [Column(str(j)) for j in range(np.shape(X)[1])], named=False)


def _refused_by_catboost(reason: str) -> UnsupportedModel:
    return UnsupportedModel(
        f"CatBoost cannot write the model as JSON, which is how robx reads it: {reason}. Models "
        "with text or embedding features, or with infinite borders, are of this kind. Wrap the "
        "live model in robx.BlackBox."
    )


def _parse(
    root: Record,
    target: Category | None,
    kind: str,
    naming: Naming,
    budget: Budget = UNLIMITED,
) -> TreeEnsemble:
    root.only("ctr_data features_info model_info oblivious_trees scale_and_bias trees")
    columns, named, splits = read_features(root, naming, budget)
    info = root.record("model_info")
    loss = _loss(info, budget)
    scale, bias = _scale_and_bias(root)
    if len(bias) > MAX_CLASSES:
        raise UnsupportedModel(f"{root.where} has more than {MAX_CLASSES:,} classes.")
    if len(bias) != 1 if loss in BINARY else len(bias) < 2:
        raise InvalidModel(
            f"{root.where} has {len(bias)} biases, which does not fit its {loss} loss."
        )
    return assemble_classifier(
        counted(_read_trees(root, splits, len(bias), scale, budget), root.where, budget),
        columns,
        named=named,
        target=target,
        classes=_classes(info, max(len(bias), 2), budget),
        source=f"CatBoost{_version(info)} {kind}",
        base=bias,
        one_against_all=loss == ONE_AGAINST_ALL,
    )


def _version(info: Record) -> str:
    text = str(info.fields.get("catboost_version_info"))
    found = re.search(r"(?:release |tags/v)(\d+(?:\.\d+)+)", text, re.IGNORECASE)
    return f" {found[1]}" if found else ""


def _section(info: Record, name: str, budget: Budget) -> Record:
    """Part of the model's metadata, which is an object or the JSON text of one."""
    value = info.any(name)
    if isinstance(value, str):
        return parse_json(value.encode(errors="surrogatepass"), f"{info.where}.{name}", budget)
    return info.record(name)


def _loss(info: Record, budget: Budget) -> str:
    """Name of the loss; a sum of models keeps it outside the training parameters."""
    holder = _section(info, "params", budget) if "params" in info else info
    loss = _section(holder, "loss_function", budget).text("type")
    if loss not in LOSSES:
        raise no_probability(f"CatBoost loss '{loss}'", LOSSES)
    return loss


def _classes(info: Record, n_classes: int, budget: Budget) -> list[Category]:
    numbers: list[Category] = list(range(n_classes))
    if "class_params" not in info:
        return numbers
    params = _section(info, "class_params", budget).only(CLASS_FIELDS)
    labels = params.sequence("class_names")
    count = params.integer("classes_count")
    in_order = params.integers("class_to_label").tolist() == numbers
    if not in_order or len(labels) not in {0, n_classes} or count not in {0, n_classes}:
        raise UnsupportedModel(
            f"The CatBoost model tells {n_classes} classes apart, but not the ones that it names: "
            f"{', '.join(map(repr, labels[:8])) or count}. Some had no rows in training. Wrap the "
            "live model in robx.BlackBox."
        )
    kind = params.text("class_label_type")
    if kind not in LABEL_TYPES or any(type(label) not in LABEL_TYPES[kind] for label in labels):
        raise InvalidModel(f"{params.where}.class_names must hold labels of the type {kind}.")
    if len(set(labels)) < len(labels):
        raise InvalidModel(f"{params.where}.class_names has a label twice.")
    if kind == "Float":
        labels = [parse_number(label, f"{params.where}.class_names") for label in labels]
    return labels or numbers


def _scale_and_bias(root: Record) -> tuple[float, list[float]]:
    pair = root.sequence("scale_and_bias")
    where = f"{root.where}.scale_and_bias"
    if len(pair) != 2:
        raise InvalidModel(f"{where} must hold a scale and the biases. Got {len(pair)} values.")
    biases = pair[1] if isinstance(pair[1], list) else [pair[1]]
    return parse_number(pair[0], where), [parse_number(bias, where) for bias in biases]


def _read_trees(
    root: Record, splits: Splits, n_values: int, scale: float, budget: Budget
) -> Iterator[Tree]:
    """One tree for each margin: CatBoost's leaves hold a value for each of them."""
    if "oblivious_trees" in root and "trees" in root:
        raise InvalidModel(f"{root.where} has both kinds of trees; expected one.")
    read = _read_nested if "trees" in root else _read_levels
    records = root.records("trees" if "trees" in root else "oblivious_trees")
    check_size(n_values * len(records), 0, root.where, budget)
    for record in records:
        left, right, split, value = read(record, splits, n_values)
        with np.errstate(over="ignore", invalid="ignore"):
            value = value * scale
        by_category = np.flatnonzero(split >= splits.first_question).tolist()
        categories = {node: splits.left_codes[int(split[node])] for node in by_category}
        for index in range(n_values):
            yield Tree(
                left=left,
                right=right,
                feature=splits.column[split],
                threshold=splits.threshold[split],
                missing_left=splits.missing_left[split],
                value=value[:, index],
                index=index,
                categories=categories,
            )


#: Children of each node, the place of its question or -1 at a leaf, and (m, C) leaf values.
Nodes = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


def _read_levels(record: Record, questions: Splits, n_values: int) -> Nodes:
    """Spread a tree with one question a level over a full binary tree.

    The last question is the highest bit of a leaf's number, so it is put at the root: the leaves
    then stand in their own order in the last level.
    """
    record.only("leaf_values leaf_weights splits")
    # A tree of one leaf has null in place of its splits.
    splits = record.records("splits") if record.fields.get("splits") is not None else []
    if len(splits) > MAX_DEPTH:
        raise InvalidModel(
            f"{record.where} has {len(splits)} levels; CatBoost has {MAX_DEPTH} at most."
        )
    n_leaves = 2 ** len(splits)
    values = record.numbers("leaf_values", n_leaves * n_values)
    asked = np.array([questions.find(split) for split in splits[::-1]], dtype=np.int64)
    split = np.concatenate([np.repeat(asked, 2 ** np.arange(len(asked))), np.full(n_leaves, -1)])
    left = np.where(split < 0, -1, 2 * np.arange(len(split)) + 1)
    value = np.zeros((len(split), n_values))
    value[n_leaves - 1 :] = values.reshape(n_leaves, n_values)
    return left, np.where(split < 0, -1, left + 1), split, value


def _read_nested(record: Record, questions: Splits, n_values: int) -> Nodes:
    """Give numbers to the nodes of nested objects; no recursion, since a file may nest deeply."""
    left, right, split, value = [-1], [-1], [-1], [[0.0] * n_values]
    to_do = [(0, record)]
    while to_do:
        node, here = to_do.pop()
        if "split" not in here:
            value[node] = _leaf_values(here.only("value weight"), n_values)
            continue
        split[node] = questions.find(here.only("left right split").record("split"))
        for children, side in ((left, "left"), (right, "right")):
            children[node] = len(split)
            to_do.append((len(split), Record(here.any(side), record.where)))
            for column in (left, right, split):
                column.append(-1)
            value.append(value[0])
    return np.array(left), np.array(right), np.array(split), np.array(value)


def _leaf_values(leaf: Record, n_values: int) -> list[float]:
    values = leaf.any("value")
    values = values if isinstance(values, list) else [values]
    if len(values) != n_values:
        raise InvalidModel(f"{leaf.where} has a leaf with {len(values)} values, not {n_values}.")
    return [parse_number(value, f"{leaf.where}, value of a leaf,") for value in values]

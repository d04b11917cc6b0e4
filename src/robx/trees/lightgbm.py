"""LightGBM: its text model to a `TreeEnsemble`.

How LightGBM scores, as far as it matters here: values stay float64, but one no larger in size than
`ZERO` is read as 0; a row goes left when ``x <= threshold``; a category goes left when its code is
in the split's bit set, and right when it is unseen or missing. Each split says what is missing:
NaN, zero and NaN, or nothing, in which case NaN is read as 0. Sums run over the trees in float64;
learning rates and dart weights are part of the leaf values; a random forest divides by its number
of rounds. Where training stopped early, the text ends at the best round, as predictions do.

The categories of a training frame are listed in the order of its category columns, but which these
were is not said: the columns that LightGBM splits by category, if there are as many. Where that is
wrong (an integer column declared a category, a category column not), the integer column asks for
categories: every frame that LightGBM takes is then refused by name, and none is misread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.budget import UNLIMITED, Budget
from robx.errors import BudgetExceeded, InvalidModel, UnsupportedModel
from robx.files import parse_json
from robx.tables import Category, Column, as_pandas
from robx.trees import child
from robx.trees.build import (
    MAX_CLASSES,
    MAX_CODES,
    Tree,
    assemble_classifier,
    codes_in,
    count_codes,
    counted,
)
from robx.trees.ensemble import TreeEnsemble
from robx.trees.records import Record
from robx.trees.targets import (
    class_labels,
    no_probability,
    not_a_classifier,
    of_class,
    wrapper_probability,
)

#: The header, the trees, and what follows them.
Sections = tuple[Record, list[Record], str]
#: Values up to this size are read as 0: the float32 nearest to 1e-35.
ZERO = float(np.float32(1e-35))
#: LightGBM writes an underscore for a blank in a column's name.
BLANK = "_"
#: Objectives that give a probability, and the options that their line in the model may have.
OBJECTIVES: dict[str, list[str]] = {
    "binary": ["sigmoid"],
    "cross_entropy": [],
    "multiclass": ["num_class"],
    "multiclassova": ["num_class", "sigmoid"],
}
VERSIONS = ("v3", "v4")
HEADER_FIELDS = (
    "version num_class num_tree_per_iteration label_index max_feature_idx objective average_output "
    "feature_names monotone_constraints feature_infos tree_sizes"
)
TREE_FIELDS = (
    "num_leaves num_cat split_feature split_gain threshold decision_type left_child right_child "
    "leaf_value leaf_weight leaf_count internal_value internal_weight internal_count "
    "cat_boundaries cat_threshold is_linear shrinkage"
)
#: Bytes of memory for each letter of a file and each of its fields.
LETTER_BYTES, FIELD_BYTES = 10, 200
#: Bits of a split's decision_type: by category, missing goes left, and two for what is missing.
BY_CATEGORY, DEFAULT_LEFT, MISSING_SHIFT = 1, 2, 2
MISSING_NONE, MISSING_ZERO, MISSING_NAN = 0, 1, 2

SCORE_FILE = """
import lightgbm
scores = lightgbm.Booster(model_file=source).predict(X)
"""


def from_model(model: Any, target: Category | None) -> TreeEnsemble:
    """Import an `LGBMClassifier` or `Booster`."""
    from lightgbm import Booster  # noqa: PLC0415 - only its own models come here

    wrapped = hasattr(type(model), "predict_proba")
    if not (wrapped or isinstance(model, Booster)):
        raise not_a_classifier(model)
    if wrapped and model.get_params().get("pred_early_stop"):
        raise UnsupportedModel(
            "The model was made with pred_early_stop, so it leaves out trees from row to row. Wrap "
            "it in robx.BlackBox."
        )
    text = (model.booster_ if wrapped else model).model_to_string()
    classes = class_labels(model) if wrapped else None
    where = "The LightGBM model"
    kind = type(model).__name__
    return _parse(sections(text, where), target, where=where, kind=kind, classes=classes)


def parse_file(path: Path, budget: Budget) -> tuple[Record, list[Record], str]:
    """Read a saved `.txt` model."""
    where = f"The LightGBM model {path.name}"
    data = budget.read(path)
    need = LETTER_BYTES * len(data) + FIELD_BYTES * data.count(b"=")
    budget.check_memory(need, where)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidModel(f"{where} is not text: {error}.") from error
    return sections(text, where)


def from_parsed(parsed: Any, path: Path, target: Category | None, budget: Budget) -> TreeEnsemble:
    """Import what `parse_file` read."""
    where = f"The LightGBM model {path.name}"
    return _parse(parsed, target, where=where, kind=f"{path.suffix} file", budget=budget)


def probability(model: Any, target: Category, X: Any) -> NDArray[Any] | None:
    """Ask LightGBM itself."""
    if hasattr(model, "predict_proba"):
        return wrapper_probability(model, target, as_pandas(X))
    return of_class(np.asarray(model.predict(as_pandas(X))), target)


def file_probability(path: Path, target: Category, X: Any, budget: Budget) -> NDArray[Any] | None:
    """Ask LightGBM itself, in a process of its own."""
    return of_class(child.score(SCORE_FILE, "lightgbm", path, as_pandas(X), budget), target)


def _parse(
    parsed: tuple[Record, list[Record], str],
    target: Category | None,
    *,
    where: str,
    kind: str,
    classes: list[Category] | None = None,
    budget: Budget = UNLIMITED,
) -> TreeEnsemble:
    header, records, rest = parsed
    objective, n_classes, slope = _objective(header)
    if classes is not None and len(classes) != max(n_classes, 2):
        raise UnsupportedModel(
            f"The model has {len(classes)} classes and LightGBM's objective '{objective}' has "
            f"{max(n_classes, 2)}; robx needs two or more, and the same number. Wrap the model in "
            "robx.BlackBox."
        )
    if len(records) % n_classes:
        raise InvalidModel(f"{where} has {len(records)} trees for {n_classes} classes.")
    missing_types = set[tuple[int, int]]()
    read = (_read_tree(r, number % n_classes, missing_types) for number, r in enumerate(records))
    trees = counted(read, where, budget)
    columns, named = _columns(header, rest, trees, missing_types, budget)
    return assemble_classifier(
        trees,
        columns,
        named=named,
        target=target,
        classes=classes,
        source=f"LightGBM {header.text('version')} {kind}",
        base=[0.0] * n_classes,
        one_against_all=objective == "multiclassova",
        divisor=len(records) // n_classes if "average_output" in header and records else 1,
        slope=slope,
    )


def _objective(header: Record) -> tuple[str, int, float]:
    """Read the objective's name, number of classes (1 for two) and slope."""
    name, *words = header.text("objective").split(" ") if "objective" in header else ["custom"]
    options = Record(dict(word.partition(":")[::2] for word in words), header.where)
    if sorted(options.fields) != OBJECTIVES.get(name) or len(options.fields) != len(words):
        said = " ".join([name, *words])[:60]
        raise no_probability(f"LightGBM objective '{said}'", list(OBJECTIVES))
    n_classes = (
        options.integer("num_class", low=2, high=MAX_CLASSES) if "num_class" in options else 1
    )
    for field in ("num_class", "num_tree_per_iteration"):
        if header.integer(field) != n_classes:
            raise InvalidModel(f"{header.where} has a {field} that does not fit its objective.")
    slope = options.number("sigmoid") if "sigmoid" in options else 1.0
    if slope <= 0:
        raise InvalidModel(f"{header.where} has sigmoid {slope}; expected a number above 0.")
    return name, n_classes, slope


# --- text ----------------------------------------------------------------------------------------


def sections(text: str, where: str) -> Sections:
    """Cut the text into its header, its trees and what follows them."""
    head, _, body = text.partition("\n\n")
    first, *lines = head.split("\n")
    if first != "tree":
        raise InvalidModel(f"{where} must begin with the line 'tree'. Got {first[:40]!r}.")
    header = _fields(lines, where)
    if (version := header.text("version")) not in VERSIONS:
        raise UnsupportedModel(
            f"{where} is of the format {version[:20]!r}; robx knows {', '.join(VERSIONS)}. Update "
            "robx, or wrap the live model in robx.BlackBox."
        )
    header.only(HEADER_FIELDS)
    records, at = [], 0
    for number, size in enumerate(header.integers("tree_sizes").tolist()):
        title, _, tree = body[at : at + max(size, 0)].partition("\n")
        if title != f"Tree={number}" or not tree.endswith("\n\n"):
            raise InvalidModel(f"{where} does not have tree {number} where its tree_sizes say.")
        records.append(_fields(tree.rstrip("\n").split("\n"), f"{where}.trees[{number}]"))
        at += size
    rest = body[at:]
    if not rest.startswith("end of trees\n"):
        raise InvalidModel(f"{where} does not end its trees after {len(records)}: was it cut off?")
    if "\nparameters:\n" in rest and "\nend of parameters\n" not in rest:
        raise InvalidModel(f"{where} breaks off within its parameters.")
    return header, records, rest


def _fields(lines: Iterable[str], where: str) -> Record:
    fields: dict[str, str] = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if name in fields or not (equals or name == "average_output"):
            raise InvalidModel(f"{where} has a line that is not a new field: {line[:40]!r}.")
        fields[name] = value
    return Record(fields, where)


# --- trees ---------------------------------------------------------------------------------------


def _read_tree(record: Record, index: int, missing_types: set[tuple[int, int]]) -> Tree:
    """Read a tree; add what counts as missing in the columns that it splits as numbers."""
    if "is_linear" in record and record.integer("is_linear"):
        raise UnsupportedModel(
            "The model was trained with linear_tree, which has a formula in each leaf. Wrap it in "
            "robx.BlackBox."
        )
    record.only(TREE_FIELDS)
    n_leaves = record.integer("num_leaves", low=1)
    n_splits = n_leaves - 1
    value = record.numbers("leaf_value", n_leaves)
    feature = record.integers("split_feature", n_splits)
    threshold = record.numbers("threshold", n_splits)
    decision = record.integers("decision_type", n_splits)
    missing = decision >> MISSING_SHIFT
    if ((decision < 0) | (missing > MISSING_NAN)).any():
        raise InvalidModel(f"{record.where} has a decision_type out of range.")
    by_category = (decision & BY_CATEGORY) > 0
    goes_left = np.where(missing == MISSING_NONE, threshold >= 0, (decision & DEFAULT_LEFT) > 0)
    leaves = np.full(n_leaves, -1)
    tree = Tree(
        left=np.concatenate([_children(record, "left_child", n_splits), leaves]),
        right=np.concatenate([_children(record, "right_child", n_splits), leaves]),
        feature=np.concatenate([feature, leaves]),
        threshold=np.concatenate([_read_as_zero(threshold), np.zeros(n_leaves)]),
        missing_left=np.concatenate([goes_left & ~by_category, np.zeros(n_leaves, bool)]),
        value=np.concatenate([np.zeros(n_splits), value]),
        index=index,
        categories=_left_codes(record, threshold, by_category),
    )
    numeric = ~by_category
    missing_types |= set(zip(feature[numeric].tolist(), missing[numeric].tolist(), strict=True))
    return tree


def _children(record: Record, name: str, n_splits: int) -> NDArray[np.int64]:
    """Read the children, with the leaves (which count down from -1) numbered after the splits."""
    nodes = record.integers(name, n_splits)
    if ((nodes >= n_splits) | (nodes < -n_splits - 1)).any():
        raise InvalidModel(f"{record.where} has a {name} that is not one of its nodes.")
    return np.where(nodes < 0, n_splits - 1 - nodes, nodes)


def _read_as_zero(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move thresholds out of the range that is read as 0, to the end on which 0 lies with them."""
    threshold = np.where((threshold >= 0) & (threshold < ZERO), ZERO, threshold)
    negative = (threshold < 0) & (threshold >= -ZERO)
    return np.where(negative, np.nextafter(-ZERO, -np.inf), threshold)


def _left_codes(
    record: Record, threshold: NDArray[np.float64], by_category: NDArray[np.bool_]
) -> dict[int, NDArray[np.int32]]:
    """Read the codes that go left at each split by category; its threshold numbers its bit set."""
    nodes = np.flatnonzero(by_category)
    # Each set belongs to one split, so that a small file cannot unfold to a large model.
    if record.integer("num_cat") != len(nodes) or set(threshold[nodes]) != set(range(len(nodes))):
        raise InvalidModel(f"{record.where} has sets of categories that do not fit its splits.")
    if not len(nodes):
        return {}
    words = record.integers("cat_threshold")
    ends = record.integers("cat_boundaries", len(nodes) + 1)
    if ends[0] != 0 or ends[-1] != len(words) or (np.diff(ends) < 0).any():
        raise InvalidModel(f"{record.where} has cat_boundaries that do not fit its cat_threshold.")
    if np.diff(ends).max() > MAX_CODES // 32 + 1:
        raise UnsupportedModel(f"{record.where} has more than {MAX_CODES} categories in a column.")
    if ((words < 0) | (words >= 2**32)).any():
        raise InvalidModel(f"{record.where} has a cat_threshold that is not a set of 32 bits.")
    sets = np.split(words.astype(np.uint32), ends[1:-1])
    return {int(node): codes_in(sets[int(threshold[node])]) for node in nodes}


# --- columns -------------------------------------------------------------------------------------


def _columns(
    header: Record,
    rest: str,
    trees: list[Tree],
    missing_types: set[tuple[int, int]],
    budget: Budget,
) -> tuple[list[Column], bool]:
    """Describe the columns, and tell whether their names are the user's."""
    texts = [header.text("feature_names"), header.text("feature_infos")]
    n_columns = header.integer("max_feature_idx") + 1
    budget.check_columns(min(n_columns, texts[0].count(" ") + 1), header.where)
    names, infos = (text.split(" ", n_columns) for text in texts)
    if not len(names) == len(infos) == n_columns or len(set(names) - {""}) < n_columns:
        raise InvalidModel(f"{header.where} does not name and describe its {n_columns} columns.")
    by_zero = {column for column, missing in missing_types if missing == MISSING_ZERO}
    if by_zero & {column for column, missing in missing_types if missing != MISSING_ZERO}:
        raise UnsupportedModel(
            "The model was trained with zero_as_missing in some rounds only. Wrap it in "
            "robx.BlackBox."
        )
    n_codes = count_codes(trees, _known_codes(header, infos, rest))
    if by_zero:  # splits that know no missing value send it where 0 goes, so all read alike
        apart = {column for column, missing in missing_types if missing == MISSING_NAN}
        by_zero |= {j for j, n in enumerate(n_codes) if n == 0} - apart
    by_category = [j for j, n in enumerate(n_codes) if n > 0]
    lists = _pandas_categories(rest, header.where, budget)
    if lists and len(lists) != len(by_category):
        raise UnsupportedModel(
            f"The model was trained on a frame with {len(lists)} category columns, but takes "
            f"{len(by_category)} columns as categories, and does not say which are which (an "
            "ordered category counts as a number to LightGBM). Wrap it in robx.BlackBox, or train "
            "it on unordered categories or on codes."
        )
    categories = dict(zip(by_category, lists or (), strict=False))
    columns = [
        Column(
            name,
            n_codes=max(n_codes[j], len(categories.get(j, ()))),
            categories=categories.get(j),
            missing_range=(-ZERO, ZERO) if j in by_zero else None,
            largest_integer=2.0**24,
            blank=BLANK,
        )
        for j, name in enumerate(names)
    ]
    unnamed = lists is None and names == [f"Column_{j}" for j in range(n_columns)]
    return columns, not unnamed


def _known_codes(header: Record, infos: list[str], rest: str) -> list[int]:
    """Give one more than the largest code known of each column; 0 for columns of numbers."""
    declared = re.search(r"^\[categorical_feature: ([0-9,]*)\]$", rest, re.MULTILINE)
    by_parameter = set(declared[1].split(",")) if declared else set()
    n_codes = [0] * len(infos)
    for j, info in enumerate(infos):
        if re.fullmatch(r"-?[0-9]{1,10}(:-?[0-9]{1,10})*", info):
            n_codes[j] = max(*map(int, info.split(":")), 0) + 1
        elif info == "none" and str(j) in by_parameter:
            n_codes[j] = 1
        elif info != "none" and not re.fullmatch(r"\[[^:\]]+:[^:\]]+\]", info):
            raise InvalidModel(f"{header.where} describes column {j} as {info[:40]!r}.")
    return n_codes


def _pandas_categories(rest: str, where: str, budget: Budget) -> list[tuple[Category, ...]] | None:
    """Read the categories of the training frame; None if the model was not trained on a frame."""
    last = rest.rstrip("\n").rpartition("\n")[2]
    name, _, text = last.partition(":")
    if name != "pandas_categorical":
        return None
    try:
        lists = parse_json(text.encode(), where, budget)
    except BudgetExceeded:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidModel(f"{where} has categories that are not valid JSON: {error}.") from error
    if lists is None:
        return None
    if not isinstance(lists, list) or not all(_are_categories(part) for part in lists):
        raise InvalidModel(f"{where} must list the categories of each category column once.")
    return [tuple(part) for part in lists]


def _are_categories(part: object) -> bool:
    if not isinstance(part, list) or not all(isinstance(c, str | int | float) for c in part):
        return False
    return len(set(part)) == len(part)

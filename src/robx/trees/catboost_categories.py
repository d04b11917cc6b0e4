"""Which categories answer yes to which question of a CatBoost model: CatBoost itself is asked.

A model holds hashes of its categories and, for each hash, the statistics of its training rows. The
names come from a table, best the training table. CatBoost hashes them: it is asked with a small
model of its own that has the tables of statistics of the real one and, as trees, every question
about categories, eight in a tree. The number of a row's leaf then has the answers as its bits.
Other rows show what becomes of a category that the model has never seen.

A second small model has a table of all hashes that the real one knows. It tells whether every
category that the model was trained on has a name here. If not, a category without a name is not
taken for an unseen one: the column is `partly_known`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.budget import Budget
from robx.errors import InvalidModel, UnsupportedModel
from robx.parameters import is_whole, listed
from robx.tables import Category, Column
from robx.trees.build import MAX_CODES
from robx.trees.category_names import Source, UnnamedCategories, names_in
from robx.trees.records import Record
from robx.trees.targets import OnlyScores

#: Models as JSON, and rows of numbers and names, to the leaves of the rows in all trees.
Ask = Callable[[list[str], list[list[Any]]], NDArray[Any]]

CTR_FIELDS = (
    "borders ctr_type elements identifier prior_denomerator prior_numerator scale shift "
    "target_border_idx"
)
CTR_TYPES = ("Borders", "Buckets", "BinarizedTargetMeanValue", "Counter", "FeatureFreq")
TABLE_FIELDS = "counter_denominator hash_map hash_stride"
#: Key of a place in a table that no category has.
EMPTY = str(2**64 - 1)
#: Questions in a tree.
AT_ONCE = 8
#: Names for categories that no model has seen; one that has is not used.
UNSEEN = tuple(f"robx: never seen ({k})" for k in range(4))
#: Bytes of memory for a name in a row.
CELL_BYTES = 128


@dataclass(frozen=True)
class Naming:
    """Where the names of categories are looked up, and how CatBoost is asked about them.

    Parameters
    ----------
    sources : sequence
        Tables, and columns of models that are imported already.
    ask : function
    """

    sources: Sequence[Source]
    ask: Ask


@dataclass(frozen=True)
class Question:
    """A question about the categories of a column.

    Parameters
    ----------
    category : int
        Number of the column among those of categories.
    told : mapping
        How a split describes the question.
    identifier : str
        The table of statistics that answers it; empty for a one-hot value.
    """

    category: int
    told: Mapping[str, Any]
    identifier: str = ""

    def check(self, split: Record) -> None:
        """Refuse a split that describes another question."""
        split.only(" ".join(self.told))
        if any(_differ(split.any(name), value) for name, value in self.told.items()):
            raise InvalidModel(
                f"{split.where} does not describe the question that its split_index names."
            )


def _differ(given: object, expected: object) -> bool:
    if isinstance(expected, str) or not isinstance(given, int | float):
        return given != expected
    return bool(np.float32(given) != np.float32(expected))  # type: ignore[arg-type]


def refuse_combinations(info: Record) -> None:
    """Refuse statistics of several columns at once."""
    for ctr in info.records("ctrs") if "ctrs" in info else ():
        elements = ctr.records("elements")
        kinds = [element.text("combination_element") for element in elements]
        if kinds != ["cat_feature_value"]:
            raise OnlyScores(
                "it uses CatBoost's statistics of combined features. Train it with "
                "max_ctr_complexity=1 (the default is 4), so that every split is about one column"
            )


def read_questions(
    root: Record, info: Record, categories: Sequence[Record], budget: Budget
) -> list[Question]:
    """List the questions about categories, in the order of their places."""
    numbers = info.records("float_features") if "float_features" in info else []
    start = sum(len(record.sequence("borders")) for record in numbers)
    found: list[Question] = []
    for number, record in enumerate(categories):
        for value in record.sequence("values") if "values" in record else ():
            if not is_whole(value):
                raise InvalidModel(f"{record.where}.values must be a list of integers.")
            told = {"cat_feature_index": number, "split_type": "OneHotFeature", "value": value}
            found.append(Question(number, told))
    tables = root.fields.get("ctr_data") or {}
    for ctr in info.records("ctrs") if "ctrs" in info else ():
        ctr.only(CTR_FIELDS)
        identifier, index = ctr.text("identifier"), ctr.integer("target_border_idx")
        number = (
            ctr.records("elements")[0]
            .only("cat_feature_index combination_element")
            .integer("cat_feature_index", high=len(categories) - 1)
        )
        if ctr.text("ctr_type") not in CTR_TYPES:
            raise UnsupportedModel(
                f"The CatBoost model has statistics of the type {ctr.text('ctr_type')[:40]!r}; "
                f"robx knows {', '.join(CTR_TYPES)}. Wrap the live model in robx.BlackBox."
            )
        if identifier not in tables:
            raise UnsupportedModel(
                "The CatBoost model lacks the tables of its own statistics (it was trained with "
                "final_ctr_computation_mode='Skip'), and cannot score. Train it without."
            )
        for border in ctr.numbers("borders").tolist():
            told = {"border": border, "ctr_target_border_idx": index, "split_type": "OnlineCtr"}
            found.append(Question(number, told, identifier))
    budget.check_memory(CELL_BYTES * len(found), root.where)
    return [
        replace(question, told={**question.told, "split_index": place})
        for place, question in enumerate(found, start)
    ]


def ask_model(
    root: Record,
    columns: list[Column],
    named: bool,
    place: Sequence[int],
    questions: Sequence[Question],
    naming: Naming,
    budget: Budget,
) -> tuple[list[Column], list[NDArray[np.int64]]]:
    """Name the categories of columns, and find the codes that answer no to each question.

    Parameters
    ----------
    root : Record
        The model.
    columns : list of d Columns
        As numbers.
    named : bool
        Whether their names are the user's.
    place : sequence of int
        Those of categories.
    questions : sequence of Questions
    naming : Naming
    budget : Budget

    Returns
    -------
    columns : list of d Columns
    left_codes : list of (n,) int64
        For each question; the code after the last is that of an unseen category.
    """
    if not place:
        return columns, []
    names = _named(columns, named, place, naming.sources)
    n_rows = max(map(len, names)) + len(UNSEEN)
    budget.check_memory(n_rows * (CELL_BYTES * len(columns) + len(questions)), root.where)
    keys = _keys(root, questions, len(place))
    rows = _rows(columns, place, names, n_rows)
    answers, seen_by_column = _answers(root, questions, keys, rows, naming.ask)
    for number, labels in enumerate(names):
        own = [k for k, question in enumerate(questions) if question.category == number]
        seen = seen_by_column.get(number, np.zeros(n_rows, dtype=bool))
        by_value = answers[:, [k for k in own if not questions[k].identifier]]
        known = slice(len(labels))
        all_named = seen[known].sum() >= len(keys.get(number, ())) and by_value[known].any(0).all()
        columns[place[number]] = _category_column(columns[place[number]].name, labels, all_named)
        code = _unseen_row(root, n_rows, seen | by_value.any(axis=1), labels)
        answers[len(labels), own] = answers[code, own]
    left = [
        np.flatnonzero(~answers[: len(names[question.category]) + 1, k])
        for k, question in enumerate(questions)
    ]
    return columns, left


def _answers(
    root: Record,
    questions: Sequence[Question],
    keys: Mapping[int, Sequence[str]],
    rows: list[list[Any]],
    ask: Ask,
) -> tuple[NDArray[np.bool_], dict[int, NDArray[np.bool_]]]:
    """Ask about rows: the answers, (rows, questions), and by column whether it is a known hash."""
    probes = [_question_probe(root, questions), _key_probe(root, keys)]
    trees = [(len(asked) + AT_ONCE - 1) // AT_ONCE for asked in (questions, keys)]
    with_trees = [probe for probe, n in zip(probes, trees, strict=True) if n]
    leaves = np.asarray(ask(with_trees, rows) if with_trees else np.zeros((len(rows), 0)))
    if leaves.shape != (len(rows), sum(trees)):
        raise InvalidModel(f"{root.where} does not answer about its categories.")
    is_seen = _bits(leaves[:, trees[0] :], len(keys))
    answers = _bits(leaves[:, : trees[0]], len(questions))
    return answers, dict(zip(keys, is_seen.T, strict=True))


def _named(
    columns: Sequence[Column], named: bool, place: Sequence[int], sources: Sequence[Source]
) -> list[list[Category]]:
    names = [names_in(sources, columns, j, named=named) for j in place]
    lacking = [columns[j].name for j, found in zip(place, names, strict=True) if not found]
    if lacking:
        raise UnnamedCategories(
            f"A CatBoost model holds hashes of its categories, not their names, and nothing names "
            f"those of {listed(lacking)}. Pass a table that has them, best the training table, as "
            "X= of robx.import_model."
        )
    if max(map(len, names)) > MAX_CODES:
        raise OnlyScores(f"one of its columns has more than {MAX_CODES} categories")
    return names


def _category_column(name: str, labels: Sequence[Category], all_named: Any) -> Column:
    return Column(
        name,
        n_codes=len(labels),
        categories=tuple(labels),
        by_value=True,
        takes_missing=False,
        as_text=True,
        takes_unseen=bool(all_named),
        partly_known=not all_named,
    )


def _rows(
    columns: Sequence[Column], place: Sequence[int], names: list[list[Category]], n_rows: int
) -> list[list[Any]]:
    """Rows that have each name once, and then the unseen ones: every column is asked at once."""
    rows: list[list[Any]] = [[0.0] * len(columns) for _ in range(n_rows)]
    for j, labels in zip(place, names, strict=True):
        filled = [*labels, *[labels[0]] * (n_rows - len(UNSEEN) - len(labels)), *UNSEEN]
        for row, label in zip(rows, filled, strict=True):
            row[j] = str(int(label)) if isinstance(label, bool | int) else label
    return rows


def _unseen_row(root: Record, n_rows: int, is_known: NDArray[Any], labels: list[Category]) -> int:
    """Find a row with a category that the model has never seen."""
    for k, name in enumerate(UNSEEN, n_rows - len(UNSEEN)):
        if not is_known[k] and name not in labels:
            return k
    raise InvalidModel(f"{root.where} takes every category for one that it was trained on.")


def _bits(leaves: NDArray[Any], n: int) -> NDArray[np.bool_]:
    """Take the answers out of the numbers of leaves: (rows, n) bool."""
    bits = (leaves.astype(np.int64)[:, :, None] >> np.arange(AT_ONCE)) & 1
    return bits.reshape(len(leaves), -1)[:, :n].astype(bool)


# --- small models ---------------------------------------------------------------------------------


def _question_probe(root: Record, questions: Sequence[Question]) -> str:
    """Make a model that asks all questions about categories."""
    return _probe(
        root.any("features_info"),
        root.fields.get("ctr_data") or {},
        [dict(question.told) for question in questions],
    )


def _keys(root: Record, questions: Sequence[Question], n_columns: int) -> dict[int, list[str]]:
    """Find the hashes for which each column has statistics."""
    found: dict[int, set[str]] = {}
    tables = {question.identifier: question.category for question in questions}
    for identifier, number in tables.items():
        if not identifier:
            continue
        table = root.record("ctr_data").record(identifier).only(TABLE_FIELDS)
        stride, values = table.integer("hash_stride", low=2), table.sequence("hash_map")
        keys = values[::stride]
        if len(values) % stride or not all(isinstance(k, str) and k.isdecimal() for k in keys):
            raise InvalidModel(f"{table.where[:200]} is not a table of hashes.")
        found.setdefault(number, set()).update(keys)
    return {k: sorted(found[k] - {EMPTY}) for k in range(n_columns) if found.get(k)}


def _key_probe(root: Record, keys: Mapping[int, Sequence[str]]) -> str:
    """Make a model that asks of each column whether the real one has statistics of a category."""
    info, ctrs, tables, splits = root.record("features_info"), [], {}, []
    for place, (number, known) in enumerate(keys.items()):
        element = {"cat_feature_index": number, "combination_element": "cat_feature_value"}
        identifier = json.dumps({"identifier": [element], "type": "Counter"}, separators=(",", ":"))
        # One row of each: the statistic is 1 / 2 for a hash in the table, and 0 for any other.
        tables[identifier] = {
            "counter_denominator": 1,
            "hash_map": [part for key in known for part in (key, 1)],
            "hash_stride": 2,
        }
        ctrs.append(
            {
                "borders": [0.25],
                "ctr_type": "Counter",
                "elements": [element],
                "identifier": identifier,
                "prior_denomerator": 1,
                "prior_numerator": 0,
                "scale": 1,
                "shift": 0,
                "target_border_idx": 0,
            }
        )
        told = {"border": 0.25, "ctr_target_border_idx": 0, "split_type": "OnlineCtr"}
        splits.append({**told, "split_index": place})
    features = {
        "categorical_features": [
            {name: value for name, value in record.fields.items() if name != "values"}
            for record in info.records("categorical_features")
        ],
        "ctrs": ctrs,
    }
    if "float_features" in info:
        records = info.records("float_features")
        features["float_features"] = [{**record.fields, "borders": []} for record in records]
    return _probe(features, tables, splits)


def _probe(features: Any, tables: Any, splits: Sequence[Any]) -> str:
    trees = []
    for first in range(0, len(splits), AT_ONCE):
        some = splits[first : first + AT_ONCE]
        n_leaves = 2 ** len(some)
        trees.append(
            {"leaf_values": [0] * n_leaves, "leaf_weights": [0] * n_leaves, "splits": some}
        )
    model = {"features_info": features, "model_info": {}, "oblivious_trees": trees}
    return json.dumps({"ctr_data": tables, **model, "scale_and_bias": [1, [0]]})

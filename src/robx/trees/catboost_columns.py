"""The columns of a CatBoost model, and all that its splits may ask of them.

A model lists the borders of its numbers, then the values of its one-hot columns, then the borders
of its statistics (CTRs), and a split names its question by the place in this list, besides
describing it. Here the two must agree.

A statistic is the share of a class, or of all rows, among the training rows of a category. So a
split on it, as a split on a one-hot value, is a set of categories. `catboost_categories` finds out
which: a model has hashes of its categories, not their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robx.budget import Budget
from robx.errors import InvalidModel, UnsupportedModel
from robx.tables import Column
from robx.trees.catboost_categories import (
    Naming,
    Question,
    ask_model,
    read_questions,
    refuse_combinations,
)
from robx.trees.records import Record
from robx.trees.rounding import up_to_float32

NUMBER_FIELDS = "borders feature_id feature_index flat_feature_index has_nans nan_value_treatment"
CATEGORY_FIELDS = "feature_id feature_index flat_feature_index values"
SPLIT_FIELDS = "border float_feature_index split_index split_type"


class Features(NamedTuple):
    """The columns, whether the training table named them, and the splits on them."""

    columns: list[Column]
    named: bool
    splits: Splits


@dataclass(frozen=True)
class Splits:
    """All questions of a model, as a split_index counts through them: those about numbers first.

    One more stands at the end, so that the -1 of a leaf has something to look up.

    Parameters
    ----------
    column, border, threshold, missing_left : (m + 1,) arrays
        Of questions about categories only the column counts.
    numbers : (d,) int
        Number of each column among those of numbers, or -1.
    questions : mapping from places to Questions
        Those about categories.
    left_codes : mapping from places to codes
        The categories that answer no to them.
    """

    column: NDArray[np.int64]
    border: NDArray[np.float32]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    numbers: NDArray[np.int64]
    questions: Mapping[int, Question]
    left_codes: Mapping[int, NDArray[np.int64]]

    @property
    def first_question(self) -> int:
        """Place of the first question about categories."""
        return len(self.border) - 1 - len(self.questions)

    def find(self, split: Record) -> int:
        """Place of a split's question, which the split must describe as the list does."""
        kind, position = split.text("split_type"), split.integer("split_index")
        if position >= len(self.border) - 1:
            raise InvalidModel(f"{split.where} uses border {position} of {len(self.border) - 1}.")
        if position in self.questions:
            self.questions[position].check(split)
            return position
        if kind != "FloatFeature":
            raise InvalidModel(
                f"{split.where} splits on a {kind[:40]}; its split_index says on a number."
            )
        number, border = (
            split.only(SPLIT_FIELDS).integer("float_feature_index"),
            split.number("border"),
        )
        expected = self.numbers[self.column[position]]
        if number != expected or float32([border])[0] != self.border[position]:
            raise InvalidModel(
                f"{split.where} splits column {number} at {border}; its split_index says column "
                f"{expected} at {self.border[position]}."
            )
        return position


def float32(values: Any) -> NDArray[np.float32]:
    """Round to float32; what does not fit becomes infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(values, dtype=np.float64).astype(np.float32)


def read_features(root: Record, naming: Naming, budget: Budget) -> Features:
    """Read the columns and their questions; CatBoost is asked which categories answer what."""
    info = root.record("features_info")
    _refuse_text(info)
    info.only("categorical_features ctrs float_features")
    kinds = ("float_features", "categorical_features")
    numbers, categories = (info.records(kind) if kind in info else [] for kind in kinds)
    budget.check_columns(len(numbers) + len(categories), root.where)
    refuse_combinations(info)
    columns, named = _named_columns(info.where, numbers, categories)
    place = [record.integer("flat_feature_index") for record in categories]
    questions = read_questions(root, info, categories, budget)
    columns, answers = ask_model(root, columns, named, place, questions, naming, budget)
    splits = _all_splits(info.where, numbers, columns, place, questions, answers)
    return Features(columns, named, splits)


def _refuse_text(info: Record) -> None:
    if any(info.fields.get(name) for name in ("text_features", "embedding_features")):
        raise UnsupportedModel(
            "The model was trained with CatBoost's text or embedding features, which cannot be "
            "rebuilt from it. Wrap the live model in robx.BlackBox."
        )


def _named_columns(
    where: str, numbers: Sequence[Record], categories: Sequence[Record]
) -> tuple[list[Column], bool]:
    """Give the columns in the order of the training table, as numbers, and say if it named them."""
    names: dict[int, str] = {}
    for fields, records in ((NUMBER_FIELDS, numbers), (CATEGORY_FIELDS, categories)):
        for number, record in enumerate(records):
            # With columns of one kind, both count alike; CatBoost crashes where they do not.
            expected = {number} if len(numbers) == 0 or len(categories) == 0 else None
            flat = record.only(fields).integer("flat_feature_index")
            known = {record.integer("feature_index"), flat}
            if (known != expected) if expected else record.integer("feature_index") != number:
                raise InvalidModel(f"{record.where} is out of order: its numbers must be {number}.")
            names[flat] = record.text("feature_id")
        flats = [record.integer("flat_feature_index") for record in records]
        if sorted(set(flats)) != flats:
            raise InvalidModel(f"{where} has columns that are out of order.")
    n = len(numbers) + len(categories)
    if sorted(names) != list(range(n)):
        raise InvalidModel(f"{where} does not number its {n} columns from 0 to {n - 1}.")
    named = any(names.values())
    if not names or (named and len(set(names.values())) < n):
        raise InvalidModel(f"{where} has no columns, or two of the same name.")
    return [Column(names[j] if named else str(j)) for j in range(n)], named


def _all_splits(
    where: str,
    numbers: Sequence[Record],
    columns: Sequence[Column],
    place: Sequence[int],
    questions: Sequence[Question],
    answers: Sequence[NDArray[np.int64]],
) -> Splits:
    borders = [float32(record.numbers("borders")) for record in numbers]
    joined = np.concatenate([*borders, np.zeros(len(questions) + 1, np.float32)])
    if not np.isfinite(joined).all():
        raise InvalidModel(f"{where} has a border that is not a finite float32 number.")
    flats = [record.integer("flat_feature_index") for record in numbers]
    counts = [len(some) for some in borders]
    about = [place[question.category] for question in questions]
    n_borders = sum(counts)
    missing_left = np.zeros(len(joined), dtype=bool)
    missing_left[:n_borders] = np.repeat([_missing_left(record) for record in numbers], counts)
    number_of = np.full(len(columns), -1)
    number_of[flats] = np.arange(len(flats))
    return Splits(
        column=np.concatenate([np.repeat(flats, counts), about, [0]]).astype(np.int64),
        border=joined,
        threshold=up_to_float32(joined),
        missing_left=missing_left,
        numbers=number_of,
        questions=dict(enumerate(questions, n_borders)),
        left_codes=dict(enumerate(answers, n_borders)),
    )


def _missing_left(record: Record) -> bool:
    treatment, has_nans = record.text("nan_value_treatment"), record.any("has_nans")
    if treatment not in {"AsIs", "AsFalse", "AsTrue"} or not isinstance(has_nans, bool):
        raise InvalidModel(f"{record.where} does not say what becomes of missing values.")
    return not (has_nans and treatment == "AsTrue")

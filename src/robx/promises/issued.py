"""Answers that were issued: `Counterfactuals`, or a file or table of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from robx.answers import Counterfactuals, Status
from robx.answers.flat_table import PREFIX, applicant_ids, point_names
from robx.answers.origin import checked_origin, plain_label
from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.files import existing_file, read_table
from robx.schema import Schema
from robx.tables import as_named_frame, in_order


@dataclass(frozen=True)
class IssuedAnswers:
    """What a check needs of issued answers, wherever they come from.

    The columns of `points` are in the order of the old model, for new models that do not know
    their names. `own` are the applicants as they were, which flat tables do not have.
    """

    applicants: NDArray[Any]
    points: Any
    status: NDArray[Any]
    score: Floats
    changes: tuple[str, ...]
    own: pd.DataFrame | None = None
    schema: Schema | None = None


def opened(answers: Any) -> Any:
    """Open a file of answers; answers and their flat tables stay as they are."""
    if isinstance(answers, str | os.PathLike):
        file = existing_file(Path(answers))
        if file.suffix.lower() in {".json", ".parquet"}:
            return Counterfactuals.load(file)
        return _read(file)
    if isinstance(answers, Counterfactuals) or hasattr(answers, "iloc"):
        return answers
    raise InvalidInput(
        "The 'answers' parameter of check must be Counterfactuals, a file that they were saved to, "
        "a folder of such files, their table, or a list of these. Got "
        f"{type(answers).__name__} instead."
    )


def _read(file: Path) -> pd.DataFrame:
    """Read a flat table; applicants' names stay text unless they are plain numbers."""
    table = read_table(file, only_blanks_missing=True)
    name = str(table.columns[0])
    as_text = read_table(file, only_blanks_missing=True, text=(name,))
    return table if (as_text[name] == table[name].astype(str)).all() else as_text


def of_answers(answers: Counterfactuals) -> IssuedAnswers:
    """Take what is needed from answers."""
    names = answers.schema.names
    return IssuedAnswers(
        np.asarray(applicant_ids(answers)),
        in_order(as_named_frame(answers.points, names), names),
        answers.status,
        answers.score,
        tuple("; ".join(change) for change in answers.changes),
        nw.from_native(as_named_frame(answers.applicants, names), eager_only=True).to_pandas(),
        answers.schema,
    )


def of_table(table: pd.DataFrame) -> IssuedAnswers:
    """Take what is needed from the flat table of answers."""
    needed = [f"{PREFIX}{name}" for name in ("status", "score", "changes")]
    lacking = [name for name in needed if name not in table.columns]
    if lacking:
        raise InvalidInput(
            f"The table of answers has no column '{lacking[0]}'. Pass what Counterfactuals.save "
            "wrote, or its table, with all of its columns."
        )
    known = {str(status) for status in Status}
    unknown = [status for status in table[needed[0]] if status not in known]
    if unknown:
        raise InvalidInput(
            f"'{needed[0]}' must be one of {', '.join(sorted(known))}. Got {unknown[0]!r}."
        )
    return IssuedAnswers(
        table.iloc[:, 0].to_numpy(),
        table[point_names(table.columns.tolist())].reset_index(drop=True),
        np.array([Status(status) for status in table[needed[0]]], dtype=object),
        table[needed[1]].to_numpy(dtype=np.float64),
        tuple(table[needed[2]].fillna("").astype(str)),
    )


def origin_in(table: pd.DataFrame, names: Sequence[str]) -> dict[str, Any]:
    """Read from the flat table of answers what holds for all of them, where it states it."""
    said: dict[str, Any] = {}
    for name in names:
        column = f"{PREFIX}{name}"
        if column not in table.columns:
            continue
        values = table[column].drop_duplicates()
        if len(values) > 1:
            first, second = values.tolist()[:2]
            raise InvalidInput(
                f"'{column}' must be the same in all rows of the answers. Got {first!r} and "
                f"{second!r}. Check these answers separately, or pass {name}=."
            )
        if len(values) == 1 and values.notna().all():
            said[name] = plain_label(values.iloc[0])
    return checked_origin(said)


def facts_in(table: pd.DataFrame) -> dict[str, Any]:
    """Read from the flat table of answers what may differ between rows, where it does not."""
    said = {}
    for name in ("model", "date"):
        values = set(table.get(f"{PREFIX}{name}", ()))
        if len(values) == 1 and not pd.isna(one := values.pop()):
            said[name] = str(one)
    digest = said.pop("model", None)
    return {**said, "model": {"digest": digest}} if digest else said

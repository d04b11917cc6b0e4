"""What was handed out: answers, or a file or a table of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput
from robx.files import existing_file, read_table
from robx.problem import Counterfactuals, Status
from robx.problem.flat import PREFIX, applicant_ids
from robx.tables import as_named_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Handed", "of_answers", "of_table", "opened"]


@dataclass(frozen=True)
class Handed:
    """What was handed out, wherever it comes from."""

    applicants: NDArray[Any]
    points: Any
    status: list[Status]
    score: NDArray[np.float64]
    changes: tuple[str, ...]


def opened(answers: Any) -> Any:
    """Give answers, or the flat table of them, wherever they are."""
    if isinstance(answers, str | os.PathLike):
        file = existing_file(Path(answers))
        if file.suffix in {".json", ".parquet"}:
            return Counterfactuals.load(file)
        return read_table(file, only_blanks_missing=True)
    if isinstance(answers, Counterfactuals) or hasattr(answers, "iloc"):
        return answers
    raise InvalidInput(
        "check takes Counterfactuals, a file that they were saved to, or their table. Got "
        f"{type(answers).__name__}."
    )


def of_answers(answers: Counterfactuals) -> Handed:
    """Take what is needed from answers."""
    return Handed(
        np.asarray(applicant_ids(answers)),
        as_named_frame(answers.points, answers.schema.names),
        list(answers.status),
        answers.score,
        tuple("; ".join(change) for change in answers.changes),
    )


def of_table(table: pd.DataFrame) -> Handed:
    """Take what is needed from the flat table of answers."""
    needed = [f"{PREFIX}{name}" for name in ("status", "score", "changes")]
    lacking = [name for name in needed if name not in table.columns]
    if lacking:
        raise InvalidInput(
            f"The table of answers has no column '{lacking[0]}'. Pass what Counterfactuals.save "
            "wrote, or its table, with all of its columns."
        )
    known = {str(status) for status in Status}
    strange = [status for status in table[needed[0]] if status not in known]
    if strange:
        raise InvalidInput(
            f"'{needed[0]}' must be one of {', '.join(sorted(known))}. Got {strange[0]!r}."
        )
    own = [name for name in table.columns[1:] if not str(name).startswith(PREFIX)]
    return Handed(
        table.iloc[:, 0].to_numpy(),
        table[own].reset_index(drop=True),
        [Status(status) for status in table[needed[0]]],
        table[needed[1]].to_numpy(dtype=np.float64),
        tuple(table[needed[2]].fillna("").astype(str)),
    )

"""`Check`: what a new model makes of issued answers."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robx.answers.status import ANSWERED
from robx.arrays import Bools, Floats
from robx.errors import InvalidInput
from robx.files import atomically, write_table
from robx.metrics import Interval, jeffreys
from robx.promises.groups import kept_by
from robx.promises.sentences import NEW, say
from robx.schema import Schema

if TYPE_CHECKING:
    import pandas as pd


class Issued(NamedTuple):
    """A batch of answers that was checked: its file, date and model, and number of rows.

    `is_same` says whether the answers were issued under the very model that checks them.
    """

    file: str | None
    date: str | None
    digest: str | None
    n_rows: int
    is_same: bool


@dataclass(frozen=True, eq=False)
class Check:
    """What a new model makes of answers that were issued under an old one.

    An answer whose status is ok is a promise. An answer that is only the best one found is not a
    promise, but the check reports it too.

    Parameters
    ----------
    applicants : (n,) array
        Names of the applicants.
    status : (n,) object
        The status of each answer.
    promised : (n,) bool
        Which rows are promises.
    kept : (n,) bool
        Which rows have an answer, promised or not, that the new model accepts.
    score_before, score : (n,) float64
        Scores of the answers by the old and by the new model; NaN where the new model cannot read
        the row.
    changes : n strings
        What the answers ask for.
    reason : n strings
        Why the new model cannot read the row; empty where it can.
    threshold : float
        A score above it is accepted.
    confidence : float
        Confidence level of the interval.
    model : mapping
        The new model: its kind, digest, source and number of trees, and its file, if it has one.
    alternatives : tuple of Check
        Checks of the alternative answers.
    issued : tuple of Issued
        What was checked, in the order of the rows: a file each, or a single one for other answers.
    date : str, optional
        Date of the check.
    left_out : tuple of str
        Columns of the answers that the new model does not have.
    own : DataFrame, optional
        The applicants as they were, for `by`; flat tables of answers do not have it.
    schema : Schema, optional
        What the columns of `own` are.
    """

    applicants: NDArray[Any]
    status: NDArray[Any]
    promised: Bools
    kept: Bools
    score_before: Floats
    score: Floats
    changes: tuple[str, ...]
    reason: tuple[str, ...]
    threshold: float
    confidence: float
    model: dict[str, Any] = field(repr=False)
    alternatives: tuple[Check, ...] = ()
    issued: tuple[Issued, ...] = ()
    date: str | None = None
    left_out: tuple[str, ...] = ()
    own: pd.DataFrame | None = field(default=None, repr=False)
    schema: Schema | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.promised)

    @property
    def answered(self) -> Bools:
        """Which rows have an answer, promised or not: (n,) bool."""
        return np.array([status in ANSWERED for status in self.status], dtype=bool)

    @property
    def name(self) -> str:
        """Name of the new model's file; empty for a model that was not in a file."""
        return str(self.model.get("file") or "")

    @property
    def is_evidence(self) -> bool:
        """Whether there are promises, and some were issued under another model than this one.

        The model that answers were issued under accepts them, which says nothing about a
        retraining.
        """
        return bool((self.promised & ~self.same_model).any())

    @property
    def same_model(self) -> Bools:
        """Which rows were issued under the very model that checks them: (n,) bool."""
        if not self.issued:
            return np.zeros(len(self), dtype=bool)
        sizes = [part.n_rows for part in self.issued]
        return np.repeat(np.array([part.is_same for part in self.issued], dtype=bool), sizes)

    @property
    def counted(self) -> Bools:
        """Which promises `share` counts: those issued under another model, if there are any."""
        return self.promised & ~self.same_model if self.is_evidence else self.promised

    @property
    def share(self) -> float:
        """Share of the promises that the new model keeps; nan if there is none."""
        return self._interval.value

    @property
    def low(self) -> float:
        """Lower end of Jeffreys' interval for applicants like these; nan without a promise."""
        return self._interval.low

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self._interval.high

    @property
    def _interval(self) -> Interval:
        n, kept = self._counts(self.counted)
        return jeffreys(kept, n, self.confidence)

    @property
    def table(self) -> pd.DataFrame:
        """A pandas DataFrame with a row for each applicant: the answer, and whether it is kept."""
        import pandas as pd  # noqa: PLC0415 - made only when looked at

        sizes = [part.n_rows for part in self.issued]
        files = {"file": np.repeat([str(part.file or "") for part in self.issued], sizes)}
        return pd.DataFrame(
            {
                **(files if len(self.issued) > 1 else {}),
                "applicant": self.applicants,
                "status": [str(status) for status in self.status],
                "score_before": self.score_before,
                "score_now": self.score,
                "kept": self.kept,
                "changes": list(self.changes),
                "reason": list(self.reason),
            }
        )

    def by(self, column: Any, name: str | None = None) -> pd.DataFrame:
        """Count kept promises by groups of applicants.

        Parameters
        ----------
        column : str or sequence of n values
            A column of the applicants, or a value for each of them. Numbers with more than six
            different values are cut at their quartiles.
        name : str, optional
            What to call the values.

        Returns
        -------
        DataFrame
            A row for each group: `n_promises`, `n_kept`, `share`, `low` and `high`.
        """
        feature = None
        if isinstance(column, str):
            values = self._own(column)
            known = self.schema is not None and column in self.schema.names
            feature = self.schema[column] if self.schema is not None and known else None
        else:
            values = list(column)
            if len(values) != len(self):
                raise InvalidInput(
                    f"The 'column' parameter of by must name a column of the applicants, or have a "
                    f"value for each of the {len(self)} rows of the check. Got {len(values)} "
                    "values."
                )
        named = str(column) if isinstance(column, str) else "group"
        return kept_by(
            values, name or named, self.counted, self.kept, self.confidence, feature=feature
        )

    def _own(self, column: str) -> Any:
        if self.own is None:
            raise InvalidInput(
                f"Promises can be counted by '{column}' only for answers as .json or .parquet: a "
                ".csv file has no applicants as they were."
            )
        names = list(map(str, self.own.columns))
        if column not in names:
            raise InvalidInput(
                f"The applicants have no column '{column}'. They have {', '.join(names[:20])}."
            )
        return self.own.iloc[:, names.index(column)]

    @property
    def words(self) -> str:
        """How many promises are kept, in sentences."""
        return say(self, NEW)

    def say(self, name: str) -> str:
        """Say the same of a model by another name.

        Parameters
        ----------
        name : str
            For example "new model 2".
        """
        return say(self, name)

    def _counts(self, rows: Bools) -> tuple[int, int]:
        """Count some rows, and those of them that are kept."""
        return int(rows.sum()), int(self.kept[rows].sum())

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values, ready for JSON."""
        table = self.table[self.answered].astype(object)
        n, kept = self._counts(self.counted)
        share = {name: _or_none(getattr(self, name)) for name in ("share", "low", "high")}
        return {
            "n_promises": n,
            "n_kept": kept,
            **share,
            "confidence": self.confidence,
            "threshold": self.threshold,
            "date": self.date,
            "is_evidence": self.is_evidence,
            "words": self.words,
            "model": dict(self.model),
            "left_out": list(self.left_out),
            "issued": [part._asdict() for part in self.issued],
            "answers": [
                {name: _or_none(value) for name, value in row.items()}
                for row in table.to_dict("records")
            ],
            "alternatives": [other.to_dict() for other in self.alternatives],
        }

    @property
    def record(self) -> pd.DataFrame:
        """The table with what was checked beside each row: file, models, threshold and dates."""
        table, sizes = self.table, [part.n_rows for part in self.issued]
        for name, of in {"issued": "date", "old_model": "digest", "file": "file"}.items():
            values = [getattr(part, of) for part in self.issued] or [None]
            table[name] = np.repeat(np.array(values, dtype=object), sizes or [len(self)])
        return table.assign(
            new_model=self.model.get("digest"), checked=self.date, threshold=self.threshold
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record to a `.csv` or `.parquet` file, or everything to a `.json` file."""
        file = Path(path)
        if file.suffix.lower() == ".json":
            text = json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=1)
            with atomically(file) as temporary:
                temporary.write_text(text, encoding="utf-8")
        elif file.suffix.lower() in {".csv", ".parquet"}:
            write_table(self.record, file)
        else:
            raise InvalidInput(f"A check is saved as .json, .csv or .parquet. Got '{file.name}'.")

    def __repr__(self) -> str:
        n, kept = self._counts(self.counted)
        return f"<Check: {kept} of {n} promise{'s' if n != 1 else ''} kept>"


def _or_none(value: Any) -> Any:
    """Give a plain value as JSON has it."""
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, float) and not np.isfinite(plain):
        return None
    return plain if plain is None or isinstance(plain, str | bool | int | float) else str(plain)

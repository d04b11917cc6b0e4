"""`Check`: what a new model makes of issued answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robx.answers.status import ANSWERED
from robx.arrays import Bools, Floats
from robx.metrics import Interval, jeffreys, percent

if TYPE_CHECKING:
    import pandas as pd


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
        The new model: its kind, digest, source and number of trees.
    alternatives : tuple of Check
        Checks of the alternative answers.
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

    def __len__(self) -> int:
        return len(self.promised)

    @property
    def answered(self) -> Bools:
        """Which rows have an answer, promised or not: (n,) bool."""
        return np.array([status in ANSWERED for status in self.status], dtype=bool)

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
        n, kept = self._counts(self.promised)
        return jeffreys(kept, n, self.confidence)

    @property
    def table(self) -> pd.DataFrame:
        """A pandas DataFrame with a row for each applicant: the answer, and whether it is kept."""
        import pandas as pd  # noqa: PLC0415 - made only when looked at

        return pd.DataFrame(
            {
                "applicant": self.applicants,
                "status": [str(status) for status in self.status],
                "score_before": self.score_before,
                "score_now": self.score,
                "kept": self.kept,
                "changes": list(self.changes),
                "reason": list(self.reason),
            }
        )

    @property
    def words(self) -> str:
        """How many promises are kept, in sentences."""
        return self.say("the new model")

    def say(self, name: str) -> str:
        """Say the same of a model by another name.

        Parameters
        ----------
        name : str
            For example "new model 2".
        """
        n, kept = self._counts(self.promised)
        if n == 0:
            said = f"There is no promise for {name} to keep: no answer is ok."
        else:
            keeps = f"keeps {kept} of {n} promises"
            if n == 1:
                keeps = "keeps the only promise" if kept else "does not keep the only promise"
            said = (
                f"{name[:1].upper()}{name[1:]} {keeps} ({percent(self.share)}). For applicants "
                f"like these, the {100 * self.confidence:g}% interval is {percent(self.low)} to "
                f"{percent(self.high)}."
            )
        n, accepted = self._counts(self.answered & ~self.promised)
        if n == 1:
            does = "accepts" if accepted else "does not accept"
            said += f" It {does} the one answer that was the best found but not promised."
        elif n:
            said += f" It accepts {accepted} of the {n} answers that were the best found but not "
            said += "promised."
        unread = sum(bool(self.reason[i]) for i in np.flatnonzero(self.answered))
        if unread:
            said += f" It cannot read {unread} of the answers, which counts as not accepted."
        return said

    def _counts(self, rows: Bools) -> tuple[int, int]:
        """Count some rows, and those of them that are kept."""
        return int(rows.sum()), int(self.kept[rows].sum())

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values, ready for JSON."""
        table = self.table[self.answered].astype(object)
        n, kept = self._counts(self.promised)
        share = {name: _or_none(getattr(self, name)) for name in ("share", "low", "high")}
        return {
            "n_promises": n,
            "n_kept": kept,
            **share,
            "confidence": self.confidence,
            "threshold": self.threshold,
            "words": self.words,
            "model": dict(self.model),
            "answers": [
                {name: _or_none(value) for name, value in row.items()}
                for row in table.to_dict("records")
            ],
            "alternatives": [other.to_dict() for other in self.alternatives],
        }

    def __repr__(self) -> str:
        n, kept = self._counts(self.promised)
        return f"<Check: {kept} of {n} promise{'s' if n != 1 else ''} kept>"


def _or_none(value: Any) -> Any:
    """Give a plain value as JSON has it."""
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, float) and not np.isfinite(plain):
        return None
    return plain if plain is None or isinstance(plain, str | bool | int | float) else str(plain)

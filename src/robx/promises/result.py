"""`Check`: what a new model says of answers that were handed out."""

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
    """What a new model says of answers that were handed out under an old one.

    A promise is an answer that is ok. One that was the best found, though not stable, is none;
    whether it holds is told all the same.

    Parameters
    ----------
    applicants : (n,) array
        Who asked.
    status : (n,) object
        How the search for each of them ended.
    promised : (n,) bool
        Which rows are promises.
    kept : (n,) bool
        Which rows have an answer, promised or not, that the new model accepts.
    score_before, score : (n,) float64
        Of the points, by the old model and by the new one; NaN where that cannot read the row.
    changes : n strings
        What the answers ask for.
    reason : n strings
        Why the new model cannot read the row; empty where it can.
    threshold : float
        Accepted are scores above this.
    confidence : float
        Of the interval.
    model : mapping
        The new model: its kind, digest, source and number of trees.
    alternatives : Check each
        Of the other answers, where there are any.
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
        """Lower end of Jeffreys' interval for people like these; nan without a promise."""
        return self._interval.low

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self._interval.high

    @property
    def _interval(self) -> Interval:
        kept = self.kept[self.promised]
        return jeffreys(int(kept.sum()), len(kept), self.confidence)

    @property
    def table(self) -> pd.DataFrame:
        """A pandas DataFrame with a row for everybody: what was said, and whether it holds."""
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
        """Say how many promises are kept, and what that means."""
        return self.say("the new model")

    def say(self, name: str) -> str:
        """Say the same of a model that has a name.

        Parameters
        ----------
        name : str
            Such as "new model 2", where there are several.
        """
        n, kept = int(self.promised.sum()), int(self.kept[self.promised].sum())
        if n == 0:
            said = f"There is no promise for {name} to keep: no answer is ok."
        else:
            keeps = f"keeps {kept} of {n} promises"
            if n == 1:
                keeps = "keeps the only promise" if kept else "does not keep the only promise"
            said = (
                f"{name[:1].upper()}{name[1:]} {keeps} ({percent(self.share)}). Of people like "
                f"these it keeps {percent(self.low)} to {percent(self.high)} "
                f"({100 * self.confidence:g}% interval)."
            )
        return said + self._say_of_others()

    def _say_of_others(self) -> str:
        """Say what comes of answers that are no promise, and of those that cannot be read."""
        said, best = "", self.answered & ~self.promised
        if best.any():
            n, accepted = int(best.sum()), int(self.kept[best].sum())
            those = (
                f"Of {n} answers that were the best found, but no promise, it accepts {accepted}"
            )
            if n == 1:
                does = "accepts" if accepted else "does not accept"
                those = f"It {does} the one answer that was the best found, but no promise"
            said += f" {those}."
        unread = sum(bool(self.reason[i]) for i in np.flatnonzero(self.answered))
        if unread:
            said += f" It cannot read {unread} of the answers, which counts as not accepted."
        return said

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values, ready for JSON."""
        table = self.table[self.answered].astype(object)
        share = {name: _or_none(getattr(self, name)) for name in ("share", "low", "high")}
        return {
            "n_promises": int(self.promised.sum()),
            "n_kept": int(self.kept[self.promised].sum()),
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
        n, kept = int(self.promised.sum()), int(self.kept[self.promised].sum())
        return f"<Check: {kept} of {n} promise{'s' if n != 1 else ''} kept>"


def _or_none(value: Any) -> Any:
    """Give a plain value as JSON has it."""
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, float) and not np.isfinite(plain):
        return None
    return plain if plain is None or isinstance(plain, str | bool | int | float) else str(plain)

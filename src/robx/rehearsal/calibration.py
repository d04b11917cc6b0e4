"""`Calibration`: what became in rehearsals of answers that retrained models scored like this one.

Retrained models share their rows with the model in whose favour an answer was chosen, so that more
of them accept it than of models with rows of their own. Rehearsals saw both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.rehearsal.outcome import Falling, Outcome, falling

#: Knots of the curves, resamples of trials, and the share of answers for which bounds hold.
KNOTS, RESAMPLES, CONFIDENCE = 24, 100, 0.95
#: Columns of a calibration.
COLUMNS = ("score", "rank", "share", "low")
#: Fewer answers say too little.
LEAST_ANSWERS = 100
#: How alike the fates of one answer under two models are, at least and at most.
LEAST_LIKENESS, MOST_LIKENESS = 0.05, 0.9


@dataclass(frozen=True, eq=False)
class Calibration:
    """From the mean score of retrained models to what new rows make of an answer.

    Parameters
    ----------
    score, rank : (k,) float64
        Ascending; the share of the accepted rows that fall short of each score.
    share : (k,) float64
        Share of the rehearsed answers with this score that was kept, extended to all rows.
    low : (k,) float64
        For a share `CONFIDENCE` of these answers, at least so many of all models on new rows accept
        them.
    likeness : float
        Correlation between the fates of one answer under two models on new rows.
    """

    score: Floats
    rank: Floats
    share: Floats
    low: Floats
    likeness: float

    @classmethod
    def of(cls, outcome: Outcome, seed: int) -> Calibration | None:
        """Calibrate by every rehearsed answer; None where scores are not known, or too few."""
        known = np.isfinite(outcome.score)
        if known.sum() < LEAST_ANSWERS:
            return None
        trial, score, broken = (
            outcome.trial[known],
            outcome.score[known],
            1 - outcome.was_kept[known],
        )
        at = np.unique(np.quantile(score, np.linspace(0, 1, KNOTS)))
        every = np.ones(len(score))
        loss = falling(score, broken, every)(at)
        rng = np.random.default_rng(seed)
        again = []
        for _ in range(RESAMPLES):  # trials are what was drawn, not answers
            weight = np.bincount(rng.integers(outcome.n_trials, size=outcome.n_trials),
                                 minlength=outcome.n_trials)[trial]  # fmt: skip
            again.append(falling(score, broken, weight.astype(np.float64))(at))
        spread = np.std(again, axis=0)
        n = float(np.median(outcome.n_effective))
        likeness = _likeness(score, outcome.fates[:, known])
        high = np.minimum((n * (loss + spread) + 1) / (n + 1), 1.0)
        share, high = 1 - outcome.extended(loss), outcome.extended(high)
        low = np.maximum.accumulate(1 - _upper(high, likeness))
        rank = np.interp(at, outcome.rungs, outcome.rank)
        return cls(at, rank, share, np.minimum(low, share), likeness)

    def of_scores(self, score: Floats) -> tuple[Floats, Floats]:
        """Give share and lower bound for answers with these scores: two of (n,)."""
        return np.interp(score, self.score, self.share), np.interp(score, self.score, self.low)

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values."""
        return {name: getattr(self, name).tolist() for name in COLUMNS} | {
            "likeness": self.likeness
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Calibration:
        """Make one from plain values."""
        arrays = [np.array(plain[name], dtype=np.float64) for name in COLUMNS]
        sound = all(one.ndim == 1 and len(one) == len(arrays[0]) > 0 for one in arrays)
        sound = sound and all(((one >= 0) & (one <= 1)).all() for one in arrays)
        if not sound or not all((np.diff(one) >= 0).all() for one in arrays):
            raise InvalidInput("a calibration holds columns of shares that rise.")
        score, rank, share, low = arrays
        return cls(score, rank, share, low, float(plain["likeness"]))


def _likeness(score: Floats, fates: Floats) -> float:
    """Correlation between what two models that were trained apart make of the same answers."""
    known = np.isfinite(fates).all(axis=0)
    if known.sum() < LEAST_ANSWERS:
        return MOST_LIKENESS
    broken, at = 1 - fates[:, known], score[known]
    chance: Falling = falling(np.tile(at, 2), broken.ravel(), np.ones(2 * len(at)))
    expected = chance(at)
    together = ((broken[0] - expected) * (broken[1] - expected)).sum()
    alone = (expected * (1 - expected)).sum()
    found = together / alone if alone > 0 else 0.0
    return float(np.clip(found, LEAST_LIKENESS, MOST_LIKENESS))


def _upper(loss: Floats, likeness: float) -> Floats:
    """Loss that a share `CONFIDENCE` of answers stays below, if losses are spread as Beta is."""
    from scipy.stats import beta  # noqa: PLC0415 - takes long to load

    scale = (1 - likeness) / likeness
    sure = np.clip(loss, 1e-9, 1 - 1e-9)
    return np.asarray(beta.ppf(CONFIDENCE, sure * scale, (1 - sure) * scale))

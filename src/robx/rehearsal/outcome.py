"""`Outcome`: what was kept in rehearsals, and how much of an answer a promise needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Bools, Floats

#: Rungs at which fewer are answered than this part of those who are at any rung do not count.
LEAST_ANSWERED = 0.8
#: At one setting, the normal quantile of the share that is kept grows as a power of the number of
#: rows. It would be the square root if scores varied as means of n rows do; models on more rows are
#: rougher too, and tables of many sizes showed 0.03 to 0.3 (`experiments.promises.parts`). It is
#: counted on for tables up to so many times larger than the part that was rehearsed on.
GROWTH, MOST_TIMES = 0.1, 4.0
#: Nor do those at which answers lead, in effect, to fewer places than this part of their number:
#: answers that lead to the same place fall together.
LEAST_PLACES = 0.25


class Played(NamedTuple):
    """What came of one trial with n people at r rungs.

    Parameters
    ----------
    made : (r, n) bool
        Who was answered.
    kept : (r, n) float64
        Share of the models after the first that accept the answer.
    cost, score : (r, n) float64
        Cost of the answer, and the mean score that retrained models gave it; NaN where not known.
    fates : (2, r, n) float64
        Whether each of two models that were trained apart accepts it; NaN where not known.
    places : (r,) float64
        To how many places the answers lead, in effect.
    ranks : (r,) float64
        Share of the accepted rows that fall short of each rung; NaN where that is not known.
    n_rows : int
        Number of rows that the first model was trained on.
    """

    made: Bools
    kept: Floats
    cost: Floats
    score: Floats
    fates: Floats
    places: Floats
    ranks: Floats
    n_rows: int = 1


class Choice(NamedTuple):
    """The setting that was chosen for a promise.

    Parameters
    ----------
    value, rank : float
        Of the dial, and the share of the accepted rows that fall short of it.
    keep : float
        What can be promised: as much as was asked for, or less.
    rehearsed, low, high : float
        Share of the answers that was kept, over all trials and in the worst and best of them.
    extended : float
        The share that this means for all rows.
    answered, places, cost : float
        Share of the people who were answered; places to which answers lead, as a part of their
        number; mean cost.
    n_effective : float
        The number of independent promises that tell as much as those which were rehearsed.
    """

    value: float
    rank: float
    keep: float
    rehearsed: float
    low: float
    high: float
    extended: float
    answered: float
    places: float
    cost: float
    n_effective: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was kept in u trials, at r rungs.

    Parameters
    ----------
    dial : str
    rungs : (r,) float64
    times : float
        How many times more rows there are than the first models of the trials had.
    n_people : (u,) int64
    made, kept, cost, places, ranks : (u, r) float64
        Number of answers, how many were kept, their cost in all, the places they lead to, and the
        share of the accepted rows that fall short of a rung.
    trial, score, was_kept, fates : (m,) int64, (m,) float64, (m,) float64, (2, m) float64
        Every answer: its trial, its retrained score, and what became of it.
    """

    dial: str
    rungs: Floats
    times: float
    n_people: NDArray[np.int64]
    made: Floats
    kept: Floats
    cost: Floats
    places: Floats
    ranks: Floats
    trial: NDArray[np.int64]
    score: Floats
    was_kept: Floats
    fates: Floats

    @classmethod
    def of(cls, dial: str, rungs: Floats, times: float, played: Sequence[Played]) -> Outcome:
        """Add up trials."""
        trial = np.concatenate([np.full(int(p.made.sum()), k) for k, p in enumerate(played)])
        return cls(
            dial,
            rungs,
            times,
            np.array([p.made.shape[1] for p in played]),
            np.array([p.made.sum(axis=1) for p in played], dtype=np.float64),
            np.array([p.kept.sum(axis=1, where=p.made) for p in played]),
            np.array([np.nansum(p.cost, axis=1, where=p.made) for p in played]),
            np.array([p.places for p in played]),
            np.array([p.ranks for p in played]),
            trial,
            np.concatenate([p.score[p.made] for p in played]),
            np.concatenate([p.kept[p.made] for p in played]),
            np.concatenate([p.fates[:, p.made] for p in played], axis=1),
        )

    @property
    def n_trials(self) -> int:
        """Number of trials."""
        return len(self.n_people)

    @property
    def answered(self) -> Floats:
        """Share of the people who are answered at each rung: (r,)."""
        return np.asarray(self.made.sum(axis=0) / self.n_people.sum())

    @property
    def rank(self) -> Floats:
        """Share of the accepted rows that fall short of each rung, 0 if nobody knows: (r,)."""
        known = np.isfinite(self.ranks)
        return np.asarray(self.ranks.sum(axis=0, where=known) / np.maximum(known.sum(axis=0), 1))

    @property
    def counts(self) -> Bools:
        """At which rungs enough people are answered, and led to different places: (r,) bool."""
        answered = self.answered
        many = answered >= LEAST_ANSWERED * answered.max(initial=0.0)
        apart = self._of_made(self.places) >= LEAST_PLACES
        return np.asarray(many & apart & (answered > 0), dtype=bool)

    def _of_made(self, what: Floats) -> Floats:
        return np.asarray(what.sum(axis=0) / np.maximum(self.made.sum(axis=0), 1))

    @property
    def loss(self) -> Floats:
        """Share of the answers that were not kept at each rung, made to fall: (r,) float64."""
        raw, weight = 1 - self._of_made(self.kept), self.made.sum(axis=0)
        return falling(self.rungs, raw, weight)(self.rungs)

    def extended(self, loss: Floats) -> Floats:
        """Say what a loss on parts of the rows means for all of them: (n,) float64."""
        from scipy.special import ndtr, ndtri  # noqa: PLC0415 - takes long to load

        growth = min(max(self.times, 1.0), MOST_TIMES) ** GROWTH
        return np.asarray(ndtr(growth * ndtri(loss)))

    @property
    def likeness(self) -> float:
        """How alike the fates of answers in one trial are, from 0 to 1, over all rungs.

        The correlation within trials, from how far the numbers that were kept scatter more than
        independent fates would.
        """
        share = self._of_made(self.kept)
        chance = share * (1 - share)
        scatter = (self.kept - self.made * share) ** 2 - self.made * chance
        pairs = self.made * (self.made - 1) * chance
        return float(np.clip(scatter.sum() / max(pairs.sum(), 1e-12), 0.0, 1.0))

    @property
    def n_effective(self) -> Floats:
        """Number of independent promises that tell as much as those at each rung: (r,)."""
        total = np.maximum(self.made.sum(axis=0), 1)
        size = (self.made**2).sum(axis=0) / total
        return np.asarray(total / (1 + np.maximum(size - 1, 0) * self.likeness))

    @property
    def bounded_loss(self) -> Floats:
        """The loss with the correction of conformal risk control, (n·loss + 1) / (n + 1): (r,).

        n is the effective number of promises: answers of one trial are not independent, and
        trials share rows. That all rows are easier makes up for the correction and for no more:
        what is promised was kept in trials.
        """
        n = self.n_effective
        bounded = np.maximum(self.loss, (n * self.extended(self.loss) + 1) / (n + 1))
        return np.where(self.counts, np.minimum.accumulate(bounded), 1.0)

    def choose(self, keep: float) -> Choice:
        """Choose the least robust setting that keeps the promise; else the one that keeps most."""
        bounded, wanted = self.bounded_loss, 1 - keep
        enough = np.flatnonzero(bounded <= wanted)
        if len(enough):
            k = int(enough[0])
            value, promised = float(self.rungs[k]), keep
            if k > 0 and self.counts[k - 1]:
                part = (bounded[k - 1] - wanted) / (bounded[k - 1] - bounded[k])
                value = float(self.rungs[k - 1] + part * (self.rungs[k] - self.rungs[k - 1]))
        else:
            k = int(bounded.argmin())
            value, promised = float(self.rungs[k]), float(np.floor(1000 * (1 - bounded[k])) / 1000)
        in_trials = self.kept[:, k] / np.maximum(self.made[:, k], 1)
        in_trials = in_trials[self.made[:, k] > 0]
        return Choice(
            value,
            float(np.interp(value, self.rungs, self.rank)),
            promised,
            float(self._of_made(self.kept)[k]),
            float(in_trials.min(initial=1.0)),
            float(in_trials.max(initial=0.0)),
            float(1 - self.extended(self.loss)[k]),
            float(self.answered[k]),
            float(self._of_made(self.places)[k]),
            float(self._of_made(self.cost)[k]),
            float(self.n_effective[k]),
        )


def falling(x: Floats, y: Floats, weight: Floats) -> Falling:
    """Fit what falls as x rises, by least squares."""
    from sklearn.isotonic import IsotonicRegression  # noqa: PLC0415 - takes long to load

    has = weight > 0
    fitted = IsotonicRegression(increasing=False, out_of_bounds="clip")
    fitted.fit(x[has], y[has], sample_weight=weight[has])
    return Falling(np.asarray(fitted.X_thresholds_), np.asarray(fitted.y_thresholds_))


class Falling(NamedTuple):
    """A function that falls, linear between its knots."""

    x: Floats
    y: Floats

    def __call__(self, at: Floats) -> Floats:
        """Give its values."""
        return np.interp(at, self.x, self.y)

"""Tests that points must pass: the paper's stability test, and the robustness test of `Frugal`.

A point that is optimised against the stability R of one model keeps R and loses what R stood for.
So `RobustnessTest` asks for three things instead, beside the challengers, models that must accept:

- under retraining: the mean score of retrained models is at least a number, which is given or that
  of a share `level` of the accepted rows. A deviation of some 16 models is known too badly to help:
  at the same validity, answers whose mean lies so many deviations above the threshold cost more;
- under noise: R is at least that of two thirds of the share of accepted rows that fall short of
  this, or of a share `level` where there are no retrained models;
- among applicants: its outlier score is no higher than that of a share `typical` of the accepted
  rows. Who is more unusual already need not become as typical as that.

With fewer than ten accepted rows a rank says little, and the outlier score is not asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Bools, Floats, Ints
from robx.metrics import FittedOutliers, Outliers
from robx.parameters import is_number, require
from robx.problem import Problem, coordinates
from robx.retrained import ModelScores, Panel
from robx.robustness import Noise

Tau = float | Literal["auto"]
OutlierMeasure = Literal["lof", "forest"]

#: The share of the accepted support whose stability "auto" leaves below tau.
QUANTILE = 0.75
#: Of more accepted rows than this, so many spread over them are measured.
MOST_ROWS = 20_000
#: What is asked under noise beside retrained models, as a part of the level. They tell more about
#: retraining than noise does, so answers of the same validity are cheaper for it; but without any
#: noise, answers come to lie just beside the splits that all models share.
BESIDE_MODELS = 2 / 3
#: The local outlier factor as the evaluation takes it.
NEIGHBOURS = 20
#: Of more accepted rows than this, so many spread over them are what outliers are compared with.
MOST_FITTED = 2000
#: What is measured beyond stability, for whoever reads an answer.
TERMS = {
    "retrained_score": "Mean score of the retrained models that helped to find the answer.",
    "outlier_score": "How unusual the answer is among the accepted training rows, by the local "
    "outlier factor or an isolation forest; typical rows score low.",
}
#: Parts of the robustness test: stability, retrained score, outlier score; and the last of them.
N_PARTS = 3
OUTLIERS = 2
#: Fewer accepted rows tell nothing about what is typical.
MIN_ROWS = 10
#: No limit on how many models reject; and what rounding explains in a number of models.
ANY_NUMBER, TINY = 2**31, 1e-9
#: What is known of a row of the support, where anything is.
PASSES, FAILS = 1, 2


class PointTest(Protocol):
    """A condition on points of a problem: they are accepted, and more."""

    @property
    def problem(self) -> Problem:
        """Whose points it is about."""

    @property
    def key(self) -> Hashable:
        """Tells it from other tests of the same problem."""

    @property
    def without_noise(self) -> PointTest | None:
        """The same test without its part about noise; None where that would leave too little."""

    def __call__(self, points: Floats) -> Bools:
        """Tell which points pass: (n,) bool."""


@dataclass(frozen=True, eq=False)
class StabilityTest:
    """The paper's test: a point is accepted, and its stability R is at least tau."""

    problem: Problem
    tau: float
    noise: Noise

    @property
    def key(self) -> Hashable:
        """See `PointTest`."""
        return self.noise.key(self.problem.names), self.tau

    @property
    def without_noise(self) -> None:
        """See `PointTest`."""

    def __call__(self, points: Floats) -> Bools:
        """See `PointTest`."""
        gate = self.problem.gate
        passed = gate.accepts(points)
        if self.tau > -np.inf:
            passed[passed] = gate.passes(points[passed], self.tau, self.noise)
        return passed


@dataclass(frozen=True, eq=False)
class RobustnessTest:
    """A test of points: accepted, stable under noise, robust under retraining, and typical.

    Parameters
    ----------
    stable : StabilityTest
    panel : Panel, optional
        Retrained models.
    min_retrained_score : float
        What their mean score must reach.
    most_rejecting : int
        How many of them may reject.
    challengers : ModelScores, optional
        Models that must accept as well.
    outliers : OutlierScore, optional
    max_outlier_score : float
    is_strict : bool
        Whether nobody is answered without the outlier score.
    """

    stable: StabilityTest
    panel: Panel | None = None
    min_retrained_score: float = -np.inf
    most_rejecting: int = ANY_NUMBER
    challengers: ModelScores | None = None
    outliers: OutlierScore | None = None
    max_outlier_score: float = np.inf
    is_strict: bool = False

    @classmethod
    def at(
        cls,
        problem: Problem,
        noise: Noise,
        level: float,
        *,
        panel: Panel | None = None,
        min_retrained_score: float | None = None,
        min_accepting: float = 0.0,
        challengers: ModelScores | None = None,
        outliers: OutlierScore | None = None,
        typical: float = 1.0,
        max_outlier_score: float | None = None,
    ) -> RobustnessTest:
        """Make the test of a level, or of a retrained score."""
        values, _ = sampled_stability(problem, noise)
        least, share, rejecting = -np.inf, level, ANY_NUMBER
        if panel is not None:
            least = problem.threshold
            rejecting = int(np.floor(len(panel) * (1 - min_accepting) + TINY))
            if len(values):
                of_support = mean_scores_of_support(panel)
                asked = min_retrained_score
                asked = float(np.quantile(of_support, level)) if asked is None else asked
                least = max(least, asked)
                share = BESIDE_MODELS * float((of_support < least).mean())
        tau = float(np.quantile(values, share)) if len(values) else problem.threshold
        most = np.inf
        if outliers is not None:
            most = float(np.quantile(outliers.of_support, typical))
            most = most if max_outlier_score is None else min(most, max_outlier_score)
        is_strict = max_outlier_score is not None
        stable = StabilityTest(problem, tau, noise)
        return cls(stable, panel, least, rejecting, challengers, outliers, most, is_strict)

    @property
    def problem(self) -> Problem:
        """Whose points it is about."""
        return self.stable.problem

    @property
    def key(self) -> Hashable:
        """See `PointTest`."""
        asked = self.min_retrained_score, self.most_rejecting, self.max_outlier_score
        return self.stable.key, self.panel, self.challengers, self.outliers, asked

    @property
    def without_noise(self) -> RobustnessTest | None:
        """See `PointTest`."""
        if self.panel is None:
            return None
        return replace(self, stable=replace(self.stable, tau=-np.inf))

    def __call__(self, points: Floats) -> Bools:
        """Tell which points pass: (n,) bool. What is asked last costs most."""
        passed = self._keeps_models(points, self.problem.gate.accepts(points))
        if self.outliers is not None and self.max_outlier_score < np.inf:
            passed[passed] = self.outliers(points[passed]) <= self.max_outlier_score
        passed[passed] = self.stable(points[passed])
        return passed

    def _keeps_models(self, points: Floats, passed: Bools) -> Bools:
        """Leave of the points that passed those that challengers and retrained models accept."""
        if self.challengers is not None:
            scores = self.challengers.scores(points[passed])
            passed[passed] = (scores > self.problem.threshold).all(axis=0)
        if self.panel is not None:
            passed[passed] = self.panel.mean_scores(points[passed]) >= self.min_retrained_score
            if self.most_rejecting < len(self.panel):
                passed[passed] = self.panel.rejecting(points[passed]) <= self.most_rejecting
        return passed

    @property
    def is_noise_alone(self) -> bool:
        """Whether stability is all that is asked for, as by RobX."""
        return self.panel is None and self.outliers is None and self.challengers is None

    def of_support(self) -> Bools:
        """Tell which accepted rows pass, as they are: (n,) bool.

        Tests that differ in their outlier score alone share the rest.
        """
        memo, rows = self.problem.memo, self.problem.support.rows
        robust = replace(self, outliers=None, max_outlier_score=np.inf)
        passed: Bools = memo.get(("robust rows", robust.key), robust._robust_rows).copy()
        if self.outliers is not None and self.max_outlier_score < np.inf:
            measure, some = self.outliers, rows[passed]
            scores = memo.get(("outlier scores", robust.key, measure), lambda: measure(some))
            passed[passed] = scores <= self.max_outlier_score
        return passed

    def _robust_rows(self) -> Bools:
        """Tell which accepted rows pass all but the outlier score: (n,) bool."""
        rows = self.problem.support.rows
        if len(rows) > MOST_ROWS:
            return self(rows)
        stability, _ = sampled_stability(self.problem, self.stable.noise)
        passed = stability >= self.stable.tau
        if self.panel is not None:
            passed &= mean_scores_of_support(self.panel) >= self.min_retrained_score
            passed &= rejecting_of_support(self.panel) <= self.most_rejecting
        return replace(self, panel=None)._keeps_models(rows, passed)

    def lacks(self, points: Floats) -> Floats:
        """Tell how far accepted points are from passing each part: (n, N_PARTS), 0 where they pass.

        The parts are stability, retrained score and outlier score. What lacks is counted in ranks
        among the accepted rows: 0.2 if a fifth of them lies between the point and what is asked.
        """
        out = np.zeros((len(points), N_PARTS))
        if len(points) == 0:
            return out
        stability = self.problem.gate.stability(points, self.stable.noise).value
        ranks, _ = sampled_stability(self.problem, self.stable.noise)
        out[:, 0] = _lack(stability, self.stable.tau, ranks)
        if self.panel is not None:
            means, of_support = self.panel.mean_scores(points), mean_scores_of_support(self.panel)
            out[:, 1] = _lack(means, self.min_retrained_score, of_support)
            beyond = self.panel.rejecting(points) - self.most_rejecting
            out[:, 1] += np.maximum(beyond, 0) / len(self.panel)
        if self.challengers is not None:
            rejects = self.challengers.scores(points) <= self.problem.threshold
            out[:, 1] += rejects.mean(axis=0)
        if self.outliers is not None:
            score, most = self.outliers(points), self.max_outlier_score
            out[:, OUTLIERS] = _lack(-score, -most, -self.outliers.of_support)
        return out

    def measured(self, points: Floats) -> dict[str, Floats]:
        """Measure what was asked beyond stability, by name: (n,) each."""
        out = {}
        if self.panel is not None:
            out["retrained_score"] = self.panel.mean_scores(points)
        if self.outliers is not None:
            out["outlier_score"] = self.outliers(points)
        return out

    def terms(self) -> dict[str, str]:
        """Say what the names in `measured` mean."""
        return {name: TERMS[name] for name in self.measured(self.problem.support.rows[:0])}

    def words(self) -> str:
        """Say what is asked."""
        parts = [f"R >= {self.stable.tau:.4g}"]
        if self.panel is not None:
            parts.append(
                f"mean score of {len(self.panel)} retrained models >= "
                f"{self.min_retrained_score:.3g}"
            )
            if self.most_rejecting < len(self.panel):
                parts.append(f"accepted by {len(self.panel) - self.most_rejecting} of them")
        if self.challengers is not None:
            n = len(self.challengers)
            parts.append(f"accepted by {n} challenger{'s' if n > 1 else ''}")
        if self.outliers is not None:
            where = "" if self.is_strict else " where achievable"
            parts.append(f"outlier score <= {self.max_outlier_score:.3g}{where}")
        return ", ".join(parts)

    def reason(self, level: float, typical: float) -> str:
        """Say why the test asks for as much as it does."""
        asked, of_noise = [], level
        if self.panel is not None:
            below = mean_scores_of_support(self.panel) < self.min_retrained_score
            share = float(below.mean()) if len(below) else 0.0
            of_noise = BESIDE_MODELS * share
            asked.append(f"as sure under retrained models as {share:.0%} of the accepted rows")
        asked.append(f"as stable under noise as {of_noise:.0%} of the accepted rows")
        said = f"answers are at least {' and '.join(asked)}"
        if self.outliers is not None:
            said += f", with an outlier score no higher than that of {typical:.0%} of them"
        return said


class KnownOutliers(NamedTuple):
    """Local outlier factors of the accepted rows, and the neighbours that they are made of."""

    ids: NDArray[np.intp]
    distances: Floats
    of_support: Floats


class OutlierScore:
    """How much of an outlier points are among the accepted rows: the higher, the less typical.

    Parameters
    ----------
    problem : Problem
    measure : {"lof", "forest"}
        The local outlier factor, where a row is compared with the others; or how early an isolation
        forest cuts a point off.

    Attributes
    ----------
    of_support : (n,) float64
        Scores of the rows that it was fitted on: the accepted ones, or `MOST_FITTED` of them.
    """

    def __init__(
        self, problem: Problem, measure: OutlierMeasure, known: KnownOutliers | None = None
    ) -> None:
        self._problem = problem
        sample = problem.support.rows[spread_over(len(problem.support), MOST_FITTED)]
        rows = coordinates(problem, sample)
        #: The local outlier factor, where that is the measure.
        self.fitted: FittedOutliers | None = None
        self._measure: Callable[[Floats], Any]
        if measure == "forest":
            self._measure = _forest(rows)
        else:
            near = None if known is None else (known.ids, known.distances)
            self.fitted = Outliers(n_neighbors=NEIGHBOURS).fit(rows, near)
            self._measure = self.fitted.factor
        self.of_support = self(sample) if known is None else known.of_support

    @classmethod
    def of(
        cls, problem: Problem, measure: OutlierMeasure, known: KnownOutliers | None = None
    ) -> OutlierScore | None:
        """Return the problem's, made on first use; None where too few rows are accepted.

        `known` is what an earlier process found, and is not searched for again.
        """
        if len(problem.support) < MIN_ROWS:
            return None
        key = ("outlier score", measure)
        made: OutlierScore = problem.memo.get(key, lambda: cls(problem, measure, known))
        return made

    def __call__(self, points: Floats) -> Floats:
        """Measure points: (n,) float64."""
        if len(points) == 0:
            return np.zeros(0)
        return np.asarray(self._measure(coordinates(self._problem, points)))


def _forest(rows: Floats) -> Callable[[Floats], Any]:
    from sklearn.ensemble import IsolationForest  # noqa: PLC0415 - takes long to load

    forest = IsolationForest(random_state=0).fit(rows)
    return lambda places: -forest.score_samples(places)


def _lack(values: Floats, asked: float, of_support: Floats) -> Floats:
    """Count the share of the support between values that are too low and what is asked: (n,)."""
    known = np.sort(of_support)
    rank = np.searchsorted(known, asked) - np.searchsorted(known, values)
    # Also what is just below, or below everything, lacks something.
    return np.where(values >= asked, 0.0, np.maximum(rank, 0.5) / max(len(known), 1))


def mean_scores_of_support(panel: Panel) -> Floats:
    """Mean scores of retrained models for the accepted rows, of many a sample."""
    problem = panel.problem
    rows = problem.support.rows[spread_over(len(problem.support))]
    found: Floats = problem.memo.get(("mean scores", panel), lambda: panel.mean_scores(rows))
    return found


def rejecting_of_support(panel: Panel) -> Ints:
    """Number of retrained models that reject each accepted row, of many a sample."""
    problem = panel.problem
    rows = problem.support.rows[spread_over(len(problem.support))]
    found: Ints = problem.memo.get(("rejecting", panel), lambda: panel.rejecting(rows))
    return found


def tested_rows(test: PointTest) -> NDArray[np.int8]:
    """What is known of each accepted row under a test: 0 nothing yet, `PASSES` or `FAILS`.

    Under a robustness test all of them are tested: what its levels come from is known already.
    """

    def make() -> NDArray[np.int8]:
        if not isinstance(test, RobustnessTest):
            return np.zeros(len(test.problem.support), np.int8)
        return np.where(test.of_support(), np.int8(PASSES), np.int8(FAILS))

    known: NDArray[np.int8] = test.problem.memo.get(("tested rows", test.key), make)
    return known


# --- tau ------------------------------------------------------------------------------------------


def check_tau(tau: Any, owner: str) -> None:
    """Refuse what is neither a finite number nor "auto"."""
    sound = (isinstance(tau, str) and tau == "auto") or is_number(tau)
    require(sound, tau, "tau", owner, "a finite number or 'auto'")


def say_failing(stability: float) -> str:
    """Put R that is too low in words: rounded down, so that it does not look like enough.

    Examples
    --------
    >>> say_failing(0.69996), say_failing(-0.012345), say_failing(0.7)
    ('0.6999', '-0.01235', '0.7')
    """
    exact = Decimal(repr(float(stability)))
    return f"{float(Context(prec=4, rounding=ROUND_FLOOR).plus(exact)):.4g}"


def spread_over(n: int, most: int = MOST_ROWS) -> NDArray[np.intp]:
    """Choose rows to measure, of n: all of them, or a sample spread over them."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(np.intp)


def sampled_stability(problem: Problem, noise: Noise) -> tuple[Floats, str]:
    """Give R of the accepted support, of many rows a sample, and say which rows these are."""
    rows = problem.support.rows
    n = len(rows)
    if n <= MOST_ROWS:
        return problem.stability_of_support(noise).value, f"{n} accepted rows"
    some = spread_over(n)
    key = ("sampled stability", noise.key(problem.names))
    sample: Floats = problem.memo.get(key, lambda: problem.gate.stability(rows[some], noise).value)
    return sample, f"{MOST_ROWS} of {n} accepted rows"


def tau_in_numbers(tau: Tau, problem: Problem, noise: Noise) -> tuple[float, str]:
    """Return tau, and where it comes from in words."""
    if tau != "auto":
        return float(tau), "given"
    values, rows = sampled_stability(problem, noise)
    if len(values) == 0:
        return problem.threshold, "the threshold: no row of the support is accepted"
    return float(np.quantile(values, QUANTILE)), f"the {QUANTILE:.0%} quantile of R over {rows}"

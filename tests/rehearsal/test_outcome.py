from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robx.rehearsal.calibration import Calibration
from robx.rehearsal.dials import rungs
from robx.rehearsal.outcome import Outcome, Played

LADDER = rungs(0.5)


def played(
    share: Any, seed: int, n: int = 20, *, places: float = 1.0, answered: Any = 1.0, luck: float = 0
) -> Played:
    """A trial in which answers are kept with these chances, all of them moved by the same luck."""
    rng = np.random.default_rng(seed)
    r = len(LADDER)
    chance = np.broadcast_to(np.asarray(share, dtype=float), (r,))[:, None]
    chance = np.clip(chance + luck * rng.normal(), 0, 1)
    made = rng.random((r, n)) < np.broadcast_to(np.asarray(answered, dtype=float), (r,))[:, None]
    kept = np.where(made, rng.random((r, n)) < chance, 0.0)
    score = np.broadcast_to(LADDER[:, None], (r, n)).copy()
    fates = (rng.random((2, r, n)) < chance).astype(float)
    cost = np.where(made, LADDER[:, None], np.nan)
    ranks = np.linspace(0.1, 0.9, r)
    return Played(made, kept, cost, score, fates, places * made.sum(axis=1), ranks, n_rows=100)


def outcome(share: Any, n_trials: int = 30, times: float = 1.0, **how: Any) -> Outcome:
    return Outcome.of("tau", LADDER, times, [played(share, k, **how) for k in range(n_trials)])


RISING = np.linspace(0.6, 0.999, len(LADDER))


def test_the_least_robust_setting_that_keeps_the_promise_is_chosen() -> None:
    found = outcome(RISING, 60)
    for keep in (0.7, 0.8, 0.9, 0.95):
        choice = found.choose(keep)
        true = np.interp(choice.value, LADDER, RISING)
        assert choice.keep == keep
        assert keep - 0.03 < true < keep + 0.06
        assert choice.cost >= choice.value - 1e-9  # that of the rung at or above it
    values = [found.choose(keep).value for keep in (0.7, 0.8, 0.9, 0.95)]
    assert values == sorted(values)


def test_what_cannot_be_kept_is_answered_with_the_most_that_can() -> None:
    choice = outcome(0.8).choose(0.95)
    assert 0.7 < choice.keep < 0.85
    assert choice.low < choice.rehearsed < choice.high


def test_rare_failures_are_not_promised_away_by_few_trials() -> None:
    assert outcome(1.0, 1).choose(0.99).keep < 0.99
    assert outcome(1.0, 10).choose(0.99).keep == 0.99


def test_answers_that_fall_together_count_for_less() -> None:
    apart, alike = outcome(RISING, 40), outcome(RISING, 40, luck=0.15)
    assert apart.likeness < 0.02 < alike.likeness
    assert (alike.n_effective < apart.n_effective).all()
    assert (apart.n_effective <= apart.made.sum(axis=0)).all()
    assert alike.choose(0.9).value > apart.choose(0.9).value


def test_a_setting_that_leads_everybody_to_the_same_places_does_not_count() -> None:
    share = np.where(LADDER > 0.9, 1.0, 0.8)
    apart, alike = outcome(share), outcome(share, places=0.1)
    assert apart.choose(0.95).keep == 0.95
    assert not alike.counts.any()
    few = np.where(LADDER > 0.9, 0.1, 1.0)
    crowded = [p._replace(places=few * p.made.sum(axis=1)) for p in (played(share, 0),)]
    assert Outcome.of("tau", LADDER, 1.0, crowded).counts.tolist() == (few == 1).tolist()


def test_a_setting_that_answers_few_does_not_count() -> None:
    answered = np.where(LADDER > 0.9, 0.2, 1.0)
    found = outcome(np.where(LADDER > 0.9, 1.0, 0.8), answered=answered)
    assert found.choose(0.95).keep < 0.9


def test_parts_of_the_rows_are_harder_than_all_of_them() -> None:
    part, whole = outcome(RISING, 60), outcome(RISING, 60, times=2.0)
    assert whole.choose(0.95).value < part.choose(0.95).value
    assert (whole.bounded_loss >= whole.loss).all()
    loss = np.array([0.02, 0.1, 0.3, 0.5])
    assert part.extended(loss) == pytest.approx(loss)
    assert (whole.extended(loss) <= loss).all()
    assert outcome(RISING, 2, times=100.0).extended(loss) == pytest.approx(
        outcome(RISING, 2, times=4.0).extended(loss)
    )


# --- calibration ----------------------------------------------------------------------------------


def test_scores_say_how_often_answers_were_kept() -> None:
    found = Calibration.of(outcome(RISING, 60), 0)
    assert found is not None
    share, low = found.of_scores(LADDER)
    np.testing.assert_allclose(share, RISING, atol=0.06)
    assert (low <= share).all()
    assert (np.diff(share) >= 0).all()
    again = Calibration.from_dict(found.to_dict())
    np.testing.assert_array_equal(again.low, found.low)


def test_a_bound_for_single_answers_is_lower_where_their_fates_are_alike() -> None:
    rng = np.random.default_rng(0)
    trials = []
    for k in range(60):  # an answer is either kept by every model, or by none
        one = played(RISING, k)
        fate = (rng.random(one.made.shape) < RISING[:, None]).astype(float)
        trials.append(one._replace(kept=np.where(one.made, fate, 0), fates=np.array([fate, fate])))
    alike = Calibration.of(Outcome.of("tau", LADDER, 1.0, trials), 0)
    apart = Calibration.of(outcome(RISING, 60), 0)
    assert alike is not None
    assert apart is not None
    assert alike.likeness > 0.8
    assert apart.likeness < 0.2
    assert alike.of_scores(LADDER[6:9])[1].max() < apart.of_scores(LADDER[6:9])[1].min()


def test_nothing_is_calibrated_without_scores() -> None:
    trials = [p._replace(score=np.full_like(p.score, np.nan)) for p in (played(0.9, 0),)]
    assert Calibration.of(Outcome.of("tau", LADDER, 1.0, trials), 0) is None

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import robx
from robx import metrics
from robx.metrics import Resamples, jeffreys
from speed import slow_but

Floats = NDArray[np.float64]
RNG = np.random.default_rng(0)
SIZES = (40, 25, 60)
ANSWERED = [RNG.random(n) < 0.8 for n in SIZES]
BASE = [RNG.random(n) < 0.9 for n in SIZES]
ACCEPTED = [RNG.random((4, n)) < share for n, share in zip(SIZES, (0.6, 0.7, 0.9), strict=True)]


def strictest(ratios: Floats) -> Floats:
    return np.asarray(ratios.min(axis=0))


def end_to_end(ratios: Floats) -> Floats:
    return np.asarray(metrics.end_to_end(ratios[0], ratios[1], ratios[2]))


def naive_interval(
    parts: list[Floats], weights: list[Floats], quantiles: list[float], n_resamples: int
) -> Floats:
    """The two-stage bootstrap, a draw at a time."""
    rng = np.random.default_rng(1)
    means = []
    for _ in range(n_resamples):
        figures = []
        for c in rng.integers(len(parts), size=len(parts)):
            who = rng.integers(len(parts[c]), size=len(parts[c]))
            figures.append((parts[c] * weights[c])[who].sum() / weights[c][who].sum())
        means.append(np.mean(figures))
    return np.asarray(np.quantile(means, quantiles))


def test_pooled_values_are_means_of_the_plain_metrics() -> None:
    resamples = Resamples(SIZES)
    each = [
        (metrics.coverage(a), metrics.base_validity(b[a]), metrics.validity(v[:, a]))
        for a, b, v in zip(ANSWERED, BASE, ACCEPTED, strict=True)
    ]
    worst = [metrics.worst_model_validity(v[:, a]) for a, v in zip(ANSWERED, ACCEPTED, strict=True)]
    three = [
        np.stack([a, b, v.mean(axis=0)]) for a, b, v in zip(ANSWERED, BASE, ACCEPTED, strict=True)
    ]
    below = [np.stack([np.ones(len(a)), a, a]) for a in ANSWERED]
    assert resamples.interval(ANSWERED).value == pytest.approx(np.mean([e[0] for e in each]))
    assert resamples.interval(ACCEPTED, ANSWERED).value == pytest.approx(
        np.mean([e[2] for e in each])
    )
    assert resamples.interval(ACCEPTED, ANSWERED, combine=strictest).value == pytest.approx(
        np.mean(worst)
    )
    assert resamples.interval(three, below, combine=end_to_end).value == pytest.approx(
        np.mean([np.prod(e) for e in each])
    )


def test_ends_are_those_of_a_bootstrap_made_step_by_step() -> None:
    parts = [v.mean(axis=0) for v in ACCEPTED]
    weights = [a.astype(np.float64) for a in ANSWERED]
    found = Resamples(SIZES).interval(parts, weights, level=0.5)
    # For three base models: the normal tail beyond sqrt(3/2) times the t quantile of 2 degrees.
    tail = 0.158667
    low, high = naive_interval(parts, weights, [tail, 1 - tail], 4000)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.01)
    assert high - low > 0.1


def test_one_base_model_gets_plain_percentiles_over_its_applicants() -> None:
    parts = [RNG.random(500)]
    found = Resamples([500]).interval(parts)
    half = 1.96 * parts[0].std() / np.sqrt(500)
    assert found.low == pytest.approx(found.value - half, abs=0.004)
    assert found.high == pytest.approx(found.value + half, abs=0.004)


@pytest.mark.parametrize("n_models", slow_but([5], [5, 10]))
def test_the_interval_holds_the_true_mean_as_often_as_it_says(n_models: int) -> None:
    resamples = Resamples([300] * n_models)
    rng = np.random.default_rng(0)
    held = []
    for _ in range(600):
        validity = rng.beta(13.3125, 4.4375, size=n_models)  # mean .75, standard deviation .10
        _, low, high = resamples.interval([rng.random(300) < share for share in validity])
        held.append(low <= 0.75 <= high)
    # Three standard errors of 600 runs. Plain percentiles hold it in 86 and 92 %.
    assert np.mean(held) == pytest.approx(0.95, abs=0.027)


def test_base_models_that_differ_widen_the_interval() -> None:
    alike = [np.arange(100) < 80] * 4
    apart = [np.arange(100) < kept for kept in (65, 75, 85, 95)]
    narrow, wide = (Resamples([100] * 4).interval(parts) for parts in (alike, apart))
    assert narrow.value == wide.value == 0.8
    assert wide.high - wide.low > 1.3 * (narrow.high - narrow.low)


def test_a_higher_level_reaches_further() -> None:
    ends = [Resamples(SIZES).interval(ANSWERED, level=level) for level in (0.5, 0.8, 0.99)]
    assert ends[2].low < ends[1].low < ends[0].low < ends[0].value
    assert ends[2].high > ends[1].high > ends[0].high > ends[0].value


def test_same_seed_same_bytes_and_another_seed_others() -> None:
    first, again, other = (
        Resamples(SIZES, seed=seed).interval(ACCEPTED, ANSWERED) for seed in (3, 3, 4)
    )
    assert first == again
    assert first.value == other.value
    assert (first.low, first.high) != (other.low, other.high)
    assert (first.low, first.high) == pytest.approx((other.low, other.high), abs=0.03)


def test_what_stands_where_the_weight_is_0_does_not_matter() -> None:
    spoilt = [np.where(a, 2.0, np.nan) for a in ANSWERED]
    assert Resamples(SIZES).interval(spoilt, ANSWERED) == (2.0, 2.0, 2.0)


def test_weights_weigh() -> None:
    assert Resamples([2]).interval([[0.0, 1.0]], [[1.0, 3.0]]).value == 0.75


def test_base_models_without_a_figure_are_left_out() -> None:
    answered = [np.zeros(30), ANSWERED[0], np.zeros(0)]
    parts = [np.ones(30), ACCEPTED[0], np.zeros(0)]
    found = Resamples([30, 40, 0]).interval(parts, answered)
    alone = Resamples([40]).interval(ACCEPTED[:1], ANSWERED[:1])
    assert found.value == alone.value
    assert found == pytest.approx(alone, abs=0.02)


def test_without_any_figure_there_is_no_interval() -> None:
    found = Resamples([3, 0]).interval([np.ones(3), np.ones(0)], [np.zeros(3), np.ones(0)])
    assert np.isnan(found).all()


def test_end_to_end_counts_base_models_that_answer_nobody() -> None:
    three = [np.ones((3, 10)), np.zeros((3, 10))]
    below = [np.ones((3, 10)), np.repeat([[1.0], [0.0], [0.0]], 10, axis=1)]
    assert Resamples([10, 10]).interval(three, below, combine=end_to_end) == (0.5, 0.0, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "needs the size of at least one base model"),
        (([3, -1],), "'sizes' parameter of Resamples must be an integer from 0. Got -1 instead"),
        (([3], 0), "'n_resamples' parameter of Resamples must be an integer from 1. Got 0"),
        (([3], 10, -1), "'seed' parameter of Resamples must be an integer from 0. Got -1"),
        (([3], 10, 0.5), "Got 0.5 instead"),
    ],
)
def test_resamples_of_nothing_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(robx.InvalidInput, match=message):
        Resamples(*arguments)


@pytest.mark.parametrize(
    ("parts", "weights", "options", "message"),
    [
        ([[1.0]], None, {}, "each of the 2 base models. Got 1 and 2"),
        ([[1.0], [1.0, 2.0]], [[1.0]], {}, "Got 2 and 1"),
        ([[1.0], [1.0]], None, {}, r"n = 2 applicants must .* Got shape \(1,\)"),
        ([1.0, [1.0, 2.0]], None, {}, r"n = 1 applicants must .* Got shape \(\)"),
        ([np.empty((0, 1)), [1.0, 2.0]], None, {}, r"Got shape \(0, 1\)"),
        ([[1.0], [1.0, 2.0]], [[1.0], [[1.0, 1.0]]], {}, r"or that of its parts, \(2,\)"),
        ([[1.0], [1.0, 2.0]], [[1.0], [1.0, -1.0]], {}, "finite and not negative"),
        ([[1.0], [1.0, np.nan]], None, {}, "finite where their weight is above 0"),
        ([[1.0], [1.0, 2.0]], None, {"level": 95}, "above 0 and below 1. Got 95 instead"),
        ([[1.0], [1.0, 2.0]], None, {"combine": np.mean}, r"must make \(k,\) figures"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    parts: Any, weights: Any, options: Any, message: str
) -> None:
    with pytest.raises(robx.InvalidInput, match=message):
        Resamples([1, 2]).interval(parts, weights, **options)


@pytest.mark.parametrize(("successes", "n"), [(1, 1), (3, 7), (54, 55), (2.75, 3)])
def test_jeffreys_leaves_the_same_chance_in_both_tails(successes: float, n: int) -> None:
    share, low, high = jeffreys(successes, n, level=0.9)
    posterior = stats.beta(successes + 0.5, n - successes + 0.5)
    assert share == successes / n
    assert posterior.cdf(low) == pytest.approx(0.05)
    assert posterior.cdf(high) == (1.0 if successes == n else pytest.approx(0.95))


def test_jeffreys_of_none_of_none_and_of_nobody() -> None:
    assert jeffreys(0, 9).low == 0.0
    assert jeffreys(0, 9).high > 0.1
    assert np.isnan(jeffreys(0, 0)).all()

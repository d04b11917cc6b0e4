"""What was worked out for all applicants at once, as arrays in a file, and back.

None of it changes an answer: a problem without it works it out again, in seconds instead of
milliseconds. But sums may come out differently on another machine, and draws in another version of
scipy, and then so would answers. So they are kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.methods import Conservative, Frugal, Method, RobX
from robx.methods.point_tests import (
    MOST_FITTED,
    KnownOutliers,
    OutlierScore,
    mean_scores_of_support,
    rejecting_of_support,
    sampled_stability,
    spread_over,
)
from robx.problem import Problem
from robx.retrained import Panel
from robx.robustness import Noise, Stability
from robx.robustness.draws import Draws

Arrays = dict[str, NDArray[Any]]
#: What the arrays are, by their names in the file.
WHAT = {
    "draws": "standard Gaussian draws, shared by all points",
    "stability": "stability of the accepted rows: mean, standard deviation and standard error",
    "sampled_stability": "stability of a sample of the accepted rows",
    "mean_scores": "mean scores of the searching models for the accepted rows",
    "rejecting": "number of searching models that reject each accepted row",
    "neighbours": "nearest accepted rows of each distinct accepted row",
    "distances": "their distances",
    "outlier_scores": "outlier scores of the accepted rows",
}


def noise_of(method: Method) -> Noise:
    """Give the noise with which a method measures stability."""
    noise: Noise = method.noise
    return noise


def collected(problem: Problem, method: Method) -> Arrays:
    """Give what a problem worked out for a method; what is not there yet is worked out now."""
    noise = noise_of(method)
    found: Arrays = {"draws": problem.view.draws(noise).noise}
    if _asks_for_ranks(method):
        values, _ = sampled_stability(problem, noise)
        if len(values) == len(problem.support):
            measured = problem.stability_of_support(noise)
            found["stability"] = np.array([measured.mean, measured.std, measured.error])
        else:
            found["sampled_stability"] = values
    if not isinstance(method, Frugal):
        return found
    if len(method.models):
        panel = Panel.of(problem, method.models)
        found["mean_scores"] = mean_scores_of_support(panel)
        found["rejecting"] = rejecting_of_support(panel).astype(np.float64)
    outliers = None if method.realism is None else OutlierScore.of(problem, method.realism)
    if outliers is not None and outliers.fitted is not None:
        ids, distances = outliers.fitted.neighbours
        found["neighbours"], found["distances"] = ids.astype(np.int32), distances
        found["outlier_scores"] = outliers.of_support
    return found


def stored_draws(method: Method, noise: Floats) -> Draws:
    """Make draws of those in a file, for the noise of a method."""
    kind, seed = noise_of(method).draws, int(noise_of(method).rng or 0)
    noise.flags.writeable = False
    return Draws(kind, seed, noise, hashlib.sha256(noise.tobytes()).hexdigest())


def restore(problem: Problem, method: Method, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Give a problem back what was worked out for it, checked."""
    n, noise = len(problem.support), noise_of(method)
    if "stability" in arrays:
        mean, std, error = _sound(arrays, "stability", (3, n))
        known = Stability(mean, std, error, len(problem.view.draws(noise)))
        problem.memo.get(("stability", noise.key(problem.names)), _given(known))
    if "sampled_stability" in arrays:
        sample = _sound(arrays, "sampled_stability", (len(spread_over(n)),))
        problem.memo.get(("sampled stability", noise.key(problem.names)), _given(sample))
    if not isinstance(method, Frugal):
        return
    if "mean_scores" in arrays:
        panel = Panel.of(problem, method.models)
        means = _sound(arrays, "mean_scores", (len(spread_over(n)),))
        problem.memo.get(("mean scores", panel), _given(means))
    if "rejecting" in arrays:
        panel = Panel.of(problem, method.models)
        counts = _sound(arrays, "rejecting", (len(spread_over(n)),)).astype(np.int64)
        problem.memo.get(("rejecting", panel), _given(counts))
    if "neighbours" in arrays and method.realism == "lof":
        ids, distances = arrays["neighbours"].astype(np.intp), _sound(arrays, "distances")
        scores = _sound(arrays, "outlier_scores", (len(spread_over(n, MOST_FITTED)),))
        OutlierScore.of(problem, "lof", KnownOutliers(ids, distances, scores))


def _asks_for_ranks(method: Method) -> bool:
    by_tau = isinstance(method, RobX | Conservative) and method.tau == "auto"
    return by_tau or isinstance(method, Frugal)


def _sound(
    arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...] | None = None
) -> Floats:
    array = arrays.get(name)
    right = array is not None and (shape is None or array.shape == shape)
    if array is None or not right or not np.isfinite(array).all():
        raise InvalidInput(f"The explainer is damaged: '{name}' is not what it says.")
    return array


def _given(value: Any) -> Callable[[], Any]:
    return lambda: value

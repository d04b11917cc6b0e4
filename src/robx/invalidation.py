"""Theorem 2: a bound on the probability that a retrained model invalidates a counterfactual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from robx.errors import InvalidInput
from robx.methods.point_tests import check_tau
from robx.problem import Problem
from robx.retrained import import_models, scores
from robx.robustness import Noise


@dataclass(frozen=True)
class InvalidationBound:
    """A bound on the probability of invalidation, with its assumptions.

    Parameters
    ----------
    bound : float
        ``V^2 / (V^2 + (tau - threshold)^2)``.
    V : float
        Largest standard deviation of the retrained models' scores at a stable row.
    tau, threshold : float
    n_models, n_rows : int
        Number of models and stable rows that V was estimated from.
    mean_above : float
        Share of these rows at which the models' mean score is above R, as Assumption 1 requires.
    observed : float
        Share of rows and models with a score at or below the threshold.
    """

    bound: float
    V: float
    tau: float
    threshold: float
    n_models: int
    n_rows: int
    mean_above: float
    observed: float

    def __float__(self) -> float:
        return self.bound

    def __str__(self) -> str:
        return (
            f"A retrained model invalidates a conservative counterfactual of R >= {self.tau:.4g} "
            f"with a probability of at most {self.bound:.1%} (Theorem 2), if\n"
            f"  1. its expected score is above R (for the mean of {self.n_models} models, this "
            f"holds at {self.mean_above:.1%} of the {self.n_rows} stable rows);\n"
            f"  2. the standard deviation of its score is at most V = {self.V:.4g} (the largest of "
            "these models at a stable row);\n"
            "  3. it is retrained as these models were.\n"
            "The bound is for single rows of the support. These models reject "
            f"{self.observed:.1%} of the stable rows, on average."
        )


def invalidation_bound(
    problem: Problem,
    models: Sequence[Any],
    tau: float,
    *,
    noise: Noise | None = None,
) -> InvalidationBound:
    """Bound the probability that a retrained model invalidates a counterfactual (Theorem 2).

    The theorem holds for rows of the support with R >= tau, under two assumptions on retraining:
    the expected new score is above R, and its standard deviation is at most V. V is estimated here
    from retrained models; the estimate is better the more of them there are, and the more they
    resemble future models.

    Parameters
    ----------
    problem : Problem
    models : sequence of at least 2 models
        Retrained models, anything that `robx.import_model` takes.
    tau : float
        The minimum stability of the counterfactuals; above the problem's threshold.
    noise : Noise, optional
        How stability is measured.

    Returns
    -------
    InvalidationBound
        The bound with its assumptions; print it to read them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from robx import Problem
    >>> X = np.random.default_rng(0).random((300, 3))
    >>> y = X[:, 0] > 0.5
    >>> fit = lambda rows, seed: RandomForestClassifier(20, random_state=seed).fit(X[rows], y[rows])
    >>> problem = Problem(fit(slice(150), 0), X[:150])
    >>> new = [fit(slice(150, 300), seed) for seed in range(5)]
    >>> result = invalidation_bound(problem, new, tau=0.9)
    >>> bool(result.observed < result.bound < 1)
    True
    """
    check_tau(tau, "invalidation_bound")
    if isinstance(tau, str) or not tau > problem.threshold:
        raise InvalidInput(
            f"Theorem 2 needs a tau above the threshold, {problem.threshold:g}. Got {tau!r}."
        )
    imported = import_models(problem, models)
    if len(imported) < 2:
        raise InvalidInput("A standard deviation needs at least 2 retrained models. Got 1.")
    value = problem.stability_of_support(noise or Noise()).value
    stable = value >= tau
    if not stable.any():
        raise InvalidInput(
            f"No accepted row of the support has a stability of {tau:.4g}; the largest is "
            f"{value.max() if len(value) else float('nan'):.4g}. Lower tau."
        )
    rows = problem.codec.write(problem.support.rows[stable])
    new = scores(imported, rows)
    V = float(new.std(axis=0, ddof=1).max())
    return InvalidationBound(
        bound=V**2 / (V**2 + (tau - problem.threshold) ** 2),
        V=V,
        tau=float(tau),
        threshold=problem.threshold,
        n_models=len(imported),
        n_rows=int(stable.sum()),
        mean_above=float((new.mean(axis=0) > value[stable]).mean()),
        observed=float((new <= problem.threshold).mean()),
    )

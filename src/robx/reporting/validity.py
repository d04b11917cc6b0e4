"""How sure the answers are: from the certificate, from checks of new models, from an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robx.checking import Check
from robx.metrics import Interval, Resamples, jeffreys
from robx.problem import Counterfactuals
from robx.reporting.figures import between, counted, percent, plain

__all__ = ["validity"]

Plain = dict[str, Any]
LEVEL = 0.95


def validity(answers: Counterfactuals, checks: Sequence[Check], evaluation: Any) -> list[Plain]:
    """List every share of answers that holds, with its interval and what it means.

    Parameters
    ----------
    answers : Counterfactuals
    checks : sequence of Check
    evaluation : DataFrame or None
        As `robx.evaluate` gives it.

    Returns
    -------
    list of mappings
        With ``source`` ("certificate", "check" or "evaluation"), ``name``, ``value``, ``low``,
        ``high``, ``level``, what to show of these, and ``words``.
    """
    return [
        *_certified(answers),
        *(_checked(check, k, len(checks)) for k, check in enumerate(checks)),
        *_evaluated(evaluation),
    ]


def _certified(answers: Counterfactuals) -> list[Plain]:
    certificate, ok = answers.certificate, answers.ok
    if certificate is None or not ok.any():
        return []
    k, n = certificate.n_models, int(ok.sum())
    accepting = certificate.accepting[ok]
    by_all = int((accepting == k).sum())
    each = _over_applicants(accepting / k)
    every = jeffreys(by_all, n, LEVEL)
    models = f"{counted(k, 'retrained model')} that had no part in finding the answers"
    about = "speaks of applicants like these and takes the models as they are"
    if by_all == n:
        about = "is that of the answers that all models accept, which it cannot be below"
    return [
        _row(
            "certificate",
            "Accepted by a retrained model",
            each,
            f"Of {models}, {certificate.drawn}: the share that accepts an answer, on average. The "
            f"interval {about}.",
        ),
        _row(
            "certificate",
            f"Accepted by all {k} of them",
            every,
            f"{by_all} of {counted(n, 'answer')}. The interval (Jeffreys) speaks of applicants "
            "like these.",
        ),
    ]


def _over_applicants(shares: Any) -> Interval:
    """Mean share over applicants, with an interval from resampling them.

    Where all models accept all answers, every resample says so too. Then the interval is that of
    the share of answers that all accept, which the mean share cannot be below.
    """
    if (shares == 1).all():
        return jeffreys(len(shares), len(shares), LEVEL)
    return Resamples([len(shares)]).interval([shares], level=LEVEL)


def _checked(check: Check, place: int, n: int) -> Plain:
    name = "Kept by the new model" + (f" {place + 1}" if n > 1 else "")
    interval = Interval(check.share, check.low, check.high)
    return _row("check", name, interval, check.words, check.confidence)


def _evaluated(evaluation: Any) -> list[Plain]:
    if evaluation is None:
        return []
    pooled = evaluation[evaluation["seed"].astype(str) == "all"]
    found = []
    for (method, scenario), rows in pooled.groupby(["method", "scenario"], sort=False):
        figures = {row.metric: Interval(row.value, row.low, row.high) for row in rows.itertuples()}
        if "validity" in figures:
            name = f"{method}, {scenario}"
            found.append(_row("evaluation", name, figures["validity"], _trial(figures)))
    return found


def _trial(figures: dict[str, Interval]) -> str:
    """Say how many a method answered in a trial, and at which cost."""
    words = "In a trial"
    if {"n_answered", "n_applicants"} <= set(figures):
        asked = counted(int(figures["n_applicants"].value), "applicant")
        words += f": {int(figures['n_answered'].value):,} of {asked} answered"
    if "cost_l1" in figures and np.isfinite(figures["cost_l1"].value):
        words += f", at a mean L1 cost of {figures['cost_l1'].value:.2f}"
    return f"{words}."


def _row(source: str, name: str, interval: Interval, words: str, level: float = LEVEL) -> Plain:
    value, low, high = map(plain, interval)
    return {
        "source": source,
        "name": name,
        "value": value,
        "low": low,
        "high": high,
        "level": level,
        "said": percent(value),
        "between": between(low, high),
        "words": words,
    }

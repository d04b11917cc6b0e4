"""How reliable the answers are: by the certificate, checks of new models, and an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robx.answers import Counterfactuals
from robx.metrics import Interval, jeffreys, percent
from robx.promises import Check
from robx.promises.sentences import NEW
from robx.reports.figures import between, counted, plain
from robx.reports.settings import about_model

Plain = dict[str, Any]
LEVEL = 0.95
#: Resamples that are all the same are not a sign of certainty.
SAME = "no interval: all resamples are the same"


def validity(answers: Counterfactuals, checks: Sequence[Check], evaluation: Any) -> list[Plain]:
    """List every share of answers that hold, with its interval and what it means.

    Each has a ``source`` ("certificate", "check" or "evaluation"), ``name``, ``value``, ``low``,
    ``high``, ``level``, what to show of these, ``words``, and the ``model`` that was checked, with
    its ``file``.
    """
    return [
        *_certified(answers),
        *(_checked(check, k, len(checks)) for k, check in enumerate(checks)),
        *_evaluated(evaluation),
    ]


def about_validity(answers: Counterfactuals, rows: list[Plain], evaluation: Any) -> list[str]:
    """Say how to read the rows, or why there are none."""
    said = []
    if answers.certificate is not None and not answers.ok.any():
        said.append("No answer passed every test, so there is nothing to certify.")
    elif not rows and evaluation is not None:
        said.append("The evaluation has no validity to show.")
    elif not rows:
        said.append(
            "Nothing was measured: no retrained model scored the answers, and they were not "
            "checked against a new model."
        )
    if rows:
        said.append(f"The level of the intervals is {100 * LEVEL:g}% unless stated otherwise.")
    return said


def _certified(answers: Counterfactuals) -> list[Plain]:
    certificate, ok = answers.certificate, answers.ok
    if certificate is None or not ok.any():
        return []
    k, n = certificate.n_models, int(ok.sum())
    accepting = certificate.accepting[ok]
    by_all = int((accepting == k).sum())
    like = "The interval (Jeffreys) is for applicants like these."
    wide = (
        " It is wide on purpose: an answer that half of the models accept counts as half a success."
    )
    rows = [
        _row(
            "certificate",
            "Accepted by a retrained model",
            jeffreys(float(accepting.sum() / k), n, LEVEL),
            f"Average over the answers. {counted(k, 'retrained model')}, {certificate.drawn}, had "
            f"no part in finding the answers and scored each of them. {like}{wide * (k > 1)}",
        ),
        _row(
            "certificate",
            f"Accepted by all {k} retrained models",
            jeffreys(by_all, n, LEVEL),
            f"{by_all} of {counted(n, 'answer')}. {like}",
        ),
    ]
    return rows if k > 1 else rows[:1]  # of one model both are the same


def _checked(check: Check, place: int, n: int) -> Plain:
    own = f"new model {place + 1}" if n > 1 else NEW
    own += f" ({check.name})" if check.name else ""
    # Of the model that the answers were issued under, a share is no evidence.
    shown = check.is_evidence or not check.promised.any()
    interval = Interval(*((check.share, check.low, check.high) if shown else (np.nan,) * 3))
    row = _row("check", f"Kept by {own}", interval, check.say(own), check.confidence)
    return {**row, "model": about_model(check.model), "file": check.name}


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
    """Say how many applicants a method answered in a trial, and at which cost."""
    words = "In a trial"
    if {"n_answered", "n_applicants"} <= set(figures):
        asked = counted(int(figures["n_applicants"].value), "applicant")
        words += f": {int(figures['n_answered'].value):,} of {asked} answered"
    if "cost_l1" in figures and np.isfinite(figures["cost_l1"].value):
        words += f", at a mean L1 cost of {figures['cost_l1'].value:.2f}"
    return f"{words}."


def _row(source: str, name: str, interval: Interval, words: str, level: float = LEVEL) -> Plain:
    value, low, high = map(plain, interval)
    shown = SAME if low is not None and low == high else between(low, high)
    figures = {"value": value, "low": low, "high": high, "level": level}
    said = {"said": percent(value), "between": shown, "words": words, "model": "", "file": ""}
    return {"source": source, "name": name, **figures, **said}

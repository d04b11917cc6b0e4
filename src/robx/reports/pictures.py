"""The tables behind the pictures, as plain values; `renderers.pictures` draws them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from robx import plots
from robx.answers import Counterfactuals
from robx.answers.flat_table import applicant_ids
from robx.plots.distributions import bin_table
from robx.reports.figures import counted, plain
from robx.reports.settings import tau_of

Plain = dict[str, Any]


def picture_tables(answers: Counterfactuals, evaluation: Any, stability: Any) -> list[Plain]:
    """Make a table for every picture that has something to show.

    Each has a ``kind``, a ``title``, ``words`` on how to read it, and ``rows``; some a ``tau``.
    Where a row of `rows` has no finite number, it has None. Of histograms the bars are kept.
    """
    found = []
    if answers.answered.any():
        found.append(_asked(answers))
    if answers.ok.any():
        found += [_measured(answers), _example(answers)]
    if stability is not None and len(stability):
        found.append(_support(answers, stability))
    if evaluation is not None:
        found += _frontiers(evaluation)
    return found


def _asked(answers: Counterfactuals) -> Plain:
    return {
        "kind": "asked",
        "title": "Most frequent changes",
        "words": "Share of the applicants with an answer, the best found included, who are asked "
        "to change a feature.",
        "rows": records(plots.asked_table(answers)),
    }


def _example(answers: Counterfactuals) -> Plain:
    """Show an answer of median cost: neither the easiest nor the hardest."""
    ok = np.flatnonzero(answers.ok)
    i = int(ok[np.argsort(answers.cost[ok], kind="stable")[(len(ok) - 1) // 2]])
    name = str(list(applicant_ids(answers))[i])
    return {
        "kind": "example",
        "title": f"A typical (median-cost) answer: applicant {name}",
        "words": "The values that change, before and after.",
        "applicant": name,
        "changes": list(answers.changes[i]),
        "rows": records(plots.change_table(answers, i)),
    }


def _measured(answers: Counterfactuals) -> Plain:
    tau = tau_of(answers)
    table = pd.DataFrame({"score": answers.score, "stability": answers.stability})[answers.ok]
    tested = "" if tau is None else f" The stability had to reach tau = {tau:.3g}."
    return {
        "kind": "answers",
        "title": "Score and stability of the answers",
        "words": f"Distribution over {counted(len(table), 'full answer')}.{tested}",
        "tau": tau,
        "rows": records(bin_table(table, tau)),
    }


def _support(answers: Counterfactuals, stability: Any) -> Plain:
    tau = tau_of(answers)
    return {
        "kind": "support",
        "title": "Stability of the training rows",
        "words": f"Distributions over {counted(len(stability), 'row')}.",
        "tau": tau,
        "rows": records(bin_table(stability, tau)),
    }


def _frontiers(evaluation: Any) -> list[Plain]:
    table = plots.frontier_table(evaluation)
    return [
        {
            "kind": "frontier",
            "title": f"What robustness costs: {scenario}",
            "words": "Mean cost, and share of the answers that new models accept, in a trial.",
            "rows": records(rows),
        }
        for scenario, rows in table.groupby("scenario", sort=False)
    ]


def records(table: pd.DataFrame) -> list[Plain]:
    """Give the rows of a table as plain values, None for what is missing."""
    rows = table.to_dict("records")
    return [{str(name): plain(value) for name, value in row.items()} for row in rows]

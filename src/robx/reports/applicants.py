"""A row for each applicant, and what the answers ask for on the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robx.answers import Counterfactuals, Status
from robx.answers.flat_table import applicant_ids
from robx.answers.status import ANSWERED
from robx.promises import Check
from robx.reports.figures import counted, number, plain
from robx.reports.outcomes import OUTCOMES, ends, outcome_of
from robx.reports.settings import about_stability

Plain = dict[str, Any]

#: What a cost is, by norm.
UNITS = {
    1: "the sum of all changes, each in its feature's unit of cost",
    2: "the length of the change, with each feature in its unit of cost",
}


def applicant_rows(answers: Counterfactuals, checks: Sequence[Check]) -> list[Plain]:
    """Give a row for each applicant: answered ones first, in the order of the applicants.

    ``kept`` says for each check whether the new model accepts the answer.
    """
    named = zip(applicant_ids(answers), _answers(answers), strict=True)
    rows = [{"applicant": str(name), **row} for name, row in named]
    others = [_answers(other) for other in answers.alternatives]
    for i, row in enumerate(rows):
        row["alternatives"] = [other[i] for other in others if other[i]["n_changes"] is not None]
        row["kept"] = [bool(one.kept[i]) for one in checks] if row["n_changes"] is not None else []
        row["kept_said"] = _kept(row["kept"])
    places = {status: place for place, status in enumerate(OUTCOMES)}
    before = places["already accepted"] - 0.5
    return sorted(rows, key=lambda row: places.get(row["status"], before))


def _kept(kept: list[bool]) -> str:
    if len(kept) <= 1:
        return "".join("kept" if one else "lost" for one in kept)
    return f"{sum(kept)} of {len(kept)}"


def _answers(answers: Counterfactuals) -> list[Plain]:
    """Describe each answer, with what was measured of it."""
    certificate = answers.certificate
    certified: list[tuple[int | None, float | None]] = [(None, None)] * len(answers)
    if certificate is not None:
        counts = zip(certificate.accepting, certificate.bound, certificate.covers, strict=True)
        certified = [(int(m), plain(bound)) if has else (None, None) for m, bound, has in counts]
    n_models = None if certificate is None else certificate.n_models
    rows = []
    for i, (end, changes) in enumerate(zip(ends(answers), answers.changes, strict=True)):
        answered = end in ANSWERED
        scored = answered or end == Status.ACCEPTED
        accepting, bound = certified[i]
        row = {
            "status": end,
            "outcome": outcome_of(end).label,
            "changes": list(changes),
            "reason": answers.reason[i],
            "n_changes": int(answers.n_changes[i]) if answered else None,
            "cost": plain(answers.cost[i]) if answered else None,
            "score": plain(answers.score[i]) if scored else None,
            "stability": plain(answers.stability[i]) if scored else None,
            "measured": {n: plain(v[i]) for n, v in answers.measured.items() if answered},
            "accepting": accepting,
            "validity_bound": bound,
        }
        rows.append({**row, "said": _said(row, n_models)})
    return rows


def _said(row: Plain, n_models: int | None) -> str:
    """Describe an answer in one line."""
    if row["n_changes"] is None:
        return ""
    parts = [row["outcome"], f"cost {number(row['cost'])}", f"score {number(row['score'])}"]
    if row["accepting"] is not None:
        models = counted(n_models or 0, "retrained model")
        parts.append(f"accepted by {row['accepting']} of {models}")
    return ", ".join(parts)


def about_rows(answers: Counterfactuals) -> list[str]:
    """Say how to read the rows."""
    said = [f"Cost is {UNITS[answers.norm]}. Score and stability are those of the answer."]
    said[0] += about_stability(answers)
    certificate = answers.certificate
    if certificate is not None:
        models = f"how many of {certificate.n_models} retrained models accept"
        if certificate.n_models == 1:
            models = "whether (1) or not (0) the retrained model accepts"
        said.append(
            f"The column for retrained models says {models} the answer, and the minimum share of "
            f"such models that will, with {100 * certificate.confidence:g}% confidence."
        )
    return said


def asked_of_people(answers: Counterfactuals) -> Plain:
    """Summarize what full answers ask for: cost and number of changes, mean and quartiles."""
    return {
        "norm": int(answers.norm),
        "cost": _spread(answers.cost[answers.ok]),
        "n_changes": _spread(answers.n_changes[answers.ok]),
    }


def _spread(values: Any) -> Plain:
    if len(values) == 0:
        return dict.fromkeys(("mean", "quarter", "median", "three_quarters", "most"))
    names = ("quarter", "median", "three_quarters", "most")
    found = zip(names, np.quantile(values, [0.25, 0.5, 0.75, 1]), strict=True)
    return {"mean": plain(np.mean(values)), **{name: plain(value) for name, value in found}}

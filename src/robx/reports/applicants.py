"""What came of each applicant, and of all of them: rows, outcomes, reasons, what is asked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from robx.answers import Counterfactuals, Status
from robx.answers.flat_table import applicant_ids
from robx.answers.status import ANSWERED
from robx.promises import Check
from robx.reports.figures import counted, number, plain
from robx.reports.settings import asked_for

Plain = dict[str, Any]

#: An end of its own here: whom the model cannot read, it neither accepts nor declines.
UNREADABLE = "unreadable"
#: What each status is called here, in the order of the tables.
OUTCOMES = {
    str(Status.OK): "Answered",
    str(Status.UNSTABLE): "Best found",
    str(Status.INFEASIBLE): "Not feasible",
    str(Status.BUDGET): "Gave up",
    UNREADABLE: "Not readable",
    str(Status.ACCEPTED): "Already accepted",
}
MEANINGS = {
    Status.INFEASIBLE: "The search ended without a change that keeps the rules.",
    Status.BUDGET: "The search used up its budget; a longer one may find an answer.",
    UNREADABLE: "The model takes no such row, so it neither accepts nor declines them. They are "
    "in no percentage.",
    Status.ACCEPTED: "The model accepts them as they are.",
}
#: How a cost is reckoned, by norm.
UNITS = {
    1: "the sum of all changes, each in its feature's unit of cost",
    2: "the length of the change, with each feature in its unit of cost",
}
#: Groups of reasons to name, and obstacles to name in each.
MOST_REASONS = 10
MOST_OBSTACLES = 8
#: Where a reason goes on to name what stands in the way, and what parts these names.
KEEPING = " once it keeps "
COMMA = re.compile(r", (?![^(]*\))")


def ends(answers: Counterfactuals) -> list[str]:
    """Give how it ended for each applicant: a key of `OUTCOMES`."""
    pairs = zip(answers.status, np.isnan(answers.score), strict=True)
    return [
        UNREADABLE if status == Status.INFEASIBLE and no_score else str(status)
        for status, no_score in pairs
    ]


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
    return sorted(rows, key=lambda row: places[row["status"]])


def _kept(kept: list[bool]) -> str:
    if len(kept) <= 1:
        return "".join("kept" if one else "lost" for one in kept)
    return f"{sum(kept)} of {len(kept)}"


def _answers(answers: Counterfactuals) -> list[Plain]:
    """Say of each answer what it is and how it was measured."""
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
            "outcome": OUTCOMES[end],
            "changes": list(changes),
            "reason": answers.reason[i],
            "n_changes": int(answers.n_changes[i]) if answered else None,
            "cost": plain(answers.cost[i]) if answered else None,
            "score": plain(answers.score[i]) if scored else None,
            "stability": plain(answers.stability[i]) if scored else None,
            "measured": {name: plain(values[i]) for name, values in answers.measured.items()}
            if answered
            else {},
            "accepting": accepting,
            "validity_bound": bound,
        }
        rows.append({**row, "said": _said(row, n_models)})
    return rows


def _said(row: Plain, n_models: int | None) -> str:
    """Say in one line how an answer fares."""
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
    certificate = answers.certificate
    if certificate is not None:
        models = f"how many of {certificate.n_models} retrained models accept"
        if certificate.n_models == 1:
            models = "whether (1) or not (0) the retrained model accepts"
        said.append(
            f"Retrained says {models} it; with it stands the least "
            f"share of such models that will, with {100 * certificate.confidence:g}% confidence."
        )
    return said


def outcomes(answers: Counterfactuals) -> list[Plain]:
    """Count how the searches ended."""
    counts = Counter(ends(answers))
    meanings = {**MEANINGS, **_meanings(answers)}
    return [
        {
            "status": status,
            "outcome": label,
            "people": counts[status],
            "meaning": meanings[status],
        }
        for status, label in OUTCOMES.items()
        if counts[status] or status != UNREADABLE
    ]


def _meanings(answers: Counterfactuals) -> dict[str, str]:
    """Say what an answer means, which depends on what was asked of it."""
    full = "A change was found that the model accepts and that keeps every rule. "
    full += (
        "It passed every test that was asked of it."
        if asked_for(answers)
        else "The method asks for no more than that."
    )
    best = "The model accepts this change today, but it did not pass every test that was asked of "
    best += "it. "
    if answers.certificate is None:
        best += "A retrained model may well decline it. "
    return {Status.OK: full, Status.UNSTABLE: f"{best}No promise should rest on it."}


def reasons(answers: Counterfactuals) -> list[Plain]:
    """Group the reasons of those without a full answer, most frequent first.

    What a reason adds for the single person, behind a semicolon, is left out; where it names
    what stands in the way, these obstacles are counted.
    """
    groups: Counter[tuple[str, str]] = Counter()
    obstacles: dict[tuple[str, str], Counter[str]] = {}
    for status, reason in zip(ends(answers), answers.reason, strict=True):
        if not reason:
            continue
        words, _, names = reason.split("; ")[0].partition(KEEPING)
        group = (status, words + (f"{KEEPING}the rules" if names else ""))
        groups[group] += 1
        obstacles.setdefault(group, Counter()).update(COMMA.split(names) if names else ())
    return [
        {
            "status": group[0],
            "outcome": OUTCOMES[group[0]],
            "reason": group[1],
            "people": people,
            "obstacles": [
                {"what": what, "people": count}
                for what, count in obstacles[group].most_common(MOST_OBSTACLES)
            ],
        }
        for group, people in groups.most_common(MOST_REASONS)
    ]


def asked_of_people(answers: Counterfactuals) -> Plain:
    """Say what the full answers ask for: cost and number of changes, mean and middle half."""
    return {
        "norm": int(answers.norm),
        "cost": _spread(answers.cost[answers.ok]),
        "n_changes": _spread(answers.n_changes[answers.ok]),
    }


def _spread(values: Any) -> Plain:
    if len(values) == 0:
        return dict.fromkeys(("mean", "quarter", "median", "three_quarters", "most"))
    quarter, median, three = np.quantile(values, [0.25, 0.5, 0.75])
    return {
        "mean": plain(np.mean(values)),
        "quarter": plain(quarter),
        "median": plain(median),
        "three_quarters": plain(three),
        "most": plain(np.max(values)),
    }

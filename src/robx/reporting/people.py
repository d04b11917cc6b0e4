"""What came of each applicant, and of all of them: rows, outcomes, reasons, what is asked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from robx.checking import Check
from robx.problem import Counterfactuals, Status
from robx.problem.flat import applicant_ids
from robx.problem.status import ANSWERED
from robx.reporting.figures import plain

__all__ = ["OUTCOMES", "applicant_rows", "asked_of_people", "outcomes", "reasons"]

Plain = dict[str, Any]

#: What each status is called here, in the order of the tables, and what it means.
OUTCOMES = {
    Status.OK: "Answered",
    Status.UNSTABLE: "Best found",
    Status.INFEASIBLE: "Not feasible",
    Status.BUDGET: "Gave up",
    Status.ACCEPTED: "Already accepted",
}
MEANINGS = {
    Status.OK: "A change was found that keeps every rule and passes every test of the method.",
    Status.UNSTABLE: "The model accepts this change today, but it did not pass the test of "
    "stability: a retrained model may well decline it. No promise should rest on it.",
    Status.INFEASIBLE: "The search ended without a change that keeps the rules.",
    Status.BUDGET: "The search used up its budget; a longer one may find an answer.",
    Status.ACCEPTED: "The model accepts them as they are.",
}
#: Groups of reasons to name, and obstacles to name in each.
MOST_REASONS = 10
MOST_OBSTACLES = 8
#: Where a reason goes on to name what stands in the way, and what parts these names.
KEEPING = " once it keeps "
COMMA = re.compile(r", (?![^(]*\))")


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
    places = {str(status): place for place, status in enumerate(OUTCOMES)}
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
    rows = []
    for i, (status, changes) in enumerate(zip(answers.status, answers.changes, strict=True)):
        answered = status in ANSWERED
        scored = answered or status == Status.ACCEPTED
        accepting, bound = certified[i]
        rows.append(
            {
                "status": str(status),
                "outcome": OUTCOMES[status],
                "changes": list(changes),
                "reason": answers.reason[i],
                "n_changes": int(answers.n_changes[i]) if answered else None,
                "cost": plain(answers.cost[i]) if answered else None,
                "score": plain(answers.score[i]) if scored else None,
                "stability": plain(answers.stability[i]) if scored else None,
                "accepting": accepting,
                "validity_bound": bound,
            }
        )
    return rows


def outcomes(answers: Counterfactuals) -> list[Plain]:
    """Count how the searches ended."""
    return [
        {
            "status": str(status),
            "outcome": label,
            "people": int((answers.status == status).sum()),
            "meaning": MEANINGS[status],
        }
        for status, label in OUTCOMES.items()
    ]


def reasons(answers: Counterfactuals) -> list[Plain]:
    """Group the reasons of those without a full answer, most frequent first.

    What a reason adds for the single person, behind a semicolon, is left out; where it names
    what stands in the way, these obstacles are counted.
    """
    groups: Counter[tuple[str, str]] = Counter()
    obstacles: dict[tuple[str, str], Counter[str]] = {}
    for status, reason in zip(answers.status, answers.reason, strict=True):
        if not reason:
            continue
        words, _, names = reason.split("; ")[0].partition(KEEPING)
        group = (str(status), words + (f"{KEEPING}the rules" if names else ""))
        groups[group] += 1
        obstacles.setdefault(group, Counter()).update(COMMA.split(names) if names else ())
    return [
        {
            "status": group[0],
            "outcome": OUTCOMES[Status(group[0])],
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

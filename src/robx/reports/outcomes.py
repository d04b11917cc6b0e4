"""How the searches ended: the words for each status, counts of them, and reasons."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from robx.answers import Counterfactuals, Status
from robx.reports.settings import n_tests

Plain = dict[str, Any]

#: An outcome of its own here: whom the model cannot read, it neither accepts nor declines.
UNREADABLE = "unreadable"


class Outcome(NamedTuple):
    """What a status is called, what it means, and what the first lines say of those who have it.

    `tone` is the class of its colour in `report.css`.
    """

    label: str
    tone: int
    meaning: str
    sentence: str = ""


#: By the value of the status, in the order of the tables. Others come before `UNREADABLE`.
OUTCOMES = {
    "ok": Outcome("Answered", 0, "A change was found that the model accepts."),
    "unstable": Outcome(
        "Best found",
        1,
        "The model accepts this change today, but it does not pass every test.",
        "the best change that was found is accepted today but does not pass every test: do not "
        "promise it.",
    ),
    "infeasible": Outcome(
        "Not feasible",
        2,
        "No change was found that the schema allows.",
        "no change was found that the schema allows.",
    ),
    "nothing found": Outcome(
        "Nothing found",
        6,
        "The search looked at everything that it can; a longer search will not help.",
        "nothing was found, and a longer search will not help.",
    ),
    "precluded": Outcome(
        "Precluded",
        7,
        "It is proved that no change that the schema allows is accepted by this model.",
        "it is proved that no change that the schema allows is accepted by this model.",
    ),
    "budget used up": Outcome(
        "Budget used up",
        3,
        "The search used up its budget; a longer search may find an answer.",
        "the search used up its budget; a longer search may find an answer.",
    ),
    UNREADABLE: Outcome(
        "Not readable",
        4,
        "The model cannot read their data, so it neither accepts nor declines them. No percentage "
        "includes them.",
    ),
    "already accepted": Outcome("Already accepted", 5, "The model accepts them as they are."),
}
#: Outcomes that are listed also where nobody has them.
USUAL = ("ok", "unstable", "infeasible", "budget used up", "already accepted")
#: Groups of reasons to name, and obstacles to name in each.
MOST_REASONS = 10
MOST_OBSTACLES = 8


def outcome_of(status: str) -> Outcome:
    """Give the words for a status, also for one that is not known here.

    Examples
    --------
    >>> outcome_of("budget used up").meaning
    'The search used up its budget; a longer search may find an answer.'
    >>> outcome_of("interrupted").label
    'Interrupted'
    """
    said = f"the search ended with the status '{status}'."
    return OUTCOMES.get(status) or Outcome(status.capitalize(), 6, f"T{said[1:]}", said)


def in_order(statuses: Counter[str]) -> list[str]:
    """Put the statuses that occur, and the usual ones, into the order of the tables."""
    found = {status for status, count in statuses.items() if count} | set(USUAL)
    order = list(OUTCOMES)
    new = sorted(found - set(order))
    place = order.index(UNREADABLE)
    return [status for status in (*order[:place], *new, *order[place:]) if status in found]


def ends(answers: Counterfactuals) -> list[str]:
    """Give the outcome for each applicant: a status, or `UNREADABLE`."""
    pairs = zip(answers.status, np.isnan(answers.score), strict=True)
    return [
        UNREADABLE if status == Status.INFEASIBLE and no_score else str(status)
        for status, no_score in pairs
    ]


def outcomes(answers: Counterfactuals) -> list[Plain]:
    """Count how the searches ended."""
    counts = Counter(ends(answers))
    more = _more(answers)
    return [
        {
            "status": status,
            "outcome": outcome_of(status).label,
            "people": counts[status],
            "meaning": outcome_of(status).meaning + more.get(status, ""),
        }
        for status in in_order(counts)
    ]


def _more(answers: Counterfactuals) -> dict[str, str]:
    """Say what an answer means, which depends on how it was tested."""
    tested = " It passes every test." if n_tests(answers) else " The method has no further test."
    certain = "" if answers.certificate is not None else " A retrained model may well decline it."
    return {"ok": tested, "unstable": f"{certain} Do not promise it."}


def rest(counts: dict[str, int]) -> list[str]:
    """Say what became of applicants without a full answer."""
    return [
        f"For {count:,}, {outcome_of(status).sentence}"
        for status, count in counts.items()
        if count and outcome_of(status).sentence
    ]


def reasons(answers: Counterfactuals) -> list[Plain]:
    """Group the reasons of those without a full answer, most frequent first.

    What a reason adds for a single applicant, behind a semicolon, is left out; where it names
    what stands in the way, these obstacles are counted.
    """
    groups: Counter[tuple[str, str]] = Counter()
    obstacles: dict[tuple[str, str], Counter[str]] = {}
    known = len(answers.obstacles) == len(answers)
    stated = answers.obstacles if known else ((),) * len(answers)
    for status, reason, names in zip(ends(answers), answers.reason, stated, strict=True):
        if not reason:
            continue
        words = f"{reason.removesuffix(', '.join(names))}the rules" if names else reason
        group = (status, words.split("; ")[0])
        groups[group] += 1
        obstacles.setdefault(group, Counter()).update(names)
    return [
        {
            "status": group[0],
            "outcome": outcome_of(group[0]).label,
            "reason": group[1],
            "people": people,
            "obstacles": [
                {"what": what, "people": count}
                for what, count in obstacles[group].most_common(MOST_OBSTACLES)
            ],
        }
        for group, people in groups.most_common(MOST_REASONS)
    ]

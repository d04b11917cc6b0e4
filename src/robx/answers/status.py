"""`Status`: how a search for one applicant ended."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """How the search for one applicant ended.

    Examples
    --------
    >>> Status.OK == "ok"
    True
    """

    OK = "ok"
    ACCEPTED = "already accepted"
    INFEASIBLE = "infeasible"
    UNSTABLE = "unstable"
    BUDGET = "budget used up"


#: With these there is an answer.
ANSWERED = frozenset({Status.OK, Status.UNSTABLE})

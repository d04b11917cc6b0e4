"""`Status`: how a search for one applicant ended."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Status(StrEnum):
    """How the search for one applicant ended.

    - ``OK``: there is an answer that keeps every promise.
    - ``ACCEPTED``: the model accepts the applicant as they are.
    - ``UNSTABLE``: the answer is the best that was found, and does not pass the robustness test.
    - ``PRECLUDED``: it is proved that the model accepts no point that the schema allows, within
      what was seen in training.
    - ``INFEASIBLE``: the row cannot be answered, or the rules for this applicant rule out all that
      the method knows. Another method may find an answer.
    - ``NOT_FOUND``: the method looked at all that it looks at. A longer search does not help;
      other parameters or another method may.
    - ``BUDGET``: the budget was used up. A longer search may help.

    Examples
    --------
    >>> Status.OK == "ok"
    True
    """

    OK = "ok"
    ACCEPTED = "already accepted"
    PRECLUDED = "precluded"
    INFEASIBLE = "infeasible"
    UNSTABLE = "unstable"
    NOT_FOUND = "nothing found"
    BUDGET = "budget used up"


#: With these there is an answer.
ANSWERED = frozenset({Status.OK, Status.UNSTABLE})


def is_ok(status: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which of n statuses are `OK`: (n,) bool."""
    return np.asarray(status == Status.OK, dtype=bool)


def is_answered(status: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell with which of n statuses there is an answer: (n,) bool."""
    return np.asarray(is_ok(status) | (status == Status.UNSTABLE), dtype=bool)

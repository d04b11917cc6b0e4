"""Why a cell is not as wanted: each has one of a few reasons, told in ``docs/reproduction.md``."""

from __future__ import annotations

import math

from experiments.checks import Check
from experiments.spec import base_of

__all__ = ["REASONS", "reason"]

#: Each reason's heading in ``docs/reproduction.md``.
REASONS = {
    "out-of-reach": "No training row reaches the paper's tau",
    "no-answer": "Nobody reaches the score that was asked for",
    "scaled-tau": "Under standard scaling the paper's tau asks for little",
    "face": "Our FACE ends near the applicant",
    "focus": "Our FOCUS ends nearer than the paper's",
    "start": "On RobX, costs follow where the base starts",
}

ORDER = "costs are in the paper's order"


def reason(check: Check, data: str) -> str | None:
    """Name the reason for a cell that is not as wanted; None if there is none on record.

    Parameters
    ----------
    check : Check
        One that does not hold.
    data : str
    """
    sides = check.cell.split(" < ")
    bases = {side.split()[0] for side in sides if base_of(side) is None}
    if any(math.isnan(figure) for figure in check.figures):
        asks_gamma = any("gamma=0.99" in side for side in sides)
        return "no-answer" if asks_gamma or check.tau_rule != "paper" else "out-of-reach"
    if check.table.startswith("standard-scaling") and data == "heloc" and _of_validity(check):
        return "scaled-tau"
    if check.check == "RobX lowers the cost of FACE" or "FACE" in bases:
        return "face"
    if check.check != ORDER:
        return None
    return "focus" if "FOCUS" in bases else "start"


def _of_validity(check: Check) -> bool:
    return check.check in {"on RobX, answers stay valid", "RobX does not lower validity"}

"""The list of what must be seen, as a page."""

from __future__ import annotations

import math

from experiments.checks import Check
from experiments.compare import NO_TAU
from experiments.reasons import reason
from experiments.report import grid

__all__ = ["markdown"]

ABOUT = """\
Every cell is checked, with the paper's tau and with that of the quantile rule; cells without a \
tau come once. Two methods are compared over the base models for which both have answers; where \
these are not all, the cell holds "for some". Where nobody is answered, nothing holds. Tables that \
share base models repeat some cells. The last column but one asks the same of the paper's own \
figures. What does not hold is explained under the heading that the line names."""
HEAD = ("table", "norm", "tau", "cell", "wanted", "seen", "the paper has")
REPRODUCTION = "../../../docs/reproduction.md"


def markdown(checks: list[Check], data: str) -> str:
    """List what holds and what does not, check by check, and why not."""
    counts = []
    for name, rule in dict.fromkeys((check.check, check.tau_rule) for check in checks):
        some = [check for check in checks if (check.check, check.tau_rule) == (name, rule)]
        whole = sum(check.holds and check.whole for check in some)
        partly = sum(check.holds and not check.whole for check in some)
        nothing = sum(any(map(math.isnan, check.figures)) for check in some)
        numbers = (whole, partly, len(some) - whole - partly - nothing, nothing)
        counts.append([name, _rule(rule), *map(str, numbers)])
    head = ["what must be seen", "tau", "holds for all", "holds for some", "does not", "no answers"]
    parts = [ABOUT, grid(head, counts, left=2)]
    for holds, title in ((False, "What does not hold"), (True, "What holds")):
        parts.append(f"## {title}")
        some = [check for check in checks if check.holds == holds]
        for name in dict.fromkeys(check.check for check in some):
            lines = [_line(check) for check in some if check.check == name]
            shown: tuple[str, ...] = HEAD
            if not holds:
                whys = [_why(check, data) for check in some if check.check == name]
                lines = [[*line, why] for line, why in zip(lines, whys, strict=True)]
                shown = (*HEAD, "why")
            parts += [f"### {name[0].upper()}{name[1:]}", grid(shown, lines, left=len(shown))]
    return "\n\n".join(parts) + "\n"


def _line(check: Check) -> list[str]:
    paper = check.paper + (", which does not hold" if check.paper_holds is False else "")
    where = [check.table, f"L{check.norm}", _rule(check.tau_rule), check.cell]
    seen = check.seen + ("" if check.whole or not check.holds else " (for some)")
    return [*where, check.wanted, seen, paper]


def _rule(rule: str) -> str:
    return "" if rule == NO_TAU else rule


def _why(check: Check, data: str) -> str:
    found = reason(check, data)
    return "not known" if found is None else f"[{found}]({REPRODUCTION}#{found})"

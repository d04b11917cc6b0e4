"""What must be seen, checked cell by cell.

Every check is asked twice: of our figures, and of the paper's own, because the paper does not show
all of it either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product

import pandas as pd

from experiments.compare import NO_TAU, uses_tau
from experiments.report import grid
from experiments.spec import ROBX, Spec

__all__ = ["LEAST_VALID", "Check", "markdown", "run_checks"]

#: Percent of answers on RobX that new models must accept.
LEAST_VALID = {"minor": 97.0, "moderate": 92.0}
#: Percent of answers of FT and FOCUS that they accept without it, at most.
MOST_VALID_BASE = 80.0
#: Cost of FT, FOCUS and NN on RobX, as a multiple of CCF's, at most.
MOST_COST = 1.05

Figure = Callable[[str, str], float]


@dataclass(frozen=True)
class Check:
    """One cell: what was wanted of it and what was seen.

    Parameters
    ----------
    check : str
        What is asked.
    table, tau_rule : str
    norm : int
    cell : str
        The methods that it is about.
    wanted, seen : str
    holds : bool
    paper : str
        What the paper's own figures say.
    paper_holds : bool or None
        None where the paper gives no figure.
    """

    check: str
    table: str
    norm: int
    tau_rule: str
    cell: str
    wanted: str
    seen: str
    holds: bool
    paper: str
    paper_holds: bool | None


@dataclass(frozen=True)
class Line:
    """One cell in one set of figures."""

    cell: str
    wanted: str
    seen: str
    holds: bool
    known: bool


Question = Callable[[Spec, tuple[str, ...], Figure, Figure], Iterator[Line]]


def _compared(cell: str, wanted: str, seen: str, holds: bool, *figures: float) -> Line:
    """Without an answer there is no figure, and nothing holds."""
    known = not any(math.isnan(figure) for figure in figures)
    return Line(cell, wanted, seen if known else "no figure", holds and known, known)


def valid_on_robx(spec: Spec, bases: tuple[str, ...], seen: Figure, _: Figure) -> Iterator[Line]:
    """Ask for the validity of each base on RobX."""
    least = LEAST_VALID[spec.change or "moderate"]
    for base in bases:
        valid, coverage = seen(base + ROBX, "validity"), seen(base + ROBX, "coverage")
        of_whom = f" of the {100 * coverage:.0f} % answered" if coverage < 1 else ""
        yield _compared(
            base + ROBX, f"at least {least:g} %", f"{valid:.1f} %{of_whom}", valid >= least, valid
        )


def as_valid_as_base(_: Spec, bases: tuple[str, ...], seen: Figure, __: Figure) -> Iterator[Line]:
    """Ask whether RobX does not lower validity."""
    for base in bases:
        before, after = seen(base, "validity"), seen(base + ROBX, "validity")
        yield _compared(
            base + ROBX,
            "at least its base's validity",
            f"{after:.1f} % against {before:.1f} %",
            after >= before,
            before,
            after,
        )


def not_dearer_than_ccf(
    spec: Spec, bases: tuple[str, ...], seen: Figure, _: Figure
) -> Iterator[Line]:
    """Ask whether FT, FOCUS and NN on RobX cost about CCF at most."""
    if not any("CCF" in methods for methods in spec.methods.values()):
        return
    for base in (base for base in bases if base in {"FT", "FOCUS", "NN"}):
        cost, most = seen(base + ROBX, "cost"), MOST_COST * seen("CCF", "cost")
        yield _compared(
            base + ROBX,
            f"cost at most {MOST_COST:g} times CCF's",
            f"{cost:.3f} against {most:.3f}",
            cost <= most,
            cost,
            most,
        )


def face_cheaper(_: Spec, bases: tuple[str, ...], seen: Figure, __: Figure) -> Iterator[Line]:
    """Ask whether RobX lowers the cost of FACE, at any gamma."""
    for base in (base for base in bases if base.split()[0] == "FACE"):
        before, after = seen(base, "cost"), seen(base + ROBX, "cost")
        yield _compared(
            base + ROBX,
            "cost below FACE's",
            f"{after:.3f} against {before:.3f}",
            after < before,
            before,
            after,
        )


def lof_raised(_: Spec, bases: tuple[str, ...], seen: Figure, __: Figure) -> Iterator[Line]:
    """Ask whether RobX brings FT and FOCUS, at any gamma, nearer to the data."""
    for base in (base for base in bases if base.split()[0] in {"FT", "FOCUS"}):
        before, after = seen(base, "lof"), seen(base + ROBX, "lof")
        yield _compared(
            base + ROBX,
            f"LOF above that of {base}",
            f"{after:.3f} against {before:.3f}",
            after > before,
            before,
            after,
        )


def base_breaks(spec: Spec, bases: tuple[str, ...], seen: Figure, _: Figure) -> Iterator[Line]:
    """Ask whether FT and FOCUS alone break under moderate change."""
    if spec.change != "moderate":
        return
    for base in (base for base in bases if base in {"FT", "FOCUS"}):
        valid = seen(base, "validity")
        wanted = f"validity below {MOST_VALID_BASE:g} %"
        yield _compared(base, wanted, f"{valid:.1f} %", valid < MOST_VALID_BASE, valid)


def costs_in_order(
    spec: Spec, bases: tuple[str, ...], seen: Figure, paper: Figure
) -> Iterator[Line]:
    """Ask whether costs are in the paper's order: each step of it is a cell."""
    data_methods = [name for base in bases for name in (base, base + ROBX)]
    if any("CCF" in methods for methods in spec.methods.values()):
        data_methods.insert(0, "CCF")
    by_cost: dict[float, list[str]] = {}
    for name in data_methods:
        by_cost.setdefault(paper(name, "cost"), []).append(name)
    steps = pairwise(by_cost[cost] for cost in sorted(by_cost))
    for low, high in (pair for step in steps for pair in product(*step)):
        less, more = seen(low, "cost"), seen(high, "cost")
        yield _compared(
            f"{low} < {high}",
            "costs in the paper's order",
            f"{less:.3f} and {more:.3f}",
            less < more,
            less,
            more,
        )


CHECKS: dict[str, Question] = {
    "on RobX, answers stay valid": valid_on_robx,
    "RobX does not lower validity": as_valid_as_base,
    "on RobX, answers cost about what CCF costs at most": not_dearer_than_ccf,
    "RobX lowers the cost of FACE": face_cheaper,
    "RobX raises the LOF of FT and FOCUS": lof_raised,
    "FT and FOCUS alone break under moderate change": base_breaks,
    "costs are in the paper's order": costs_in_order,
}


def run_checks(spec: Spec, data: str, table: pd.DataFrame) -> list[Check]:
    """Check one table.

    Parameters
    ----------
    spec : Spec
    data : str
    table : DataFrame
        From `experiments.compare.side_by_side`.

    Returns
    -------
    list of Check
        For each norm and each rule for tau.
    """
    if not spec.robx:
        return []
    bases = tuple(name for name in spec.methods[data] if name != "CCF")
    figures = table.set_index(["norm", "tau_rule", "method", "metric"])[["ours", "paper"]]
    rules = [rule for rule in dict.fromkeys(table["tau_rule"]) if rule != NO_TAU]
    found: dict[Check, None] = {}  # what both rules for tau have in common comes once
    for norm, rule in product(spec.norms, rules):
        ours = _figures(figures["ours"], norm, rule)
        paper = _figures(figures["paper"], norm, rule)
        for name, question in CHECKS.items():
            theirs = {line.cell: line for line in question(spec, bases, paper, paper)}
            for line in question(spec, bases, ours, paper):
                of_rule = any(uses_tau(method) for method in line.cell.split(" < "))
                check = Check(
                    name,
                    spec.name,
                    norm,
                    rule if of_rule else NO_TAU,
                    line.cell,
                    line.wanted,
                    line.seen,
                    line.holds,
                    theirs[line.cell].seen,
                    theirs[line.cell].holds if theirs[line.cell].known else None,
                )
                found[check] = None
    return list(found)


def _figures(column: pd.Series, norm: int, rule: str) -> Figure:
    """Look figures up by method and metric, under a rule for tau where the method has one."""

    def figure(method: str, metric: str) -> float:
        for which in (rule, NO_TAU):
            if (norm, which, method, metric) in column.index:
                return float(column.loc[norm, which, method, metric])
        return math.nan

    return figure


ABOUT = """\
Every cell is checked, with the paper's tau and with that of the quantile rule; cells without a \
tau come once. Figures are over those who got an answer: where a base model does not reach a tau, \
its applicants count for the base method alone. The last column asks the same of the paper's own \
figures."""
HEAD = ("table", "norm", "tau", "cell", "wanted", "seen", "the paper has")


def markdown(checks: list[Check]) -> str:
    """List what holds and what does not, check by check."""
    counts = []
    for name, rule in dict.fromkeys((check.check, check.tau_rule) for check in checks):
        holding = [check.holds for check in checks if (check.check, check.tau_rule) == (name, rule)]
        counts.append([name, _rule(rule), str(sum(holding)), str(len(holding) - sum(holding))])
    parts = [ABOUT, grid(["what must be seen", "tau", "holds", "does not"], counts, left=2)]
    for holds, title in ((False, "What does not hold"), (True, "What holds")):
        parts.append(f"## {title}")
        some = [check for check in checks if check.holds == holds]
        for name in dict.fromkeys(check.check for check in some):
            lines = [_line(check) for check in some if check.check == name]
            parts += [f"### {name[0].upper()}{name[1:]}", grid(HEAD, lines, left=len(HEAD))]
    return "\n\n".join(parts) + "\n"


def _line(check: Check) -> list[str]:
    paper = check.paper + (", which does not hold" if check.paper_holds is False else "")
    where = [check.table, f"L{check.norm}", _rule(check.tau_rule), check.cell]
    return [*where, check.wanted, check.seen, paper]


def _rule(rule: str) -> str:
    return "" if rule == NO_TAU else rule

"""What must be seen, checked cell by cell.

Every check is asked twice: of our figures, and of the paper's own, because the paper does not show
all of it either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise, product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.compare import NO_TAU, of_each, uses_tau
from experiments.spec import ROBX, Spec, base_of

__all__ = ["LEAST_VALID", "Check", "run_checks"]

#: Percent of answers on RobX that new models must accept.
LEAST_VALID = {"minor": 97.0, "moderate": 92.0}
#: Percent of answers of FT and FOCUS that they accept without it, at most.
MOST_VALID_BASE = 80.0
#: Cost of FT, FOCUS and NN on RobX, as a multiple of CCF's, at most.
MOST_COST = 1.05
#: Coverage from which on everybody is answered.
ALL = 0.99

#: The figures of a method, by metric: one for each base model.
Figure = Callable[[str, str], NDArray[np.float64]]


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
    figures : floats
        Ours, that were compared.
    whole : bool
        Whether every applicant of every base model is in them.
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
    figures: tuple[float, ...] = field(default=(), compare=False)
    whole: bool = True


@dataclass(frozen=True)
class Line:
    """One cell in one set of figures."""

    cell: str
    wanted: str
    seen: str
    holds: bool
    values: tuple[float, ...]

    @property
    def known(self) -> bool:
        """Whether there are figures; without an answer there is none."""
        return not any(math.isnan(value) for value in self.values)


Question = Callable[[Spec, tuple[str, ...], Figure, Figure], Iterator[Line]]


def _compared(cell: str, wanted: str, seen: str, holds: bool, *figures: float) -> Line:
    """Without an answer there is no figure, and nothing holds."""
    known = not any(math.isnan(figure) for figure in figures)
    return Line(cell, wanted, seen if known else "no figure", holds and known, figures)


def valid_on_robx(spec: Spec, bases: tuple[str, ...], seen: Figure, _: Figure) -> Iterator[Line]:
    """Ask for the validity of each base on RobX."""
    least = LEAST_VALID[str(spec.change)]
    for base in bases:
        (valid,) = _together(seen, "validity", base + ROBX)
        coverage = np.nan_to_num(seen(base + ROBX, "coverage"), nan=1.0).mean()
        of_whom = f" of the {100 * coverage:.0f} % answered" if coverage < ALL else ""
        yield _compared(
            base + ROBX, f"at least {least:g} %", f"{valid:.1f} %{of_whom}", valid >= least, valid
        )


def as_valid_as_base(_: Spec, bases: tuple[str, ...], seen: Figure, __: Figure) -> Iterator[Line]:
    """Ask whether RobX does not lower validity."""
    for base in bases:
        before, after = _together(seen, "validity", base, base + ROBX)
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
        cost, of_ccf = _together(seen, "cost", base + ROBX, "CCF")
        most = MOST_COST * of_ccf
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
        before, after = _together(seen, "cost", base, base + ROBX)
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
        before, after = _together(seen, "lof", base, base + ROBX)
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
        (valid,) = _together(seen, "validity", base)
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
        by_cost.setdefault(float(paper(name, "cost")[0]), []).append(name)
    steps = pairwise(by_cost[cost] for cost in sorted(by_cost))
    for low, high in (pair for step in steps for pair in product(*step)):
        less, more = _together(seen, "cost", low, high)
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
    figures = table.set_index(["norm", "tau_rule", "method", "metric"])
    each = figures["by_seed"].map(of_each)
    published = figures["paper"].map(lambda value: [value])
    rules = [rule for rule in dict.fromkeys(table["tau_rule"]) if rule != NO_TAU]
    found: dict[Check, None] = {}  # what both rules for tau have in common comes once
    for norm, rule in product(spec.norms, rules):
        ours = _figures(each, norm, rule)
        paper = _figures(published, norm, rule)
        for name, question in CHECKS.items():
            theirs = {line.cell: line for line in question(spec, bases, paper, paper)}
            for line in question(spec, bases, ours, paper):
                methods = line.cell.split(" < ")
                of_rule = any(uses_tau(method) for method in methods)
                involved = {*methods, *filter(None, map(base_of, methods))}
                covered = [np.nan_to_num(ours(name, "coverage"), nan=1.0) for name in involved]
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
                    line.values,
                    bool(min(map(np.min, covered)) >= ALL),
                )
                found[check] = None
    return list(found)


def _figures(column: pd.Series, norm: int, rule: str) -> Figure:
    """Look figures up by method and metric, under a rule for tau where the method has one."""

    def figure(method: str, metric: str) -> NDArray[np.float64]:
        for which in (rule, NO_TAU):
            if (norm, which, method, metric) in column.index:
                values = np.array(column.loc[norm, which, method, metric], dtype=np.float64)
                base = base_of(method)
                if base is None or metric == "coverage":
                    return values
                # Without a base's answer RobX starts from the applicant: that is another method.
                return np.where(
                    np.broadcast_to(figure(base, "coverage") == 0, values.shape), np.nan, values
                )
        return np.array([math.nan])

    return figure


def _together(seen: Figure, metric: str, *methods: str) -> list[float]:
    """Give the mean figure of each method, over the base models for which all have one."""
    figures = np.array(np.broadcast_arrays(*(seen(method, metric) for method in methods)))
    known = ~np.isnan(figures).any(axis=0)
    return [float(values[known].mean()) if known.any() else math.nan for values in figures]

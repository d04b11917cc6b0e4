"""The page of the frontier, and its tables of checks."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version

import pandas as pd

from experiments.frontier.checks import FROM, Against, Cheaper
from experiments.frontier.expected import Operating
from experiments.frontier.resamples import LEAST_COVERAGE
from experiments.frontier.spec import NAME, Frontier
from experiments.report import PACKAGES, grid
from experiments.settings import CONTAMINATION, N_DRAWS, N_TARGETS, NAMES, SIGMA, STEP

__all__ = ["Made", "below_table", "equal_table", "page"]

LABELS = {"cost_l1": "L1 cost", "n_changes": "changes", "lof": "LOF", "lof_raw": "raw LOF"}


@dataclass(frozen=True)
class Made:
    """How the figures were made."""

    data: str
    command: str
    seeds: int
    n_models: int
    applicants: int


ABOUT_EQUAL = """\
Every curve is the line through a method's points in the order of its knob. At a validity counts \
the cheapest place (in L1) on the line that has at least that validity, be it a point or between \
two neighbours; the other figures are read at the same place. This is the same for both methods. A \
validity that no point reaches is "not reached": nothing is extrapolated. "All above" says that \
the lowest knob has more than that validity already, so that the cheapest point counts; the \
validities compared then differ, and are shown. Intervals of 95 % are from a bootstrap over base \
models, their applicants and their new models, the same for both methods, taken further out for \
few base models as in `robx.metrics`. Where some resamples do not reach the validity, the interval \
is of the others, and the share of these is shown. LOF of +1 and -1 is compared by its difference, \
the rest by ratios of Frugal's to RobX's."""

ABOUT_BELOW = """\
For every point of every other method with a validity of at least {least:.0%}: is there a place on \
Frugal's line with at least this validity that costs no more? The lines below are those where \
there is not, by method, with the point at which Frugal costs most more. All points are in \
[{name}-not-below.csv]({name}-not-below.csv)."""

ABOUT_OPERATING = """\
Frugal as `robx.explain` chooses by itself, without having seen a model of the evaluation. \
"Expected" is what its certificates say beforehand: the share of 32 models, retrained on random \
thirds of the base model's own rows and not used in the search, that accept the answers."""

SETTINGS = """\
- `{command}`
- Python {python}, {versions}.
- Base models of seeds 0 to {last_seed}, each with its own 30/70 split; for each, {n_models} new \
models of each change, and at most {applicants} declined applicants of the rows set aside. No \
figure of the evaluation was used to choose anything.
- moderate: base models on half of the training rows, new models on the other half, each with \
another depth or number of trees. bootstrap, drop-rows: base models on all training rows; new \
models on as many rows drawn with replacement, or without a few rows.
- NN, FT and NICE over gamma, the score that must be exceeded. CCF and RobX over tau, in the \
paper's setting: K = {n_draws} Gaussian draws, sigma = {sigma:g}, alpha = {step:g}, c = \
{n_targets}. NICE is written here after its "sparsity" variant. DiCE is the package, with its own \
settings, all columns continuous; it is one point.
- Features are continuous and free, and counted in units of their range.
- Validity is over applicants who got an answer, as is cost; coverage says how many did. Points \
that answer fewer than {coverage:.0%} are in the table but in no curve and no check.
- LOF is the mean of +1 and -1 with a contamination of {contamination:g}, fitted on the accepted \
training rows; the raw factor counts as 10 where it is above."""


def equal_table(equal: Sequence[Against]) -> pd.DataFrame:
    """Make a line of each comparison at equal validity."""
    return pd.DataFrame(
        [
            {
                "scenario": one.scenario,
                "base": one.base,
                "target": one.goal.at,
                "figure": one.goal.figure,
                "compare": one.goal.compare,
                "robx": one.robx,
                "frugal": one.frugal,
                "robx_validity": one.robx_validity,
                "frugal_validity": one.frugal_validity,
                "robx_at": one.robx_at,
                "frugal_at": one.frugal_at,
                "ratio": one.seen,
                "low": one.low,
                "high": one.high,
                "reached": one.reached,
                "goal": str(one.goal),
                "met": one.met,
            }
            for one in equal
        ]
    )


def below_table(below: Sequence[Cheaper]) -> pd.DataFrame:
    """Make a line of each point of another method."""
    lines = [{**asdict(one), "excess": one.excess, "holds": one.holds} for one in below]
    columns = [*Cheaper.__dataclass_fields__, "excess", "holds"]
    return pd.DataFrame(lines, columns=columns)


def page(
    spec: Frontier,
    made: Made,
    table: pd.DataFrame,
    equal: Sequence[Against],
    below: Sequence[Cheaper],
    operating: Sequence[Operating],
) -> str:
    """Write the page."""
    parts = [
        f"# {NAMES[made.data]}: {spec.title}",
        f"![{spec.title}]({NAME}.png)",
        f"Lower left is better. All points: [{NAME}.csv]({NAME}.csv).",
        "## What was asked",
        summary(equal, below, operating),
        "## Frugal against RobX at equal validity",
        ABOUT_EQUAL,
        _equal(equal),
        "## Where Frugal does not lie below another method",
        ABOUT_BELOW.format(least=FROM, name=NAME),
        _below(below),
        "## The operating point that Frugal picks by itself",
        ABOUT_OPERATING,
        _operating(operating),
        "## All points",
        _points(table),
        "## How it was made",
        _settings(made),
    ]
    return "\n\n".join(parts) + "\n"


def summary(
    equal: Sequence[Against], below: Sequence[Cheaper], operating: Sequence[Operating]
) -> str:
    """Count what is met and what is missed."""
    lines = []
    for goal in dict.fromkeys(one.goal for one in equal):
        some = [one.met for one in equal if one.goal == goal]
        asked = f"{LABELS[goal.figure]} at {goal.at:.0%} validity, {goal.compare} {goal}"
        lines.append([asked, *_counts(some)])
    for figure in dict.fromkeys(one.figure for one in below):
        held = ["met" if one.holds else "missed" for one in below if one.figure == figure]
        asked = f"{LABELS[figure]} not above that of any other point from {FROM:.0%} validity up"
        lines.append([asked, *_counts(held)])
    for scenario, least in dict.fromkeys((one.scenario, one.least) for one in operating):
        if least is not None:
            some = [one.met for one in operating if one.scenario == scenario]
            lines.append([f"default: validity of {least:.0%} under {scenario}", *_counts(some)])
    return grid(["", "met", "missed", "not compared"], lines)


def _counts(some: Sequence[str]) -> list[str]:
    return [str(some.count(word)) for word in ("met", "missed", "not compared")]


def _equal(equal: Sequence[Against]) -> str:
    head = ["change", "base", "figure", "validity asked", "RobX", "Frugal", "its place, RobX"]
    head += ["its place, Frugal", "validity RobX / Frugal", "Frugal against RobX", "goal", ""]
    lines = []
    for one in equal:
        interval = f"{_number(one.seen)} [{_number(one.low)}, {_number(one.high)}]"
        if one.reached < 1 and not math.isnan(one.seen):
            interval += f" in {one.reached:.0%} of resamples"
        lines.append(
            [
                one.scenario,
                one.base,
                LABELS[one.goal.figure],
                f"{one.goal.at:.0%}",
                _number(one.robx),
                _number(one.frugal),
                one.robx_at,
                one.frugal_at,
                f"{_percent(one.robx_validity)} / {_percent(one.frugal_validity)}",
                interval if not math.isnan(one.seen) else "",
                str(one.goal),
                _bold(one.met),
            ]
        )
    return grid(head, lines, left=3)


def _below(below: Sequence[Cheaper]) -> str:
    head = ["change", "Frugal", "figure", "other", "above it at", "of its points", "validity"]
    head += ["most: validity", "other", "Frugal", "Frugal more by"]
    lines = []
    keys = dict.fromkeys((one.scenario, one.frugal, one.figure, one.other) for one in below)
    for key in keys:
        some = [o for o in below if (o.scenario, o.frugal, o.figure, o.other) == key]
        missed = [one for one in some if not one.holds]
        if not missed:
            continue
        reached = [one for one in missed if not math.isnan(one.frugal_cost)]
        worst = max(reached, key=lambda one: one.excess, default=missed[0])
        scenario, frugal, figure, other = key
        lines.append(
            [
                scenario,
                frugal,
                LABELS[figure],
                other,
                str(len(missed)),
                str(len(some)),
                _range(missed),
                _percent(worst.validity),
                _number(worst.cost),
                _number(worst.frugal_cost),
                f"{100 * worst.excess / worst.cost:.0f} %" if reached else "not reached",
            ]
        )
    return grid(head, lines, left=4) if lines else "Frugal lies below all of them."


def _range(missed: Iterable[Cheaper]) -> str:
    values = sorted(one.validity for one in missed)
    ends = dict.fromkeys((_percent(values[0]), _percent(values[-1])))
    return " to ".join(ends)


def _operating(operating: Sequence[Operating]) -> str:
    head = ["change", "base", "expected", "came", "least", "", "coverage", "L1 cost", "changes"]
    lines = [
        [
            one.scenario,
            one.base,
            _percent(one.expected),
            f"{_percent(one.came)} [{_percent(one.low)}, {_percent(one.high)}]",
            "" if one.least is None else f"{one.least:.0%}",
            _bold(one.met),
            _percent(one.coverage),
            _number(one.cost_l1),
            _number(one.n_changes),
        ]
        for one in operating
    ]
    return grid(head, lines, left=2)


def _points(table: pd.DataFrame) -> str:
    head = ["change", "method", "knob", "validity", "L1 cost", "changes", "LOF", "raw LOF"]
    head += ["coverage", "ms"]
    lines = [
        [
            line["scenario"],
            line["method"],
            _number(line["knob"], 3),
            f"{_percent(line['validity'])} [{_percent(line['low'])}, {_percent(line['high'])}]",
            *(_number(line[name]) for name in LABELS),
            _percent(line["coverage"]),
            f"{1000 * line['seconds']:.1f}",
        ]
        for line in table.to_dict("records")
    ]
    return grid(head, lines, left=2)


def _settings(made: Made) -> str:
    return SETTINGS.format(
        command=made.command,
        python=platform.python_version(),
        versions=", ".join(f"{name} {version(name)}" for name in (*PACKAGES, "dice-ml")),
        last_seed=made.seeds - 1,
        n_models=made.n_models,
        applicants=made.applicants,
        n_draws=N_DRAWS,
        sigma=SIGMA,
        step=STEP,
        n_targets=N_TARGETS,
        coverage=LEAST_COVERAGE,
        contamination=CONTAMINATION,
    )


def _number(value: float, digits: int = 2) -> str:
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def _percent(share: float) -> str:
    return "" if math.isnan(share) else f"{100 * share:.1f} %"


def _bold(met: str) -> str:
    return f"**{met}**" if met == "missed" else met

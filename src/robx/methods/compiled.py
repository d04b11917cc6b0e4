"""The search of `Frugal`, handed to the compiled one in `robx.kernels.search`.

Python lays out arrays before and reads them after; applicants are shared between threads. What
cannot be laid out (black boxes, retrained models that read their columns differently, an isolation
forest) takes the way through `robx.methods.robx` and `robx.methods.pullback`, which gives the same
answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robx.answers import Status
from robx.arrays import Bools, Floats, Ints
from robx.kernels import lof, nearest
from robx.kernels.conditions import Conditions
from robx.kernels.forests import Forests
from robx.kernels.search import FOUND, GIVEN_UP, Settings, SupportRows, search
from robx.kernels.trial import LABEL, MEMBER, NUMBER, Asked, Places
from robx.methods.neighbours import why_none
from robx.methods.point_tests import (
    FAILS,
    PASSES,
    OutlierScore,
    PointTest,
    RobustnessTest,
    StabilityTest,
    tested_rows,
)
from robx.methods.sparse_starts import Offered
from robx.parallel import available_threads, in_threads
from robx.problem import Applicants, Problem, SearchResult, conditions_of, people_of
from robx.retrained import ModelScores, Panel
from robx.schema import Norm
from robx.trees import TreeEnsemble
from robx.trees.forests import make_forests

#: Words in a set of draws, at least.
WORDS = 4
#: Applicants that a thread takes at a time at most.
AT_ONCE = 64
#: Of more rows, times columns, no ranks are kept.
MOST_RANKS = 2**24


class Searched(NamedTuple):
    """What was found for m applicants.

    Parameters
    ----------
    points : (m, d) float64
        The answers, where there are any.
    found : (m,) bool
    complete : (m,) bool
        Whether there is an answer, or all rows were looked at.
    tried : (m,) int64
        Number of rows that were looked at.
    none_above : (m,) bool
        Whether no row was accepted once it fitted the applicant.
    """

    points: Floats
    found: Bools
    complete: Bools
    tried: Ints
    none_above: Bools


@dataclass(frozen=True, eq=False)
class CompiledSearch:
    """A search under a test, as arrays."""

    problem: Problem
    conditions: Conditions
    support: SupportRows
    others: SupportRows
    asked: Asked

    @classmethod
    def of(cls, test: PointTest, norm: Norm) -> CompiledSearch | None:
        """Return the problem's search under this test, made on first use; None if there is none."""
        made: CompiledSearch | None = test.problem.memo.get(
            ("compiled search", test.key, norm), lambda: cls._of(test, norm)
        )
        return made

    @classmethod
    def _of(cls, test: PointTest, norm: Norm) -> CompiledSearch | None:
        problem = test.problem
        conditions = conditions_of(problem.gate, norm)
        asked = None if conditions is None else _asked(test)
        if conditions is None or asked is None:
            return None
        state, forests = tested_rows(test), asked.forests
        is_first = np.ones(len(state), dtype=bool)
        if isinstance(test, RobustnessTest) and not test.is_noise_alone:
            is_first = state == PASSES
        first, others = (
            _rows(problem, part, state, forests, norm) for part in (is_first, ~is_first)
        )
        return cls(problem, conditions, first, others, asked)

    def run(
        self, applicants: Applicants, start: Floats, settings: Settings, offered: Offered
    ) -> Searched:
        """Search for applicants from where they start, and from what they are offered."""
        people, n = people_of(self.problem.gate, applicants), len(applicants)
        points, outcome = applicants.matrix.copy(), np.zeros(n, dtype=np.int8)
        tried, none_above = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool)
        start = np.ascontiguousarray(start)

        def run(part: slice) -> None:
            search(
                people.part(part),
                start[part],
                self.conditions,
                self.support,
                self.others,
                self.asked,
                settings,
                offered.points[part],
                offered.number[part],
                points[part],
                outcome[part],
                tried[part],
                none_above[part],
            )

        in_threads(run, n, min(max(n // (4 * available_threads()), 1), AT_ONCE))
        found = outcome == FOUND
        return Searched(points, found, found | (outcome != GIVEN_UP), tried, none_above)


def answer(
    test: PointTest,
    applicants: Applicants,
    start: Floats,
    settings: Settings,
    norm: Norm,
    found: SearchResult,
    offered: Offered,
) -> bool:
    """Record what the compiled search finds under a test; False where there is none.

    `RobX.refine` does the same, and `Frugal` goes on from there.
    """
    compiled = CompiledSearch.of(test, norm)
    if compiled is None:
        return False
    problem, searched = test.problem, compiled.run(applicants, start, settings, offered)
    for i in range(len(applicants)):
        if searched.found[i]:
            found.answer(i, searched.points[i])
        elif searched.complete[i]:
            known = bool(searched.none_above[i])
            found.refuse(
                i, *why_none(problem, applicants, i, problem.threshold, none_accepted=known)
            )
        else:
            found.refuse(
                i,
                Status.BUDGET,
                f"none of the {searched.tried[i]} nearest rows is accepted and stable",
            )
    return True


def _rows(
    problem: Problem, chosen: Bools, state: NDArray[np.int8], forests: Forests, norm: Norm
) -> SupportRows:
    """Give some rows of the support, with their ranks and an index of their own."""
    support, rules = problem.support, problem.rules
    rows = support.rows if chosen.all() else support.rows[chosen]
    if chosen.all():
        tree = support.tree(norm)
    else:
        tree = nearest.build(rows, rules.unit(norm), rules.is_label, nearest.LEAF_SIZE)
    columns, start = forests.column, forests.threshold_start
    ranks = np.zeros((len(rows) if len(rows) * len(columns) <= MOST_RANKS else 0, len(columns)))
    for u, j in enumerate(columns if len(ranks) else ()):
        ranks[:, u] = np.searchsorted(forests.threshold[start[u] : start[u + 1]], rows[:, j])
    fails = state[chosen] == FAILS
    return SupportRows(
        np.ascontiguousarray(rows), ranks.astype(np.uint32), fails, support.is_plain, *tree
    )


def _asked(test: PointTest) -> Asked | None:
    """Lay out a test; None where it cannot be."""
    if isinstance(test, RobustnessTest):
        asks = test
    elif isinstance(test, StabilityTest):
        asks = RobustnessTest(test)
    else:
        return None
    stable, panel, challengers = asks.stable, asks.panel, asks.challengers
    problem, noise = stable.problem, stable.noise
    trees = problem.view.trees
    if trees is None or any(len(some.alike) < len(some) for some in (panel, challengers) if some):
        return None
    fitted: lof.Rows | None = _fitted(asks.outliers, asks.max_outlier_score)
    first = [trees, *_models_of(challengers)]
    forests: Forests | None = problem.memo.get(
        ("forests", panel, challengers), lambda: make_forests([*first, *_models_of(panel)])
    )
    if fitted is None or forests is None:
        return None
    draws, walk = problem.view.draws(noise), trees.walk
    spread = problem.gate.spread(noise)
    classes = np.repeat(walk.group_class, np.diff(walk.group_start))
    return Asked(
        problem.threshold,
        stable.tau,
        asks.min_retrained_score,
        asks.max_outlier_score,
        asks.most_rejecting,
        len(first),
        forests,
        spread[walk.columns],
        walk,
        draws.tables(walk.columns, WORDS),
        len(draws),
        classes.astype(np.int64),
        np.uint64(1) << (walk.columns % 64).astype(np.uint64),
        draws.n_runs,
        fitted,
        _places(problem, fitted),
    )


def _models_of(models: Panel | ModelScores | None) -> list[TreeEnsemble]:
    return [] if models is None else [models.alike[k] for k in range(len(models))]


def _fitted(outliers: OutlierScore | None, most: float) -> lof.Rows | None:
    """Rows that outliers are compared with; none of them where that does not count."""
    if outliers is None or most == np.inf:
        nothing = np.zeros(0)
        return lof.Rows(np.zeros((0, 1)), np.zeros((1, 0)), nothing, nothing, nothing, 0, 0.0)
    return None if outliers.fitted is None else outliers.fitted.arrays


def _places(problem: Problem, fitted: lof.Rows) -> Places:
    """Say how points become coordinates, as `robx.problem.coordinates` does."""
    rules = problem.rules
    middle, lacking = problem.middles
    kinds = {"categorical": LABEL, "onehot": MEMBER}
    kind = np.array([kinds.get(f.kind, NUMBER) for f in rules.features], dtype=np.int64)
    levels = [f.level_numbers if f.kind == "categorical" else () for f in rules.features]
    n_levels = np.array([len(some) for some in levels], dtype=np.int64)
    width = np.where(kind == LABEL, n_levels, 1) + lacking
    return Places(
        kind,
        np.cumsum([0, *width[:-1]]).astype(np.int64),
        rules.scale,
        middle,
        lacking,
        np.cumsum([0, *n_levels]).astype(np.int64),
        np.array([number for some in levels for number in some], dtype=np.float64),
        float(np.abs(fitted.columns).max(initial=0.0)),
    )

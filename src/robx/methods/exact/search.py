"""The search for one applicant: programs up to ever higher costs, until one has an answer."""

from __future__ import annotations

import numpy as np

from robx.arrays import Bools, Floats, Ints, same_rows
from robx.methods.exact.demand import Condition
from robx.methods.exact.options import axes_of
from robx.methods.exact.program import MOST_LEAVES, Program, Solved
from robx.methods.exact.quorum import Quorum
from robx.problem import Applicants

#: The cost is capped first at this many halvings of what an answer may cost.
HALVINGS = 6
#: Costs beyond this count as this.
LARGEST = 1e300
#: Points that only rounding let through, before the margin is raised above all rounding.
MOST_EXCLUDED = 20


class Search:
    """The search for one applicant: ever dearer points, until one is accepted.

    Few cells cost little, so that a program over the cheap ones is small, and soon shows that
    nobody is accepted there. The cap on the cost then doubles.

    Parameters
    ----------
    quorum : Quorum
    person : one Applicant
    known : (d,) float64, optional
        An answer to begin with.

    Attributes
    ----------
    best : (d,) float64, optional
        The cheapest answer so far.
    cost : float
        Its cost; infinite without one.
    bound : float
        No accepted point costs less.
    is_proven : bool
        Whether it is certain that nothing is cheaper than the best, or that there is nothing.
    obstacle : str
        What ended the search, if that was not the effort.
    """

    def __init__(self, quorum: Quorum, person: Applicants, known: Floats | None) -> None:
        self.quorum, self.person, self.best = quorum, person, known
        self.problem = quorum.problem
        self.cost = np.inf if known is None else self._cost_of(known)
        self.bound, self.is_proven, self.obstacle = 0.0, False, ""
        self._axes, self._ties = axes_of(quorum, person)
        # What was learned of each model, by its number.
        self._conditions: list[tuple[int, Condition]] = [
            (k, condition) for k, one in enumerate(quorum.demands) for condition in one.first()
        ]
        self._excluded: list[tuple[int, Ints]] = []

    def run(self, effort: float) -> None:
        """Look for better answers until it is proven that there are none."""
        if any(len(axis.cost) == 0 for axis in self._axes):
            self.is_proven = True
            return
        least = sum(float(axis.cost.min()) for axis in self._axes)
        most = min(sum(float(axis.cost.max()) for axis in self._axes), self.cost, LARGEST)
        for halvings in range(HALVINGS if most > least else 0, -1, -1):
            cap = least + (most - least) / 2**halvings
            effort = self._search_up_to(cap * (1 + 1e-9), least, effort)
            if effort <= 0:
                return
        self.is_proven = len(self._excluded) <= MOST_EXCLUDED

    def _search_up_to(self, cap: float, least: float, effort: float) -> float:
        """Search among the points that cost no more than a cap; return the effort that is left.

        Nothing is left once the search is over.
        """
        program = self._program(cap, least)
        if program is None:
            self.obstacle = f"more than {MOST_LEAVES} leaves are in reach"
            return 0.0
        while effort > 0:
            solved = program.solve(effort)
            effort -= solved.effort
            if len(self._excluded) <= MOST_EXCLUDED:
                self.bound = max(self.bound, min(solved.bound, cap))
            if solved.is_infeasible and self.cost <= cap and not self._excluded:
                self.bound = 0.0  # what is known lies within: such a proof is worth nothing
                return 0.0
            if solved.options is None:
                return effort if solved.is_infeasible else 0.0
            point = self._point(program, solved.options)
            accepting = self.quorum.accepting(point[None])
            if self.quorum.suffices(accepting)[0]:
                self._take(point)
                return 0.0
            if not self._exclude_all(program, solved, accepting[:, 0]):
                return 0.0
        return effort

    def _program(self, cap: float, least: float) -> Program | None:
        """Write the program of the points up to a cap, with what was learned; None if too long."""
        axes = [axis.up_to(cap - least + float(axis.cost.min())) for axis in self._axes]
        program = Program(self.quorum, axes, cap)
        if not program.add_trees():
            return None
        for tie in self._ties:
            program.tie(*tie, self.problem.rules.single)
        for k, condition in self._conditions:
            program.ask(k, condition)
        for k, leaves in self._excluded:
            program.exclude(k, leaves)
        return program

    def _point(self, program: Program, options: list[int]) -> Floats:
        """Give the point that has the options chosen."""
        point: Floats = self.person.matrix[0].copy()
        for axis, k in zip(program.axes, options, strict=True):
            point[axis.columns] = axis.values[k]
        return point

    def _take(self, point: Floats) -> None:
        """Answer with a point that is accepted, if it keeps all relations and is cheaper."""
        cost = self._cost_of(point)
        admitted, legal = self.problem.gate.admit(point[None], self.person)
        if not legal[0] or not same_rows(admitted, point[None])[0]:
            self.obstacle = "the closest point breaks a rule that ties uncountable values together"
        elif cost < self.cost:
            self.best, self.cost = point, cost

    def _exclude_all(self, program: Program, solved: Solved, accepting: Bools) -> bool:
        """Rule out what models were counted on for and do not accept; tell whether to go on."""
        wrong = np.flatnonzero(np.array(solved.counted) & ~accepting).tolist()
        return all(self._exclude(program, k, solved.leaves[k]) for k in wrong)

    def _exclude(self, program: Program, k: int, leaves: Ints) -> bool:
        """Rule out leaves that model k does not accept after all; tell whether to go on."""
        demand, own = self.quorum.demands[k], leaves - self.quorum.first_leaf[k]
        e = demand.ensemble
        if e.link == "softmax":
            sums = np.bincount(demand.class_of_leaf[own], e.leaf_value[own], len(e.base))
            condition = demand.tangent(sums + e.base)
            if condition.weights[own].sum() < condition.least:
                self._conditions.append((k, condition))
                program.ask(k, condition)
                return True
        self._excluded.append((k, leaves))
        program.exclude(k, leaves)
        if len(self._excluded) > MOST_EXCLUDED:
            # Rounding decides about many points: from here on only what is safely above counts.
            self._conditions = [(one, c.made_safe()) for one, c in self._conditions]
            for one, condition in self._conditions:
                program.ask(one, condition)
        return len(self._excluded) <= 2 * MOST_EXCLUDED

    def _cost_of(self, point: Floats) -> float:
        return float(self.problem.rules.cost(point[None], self.person.matrix, 1)[0])

"""The closest counterfactual, with a proof."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robx.answers import Status
from robx.arrays import Floats
from robx.methods.base import Method, check_gamma
from robx.methods.exact.demand import Demand
from robx.methods.exact.program import cp_sat
from robx.methods.exact.search import Search
from robx.methods.leaf_space import LeafSpace
from robx.methods.live_region import LiveRegion
from robx.parallel import in_threads
from robx.parameters import check_number, require
from robx.problem import Applicants, Problem, SearchResult


@dataclass(frozen=True, kw_only=True)
class Closest(Method):
    """The closest point that is accepted, and a bound below which there is none.

    The bound stands in ``answer.measured["bound"]``: no allowed point that is accepted costs less.
    Where it equals the cost, but for some digits, the answer is the closest there is. Where the
    effort was used up before, the answer is the best that was found and the bound lies lower.

    A relation that ties a column with uncountable values (state a resolution) is left out of the
    program: where the closest point breaks it, the answer is that of `LiveRegion`, and the bound
    still holds.

    Parameters
    ----------
    norm : {1}
        Costs are added up, so L1 only.
    gamma : float, optional
        Look for scores above this instead of the problem's threshold, if it is higher.
    effort : float
        Budget for each applicant, in CP-SAT's deterministic seconds: they count operations, so that
        the same input gives the same answer however busy the machine is. They
        are not seconds of a clock.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from robx import Feature, Problem, Schema
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [4.0, 0.0]])
    >>> schema = Schema((Feature("a", resolution=0.1), Feature("b")))
    >>> problem = Problem(DecisionTreeClassifier().fit(X, [0, 0, 1, 1]), X, schema)
    >>> answer = Closest().explain(problem, X[1:2])
    >>> answer.points, answer.cost.round(6), answer.measured["bound"].round(6)
    (array([[1.6, 1. ]]), array([0.4]), array([0.4]))
    """

    needs = frozenset({"trees"})

    gamma: float | None = None
    effort: float = 10.0

    def check(self, problem: Problem, n_applicants: int) -> None:
        """See `Method.check`."""
        super().check(problem, n_applicants)
        l1 = "1: the closest point is searched for in L1 only"
        require(self.norm == 1, self.norm, "norm", "Closest", l1)
        check_gamma(self.gamma, "Closest")
        check_number(self.effort, "effort", "Closest", above=0)
        cp_sat()

    def search(
        self, problem: Problem, applicants: Applicants, rows: NDArray[np.intp]
    ) -> SearchResult:
        """See `Method.search`."""
        start = LiveRegion(gamma=self.gamma).search(problem, applicants, rows)
        found = SearchResult.nothing(applicants)
        found.measured["bound"] = np.full(len(applicants), np.nan)
        demand = Demand(LeafSpace.of(problem), problem.gate.cutoff(self.gamma))

        def run(part: slice) -> None:
            for i in range(part.start, part.stop):
                known = start.points[i] if start.ok[i] else None
                self._search_one(demand, applicants.take(np.array([i])), known, found, i)

        in_threads(run, len(applicants), 1)
        return found

    def _search_one(
        self, demand: Demand, person: Applicants, known: Floats | None, found: SearchResult, i: int
    ) -> None:
        """Search for one applicant, who has an answer already or has none."""
        search = Search(demand, person, known)
        search.run(self.effort)
        if search.best is not None:
            found.answer(i, search.best)
            found.measured["bound"][i] = min(search.bound, search.cost)
        elif not search.is_proven:
            spent = f"no point was found with an effort of {self.effort:g}"
            found.refuse(i, Status.BUDGET, search.obstacle or spent)
        else:
            reason = f"no point that keeps every rule scores above {demand.cutoff:g}"
            is_asked = demand.cutoff > demand.space.problem.threshold
            found.refuse(i, Status.NOT_FOUND if is_asked else Status.PRECLUDED, reason)

"""The closest counterfactual, with a proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.answers import Status
from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.methods.base import Method, check_gamma
from robx.methods.exact.program import cp_sat
from robx.methods.exact.quorum import Quorum
from robx.methods.exact.search import Search
from robx.methods.exact.warm_start import warm_start
from robx.methods.live_region import LiveRegion
from robx.parallel import in_threads
from robx.parameters import check_number, check_whole, require
from robx.problem import Applicants, Problem, SearchResult
from robx.retrained import Panel


@dataclass(frozen=True, kw_only=True)
class Closest(Method):
    """The closest point that is accepted, and a bound below which there is none.

    The bound stands in ``answer.measured["bound"]``: no allowed point that is accepted costs less.
    Where it equals the cost, but for some digits, the answer is the closest there is. Where the
    effort was used up before, the answer is the best that was found and the bound lies lower.

    With a `panel` of retrained models, at least `at_least` of them must accept the answer as well.
    That is a yardstick for robust methods: no answer that as many of the same models accept costs
    less than the bound. With five models of 50 trees it takes a fraction of a second for each
    applicant of German Credit, with 16 of 100 deeper trees some seconds up to a minute.

    A relation that ties a column with uncountable values (state a resolution) is left out of the
    program: where the closest point breaks it, the answer is that of `LiveRegion` (with a panel,
    of the search that the program starts from), and the bound still holds.

    Parameters
    ----------
    norm : {1}
        Costs are added up, so L1 only.
    gamma : float, optional
        Look for scores above this instead of the problem's threshold, if it is higher. It is asked
        of the problem's own model alone.
    panel : sequence of models
        Retrained models, such as ``list(robx.retrainings(estimator, X, y, 5))``, that read the same
        columns as the problem's own model. Each accepts what it scores above the problem's
        threshold. They have helped to choose, so they cannot certify the answers.
    at_least : int, optional
        How many of the panel must accept; all of them unless given.
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

    Two models that draw the line further out, of which one must accept:

    >>> later = [DecisionTreeClassifier().fit(X + shift, [0, 0, 1, 1]) for shift in (1.0, 2.0)]
    >>> answer = Closest(panel=later, at_least=1).explain(problem, X[1:2])
    >>> answer.points, answer.cost.round(6), answer.measured["bound"].round(6)
    (array([[2.6, 1. ]]), array([0.65]), array([0.65]))
    """

    needs = frozenset({"trees"})

    gamma: float | None = None
    panel: Any = field(default=(), compare=False, repr=False)
    at_least: int | None = None
    effort: float = 10.0

    @property
    def models(self) -> Any:
        """The panel, by the name that retrained models have in other methods."""
        return self.panel

    def check(self, problem: Problem, n_applicants: int) -> None:
        """See `Method.check`."""
        super().check(problem, n_applicants)
        l1 = "1: the closest point is searched for in L1 only"
        require(self.norm == 1, self.norm, "norm", "Closest", l1)
        check_gamma(self.gamma, "Closest")
        check_number(self.effort, "effort", "Closest", above=0)
        cp_sat()
        self._check_panel(problem)

    def _check_panel(self, problem: Problem) -> None:
        is_list = isinstance(self.panel, Sequence) and not isinstance(self.panel, str)
        require(is_list, self.panel, "panel", "Closest", "a list of retrained models")
        n = len(self.panel)
        if self.at_least is not None:
            require(n > 0, self.at_least, "at_least", "Closest", "None where there is no panel")
            of_all = f"an integer from 1 to {n}, the number of models in the panel"
            check_whole(self.at_least, "at_least", "Closest")
            require(self.at_least <= n, self.at_least, "at_least", "Closest", of_all)
        if n == 0:
            return
        panel = Panel.of(problem, self.panel)
        unlike = [k for k in range(n) if k not in panel.alike]
        if unlike:
            raise InvalidInput(
                f"Model {unlike[0]} of {n} in the panel of Closest is not made of trees that read "
                "their columns as the problem's own model does. Leave it out, or train it on a "
                "table with the same columns, dtypes and categories."
            )

    def quorum(self, problem: Problem) -> Quorum:
        """Say who must accept an answer; the problem notes that they help to choose."""
        cutoff = problem.gate.cutoff(self.gamma)
        if len(self.panel) == 0:
            return Quorum(problem, cutoff)
        panel = Panel.of(problem, self.panel)
        problem.used_models.add(panel.models)
        return Quorum(problem, cutoff, panel, self.at_least or len(panel))

    def search(
        self, problem: Problem, applicants: Applicants, rows: NDArray[np.intp]
    ) -> SearchResult:
        """See `Method.search`."""
        quorum = self.quorum(problem)
        found = SearchResult.nothing(applicants)
        found.measured["bound"] = np.full(len(applicants), np.nan)
        if quorum.panel is None:
            start = LiveRegion(gamma=self.gamma).search(problem, applicants, rows)
            known = [start.points[i] if start.ok[i] else None for i in range(len(applicants))]
        else:
            # Who certifies looks for "models", whatever a method calls them.
            digests = quorum.panel.digests()
            found.notes = {"panel": digests, "models": digests}
            known = warm_start(quorum, applicants)

        def run(part: slice) -> None:
            for i in range(part.start, part.stop):
                self._search_one(quorum, applicants.take(np.array([i])), known[i], found, i)

        in_threads(run, len(applicants), 1)
        return found

    def _search_one(
        self, quorum: Quorum, person: Applicants, known: Floats | None, found: SearchResult, i: int
    ) -> None:
        """Search for one applicant, who has an answer already or has none."""
        search = Search(quorum, person, known)
        search.run(self.effort)
        if search.best is not None:
            found.answer(i, search.best)
            found.measured["bound"][i] = min(search.bound, search.cost)
        elif not search.is_proven:
            spent = f"no point was found with an effort of {self.effort:g}"
            found.refuse(i, Status.BUDGET, search.obstacle or spent)
        else:
            is_asked = quorum.panel is not None or quorum.cutoff > quorum.problem.threshold
            reason = f"no point that keeps every rule {quorum.words()}"
            found.refuse(i, Status.NOT_FOUND if is_asked else Status.PRECLUDED, reason)

"""`Frugal`: the cheapest firm point that a search with a budget finds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from robx.answers import Status
from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.methods.base import Method
from robx.methods.conservative import give_most_stable
from robx.methods.firm import Firm, reason
from robx.methods.forward import towards
from robx.methods.nearest import NearestNeighbour
from robx.methods.pullback import Pulling, place_in_line
from robx.methods.realism import Kind, Realism
from robx.methods.robx import RobX
from robx.parameters import check_number, check_whole, require
from robx.problem import Applicants, Problem, SearchResult
from robx.retrained import Panel
from robx.robustness import Noise
from robx.robustness.draws import DrawKind

#: What level "auto" takes, with retrained models and with noise alone.
LEVELS = {"models": 0.7, "noise": 0.75}
#: Starts of an applicant that are pulled to the end.
FINALISTS = 2


@dataclass(frozen=True, kw_only=True)
class Frugal(Method):
    """The cheapest change that holds: RobX's answer and others, pulled back while they stay firm.

    An answer is *firm* if it is accepted and, measured by the accepted rows themselves, at least as
    steady under retraining as a share `level` of them, stable under noise, and no odder than a
    share `typical` (see `robx.methods.firm`). The search starts from RobX's answer under this test
    and from the rows that RobX walked to; each start is pulled back feature by feature, and the
    cheapest is the answer. So it never costs more than RobX's under the same test. The
    answers' `steadiness` and `oddity` are in ``answer.measured`` and in the summary.

    Parameters
    ----------
    base : Method, table or None
        Where RobX's walk starts, as for `RobX`.
    norm : {1, 2}
    level : float or "auto"
        Share of the accepted rows that the answer is to be at least as firm as. "auto" is lower
        with retrained models than with noise alone, which is easier to fool: see `LEVELS`.
    models : sequence of models
        Retrained models, at least two, as ``list(robx.retrainings(estimator, X, y, 16))`` gives.
        Without them noise alone decides.
    realism : {"lof", "forest"} or None
        How oddity is measured: the local outlier factor, an isolation forest, or not at all.
    typical : float
        Share of the accepted rows that the answer may be as odd as, wherever such an answer is
        found. Who cannot become typical, such as by an age that is rare, is answered without.
    max_oddity : float, optional
        A bound on the oddity itself that always holds, such as 1.2 for the local outlier factor.
    max_changes : int, optional
        Most features that may change.
    price_per_change : float
        What a changed feature costs on top of how far it moves, when answers are compared.
    n_targets : int
        Rows that RobX walks to; the search starts from them as well.
    halvings : int
        How often the way that is left of a change is halved.
    max_tests : int
        Points to test for one applicant while pulling; what is found by then is the answer.
    sigma, n_draws, draws, rng
        Of the noise, as for `robx.stability`.
    max_tries : int
        Rows of the support to look at for each applicant.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from robx import Problem
    >>> X = np.random.default_rng(0).random((300, 3)).round(2)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, X[:, 0] > 0.5)
    >>> problem, applicant = Problem(forest, X), [[0.2, 0.5, 0.5]]
    >>> frugal, paper = (m.explain(problem, applicant) for m in (Frugal(), RobX()))
    >>> frugal.n_changes.tolist(), paper.n_changes.tolist()
    ([1], [2])
    """

    base: Any = NearestNeighbour()  # noqa: RUF009 - frozen, so it can be shared
    level: float | Literal["auto"] = "auto"
    models: Any = field(default=(), compare=False, repr=False)
    realism: Kind | None = "lof"
    typical: float = 0.8
    max_oddity: float | None = None
    max_changes: int | None = None
    price_per_change: float = 0.0
    n_targets: int = 5
    halvings: int = 4
    max_tests: int = 2000
    sigma: float = 0.1
    n_draws: int | None = 256
    draws: DrawKind = "sobol"
    rng: int | None = None
    max_tries: int = 100_000

    def __post_init__(self) -> None:
        if isinstance(self.models, str) or not hasattr(self.models, "__len__"):
            raise InvalidInput(
                "The 'models' parameter of Frugal must be a list of retrained models. Got "
                f"{type(self.models).__name__} instead."
            )
        object.__setattr__(self, "base", self._robx().base)

    def check(self, problem: Problem, n_people: int) -> None:
        """See `Method.check`."""
        super().check(problem, n_people)
        self._robx().check(problem, n_people)
        if self.level != "auto":
            check_number(self.level, "level", "Frugal", least=0, most=1, or_else=", or 'auto'")
        known = self.realism in {"lof", "forest", None}
        require(known, self.realism, "realism", "Frugal", "'lof', 'forest' or None")
        check_number(self.typical, "typical", "Frugal", least=0, most=1)
        if self.max_oddity is not None:
            check_number(self.max_oddity, "max_oddity", "Frugal")
        if self.max_changes is not None:
            check_whole(self.max_changes, "max_changes", "Frugal")
        check_number(self.price_per_change, "price_per_change", "Frugal", least=0)
        check_whole(self.halvings, "halvings", "Frugal", least=0)
        check_whole(self.max_tests, "max_tests", "Frugal", least=0)
        if len(self.models):
            Panel.of(problem, self.models)

    def noise(self) -> Noise:
        """See `Method.noise`."""
        return Noise(self.sigma, self.n_draws, self.draws, self.rng or 0)

    def test(self, problem: Problem) -> Firm:
        """Make the test that answers must pass."""
        panel = Panel.of(problem, self.models) if len(self.models) else None
        level = self._level()
        realism = None if self.realism is None else Realism.of(problem, self.realism)
        return Firm.at(problem, self.noise(), level, panel, realism, self.typical, self.max_oddity)

    def _level(self) -> float:
        if self.level != "auto":
            return self.level
        return LEVELS["models" if len(self.models) else "noise"]

    def search(self, problem: Problem, people: Applicants, rows: NDArray[np.intp]) -> SearchResult:
        """See `Method.search`."""
        test = self.test(problem)
        found = SearchResult.nothing(people)
        why = reason(self._level(), self.typical, test)
        found.notes = {"tau": test.stable.tau, "tau_reason": test.words(), "why": why, "models": []}
        if test.panel is not None:
            found.notes["models"] = test.panel.digests()
        start = people.matrix.copy()
        if self.base is not None:
            found.base = self.base.search(problem, people, rows)
            start[found.base.ok] = found.base.points[found.base.ok]
        self._answer(people, start, found, test)
        if self.max_oddity is None and test.realism is not None:
            # Some cannot become typical: what is odd about them may be what they cannot change.
            rest = np.flatnonzero(~found.ok)
            again = SearchResult.nothing(people.take(rest))
            self._answer(people.take(rest), start[rest], again, replace(test, most_oddity=np.inf))
            for k in np.flatnonzero(again.ok):
                found.answer(rest[k], again.points[k])
        give_most_stable(problem, people, start, found, self, test.words())
        self._refuse_many_changes(problem, people, found)
        found.measured = test.measured(found.points)
        for name, values in found.measured.items():  # what the best that was seen falls short of
            for i in np.flatnonzero([status == Status.UNSTABLE for status in found.status]):
                found.reason[i] += f", {name} {values[i]:.3g}"
        return found

    def _answer(self, people: Applicants, start: Floats, found: SearchResult, test: Firm) -> None:
        """Answer where RobX does, with the best that comes of pulling back."""
        if len(people) == 0:
            return
        starts = self._robx().refine(people, start, found, test)
        for i in np.flatnonzero(found.ok):
            starts[i] = [found.points[i].copy(), *starts[i]]
        self._choose(people, starts, found, test)

    def _choose(
        self, people: Applicants, starts: list[list[Floats]], found: SearchResult, test: Firm
    ) -> None:
        """Pull all starts back, and answer with the one that is best."""
        whose = np.repeat(np.arange(len(people)), [len(points) for points in starts])
        if len(whose) == 0:
            return
        points = np.array([point for own in starts for point in own])
        if self.max_changes is not None or self.price_per_change > 0:
            whose, points = towards(people, whose, points, test, self.max_changes)
        left = np.full(len(people), self.max_tests)
        pulling = Pulling(people, whose, points, test, self.norm, left)
        pulling.undo()
        pulling.keep(self._best(pulling, FINALISTS))
        pulling.halve(self.halvings)
        for k in self._best(pulling, 1):
            found.answer(pulling.whose[k], pulling.points[k])

    def _best(self, pulling: Pulling, n: int) -> NDArray[np.intp]:
        """Choose the n best points of each applicant, the best first."""
        rules, own = pulling.test.problem.rules, pulling.people.matrix[pulling.whose]
        n_changes = rules.n_changes(pulling.points, own)
        most = len(rules.features) if self.max_changes is None else self.max_changes
        too_many = np.maximum(n_changes - most, 0)
        worth = rules.cost(pulling.points, own, self.norm) + self.price_per_change * n_changes
        order = np.lexsort((worth, too_many, pulling.whose))
        return np.asarray(order[place_in_line(pulling.whose[order]) < n])

    def _refuse_many_changes(
        self, problem: Problem, people: Applicants, found: SearchResult
    ) -> None:
        if self.max_changes is None:
            return
        n_changes = problem.rules.n_changes(found.points, people.matrix)
        for i in np.flatnonzero(found.answered & (n_changes > self.max_changes)):
            found.points[i] = people.matrix[i]
            reason = f"no firm point that changes at most {self.max_changes} features was found"
            found.refuse(i, Status.BUDGET, reason)

    def _robx(self) -> RobX:
        """The paper's algorithm, which the search starts with."""
        return RobX(
            base=self.base,
            norm=self.norm,
            n_targets=self.n_targets,
            sigma=self.sigma,
            n_draws=self.n_draws,
            draws=self.draws,
            rng=self.rng,
            max_tries=self.max_tries,
        )

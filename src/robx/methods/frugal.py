"""`Frugal`: the cheapest robust point that a search with a budget finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from robx.answers import Status
from robx.arrays import Bools, Floats
from robx.errors import InvalidInput
from robx.methods import compiled
from robx.methods.base import Method, check_noise
from robx.methods.conservative import ORDERS, RowOrder, give_most_stable
from robx.methods.few_changes import FewChanges
from robx.methods.nearest import NearestNeighbour
from robx.methods.point_tests import (
    OUTLIERS,
    OutlierMeasure,
    OutlierScore,
    RobustnessTest,
    say_failing,
)
from robx.methods.pullback import Pullback, place_in_line
from robx.methods.robx import RobX
from robx.methods.sparse_starts import Offered, SparseStarts
from robx.parameters import MOST_COUNT, check_number, check_whole, require
from robx.problem import Applicants, Problem, SearchResult
from robx.problem.memo import Identity
from robx.retrained import ModelScores, Panel, import_models
from robx.robustness import Noise

#: What level "auto" takes, with retrained models and with noise alone.
LEVELS = {"models": 0.7, "noise": 0.75}
#: Rows that are looked at for an answer that is typical as well.
MOST_TYPICAL = 500
#: Who has a higher outlier score than most accepted rows need not become typical, but no more
#: unusual either: the bound is that of this share of the rows or, beyond it, the next of these
#: multiples of it; beyond all of them there is none.
UNUSUAL, MULTIPLES = 0.95, (1.0, 1.25, 1.6, 2.0, 2.5, 3.2, np.inf)
#: Starts of an applicant that are pulled to the end.
FINALISTS = 2
#: Starts that change few features, at most: each begins with a feature of its own.
MOST_STARTS = 1000


@dataclass(frozen=True, kw_only=True)
class Frugal(Method):
    """The cheapest change that holds: RobX's answer and others, pulled back while they stay robust.

    An answer passes the *robustness test* if it is accepted, retrained models accept it with a mean
    score that is high enough, it is stable under noise, and its outlier score is no higher than
    that of a share `typical` of the accepted rows (see `robx.methods.point_tests`). The search
    starts from RobX's answer under this test and from the rows that RobX walked to; each start is
    pulled back feature by feature, and the cheapest is the answer, where every change has a small
    price. Where stability is all that is asked for, with neither `models` nor `realism`, it never
    costs more than RobX's answer for the same tau, with this price. The answers' `retrained_score`
    and `outlier_score` are in ``answer.measured`` and in the summary.

    Parameters
    ----------
    base : Method, table or None
        Where RobX's walk starts, as for `RobX`.
    norm : {1, 2}
    level : float or "auto"
        Share of the accepted rows that the answer is to be at least as robust as. "auto" is lower
        with retrained models than with noise alone, which is easier to fool: see `LEVELS`. It means
        something else on every data set; `robx.Explainer` finds out what a promise needs.
    min_retrained_score : float, optional
        What the mean score of the retrained models must reach, in place of a level.
    min_accepting : float
        Share of the retrained models that must accept.
    models : sequence of models
        Retrained models, at least two, as ``list(robx.retrainings(estimator, X, y, 16))`` gives.
        Without them noise alone decides.
    challengers : sequence of models
        Further models that must accept every answer.
    realism : {"lof", "forest"} or None
        How the outlier score is measured: by the local outlier factor, by an isolation forest, or
        not at all.
    typical : float
        The outlier score may be as high as that of this share of the accepted rows, wherever such
        an answer is found among the rows near. Who is more unusual already is held to that of 95 %
        of them or, if more unusual still, to little more than their own; and who cannot become
        typical, such as by an age that is rare, is answered without this condition.
    max_outlier_score : float, optional
        A bound on the outlier score that always holds, such as 1.2 for the local outlier factor.
    max_changes : int, optional
        Maximum number of features that change. Who has no answer within it is given the best found:
        accepted, within the limit, nearest to passing, with the status "unstable".
    price_per_change : float
        What a changed feature costs on top of how far it moves, when answers are compared: a change
        is left out if others can make up for it by moving less than this further in all. 0 asks
        for the least cost, however many small changes that takes.
    n_targets : int
        Rows that RobX walks to; the search starts from them as well.
    sparse_starts : int
        Further starts that change few features, found by what single features do to the scores of
        the model and its retrained ones; see `robx.methods.sparse_starts`.
    halvings : int
        How often the way that is left of a change is halved.
    max_tests : int
        Points to test for one applicant while pulling, shared evenly by its starts, and again in a
        search for few changes; what is found by then is the answer.
    noise : Noise
        How points are perturbed when their stability is measured.
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
    min_retrained_score: float | None = None
    min_accepting: float = 0.0
    models: Any = field(default=(), compare=False, repr=False)
    challengers: Any = field(default=(), compare=False, repr=False)
    realism: OutlierMeasure | None = "lof"
    typical: float = 0.8
    max_outlier_score: float | None = None
    max_changes: int | None = None
    price_per_change: float = 0.05
    n_targets: int = 5
    sparse_starts: int = 2
    halvings: int = 4
    max_tests: int = 2000
    noise: Noise = Noise(n_draws=256)  # noqa: RUF009 - frozen, so it can be shared
    max_tries: int = 100_000

    def __post_init__(self) -> None:
        for name, what in (("models", "retrained models"), ("challengers", "models")):
            given = getattr(self, name)
            if isinstance(given, str) or not hasattr(given, "__len__"):
                raise InvalidInput(
                    f"The '{name}' parameter of Frugal must be a list of {what}. Got "
                    f"{type(given).__name__} instead."
                )
        object.__setattr__(self, "base", self._robx().base)

    def check(self, problem: Problem, n_applicants: int) -> None:
        """See `Method.check`."""
        super().check(problem, n_applicants)
        self._robx().check(problem, n_applicants)
        if self.level != "auto":
            check_number(self.level, "level", "Frugal", least=0, most=1, or_else=", or 'auto'")
        check_number(self.min_accepting, "min_accepting", "Frugal", least=0, most=1)
        if self.min_retrained_score is not None:
            self._check_retrained_score()
        known = self.realism in {"lof", "forest", None}
        require(known, self.realism, "realism", "Frugal", "'lof', 'forest' or None")
        check_number(self.typical, "typical", "Frugal", least=0, most=1)
        check_noise(self.noise, problem, "Frugal")
        if self.max_outlier_score is not None:
            check_number(self.max_outlier_score, "max_outlier_score", "Frugal")
        if self.max_changes is not None:
            check_whole(self.max_changes, "max_changes", "Frugal", most=MOST_COUNT)
        check_number(self.price_per_change, "price_per_change", "Frugal", least=0)
        check_whole(self.sparse_starts, "sparse_starts", "Frugal", least=0, most=MOST_STARTS)
        check_whole(self.halvings, "halvings", "Frugal", least=0, most=MOST_COUNT)
        check_whole(self.max_tests, "max_tests", "Frugal", least=0, most=MOST_COUNT)
        if len(self.models) and len(Panel.of(problem, self.models)) == 1:
            raise InvalidInput(
                "Of retrained models, at least two are needed, to see how they differ. Got one. "
                "Some 16 are better."
            )
        self._challenging(problem)

    def _check_retrained_score(self) -> None:
        score = self.min_retrained_score
        check_number(score, "min_retrained_score", "Frugal", least=0, most=1)
        if self.level != "auto" or not len(self.models):
            raise InvalidInput(
                "The 'min_retrained_score' parameter of Frugal takes the place of a level, and is "
                "about its models. Got it "
                + (f"with level = {self.level!r}." if len(self.models) else "without models.")
            )

    def _challenging(self, problem: Problem) -> ModelScores | None:
        if not len(self.challengers):
            return None
        key = ("challengers", Identity(self.challengers))
        made: ModelScores = problem.memo.get(
            key, lambda: ModelScores(problem, import_models(problem, self.challengers))
        )
        return made

    def test(self, problem: Problem) -> RobustnessTest:
        """Make the test that answers must pass; once for all who ask with the same parameters."""
        of_score = self.level_asked(), self.min_retrained_score, self.min_accepting
        asked = *of_score, self.typical, self.max_outlier_score
        of_models = Identity(self.models), Identity(self.challengers)
        key = ("robustness test", self.noise.key(problem.names), asked, of_models, self.realism)

        def make() -> RobustnessTest:
            outliers = None if self.realism is None else OutlierScore.of(problem, self.realism)
            return RobustnessTest.at(
                problem,
                self.noise,
                self.level_asked(),
                panel=Panel.of(problem, self.models) if len(self.models) else None,
                min_retrained_score=self.min_retrained_score,
                min_accepting=self.min_accepting,
                challengers=self._challenging(problem),
                outliers=outliers,
                typical=self.typical,
                max_outlier_score=self.max_outlier_score,
            )

        made: RobustnessTest = problem.memo.get(key, make)
        return made

    def level_asked(self) -> float:
        """Give the level as a number."""
        if self.level != "auto":
            return self.level
        return LEVELS["models" if len(self.models) else "noise"]

    def search(
        self, problem: Problem, applicants: Applicants, rows: NDArray[np.intp]
    ) -> SearchResult:
        """See `Method.search`."""
        test = self.test(problem)
        found = SearchResult.nothing(applicants)
        why = test.reason(self.level_asked(), self.typical)
        found.notes = {"tau": test.stable.tau, "tau_reason": test.words(), "why": why, "models": []}
        found.notes["terms"] = test.terms()
        found.notes["challengers"] = [] if test.challengers is None else test.challengers.digests()
        for asked_too in (test.panel, test.challengers):
            if asked_too is not None:
                known = [model.digest for model in asked_too.models]
                found.notes["models"] += [digest for digest in known if digest is not None]
                problem.used_models.add(asked_too.models)
        start = applicants.matrix.copy()
        if self.base is not None:
            found.base = self.base.search(problem, applicants, rows)
            start[found.base.ok] = found.base.points[found.base.ok]
        is_loose = self.max_outlier_score is None and test.outliers is not None
        everybody = ((test, np.arange(len(applicants))),)
        for asked, who in tests_by_own_score(test, applicants) if is_loose else everybody:
            is_sought = is_loose and asked.max_outlier_score < np.inf
            some = SearchResult.nothing(applicants.take(who))
            most = MOST_TYPICAL if is_sought else None
            self._answer(applicants.take(who), start[who], some, asked, most=most)
            found.put(who, some)
        few = self._change_few(applicants, found, test)
        if is_loose:
            # Some cannot become typical: what sets them apart may be what they cannot change.
            rest, loose = np.flatnonzero(~found.ok), replace(test, max_outlier_score=np.inf)
            again = SearchResult.nothing(applicants.take(rest))
            self._answer(applicants.take(rest), start[rest], again, loose)
            found.put(rest, again)
            if few is not None:
                fits = self._within_limit(applicants, found, problem)
                self._choose(applicants, few.passing(~fits, OUTLIERS), found, loose)
        give_most_stable(problem, applicants, start, found, self, test.words())
        added = {} if few is None else self._limit(applicants, found, few, test)
        found.measured = test.measured(found.points)
        for name, values in found.measured.items():  # what the best that was seen falls short of
            for i in np.flatnonzero([status == Status.UNSTABLE for status in found.status]):
                found.reason[i] += f", {name.replace('_', ' ')} {values[i]:.3g}"
        for row, words in added.items():
            found.reason[row] += words
        return found

    def _answer(
        self,
        applicants: Applicants,
        start: Floats,
        found: SearchResult,
        test: RobustnessTest,
        most: int | None = None,
    ) -> None:
        """Answer where RobX does, with the best that comes of pulling back.

        With `most`, only so many rows are looked at, of those that pass as they are.
        """
        if len(applicants) == 0:
            return
        max_tries = self.max_tries if most is None else min(most, self.max_tries)
        robx = replace(self._robx(), max_tries=max_tries)
        order = _row_order(test, only_sure=most is not None)
        settings = robx.search_settings._replace(
            order=ORDERS[order],
            halvings=self.halvings,
            max_tests=self.max_tests,
            most_changes=len(test.problem.names) if self.max_changes is None else self.max_changes,
            price=float(self.price_per_change),
        )
        offered = self._sparse_places(applicants, test)
        if compiled.answer(test, applicants, start, settings, self.norm, found, offered):
            return
        starts = robx.refine(applicants, start, found, test, order=order)
        for i in np.flatnonzero(found.ok):
            starts[i] = [found.points[i].copy(), *starts[i]]
        for owner, point in offered.passing(test):
            starts[owner].append(point)
        self._choose(applicants, starts, found, test)

    def _sparse_places(self, applicants: Applicants, test: RobustnessTest) -> Offered:
        """Give places that change few features, and that the averaged model scores high enough."""
        sparse = SparseStarts.of(test, self.norm) if self.sparse_starts else None
        if sparse is None:
            return Offered.none(*applicants.matrix.shape)
        return sparse.offer(applicants, test, self.sparse_starts, self.price_per_change)

    def _choose(
        self,
        applicants: Applicants,
        starts: list[list[Floats]],
        found: SearchResult,
        test: RobustnessTest,
    ) -> None:
        """Pull all starts back, and answer with the one that is best."""
        owner = np.repeat(np.arange(len(applicants)), [len(points) for points in starts])
        if len(owner) == 0:
            return
        points = np.array([point for some in starts for point in some])
        left = self.max_tests // np.bincount(owner)[owner]
        pullback = Pullback(applicants, owner, points, test, self.norm, left)
        pullback.undo()
        while not pullback.confirm(best := self._best(pullback, FINALISTS)):
            pass  # what was confirmed may no longer be the best
        pullback.keep(best)
        pullback.halve(self.halvings)
        pullback.keep(self._best(pullback, 1))
        pullback.trade(self.price_per_change)
        for k in range(len(pullback.owner)):
            found.answer(pullback.owner[k], pullback.points[k])

    def _best(self, pullback: Pullback, n: int) -> NDArray[np.intp]:
        """Choose the n best points of each applicant, the best first."""
        rules, x = pullback.test.problem.rules, pullback.applicants.matrix[pullback.owner]
        n_changes = rules.n_changes(pullback.points, x)
        most = len(rules.features) if self.max_changes is None else self.max_changes
        too_many = np.maximum(n_changes - most, 0)
        worth = rules.cost(pullback.points, x, self.norm) + self.price_per_change * n_changes
        order = np.lexsort((worth, too_many, pullback.owner))
        return np.asarray(order[place_in_line(pullback.owner[order]) < n])

    # --- few changes -----------------------------------------------------------------------------

    def _within_limit(self, applicants: Applicants, found: SearchResult, problem: Problem) -> Bools:
        """Tell who has an answer that changes no more features than it may: (n,) bool."""
        n_changes = problem.rules.n_changes(found.points, applicants.matrix)
        return found.ok & (n_changes <= (self.max_changes or np.inf))

    def _change_few(
        self, applicants: Applicants, found: SearchResult, test: RobustnessTest
    ) -> FewChanges | None:
        """Search for answers within the limit, if there is one, for those who have none."""
        if self.max_changes is None:
            return None
        rest = np.flatnonzero(~self._within_limit(applicants, found, test.problem))
        few = FewChanges.search(applicants, rest, test, self.max_changes, self.max_tests)
        self._choose(applicants, few.passing(), found, test)
        return few

    def _limit(
        self, applicants: Applicants, found: SearchResult, few: FewChanges, test: RobustnessTest
    ) -> dict[int, str]:
        """Replace what is beyond the limit by the best within it.

        Returns what to add to reasons once these say what the best lacks: what is possible, by row.
        """
        problem, possible = test.problem, {}
        n_changes = problem.rules.n_changes(found.points, applicants.matrix)
        limit = f"at most {few.most} feature{'s' if few.most != 1 else ''}"
        for i in np.flatnonzero(~self._within_limit(applicants, found, problem)):
            words = f"; with {n_changes[i]} changes an answer passes" if found.ok[i] else ""
            if not few.complete[i]:
                words += f"; a search of more than max_tests = {self.max_tests} points may help"
            if few.best[i] >= 0:
                found.points[i] = best = few.points[few.best[i]]
                stability = problem.gate.stability(best[None], self.noise).value[0]
                reason = f"no point that changes {limit} passed {test.words()}; the best seen has R"
                found.refuse(i, Status.UNSTABLE, f"{reason} = {say_failing(stability)}")
            elif n_changes[i] > few.most:
                found.points[i] = applicants.matrix[i]
                status = Status.NOT_FOUND if few.complete[i] else Status.BUDGET
                found.refuse(i, status, f"no accepted point that changes {limit} was found")
            else:
                continue
            possible[int(i)] = words
        return possible

    def _robx(self) -> RobX:
        """The paper's algorithm, which the search starts with."""
        return RobX(
            base=self.base,
            norm=self.norm,
            n_targets=self.n_targets,
            noise=self.noise,
            max_tries=self.max_tries,
        )


def outlier_bounds(test: RobustnessTest) -> Floats:
    """Give the outlier scores that are asked of the typical, and of the more and more unusual."""
    if test.outliers is None:
        return np.array([np.inf])
    typical = test.max_outlier_score
    unusual = max(typical, float(np.quantile(test.outliers.of_support, UNUSUAL)))
    return np.array([typical, *(unusual * np.array(MULTIPLES))])


def tests_by_own_score(
    test: RobustnessTest, applicants: Applicants
) -> Iterator[tuple[RobustnessTest, NDArray[np.intp]]]:
    """Give the test for those who are typical, and easier ones for those who are not; and whose.

    Nobody has to become as typical as most accepted rows to be accepted, or may become much more
    unusual than they are.
    """
    bounds = outlier_bounds(test)
    own = np.zeros(0) if test.outliers is None else test.outliers(applicants.matrix)
    places = np.searchsorted(bounds, own)
    for place, bound in enumerate(bounds):
        who = np.flatnonzero(places == place)
        if len(who):
            yield replace(test, max_outlier_score=float(bound)), who


def _row_order(test: RobustnessTest, *, only_sure: bool) -> RowOrder:
    """Say in which order rows are looked at.

    Where noise alone decides, in RobX's: answers never cost more than its. With more to pass, few
    rows do once they fit an applicant, and hardly any that do not as they are.
    """
    if only_sure:
        return "sure"
    return "any" if test.is_noise_alone else "sure first"

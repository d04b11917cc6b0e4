"""Feature tweaking: into a better leaf of one tree, as far as the ensemble follows.

Tolomei et al. (2017) look at the paths of single trees that end in the target class. Here a path
is one to a leaf that is worth more to the target than the applicant's own, which also has a meaning
for boosted margins; its conditions are intersected first, only what violates them moves, and the
ensemble decides. One path often does not flip many trees, so tweaks are chained.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robx.answers import Status
from robx.arrays import Floats
from robx.methods.base import Method, check_gamma
from robx.methods.leaf_space import Ground, held_back_by
from robx.methods.live_region import refuse_black_box
from robx.parallel import in_threads
from robx.parameters import check_number, check_whole
from robx.problem import Applicants, Problem, SearchResult

#: Candidates that are scored first; every further block is twice as long.
FIRST_BLOCK = 64
#: Tweaks that cost less than this are compared by their gain alone.
LEAST_COST = 1e-6


@dataclass(frozen=True, kw_only=True)
class FeatureTweaking(Method):
    """The cheapest move into a better leaf of one tree that the whole ensemble accepts.

    For every leaf that is worth more to the target than the one the applicant is in, the features
    that violate its path are moved just inside, onto allowed values. Of these points the cheapest
    that the model accepts is the answer. Where none is, the search goes on from the one that gains
    most margin for its cost; costs are always measured from the applicant.

    Parameters
    ----------
    norm : {1, 2}
    epsilon : float
        How far inside the conditions of a path a feature is put, in units of its scale. In a box
        less than twice as wide it is put in the middle.
    gamma : float, optional
        Require scores above this instead of the problem's threshold, if it is higher.
    max_steps : int
        Maximum number of tweaks to chain.
    max_candidates : int
        Maximum number of points to score in each step, the cheapest first.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from robx import Problem
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [4.0, 0.0]])
    >>> problem = Problem(DecisionTreeClassifier().fit(X, [0, 0, 1, 1]), X)
    >>> FeatureTweaking().explain(problem, X[1:2]).points
    array([[2., 1.]])

    References
    ----------
    Tolomei, Silvestri, Haines, Lalmas: Interpretable Predictions of Tree-based Ensembles via
    Actionable Feature Tweaking, KDD 2017.
    """

    epsilon: float = 0.1
    gamma: float | None = None
    max_steps: int = 10
    max_candidates: int = 4096

    def check(self, problem: Problem, n_people: int) -> None:
        """See `Method.check`."""
        super().check(problem, n_people)
        check_number(self.epsilon, "epsilon", "FeatureTweaking", above=0)
        check_gamma(self.gamma, "FeatureTweaking")
        check_whole(self.max_steps, "max_steps", "FeatureTweaking")
        check_whole(self.max_candidates, "max_candidates", "FeatureTweaking")
        refuse_black_box(problem, "FeatureTweaking")

    def search(self, problem: Problem, people: Applicants, rows: NDArray[np.intp]) -> SearchResult:  # noqa: ARG002
        """See `Method.search`."""
        found = SearchResult.nothing(people)
        ground = Ground.of(problem, self.norm, self.epsilon)

        def run(part: slice) -> None:
            for i in range(part.start, part.stop):
                self._search_one(ground, people.take(np.array([i])), found, i)

        in_threads(run, len(people), 1)
        return found

    def _search_one(self, ground: Ground, person: Applicants, found: SearchResult, i: int) -> None:
        """Chain tweaks for one applicant until a point is accepted."""
        bar = ground.problem.bar(self.gamma)
        now = ground.home(person.matrix, person.bounds)
        spent = float(ground.rules.cost(now, person.matrix, self.norm)[0])
        margin = float(ground.judge(now)[1][0])
        for step in range(self.max_steps):
            tried = self._tweak(ground, person, now, bar)
            if tried.is_answer:
                found.answer(i, tried.points[0])
                return
            if step == 0 and not ground.bound(person)[0] > bar:
                found.refuse(i, Status.INFEASIBLE, held_back_by(ground, person, bar))
                return
            best = tried.best_buy(margin, spent)
            if best is None:
                reason = f"after {step} of {self.max_steps} steps no tweak raises the score"
                found.refuse(i, Status.BUDGET, reason)
                return
            now, spent, margin = tried.points[[best]], tried.cost[best], tried.margin[best]
        found.refuse(i, Status.BUDGET, f"no tweak is accepted within {self.max_steps} steps")

    def _tweak(self, ground: Ground, person: Applicants, now: Floats, bar: float) -> _Tried:
        """Try the tweaks of a point from cheap to dear, up to the first that is accepted.

        The point itself comes first: to be where one is allowed to be may be enough.
        """
        points = ground.candidates(person, now[0], self.max_candidates)
        points = np.concatenate([now, points])
        tried: list[_Tried] = []
        first, size = 0, FIRST_BLOCK
        while first < len(points):
            block = points[first : first + size]
            own, low, high = (np.tile(v, (len(block), 1)) for v in (person.matrix, *person.bounds))
            block = ground.rules.snap(block, own, (low, high))
            kept = ground.rules.keeps_relations(block)
            block, own = block[kept], own[kept]
            score, margin = ground.judge(block)
            cost = ground.rules.cost(block, own, self.norm)
            accepted = np.flatnonzero(score > bar)
            if len(accepted):
                best = accepted[[cost[accepted].argmin()]]
                return _Tried(block[best], cost[best], margin[best], is_answer=True)
            tried.append(_Tried(block, cost, margin))
            first, size = first + size, 2 * size
        return _Tried.joined(tried)


@dataclass(frozen=True, eq=False)
class _Tried:
    """Points that were scored, from cheap to dear, or the answer alone: (m, d), and (m,) each."""

    points: Floats
    cost: Floats
    margin: Floats
    is_answer: bool = False

    @classmethod
    def joined(cls, parts: list[_Tried]) -> _Tried:
        return cls(
            np.concatenate([part.points for part in parts]),
            np.concatenate([part.cost for part in parts]),
            np.concatenate([part.margin for part in parts]),
        )

    def best_buy(self, margin: float, spent: float) -> int | None:
        """Which gains most margin for each unit of further cost, the first of equals."""
        gain = self.margin - margin
        if not (gain > 0).any():
            return None
        price = np.maximum(self.cost - spent, LEAST_COST)
        return int(np.where(gain > 0, gain / price, -np.inf).argmax())

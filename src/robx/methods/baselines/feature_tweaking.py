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
from robx.arrays import Floats, same_rows
from robx.kernels import leaf_boxes
from robx.methods.base import Method, check_gamma
from robx.methods.baselines.kernels import tweaks
from robx.methods.leaf_space import LeafSpace, trees_of
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

    needs = frozenset({"trees"})

    epsilon: float = 0.1
    gamma: float | None = None
    max_steps: int = 10
    max_candidates: int = 4096

    def check(self, problem: Problem, n_applicants: int) -> None:
        """See `Method.check`."""
        super().check(problem, n_applicants)
        check_number(self.epsilon, "epsilon", "FeatureTweaking", above=0)
        check_gamma(self.gamma, "FeatureTweaking")
        check_whole(self.max_steps, "max_steps", "FeatureTweaking")
        check_whole(self.max_candidates, "max_candidates", "FeatureTweaking")

    def search(
        self, problem: Problem, applicants: Applicants, rows: NDArray[np.intp]
    ) -> SearchResult:
        """See `Method.search`."""
        found = SearchResult.nothing(applicants)
        space = LeafSpace.of(problem, self.norm, self.epsilon)

        def run(part: slice) -> None:
            for i in range(part.start, part.stop):
                self._search_one(space, applicants.take(np.array([i])), found, i)

        in_threads(run, len(applicants), 1)
        return found

    def _search_one(
        self, space: LeafSpace, person: Applicants, found: SearchResult, i: int
    ) -> None:
        """Chain tweaks for one applicant until a point is accepted."""
        cutoff = space.problem.gate.cutoff(self.gamma)
        now = person.matrix
        spent = float(space.rules.cost(now, person.matrix, self.norm)[0])
        margin = float(space.judge(now)[1][0])
        for step in range(self.max_steps):
            tried = self._tweak(space, person, now, cutoff)
            if tried.is_answer:
                found.answer(i, tried.points[0])
                return
            if step == 0 and not space.bound(person)[0] > cutoff:
                reason = f"no allowed point scores above {cutoff:g}"
                found.refuse(i, Status.NOT_FOUND, reason)
                return
            best = tried.best_buy(margin, spent)
            if best is None:
                reason = f"after {step} of {self.max_steps} steps no tweak raises the score"
                found.refuse(i, Status.NOT_FOUND, reason)
                return
            now, spent, margin = tried.points[[best]], tried.cost[best], tried.margin[best]
        found.refuse(i, Status.BUDGET, f"no tweak is accepted within {self.max_steps} steps")

    def _tweak(self, space: LeafSpace, person: Applicants, now: Floats, cutoff: float) -> _Tried:
        """Try the tweaks of a point from cheap to dear, up to the first that is accepted.

        The point itself comes first: to be where one is allowed to be may be enough.
        """
        points = _candidates(space, person, now[0], self.max_candidates)
        points = np.concatenate([now, points])
        tried: list[_Tried] = []
        first, size = 0, FIRST_BLOCK
        while first < len(points):
            block = points[first : first + size]
            block, legal = space.problem.gate.admit(block, person, np.zeros(len(block), np.intp))
            block = block[legal]
            score, margin = space.judge(block)
            cost = space.rules.cost(block, person.matrix, self.norm)
            accepted = np.flatnonzero(score > cutoff)
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


def _candidates(space: LeafSpace, person: Applicants, now: Floats, most: int) -> Floats:
    """Tweaks of a point for one applicant, from cheap to dear, each once: (m, d)."""
    ways = tweaks.CHOICES if len(space.moves.code) or len(space.moves.group_member) else 1
    n_slots = min(most, ways * space.ensemble.n_leaves)
    points, cost = np.empty((n_slots, len(now))), np.empty(n_slots)
    who = leaf_boxes.Person(
        person.matrix[0],
        person.low[0],
        person.high[0],
        space.rules.may_fill,
        now,
        trees_of(space.problem).numbers(now[None])[0],
    )
    count = tweaks.candidates(who, space.trees, space.moves, points, cost)
    points, cost = points[:count], cost[:count]
    # Equal points cost the same; a sum with uneven weights brings them side by side.
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.sqrt(np.arange(2.0, len(now) + 2))
        mark = (np.nan_to_num(points) * weights).sum(axis=1)
    order = np.lexsort((mark, cost.round(9)))
    points = points[order]
    new = np.ones(count, dtype=bool)
    new[1:] = ~same_rows(points[1:], points[:-1])
    return np.asarray(points[new])

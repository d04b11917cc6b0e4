"""Feature tweaking: into a better leaf of one tree, as far as the ensemble follows.

Tolomei et al. (2017) look at the paths of single trees that end in the wished-for class. Here a
path is one to a leaf that is worth more to the target than the applicant's own, which also has a
meaning for boosted margins; its conditions are intersected first, only what violates them moves,
and the ensemble decides. One path often does not flip many trees, so tweaks are chained.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.errors import UnsupportedModel
from robx.kernels import tweaks
from robx.kernels.trees import margins
from robx.methods.base import Method, check_gamma, check_number, check_whole
from robx.parallel import in_threads
from robx.problem import Applicants, Found, Problem, Status
from robx.schema import Norm, Rules
from robx.trees import BlackBox, TreeEnsemble

__all__ = ["FeatureTweaking", "Ground"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Candidates that are scored first; every further block is twice as long.
FIRST_BLOCK = 64
#: Tweaks that cost less than this are compared by their gain alone.
LEAST_COST = 1e-6
#: How far rounding may carry a probability over a bound that was made of margins.
SLACK = 1e-6


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
        less than two of these wide it is put in the middle.
    gamma : float, optional
        Look for scores above this instead of the problem's threshold, if it is higher.
    max_steps : int
        Tweaks to chain before giving up.
    max_candidates : int
        Points to score in each step, the cheapest first.

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
        if isinstance(problem.model, BlackBox):
            raise UnsupportedModel(
                "FeatureTweaking needs the trees themselves, and this model is a BlackBox, known "
                "only by its scores. Use NearestNeighbour, which asks for nothing else, or pass "
                "the tree model without what is wrapped around it."
            )

    def search(self, problem: Problem, people: Applicants, rows: NDArray[np.intp]) -> Found:  # noqa: ARG002
        """See `Method.search`."""
        found = Found.nothing(people)
        ground = Ground.of(problem, self.norm, self.epsilon)

        def run(part: slice) -> None:
            for i in range(part.start, part.stop):
                self._search_one(ground, people.take(np.array([i])), found, i)

        in_threads(run, len(people), 1)
        return found

    def _search_one(self, ground: Ground, person: Applicants, found: Found, i: int) -> None:
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


# --- trees and rules as the kernels take them ----------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ground:
    """An ensemble and a schema as `robx.kernels.tweaks` takes them.

    Parameters
    ----------
    problem : Problem
    ensemble : TreeEnsemble
    rules : Rules
    trees, moves
        The arrays of `robx.kernels.tweaks`.
    """

    problem: Problem
    ensemble: TreeEnsemble
    rules: Rules
    trees: tweaks.Trees
    moves: tweaks.Moves

    @classmethod
    def of(cls, problem: Problem, norm: Norm = 1, epsilon: float = 0.1) -> Ground:
        """Lay out a problem whose model is a tree ensemble."""
        ensemble = problem.model
        assert isinstance(ensemble, TreeEnsemble)  # noqa: S101 - checked at the door
        sign = _signs(ensemble)
        trees = tweaks.Trees(
            ensemble.split_feature,
            ensemble.split_threshold,
            ensemble.split_missing_left,
            ensemble.split_category,
            ensemble.category_bits,
            ensemble.tree_start,
            ensemble.tree_class,
            ensemble.node_split,
            ensemble.node_right,
            ensemble.leaf_value,
            sign,
            tweaks.best_below(
                ensemble.tree_start,
                ensemble.node_split,
                ensemble.node_right,
                ensemble.leaf_value,
                sign,
            ),
            ensemble.stack_size // 3,
        )
        return cls(problem, ensemble, problem.rules, trees, _moves(problem, norm, epsilon))

    def home(self, X: Floats, bounds: tuple[Floats, Floats]) -> Floats:
        """The nearest values that applicants may have, which are mostly their own: (n, d)."""
        return self.rules.snap(X, X, bounds)

    def candidates(self, person: Applicants, now: Floats, most: int) -> Floats:
        """Tweaks of a point for one applicant, from cheap to dear, each once: (m, d)."""
        ways = tweaks.CHOICES if len(self.moves.code) or len(self.moves.group_member) else 1
        room = min(most, ways * self.ensemble.n_leaves)
        points, cost = np.empty((room, len(now))), np.empty(room)
        who = tweaks.Person(
            person.matrix[0],
            person.low[0],
            person.high[0],
            self.rules.may_fill,
            now,
            self.problem._model_numbers(now[None])[0],
        )
        count = tweaks.candidates(who, self.trees, self.moves, points, cost)
        points, cost = points[:count], cost[:count]
        # Equal points cost the same; a sum with uneven weights brings them side by side.
        with np.errstate(over="ignore", invalid="ignore"):
            weights = np.sqrt(np.arange(2.0, len(now) + 2))
            mark = (np.nan_to_num(points) * weights).sum(axis=1)
        order = np.lexsort((mark, cost.round(9)))
        points = points[order]
        same = (points[1:] == points[:-1]) | (np.isnan(points[1:]) & np.isnan(points[:-1]))
        new = np.concatenate([np.ones(min(count, 1), dtype=bool), ~same.all(axis=1)])
        return np.asarray(points[new])

    def judge(self, matrix: Floats) -> tuple[Floats, Floats]:
        """Score points, and give the margin by which the target leads: (n,) each.

        The margin tells points apart where the score is 0 or 1 to all digits.
        """
        sums = self._base(len(matrix))
        margins(self.problem._model_numbers(matrix), *self.trees[:-3], sums)
        return self.ensemble._probability(sums), self._lead(sums)

    def bound(
        self,
        people: Applicants,
        bounds: tuple[Floats, Floats] | None = None,
        may_fill: Bools | None = None,
    ) -> Floats:
        """Score that no allowed point of an applicant is above: (n,) float64.

        Parameters
        ----------
        people : n Applicants
        bounds : two (n, d) float64, optional
            Where they may go, in place of their own bounds.
        may_fill : (n, d) bool, optional
            Which missing values may be filled, in place of what the schema says.
        """
        low, high = people.bounds if bounds is None else bounds
        X = self.home(people.matrix, (low, high))
        fill = np.tile(self.rules.may_fill, (len(X), 1)) if may_fill is None else may_fill
        sums = self._base(len(X))
        numbers = self.problem._model_numbers(X)
        tweaks.best_reachable(X, numbers, low, high, fill, self.trees, self.moves, sums)
        slack = 0.0 if self.ensemble.link == "identity" else SLACK
        return self.ensemble._probability(sums) + slack

    def _base(self, n: int) -> NDArray[Any]:
        return np.tile(self.ensemble.base, (n, 1))

    def _lead(self, sums: NDArray[Any]) -> Floats:
        margin = sums.astype(np.float64) / self.ensemble.divisor * self.ensemble.slope
        if self.ensemble.link != "softmax":
            way = -1.0 if self.ensemble.link == "one_minus_sigmoid" else 1.0
            return np.asarray(way * margin[:, 0])
        target = margin[:, self.ensemble.target_index]
        others = np.delete(margin, self.ensemble.target_index, axis=1)
        top = others.max(axis=1, initial=-np.inf)
        rest = np.exp(others - top[:, None]).sum(axis=1)
        return np.asarray(target - top - np.log(rest))


def _signs(ensemble: TreeEnsemble) -> Floats:
    """1 for each tree whose larger leaf values raise the score, -1 for the others: (T,)."""
    way = np.sign(ensemble.slope * ensemble.divisor)
    if ensemble.link == "one_minus_sigmoid":
        way = -way
    helps = np.ones(ensemble.n_trees, dtype=bool)
    if ensemble.link == "softmax":
        helps = ensemble.tree_class == ensemble.target_index
    return np.asarray(np.where(helps, way, -way))


def _moves(problem: Problem, norm: Norm, epsilon: float) -> tweaks.Moves:
    rules, columns = problem.rules, problem.model.columns  # type: ignore[union-attr]
    d = len(columns)
    ranges = [(np.nan, np.nan) if c.missing_range is None else c.missing_range for c in columns]
    nothing = (np.zeros(0), np.zeros(0))
    listed = [problem._codes.get(j, nothing) for j in range(d)]
    members = list(rules.groups.values())
    group = np.full(d, -1, dtype=np.int64)
    for place, columns_of_group in enumerate(members):
        group[columns_of_group] = place
    return tweaks.Moves(
        *rules.grid,
        inside=epsilon * rules.scale,
        missing_from=np.array([float(low) for low, _ in ranges]),
        missing_to=np.array([float(high) for _, high in ranges]),
        code_start=_starts([levels for levels, _ in listed]),
        code_level=np.concatenate([levels for levels, _ in listed]),
        code=np.concatenate([codes for _, codes in listed]),
        group=group,
        group_start=_starts(members),
        group_member=np.concatenate([*members, np.zeros(0)]).astype(np.int64),
        group_optional=np.array([name in rules.optional_groups for name in rules.groups], bool),
        unit=rules.unit(norm),
        fill_cost=rules.fill_cost,
        is_label=rules.is_label,
        norm=int(norm),
    )


def _starts(parts: list[Any]) -> NDArray[np.int64]:
    return np.cumsum([0, *map(len, parts)]).astype(np.int64)


# --- why there is no answer ----------------------------------------------------------------------


def held_back_by(ground: Ground, person: Applicants, bar: float) -> str:
    """Name the constraints of an applicant without any one of which the bound is above the bar.

    Where it takes more than one, name a set of which none can be left out.
    """
    problem, x = ground.problem, person.matrix[0]
    free = _freed(problem.rules).bounds(person.matrix)
    tight = (person.low > free[0]) | (person.high < free[1])
    tight |= np.isnan(person.matrix) & ~problem.rules.may_fill
    parts: dict[str, list[int]] = {}
    for j in np.flatnonzero(tight[0]):
        feature = problem.schema.features[j]
        how = "missing" if np.isnan(x[j]) else feature.constraint()
        parts.setdefault(f"{feature.group or feature.name} ({how})", []).append(int(j))

    def helps(names: list[str]) -> bool:
        loose = np.zeros(len(x), dtype=bool)
        loose[[j for name in names for j in parts[name]]] = True
        low = np.where(loose, np.minimum(person.low, free[0]), person.low)
        high = np.where(loose, np.maximum(person.high, free[1]), person.high)
        fill = (problem.rules.may_fill | loose)[None]
        return bool(ground.bound(person, (low, high), fill)[0] > bar)

    needed = [name for name in parts if helps([name])]
    if not needed:
        if not helps(list(parts)):
            return f"no point within what was seen scores above {bar:g}"
        needed = list(parts)
        for name in parts:
            fewer = [other for other in needed if other != name]
            needed = fewer if helps(fewer) else needed
    return f"no accepted point keeps {', '.join(needed)}"


def _freed(rules: Rules) -> Rules:
    """The same columns with nothing stated about where they may go."""
    features = tuple(replace(f, change="any", low=None, high=None) for f in rules.features)
    return replace(rules, features=features)

"""`LeafSpace`: the leaf search space, an ensemble and a schema as the kernels take them.

It gives moves into better leaves, a bound on what an applicant can reach, and the reasons for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.answers import Status
from robx.arrays import Bools, Floats
from robx.kernels import leaf_boxes, reachable_leaves
from robx.kernels.trees import margins
from robx.problem import Applicants, Problem, Refusal
from robx.problem.model_view import EnsembleView
from robx.schema import Norm, Rules
from robx.trees import TreeEnsemble

#: How far rounding may carry a probability over a bound that was made of margins.
SLACK = 1e-6


def trees_of(problem: Problem) -> EnsembleView:
    """Give the view of a problem whose model is known to have trees."""
    assert isinstance(problem.view, EnsembleView)  # noqa: S101 - `Method.needs` saw to it
    return problem.view


@dataclass(frozen=True, eq=False)
class LeafSpace:
    """An ensemble and a schema as `robx.kernels.leaf_boxes` describes them.

    Parameters
    ----------
    problem : Problem
    ensemble : TreeEnsemble
    rules : Rules
    trees, moves
        The arrays of `robx.kernels.leaf_boxes`.
    """

    problem: Problem
    ensemble: TreeEnsemble
    rules: Rules
    trees: leaf_boxes.RankedTrees
    moves: leaf_boxes.Moves

    @classmethod
    def of(cls, problem: Problem, norm: Norm = 1, epsilon: float = 0.1) -> LeafSpace:
        """Lay out a problem whose model is a tree ensemble; once for all who ask."""
        key = ("leaf space", norm, epsilon)
        made: LeafSpace = problem.memo.get(key, lambda: cls._laid_out(problem, norm, epsilon))
        return made

    @classmethod
    def _laid_out(cls, problem: Problem, norm: Norm, epsilon: float) -> LeafSpace:
        ensemble = trees_of(problem).trees
        sign = signs(ensemble)
        arrays = ensemble.kernel_arrays
        best = reachable_leaves.best_below(arrays, sign)
        trees = leaf_boxes.RankedTrees(arrays, sign, best, ensemble.stack_size // 3)
        return cls(problem, ensemble, problem.rules, trees, _moves(problem, norm, epsilon))

    def judge(self, matrix: Floats) -> tuple[Floats, Floats]:
        """Score points, and give the margin by which the target leads: (n,) each.

        The margin tells points apart where the score is 0 or 1 to all digits.
        """
        sums = self._base(len(matrix))
        margins(trees_of(self.problem).numbers(matrix), self.ensemble.kernel_arrays, sums)
        return self.ensemble.probability(sums), self._lead(sums)

    def bound(
        self,
        applicants: Applicants,
        bounds: tuple[Floats, Floats] | None = None,
        may_fill: Bools | None = None,
    ) -> Floats:
        """Score that no allowed point of an applicant is above: (n,) float64.

        Parameters
        ----------
        applicants : n Applicants
        bounds : two (n, d) float64, optional
            Where they may go, in place of their own bounds.
        may_fill : (n, d) bool, optional
            Which missing values may be filled, in place of what the schema says.
        """
        X = applicants.matrix
        low, high = self.rules.reach(X, *(applicants.bounds if bounds is None else bounds))
        fill = np.tile(self.rules.may_fill, (len(X), 1)) if may_fill is None else may_fill
        sums = self._base(len(X))
        numbers = trees_of(self.problem).numbers(X)
        reachable_leaves.best_reachable(X, numbers, low, high, fill, self.trees, self.moves, sums)
        slack = 0.0 if self.ensemble.link == "identity" else SLACK
        return self.ensemble.probability(sums) + slack

    @cached_property
    def freed(self) -> Rules:
        """The rules with nothing stated about where columns may go."""
        return _freed(self.rules)

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


def signs(ensemble: TreeEnsemble) -> Floats:
    """1 for each tree whose larger leaf values raise the score, -1 for the others: (T,)."""
    way = np.sign(ensemble.slope * ensemble.divisor)
    if ensemble.link == "one_minus_sigmoid":
        way = -way
    helps = np.ones(ensemble.n_trees, dtype=bool)
    if ensemble.link == "softmax":
        helps = ensemble.tree_class == ensemble.target_index
    return np.asarray(np.where(helps, way, -way))


def _moves(problem: Problem, norm: Norm, epsilon: float) -> leaf_boxes.Moves:
    rules, view = problem.rules, trees_of(problem)
    d = len(view.columns)
    nothing = (np.zeros(0), np.zeros(0))
    listed = [view.codes.get(j, nothing) for j in range(d)]
    members = list(rules.groups.values())
    group = np.full(d, -1, dtype=np.int64)
    for place, columns_of_group in enumerate(members):
        group[columns_of_group] = place
    return leaf_boxes.Moves(
        *rules.grid,
        inside=epsilon * rules.scale,
        missing_from=view.missing_ranges[:, 0].copy(),
        missing_to=view.missing_ranges[:, 1].copy(),
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


def held_back_by(space: LeafSpace, applicants: Applicants, cutoff: float) -> list[Refusal]:
    """Name, for each, the constraints without any one of which the bound is above a cutoff.

    Where it takes more than one, name a set of which none can be left out.
    """
    problem = space.problem
    free = space.freed.bounds(applicants.matrix)
    tight = (applicants.low > free[0]) | (applicants.high < free[1])
    tight |= np.isnan(applicants.matrix) & ~problem.rules.may_fill
    # What follows holds nobody back by following, only by what is stated of it.
    tight &= ~problem.rules.follows | problem.rules.is_limited
    reasons = []
    for i in range(len(applicants)):
        x = applicants.matrix[i]
        parts: dict[str, list[int]] = {}
        for j in np.flatnonzero(tight[i]):
            feature = problem.schema.features[j]
            how = "missing" if np.isnan(x[j]) else feature.constraint()
            parts.setdefault(f"{feature.group or feature.name} ({how})", []).append(int(j))
        person = applicants.take(np.array([i]))
        reasons.append(_held_back(space, person, (free[0][i], free[1][i]), parts, cutoff))
    return reasons


def _held_back(
    space: LeafSpace,
    person: Applicants,
    free: tuple[Floats, Floats],
    parts: dict[str, list[int]],
    cutoff: float,
) -> Refusal:
    """Say which of some constraints, each by its columns, hold one applicant back."""

    def helps(choices: list[list[str]]) -> Bools:
        """Whether the bound is above the cutoff without the constraints of each choice."""
        loose = np.zeros((len(choices), person.matrix.shape[1]), dtype=bool)
        for k, names in enumerate(choices):
            loose[k, [j for name in names for j in parts[name]]] = True
        low = np.where(loose, np.minimum(person.low, free[0]), person.low)
        high = np.where(loose, np.maximum(person.high, free[1]), person.high)
        some = person.take(np.zeros(len(choices), dtype=np.intp))
        return space.bound(some, (low, high), space.rules.may_fill | loose) > cutoff

    needed = [name for name, help_ in zip(parts, helps([[n] for n in parts]), strict=True) if help_]
    if not needed:
        if not helps([list(parts)])[0]:
            reason = f"no point within what was seen scores above {cutoff:g}"
            return Refusal(Status.PRECLUDED, reason)
        needed = list(parts)
        for name in parts:
            fewer = [other for other in needed if other != name]
            needed = fewer if helps([fewer])[0] else needed
    reason = f"no accepted point keeps {', '.join(needed)}"
    return Refusal(Status.PRECLUDED, reason, tuple(needed))


def _freed(rules: Rules) -> Rules:
    """The same columns with nothing stated about where they may go."""
    stated = dict.fromkeys(("low", "high", "max_increase", "max_decrease"))
    features = tuple(f.replaced(change="any", **stated) for f in rules.features)
    return replace(rules, features=features, effects=(), together=())

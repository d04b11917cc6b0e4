"""Options and leaves that fit together, written down for CP-SAT of OR-tools."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robx.arrays import Bools, Floats, Ints
from robx.errors import InvalidInput
from robx.kernels import regions
from robx.methods.exact.demand import Condition
from robx.methods.exact.options import Axis
from robx.methods.exact.quorum import Quorum
from robx.methods.exact.whole import COST_BITS, MARGIN_BITS, unit_for
from robx.schema.relation import SINGLE_SLACK, SLACK

#: Leaves in reach beyond which the program would not fit into memory.
MOST_LEAVES = 200_000


def cp_sat() -> Any:
    """Load the solver, which is an extra."""
    try:
        from ortools.sat.python import cp_model  # noqa: PLC0415 - an extra, and slow to load
    except ImportError as error:
        raise InvalidInput(
            "Closest needs OR-tools, which is not installed. Run: pip install robx[exact]"
        ) from error
    return cp_model


@dataclass(frozen=True, eq=False)
class Solved:
    """What the solver said: a bound, and what it chose if it found anything.

    Parameters
    ----------
    bound : float
        No choice costs less; infinite where there is none.
    effort : float
        What it took, in deterministic seconds.
    is_infeasible : bool
        Whether it is proven that there is no choice.
    options : list of int, optional
        Number of the option of each axis.
    leaves : list of (trees,) int64
        The leaf of each tree of each model; empty without options.
    counted : list of bool
        Whether each model is to accept; empty without options.
    """

    bound: float
    effort: float
    is_infeasible: bool = False
    options: list[int] | None = None
    leaves: Sequence[Ints] = ()
    counted: Sequence[bool] = ()


class Program:
    """Options of axes and leaves of trees that fit together, at the least cost up to a cap.

    On a line the variables tell whether the option before number 1, 2, ... is chosen, and elsewhere
    which option is. Another variable for each model of the panel tells whether it is spared: it
    need not accept. There is none where all of them must.
    """

    def __init__(self, quorum: Quorum, axes: list[Axis], cap: float) -> None:
        self.cp = cp_sat()
        self.model = self.cp.CpModel()
        self.quorum, self.axes = quorum, axes
        self.chosen = [self._choice(axis) for axis in axes]
        self.spared = self._spared()
        self.leaves: list[tuple[Ints, list[Any]]] = []
        self.unit = unit_for(cap, COST_BITS)
        price = sum(
            self._total(choice, np.floor(axis.cost * self.unit))
            for axis, choice in zip(axes, self.chosen, strict=True)
        )
        self.model.add(price <= int(np.ceil(cap * self.unit)))
        self.model.minimize(price)

    def _spared(self) -> list[list[Any]]:
        """Give each model its variable, if it has one."""
        n_others, n_spared = len(self.quorum.demands) - 1, self.quorum.n_spared
        if n_spared == 0:
            return [[]] * (n_others + 1)
        each = [self.model.new_bool_var("") for _ in range(n_others)]
        self.model.add(self.cp.LinearExpr.sum(each) <= n_spared)
        return [[], *([one] for one in each)]

    def _choice(self, axis: Axis) -> list[Any]:
        if not axis.is_line:
            which = [self.model.new_bool_var("") for _ in axis.cost]
            self.model.add_exactly_one(which)
            return which
        before = [self.model.new_bool_var("") for _ in axis.cost[1:]]
        for one, two in itertools.pairwise(before):
            self.model.add_implication(one, two)
        return before

    def _total(self, choice: list[Any], numbers: Floats) -> Any:
        """Number of the option that is chosen, as a sum of variables."""
        whole = numbers.astype(np.int64)
        if len(choice) == len(whole):
            return self.cp.LinearExpr.weighted_sum(choice, whole.tolist())
        steps = (whole[:-1] - whole[1:]).tolist()
        return self.cp.LinearExpr.weighted_sum(choice, steps) + int(whole[-1])

    def add_trees(self) -> bool:
        """Have a leaf chosen in each tree with options that lead to it, unless there are too many.

        At most one of several leaves and an option that none of them allows: together these say
        more to the solver's linear program than leaf by leaf.
        """
        trees = self.quorum.trees
        axis_start = np.cumsum([0, *(len(axis.cost) for axis in self.axes)]).astype(np.int64)
        split_axis = np.zeros(len(trees.feature), dtype=np.int64)
        left_start = np.zeros(len(trees.feature), dtype=np.int64)
        used = 0
        for a, axis in enumerate(self.axes):
            split_axis[axis.splits] = a
            left_start[axis.splits] = used + np.arange(len(axis.splits)) * len(axis.cost)
            used += axis.left.size
        left = np.concatenate([axis.left.T.ravel() for axis in self.axes])
        count = 0
        for root, end in itertools.pairwise(trees.tree_start):
            leaves = np.empty((end - root + 1) // 2, dtype=np.int64)
            alive = np.empty((len(leaves), axis_start[-1]), dtype=bool)
            n = regions.leaf_options(
                root, trees.node_split, trees.node_right, split_axis, axis_start, left_start, left,
                leaves, alive,
            )  # fmt: skip
            count += n
            if count > MOST_LEAVES:
                return False
            self._add_tree(leaves[:n], alive[:n], axis_start)
        return True

    def _add_tree(self, leaves: Ints, alive: Bools, axis_start: Ints) -> None:
        variables = [self.model.new_bool_var("") for _ in leaves]
        self.model.add_exactly_one(variables)
        self.leaves.append((leaves, variables))
        for a, choice in enumerate(self.chosen):
            mine = alive[:, axis_start[a] : axis_start[a + 1]]
            if mine.all():
                continue
            if self.axes[a].is_line:
                first, end = mine.argmax(axis=1), mine.shape[1] - mine[:, ::-1].argmax(axis=1)
                clashes = [(end <= k, ~choice[k - 1]) for k in np.unique(end[end < mine.shape[1]])]
                clashes += [(first >= k, choice[k - 1]) for k in np.unique(first[first > 0])]
            else:
                clashes = [(~mine[:, k], which) for k, which in enumerate(choice)]
            for leaf, option in clashes:
                some = [variables[k] for k in np.flatnonzero(leaf)]
                if some:
                    self.model.add_at_most_one([*some, option])

    def ask(self, k: int, condition: Condition) -> None:
        """Ask that the weights of the leaves of model k add up to enough, unless it is spared."""
        variables, numbers, least = [], [], condition.least
        for leaves, some in self._trees_of(k):
            weights = condition.weights[leaves - self.quorum.first_leaf[k]]
            lowest = int(weights.min())
            least -= lowest
            variables += some
            numbers += (weights - lowest).tolist()
        # No number is negative now, so a model that is spared may fall short by all of the least.
        variables += self.spared[k]
        numbers += [max(least, 0)] * len(self.spared[k])
        self.model.add(self.cp.LinearExpr.weighted_sum(variables, numbers) >= least)

    def exclude(self, k: int, together: Ints) -> None:
        """Do not choose all of some leaves of model k together, unless it is spared."""
        wanted = set(together.tolist())
        others = [~v for leaf, v in self._each_leaf(k) if leaf in wanted]
        self.model.add_bool_or([*others, *self.spared[k]])

    def tie(self, factors: Floats, least: float, most: float, single: Bools) -> None:
        """Keep a sum of columns within bounds, but for rounding; who lacks a value keeps it."""
        for sign, bound in ((1.0, most), (-1.0, -least)):
            if np.isfinite(bound):
                self._tie(sign * factors, bound, single)

    def _tie(self, factors: Floats, bound: float, single: Bools) -> None:
        terms = []
        for axis, choice in zip(self.axes, self.chosen, strict=True):
            named = factors[axis.columns] != 0
            if named.any():
                columns = axis.columns[named]
                terms.append((axis.values[:, named] @ factors[columns], choice))
        size = abs(bound) + sum(float(np.abs(np.nan_to_num(v)).max()) for v, _ in terms)
        unit = unit_for(size, MARGIN_BITS)
        total = sum(self._total(choice, np.floor(np.nan_to_num(v) * unit)) for v, choice in terms)
        slack = SINGLE_SLACK if single[factors != 0].any() else SLACK
        kept = self.model.add(total <= int(np.ceil((bound + slack * size) * unit)))
        known = [~choice[int(np.isnan(v).argmax())] for v, choice in terms if np.isnan(v).any()]
        if known:
            kept.only_enforce_if(known)

    def solve(self, effort: float) -> Solved:
        """Run the solver on one thread."""
        solver = self.cp.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        solver.parameters.linearization_level = 2
        # Proofs rest on the search alone: the presolve of OR-tools 9.15 called a program of our
        # tests infeasible that has solutions (google/or-tools issue 5274 tells of another).
        solver.parameters.cp_model_presolve = False
        solver.parameters.max_deterministic_time = effort
        status = solver.solve(self.model)
        used = float(solver.response_proto.deterministic_time)
        if status == self.cp.INFEASIBLE:
            return Solved(np.inf, used, is_infeasible=True)
        bound = float(solver.best_objective_bound) / self.unit
        if status not in {self.cp.OPTIMAL, self.cp.FEASIBLE}:
            return Solved(bound, used)
        said = [[solver.boolean_value(v) for v in choice] for choice in self.chosen]
        options = [each.index(True) if True in each else len(each) for each in said]
        leaves = [
            np.array([leaf for leaf, v in self._each_leaf(k) if solver.boolean_value(v)], np.int64)
            for k in range(len(self.spared))
        ]
        counted = [not any(map(solver.boolean_value, spared)) for spared in self.spared]
        return Solved(bound, used, options=options, leaves=leaves, counted=counted)

    def _trees_of(self, k: int) -> list[tuple[Ints, list[Any]]]:
        """The trees of model k: leaves and their variables."""
        return self.leaves[self.quorum.first_tree[k] : self.quorum.first_tree[k + 1]]

    def _each_leaf(self, k: int) -> Iterator[tuple[int, Any]]:
        """Go through all leaves of model k with their variables."""
        for leaves, variables in self._trees_of(k):
            yield from zip(leaves.tolist(), variables, strict=True)

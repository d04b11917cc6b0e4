"""The closest counterfactual, with a proof: constraint programming over the leaf boxes.

Between the thresholds of an ensemble no split tells two values of a column apart, so of all allowed
values in such a cell only the nearest matters. What remains is to choose a cell for each column and
a leaf for each tree that fit together, with enough margin, at the least cost. CP-SAT of OR-tools
solves that. Sums of leaf values are whole numbers to it, rounded so that no accepted point is lost;
what it finds is scored by the ensemble itself, and excluded if rounding alone let it through.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput
from robx.kernels import grids, regions
from robx.methods.base import Method, check_gamma
from robx.methods.ground import Ground, held_back_by
from robx.methods.live import LiveRegion, refuse_black_box
from robx.parallel import in_threads
from robx.parameters import check_number, require
from robx.problem import Applicants, Found, Problem, Status
from robx.schema.rules import SINGLE_SLACK, SLACK, Rules
from robx.tables import Column
from robx.trees import TreeEnsemble

__all__ = ["Closest"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: Costs and sums of leaf values become whole numbers of about so many bits.
COST_BITS, MARGIN_BITS = 32, 34
#: Columns that a relation ties together are tried value by value, if they have at most so many.
MOST_VALUES = 2000
#: Leaves in reach beyond which the program would not fit into memory.
MOST_LEAVES = 200_000
#: The cost is capped first at this many halvings of what an answer may cost.
HALVINGS = 6
LARGEST = 1e300
#: Points that only rounding let through, before the margin is raised above all rounding.
MOST_EXCLUDED = 20


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

    gamma: float | None = None
    effort: float = 10.0

    def check(self, problem: Problem, n_people: int) -> None:
        """See `Method.check`."""
        super().check(problem, n_people)
        l1 = "1: the closest point is searched for in L1 only"
        require(self.norm == 1, self.norm, "norm", "Closest", l1)
        check_gamma(self.gamma, "Closest")
        check_number(self.effort, "effort", "Closest", above=0)
        refuse_black_box(problem, "Closest")
        _cp_sat()

    def search(self, problem: Problem, people: Applicants, rows: NDArray[np.intp]) -> Found:
        """See `Method.search`."""
        start = LiveRegion(gamma=self.gamma).search(problem, people, rows)
        found = Found.nothing(people)
        found.measured["bound"] = np.full(len(people), np.nan)
        ground = Ground.of(problem)
        demand = _Demand(ground, problem.bar(self.gamma))

        def run(part: slice) -> None:
            for i in range(part.start, part.stop):
                known = start.points[i] if start.ok[i] else None
                self._search_one(demand, people.take(np.array([i])), known, found, i)

        in_threads(run, len(people), 1)
        return found

    def _search_one(
        self, demand: _Demand, person: Applicants, known: Floats | None, found: Found, i: int
    ) -> None:
        """Search for one applicant, who has an answer already or has none."""
        ground = demand.ground
        search = _Search(demand, person, known)
        search.run(self.effort)
        if search.best is not None:
            found.answer(i, search.best)
            found.measured["bound"][i] = min(search.bound, search.cost)
        elif not search.is_proven:
            spent = f"no point was found with an effort of {self.effort:g}"
            found.refuse(i, Status.BUDGET, search.obstacle or spent)
        elif ground.bound(person)[0] > demand.bar:
            reason = f"no point that keeps every rule scores above {demand.bar:g}"
            found.refuse(i, Status.INFEASIBLE, reason)
        else:
            found.refuse(i, Status.INFEASIBLE, held_back_by(ground, person, demand.bar))


def _cp_sat() -> Any:
    """Load the solver, which is an extra."""
    try:
        from ortools.sat.python import cp_model  # noqa: PLC0415 - an extra, and slow to load
    except ImportError as error:
        raise InvalidInput(
            "Closest needs OR-tools, which is not installed. Run: pip install robx[exact]"
        ) from error
    return cp_model


# --- what an applicant can choose ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Axis:
    """What is chosen by itself, a column or a one-hot group, with m options.

    Parameters
    ----------
    columns : (k,) int
    values : (m, k) float64
        In the schema's numbers, ascending.
    cost : (m,) float64
    splits : (s,) int
        Splits of these columns.
    left : (m, s) bool
        Which options go left there.
    """

    columns: Ints
    values: Floats
    cost: Floats
    splits: Ints
    left: Bools

    def up_to(self, cost: float) -> _Axis:
        """Leave out the options that cost more."""
        some = self.cost <= cost
        return _Axis(self.columns, self.values[some], self.cost[some], self.splits, self.left[some])

    @cached_property
    def is_line(self) -> bool:
        """Whether at every split the options up to some one go left."""
        ordered = bool((self.left[:-1] >= self.left[1:]).all())
        return ordered and not np.isnan(self.values).any()


def _axes(problem: Problem, person: Applicants) -> tuple[list[_Axis], list[int]]:
    """List what an applicant can choose, and the relations between columns of listed values."""
    rules = problem.rules
    matrix, _ = rules.relation_arrays
    every = [_options(problem, person, j, every=True) for j in range(len(rules.features))]
    # Who lacks a value, and cannot have it, keeps all relations that name it.
    listed = np.array([v is not None and not np.isnan(v).all() for v in every], dtype=bool)
    ties = [r for r, row in enumerate(matrix) if listed[row != 0].all()]
    tied = (matrix[ties] != 0).any(axis=0)
    axes = [
        _axis(problem, person, members, _members(problem, person, members), merge=True)
        for members in rules.groups.values()
    ]
    for j, feature in enumerate(rules.features):
        if feature.group is None:
            values = every[j] if tied[j] else _options(problem, person, j, every=False)
            assert values is not None  # noqa: S101 - cells can be listed
            axes.append(_axis(problem, person, np.array([j]), values[:, None], merge=not tied[j]))
    return axes, ties


def _axis(
    problem: Problem, person: Applicants, columns: Ints, values: Floats, *, merge: bool
) -> _Axis:
    """Ask what options cost and where they go; of those that go alike keep the cheapest."""
    e = _ensemble(problem)
    own = np.repeat(person.matrix, len(values), axis=0)
    points = own.copy()
    points[:, columns] = values
    numbers, cost = problem.model_numbers(points), problem.rules.cost(points, own, 1)
    # Nobody comes to have what the model does not know or takes for missing, but a zero.
    lost = (np.isnan(numbers) & ~np.isnan(points) & (points != own))[:, columns]
    zero = np.array([_zero_is_missing(e.columns[j]) for j in columns])
    fits = np.isfinite(cost) & ~(lost & ~(zero & (values == 0))).any(axis=1)
    splits = np.concatenate([np.arange(e.first_split[j], e.first_split[j + 1]) for j in columns])
    left = regions.sides(numbers, splits, *e.kernel_arrays[:5])
    kept = np.flatnonzero(fits)
    kept = kept[np.argsort(cost[kept], kind="stable")]
    if merge and len(kept):
        ways = np.column_stack([np.zeros(len(kept), dtype=np.uint8), np.packbits(left[kept], 1)])
        kept = kept[np.unique(ways, axis=0, return_index=True)[1]]
    kept = kept[np.lexsort(values[kept].T[::-1])]
    return _Axis(columns, values[kept], cost[kept], splits, left[kept])


def _members(problem: Problem, person: Applicants, members: Ints) -> Floats:
    """List the ways to set one member of a group, the applicant's own first: (m, k)."""
    own, feature = person.matrix[:, members], problem.rules.features[members[0]]
    if np.isnan(own).any() or feature.change == "none":
        return own
    none = [np.zeros_like(own)] if feature.group in problem.rules.optional_groups else []
    return np.concatenate([own, np.eye(len(members)), *none])


def _options(problem: Problem, person: Applicants, j: int, *, every: bool) -> Floats | None:
    """List values that an applicant may have, their own first: (m,).

    Every one of them, or None if they cannot be counted; or the nearest of each cell.
    """
    x, low, high = person.matrix[0, j], person.low[0, j], person.high[0, j]
    kind, numerator, denominator, single, start, levels = problem.rules.grid
    own = np.array([x] if np.isnan(x) or low <= x <= high else [])
    levels = levels[start[j] : start[j + 1]]
    if len(own) and (low == high or (np.isnan(x) and not problem.rules.may_fill[j])):
        return own
    if kind[j] == grids.LEVELS:
        values = levels
    elif not every:
        cuts, wanted = _cuts(_ensemble(problem), j, x, low, high)
        values = np.empty(len(wanted))
        grid = kind[j], numerator[j], denominator[j], single[j], levels
        regions.cell_values(wanted, low, high, cuts, *grid, values)
    else:
        step = numerator[j] / denominator[j]
        if kind[j] == grids.FREE or not (high - low) / step <= MOST_VALUES:
            return None
        places = np.arange(np.floor(low / step) - 1, np.ceil(high / step) + 2)
        values = places * numerator[j] / denominator[j] + 0.0
        values = values.astype(np.float32).astype(np.float64) if single[j] else values
    return np.concatenate([own, values[(values >= low) & (values <= high) & (values != x)]])


def _cuts(e: TreeEnsemble, j: int, x: float, low: float, high: float) -> tuple[Floats, Floats]:
    """Where a column is cut into cells, and what is wanted in each."""
    cuts = e.split_threshold[e.first_split[j] : e.first_split[j + 1]]
    missing = e.columns[j].missing_range
    if missing is not None:
        cuts = np.concatenate([cuts, [np.nextafter(missing[0], -np.inf), missing[1]]])
    cuts = np.unique(cuts[(cuts >= low) & (cuts < high)])
    wanted = np.full(len(cuts) + 1, x)
    if _zero_is_missing(e.columns[j]):
        wanted[np.searchsorted(cuts, 0.0)] = 0.0
    return cuts, wanted


def _zero_is_missing(column: Column) -> bool:
    missing = column.missing_range
    return missing is not None and bool(missing[0] <= 0 <= missing[1])


def _ensemble(problem: Problem) -> TreeEnsemble:
    assert isinstance(problem.model, TreeEnsemble)  # noqa: S101 - checked at the door
    return problem.model


# --- what the model asks -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Condition:
    """Whole weights of leaves, what they must add up to, and what suffices whatever is rounded."""

    weights: Ints
    least: int
    safe: int

    def made_safe(self) -> _Condition:
        return replace(self, least=self.safe)


class _Demand:
    """Linear conditions on sums of leaf values that every accepted point meets.

    One sum makes the score of most ensembles. That of several classes is concave in the target's
    lead: any number of tangents hold, and one at a point that fails cuts it off.

    Parameters
    ----------
    ground : Ground
    bar : float
        Score that an answer must be above.
    """

    def __init__(self, ground: Ground, bar: float) -> None:
        self.ground, self.ensemble, self.bar = ground, ground.ensemble, bar
        e = self.ensemble
        is_leaf = e.node_split < 0
        tree = np.empty(e.n_leaves, dtype=np.int64)
        tree[-1 - e.node_split[is_leaf]] = np.repeat(np.arange(e.n_trees), np.diff(e.tree_start))[
            is_leaf
        ]
        self.class_of_leaf = e.tree_class[tree]
        numbers = np.concatenate([e.leaf_value, e.base]).astype(np.float64)
        largest = np.zeros(e.n_trees)
        np.maximum.at(largest, tree, np.abs(numbers[: e.n_leaves]))
        sums = np.abs(numbers[e.n_leaves :]).max() + np.cumsum(largest)
        self.total = float(sums[-1])
        self.scale = _unit(self.total, MARGIN_BITS)
        # How far the library's own sum, and whole weights, may be from the true one.
        self.error = float(sums.sum() + sums[-1]) * float(np.finfo(e.leaf_value.dtype).eps) / 2
        self.error += (e.n_trees / 2 + 1) / self.scale
        for bits in range(21 if e.link != "softmax" else 0):
            whole = numbers * 2.0**bits
            if (whole == np.rint(whole)).all() and self.total * 2.0**bits < 2.0**23:
                # Votes: sums are exact, and a tie is one.
                self.scale, self.error = 2.0**bits, 0.0
                break

    def first(self) -> list[_Condition]:
        """Give the conditions to start with."""
        e = self.ensemble
        if e.link == "softmax":
            return self._softmax()
        way = float(self.ground.trees.sign[0])
        most = int(np.ceil(self.total * self.scale)) + 1
        low, high = -most, most + 1
        while low < high:  # the least sum that is accepted
            middle = (low + high) // 2
            total = np.array([[way * middle / self.scale]], dtype=e.leaf_value.dtype)
            if e.probability(total)[0] > self.bar:
                high = middle
            else:
                low = middle + 1
        return [self._condition(np.array([way]), low / self.scale)]

    def _softmax(self) -> list[_Condition]:
        n, target = len(self.ensemble.base), self.ensemble.target_index
        out = [self.tangent(np.zeros(n))]
        for k in range(n):
            if k != target:
                away = np.zeros(n)
                away[k] = 1e6 * np.sign(self.ensemble.slope * self.ensemble.divisor)
                out.append(self.tangent(away))
        return out

    def tangent(self, sums: Floats) -> _Condition:
        """Condition that the target's lead, at most its tangent at some sums, is large enough."""
        e = self.ensemble
        unit = e.slope / e.divisor
        margin = sums * unit
        others = np.delete(np.arange(len(sums)), e.target_index)
        top = margin[others].max()
        share = np.exp(margin[others] - top)
        lead = margin[e.target_index] - top - np.log(share.sum())
        slope = np.zeros(len(sums))
        slope[e.target_index] = unit
        slope[others] = -unit * share / share.sum()
        needed = np.log(max(self.bar, 1 / LARGEST)) - np.log1p(-self.bar)
        return self._condition(slope, needed - lead + slope @ sums - 1e-5)

    def _condition(self, slope: Floats, least: float) -> _Condition:
        e = self.ensemble
        worth = slope[self.class_of_leaf] * e.leaf_value.astype(np.float64) * self.scale
        needed = (least - slope @ e.base.astype(np.float64)) * self.scale
        slack = self.error * max(np.abs(slope).sum(), 1.0) * self.scale
        least, safe = int(np.ceil(needed - slack)), int(np.ceil(needed + slack))
        return _Condition(np.rint(worth).astype(np.int64), least, safe)


# --- the search ----------------------------------------------------------------------------------


class _Search:
    """The search for one applicant: ever dearer points, until one is accepted.

    Few cells cost little, so that a program over the cheap ones is small, and soon shows that
    nobody is accepted there. The cap on the cost then doubles.

    Parameters
    ----------
    demand : _Demand
    person : one Applicant
    known : (d,) float64, optional
        An answer to begin with.
    """

    def __init__(self, demand: _Demand, person: Applicants, known: Floats | None) -> None:
        self.demand, self.person, self.best = demand, person, known
        self.problem = demand.ground.problem
        self.cost = np.inf if known is None else self._cost_of(known)
        self.axes, self.ties = _axes(self.problem, person)
        self.bound, self.is_proven, self.obstacle = 0.0, False, ""
        self.conditions = demand.first()
        self.excluded: list[Ints] = []

    def run(self, effort: float) -> None:
        """Look for better answers until it is proven that there are none."""
        if any(len(axis.cost) == 0 for axis in self.axes):
            self.is_proven = True
            return
        least = sum(float(axis.cost.min()) for axis in self.axes)
        most = min(sum(float(axis.cost.max()) for axis in self.axes), self.cost, LARGEST)
        for halvings in range(HALVINGS if most > least else 0, -1, -1):
            cap = least + (most - least) / 2**halvings
            effort = self._search_up_to(cap * (1 + 1e-9), least, effort)
            if effort <= 0:
                return
        self.is_proven = len(self.excluded) <= MOST_EXCLUDED

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
            if len(self.excluded) <= MOST_EXCLUDED:
                self.bound = max(self.bound, min(solved.bound, cap))
            if solved.is_infeasible and self.cost <= cap and not self.excluded:
                self.bound = 0.0  # what is known lies within: such a proof is worth nothing
                return 0.0
            if solved.is_infeasible or solved.values is None:
                return effort if solved.is_infeasible else 0.0
            point = self.person.matrix[0].copy()
            for axis, k in zip(program.axes, solved.values, strict=True):
                point[axis.columns] = axis.values[k]
            if self.problem.score(point[None])[0] > self.demand.bar:
                cost, kept = self._cost_of(point), self.problem.rules.keeps_relations(point[None])
                if not kept[0]:
                    self.obstacle = "the closest point breaks a relation of uncountable values"
                elif cost < self.cost:
                    self.best, self.cost = point, cost
                return 0.0
            if not self._exclude(program, solved.leaves):
                return 0.0
        return effort

    def _program(self, cap: float, least: float) -> _Program | None:
        """Write the program of the points up to a cap, with what was learned; None if too long."""
        axes = [axis.up_to(cap - least + float(axis.cost.min())) for axis in self.axes]
        program = _Program(self.demand.ensemble, axes, cap)
        if not program.add_trees():
            return None
        for r in self.ties:
            program.tie(self.problem.rules, r)
        for condition in self.conditions:
            program.ask(condition.weights, condition.least)
        for leaves in self.excluded:
            program.exclude(leaves)
        return program

    def _exclude(self, program: _Program, leaves: Ints) -> bool:
        """Rule out leaves that are not accepted after all; tell whether to go on."""
        e = self.demand.ensemble
        if e.link == "softmax":
            sums = np.bincount(self.demand.class_of_leaf[leaves], e.leaf_value[leaves], len(e.base))
            condition = self.demand.tangent(sums + e.base)
            if condition.weights[leaves].sum() < condition.least:
                self.conditions.append(condition)
                program.ask(condition.weights, condition.least)
                return True
        self.excluded.append(leaves)
        program.exclude(leaves)
        if len(self.excluded) > MOST_EXCLUDED:
            # Rounding decides about many points: from here on only what is safely above counts.
            self.conditions = [c.made_safe() for c in self.conditions]
            for condition in self.conditions:
                program.ask(condition.weights, condition.least)
        return len(self.excluded) <= 2 * MOST_EXCLUDED

    def _cost_of(self, point: Floats) -> float:
        return float(self.problem.rules.cost(point[None], self.person.matrix, 1)[0])


@dataclass(frozen=True)
class _Solved:
    """What the solver said: an option of each axis and the leaves, if it found any."""

    bound: float
    effort: float
    is_infeasible: bool
    values: list[int] | None
    leaves: Ints


class _Program:
    """Options of axes and leaves of trees that fit together, at the least cost up to a cap.

    On a line the variables tell whether the option before number 1, 2, ... is chosen, and elsewhere
    which option is.
    """

    def __init__(self, ensemble: TreeEnsemble, axes: list[_Axis], cap: float) -> None:
        self.cp = _cp_sat()
        self.model = self.cp.CpModel()
        self.ensemble, self.axes = ensemble, axes
        self.chosen = [self._choice(axis) for axis in axes]
        self.leaves: list[tuple[Ints, list[Any]]] = []
        self.unit = _unit(cap, COST_BITS)
        price = sum(
            self._total(choice, np.floor(axis.cost * self.unit))
            for axis, choice in zip(axes, self.chosen, strict=True)
        )
        self.model.add(price <= int(np.ceil(cap * self.unit)))
        self.model.minimize(price)

    def _choice(self, axis: _Axis) -> list[Any]:
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
        e = self.ensemble
        axis_start = np.cumsum([0, *(len(axis.cost) for axis in self.axes)]).astype(np.int64)
        split_axis = np.zeros(len(e.split_feature), dtype=np.int64)
        left_start = np.zeros(len(e.split_feature), dtype=np.int64)
        room = 0
        for a, axis in enumerate(self.axes):
            split_axis[axis.splits] = a
            left_start[axis.splits] = room + np.arange(len(axis.splits)) * len(axis.cost)
            room += axis.left.size
        left = np.concatenate([axis.left.T.ravel() for axis in self.axes])
        count = 0
        for root, end in itertools.pairwise(e.tree_start):
            leaves = np.empty((end - root + 1) // 2, dtype=np.int64)
            alive = np.empty((len(leaves), axis_start[-1]), dtype=bool)
            n = regions.leaf_options(
                root, e.node_split, e.node_right, split_axis, axis_start, left_start, left,
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

    def ask(self, weights: Ints, least: int) -> None:
        """Ask that the weights of the chosen leaves add up to enough."""
        variables, numbers = [], []
        for leaves, some in self.leaves:
            lowest = int(weights[leaves].min())
            least -= lowest
            variables += some
            numbers += (weights[leaves] - lowest).tolist()
        self.model.add(self.cp.LinearExpr.weighted_sum(variables, numbers) >= least)

    def exclude(self, together: Ints) -> None:
        """Do not choose all of some leaves together."""
        wanted = set(together.tolist())
        self.model.add_bool_or(
            ~variable
            for leaves, variables in self.leaves
            for leaf, variable in zip(leaves.tolist(), variables, strict=True)
            if leaf in wanted
        )

    def tie(self, rules: Rules, r: int) -> None:
        """Keep a relation, but for rounding; who lacks one of its values keeps it."""
        matrix, bounds = rules.relation_arrays
        terms = [
            (matrix[r, axis.columns[0]] * axis.values[:, 0], choice)
            for axis, choice in zip(self.axes, self.chosen, strict=True)
            if matrix[r, axis.columns[0]] != 0
        ]
        size = abs(float(bounds[r])) + sum(float(np.abs(np.nan_to_num(v)).max()) for v, _ in terms)
        unit = _unit(size, MARGIN_BITS)
        total = sum(self._total(choice, np.floor(np.nan_to_num(v) * unit)) for v, choice in terms)
        slack = SINGLE_SLACK if rules.single[matrix[r] != 0].any() else SLACK
        most = (float(bounds[r]) + slack * size) * unit
        kept = self.model.add(total <= int(np.ceil(most)))
        known = [~choice[int(np.isnan(v).argmax())] for v, choice in terms if np.isnan(v).any()]
        if known:
            kept.only_enforce_if(known)

    def solve(self, effort: float) -> _Solved:
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
            return _Solved(np.inf, used, True, None, np.zeros(0, dtype=np.int64))
        bound = float(solver.best_objective_bound) / self.unit
        if status not in {self.cp.OPTIMAL, self.cp.FEASIBLE}:
            return _Solved(bound, used, False, None, np.zeros(0, dtype=np.int64))
        said = [[solver.boolean_value(v) for v in choice] for choice in self.chosen]
        values = [each.index(True) if True in each else len(each) for each in said]
        chosen = [
            leaf
            for leaves, variables in self.leaves
            for leaf, variable in zip(leaves.tolist(), variables, strict=True)
            if solver.boolean_value(variable)
        ]
        return _Solved(bound, used, False, values, np.array(chosen, dtype=np.int64))


def _unit(largest: float, bits: int) -> float:
    """Power of two that makes a number one of about so many bits."""
    return float(2.0 ** min(bits - np.ceil(np.log2(largest or 1.0)), 900))

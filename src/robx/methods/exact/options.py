"""What an applicant can choose: for each column or one-hot group its options, and their costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robx.arrays import Bools, Floats, Ints, same
from robx.kernels import grids, regions
from robx.methods.exact.quorum import Quorum
from robx.problem import Applicants
from robx.schema.rules import Rules
from robx.schema.together import Tie as Joint

#: Columns that a relation ties together are tried value by value, if they have at most so many.
MOST_VALUES = 2000


@dataclass(frozen=True, eq=False)
class Axis:
    """What is chosen by itself, a column or a one-hot group, with m options.

    Parameters
    ----------
    columns : (k,) int
    values : (m, k) float64
        In the schema's numbers, ascending.
    cost : (m,) float64
    splits : (s,) int
        Splits of these columns, of all models.
    left : (m, s) bool
        Which options go left there.
    """

    columns: Ints
    values: Floats
    cost: Floats
    splits: Ints
    left: Bools

    def up_to(self, cost: float) -> Axis:
        """Leave out the options that cost more."""
        some = self.cost <= cost
        return Axis(self.columns, self.values[some], self.cost[some], self.splits, self.left[some])

    @cached_property
    def is_line(self) -> bool:
        """Whether at every split the options up to some one go left."""
        ordered = bool((self.left[:-1] >= self.left[1:]).all())
        return ordered and not np.isnan(self.values).any()


#: A sum of columns, (d,) factors, that must lie between two numbers.
Tie = tuple[Floats, float, float]


def axes_of(quorum: Quorum, person: Applicants) -> tuple[list[Axis], list[Tie]]:
    """List what an applicant can choose, and what ties columns of listed values together."""
    rules = quorum.problem.rules
    conditions = _ties(quorum, person)
    matrix = np.array([terms for terms, _, _ in conditions]).reshape(-1, len(rules.features))
    every = [_options(quorum, person, j, every=True) for j in range(len(rules.features))]
    joint = {int(j): tie for tie in rules.together_in_numbers.ties for j in tie.columns}
    # Who lacks a value, and cannot have it, keeps all relations that name it.
    listed = np.array(
        [
            not np.isnan(person.matrix[0, j])
            if j in joint
            else v is not None and not np.isnan(v).all()
            for j, v in enumerate(every)
        ],
        dtype=bool,
    )
    kept = [r for r, row in enumerate(matrix) if listed[row != 0].all()]
    tied = (matrix[kept] != 0).any(axis=0)
    axes = [
        _axis(quorum, person, members, _members(rules, person, members), merge=True)
        for members in rules.groups.values()
        if int(members[0]) not in joint
    ]
    for tie in rules.together_in_numbers.ties:
        merge = not tied[tie.columns].any()
        axes.append(_axis(quorum, person, tie.columns, _joint(quorum, person, tie), merge=merge))
    for j, feature in enumerate(rules.features):
        if feature.group is None and j not in joint:
            values = every[j] if tied[j] else _options(quorum, person, j, every=False)
            assert values is not None  # noqa: S101 - cells can be listed
            axes.append(_axis(quorum, person, np.array([j]), values[:, None], merge=not tied[j]))
    return axes, [conditions[r] for r in kept]


def _ties(quorum: Quorum, person: Applicants) -> list[Tie]:
    """Relations, and effects as sums that may differ from zero by what rounding to a grid does."""
    rules, x = quorum.problem.rules, person.matrix[0]
    relations, effects = rules.relations_in_numbers, rules.effects_in_numbers
    ties: list[Tie] = [
        (terms, -np.inf, float(bound))
        for terms, bound in zip(relations.matrix, relations.bound, strict=True)
    ]
    for j, causes in zip(effects.targets, effects.matrix, strict=True):
        terms = -causes
        terms[j] += 1.0
        start, rounding = float(np.nansum(terms * x)), rules.rounding(j)
        ties.append((terms, start - rounding, start + rounding))
    return ties


def _axis(
    quorum: Quorum, person: Applicants, columns: Ints, values: Floats, *, merge: bool
) -> Axis:
    """Ask what options cost and where they go; of those that go alike keep the cheapest."""
    problem = quorum.problem
    own = np.repeat(person.matrix, len(values), axis=0)
    points = own.copy()
    points[:, columns] = values
    numbers, cost = problem.view.numbers(points), problem.rules.cost(points, own, 1)
    # Nobody comes to have what the model does not know, or takes for missing.
    fits = np.isfinite(cost) & problem.gate.holds(points, person, np.zeros(len(points), np.intp))
    splits = np.concatenate([quorum.splits[j] for j in columns])
    left = regions.sides(numbers, splits, quorum.trees)
    kept = np.flatnonzero(fits)
    kept = kept[np.argsort(cost[kept], kind="stable")]
    if merge and len(kept):
        ways = np.column_stack([np.zeros(len(kept), dtype=np.uint8), np.packbits(left[kept], 1)])
        kept = kept[np.unique(ways, axis=0, return_index=True)[1]]
    kept = kept[np.lexsort(values[kept].T[::-1])]
    return Axis(columns, values[kept], cost[kept], splits, left[kept])


def _joint(quorum: Quorum, person: Applicants, tie: Joint) -> Floats:
    """List the values of columns that go together, the applicant's own first: (m, k)."""
    points = np.repeat(person.matrix, len(tie.keys) + 1, axis=0)
    points[1:, tie.leaders] = tie.keys
    owner = np.zeros(len(points), dtype=np.intp)
    admitted = quorum.problem.gate.admit(points, person, owner).points
    kept = same(admitted[:, tie.leaders], points[:, tie.leaders]).all(axis=1)
    return np.asarray(admitted[kept][:, tie.columns])


def _members(rules: Rules, person: Applicants, members: Ints) -> Floats:
    """List the ways to set one member of a group, the applicant's own first: (m, k)."""
    own, feature = person.matrix[:, members], rules.features[members[0]]
    if np.isnan(own).any() or feature.change == "none":
        return own
    none = [np.zeros_like(own)] if feature.group in rules.optional_groups else []
    return np.concatenate([own, np.eye(len(members)), *none])


def _options(quorum: Quorum, person: Applicants, j: int, *, every: bool) -> Floats | None:
    """List values that an applicant may have, their own first: (m,).

    Every one of them, or None if they cannot be counted; or the nearest of each cell.
    """
    rules = quorum.problem.rules
    x = person.matrix[0, j]
    low, high = (side[0, j] for side in rules.reach(person.matrix, *person.bounds))
    kind, numerator, denominator, single, start, levels = rules.grid
    own = np.array([x])
    levels = levels[start[j] : start[j + 1]]
    if (low == high == x) or (np.isnan(x) and not rules.may_fill[j]):
        return own
    if kind[j] == grids.LEVELS:
        values = levels
    elif not every:
        cuts, wanted = _cuts(quorum, j, x, low, high)
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


def _cuts(quorum: Quorum, j: int, x: float, low: float, high: float) -> tuple[Floats, Floats]:
    """Where any of the models cuts a column into cells, and what is wanted in each."""
    cuts = quorum.trees.threshold[quorum.splits[j]].astype(np.float64)
    missing = quorum.problem.view.columns[j].missing_range
    if missing is not None:
        cuts = np.concatenate([cuts, [np.nextafter(missing[0], -np.inf), missing[1]]])
    cuts = np.unique(cuts[(cuts >= low) & (cuts < high)])
    return cuts, np.full(len(cuts) + 1, x)

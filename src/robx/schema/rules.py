"""A schema as arrays: what may change, by how much, and at what cost.

Everything here works on matrices of numbers, (n, d) float64: numbers as they are, levels and
categories by `Feature.level_numbers`, missing values as NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Bools, Floats, same
from robx.errors import InvalidInput
from robx.kernels import conditions, grids
from robx.schema import relative
from robx.schema.bounds import ColumnBounds
from robx.schema.constraint import Constraint
from robx.schema.effect import Effect, Effects, in_order
from robx.schema.feature import Feature
from robx.schema.relation import Relation, Relations
from robx.schema.together import Part, Together, Togethers
from robx.schema.unlisted import first_place

Norm = Literal[1, 2]


@dataclass(frozen=True, eq=False)
class Rules:
    """The conditions of a schema on points for given applicants.

    Parameters
    ----------
    features : d Features
    relations : sequence of Relation
    effects : sequence of Effect
    together : sequence of Together
    optional_groups : names of one-hot groups that may have no member set
    whole : (d,) bool
        Columns that are stored as integers.
    single : (d,) bool
        Columns that are stored as float32.
    seen : (2, d) float64
        Minimum and maximum in the training table. Advice does not lead beyond these, nor, where
        the applicant is beyond already, further out.
    storable : (2, d) float64
        Minimum and maximum that the columns' dtypes can store.
    words_unlisted : mapping, optional
        By column and number, what to call values that are no level.
    """

    features: tuple[Feature, ...]
    relations: tuple[Relation, ...]
    effects: tuple[Effect, ...]
    together: tuple[Together, ...]
    optional_groups: tuple[str, ...]
    whole: Bools
    single: Bools
    seen: Floats
    storable: Floats
    words_unlisted: Mapping[tuple[int, float], str] = field(default_factory=dict)

    # --- arrays ----------------------------------------------------------------------------------

    @cached_property
    def is_label(self) -> Bools:
        """Columns of categories, in which only equality has a meaning: (d,) bool."""
        return np.array([f.kind == "categorical" for f in self.features], dtype=bool)

    @cached_property
    def first_place(self) -> Floats:
        """Numbers below which values have no place among ordered levels: (d,), else -inf."""
        return np.array([first_place(f) if f.kind == "ordinal" else -np.inf for f in self.features])

    @cached_property
    def is_member(self) -> Bools:
        """Columns of one-hot groups: (d,) bool."""
        return np.array([f.group is not None for f in self.features], dtype=bool)

    @cached_property
    def has_between(self) -> Bools:
        """Columns of numbers, where there is a way between two values: (d,) bool."""
        return ~self.is_member & ~self.is_label

    @cached_property
    def may_fill(self) -> Bools:
        """Columns whose missing values may be filled: (d,) bool."""
        return np.array([f.may_fill for f in self.features], dtype=bool)

    @cached_property
    def scale(self) -> Floats:
        """Units of cost, without weights: (d,) float64."""
        lacking = [f.name for f in self.features if not isinstance(f.scale, float)]
        if lacking:
            raise InvalidInput(
                f"Feature {lacking[0]!r} has no scale, so a cost cannot be given. Call "
                "schema.fit(X_train), which takes it from the columns, or state one."
            )
        return np.array([f.scale for f in self.features], dtype=np.float64)

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """What ties columns together, in the order in which points are settled."""
        every: tuple[Constraint, ...] = (
            self.together_in_numbers,  # before effects, whose causes it may still move
            self.effects_in_numbers,
            self.relations_in_numbers,
        )
        return tuple(constraint for constraint in every if constraint.names)

    @cached_property
    def effects_in_numbers(self) -> Effects:
        """The effects as arrays."""
        names = [feature.name for feature in self.features]
        return Effects(self.effects, names, self.storable_limits, self._on_grid)

    @cached_property
    def together_in_numbers(self) -> Togethers:
        """What goes together as arrays."""
        return Togethers(self.together, self.features, self.single, self._stated_column)

    @cached_property
    def relations_in_numbers(self) -> Relations:
        """The relations as arrays."""
        return Relations(self.relations, [feature.name for feature in self.features], self.single)

    @cached_property
    def follows(self) -> Bools:
        """Columns that nobody acts on, because they follow from others: (d,) bool."""
        none = np.zeros(len(self.features), dtype=bool)
        return np.asarray(np.any([none, *(c.follows for c in self.constraints)], axis=0))

    def _on_grid(self, j: int, wanted: Floats, own: Floats) -> Floats:
        """Bring values of one column onto its grid, within what its dtype can store: (n,)."""
        kind, numerator, denominator, single, start, levels = self.grid
        out = np.empty((len(wanted), 1))
        low, high = (np.full((len(wanted), 1), end[j]) for end in self.storable)
        one, listed = slice(j, j + 1), levels[start[j] : start[j + 1]]
        grids.snap(
            np.ascontiguousarray(wanted[:, None]),
            np.ascontiguousarray(own[:, None]),
            low,
            high,
            np.zeros(1, dtype=bool),
            *(kind[one], numerator[one], denominator[one], single[one]),
            np.array([0, len(listed)]),
            listed,
            out,
        )
        return np.asarray(out[:, 0])

    def rounding(self, j: int) -> float:
        """By how much a column's grid may round a value."""
        kind, numerator, denominator, _, start, levels = self.grid
        if kind[j] == grids.LEVELS:
            return float(np.diff(levels[start[j] : start[j + 1]]).max(initial=0.0))
        return 0.0 if kind[j] == grids.FREE else float(numerator[j] / denominator[j]) / 2

    def unit(self, norm: Norm) -> Floats:
        """Cost of moving by 1 in each column, or of another category: (d,) float64.

        What follows from other columns costs nothing.

        A change of a one-hot group moves two members; together they cost as much as a change of
        one category does. Where none may be set, taking up or giving up the only one is half of it.
        """
        return self._units[norm]

    @cached_property
    def _units(self) -> dict[Norm, Floats]:
        return {1: self._unit(0.5), 2: self._unit(np.sqrt(0.5))}

    def _unit(self, share: float) -> Floats:
        halves = np.array([share if f.kind == "onehot" else 1.0 for f in self.features])
        weight = np.array([f.weight for f in self.features])
        return np.where(self.follows, 0.0, weight * halves / self.scale)

    @cached_property
    def fill_cost(self) -> Floats:
        """Cost of filling in a missing value: (d,) float64."""
        return np.array([f.weight for f in self.features], dtype=np.float64)

    @cached_property
    def noise(self) -> Floats:
        """Unit of noise of each column: (d,) float64."""
        return np.array([f.noise_unit for f in self.features], dtype=np.float64)

    @cached_property
    def grid(self) -> tuple[NDArray[np.int64], Floats, Floats, Bools, NDArray[np.int64], Floats]:
        """The grids as `robx.kernels.grids` takes them."""
        kind = np.full(len(self.features), grids.FREE, dtype=np.int64)
        step = [Fraction(1)] * len(self.features)
        levels: list[tuple[float, ...]] = []
        for j, f in enumerate(self.features):
            stored = np.float32 if self.single[j] else np.float64
            with np.errstate(over="ignore"):
                levels.append(tuple(sorted(float(stored(number)) for number in f.level_numbers)))
            if f.kind == "onehot":
                levels[j] = (0.0, 1.0)
            if levels[j]:
                kind[j] = grids.LEVELS
            elif f.resolution is not None:
                kind[j], step[j] = grids.STEP, _as_fraction(f.resolution)
            if not levels[j] and (f.kind == "integer" or self.whole[j]):
                kind[j] = grids.STEP
                step[j] = Fraction(max(1, -(-step[j] // 1)))
        start = np.cumsum([0, *map(len, levels)]).astype(np.int64)
        flat = np.array([v for values in levels for v in values], dtype=np.float64)
        numerator, denominator = np.array([_as_floats(s) for s in step]).T.copy()
        return kind, numerator, denominator, self.single, start, flat

    @cached_property
    def _in_single(self) -> Rules:
        """The same rules for a table that is stored as float32."""
        return replace(self, single=np.ones(len(self.features), dtype=bool))

    @cached_property
    def groups(self) -> dict[str, NDArray[np.int64]]:
        """Columns of each one-hot group."""
        names = dict.fromkeys(f.group for f in self.features if f.group is not None)
        return {
            name: np.array([j for j, f in enumerate(self.features) if f.group == name])
            for name in names
        }

    @cached_property
    def features_of_columns(self) -> Bools:
        """Columns that are one feature to a person, a one-hot group or one alone: (f, d) bool.

        What follows from others is left out: it is nothing that a person does.
        """
        alone = [[j] for j, f in enumerate(self.features) if f.group is None]
        alone = [[j] for [j] in alone if not self.follows[j]]
        groups = [m.tolist() for m in self.groups.values() if not self.follows[m].all()]
        out = np.zeros((len(alone) + len(groups), len(self.features)), dtype=bool)
        for k, columns in enumerate(sorted([*alone, *groups])):
            out[k, columns] = True
        return out

    @cached_property
    def group_arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Bools]:
        """The one-hot groups as `robx.kernels.grids` takes them."""
        members = list(self.groups.values())
        start = np.cumsum([0, *map(len, members)]).astype(np.int64)
        flat = np.concatenate(members) if members else np.zeros(0, dtype=np.int64)
        optional = np.array([name in self.optional_groups for name in self.groups], dtype=bool)
        return start, flat.astype(np.int64), optional

    @cached_property
    def is_free(self) -> bool:
        """Whether every known value may become every other known value."""
        return not self.constraints and not self.is_limited.any()

    @cached_property
    def is_limited(self) -> Bools:
        """Columns of which a direction, a range or a largest change is stated: (d,) bool."""
        return np.array(
            [
                f.change != "any"
                or any(end is not None for end in (f.low, f.high, f.max_increase, f.max_decrease))
                for f in self.features
            ],
            dtype=bool,
        )

    # --- what is allowed -------------------------------------------------------------------------

    def bounds(self, X: Floats) -> tuple[Floats, Floats]:
        """Minimum and maximum of each column for each applicant: (n, d) each.

        What an applicant has is always allowed, also outside of these bounds: a stated range says
        where a change may lead. Where a change leads nowhere, both are the applicant's own value.
        """
        return self._bounds(X, self.seen)

    def stated_bounds(self, X: Floats) -> tuple[Floats, Floats]:
        """Do as `bounds` does, without regard to what was seen: (n, d) each."""
        return self._bounds(X, self._not_seen)

    def _bounds(self, X: Floats, seen: Floats) -> tuple[Floats, Floats]:
        low, high = self._column_bounds.of(X, seen)
        if self.follows.any():
            pinned = self.follows & ~np.isnan(X)
            np.copyto(low, X, where=pinned)
            np.copyto(high, X, where=pinned)
        return low, high

    @cached_property
    def _column_bounds(self) -> ColumnBounds:
        return ColumnBounds(self.features, self.storable, self.first_place, self._relative)

    @cached_property
    def _not_seen(self) -> Floats:
        return np.array([[-np.inf], [np.inf]]) * np.ones(self.seen.shape)

    def stated_by_column(self, X: Floats) -> tuple[Floats, Floats]:
        """Do as `stated_bounds` does, also for columns that follow from others: (n, d) each."""
        ends = [self._stated_column(j, X[:, j]) for j in range(len(self.features))]
        low, high = (np.column_stack(side) for side in zip(*ends, strict=True))
        return low, high

    def _stated_column(self, j: int, x: Floats) -> tuple[Floats, Floats]:
        """Minimum and maximum of a column for applicants with values x, as stated: (n,) each."""
        return self._column_bounds.of_column(j, x, np.array([-np.inf, np.inf]))

    def without_place(self, X: Floats) -> Bools:
        """Tell which values are text that is no level of an ordered column: (n, d) bool."""
        return np.asarray(self.first_place > X)

    def limits(self, X: Floats) -> tuple[Floats, Floats]:
        """Stated minimum and maximum of each column, whatever its `change` is: (n, d) each."""
        low = np.tile([-np.inf if f.low is None else f.low for f in self.features], (len(X), 1))
        high = np.tile([np.inf if f.high is None else f.high for f in self.features], (len(X), 1))
        for j, f in enumerate(self.features):
            if f.max_increase is not None or f.max_decrease is not None:
                least, most = self._relative(j, X[:, j])
                low[:, j], high[:, j] = np.fmax(low[:, j], least), np.fmin(high[:, j], most)
        return low, high

    def storable_limits(self, X: Floats) -> tuple[Floats, Floats]:
        """Do as `limits` does, within what the columns' dtypes can store: (n, d) each."""
        low, high = self.limits(X)
        return np.fmax(low, self.storable[0]), np.fmin(high, self.storable[1])

    def _relative(self, j: int, x: Floats) -> tuple[Floats, Floats]:
        """Minimum and maximum of a column by what applicants have in it: (n,) each."""
        kind, numerator, denominator, single, start, levels = self.grid
        step = float(numerator[j] / denominator[j]) if kind[j] == grids.STEP else 0.0
        listed = levels[start[j] : start[j + 1]]
        return relative.bounds(self.features[j], x, listed, step, single=bool(single[j]))

    def reach(self, X: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Widen bounds to all that a point may come to hold, what follows included: (n, d) each."""
        low, high = low.copy(), high.copy()
        for constraint in self.constraints:
            constraint.widen(X, low, high)
        return low, high

    def settle(self, Z: Floats, X: Floats, bounds: tuple[Floats, Floats]) -> Floats:
        """Bring wanted points onto the nearest values that the applicants may have: (n, d).

        Column by column and group by group; then what follows from these is written. Conditions
        that no single value meets, such as relations, are not looked at: see `keeps`.
        """
        out = self._column_by_column(Z, X, bounds)
        for constraint in self.constraints:
            constraint.settle(out, X)
        return out

    def _column_by_column(self, Z: Floats, X: Floats, bounds: tuple[Floats, Floats]) -> Floats:
        """Do as `settle` does, without regard to what ties columns together: (n, d)."""
        Z = np.ascontiguousarray(Z, dtype=np.float64)
        out = np.empty_like(Z)
        grids.snap(Z, X, bounds[0], bounds[1], self.may_fill, *self.grid, out)
        if self.groups:
            grids.settle_groups(Z, X, bounds[0], bounds[1], *self.group_arrays, out)
        return out

    def keeps(self, Z: Floats, X: Floats) -> Bools:
        """Whether each point, settled for its applicant, keeps all that ties columns: (n,) bool."""
        kept = np.ones(len(Z), dtype=bool)
        for constraint in self.constraints:
            kept &= ~constraint.broken(Z, X).any(axis=1)
        return kept

    # --- what is broken, what it costs -----------------------------------------------------------

    def broken(self, Z: Floats, X: Floats) -> list[list[str]]:
        """Name, for each point, what it breaks for its applicant.

        What was seen bounds our advice, not what a caller brings.
        """
        outside, tied = self._breaches(Z, X)
        found: list[list[str]] = [[] for _ in range(len(Z))]
        for i in np.flatnonzero(_anywhere(outside, tied)):
            names: dict[str, None] = {}
            for j in np.flatnonzero(outside[i]):
                f = self.features[j]
                if f.group is None:
                    names[f"{f.name} ({self._complaint(f, Z[i, j], X[i, j])})"] = None
                else:
                    how = "fixed" if f.change == "none" else "one member must be set"
                    names[f"{f.group} ({how})"] = None
            for constraint, broken in zip(self.constraints, tied, strict=True):
                names.update({constraint.names[k]: None for k in np.flatnonzero(broken[i])})
            found[i] = list(names)
        return found

    def breaks(self, Z: Floats, X: Floats) -> Bools:
        """Tell which points break something for their applicant, which `broken` names: (n,)."""
        return _anywhere(*self._breaches(Z, X))

    def _breaches(self, Z: Floats, X: Floats) -> tuple[Bools, list[Bools]]:
        """Which columns of points are out of bounds, and what they break that ties columns."""
        outside = self._outside(Z, X, self.stated_bounds(X)) & ~self.follows
        return outside, [constraint.broken(Z, X) for constraint in self.constraints]

    def _outside(self, Z: Floats, X: Floats, bounds: tuple[Floats, Floats]) -> Bools:
        settled = same(self._column_by_column(Z, X, bounds), Z)
        if not settled.all():
            # A table in double precision may hold what came from one in single precision.
            settled |= same(self._in_single._column_by_column(Z, X, bounds), Z)
        with np.errstate(invalid="ignore"):
            beyond = ((bounds[0] > Z) | (bounds[1] < Z)) & (Z != X)
        known = ~np.isnan(Z) & ~np.isnan(X)
        outside = (known & beyond) | (~(self._takes_any & known) & ~settled)
        return np.asarray(outside | np.isinf(Z))

    @cached_property
    def _takes_any(self) -> Bools:
        """Columns without a grid: (d,) bool."""
        free = [f.kind == "continuous" and f.resolution is None for f in self.features]
        return np.array(free, dtype=bool) & ~self.whole

    def _complaint(self, f: Feature, z: float, x: float) -> str:
        if np.isnan(x) and not f.may_fill:
            return "missing stays missing"
        if np.isinf(z):
            return "infinite"
        if np.isnan(z):
            return "a known value cannot become missing"
        if f.constraint() != "free":
            return f.constraint()
        if f.levels is not None:
            return "not one of its levels"
        return "whole numbers only"

    def changed(self, Z: Floats, X: Floats) -> Bools:
        """Which cells differ: (n, d) bool."""
        return ~same(Z, X)

    def n_changes(self, Z: Floats, X: Floats) -> NDArray[np.int64]:
        """Number of features that differ, a one-hot group counted once: (n,)."""
        return np.asarray(self.changed_features(Z, X).sum(axis=1), dtype=np.int64)

    def changed_features(self, Z: Floats, X: Floats) -> Bools:
        """Which features differ, in the order of `features_of_columns`: (n, f) bool."""
        return np.asarray(self.changed(Z, X) @ self.features_of_columns.T)

    def cost(self, Z: Floats, X: Floats, norm: Norm) -> Floats:
        """Distance from each applicant to its point, in units of the features' scales: (n,)."""
        Z, X = (np.ascontiguousarray(side) for side in np.broadcast_arrays(Z, X))
        out = np.empty(len(Z))
        each = self.unit(norm), self.is_label, self.fill_cost, self.first_place
        conditions.costs(Z, X, *each, norm, out)
        return out

    def words(self, z: Floats, x: Floats) -> list[str]:
        """Say what changes for one applicant, a line a feature, with what follows from it."""
        lines: dict[str, str] = {}
        changed = self.changed(z[None], x[None])[0]
        for j in np.flatnonzero(changed & ~self.follows):
            f = self.features[j]
            if f.group is None:
                before, after = self.say(j, x[j]), self.say(j, z[j], unit=True)
                lines[f.name] = f"{f.name}: {before} → {after}"
            elif f.group not in lines:
                before, after = (self.member(f.group, point) for point in (x, z))
                lines[f.group] = f"{f.group}: {before} → {after}"
        self._add_followers(lines, changed, z, x)
        self._add_effects(lines, changed, z, x)
        return list(lines.values())

    def _add_followers(self, lines: dict[str, str], changed: Bools, z: Floats, x: Floats) -> None:
        """Say what goes together with a change in brackets behind it, unless it says the same."""
        for one in self.together:
            said = []
            for name in one.names[1:]:
                part = Part.of(name, self.features)
                j = int(part.columns[0])
                f = self.features[j]
                if f.group is not None:
                    ends = self.member(f.group, x), self.member(f.group, z)
                else:
                    ends = self.say(j, x[j]), self.say(j, z[j], unit=True)
                words = f"{f.group or name} {ends[0]} → {ends[1]}"
                is_new = not lines.get(one.names[0], "").endswith(f"{ends[0]} → {ends[1]}")
                if changed[part.columns].any() and is_new and words not in said:
                    said.append(words)
            if said and one.names[0] in lines:
                lines[one.names[0]] += f" ({', '.join(said)})"

    def say(self, j: int | np.integer[Any], number: float, *, unit: bool = False) -> str:
        """Put a value of column j in words, with its unit if that is asked for."""
        unlisted = self.words_unlisted.get((int(j), float(number)))
        feature = self.features[j]
        known = feature.say_with_unit(number) if unit else feature.say(number)
        return known if unlisted is None else unlisted

    def _add_effects(self, lines: dict[str, str], changed: Bools, z: Floats, x: Floats) -> None:
        """Say what a change brings about behind the last of its causes."""
        place = {f.name: j for j, f in enumerate(self.features)}
        causes: dict[str, str] = {}
        for effect in in_order(self.effects):
            j = place[effect.feature]
            named = [name for name, _ in effect.terms if changed[place[name]]]
            if not changed[j] or not named:
                continue
            # What is brought about may bring about more: all of it stands behind the first cause.
            cause = causes.get(named[-1], named[-1])
            causes[effect.feature] = cause
            f = self.features[j]
            if cause in lines:
                lines[cause] += f", {effect.say(z[j] - x[j], f.say(x[j]), f.say(z[j]))}"

    def member(self, group: str, point: Floats) -> str:
        """Name the member of a one-hot group that a point has."""
        members = self.groups[group]
        names = [self.features[j].name for j in members if point[j] > 0.5]
        prefix = _common_prefix([self.features[j].name for j in members])
        return " and ".join(name[len(prefix) :] for name in names) or "none"


def _anywhere(outside: Bools, tied: Sequence[Bools]) -> Bools:
    found = outside.any(axis=1)
    for broken in tied:
        found |= broken.any(axis=1)
    return np.asarray(found)


def _common_prefix(names: Sequence[str]) -> str:
    """What all names begin with, up to the last sign that parts words."""
    shortest, longest = min(names), max(names)
    same = 0
    while same < min(len(shortest), len(longest)) and shortest[same] == longest[same]:
        same += 1
    cut = max((shortest[:same].rfind(sign) for sign in "_=-. :"), default=-1)
    return shortest[: cut + 1]


def _as_fraction(step: float) -> Fraction:
    """Give the fraction that was meant: a third, or what the decimals say."""
    fraction = Fraction(step).limit_denominator(10**9)
    return fraction if float(fraction) == step else Fraction(repr(step))


def _as_floats(fraction: Fraction) -> tuple[float, float]:
    """Numerator and denominator, where float64 holds them."""
    if max(fraction.numerator, fraction.denominator) < 10**300:
        return float(fraction.numerator), float(fraction.denominator)
    return float(fraction), 1.0

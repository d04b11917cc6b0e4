"""`Together`: columns that say the same thing, such as an education in words and in years."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress, pairwise
from typing import Any

import numpy as np

from robx.arrays import Bools, Floats, Ints, same, same_rows
from robx.errors import InvalidInput
from robx.schema.constraint import Constraint
from robx.schema.feature import Feature
from robx.tables import Category

#: More values of a leading column than this are a mistake.
MOST_VALUES = 10_000


@dataclass(frozen=True)
class Together:
    """Features of which the first determines the others: what it changes to, they change to.

    Nobody acts on the features that follow, and they cost nothing. What is said of them holds all
    the same: if one of them is fixed, the first changes only to values that leave it as it is. Who
    has values that do not belong together may keep them. A missing value stays missing.

    Parameters
    ----------
    names : tuple of str
        The leading feature, and those that follow: columns, or one-hot groups.
    values : tuple of tuples
        Values that belong together, one of each feature; of a one-hot group the member that is set.
        Empty until `Schema.fit` has learned them from the training table.

    Examples
    --------
    >>> Together.parse(["education", "education_years"])
    Together(names=('education', 'education_years'), values=())
    """

    names: tuple[str, ...]
    values: tuple[tuple[Category, ...], ...] = ()

    @classmethod
    def parse(cls, plain: Any) -> Together:
        """Read a list of names, or a mapping with these as 'features' and with 'values'."""
        if isinstance(plain, Together):
            return plain
        names: Any = plain
        values: Any = ()
        if isinstance(plain, Mapping) and set(plain) == {"features", "values"}:
            names, values = plain["features"], plain["values"]
        if not _is_list(names) or len(names) < 2 or not all(isinstance(n, str) for n in names):
            raise InvalidInput(
                "Features that belong together are a list of at least two names, such as "
                f"['education', 'education_years']. Got {plain!r}."
            )
        if len(set(names)) < len(names):
            raise InvalidInput(f"A feature is named twice in {list(names)}, which go together.")
        sound = _is_list(values) and all(_is_list(r) and len(r) == len(names) for r in values)
        if not sound or not all(isinstance(v, str | int | float) for r in values for v in r):
            raise InvalidInput(
                f"The values of {list(names)}, which go together, must be lists of {len(names)} "
                f"values each. Got {values!r}."
            )
        return cls(tuple(names), tuple(tuple(row) for row in values))

    def to_plain(self) -> Any:
        """Give it as `parse` takes it."""
        if not self.values:
            return list(self.names)
        return {"features": list(self.names), "values": [list(row) for row in self.values]}

    @property
    def text(self) -> str:
        """Name it in words."""
        return f"{', '.join(self.names[1:])} (goes with {self.names[0]})"

    def kept(self, features: Sequence[Feature]) -> Together:
        """Return a copy without values that other features of the same names do not have."""
        parts = [Part.of(name, features) for name in self.names]
        if not all(part.features for part in parts):
            return self
        rows = (zip(row, parts, strict=True) for row in self.values)
        known = [all(part.numbers(value) is not None for value, part in row) for row in rows]
        return replace(self, values=tuple(compress(self.values, known)))

    def renamed(self, names: Mapping[str, str]) -> Together:
        """Return a copy with other names of columns, which are also what groups have for values."""
        values = tuple(
            tuple(
                value if name in names else names[str(value)]
                for name, value in zip(self.names, row, strict=True)
            )
            for row in self.values
        )
        return Together(tuple(names.get(name, name) for name in self.names), values)

    # --- learned from a table --------------------------------------------------------------------

    def fit(
        self, features: Sequence[Feature], matrix: Floats, single: Bools | None = None
    ) -> Together:
        """Return a copy with the values that occur together in rows of a table.

        Of columns that are stored as float32, `single`, the decimals are kept that were meant.
        """
        if self.values:
            return self
        parts = [Part.of(name, features) for name in self.names]
        codes = np.column_stack([part.codes(matrix) for part in parts])
        rows = np.unique(codes[~np.isnan(codes).any(axis=1)], axis=0)
        short = [single is not None and bool(single[part.columns[0]]) for part in parts]
        said = [
            tuple(p.value(c, short=s) for p, c, s in zip(parts, row, short, strict=True))
            for row in rows
        ]
        for one, two in pairwise(said):
            if one[0] == two[0]:
                raise InvalidInput(
                    f"{self.names[0]!r} must determine what goes together with it, {self.names[1:]}"
                    f", in every row. Got {list(one)} and {list(two)}."
                )
        if not 0 < len(said) <= MOST_VALUES:
            raise InvalidInput(
                f"{self.names[0]!r}, with which others go together, must have 1 to {MOST_VALUES} "
                f"different values. Got {len(said)}."
            )
        return replace(self, values=tuple(said))


@dataclass(frozen=True, eq=False)
class Part:
    """One of the features that go together: a column, or the columns of a one-hot group."""

    columns: Ints
    features: tuple[Feature, ...]

    @classmethod
    def of(cls, name: str, features: Sequence[Feature]) -> Part:
        """Find the column of this name, else the group."""
        columns = [j for j, f in enumerate(features) if f.name == name]
        columns = columns or [j for j, f in enumerate(features) if f.group == name]
        return cls(np.array(columns, dtype=np.int64), tuple(features[j] for j in columns))

    @property
    def is_group(self) -> bool:
        """Whether it is a one-hot group rather than a column."""
        return len(self.columns) > 1

    def codes(self, matrix: Floats) -> Floats:
        """Give one number for what each row has, NaN where nothing or no level is known: (n,)."""
        values = matrix[:, self.columns]
        if self.is_group:
            sound = (values == 1).sum(axis=1) == 1
            return np.where(sound, values.argmax(axis=1), np.nan)
        column, levels = values[:, 0], np.array(self.features[0].level_numbers)
        if len(levels) == 0:
            return np.where(np.isfinite(column), column, np.nan)
        with np.errstate(over="ignore"):
            alike = (column[:, None] == levels) | (column[:, None] == levels.astype(np.float32))
        return np.where(alike.any(axis=1), alike.argmax(axis=1), np.nan)

    def value(self, code: float, *, short: bool = False) -> Category:
        """Give what a code stands for: a number, a level, or the member that is set.

        A number may be given as the shortest one that float32 stores as the same, `short`.
        """
        if self.is_group:
            return self.features[int(code)].name
        levels = self.features[0].levels
        if levels is not None:
            return levels[int(code)]
        if code == round(code):
            return int(code)
        return float(str(np.float32(code))) if short else float(code)

    def numbers(self, value: Category) -> Floats | None:
        """Give the numbers of the columns for a value, None where there is no such value: (k,)."""
        if self.is_group:
            names = [f.name for f in self.features]
            return np.eye(len(names))[names.index(str(value))] if value in names else None
        f = self.features[0]
        if f.levels is not None:
            known = value in f.levels
            return np.array([f.level_numbers[f.levels.index(value)]]) if known else None
        return None if isinstance(value, str | bool) else np.array([float(value)])


class Togethers(Constraint):
    """All features of a schema that go together, as arrays.

    Parameters
    ----------
    togethers : sequence of Together
    features : d Features
    single : (d,) bool
        Columns that are stored as float32.
    bounds : function
        What applicants with values (n,) may have in column j: ``bounds(j, values)`` gives two (n,).
    """

    def __init__(
        self,
        togethers: Sequence[Together],
        features: Sequence[Feature],
        single: Bools,
        bounds: Callable[[int, Floats], tuple[Floats, Floats]],
    ) -> None:
        self.names = tuple(one.text for one in togethers)
        self.follows = np.zeros(len(features), dtype=bool)
        self.ties = [Tie.of(one, features, single) for one in togethers]
        # A table in double precision may hold what came from one in single precision.
        self._in_single = [Tie.of(one, features, np.ones_like(single)) for one in togethers]
        self.is_same_in_single = all(map(Tie.equals, self.ties, self._in_single))
        for tie in self.ties:
            self.follows[tie.followers] = True
        self._bounds = bounds

    def settle(self, Z: Floats, X: Floats) -> None:
        """See `Constraint.settle`: write what follows, or leave all as it was."""
        for tie in self.ties:
            self._settle(tie, Z, X)

    def _settle(self, tie: Tie, Z: Floats, X: Floats) -> None:
        lead, follow = tie.leaders, tie.followers
        Z[:, follow] = X[:, follow]
        moved = np.flatnonzero(~same_rows(Z[:, lead], X[:, lead]))
        if len(moved) == 0:
            return
        own, wanted = X[moved], Z[moved]
        key = tie.find(wanted[:, lead])
        fits = key >= 0
        fits[fits] = self._allows(tie, key[fits], own[fits])
        key[~fits] = -1
        if tie.is_number:
            for i in np.flatnonzero(~fits & np.isfinite(own[:, lead[0]])):
                key[i] = self._nearest(tie, float(wanted[i, lead[0]]), own[i : i + 1])
            fits = key >= 0
        some = moved[fits]
        Z[np.ix_(some, lead)] = tie.keys[key[fits]]
        # Who lacks a value still lacks it.
        Z[np.ix_(some, follow)] = np.where(
            np.isnan(X[np.ix_(some, follow)]), np.nan, tie.values[key[fits]]
        )
        back = moved[~fits]
        Z[np.ix_(back, lead)] = X[np.ix_(back, lead)]

    def _allows(self, tie: Tie, key: Ints, own: Floats) -> Bools:
        """Tell whether applicants may have what follows from a key: (n,) bool."""
        fits = np.ones(len(key), dtype=bool)
        for place, j in enumerate(tie.followers):
            value, x = tie.values[key, place], own[:, j]
            low, high = self._bounds(int(j), x)
            fits &= np.isnan(x) | (value == x) | ((low <= value) & (value <= high))
        return fits

    def _nearest(self, tie: Tie, wanted: float, own: Floats) -> int:
        """Find the key between an applicant's value and the wanted one that is nearest to it."""
        x, keys = float(own[0, tie.leaders[0]]), tie.keys[:, 0]
        low, high = self._bounds(int(tie.leaders[0]), own[:, tie.leaders[0]])
        between = (keys >= min(x, wanted)) & (keys <= max(x, wanted)) & (keys != x)
        places = np.flatnonzero(between & (keys >= low[0]) & (keys <= high[0]))
        places = places[self._allows(tie, places, np.repeat(own, len(places), axis=0))]
        return int(places[np.abs(keys[places] - wanted).argmin()]) if len(places) else -1

    def broken(self, Z: Floats, X: Floats) -> Bools:
        """See `Constraint.broken`: other values than those that go together."""
        out = np.empty((len(Z), len(self.ties)), dtype=bool)
        for k, tie in enumerate(self.ties):
            out[:, k] = self._differs(tie, Z, X)
            if out[:, k].any() and not self._in_single[k].equals(tie):
                out[:, k] &= self._differs(self._in_single[k], Z, X)
        return out

    def _differs(self, tie: Tie, Z: Floats, X: Floats) -> Bools:
        """Tell which points have other values than those that go together: (n,) bool."""
        settled = Z.copy()
        self._settle(tie, settled, X)
        return np.asarray(~same(settled[:, tie.columns], Z[:, tie.columns]).all(axis=1))

    def widen(self, X: Floats, low: Floats, high: Floats) -> None:
        """See `Constraint.widen`: the least and the largest of all values that follow.

        Bounds that are wider already stay so, unless the leading feature cannot move.
        """
        for tie in self.ties:
            lead = tie.leaders
            moves = ((low[:, lead] < high[:, lead]) | np.isnan(X[:, lead])).any(axis=1)
            for place, j in enumerate(tie.followers):
                least, most = self._bounds(int(j), X[:, j])
                values, x = tie.values[:, place], X[:, j]
                own_low, own_high = np.where(moves, low[:, j], x), np.where(moves, high[:, j], x)
                low[:, j] = np.fmin(np.fmin(x, own_low), np.fmax(least, values.min()))
                high[:, j] = np.fmax(np.fmax(x, own_high), np.fmin(most, values.max()))


@dataclass(frozen=True, eq=False)
class Tie:
    """What goes together as arrays: m keys of the leading columns, ascending, and what follows.

    Parameters
    ----------
    leaders : (k,) int
        One column, or those of a one-hot group.
    followers : (q,) int
    keys : (m, k) float64
    values : (m, q) float64
    is_number : bool
        Whether there is a way between two keys.
    """

    leaders: Ints
    followers: Ints
    keys: Floats
    values: Floats
    is_number: bool

    @classmethod
    def of(cls, together: Together, features: Sequence[Feature], single: Bools) -> Tie:
        """Look up the columns and numbers of what goes together."""
        if not together.values:
            raise InvalidInput(
                f"It is not known yet which values of {list(together.names)} go together. Call "
                "schema.fit(X_train) first."
            )
        parts = [Part.of(name, features) for name in together.names]
        rows = [
            np.concatenate([p.numbers(v) for p, v in zip(parts, row, strict=True)])
            for row in together.values
        ]
        columns = np.concatenate([part.columns for part in parts])
        table = np.array(rows, dtype=np.float64).reshape(len(rows), len(columns))
        with np.errstate(over="ignore"):
            table = np.where(single[columns], table.astype(np.float32).astype(np.float64), table)
        n_lead = len(parts[0].columns)
        order = np.lexsort(table[:, :n_lead].T[::-1])
        return cls(
            columns[:n_lead],
            columns[n_lead:],
            table[order, :n_lead],
            table[order, n_lead:],
            bool(parts[0].features[0].is_number),
        )

    @property
    def columns(self) -> Ints:
        """All of its columns."""
        return np.concatenate([self.leaders, self.followers])

    def equals(self, other: Tie) -> bool:
        """Whether the same numbers go together in both."""
        return np.array_equal(self.keys, other.keys) and np.array_equal(self.values, other.values)

    def find(self, wanted: Floats) -> Ints:
        """Find the key of each row, -1 where there is none: (n,)."""
        if len(self.leaders) > 1:
            alike = (wanted[:, None, :] == self.keys).all(axis=2)
            return np.where(alike.any(axis=1), alike.argmax(axis=1), -1)
        keys = self.keys[:, 0]
        place = np.minimum(np.searchsorted(keys, wanted[:, 0]), len(keys) - 1)
        return np.where(keys[place] == wanted[:, 0], place, -1)


def _is_list(plain: Any) -> bool:
    return isinstance(plain, Sequence) and not isinstance(plain, str)


def complaints(togethers: Sequence[Together], features: Sequence[Feature]) -> Iterable[str]:
    """Say what contradicts the features, or each other."""
    named = [name for one in togethers for name in one.names]
    for one in togethers:
        parts = [Part.of(name, features) for name in one.names]
        for name, part in zip(one.names, parts, strict=True):
            if len(part.columns) == 0:
                yield f"{list(one.names)} go together, and {name!r} is not a feature"
                return
            if named.count(name) > 1:
                yield f"{name!r} goes together with others twice; list all of them at once"
        if parts[0].features[0].group is not None and not parts[0].is_group:
            yield f"{one.names[0]!r} is a member of a one-hot group; name the group instead"
        following = {int(j) for part in parts[1:] for j in part.columns}
        for j in sorted(following):
            group = {k for k, f in enumerate(features) if f.group == features[j].group is not None}
            if not group <= following:
                yield f"{features[j].name!r} goes with {one.names[0]!r}, so its whole group must"
        for row in one.values:
            for name, part, value in zip(one.names, parts, row, strict=True):
                if part.numbers(value) is None:
                    yield f"{value!r}, of {list(one.names)}, is not a value of {name!r}"

"""`Schema`: what every column of a table is, and what may change."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from robx.budget import Budget
from robx.errors import InvalidInput
from robx.parameters import is_number, require
from robx.schema.codec import Codec
from robx.schema.effect import Effect, in_order
from robx.schema.feature import Feature
from robx.schema.files import load_plain, write_plain
from robx.schema.projection import project
from robx.schema.relation import Relation
from robx.schema.rules import Norm, Rules
from robx.schema.together import Together
from robx.schema.together import complaints as together_complaints
from robx.schema.units import noise_unit_of, range_of, unit_of
from robx.schema.unlisted import shown_words
from robx.tables import Layout

FORMAT = 1
#: What a schema file need not have.
OPTIONAL = ("relations", "optional_groups", "effects", "together")


@dataclass(frozen=True, init=False)
class Schema:
    """The features of a table, in order, and the relations between them.

    Parameters
    ----------
    features : sequence of Feature
    relations : sequence of str or Relation
        Linear inequalities that every answer keeps, such as ``"open_accounts <= all_accounts"``.
    optional_groups : sequence of str
        One-hot groups that may have no member set.
    effects : mapping from str to str, or sequence of Effect
        What a change brings about, such as ``{"age": "+1 * years_employed"}``: the feature on the
        left follows from the changes on the right, costs nothing and may be a fixed one.
    together : sequence of sequences of str
        Features that say the same thing, such as ``["education", "education_years"]``: the first
        determines the others, which change with it at no cost. Which values go together is learned
        from the training table.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [25, 40, 61], "rate": [0.5, 1.25, 0.75]})
    >>> schema = Schema.infer(people).override(age={"change": "none"})
    >>> print(schema)
    feature  kind        may change        scale
    age      integer     fixed             36
    rate     continuous  in steps of 0.01  0.75
    >>> schema.words(people[:1], people[1:2].assign(age=25))
    [['rate: 0.5 → 1.25']]
    """

    features: tuple[Feature, ...]
    relations: tuple[Relation, ...]
    optional_groups: tuple[str, ...]
    effects: tuple[Effect, ...]
    together: tuple[Together, ...]

    def __init__(
        self,
        features: Iterable[Feature],
        relations: Iterable[str | Relation] = (),
        optional_groups: Iterable[str] = (),
        effects: Mapping[str, Any] | Iterable[Effect] = (),
        together: Iterable[Sequence[str] | Mapping[str, Any] | Together] = (),
    ) -> None:
        for name, value in (
            ("features", features),
            ("relations", relations),
            ("optional_groups", optional_groups),
            ("effects", effects),
            ("together", together),
        ):
            if isinstance(value, str) or not isinstance(value, Iterable):
                raise InvalidInput(f"The {name} of a schema must be a list. Got {value!r}.")
        columns = tuple(features)
        if not columns or not all(isinstance(f, Feature) for f in columns):
            raise InvalidInput("A schema needs a list of at least one robx.Feature.")
        ties = tuple(r if isinstance(r, Relation) else Relation.parse(r) for r in relations)
        object.__setattr__(self, "features", columns)
        object.__setattr__(self, "relations", ties)
        object.__setattr__(self, "optional_groups", tuple(optional_groups))
        object.__setattr__(self, "effects", _read_effects(effects))
        object.__setattr__(self, "together", tuple(Together.parse(one) for one in together))
        for complaint in _complaints(self):
            raise InvalidInput(f"The schema contradicts itself: {complaint}.")

    # --- made from a table, by hand, from a file --------------------------------------------------

    @classmethod
    def infer(
        cls,
        X: Any,
        *,
        scale: float | Literal["range"] | None = None,
        protected: Iterable[str] | None = None,
    ) -> Schema:
        """Guess a schema from a table; print it to see the guesses, `override` to mend them.

        Text and category columns are categorical (ordinal where pandas says that they are ordered),
        booleans too. Whole numbers are integers. Numbers with few decimals get that resolution, and
        where at least 50 rows show it, multiples of 100, or of 0.05, get this one. 0/1
        columns with a common beginning of their names, of which each row has exactly one set, are a
        one-hot group. Where one column determines another in every row, and not by chance, such as
        an education in words and in years, these go together.

        Columns whose names or levels are about protected features (sex, race, religion, marital
        status, ...) are fixed, and an age may only rise. Nothing else is taken to be immutable:
        only you know that.

        Parameters
        ----------
        X : table of shape (n, d)
            For example the training table.
        scale : float or "range", optional
            Unit of all numeric columns; "range" for the range of each. Unless given, each column
            has its range, cut where outliers stretch it (see `fit`).
        protected : sequence of str, optional
            Columns and one-hot groups to fix instead of those that are recognised; ``()`` for none.

        Examples
        --------
        >>> import pandas as pd
        >>> people = pd.DataFrame({"age": [25, 40], "sex": ["f", "m"], "wage": [900, 1200]})
        >>> [feature.change for feature in Schema.infer(people)]
        ['increase', 'none', 'any']
        >>> [feature.change for feature in Schema.infer(people, protected=["age"])]
        ['none', 'any', 'any']
        """
        from robx.schema.guess import guess_features  # noqa: PLC0415 - it makes schemas' features

        schema = cls(tuple(guess_features(X, protected=protected)))
        if scale is not None:
            schema = cls(
                tuple(f.replaced(scale=scale) if f.is_number else f for f in schema.features)
            )
        codec = schema._codec(X)
        matrix = codec.read(X, "X")
        return schema.with_guessed_ties(matrix).fit_matrix(matrix, codec.single)

    def with_guessed_ties(self, matrix: NDArray[np.float64]) -> Schema:
        """Return a copy in which features go together of which one determines the others."""
        from robx.schema.determined import guess_together  # noqa: PLC0415 - as above

        return self.override(together=guess_together(self.features, matrix))

    def override(
        self,
        changes: Mapping[str, Feature | Mapping[str, Any]] | None = None,
        /,
        *,
        relations: Sequence[str] | None = None,
        effects: Mapping[str, Any] | None = None,
        together: Iterable[Sequence[str] | Mapping[str, Any] | Together] | None = None,
        **by_name: Feature | Mapping[str, Any],
    ) -> Schema:
        """Return a copy with some features changed.

        Parameters
        ----------
        changes : mapping from names, optional
            For each name the fields to change, or a whole new `Feature`. Names that are Python
            words can be given as keywords.
        relations : sequence of str, optional
            New relations, in place of those there are.
        effects : mapping from str to str, optional
            New effects, in place of those there are.
        together : sequence of sequences of str, optional
            New lists of features that go together, in place of those there are.
        """
        if changes is not None and not isinstance(changes, Mapping):
            raise InvalidInput(
                "Schema.override takes a mapping from names to fields, such as "
                f"{{'age': {{'change': 'none'}}}}. Got {changes!r}."
            )
        wanted = {**(changes or {}), **by_name}
        unknown = [name for name in wanted if name not in self.names]
        if unknown:
            raise InvalidInput(
                f"The schema has no feature {unknown[0]!r}. It has {', '.join(self.names)}."
            )
        features = []
        for feature in self.features:
            change = wanted.get(feature.name, {})
            if not isinstance(change, Feature | Mapping):
                raise InvalidInput(
                    f"Feature {feature.name!r} is overridden by a mapping of fields or a Feature. "
                    f"Got {change!r}."
                )
            features.append(
                change if isinstance(change, Feature) else _respecified(feature, dict(change))
            )
        kept = self.relations if relations is None else tuple(relations)
        following = self.effects if effects is None else effects
        tied = [one.kept(features) for one in self.together] if together is None else together
        return Schema(tuple(features), kept, self.optional_groups, following, tied)

    def reordered(self, names: Sequence[str]) -> Schema:
        """Return a copy with the features in this order of their names."""
        return replace(self, features=tuple(self[name] for name in names))

    def fit(self, X: Any) -> Schema:
        """Return a copy in which every feature has a scale: that of its column in X unless stated.

        That is the range of the column, cut where outliers stretch it: at most 2.5 times the
        distance between the 5th and the 95th percentile. Noise gets a smaller unit where most
        values lie closer: at most 1.25 times this distance. A feature with the scale "range" gets
        its whole range as its scale; one whose scale is a number has this for its noise, too.
        """
        codec = self._codec(X)
        return self.fit_matrix(codec.read(X, "X"), codec.single)

    def fit_matrix(
        self, matrix: NDArray[np.float64], single: NDArray[np.bool_] | None = None
    ) -> Schema:
        """Do as `fit` does, from numbers, of which some columns may come from float32."""
        features = []
        for feature, column in zip(self.features, matrix.T, strict=True):
            scale, noise = feature.scale, feature.noise
            if scale is None or scale == "range":
                finite = column[np.isfinite(column)]
                counted = scale is None and feature.kind in {"continuous", "integer"}
                scale = (unit_of if counted else range_of)(finite) if feature.is_number else 1.0
                if noise is None and feature.kind in {"continuous", "integer"}:
                    less = noise_unit_of(finite, scale)
                    noise = less if less < scale else None
            features.append(replace(feature, scale=scale, noise=noise))
        together = tuple(one.fit(features, matrix, single) for one in self.together)
        return replace(self, features=tuple(features), together=together)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, budget: Budget | None = None) -> Schema:
        """Read a schema from a `.yaml`, `.yml` or `.json` file, within a `robx.Budget`."""
        file, budget = Path(path), budget or Budget.default()
        plain = load_plain(file, budget)
        try:
            with budget.reading(f"'{file.name}'"):
                return cls.from_dict(plain)
        except InvalidInput as error:
            raise InvalidInput(f"'{file.name}' holds no sound schema: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schema to a `.yaml`, `.yml` or `.json` file, to be edited and loaded."""
        write_plain(self.to_dict(), Path(path))

    @classmethod
    def from_dict(cls, plain: Any) -> Schema:
        """Make a schema from plain values, as `to_dict` gives them."""
        if not isinstance(plain, Mapping) or not isinstance(plain.get("features"), list):
            raise InvalidInput("A schema file holds a mapping with a list of 'features'.")
        unknown = set(plain) - {"robx_schema", "features", *OPTIONAL}
        if unknown:
            raise InvalidInput(f"A schema file has no field {sorted(map(str, unknown))[0]!r}.")
        if plain.get("robx_schema", FORMAT) != FORMAT:
            raise InvalidInput(
                f"The schema file has format {plain['robx_schema']!r}; this robx reads {FORMAT}."
            )
        features = []
        for fields in plain["features"]:
            if not isinstance(fields, Mapping) or not isinstance(fields.get("name"), str | int):
                raise InvalidInput(f"Each feature of a schema file has a 'name'. Got {fields!r}.")
            if isinstance(fields["name"], bool):
                raise InvalidInput(
                    "A name of the schema file reads as true or false: put it in quotes. Got "
                    f"{dict(fields)!r}."
                )
            features.append(Feature(str(fields["name"])))
            rest = {str(k): v for k, v in fields.items() if k != "name"}
            features[-1] = _respecified(features[-1], rest)
        others = {name: plain[name] for name in OPTIONAL if plain.get(name) is not None}
        return cls(tuple(features), **others)

    def to_dict(self) -> dict[str, Any]:
        """Give the schema as plain values."""
        plain: dict[str, Any] = {
            "robx_schema": FORMAT,
            "features": [feature.to_dict() for feature in self.features],
        }
        if self.relations:
            plain["relations"] = [relation.text for relation in self.relations]
        if self.optional_groups:
            plain["optional_groups"] = list(self.optional_groups)
        if self.effects:
            plain["effects"] = {effect.feature: effect.to_plain() for effect in self.effects}
        if self.together:
            plain["together"] = [one.to_plain() for one in self.together]
        return plain

    # --- looked at -------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features, in order."""
        return tuple(feature.name for feature in self.features)

    @property
    def noise_units(self) -> dict[str, float]:
        """Unit of noise of each feature; 0 for categories and one-hot columns, which get none.

        What `robx.stability` takes as `scale`, to measure as a `Problem` with this schema does.
        """
        units = {f.name: f.noise_unit for f in self.features}
        for name, unit in units.items():
            if unit is None:
                raise InvalidInput(
                    f"Feature {name!r} has no scale. Call schema.fit(X_train) first."
                )
        return {name: float(unit or 0.0) for name, unit in units.items()}

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    def __getitem__(self, name: str) -> Feature:
        for feature in self.features:
            if feature.name == name:
                return feature
        raise KeyError(name)

    def __str__(self) -> str:
        lines = [("feature", "kind", "may change", "scale", "levels")]
        for f in self.features:
            kind = f.kind if f.group is None else f"one of {f.group}"
            words = [f.say(number) for number in f.level_numbers]
            more = [f"{len(words) - 6} more"] if len(words) > 6 else []
            levels = (" < " if f.kind == "ordinal" else ", ").join(words[:6] + more)
            scale = f"{f.scale:g}" if isinstance(f.scale, float) else f.scale or ""
            effect = next((e for e in self.effects if e.feature == f.name), None)
            may = f.constraint() if effect is None else f"follows from {effect.text}"
            leader = next((t.names[0] for t in self.together if f.name in t.names[1:]), None)
            if leader is not None:
                may = f"goes with {leader}" + (f", {may}" if may != "free" else "")
            lines.append((f.name, kind, may, scale, levels))
        if not any(line[4] for line in lines[1:]):
            lines = [(*line[:4], "") for line in lines]
        width = [max(len(line[i]) for line in lines) for i in range(4)]
        text = [
            "  ".join(cell.ljust(w) for cell, w in zip(line, [*width, 0], strict=True))
            for line in lines
        ]
        text += [f"with {relation.text}" for relation in self.relations]
        return "\n".join(line.rstrip() for line in text)

    # --- asked -----------------------------------------------------------------------------------

    def violations(self, X: Any, applicants: Any = None) -> list[list[str]]:
        """Name what each row breaks: features with their constraint, and relations.

        Parameters
        ----------
        X : table of shape (n, d)
            Points to look at.
        applicants : table of shape (n, d), optional
            Who they are for. Without it only ranges, levels and relations can be looked at.

        Returns
        -------
        list of n lists of str
        """
        points, people, rules = self.read_both(X, applicants)
        return rules.broken(points, people)

    def project(self, X: Any, applicants: Any = None) -> Any:
        """Bring each row to the nearest point that the schema allows for its applicant.

        Nearest value by value; where relations tie columns together, nearest in L1.

        Parameters
        ----------
        X : table of shape (n, d)
        applicants : table of shape (n, d), optional

        Returns
        -------
        table
            Like `X`: kind, dtypes and order.

        Raises
        ------
        InvalidInput
            If there is no allowed point for a row.
        """
        points, people, rules = self.read_both(X, applicants)
        projected, possible = project(rules, points, people, rules.bounds(people))
        if not possible.all():
            row = int((~possible).argmax())
            bad = rules.broken(projected[row : row + 1], people[row : row + 1])[0]
            raise InvalidInput(
                f"No point is allowed for row {row}: {', '.join(bad) or 'the relations'}."
            )
        codec = self._codec(X)
        if applicants is not None:
            codec.read(applicants, "applicants")  # whose values that are no level may stay
        return codec.rewrite(X, points, projected)[0]

    def cost(self, X: Any, applicants: Any, norm: Norm = 1) -> NDArray[np.float64]:
        """Distance of each row from its applicant, in units of the features' scales and weights.

        Parameters
        ----------
        X, applicants : tables of shape (n, d)
        norm : {1, 2}

        Returns
        -------
        (n,) float64
        """
        check_norm(norm, "Schema.cost")
        points, people, rules = self.read_both(X, applicants)
        return rules.cost(points, people, norm)

    def words(self, applicants: Any, X: Any) -> list[list[str]]:
        """Say in words what changes from each applicant to their row of `X`."""
        points, people, rules = self.read_both(X, applicants, by_row=True)
        return [rules.words(z, x) for z, x in zip(points, people, strict=True)]

    def rules(self, codec: Codec, matrix: NDArray[np.float64] | None) -> Rules:
        """Give the schema as arrays, for a table stored as the codec's is.

        Parameters
        ----------
        codec : Codec
        matrix : (n, d) float64, optional
            The training rows, which bound where advice may lead.
        """
        seen = np.array([[-np.inf] * len(self), [np.inf] * len(self)])
        if matrix is not None:
            finite = np.where(np.isfinite(matrix), matrix, np.nan)
            has = ~np.isnan(finite).all(axis=0)
            seen[0, has] = np.nanmin(finite[:, has], axis=0)
            seen[1, has] = np.nanmax(finite[:, has], axis=0)
        return Rules(
            self.features,
            self.relations,
            self.effects,
            self.together,
            self.optional_groups,
            codec.whole,
            codec.single,
            seen,
            codec.storable,
        )

    def _codec(self, X: Any) -> Codec:
        layout = Layout.of(X)
        # An array has no names; a schema that was made for one has none either.
        without_names = self.names == tuple(map(str, range(len(self))))
        strange = without_names and set(layout.names) != set(self.names)
        if (layout.kind == "numpy" or strange) and len(layout.names) == len(self):
            layout = replace(layout, names=self.names, named=False)
        return Codec(self.features, layout)

    def read_both(
        self, X: Any, applicants: Any, *, by_row: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], Rules]:
        """Read points and whom they are for as numbers, (n, d) each, with the rules for them.

        With `by_row`, a cell that cannot be read counts as missing; otherwise it is an error.
        """
        codec = self._codec(X)
        points, words = _read(codec, X, "X", by_row=by_row)
        if applicants is None:
            # Nobody to compare with: no value is anybody's own, and none has moved.
            free = {"change": "any", "max_increase": None, "max_decrease": None}
            anyone = tuple(feature.replaced(**free) for feature in self.features)
            nobody = np.where(np.isnan(points), np.nan, np.where(points == np.inf, -np.inf, np.inf))
            rules = replace(self, features=anyone, effects=()).rules(codec, None)
            return points, nobody, replace(rules, words_unlisted=words)
        # Tables of a kind are stored alike, but for a column of nothing, which has no dtype.
        alike = Layout.of(applicants).kind == codec.layout.kind
        other = codec if alike else self._codec(applicants)
        people, more = _read(other, applicants, "applicants", by_row=by_row)
        if len(people) != len(points):
            raise InvalidInput(
                f"X and applicants must have a row for each other. Got {len(points)} and "
                f"{len(people)}."
            )
        return points, people, replace(self.rules(codec, None), words_unlisted={**words, **more})


def _read(
    codec: Codec, X: Any, what: str, *, by_row: bool
) -> tuple[NDArray[np.float64], dict[tuple[int, float], str]]:
    """Read a table, and name the values in it that are no level."""
    reading = codec.read_rows(X, what)
    if not by_row and reading.trouble.any():
        codec.read(X, what)  # which raises
    return reading.matrix, shown_words(reading.words)


def check_norm(norm: Any, owner: str) -> None:
    """Refuse a norm that is neither 1 nor 2."""
    require(is_number(norm) and norm in (1, 2), norm, "norm", owner, "1 or 2")


def _respecified(feature: Feature, changes: dict[str, Any]) -> Feature:
    """Change fields of a feature; those that only its old kind had go with the kind."""
    kind = changes.get("kind", feature.kind)
    if kind != feature.kind:
        if kind not in ("ordinal", "categorical") or feature.levels is None:
            changes.setdefault("levels", None)
        if kind != "onehot":
            changes.setdefault("group", None)
        if kind != "continuous" and (kind != "integer" or (feature.resolution or 1) % 1):
            changes.setdefault("resolution", None)
        if kind not in ("continuous", "integer"):
            changes.setdefault("unit", None)
        if kind not in ("continuous", "integer", "ordinal"):
            changes.setdefault("max_increase", None)
            changes.setdefault("max_decrease", None)
    return feature.replaced(**changes)


def _read_effects(effects: Mapping[str, Any] | Iterable[Effect]) -> tuple[Effect, ...]:
    if isinstance(effects, Mapping):
        return in_order([Effect.parse(str(name), plain) for name, plain in effects.items()])
    given = list(effects)
    if not all(isinstance(effect, Effect) for effect in given):
        raise InvalidInput(
            "The effects of a schema must be a mapping such as {'age': '+1 * years_employed'}. "
            f"Got {given!r}."
        )
    return in_order(given)


def _complaints(schema: Schema) -> Iterator[str]:
    names = list(schema.names)
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        yield f"more than one feature is named {doubled[0]!r}"
    groups = {f.group for f in schema.features if f.group is not None}
    for group in sorted(groups):
        members = [f for f in schema.features if f.group == group]
        if len({(f.change, f.scale, f.weight, f.may_fill) for f in members}) > 1:
            yield f"members of one-hot group {group!r} differ in change, scale, weight or may_fill"
        if len(members) < 2 and group not in schema.optional_groups:
            yield f"one-hot group {group!r} has one member, so it can never change"
        if any(f.may_fill for f in members):
            yield f"one-hot group {group!r} cannot be filled in"
    for group in schema.optional_groups:
        if group not in groups:
            yield f"there is no one-hot group {group!r} to be optional"
    yield from _tie_complaints(schema)


def _tie_complaints(schema: Schema) -> Iterator[str]:
    names = list(schema.names)
    ties = [(f"relation {r.text!r}", [name for name, _ in r.terms]) for r in schema.relations]
    ties += [
        (f"effect {e.text!r} on {e.feature!r}", [e.feature, *(name for name, _ in e.terms)])
        for e in schema.effects
    ]
    for what, named in ties:
        for name in named:
            if name not in names:
                yield f"the {what} names {name!r}, which is not a feature"
            elif not schema[name].is_number:
                yield f"the {what} needs numbers, and {name!r} is not one"
    yield from together_complaints(schema.together, schema.features)
    led = {name for one in schema.together for name in one.names[1:]}
    leading = {one.names[0] for one in schema.together}
    for effect in schema.effects:
        for name in [effect.feature, *(name for name, _ in effect.terms)]:
            if name in led or (name == effect.feature and name in leading):
                yield f"{name!r} goes together with others, so it cannot be in an effect, too"
    followed = [effect.feature for effect in schema.effects]
    for name in followed:
        if followed.count(name) > 1:
            yield f"more than one effect is on {name!r}; write them as one sum"
        elif schema[name].may_fill:
            yield f"{name!r} follows from an effect, so it cannot be filled in"

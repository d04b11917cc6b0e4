"""`Feature`: what a column is, and what may be done to it."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import InitVar, dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np

from robx.errors import InvalidInput
from robx.schema import relative
from robx.tables import Category

Kind = Literal["continuous", "integer", "ordinal", "categorical", "onehot"]
Change = Literal["any", "increase", "decrease", "none"]
KINDS: tuple[Kind, ...] = get_args(Kind)
CHANGES: tuple[Change, ...] = get_args(Change)
ChangeWord = Literal["free", "may only rise", "may only fall", "fixed"]
#: How tables name the ways to change; both are understood.
CHANGE_WORDS: dict[ChangeWord, Change] = {
    "free": "any",
    "may only rise": "increase",
    "may only fall": "decrease",
    "fixed": "none",
}

#: Fields that hold numbers.
NUMBERS = (
    *("low", "high", "max_increase", "max_decrease", "resolution", "scale", "noise", "weight"),
)


@dataclass(frozen=True)
class Feature:
    """One column: what its values mean, and which of them an applicant may come to have.

    Parameters
    ----------
    name : str
        The column's name.
    kind : {"continuous", "integer", "ordinal", "categorical", "onehot"}
        Real numbers; integers; ordered levels; categories without an order; or one 0/1 column of
        a group in which one column is set.
    change : {"any", "increase", "decrease", "none"}
        In which direction the value may change. "none" is an immutable feature. The words that
        tables show are understood, too: "free", "may only rise", "may only fall" and "fixed".
    low, high : float, optional
        Minimum and maximum that a change may lead to. An applicant's own value may stay as it is,
        also outside of this range.
    max_increase, max_decrease : float, optional
        By how much the value may rise and fall from what the applicant has: in the column's units,
        or in levels of an ordinal feature.
    within : float or str, optional
        Both `max_increase` and `max_decrease`: a number, or text such as "2 years" with the `unit`.
    unit : str, optional
        What a continuous or integer column is measured in, such as "years", for words.
    resolution : float, optional
        Continuous and integer features move to whole multiples of this.
    levels : sequence or mapping, optional
        For ordinal and categorical features: the values as they are in the table, ordinal ones
        from lowest to highest. A mapping gives each value a label. An applicant may keep a number
        that is not listed, but no change leads to one.
    labels : sequence of str, optional
        The labels of `levels`, if these are not given as a mapping.
    group : str, optional
        The one-hot group that the column belongs to.
    scale : float or "range", optional
        One unit of cost; "range" is the range of the column in the training table. Unless given, it
        is this range, cut where outliers stretch it (see `Schema.fit`).
    noise : float, optional
        Unit of noise; 0 keeps the column fixed in the stability test. Unless given, it is a `scale`
        that is given as a number, and otherwise follows from how close most values lie (see
        `Schema.fit`). Categories and one-hot columns never get noise.
    weight : float
        Factor on the cost of changing this feature.
    may_fill : bool
        Whether a missing value may be filled in, at the cost of a change by one `scale`. With
        ``change="none"`` a known value stays, and a missing one may be filled in.

    Examples
    --------
    >>> savings = Feature("savings", "ordinal", change="increase",
    ...                   levels={0: "under 100", 1: "100 to 500", 2: "500 or more"})
    >>> savings.say(1.0)
    '100 to 500'
    """

    name: str
    kind: Kind = "continuous"
    change: Change | ChangeWord = "any"
    low: float | None = None
    high: float | None = None
    resolution: float | None = None
    levels: tuple[Category, ...] | None = None
    labels: tuple[str, ...] | None = None
    group: str | None = None
    scale: float | Literal["range"] | None = None
    noise: float | None = None
    weight: float = 1.0
    may_fill: bool = False
    max_increase: float | None = None
    max_decrease: float | None = None
    unit: str | None = None
    within: InitVar[float | str | None] = None

    def __post_init__(self, within: float | str | None) -> None:
        _take_levels(self)
        for words, change in CHANGE_WORDS.items():
            if self.change == words:
                object.__setattr__(self, "change", change)
        _take_within(self, within)
        for complaint in _complaints(self):
            raise InvalidInput(f"Feature {self.name!r}: {complaint}.")

    # --- what it is ------------------------------------------------------------------------------

    @property
    def is_number(self) -> bool:
        """Whether differences of its values mean something."""
        return self.kind in {"continuous", "integer", "ordinal"}

    @property
    def noise_unit(self) -> float | None:
        """Unit of its noise; 0 for what has no distances, None where its scale is not known yet."""
        if not self.is_number:
            return 0.0
        scale = self.scale if isinstance(self.scale, float) else None
        return scale if self.noise is None else self.noise

    @property
    def level_numbers(self) -> tuple[float, ...]:
        """The levels as numbers: themselves where they are numbers, else their places from 0."""
        if self.levels is None:
            return ()
        if all(isinstance(level, int | float) for level in self.levels):
            return tuple(float(level) for level in self.levels)
        return tuple(float(place) for place in range(len(self.levels)))

    def say(self, number: float) -> str:
        """Put a value in words."""
        if math.isnan(number):
            return "missing"
        if math.isinf(number):
            return "infinity" if number > 0 else "-infinity"
        with np.errstate(over="ignore"):
            stored = np.array(self.level_numbers, dtype=np.float32)  # as some columns hold them
        for place, level in enumerate(self.levels or ()):
            if number in (self.level_numbers[place], stored[place]):
                return self.labels[place] if self.labels else str(level)
        if number == round(number) and abs(number) < 1e15:
            return str(int(number))
        return np.format_float_positional(float(f"{number:.6g}"), trim="-")

    def say_with_unit(self, number: float) -> str:
        """Put a value in words, with its unit if there is one."""
        known = self.unit is not None and math.isfinite(number)
        return f"{self.say(number)} {self.unit}" if known else self.say(number)

    def constraint(self) -> str:
        """Name what may be done to it, in words."""
        parts: list[str] = [
            w for w, change in CHANGE_WORDS.items() if change == self.change != "any"
        ]
        if self.change == "none" and self.may_fill:
            parts = ["fixed, but may be filled in"]
        parts += relative.words(self)
        if self.low is not None and self.high is not None:
            parts.append(f"from {self.say(self.low)} to {self.say(self.high)}")
        elif self.low is not None:
            parts.append(f"at least {self.say(self.low)}")
        elif self.high is not None:
            parts.append(f"at most {self.say(self.high)}")
        if self.resolution is not None:
            parts.append(f"in steps of {self.say(self.resolution)}")
        return ", ".join(parts) or "free"

    # --- to and from plain values -----------------------------------------------------------------

    def replaced(self, **changes: Any) -> Feature:
        """Return a copy with some of its fields changed."""
        known = [*(f.name for f in fields(self)), "within"]
        unknown = [name for name in changes if name not in known]
        if unknown:
            others = ", ".join(name for name in known if name != "name")
            raise InvalidInput(f"A feature has no {unknown[0]!r}. It has {others}.")
        if "levels" in changes and "labels" not in changes:
            changes["labels"] = None
        if changes.setdefault("within", None) is not None:
            changes = {"max_increase": None, "max_decrease": None, **changes}
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Everything that is not as by default, as plain values."""
        plain = {
            f.name: value
            for f in fields(self)
            if (value := getattr(self, f.name)) != f.default or f.name == "kind"
        }
        return {k: list(v) if isinstance(v, tuple) else v for k, v in plain.items()}


def _take_levels(feature: Feature) -> None:
    """Split a mapping of levels into values and words; turn lists into tuples."""
    levels, labels = feature.levels, feature.labels
    if isinstance(levels, Mapping):
        levels, labels = tuple(levels), tuple(map(str, levels.values()))
    if isinstance(levels, str) or (levels is not None and not isinstance(levels, Iterable)):
        raise InvalidInput(
            f"Feature {feature.name!r}: levels must be a list of values, or a mapping from values "
            f"to words. Got {levels!r}."
        )
    if isinstance(labels, str) or (labels is not None and not isinstance(labels, Iterable)):
        raise InvalidInput(
            f"Feature {feature.name!r}: labels must be a list of words, one for each level. Got "
            f"{labels!r}."
        )
    plain = None if levels is None else tuple(_plain(level) for level in levels)
    object.__setattr__(feature, "levels", plain)
    object.__setattr__(feature, "labels", None if labels is None else tuple(map(str, labels)))
    for name in ("name", "group"):
        if isinstance(value := getattr(feature, name), str):
            object.__setattr__(feature, name, str(value))
    for name in NUMBERS:
        value = _plain(getattr(feature, name))
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and abs(value) <= sys.float_info.max:
            object.__setattr__(feature, name, float(value))


def _take_within(feature: Feature, within: float | str | None) -> None:
    """Turn `within` into the two limits that it stands for."""
    if within is None:
        return
    read = relative.amount(within, feature.unit if isinstance(feature.unit, str) else None)
    if isinstance(read, str):
        raise InvalidInput(f"Feature {feature.name!r}: {read}.")
    if feature.max_increase is not None or feature.max_decrease is not None:
        raise InvalidInput(
            f"Feature {feature.name!r}: within is both max_increase and max_decrease. State it, or "
            "these, but not both."
        )
    object.__setattr__(feature, "max_increase", read)
    object.__setattr__(feature, "max_decrease", read)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_double(level: float) -> bool:
    """Whether float64 holds a number as it is."""
    return abs(level) <= sys.float_info.max and float(level) == level


def _complaints(f: Feature) -> Iterable[str]:
    if not isinstance(f.name, str):
        yield f"its name must be text. Got {f.name!r}"
    if f.kind not in KINDS:
        yield f"kind must be one of {', '.join(KINDS)}. Got {f.kind!r}"
    if f.change not in CHANGES:
        known = ", ".join((*CHANGES, *CHANGE_WORDS))
        yield f"change must be one of {known}. Got {f.change!r}"
    for name in NUMBERS:
        value = getattr(f, name)
        is_none = (value is None and name != "weight") or (name == "scale" and value == "range")
        if not is_none and (not isinstance(value, float) or not math.isfinite(value)):
            yield f"{name} must be a finite number. Got {value!r}"
    if not isinstance(f.may_fill, bool):
        yield f"may_fill must be true or false. Got {f.may_fill!r}"
    yield from _number_complaints(f)
    yield from relative.complaints(f)
    yield from _level_complaints(f)


def _number_complaints(f: Feature) -> Iterable[str]:
    if f.low is not None and f.high is not None and f.low > f.high:
        yield f"low must not be above high. Got {f.low:g} and {f.high:g}"
    if f.resolution is not None:
        if f.resolution <= 0 or f.kind not in {"continuous", "integer"}:
            got = f"Got {f.resolution:g} for a feature that is {f.kind}"
            yield f"a resolution is a positive step of a continuous or integer feature. {got}"
        elif f.kind == "integer" and f.resolution != round(f.resolution):
            yield f"the resolution of an integer feature is an integer. Got {f.resolution:g}"
    if isinstance(f.scale, float) and f.scale <= 0:
        yield f"scale must be positive. Got {f.scale:g}"
    if f.noise is not None and f.noise < 0:
        yield f"noise must not be negative. Got {f.noise:g}"
    if f.weight < 0:
        yield f"weight must not be negative. Got {f.weight:g}"
    unordered = f.kind in {"categorical", "onehot"}
    if unordered and (f.low is not None or f.high is not None):
        yield f"a {f.kind} feature has no order, so no low or high. List its levels instead"
    if unordered and f.change in {"increase", "decrease"}:
        yield f"a {f.kind} feature has no order, so it cannot only {f.change}"


def _level_complaints(f: Feature) -> Iterable[str]:
    if f.group is not None and not isinstance(f.group, str):
        yield f"its group must be text. Got {f.group!r}"
    if (f.group is not None) != (f.kind == "onehot"):
        yield "a one-hot feature, and no other, names its group"
    has_levels = f.kind in {"ordinal", "categorical"}
    if (f.levels is not None) != has_levels:
        yield "ordinal and categorical features, and no others, list their levels"
    if f.levels is None:
        return
    kinds = {isinstance(level, str) for level in f.levels}
    if not f.levels or not all(isinstance(level, str | int | float) for level in f.levels):
        yield f"levels must be text or numbers, at least one. Got {f.levels!r}"
    elif len(set(f.levels)) != len(f.levels) or len(kinds) > 1:
        yield f"levels must differ, and be all text or all numbers. Got {f.levels!r}"
    elif not all(isinstance(level, str) or _is_double(level) for level in f.levels):
        yield f"levels that are numbers must be finite, and exact in float64. Got {f.levels!r}"
    elif f.kind == "ordinal" and list(f.level_numbers) != sorted(f.level_numbers):
        yield f"ordinal levels that are numbers must rise. Got {f.levels!r}"
    if f.labels is not None and len(f.labels) != len(f.levels):
        yield f"labels must be as many as levels, {len(f.levels)}. Got {len(f.labels)}"

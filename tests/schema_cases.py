"""Small schemas whose allowed points can be listed, drawn by hypothesis."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import robx

Floats = NDArray[np.float64]
CHANGES = ["any", "any", "increase", "decrease", "none"]
WEIGHTS = [0.5, 1.0, 2.0]


@dataclass(frozen=True)
class Case:
    """A schema, what its columns can hold, one applicant, and a point that is wanted."""

    schema: robx.Schema
    values: list[list[float]]
    applicant: Floats
    wanted: Floats

    def allowed(self) -> list[Floats]:
        """Every point that the applicant may come to have, by looking at all of them."""
        columns = [self._values_of(j) for j in range(len(self.values))]
        points = [np.array(point) for point in product(*columns)]
        return [p for p in points if self._groups_are_kept(p) and self._relations_are_kept(p)]

    def _values_of(self, j: int) -> list[float]:
        feature, x = self.schema.features[j], float(self.applicant[j])
        if np.isnan(x) and (not feature.may_fill or np.isnan(self.wanted[j])):
            return [x]
        found = []
        for value in {*self.values[j], *([] if np.isnan(x) else [x])}:
            if value == x:
                found.append(value)
                continue
            moves_up, moves_down = value > x, value < x
            if feature.change in {"none", "decrease"} and moves_up:
                continue
            if feature.change in {"none", "increase"} and moves_down:
                continue
            if feature.low is not None and value < feature.low:
                continue
            if feature.high is not None and value > feature.high:
                continue
            if not np.isnan(x) and self._moves_too_far(feature, x, value):
                continue
            found.append(value)
        return found

    def _moves_too_far(self, feature: robx.Feature, x: float, value: float) -> bool:
        passed = [
            v for v in feature.level_numbers if min(x, value) <= v <= max(x, value) and v != x
        ]
        far = len(passed) if feature.kind == "ordinal" else abs(value - x)
        most = feature.max_increase if value > x else feature.max_decrease
        return most is not None and far > most + 1e-9

    def _groups_are_kept(self, point: Floats) -> bool:
        members = [j for j, f in enumerate(self.schema) if f.group is not None]
        if not members or (point[members] == self.applicant[members]).all():
            return True
        return bool(self.schema.features[members[0]].change == "any" and point[members].sum() == 1)

    def _relations_are_kept(self, point: Floats) -> bool:
        place = {name: j for j, name in enumerate(self.schema.names)}
        for relation in self.schema.relations:
            total = sum(c * point[place[name]] for name, c in relation.terms)
            if not np.isnan(total) and total > relation.bound + 1e-9:
                return False
        return True

    def distance(self, point: Floats) -> float:
        """L1 distance from what is wanted; where nothing is, from the applicant."""
        unit = np.array(
            [
                f.weight / float(f.scale or 1.0) * (0.5 if f.group is not None else 1.0)
                for f in self.schema
            ]
        )
        wanted = np.where(np.isnan(self.wanted), self.applicant, self.wanted)
        return float(np.nansum(np.abs(point - wanted) * unit))


@st.composite
def cases(draw: st.DrawFn, *, relations: bool, missing: bool = True) -> Case:
    """Draw a schema of a few columns, an applicant, not always in range, and any point."""
    features: list[robx.Feature] = []
    values: list[list[float]] = []
    for name in "abc"[: draw(st.integers(1, 3))]:
        feature, grid = draw(_number_columns(name))
        features.append(feature)
        values.append(grid)
    if draw(st.booleans()):
        change: Any = draw(st.sampled_from(["any", "any", "none"]))
        for k in range(draw(st.integers(2, 3))):
            group = {"group": "g", "scale": 1.0, "change": change}
            features.append(robx.Feature(f"g_{k}", "onehot", **group))
            values.append([0.0, 1.0])
    x = [draw(st.sampled_from(grid)) for grid in values]
    for j, feature in enumerate(features):
        if feature.group is None and draw(st.integers(0, 4)) == 0:
            x[j] = float(draw(st.integers(-4, 6)))  # perhaps outside of a stated range
    members = [j for j, f in enumerate(features) if f.group is not None]
    if members:
        chosen = draw(st.sampled_from(members))
        for j in members:
            x[j] = float(j == chosen)
    wanted = [draw(st.floats(-3, 6).map(lambda v: round(v, 2))) for _ in values]
    if missing:
        for j, feature in enumerate(features):
            if feature.group is None and draw(st.integers(0, 9)) == 0:
                x[j] = np.nan
            if feature.group is None and draw(st.integers(0, 9)) == 0:
                wanted[j] = np.nan
    ties: list[Any] = (
        [draw(_relations([f.name for f in features if f.group is None]))] if relations else []
    )
    return Case(robx.Schema(tuple(features), tuple(ties)), values, np.array(x), np.array(wanted))


@st.composite
def _number_columns(draw: st.DrawFn, name: str) -> tuple[robx.Feature, list[float]]:
    common: dict[str, Any] = {
        "change": draw(st.sampled_from(CHANGES)),
        "weight": draw(st.sampled_from(WEIGHTS)),
        "scale": draw(st.sampled_from([1.0, 2.0, 4.0])),
        "may_fill": draw(st.booleans()),
        "max_increase": draw(st.sampled_from([None, None, 0, 1, 2])),
        "max_decrease": draw(st.sampled_from([None, None, 0, 1, 2])),
    }
    kind = draw(st.sampled_from(["integer", "ordinal", "continuous"]))
    if kind == "ordinal":
        levels = sorted(draw(st.sets(st.integers(-2, 5), min_size=1, max_size=4)))
        return robx.Feature(name, "ordinal", levels=tuple(levels), **common), [*map(float, levels)]
    low = draw(st.integers(-2, 2))
    high = low + draw(st.integers(0, 3))
    if kind == "integer":
        feature = robx.Feature(name, "integer", low=low, high=high, **common)
        return feature, [float(v) for v in range(low, high + 1)]
    step = draw(st.sampled_from([0.1, 0.25, 0.7]))
    feature = robx.Feature(name, "continuous", low=low, high=low + 0.8, resolution=step, **common)
    grid = [round(k * step, 2) for k in range(-30, 31) if low <= round(k * step, 2) <= low + 0.8]
    return feature, grid


@st.composite
def _relations(draw: st.DrawFn, names: list[str]) -> str:
    terms = []
    for name in names:
        coefficient = draw(st.integers(-2, 2))
        terms.append(f"{'-' if coefficient < 0 else '+'} {abs(coefficient)}*{name}")
    if all(" 0*" in term for term in terms):
        terms[0] = f"+ {names[0]}"
    return f"{' '.join(terms)} <= {draw(st.integers(-4, 4))}"

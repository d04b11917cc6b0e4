"""Bounds of all columns at once, against a slow twin that goes column by column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robx.arrays import Floats
from robx.schema import Feature, Schema, bounds
from robx.schema.codec import Codec
from robx.schema.rules import Rules
from robx.tables import Layout
from speed import tries


def naive(rules: Rules, X: Floats, seen: Floats) -> tuple[Floats, Floats]:
    """What `Rules.bounds` promises, a cell at a time."""
    low, high = np.empty(X.shape), np.empty(X.shape)
    for i, j in np.ndindex(*X.shape):
        f, x = rules.features[j], X[i, j]
        least, most = np.fmin(x, seen[0, j]), np.fmax(x, seen[1, j])
        if f.kind == "categorical":
            least, most = -np.inf, np.inf
        if f.kind == "onehot":
            least, most = np.fmin(x, 0.0), np.fmax(x, 1.0)
        least = least if f.low is None else f.low
        most = most if f.high is None else f.high
        if f.change in {"none", "increase"}:
            least = np.fmax(least, x)
        if f.change in {"none", "decrease"}:
            most = np.fmin(most, x)
        if f.max_increase is not None or f.max_decrease is not None:
            ends = rules._relative(j, np.array([x]))
            least, most = np.fmax(least, ends[0][0]), np.fmin(most, ends[1][0])
        least = np.fmax(least, np.fmin(x, rules.storable[0, j]))
        most = np.fmin(most, np.fmax(x, rules.storable[1, j]))
        if x < rules.first_place[j] or (least > most and not np.isnan(x)):
            least = most = x
        if rules.follows[j] and not np.isnan(x):
            least = most = x
        low[i, j], high[i, j] = least, most
    return low, high


def random_rules(rng: np.random.Generator) -> Rules:
    def number(name: str) -> Feature:
        some: dict[str, Any] = {"change": rng.choice(["any", "none", "increase", "decrease"])}
        if rng.random() < 0.4:
            some |= {"low": -1.0, "high": 2.0}
        if rng.random() < 0.3:
            some["max_increase"] = 1.5
        if rng.random() < 0.3:
            some["max_decrease"] = 0.5
        some["kind"] = str(rng.choice(["continuous", "integer"]))
        return Feature(name, scale=1.0, **some)

    features = [number(f"n{j}") for j in range(4)]
    features += [Feature(f"g_{k}", "onehot", group="g", scale=1.0) for k in "ab"]
    features.append(Feature("o", "ordinal", levels=(1, 2, 5), max_increase=1, scale=1.0))
    features.append(Feature("c", "categorical", levels=(0, 1, 2), change="any", scale=1.0))
    schema = Schema(features)
    table = rng.normal(size=(20, len(features)))
    codec = Codec(schema.features, Layout.of(table, names=schema.names))
    return schema.rules(codec, table)


@pytest.mark.parametrize("at_once", [3, 2**13])
def test_bounds_are_those_of_the_slow_twin(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "ROWS_AT_ONCE", at_once)
    for seed in range(tries(60, few=15)):
        rng = np.random.default_rng(seed)
        rules = random_rules(rng)
        X = rng.normal(scale=2.0, size=(10, len(rules.features))).round(1)
        X[rng.random(X.shape) < 0.2] = np.nan
        X[rng.random(X.shape) < 0.02] = -(2.0**60)
        for found, seen in (
            (rules.bounds(X), rules.seen),
            (rules.stated_bounds(X), np.array([[-np.inf], [np.inf]]) * np.ones(rules.seen.shape)),
        ):
            expected = naive(rules, X, seen)
            np.testing.assert_array_equal(found[0], expected[0])
            np.testing.assert_array_equal(found[1], expected[1])


def test_only_what_is_broken_is_put_in_words() -> None:
    rules = random_rules(np.random.default_rng(1))
    X = np.zeros((4, len(rules.features)))
    X[:, 4], X[:, 6] = 1.0, 1.0
    Z = X.copy()
    Z[2, 7] = 9.0
    assert rules.breaks(Z, X).tolist() == [False, False, True, False]
    assert [bool(names) for names in rules.broken(Z, X)] == rules.breaks(Z, X).tolist()

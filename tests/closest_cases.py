"""Small problems for the exact search, and every point that an applicant may have in them."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

from robx import Feature, Problem, Schema

Floats = NDArray[np.float64]

LEVELS = {"job": (0, 1, 3), "place": (0, 1, 2, 3)}
HOMES = ["home_a", "home_b", "home_c"]


def table(n: int, seed: int, *, missing: bool = False) -> pd.DataFrame:
    """Columns of all kinds with few values each."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "kids": rng.integers(0, 5, n).astype(float),
            "job": rng.choice(LEVELS["job"], n),
            "rate": rng.integers(0, 5, n) / 4,
            "place": rng.integers(0, 4, n),
        }
    )
    home = rng.integers(0, 3, n)
    for k, name in enumerate(HOMES):
        frame[name] = (home == k).astype(int)
    if missing:
        frame.loc[rng.random(n) < 0.2, "kids"] = np.nan
    return frame


def outcome(frame: pd.DataFrame, n_classes: int = 2, *, noise: float = 0.3) -> NDArray[np.int64]:
    rng = np.random.default_rng(9)
    worth = frame["kids"].fillna(3) * 0.4 + frame["job"] * 0.3 - np.abs(frame["rate"] - 0.5)
    worth += 0.8 * (frame["place"] == 2) + 0.5 * frame["home_b"] - 0.4 * frame["home_c"]
    worth += noise * rng.normal(size=len(frame))
    cuts = np.quantile(worth, [0.55, 0.8][: n_classes - 1])
    return np.asarray(np.digitize(worth, cuts), dtype=np.int64)


@cache
def fitted(name: str) -> tuple[Any, pd.DataFrame, Any]:
    """Give a model, its table and the target."""
    quick: dict[str, Any] = {"n_jobs": 1, "random_state": 0}
    holes = name in {"XGBoost", "LightGBM", "HistGradientBoosting", "XGBoost by category"}
    X = table(250, 0, missing=holes)
    models = {
        "XGBoost": xgb.XGBClassifier(n_estimators=15, max_depth=3, **quick),
        "XGBoost by category": xgb.XGBClassifier(
            n_estimators=15, max_depth=3, max_cat_to_onehot=1, enable_categorical=True, **quick
        ),
        "three classes": xgb.XGBClassifier(n_estimators=8, max_depth=3, **quick),
        "LightGBM": lgb.LGBMClassifier(
            n_estimators=12, num_leaves=6, min_child_samples=5, verbose=-1, **quick
        ),
        "RandomForest": RandomForestClassifier(9, max_depth=4, **quick),
        "forest of votes": RandomForestClassifier(6, **quick),
        "GradientBoosting, first class": GradientBoostingClassifier(
            n_estimators=12, random_state=0
        ),
        "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=12, random_state=0),
    }
    if name == "XGBoost by category":
        X["place"] = X["place"].astype("category")
    target = {"three classes": 2, "GradientBoosting, first class": 0}.get(name)
    noise = 0.0 if name == "forest of votes" else 0.3  # each leaf is then of one class
    y = outcome(X, 3 if name == "three classes" else 2, noise=noise)
    return models[name].fit(X, y), X, target


MODELS = [
    *("XGBoost", "XGBoost by category", "three classes", "LightGBM", "RandomForest"),
    *("forest of votes", "GradientBoosting, first class", "HistGradientBoosting"),
]
#: Those that are slow and in `make test-all`; the others are left to `make test-deep`.
MORE = ["XGBoost by category", "three classes", "forest of votes"]


def schema(seed: int) -> Schema:
    """What may change, at random."""
    rng = np.random.default_rng(seed)

    def any_of(*ways: str) -> Any:
        return str(rng.choice(ways))

    ways = ("any", "any", "increase", "decrease", "none")
    weights = rng.choice([0.5, 1.0, 2.0], 4)
    home: Any = {"kind": "onehot", "group": "home", "change": any_of("any", "any", "none")}
    kids: Any = {"low": 1.0, "high": 3.0} if rng.random() < 0.3 else {}
    relations = [[], [], ["kids + 2*rate <= 4"], ["kids + 2*rate >= 1"]][seed % 4]
    features: tuple[Feature, ...] = (
        Feature("kids", "integer", any_of(*ways), may_fill=bool(rng.random() < 0.5), **kids),
        Feature("job", "ordinal", any_of(*ways), levels=LEVELS["job"]),
        Feature("rate", "continuous", any_of(*ways), resolution=0.25),
        Feature("place", "categorical", any_of("any", "any", "none"), levels=LEVELS["place"]),
    )
    features = tuple(
        f.replaced(weight=float(w), scale=float(rng.choice([1.0, 3.0])))
        for f, w in zip(features, weights, strict=True)
    )
    if seed % 3 == 2:
        near: tuple[dict[str, Any], ...] = (
            {"within": 2},
            {"max_increase": 1},
            {"max_decrease": 0.5, "max_increase": 0.25},
            {},
        )
        features = tuple(f.replaced(**n) for f, n in zip(features, near, strict=True))
    homes = tuple(Feature(name, **home) for name in HOMES)
    optional = ("home",) if rng.random() < 0.3 else ()
    return Schema(features + homes, optional_groups=optional).override(relations=relations)


def free_schema() -> Schema:
    """Everything may change."""
    return schema(0).override(
        {name: {"change": "any"} for name in ("kids", "job", "rate", "place", *HOMES)}
    )


def values_of(f: Feature, x: float, seen: Floats) -> list[float]:
    """All values that an applicant with x may come to have."""
    if np.isnan(x) and not f.may_fill:
        return [x]
    if f.levels is not None:
        values = [float(v) for v in f.levels]
    else:
        step = f.resolution or 1.0
        values = [k * step for k in range(-40, 41)]
        low = np.nanmin(np.append(seen, x)) if f.low is None else f.low
        high = np.nanmax(np.append(seen, x)) if f.high is None else f.high
        values = [v for v in values if low <= v <= high]
    if f.change in {"none", "increase"} and not np.isnan(x):
        values = [v for v in values if v >= x]
    if f.change in {"none", "decrease"} and not np.isnan(x):
        values = [v for v in values if v <= x]
    if not np.isnan(x):
        values = [v for v in values if not moves_too_far(f, x, v)]
    return [*values, x]  # what they have may stay, also outside of a range


def moves_too_far(f: Feature, x: float, v: float) -> bool:
    between = [level for level in f.level_numbers if min(x, v) <= level <= max(x, v) and level != x]
    most = f.max_increase if v > x else f.max_decrease
    return most is not None and (len(between) if f.kind == "ordinal" else abs(v - x)) > most


def every_point(problem: Problem, x: Floats) -> Floats:
    """All allowed points of an applicant: (n, d)."""
    s, seen = problem.schema, problem.training
    columns = [values_of(f, float(x[j]), seen[:, j]) for j, f in enumerate(s.features[:4])]
    homes = [tuple(x[4:])]
    if s["home_a"].change == "any":
        homes += [tuple(row) for row in np.eye(3)]
        homes += [(0.0, 0.0, 0.0)] if s.optional_groups else []
    points = np.array([(*p[:4], *p[4]) for p in itertools.product(*columns, homes)])  # type: ignore[misc]
    points = points.reshape(-1, 7)
    for relation in s.relations:
        total = sum(c * points[:, s.names.index(name)] for name, c in relation.terms)
        points = points[np.isnan(total) | (total <= relation.bound)]
    return points


def costs(problem: Problem, points: Floats, x: Floats) -> Floats:
    """L1 in units of scale and weight, feature by feature."""
    total = np.zeros(len(points))
    for j, f in enumerate(problem.schema.features):
        z = points[:, j]
        if np.isnan(x[j]):
            moved = np.where(np.isnan(z), 0.0, 1.0)
        elif f.kind == "categorical":
            moved = (z != x[j]) / f.scale
        else:
            moved = np.abs(z - x[j]) / f.scale * (0.5 if f.kind == "onehot" else 1.0)
        total += f.weight * moved
    return total

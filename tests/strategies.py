"""Random schemas, as odd as users'."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import robx


def random_schema(schema: robx.Schema, X: Any, rng: np.random.Generator) -> robx.Schema:
    """Change what may change in a schema at random: ways, ranges, grids, weights, relations."""
    columns = np.asarray(X, dtype=object)
    changes: dict[str, dict[str, Any]] = {}
    groups = {f.group: str(rng.choice(["any", "none"])) for f in schema if f.group}
    for j, feature in enumerate(schema):
        if feature.group:
            changes[feature.name] = {"change": groups[feature.group]}
            continue
        change: dict[str, Any] = {"weight": float(rng.choice([0.5, 1.0, 2.0]))}
        change["may_fill"] = bool(rng.random() < 0.3)
        if feature.kind == "categorical":
            change["change"] = str(rng.choice(["any", "any", "none"]))
        elif feature.is_number:
            change["change"] = str(rng.choice(["any", "any", "increase", "decrease", "none"]))
            values = np.array([v for v in columns[:, j] if not pd.isna(v)], dtype=float)
            if rng.random() < 0.3:
                low, high = np.sort(rng.choice(values, 2))
                change |= {"low": float(np.floor(low)), "high": float(np.ceil(high))}
            if feature.kind == "continuous":
                change["resolution"] = [None, 0.1, 0.25, 5.0][rng.integers(4)]
            if feature.kind == "integer" and rng.random() < 0.3:
                levels = sorted({int(v) for v in values})
                change |= {"kind": "ordinal", "levels": levels}
            if rng.random() < 0.3:
                most = rng.integers(0, 4, 2) * (1 if feature.kind != "integer" else 3)
                change |= {"max_increase": float(most[0]), "max_decrease": float(most[1])}
            if rng.random() < 0.2:
                change["scale"] = float(rng.choice([1.0, 10.0]))
        changes[feature.name] = change
    numbers = [f.name for f in schema if f.is_number]
    relations = []
    if rng.random() < 0.4 and len(numbers) > 1:
        a, b = rng.choice(numbers, 2, replace=False)
        relations.append(f"`{a}` <= 2*`{b}` + {int(rng.integers(5, 60))}")
    return schema.override(changes, relations=relations)

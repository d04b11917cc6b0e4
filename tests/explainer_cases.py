"""Explainers of every family, and small ones that are quick to make."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import robx
from families import family, labels, people
from robx.explainer import container


@cache
def explainer_of(name: str) -> robx.Explainer:
    """An explainer of a family, with labels, of six retrained models."""
    case = family(name)
    frame = case.X if isinstance(case.X, pd.DataFrame) else people(400, 0)
    y = labels(frame, 2 if case.target is None else 3)
    return robx.Explainer(
        case.model, case.X, y, target=case.target, n_models=6, keep=None, progress=False
    )


def saved(explainer: robx.Explainer, folder: Path, name: str = "credit.robx") -> Path:
    explainer.save(folder / name)
    return folder / name


def small_table(n: int = 60) -> pd.DataFrame:
    """Numbers, whole numbers and a category, some of them missing nowhere."""
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "income": rng.gamma(3.0, 10.0, n).round(1),
            "age": rng.integers(19, 70, n),
            "rate": rng.random(n).round(2),
        }
    )


def small_labels(table: pd.DataFrame) -> Any:
    return pd.Series((table["income"] / 30 + table["rate"] > 1.3).astype(int), name="good")


@cache
def small() -> robx.Explainer:
    """An explainer of a tiny forest."""
    X = small_table()
    forest = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, small_labels(X))
    schema = robx.Schema.infer(X)
    return robx.Explainer(
        forest, X, small_labels(X), schema=schema, n_models=6, keep=None, progress=False
    )


@cache
def explainer_with_categories() -> robx.Explainer:
    """An explainer with categories, missing values and a one-hot group, in an array's columns."""
    X = people(120, 2, missing=True, text="category")
    model = HistGradientBoostingClassifier(
        max_iter=3, max_leaf_nodes=4, random_state=0, categorical_features="from_dtype"
    )
    y = labels(X)
    schema = robx.Schema.infer(X).override(relations=["savings <= age"])
    model.fit(X, y)
    return robx.Explainer(model, X, y, schema=schema, n_models=6, keep=None, progress=False)


def applicants() -> pd.DataFrame:
    return small_table(80)[60:].reset_index(drop=True)


def unzipped(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def signed(parts: dict[str, bytes]) -> bytes:
    """Put parts into a file whose digests are right, whatever the parts hold."""
    held = {name: container.Part(data, "") for name, data in parts.items()}
    held.pop(container.MANIFEST, None)
    return container.to_bytes(held)


def edited(data: bytes, part: str, change: Callable[[Any], object]) -> bytes:
    """Change a part and sign the file again: plain values in place, an array also to another."""
    parts = unzipped(data)
    if part.endswith(".npy"):
        array = np.load(io.BytesIO(parts[part]))
        changed = change(array)
        out = io.BytesIO()
        np.save(out, array if changed is None else changed)  # type: ignore[arg-type]
        parts[part] = out.getvalue()
    else:
        plain = json.loads(parts[part])
        change(plain)
        parts[part] = json.dumps(plain).encode()
    return signed(parts)

"""Columns of categories: for each split of the model, the categories that go left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robx.arrays import Floats
from robx.tables import Category, is_missing
from robx.trees.build import MAX_CODES
from robx.trees.pipelines.asking import Asker
from robx.trees.pipelines.tracing import Facts
from robx.trees.reasons import CannotFold


@dataclass(frozen=True)
class Reading:
    """What the model reads of a column of categories.

    Parameters
    ----------
    known : (n_codes, columns) float64
        By category.
    unseen, missing : (columns,) float64, optional
        For a category that the pipeline was not fitted on, and for a missing value; None where the
        pipeline refuses it.
    """

    known: Floats
    unseen: Floats | None
    missing: Floats | None


def plain_categories(name: str, lists: Sequence[Sequence[Any]]) -> tuple[Category, ...]:
    """Give the categories that encoders know, each once, without missing values."""
    found: dict[Any, None] = {}
    for known in lists:
        lost = is_missing(list(known)) if len(known) else ()
        for value, is_lost in zip(known, lost, strict=True):
            if not is_lost:
                found.setdefault(value.item() if isinstance(value, np.generic) else value)
    strange = [value for value in found if not isinstance(value, str | int | float)]
    if strange or len({isinstance(value, str) for value in found}) > 1:
        raise CannotFold(f"column '{name}' has categories that are neither text nor numbers alone")
    if len(found) > MAX_CODES:
        raise CannotFold(f"column '{name}' has more than {MAX_CODES} categories")
    return tuple(found)


def markers_of(facts: Facts) -> list[Any]:
    """What to ask for a missing value, first what the encoders were fitted on."""
    fitted = [value for known in facts.categories for value in known if is_missing([value])[0]]
    nan = float("nan")
    first_none = facts.blank is None or any(value is None for value in fitted)
    return [None, nan] if first_none else [nan, None]


def read_categories(
    asker: Asker, categories: dict[int, tuple[Category, ...]], facts: Sequence[Facts]
) -> dict[int, Reading]:
    """Ask what the model reads of all categories, unseen ones and missing values.

    Parameters
    ----------
    asker : Asker
    categories : mapping from raw columns to categories
    facts : sequence of Facts
        About all raw columns. What encoders are known to refuse is not asked.
    """
    values = asker.ask({j: list(known) for j, known in categories.items()})
    others = {j: [_another(k)] for j, k in categories.items() if "unseen" not in facts[j].refuses}
    markers = {j: markers_of(facts[j]) for j in categories if "missing" not in facts[j].refuses}
    unseen, missing = _read_single(asker, others), _read_single(asker, markers)
    return {
        j: Reading(values[: len(known)], unseen.get(j), missing.get(j))
        for j, known in categories.items()
    }


def read_missing(asker: Asker, columns: Sequence[int]) -> dict[int, Floats | None]:
    """Ask what the model reads where numbers are missing; None where that is refused."""
    return _read_single(asker, {j: [float("nan")] for j in columns})


def _read_single(asker: Asker, values: dict[int, list[Any]]) -> dict[int, Floats | None]:
    """Ask about one value of each column, the first of several that the pipeline takes."""
    together = {j: several[:1] for j, several in values.items()}
    row = asker.attempt(together) if together else None
    if row is not None:
        refused = asker.refused_cells(row)[0]
        return {j: None if refused[asker.columns_of[j]].any() else row[0] for j in together}
    return {j: _first_taken(asker, j, several) for j, several in values.items()}


def _first_taken(asker: Asker, j: int, values: Sequence[Any]) -> Floats | None:
    for value in values:
        row = asker.attempt({j: [value]})
        if row is not None and not asker.refused_cells(row)[0, asker.columns_of[j]].any():
            return np.asarray(row[0])
    return None


def _another(known: Sequence[Category]) -> Category:
    """Give a category that is none of those known."""
    if all(isinstance(value, str) for value in known):
        other = "none of these"
        while other in known:
            other += "!"
        return other
    numbers = [float(value) for value in known if not isinstance(value, str)]
    return int(max(numbers, key=abs)) + 1 if max(numbers) < 2**52 else 0.5

"""The gate as arrays, for the compiled search: what `Gate` does, `robx.kernels.conditions` does."""

from __future__ import annotations

from typing import Any

import numpy as np

from robx.arrays import Floats, Ints
from robx.kernels.conditions import Conditions, People, Ties
from robx.problem.applicants import Applicants
from robx.problem.gate import Gate
from robx.problem.model_view import ModelView
from robx.schema import Norm, Rules


def conditions_of(gate: Gate, norm: Norm) -> Conditions | None:
    """Give what the gate asks of points as arrays; None where it cannot be put so.

    That is where the model is a black box, where it reads numbers of a category column that are no
    levels, or where values that go together are stored in single precision.
    """
    rules, view = gate.rules, gate.view
    ties, codes = _ties(rules), _codes(view)
    if view.trees is None or ties is None or codes is None:
        return None
    missing = view.missing_ranges
    effects, relations = rules.effects_in_numbers, rules.relations_in_numbers
    features = rules.features_of_columns
    first_column = features.argmax(axis=1).astype(np.int64)
    return Conditions(
        rules.may_fill,
        *rules.grid,
        *rules.group_arrays,
        rules.is_member,
        bool(rules.constraints),
        ties,
        np.array(effects.targets, dtype=np.int64),
        effects.matrix,
        rules.storable,
        relations.matrix,
        relations.bound,
        relations.slack,
        *codes,
        np.ascontiguousarray(missing[:, 0]),
        np.ascontiguousarray(missing[:, 1]),
        ~np.isnan(missing[:, 0]) | (np.diff(codes[0]) > 0),
        view.needs_reading,
        rules.unit(norm),
        rules.unit(1),
        rules.is_label,
        rules.fill_cost,
        rules.first_place,
        int(norm),
        features,
        first_column,
        rules.has_between[first_column] if len(features) else np.zeros(0, dtype=bool),
    )


def people_of(gate: Gate, applicants: Applicants) -> People:
    """Give applicants as the compiled search takes them."""
    X, rules = applicants.matrix, gate.rules
    stated = limits = X, X
    if rules.together:
        stated = rules.stated_by_column(X)
    if rules.effects:
        limits = rules.storable_limits(X)
    no_place = gate.view.codec.holds_unlisted(X) & ~rules.is_label
    numbers = gate.view.numbers(X)
    arrays: list[Any] = [X, applicants.low, applicants.high, numbers, *stated, *limits]
    arrays = [np.ascontiguousarray(array, dtype=np.float64) for array in arrays]
    arrays.append(no_place)
    return People(*arrays)


def _codes(view: ModelView) -> tuple[Ints, Floats, Floats] | None:
    """Levels of category columns and the model's codes for them, column after column."""
    start, levels, codes = [0], [np.zeros(0)], [np.zeros(0)]
    for j, feature in enumerate(view.codec.features):
        if j in view.codes:
            known, numbers = view.codes[j]
            if not feature.level_numbers or not np.isin(feature.level_numbers, known).all():
                return None
            levels.append(known)
            codes.append(numbers)
        start.append(start[-1] + len(levels[-1]) * (j in view.codes))
    return np.array(start), np.concatenate(levels), np.concatenate(codes)


def _ties(rules: Rules) -> Ties | None:
    together = rules.together_in_numbers
    if not together.is_same_in_single:
        return None
    starts = [[0] for _ in range(4)]
    leaders, followers = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    keys, values = [np.zeros(0)], [np.zeros(0)]
    for tie in together.ties:
        for start, parts, new in zip(
            starts,
            (leaders, followers, keys, values),
            (tie.leaders, tie.followers, tie.keys.reshape(-1), tie.values.reshape(-1)),
            strict=True,
        ):
            parts.append(new)  # type: ignore[attr-defined]
            start.append(start[-1] + len(new))
    arrays: list[Any] = [
        *(np.array(start, dtype=np.int64) for start in starts),
        np.concatenate(leaders).astype(np.int64),
        np.concatenate(followers).astype(np.int64),
        np.concatenate(keys),
        np.concatenate(values),
        np.array([tie.is_number for tie in together.ties], dtype=bool),
    ]
    return Ties(*arrays)

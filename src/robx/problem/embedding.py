"""Where points lie: coordinates in which plain distances mean something."""

from __future__ import annotations

import numpy as np

from robx.arrays import Floats
from robx.problem.problem import Problem


def coordinates(problem: Problem, matrix: Floats) -> Floats:
    """Place points where plain distances mean something: numbers in units of their scales.

    A category becomes a column for each level, and a missing value the middle of its column with a
    mark in a column of its own, for columns that have missing values in training.
    """
    rules = problem.rules
    middle, lacking = problem.middles
    columns: list[Floats] = []
    # What is no level has no place among numbers.
    placeless = problem.codec.holds_unlisted(matrix) & ~rules.is_label
    for j, feature in enumerate(rules.features):
        values, missing = matrix[:, j], np.isnan(matrix[:, j]) | placeless[:, j]
        if feature.kind == "categorical":
            columns += [np.sqrt(0.5) * (values == level) for level in feature.level_numbers]
        elif feature.kind == "onehot":
            columns.append(np.sqrt(0.5) * np.where(missing, 0.0, values))
        else:
            columns.append(np.where(missing, middle[j], values) / rules.scale[j])
        if lacking[j]:
            columns.append(missing.astype(np.float64))
    return np.column_stack(columns)

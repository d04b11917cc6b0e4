"""Ways to a target that change few features: the most telling ones first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Floats
from robx.methods.stable import Test
from robx.problem import Applicants

Ints = NDArray[np.intp]


def towards(
    people: Applicants, whose: Ints, targets: Floats, test: Test, most: int | None
) -> tuple[Ints, Floats]:
    """Add, to targets, the first passing point on the way to each that takes over few features.

    From the applicant on, the feature whose value at the target raises the score most is taken
    over, one after the other, until the point passes, or `most` are taken over.

    Parameters
    ----------
    people : Applicants
    whose : (n,) int
        The applicant of each target.
    targets : (n, d) float64
        Points that pass.
    test : Test
    most : int, optional
        Most features to take over.

    Returns
    -------
    whose : (n + k,) int
    points : (n + k, d) float64
    """
    problem, rules = test.problem, test.problem.rules
    columns = rules.features_of_columns
    here = people.matrix[whose]
    waiting = np.arange(len(targets))
    found = []
    for _ in range(len(columns) if most is None else min(most, len(columns))):
        if len(waiting) == 0:
            break
        # Every way to take over one more feature: (waiting, features, d).
        tried = np.where(columns, targets[waiting][:, None], here[waiting][:, None])
        score = problem.score(tried.reshape(-1, targets.shape[1])).reshape(len(waiting), -1)
        same = ~rules.changed_features(targets[waiting], here[waiting])
        best = np.where(same, -np.inf, score).argmax(axis=1)
        here[waiting] = tried[np.arange(len(waiting)), best]
        point, own = here[waiting], people.matrix[whose[waiting]]
        low, high = people.low[whose[waiting]], people.high[whose[waiting]]
        fits = ~rules.changed(rules.snap(point, own, (low, high)), point).any(axis=1)
        fits &= rules.keeps_relations(point) & problem.is_readable(point, own)
        fits[fits] = test(point[fits])
        found.append(waiting[fits])
        arrived = ~rules.changed(point, targets[waiting]).any(axis=1)
        waiting = waiting[~fits & ~arrived]
    new = np.concatenate([*found, np.zeros(0, dtype=np.intp)]).astype(np.intp)
    return np.concatenate([whose, whose[new]]), np.concatenate([targets, here[new]])

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

import robx
from contracts import rows_of
from families import family
from robx.methods.forward import towards
from robx.methods.point_tests import StabilityTest
from strategies import random_schema

Floats = NDArray[np.float64]


def naive_way(
    problem: robx.Problem, person: Floats, target: Floats, test: Any, most: int | None, bounds: Any
) -> Floats | None:
    """One feature after the other, the one that raises the score most."""
    rules = problem.rules
    groups = [np.flatnonzero(columns) for columns in rules.features_of_columns]
    here = person.copy()
    for _ in range(len(groups) if most is None else most):
        scores = {}
        for k, columns in enumerate(groups):
            tried = here.copy()
            tried[columns] = target[columns]
            if rules.changed(tried[None], here[None]).any():
                scores[k] = float(problem.gate.score(tried[None])[0])
        if not scores:
            return None
        best = max(scores, key=lambda k: (scores[k], -k))
        here[groups[best]] = target[groups[best]]
        low, high = bounds
        settled = rules.snap(here[None], person[None], (low[None], high[None]))
        allowed = not rules.changed(settled, here[None]).any()
        allowed = allowed and bool(rules.keeps_relations(here[None])[0])
        if allowed and test(here[None])[0]:
            return here
    return None


@pytest.mark.parametrize("most", [None, 1, 3])
@pytest.mark.parametrize("name", ["xgboost-array", "forest", "lightgbm"])
def test_a_way_takes_over_the_most_telling_features_first(name: str, most: int | None) -> None:
    case = family(name)
    n_found = 0
    for seed in range(3):
        problem = case.problem()
        if seed:
            rng = np.random.default_rng(seed)
            problem = case.problem(schema=random_schema(problem.schema, case.X, rng))
        test = Stable(problem, 0.45, robx.Noise(n_draws=32))
        people = problem.read(rows_of(case.applicants, slice(10)))
        rng = np.random.default_rng(seed)
        whose = rng.integers(0, 10, 30)
        rows = problem.support.rows[rng.integers(0, len(problem.support), 30)]
        low, high = people.low[whose], people.high[whose]
        targets = problem.rules.settle(rows, people.matrix[whose], (low, high))
        owners, points = towards(people, whose, targets, test, most)
        np.testing.assert_array_equal(owners[:30], whose)
        np.testing.assert_array_equal(points[:30], targets)
        expected = []
        for k in range(30):
            bounds = low[k], high[k]
            way = naive_way(problem, people.matrix[whose[k]], targets[k], test, most, bounds)
            if way is not None:
                expected.append((int(whose[k]), str(way.tolist())))
        ours = [(int(i), str(p.tolist())) for i, p in zip(owners[30:], points[30:], strict=True)]
        assert sorted(ours) == sorted(expected)
        n_found += len(ours)
        if most is not None:
            own = people.matrix[owners[30:]]
            assert (problem.rules.n_changes(points[30:], own) <= most).all()
    assert n_found > 5


def test_a_way_keeps_relations() -> None:
    rows = np.array([[a, b] for a in range(4) for b in range(4)], dtype=float)
    features = tuple(robx.Feature(name, "integer", scale=1.0) for name in "ab")
    model = DecisionTreeClassifier().fit(rows, rows[:, 1] >= 2)
    for relations, expected in (((), [0, 3]), (("b <= a",), [3, 3])):
        problem = robx.Problem(model, rows, robx.Schema(features, relations))
        test = Stable(problem, 0.0, robx.Noise(n_draws=16))
        people = problem.read(np.zeros((1, 2)))
        _, points = towards(people, np.zeros(1, dtype=np.intp), np.full((1, 2), 3.0), test, None)
        assert points.tolist() == [[3, 3], expected]


def test_without_targets_there_is_no_way() -> None:
    problem = family("forest").problem()
    people = problem.read(rows_of(family("forest").applicants, slice(2)))
    none = np.zeros(0, dtype=np.intp)
    owners, points = towards(
        people, none, np.empty((0, len(problem.names))), Stable(problem, 0.5, robx.Noise()), None
    )
    assert len(owners) == len(points) == 0

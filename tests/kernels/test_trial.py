"""What is kept of the point before, against a fresh measurement; also without the JIT."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import robx
from families import TREES, family
from retrained_cases import retrained
from robx.kernels import trial as kernel
from robx.kernels.compiling import njit
from robx.kernels.conditions import Conditions, People
from robx.kernels.references import by_reference
from robx.kernels.trial import (
    HAS_NOISE,
    Asked,
    begin_at,
    is_stable,
    new_trial,
    passes,
)
from robx.methods.compiled import CompiledSearch
from robx.methods.point_tests import RobustnessTest
from robx.problem import Applicants, people_of
from speed import tries_of_kernels

Floats = NDArray[np.float64]
pytestmark = pytest.mark.slow  # compiling the two kernels below takes seconds every time
#: More draws than one block of the tables holds, and no whole number of words.
NOISE = robx.Noise(n_draws=300, staged=False)


@njit(cache=False)
def walk(
    points: Floats,
    is_kept: NDArray[np.bool_],
    people: People,
    conditions: Conditions,
    asked: Asked,
    out: Floats,
) -> None:
    """Write score, outlier score and stability of points of the first applicant, in a row."""
    by, on, what = by_reference(people), by_reference(conditions), by_reference(asked)
    trial = by_reference(new_trial(what, points.shape[1]))
    for k in range(points.shape[0]):
        kernel._read(points[k], 0, by, on, what, trial)
        kernel._scores(min(1, k + 1), what, trial)
        out[k, 0] = trial.scores[0]
        kernel._forget(trial)
        out[k, 1] = kernel._outlier_score(points[k], 0, by, what, trial)
        out[k, 2] = kernel._stability(what, trial)
        trial.counts[HAS_NOISE] = 1
        if is_kept[k]:
            kernel._keep(trial)


@njit(cache=False)
def decide(
    points: Floats,
    people: People,
    conditions: Conditions,
    asked: Asked,
    out: NDArray[np.bool_],
) -> None:
    """Write whether points of the first applicant pass, and whether they are stable."""
    by, on, what = by_reference(people), by_reference(conditions), by_reference(asked)
    trial = by_reference(new_trial(what, points.shape[1]))
    for k in range(points.shape[0]):
        out[k, 0] = passes(points[k], 0, by, on, what, trial)
        if out[k, 0] and k % 5 == 0:
            begin_at(points[k], 0, by, on, what, trial)
        out[k, 1] = is_stable(points[k], 0, by, on, what, trial)


class Case(NamedTuple):
    """A test of a family's points, and one applicant with all that they might try."""

    test: RobustnessTest
    search: CompiledSearch
    applicant: Applicants
    points: Floats

    @property
    def people(self) -> People:
        return people_of(self.test.problem.gate, self.applicant)


def case_of(name: str, n: int, seed: int = 0, row: int = 0, **parameters: Any) -> Case:
    """Points of which each differs from the one before in a column or two, or by chance in all."""
    of, rng = family(name), np.random.default_rng(seed)
    problem = of.problem()
    test = robx.Frugal(noise=NOISE, **parameters).test(problem)
    search = CompiledSearch.of(test, 1)
    assert search is not None
    rows = problem.support.rows
    points, point = [], rows[rng.integers(len(rows))].copy()
    for step in range(n):
        other = rows[rng.integers(len(rows))]
        moved = rng.random(len(point)) < (1.0 if step % 20 == 19 else 1.5 / len(point))
        point = np.where(moved, other, point)
        points.append(point)
    applicant = problem.read(of.applicants).take(np.array([row]))
    admitted = problem.gate.admit(np.array(points), applicant, np.zeros(n, dtype=np.intp))
    return Case(test, search, applicant, admitted.points)


@pytest.mark.parametrize("name", TREES)
def test_what_is_kept_up_to_date_is_what_is_measured_anew(name: str) -> None:
    case = case_of(name, tries_of_kernels(200, 60))
    gate, asked = case.test.problem.gate, case.search.asked
    rng = np.random.default_rng(1)
    kept, out = rng.random(len(case.points)) < 0.6, np.empty((len(case.points), 3))
    walk(case.points, kept, case.people, case.search.conditions, asked, out)
    np.testing.assert_allclose(out[:, 0], gate.score(case.points), rtol=0, atol=1e-6)
    assert case.test.outliers is not None
    np.testing.assert_array_equal(out[:, 1], case.test.outliers(case.points))
    stability = gate.stability(case.points, NOISE).value
    np.testing.assert_allclose(out[:, 2], stability, rtol=0, atol=1e-5)
    assert np.ptp(stability) > 0.1


@pytest.mark.parametrize("name", TREES)
def test_decisions_are_those_of_the_test_also_where_the_stability_is_tau(name: str) -> None:
    case = case_of(name, tries_of_kernels(120, 40), seed=1)
    gate = case.test.problem.gate
    stability = gate.stability(case.points, NOISE).value
    values = np.unique(stability)
    middle = values[len(values) // 2]
    for tau in (middle, np.nextafter(middle, 1), np.nextafter(middle, 0), -math.inf):
        asked = case.search.asked._replace(tau=float(tau), max_outlier_score=math.inf)
        out = np.zeros((len(case.points), 2), dtype=bool)
        decide(case.points, case.people, case.search.conditions, asked, out)
        stable = gate.passes(case.points, float(tau), NOISE)
        np.testing.assert_array_equal(stable, stability >= tau)
        np.testing.assert_array_equal(out[:, 1], stable)
        np.testing.assert_array_equal(out[:, 0], stable & gate.accepts(case.points))


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("searches", [False, True], ids=["challengers", "and retrained models"])
def test_decisions_with_further_models_are_those_of_the_test(name: str, searches: bool) -> None:
    asked: dict[str, Any] = {"level": 0.0}
    if searches:
        asked = {"models": retrained(name), "min_retrained_score": 0.51, "min_accepting": 0.5}
    asked |= {"challengers": retrained(name, 3, 5), "typical": 1.0}
    case = case_of(name, tries_of_kernels(120, 80), seed=2, **asked)
    out = np.zeros((len(case.points), 2), dtype=bool)
    decide(case.points, case.people, case.search.conditions, case.search.asked, out)
    np.testing.assert_array_equal(out[:, 0], case.test(case.points))
    test = replace(case.test, challengers=None)
    if len(case.points) > 12:  # of some points, challengers rule some out
        assert 0 < out[:, 0].sum() < test(case.points).sum()


def test_outlier_scores_do_not_remember_coordinates_that_were_huge() -> None:
    """A distance that was huge once has lost the digits of the small ones after it."""
    case = case_of("forest", 60)
    rng = np.random.default_rng(0)
    column = case.test.problem.names.index("rate")
    points = np.repeat(case.points[:1], 60, axis=0)
    points[:, column] += np.cumsum(rng.normal(0, 1e-3, 60))
    for huge in (1e3, 1e6, 1e9):
        points[::7, column] = huge
        out, kept = np.empty((60, 3)), np.ones(60, dtype=bool)
        walk(points, kept, case.people, case.search.conditions, case.search.asked, out)
        assert case.test.outliers is not None
        np.testing.assert_array_equal(out[:, 1], case.test.outliers(points))

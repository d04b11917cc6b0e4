from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import robx
from contracts import rows_of
from families import family
from robx.answers import Crowds
from robx.arrays import Floats
from robx.later import Later
from robx.methods.finish import FEW as LATER
from robx.problem.people import AT_ONCE, FEW, PeopleIndex
from speed import examples

VALUES = np.array([0.0, 1.0, 2.0, np.nan])


def naive(rows: Floats, point: Floats, own: Floats) -> tuple[int, bool]:
    """Count people one by one."""

    def equal(a: float, b: float) -> bool:
        return a == b or bool(np.isnan(a) and np.isnan(b))

    columns = [j for j in range(len(point)) if not equal(point[j], own[j])]
    crowd = [row for row in rows if all(equal(row[j], point[j]) for j in columns)]
    whole = [row for row in crowd if all(equal(a, b) for a, b in zip(row, point, strict=True))]
    return len(crowd), bool(whole)


@examples(150)
@given(st.integers(0, 9999), st.integers(0, 40), st.integers(1, 4))
def test_crowds_are_counted_as_one_would_count_them(seed: int, n_rows: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points, own = (VALUES[rng.integers(0, 4, (n, d))] for n in (n_rows, 12, 12))
    answered = rng.random(12) < 0.8
    crowds = PeopleIndex(rows).crowds(points, own, answered)
    for i in range(12):
        expected = naive(rows, points[i], own[i]) if answered[i] else (0, False)
        assert (crowds.size[i], crowds.whole[i]) == expected
    assert (crowds.covers == answered).all()
    assert crowds.n_rows == n_rows


@pytest.mark.parametrize("seed", range(3))
def test_large_crowds_of_many_answers_are_counted_as_well(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points, own = (VALUES[rng.integers(0, 4, (n, 2))] for n in (4 * FEW, 8, 8))
    own[:3, 0], own[0] = points[:3, 0], points[0]  # some change one column, one changes none
    expected = [naive(rows, point, mine) for point, mine in zip(points, own, strict=True)]
    assert max(size for size, _ in expected) > FEW
    times = AT_ONCE // 8 + 3
    many = np.tile(points, (times, 1)), np.tile(own, (times, 1))
    crowds = PeopleIndex(rows).crowds(*many, np.ones(8 * times, dtype=bool))
    assert list(zip(crowds.size.tolist(), crowds.whole.tolist(), strict=True)) == expected * times


def test_long_batches_are_counted_at_once_and_alike() -> None:
    case = family("xgboost")
    problem, method = case.problem(), robx.NearestNeighbour()
    table = rows_of(case.applicants, np.arange(LATER + 1) % 40)
    answer, few = method.explain(problem, table), method.explain(problem, rows_of(table, slice(40)))
    assert isinstance(answer.held("crowds"), Crowds)
    assert isinstance(few.held("crowds"), Later)
    assert answer.crowds is not None
    assert few.crowds is not None
    assert few.crowds.covers.any()
    for name in ("size", "whole", "covers"):
        ours, theirs = getattr(few.crowds, name), getattr(answer.crowds, name)
        np.testing.assert_array_equal(ours, theirs[:40])


def test_answers_know_who_shares_them_and_keep_it_in_files(tmp_path: Path) -> None:
    case = family("xgboost")
    problem = case.problem()
    answer = robx.NearestNeighbour().explain(problem, case.applicants)
    crowds = answer.crowds
    assert crowds is not None
    assert problem.people is not None
    points, own = (problem.read(t).matrix for t in (answer.points, answer.applicants))
    for i in np.flatnonzero(answer.answered):
        assert (crowds.size[i], crowds.whole[i]) == naive(problem.people, points[i], own[i])
    # The nearest row, as it is but for what is fixed, is somebody's.
    assert (crowds.size[answer.answered] >= 1).all()
    assert crowds.whole[answer.answered].any()
    for ending in (".json", ".parquet"):
        answer.save(tmp_path / f"a{ending}")
        loaded = robx.Counterfactuals.load(tmp_path / f"a{ending}").crowds
        assert loaded is not None
        assert loaded.to_dict() == crowds.to_dict()


def test_files_without_them_load_and_damaged_ones_do_not() -> None:
    case = family("xgboost")
    answer = robx.NearestNeighbour().explain(case.problem(), case.applicants[:5])
    plain = answer.to_dict()
    assert robx.Counterfactuals.from_dict({**plain, "crowds": None}).crowds is None
    old = {name: value for name, value in plain.items() if name != "crowds"}
    assert robx.Counterfactuals.from_dict(old).crowds is None
    damages: list[dict[str, Any]] = [
        {"size": [1, 2]},
        {"size": [10**6] * 5},
        {"size": [-1] * 5},
        {"size": "many"},
        {"n_rows": None},
        {"whole": [[True]] * 5},
        {"k_anonymous": "all"},
    ]
    for damage in damages:
        with pytest.raises(robx.InvalidInput):
            robx.Counterfactuals.from_dict({**plain, "crowds": {**plain["crowds"], **damage}})
    short = {name: value[:-1] for name, value in plain["crowds"].items() if isinstance(value, list)}
    with pytest.raises(robx.InvalidInput, match="columns differ in length"):
        robx.Counterfactuals.from_dict({**plain, "crowds": {**plain["crowds"], **short}})


def test_figures_count_answers_only() -> None:
    size, whole = np.array([1, 1, 7, 0]), np.array([True, True, False, False])
    crowds = Crowds(size, whole, np.array([True, False, True, True]), 9)
    assert (crowds.n_alone, crowds.n_whole) == (1, 1)

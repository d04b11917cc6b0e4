from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import robx
from robx.arrays import same
from schema_cases import Case, cases
from speed import examples


def projected(case: Case) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None:
    try:
        found = case.schema.project(case.wanted[None], case.applicant[None])
    except robx.InvalidInput as error:
        assert str(error).startswith("No point is allowed for row 0: ")
        return None
    return np.asarray(found[0], dtype=np.float64)


@given(cases(relations=False))
@examples(150, derandomize=True)
def test_the_projection_is_the_nearest_of_all_allowed_points(case: Case) -> None:
    found, allowed = projected(case), case.allowed()
    if not allowed:
        assert found is None
        return
    assert found is not None
    assert case.distance(found) <= min(map(case.distance, allowed)) + 1e-9


@given(cases(relations=True))
@examples(150, derandomize=True)
def test_with_relations_too_it_is_the_nearest_of_all_allowed_points(case: Case) -> None:
    found, allowed = projected(case), case.allowed()
    if not allowed:  # but for what the applicant has
        assert found is None or same(found, case.applicant).all()
        return
    assert found is not None
    assert case.distance(found) <= min(map(case.distance, allowed)) + 1e-6


@given(cases(relations=True))
@examples(100, derandomize=True)
def test_a_projection_breaks_nothing_and_stays_where_it_is(case: Case) -> None:
    found = projected(case)
    if found is None:
        return
    person = case.applicant[None]
    assert case.schema.violations(found[None], person) == [[]]
    again = case.schema.project(found[None], person)
    assert again.tobytes() == found[None].tobytes()


@given(cases(relations=False))
@examples(100, derandomize=True)
def test_what_is_allowed_is_kept_and_what_is_not_is_named(case: Case) -> None:
    for point in case.allowed()[:20]:
        assert case.schema.violations(point[None], case.applicant[None]) == [[]]
        assert (case.schema.project(point[None], case.applicant[None])[0] == point).all() or (
            np.isnan(point).any()
        )
    broken = case.schema.violations(case.wanted[None], case.applicant[None])[0]
    on_list = any(
        ((p == case.wanted) | (np.isnan(p) & np.isnan(case.wanted))).all() for p in case.allowed()
    )
    assert bool(broken) != on_list


#: Relations may be given as text, which the annotation of the field does not say.
schema_of: Any = robx.Schema


def number(name: str, **fields: object) -> robx.Feature:
    return robx.Feature(name, **{"kind": "integer", "scale": 1.0, **fields})  # type: ignore[arg-type]


def test_a_relation_moves_the_cheaper_feature() -> None:
    schema = schema_of((number("a"), number("b", weight=3.0)), ("a <= b",))
    assert schema.project(np.array([[5.0, 2.0]]), np.array([[0.0, 0.0]])).tolist() == [[2, 2]]
    schema = schema_of((number("a", weight=3.0), number("b")), ("a <= b",))
    assert schema.project(np.array([[5.0, 2.0]]), np.array([[0.0, 0.0]])).tolist() == [[5, 5]]


def test_a_relation_on_free_numbers_is_met_exactly() -> None:
    schema = schema_of((number("a", kind="continuous"), number("b", kind="continuous")), ("a<=b",))
    wanted = np.random.default_rng(0).normal(scale=1e4, size=(50, 2))
    found = schema.project(wanted, np.zeros((50, 2)))
    assert schema.violations(found, np.zeros((50, 2))) == [[]] * 50
    moved = np.abs(found - wanted).sum(axis=1)
    np.testing.assert_allclose(moved, np.maximum(wanted[:, 0] - wanted[:, 1], 0), rtol=1e-9)


def test_a_missing_value_keeps_any_relation() -> None:
    schema = schema_of((number("a"), number("b")), ("a <= b",))
    found = schema.project(np.array([[5.0, np.nan]]), np.array([[0.0, np.nan]]))
    assert found[0, 0] == 5
    assert np.isnan(found[0, 1])


def test_a_fixed_value_off_its_grid_does_not_stop_the_others() -> None:
    fixed = number("a", kind="continuous", resolution=0.1, change="none")
    schema = schema_of((fixed, number("b")), ("a <= b",))
    person = np.array([[0.25, 0.0]])
    assert schema.project(person, person).tolist() == [[0.25, 1.0]]


def test_relations_allow_for_how_float32_rounds() -> None:
    step = number("a", kind="continuous", resolution=0.1)
    schema = schema_of((step,), ("a <= 0.3",))
    found = schema.project(np.array([[0.9]], np.float32), np.array([[0.0]], np.float32))
    assert found.tolist() == [[float(np.float32(0.3))]]


def test_an_infinite_wish_leaves_the_applicant_where_they_are() -> None:
    for ties in ((), ("a <= b",)):
        schema = schema_of((number("a"), number("b")), ties)
        found = schema.project(np.array([[np.inf, -np.inf]]), np.array([[1.0, 2.0]]))
        assert found.tolist() == [[1, 2]]


def test_without_applicants_points_move_onto_the_grids() -> None:
    schema = schema_of(
        (
            number("a", change="increase"),
            robx.Feature("b", "ordinal", levels=(0, 5), scale=1.0, change="none"),
            robx.Feature("c_x", "onehot", group="c", scale=1.0, change="none"),
            robx.Feature("c_y", "onehot", group="c", scale=1.0, change="none"),
        )
    )
    found = schema.project(np.array([[1.6, 4.0, 0.2, 0.7], [2.0, np.nan, 1.0, 0.0]]))
    np.testing.assert_array_equal(found, [[2, 5, 0, 1], [2, np.nan, 1, 0]])


def test_no_allowed_point_is_an_error_that_names_the_rule() -> None:
    tied = schema_of((number("a", change="none"), number("b", change="none")), ("a <= b",))
    with pytest.raises(robx.InvalidInput, match=r"No point is allowed for row 1: a <= b\."):
        tied.project(np.array([[1.0, 1.0], [2.0, 1.0]]), np.array([[1.0, 1.0], [2.0, 1.0]]))


def test_who_is_outside_of_a_range_may_stay_there() -> None:
    for change in ("none", "decrease", "any"):
        schema = schema_of((number("a", low=5.0, high=9.0, change=change),))
        people = np.array([[6.0], [1.0]])
        assert schema.project(people, people).tolist() == [[6], [1]]
        assert schema.violations(people, people) == [[], []]


def test_a_change_leads_into_the_range() -> None:
    schema = schema_of((number("a", low=5.0, high=9.0),))
    person = np.full((5, 1), 1.0)
    wanted = np.array([[2.0], [4.0], [7.0], [30.0], [-3.0]])
    assert schema.project(wanted, person).tolist() == [[1], [5], [7], [9], [1]]
    assert (
        schema.violations(wanted, person)
        == [["a (from 5 to 9)"]] * 2 + [[]] + [["a (from 5 to 9)"]] * 2
    )


def test_with_a_relation_too_who_is_outside_of_a_range_may_stay_there() -> None:
    schema = schema_of((number("a", low=5.0), number("b")), ("a <= b",))
    person = np.array([[3.0, 0.0]])
    assert schema.project(np.array([[3.0, 2.0]]), person).tolist() == [[3, 3]]
    assert schema.project(np.array([[5.0, 4.0]]), person).tolist() == [[5, 5]]


def test_a_fixed_value_that_is_missing_may_be_filled_where_that_is_said() -> None:
    fixed = number("a", change="none", may_fill=True)
    people = np.array([[np.nan], [2.0]])
    found = schema_of((fixed,)).project(np.array([[4.0], [4.0]]), people)
    assert found.tolist() == [[4], [2]]
    assert schema_of((fixed,)).violations(found, people) == [[], []]


def test_small_dtypes_bound_what_can_be_written() -> None:
    schema = schema_of((number("a", high=1000.0),))
    people = np.array([[1]], np.int8)
    assert schema.project(np.array([[100]], np.int8), people).dtype == np.int8
    stated = schema_of((number("a", low=1000.0),))  # where an int8 never comes
    assert stated.project(np.array([[100]], np.int8), people).tolist() == [[1]]

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

import robx
from plot_cases import NAN, german, plane
from robx import plots


def test_changes_are_told_as_the_answers_tell_them() -> None:
    problem, answers, _, _ = german()
    for i in np.flatnonzero(answers.answered):
        table = plots.change_table(answers, int(i))
        assert tuple(table["words"]) == answers.changes[i]
        assert len(table) == answers.n_changes[i]
        both = answers.applicants.iloc[i], answers.points.iloc[i]
        for line in table.to_dict("records"):
            feature = problem.schema[str(line["feature"])]
            before, after = (row[feature.name] for row in both)
            if feature.kind == "categorical":
                assert np.isnan(line["shift"])
                assert (line["before"], line["after"]) == (before, after)
                continue
            assert feature.scale is not None
            moved = (after - before) / feature.scale
            assert line["shift"] == pytest.approx(moved)
            assert line["low"] <= line["shift"] <= line["high"]


def test_the_shifts_of_numbers_make_up_the_cost() -> None:
    _, answers, _, _ = german()
    for i in np.flatnonzero(answers.answered)[:10]:
        shifts = plots.change_table(answers, int(i))["shift"].abs()
        assert shifts.fillna(1.0).sum() == pytest.approx(answers.cost[i])


def made_up(features: list[robx.Feature], before: Any, after: Any) -> robx.Counterfactuals:
    """An answer that nobody searched for, by a model that takes all there is."""
    people, points = pd.DataFrame(before, index=[7]), pd.DataFrame(after, index=[7])
    one = np.ones(1)
    return robx.Counterfactuals(
        method="Given",
        settings={},
        schema=robx.Schema(features),
        applicants=people,
        points=points,
        status=np.array([robx.Status.OK], dtype=object),
        reason=("",),
        cost=one,
        score=one,
        stability=one,
        n_changes=one.astype(np.int64),
        norm=1,
    )


def test_a_group_is_one_feature_and_room_is_what_the_schema_states() -> None:
    answers = made_up(
        [
            robx.Feature("up", change="increase", scale=10.0),
            robx.Feature("down", change="decrease", low=2.0, scale=10.0),
            robx.Feature("rank", "ordinal", levels=(0, 1, 2, 3), scale=2.0),
            robx.Feature("home_own", "onehot", group="home", scale=1.0),
            robx.Feature("home_rent", "onehot", group="home", scale=1.0),
            robx.Feature("filled", scale=1.0, may_fill=True),
            robx.Feature("same", scale=1.0),
        ],
        {
            "up": 1.0,
            "down": 7.0,
            "rank": 1,
            "home_own": 0,
            "home_rent": 1,
            "filled": NAN,
            "same": 3.0,
        },
        {
            "up": 6.0,
            "down": 4.0,
            "rank": 3,
            "home_own": 1,
            "home_rent": 0,
            "filled": 2.0,
            "same": 3.0,
        },
    )
    table = plots.change_table(answers, 0)
    expected = pd.DataFrame(
        [
            ("up", "1", "6", 0.5, 0.0, np.inf, "up: 1 → 6"),
            ("down", "7", "4", -0.3, -0.5, 0.0, "down: 7 → 4"),
            ("rank", "1", "3", 1.0, -0.5, 1.0, "rank: 1 → 3"),
            ("home", "rent", "own", NAN, NAN, NAN, "home: rent → own"),
            ("filled", "missing", "2", NAN, NAN, NAN, "filled: missing → 2"),
        ],
        columns=["feature", "before", "after", "shift", "low", "high", "words"],
    )
    pd.testing.assert_frame_equal(table, expected)
    asked = plots.asked_table(answers).set_index("feature")
    assert asked[["rising", "falling", "switching", "filling"]].T.to_dict("list") == {
        "up": [1, 0, 0, 0],
        "down": [0, 1, 0, 0],
        "rank": [1, 0, 0, 0],
        "home": [0, 0, 1, 0],
        "filled": [0, 0, 0, 1],
    }
    assert plots.before_after(table).get_label() == "; ".join(answers.changes[0]) + "."


def test_who_is_outside_a_range_already_has_no_room_beyond() -> None:
    feature = robx.Feature("x", low=0.0, high=1.0, scale=1.0)
    table = plots.change_table(made_up([feature], {"x": 3.0}, {"x": 1.0}), 0)
    assert table[["shift", "low", "high"]].to_numpy().tolist() == [[-2.0, -3.0, 0.0]]


def test_answers_for_arrays_are_read_too() -> None:
    problem, X = plane()
    rows = np.asarray(X)
    model = problem.model
    answers = robx.NearestNeighbour().explain(robx.Problem(model, rows), rows[:50])
    i = int(np.flatnonzero(answers.ok)[0])
    assert tuple(plots.change_table(answers, i)["words"]) == answers.changes[i]


def test_who_changes_nothing_has_an_empty_table() -> None:
    _, answers, _, _ = german()
    i = int(np.flatnonzero(~answers.answered)[0])
    table = plots.change_table(answers, i)
    assert len(table) == 0
    assert table["shift"].dtype == np.float64


def test_places_that_nobody_has_are_refused() -> None:
    _, answers, _, _ = german()
    for i in (-1, 200, 1.0, True):
        with pytest.raises(robx.InvalidInput, match="one of the 200 applicants, from 0. Got"):
            plots.change_table(answers, i)  # type: ignore[arg-type]
    for make in (lambda x: plots.change_table(x, 0), plots.asked_table):
        with pytest.raises(robx.InvalidInput, match="takes robx.Counterfactuals.* Got DataFrame"):
            make(answers.summary)


def naive_asked(answers: robx.Counterfactuals) -> dict[str, tuple[int, int, int, list[float]]]:
    """Count by the words and the tables alone: people, rising, falling, shifts."""
    people: Counter[str] = Counter()
    rising: Counter[str] = Counter()
    falling: Counter[str] = Counter()
    shifts: dict[str, list[float]] = {}
    for i in range(len(answers)):
        if answers.status[i] not in {robx.Status.OK, robx.Status.UNSTABLE}:
            continue
        for feature in answers.schema:
            before, after = (t.iloc[i][feature.name] for t in (answers.applicants, answers.points))
            if before == after:
                continue
            people[feature.name] += 1
            if feature.kind != "categorical":
                rising[feature.name] += int(after > before)
                falling[feature.name] += int(after < before)
                assert feature.scale is not None
                shifts.setdefault(feature.name, []).append((after - before) / feature.scale)
    return {n: (people[n], rising[n], falling[n], shifts.get(n, [NAN])) for n in people}


def test_asked_features_are_counted_as_by_hand() -> None:
    _, answers, _, _ = german()
    table, expected = plots.asked_table(answers), naive_asked(answers)
    assert set(table["feature"]) == set(expected)
    for line in table.to_dict("records"):
        people, rising, falling, shifts = expected[str(line["feature"])]
        assert (line["people"], line["rising"], line["falling"]) == (people, rising, falling)
        assert line["switching"] == people - rising - falling
        assert line["share"] == people / answers.answered.sum()
        assert line["median_shift"] == pytest.approx(np.median(shifts), nan_ok=True)
    assert table["people"].is_monotonic_decreasing
    assert table["switching"].sum() > 0


def test_the_best_found_counts_also_where_it_is_unstable() -> None:
    problem, _, _, X = german()
    answers = robx.RobX(tau=0.999).explain(problem, X[400:450])
    assert answers.answered.any()
    assert not answers.ok.any()
    table = plots.asked_table(answers).set_index("feature")
    assert table["people"].to_dict() == {n: line[0] for n, line in naive_asked(answers).items()}


def test_where_nobody_has_an_answer_nobody_is_asked() -> None:
    problem, _, _, X = german()
    accepted = X[problem.model.score(X) > 0.5][:3]
    table = plots.asked_table(robx.NearestNeighbour().explain(problem, accepted))
    assert len(table) == 0
    assert plots.asked_features(table).get_label() == "Nobody is asked to change anything."

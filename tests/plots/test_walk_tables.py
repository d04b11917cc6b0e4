from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import robx
from plot_cases import german, plane
from robx import plots


def naive_walk(
    problem: robx.Problem, model: Any, start: pd.DataFrame, end: pd.DataFrame, own: pd.DataFrame
) -> pd.DataFrame:
    """Walk place by place, by the schema and the library's own score."""
    lines = []
    for position in (0.0, 0.25, 0.5, 0.75, 1.0):
        place = own.copy()
        for feature in problem.schema:
            a, b = start[feature.name].iloc[0], end[feature.name].iloc[0]
            if feature.kind == "categorical":
                own_levels = own[feature.name].cat.categories
                place[feature.name] = pd.Categorical([b if position > 0.5 else a], own_levels)
            else:
                place[feature.name] = np.array([(1 - position) * a + position * b])
        place = problem.schema.project(place, own)
        whole = place.astype(own.dtypes.to_dict())
        found = robx.stability(model, whole, scale=problem.schema.noise_units)
        lines.append(
            {
                "position": position,
                "score": float(model.predict_proba(whole)[0, 1]),
                "mean": found.mean[0],
                "std": found.std[0],
                "stability": found.value[0],
                "cost": problem.schema.cost(whole, own)[0],
            }
        )
    return pd.DataFrame(lines)


def test_a_walk_is_what_it_would_be_place_by_place() -> None:
    problem, answers, model, _ = german()
    moved = np.flatnonzero(answers.ok & (answers.n_changes > 3))[:3]
    for i in moved:
        own = answers.applicants.iloc[[i]]
        end = answers.points.iloc[[i]]
        table = plots.walk_table(problem, own, end, n_points=5, applicant=own)
        expected = naive_walk(problem, model, own, end, own)
        pd.testing.assert_frame_equal(table[list(expected)], expected, atol=1e-6)
        assert table["accepted"].tolist() == (table["score"] > 0.5).tolist()


def test_categories_jump_after_half_of_the_way() -> None:
    problem, _, model, X = german()
    own = X[400:401]
    other = {"none": "registered", "registered": "none"}[str(own["telephone"].iloc[0])]
    levels = own["telephone"].cat.categories
    end = own.assign(telephone=pd.Categorical([other], levels), amount=own["amount"] + 4000)
    table = plots.walk_table(problem, own, end, n_points=5, applicant=own)
    expected = naive_walk(problem, model, own, end, own)
    pd.testing.assert_frame_equal(table[list(expected)], expected, atol=1e-6)
    assert np.diff(table["cost"]).round(1).tolist() == [0.1, 0.1, 1.1, 0.1]


def test_a_walk_ends_where_it_is_to_end() -> None:
    problem, answers, _, _ = german()
    i = int(np.flatnonzero(answers.ok)[0])
    own, end = answers.applicants.iloc[[i]], answers.points.iloc[[i]]
    table = plots.walk_table(problem, own, end, applicant=own)
    assert len(table) == 41
    assert table["cost"].iloc[[0, -1]].tolist() == pytest.approx([0, answers.cost[i]])
    assert table["stability"].iloc[-1] == pytest.approx(answers.stability[i])
    alone = plots.walk_table(problem, own, end)
    assert alone["cost"].isna().all()
    pd.testing.assert_frame_equal(alone.drop(columns="cost"), table.drop(columns="cost"))


def test_the_noise_and_the_norm_are_those_that_were_asked_for() -> None:
    problem, X = plane()
    rows = X.iloc[[0]] * 0 - 1.0, X.iloc[[0]] * 0 + 1.0
    noise = robx.Noise(sigma=0.3, n_draws=32, draws="gaussian", rng=2)
    table = plots.walk_table(problem, *rows, n_points=2, applicant=rows[0], noise=noise, norm=2)
    scale = problem.schema.noise_units
    found = robx.stability(
        problem.model, rows[1], sigma=0.3, n_draws=32, draws="gaussian", rng=2, scale=scale
    )
    assert table["stability"].iloc[1] == found.value[0]
    assert table["cost"].iloc[1] == problem.schema.cost(rows[1], rows[0], norm=2)[0]


def test_a_place_that_breaks_a_relation_is_not_accepted() -> None:
    problem, X = plane()
    a, b = X.columns[:2]
    tied = robx.Problem(problem.model, X, robx.Schema(problem.schema, [f"{a} <= {b} + 1"]))
    start, end = (X.iloc[[0]].assign(**{a: 3.0, b: y}) for y in (0.0, 3.0))
    table = plots.walk_table(tied, start, end, n_points=5)
    free = plots.walk_table(problem, start, end, n_points=5)
    kept = np.linspace(0, 3, 5) + 1 >= 3.0
    assert free["accepted"].any()
    assert table["accepted"].tolist() == (kept & free["accepted"]).tolist()
    assert not kept.all()


def test_the_first_stable_place_is_where_robx_stops() -> None:
    problem, X = plane()
    people = X[problem.model.score(X) <= 0.5][:40]
    tau = 0.85
    method = robx.RobX(tau=tau, n_targets=1, step=0.01, noise=robx.Noise(sigma=0.15, rng=4))
    answers = method.explain(problem, people)
    assert answers.base is not None
    walked = np.flatnonzero(answers.ok & (answers.base.stability < tau - 0.1))
    assert len(walked) > 5
    for i in walked[:6]:
        table = plots.robx_walk_table(problem, answers, int(i), n_points=201)
        assert table["cost"].iloc[0] == pytest.approx(answers.base.cost[i])
        assert table["stability"].iloc[0] == pytest.approx(answers.base.stability[i])
        assert table["stability"].iloc[-1] >= tau
        first = table[(table["stability"] >= tau) & table["accepted"]].iloc[0]
        step = 0.01 * (abs(table["cost"].iloc[-1] - table["cost"].iloc[0]) + 0.5)
        assert first["cost"] == pytest.approx(answers.cost[i], abs=step)


def test_without_a_base_the_walk_starts_at_the_applicant() -> None:
    problem, X = plane()
    people = X[problem.model.score(X) <= 0.5][:5]
    answers = robx.RobX(base=None, tau=0.8).explain(problem, people)
    i = int(np.flatnonzero(answers.ok)[0])
    table = plots.robx_walk_table(problem, answers, i)
    assert table["cost"].iloc[0] == 0
    assert not table["accepted"].iloc[0]


def test_what_is_no_walk_is_refused() -> None:
    problem, answers, _, X = german()
    one = X[:1]
    flat, X_flat = plane()
    with pytest.raises(robx.InvalidInput, match="'end' of walk_table .* one row.* Got 2 rows"):
        plots.walk_table(problem, one, X[:2])
    with pytest.raises(robx.InvalidInput, match="'n_points' parameter of walk_table must be an in"):
        plots.walk_table(problem, one, one, n_points=1)
    with pytest.raises(robx.InvalidInput, match="walk_table takes a robx.Problem first. Got XGB"):
        plots.walk_table(german()[2], one, one)
    with pytest.raises(robx.InvalidInput, match="does not take the 'start' of walk_table: "):
        plots.walk_table(flat, X_flat[:1] * np.inf, X_flat[:1])
    with pytest.raises(robx.InvalidInput, match="norm"):
        plots.walk_table(problem, one, one, norm=3)  # type: ignore[arg-type]
    unanswered = int(np.flatnonzero(~answers.ok)[0])
    with pytest.raises(robx.InvalidInput, match=f"Applicant {unanswered} has no walk"):
        plots.robx_walk_table(problem, answers, unanswered)
    with pytest.raises(robx.InvalidInput, match="one of the 200 applicants, from 0. Got 200"):
        plots.robx_walk_table(problem, answers, 200)
    nearest = robx.NearestNeighbour().explain(problem, one)
    with pytest.raises(robx.InvalidInput, match="takes Counterfactuals by RobX. Got NearestNeigh"):
        plots.robx_walk_table(problem, nearest, 0)

"""What every method keeps, on every family of models. Test classes of methods inherit it."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import robx
from families import EVERY, MORE, QUICK, TREES, Family, family
from robx.methods import Method
from speed import slow_but, tries
from strategies import random_schema

ANSWERED = {robx.Status.OK, robx.Status.UNSTABLE}


def rows_of(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def same(a: Any, b: Any) -> bool:
    """Equal tables: values, dtypes, names, index."""
    if hasattr(a, "equals"):
        return bool(a.equals(b) and (a.dtypes == b.dtypes).all() and (a.index == b.index).all())
    return bool(a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True))


def assert_lawful(answer: robx.Counterfactuals, case: Family, problem: robx.Problem) -> None:
    """Laws 2 and 4, as a user would look: the schema, and their own predict_proba."""
    assert len(answer) == len(answer.applicants)
    names = list(case.X.columns) if hasattr(case.X, "columns") else None
    table = answer.points[names] if names else answer.points
    assert (case.probability(table)[answer.ok] > problem.threshold).all()
    scores = case.probability(table)
    np.testing.assert_allclose(answer.score, scores, atol=1e-6)
    broken = problem.schema.violations(answer.points, answer.applicants)
    people = problem.read(answer.applicants)
    refused = problem.gate.explains(problem.read(answer.points).matrix, people)
    for i, status in enumerate(answer.status):
        if status in ANSWERED:
            assert not broken[i], (i, broken[i], answer.changes[i])
            assert not refused[i], (i, refused[i], answer.changes[i])
            assert answer.n_changes[i] > 0
        else:
            assert same(rows_of(answer.points, [i]), rows_of(answer.applicants, [i]))
            assert answer.cost[i] == 0
        assert (answer.reason[i] == "") == (status in {"ok", "already accepted"})
    assert_near(answer, problem)
    assert np.isfinite(answer.cost).all()
    assert np.isfinite(answer.stability[answer.ok]).all()
    if hasattr(answer.points, "dtypes"):
        assert (answer.points.dtypes == answer.applicants.dtypes).all()
        assert (answer.points.columns == answer.applicants.columns).all()
        assert answer.points.index.equals(answer.applicants.index)


def assert_near(answer: robx.Counterfactuals, problem: robx.Problem) -> None:
    """No value moves further from the applicant's own than the schema says."""
    before, after = (problem.read(t).matrix for t in (answer.applicants, answer.points))
    for j, feature in enumerate(problem.schema):
        x, z = before[:, j], after[:, j]
        if feature.kind == "ordinal":
            levels = np.array(feature.level_numbers)[:, None]
            rise = ((levels > x) & (levels <= z)).sum(axis=0)
            fall = ((levels < x) & (levels >= z)).sum(axis=0)
        else:
            rise, fall = np.nan_to_num(z - x), np.nan_to_num(x - z)
        slack = 1e-6 * np.nan_to_num(np.abs(x))
        if feature.max_increase is not None:
            assert (rise <= feature.max_increase + slack).all()
        if feature.max_decrease is not None:
            assert (fall <= feature.max_decrease + slack).all()


class MethodContract:
    """Inherit, and set `method`."""

    method: Method
    #: The least share of declined applicants with an answer, on the unconstrained problems.
    coverage: float = 0.9
    #: Whether the method needs the trees themselves.
    needs_trees: bool = False
    n_schemas: int = 25

    @pytest.fixture(params=slow_but(QUICK, EVERY, MORE))
    def case(self, request: pytest.FixtureRequest) -> Family:
        found = family(request.param)
        if found.is_black_box and self.needs_trees:
            pytest.skip("needs the trees themselves")
        return found

    def test_answers_are_lawful(self, case: Family) -> None:
        problem = case.problem()
        answer = self.method.explain(problem, case.applicants)
        assert_lawful(answer, case, problem)
        asked = answer.status != robx.Status.ACCEPTED
        assert asked.any()
        # A missing value stays missing, which may leave no stable way.
        whole = ~pd.DataFrame(case.applicants).isna().any(axis=1).to_numpy()
        assert answer.ok[asked & whole].mean() >= self.coverage
        assert (
            (answer.status == robx.Status.ACCEPTED) == (case.probability(case.applicants) > 0.5)
        ).all()

    def test_inputs_are_left_alone(self, case: Family) -> None:
        X, applicants = copy.deepcopy(case.X), copy.deepcopy(case.applicants)
        problem = robx.Problem(case.model, X, target=case.target)
        self.method.explain(problem, rows_of(applicants, slice(8)))
        assert same(X, case.X)
        assert same(applicants, case.applicants)

    def test_an_empty_batch_and_a_single_row(self, case: Family) -> None:
        problem = case.problem()
        empty = self.method.explain(problem, rows_of(case.applicants, slice(0)))
        assert len(empty) == len(empty.frame) == len(empty.summary) == 0
        assert len(self.method.explain(problem, rows_of(case.applicants, slice(1)))) == 1

    @pytest.mark.parametrize("name", slow_but(["xgboost"], QUICK, ["forest"]))
    def test_any_batch_order_and_copy_gives_the_same_bytes(self, name: str) -> None:
        case = family(name)
        if case.is_black_box and self.needs_trees:
            pytest.skip("needs the trees themselves")
        some = rows_of(case.applicants, slice(16))
        whole = self.method.explain(case.problem(), some)
        # A black box's own last bit may depend on how many rows it is asked about at once.
        exact = not case.is_black_box
        again = pickle.loads(pickle.dumps(self.method)).explain(
            pickle.loads(pickle.dumps(case.problem())), some
        )
        assert_same_answers(whole, again, range(16), exact=exact)
        backwards = self.method.explain(case.problem(), rows_of(some, slice(None, None, -1)))
        assert_same_answers(whole, backwards, range(15, -1, -1), exact=exact)
        problem = case.problem()
        for rows in (range(5), range(5, 6), range(6, 16)):
            part = self.method.explain(problem, rows_of(some, list(rows)))
            assert_same_answers(whole, part, rows, exact=exact)

    def test_saved_answers_come_back(self, tmp_path: Path) -> None:
        case = family("xgboost")
        answer = self.method.explain(case.problem(), rows_of(case.applicants, slice(12)))
        answer.save(tmp_path / "answer.json")
        loaded = robx.Counterfactuals.load(tmp_path / "answer.json")
        assert_same_answers(answer, loaded, range(12))
        assert loaded.to_json() == answer.to_json()
        assert [loaded.words(i) for i in range(12)] == [answer.words(i) for i in range(12)]

    @pytest.mark.parametrize("name", slow_but(["xgboost", "forest"], TREES, MORE))
    def test_random_schemas_are_kept(self, name: str) -> None:
        case = family(name)
        guess = case.problem().schema
        some = rows_of(case.applicants, slice(10))
        for seed in range(tries(self.n_schemas, 8)):
            rng = np.random.default_rng(seed)
            schema = random_schema(guess, case.X, rng)
            threshold = float(rng.choice([0.01, 0.3, 0.5, 0.7, 0.99]))
            problem = case.problem(schema=schema, threshold=threshold)
            assert_lawful(self.method.explain(problem, some), case, problem)

    # --- what a range, a fixed value and a number that means "missing" say ---

    def test_a_range_says_where_a_change_may_lead_and_demands_none(self) -> None:
        case = family("forest")
        guess = case.problem().schema
        ranged = guess.override(age={"low": 60, "high": 70}, rate={"high": -1.0})
        problem = case.problem(schema=ranged)
        answer = self.method.explain(problem, case.applicants)
        assert_lawful(answer, case, problem)
        assert not (answer.status == robx.Status.INFEASIBLE).any()
        before, after = (table[answer.ok] for table in (case.applicants, answer.points))
        assert len(after) > 0.3 * len(case.applicants)
        for name, low, high in (("age", 60, 70), ("rate", -np.inf, -1.0)):
            stays = after[name] == before[name]
            assert (stays | after[name].between(low, high)).all()
            assert (stays & ~before[name].between(low, high)).any()

    def test_nothing_moves_further_than_is_said_and_that_far_it_may(self) -> None:
        case = family("forest")
        near: dict[str, dict[str, Any]] = {
            "age": {"within": 10},
            "income": {"max_increase": 15.0, "max_decrease": 0},
            "savings": {"kind": "ordinal", "levels": [0, 1, 2, 3, 4], "max_increase": 2},
        }
        problem = case.problem(schema=case.problem().schema.override(near))
        answer = self.method.explain(problem, case.applicants)
        assert_lawful(answer, case, problem)
        change = (answer.points - case.applicants.astype(float))[answer.ok]
        assert len(change) > 5
        assert change["income"].between(0, 15 + 1e-9).all()
        assert change["age"].between(-10, 10).all()
        assert (change["savings"] <= 2).all()
        assert (change["income"] > 5).any() or (change["savings"] == 2).any()

    @pytest.mark.parametrize("seed", slow_but([0], range(6), [1]))
    def test_what_goes_together_stays_together(self, seed: int) -> None:
        case = family("together")
        schema = robx.Schema.infer(case.X, protected=())
        assert [one.names for one in schema.together] == [
            ("savings", "money", "has_savings"),
            ("home_code", "home"),
        ]
        if seed:
            rng = np.random.default_rng(seed)
            schema = random_schema(schema.override(together=schema.together), case.X, rng)
        problem = case.problem(schema=schema)
        answer = self.method.explain(problem, case.applicants)
        assert_lawful(answer, case, problem)
        after = answer.points
        assert (after["money"] == 50 * after["savings"] ** 2).all()
        assert (after["has_savings"] == (after["savings"] > 1)).all()
        assert (after["home_code"] == 3 * after["home_own"] + 7 * after["home_other"]).all()
        if seed == 0:
            moved = (after != case.applicants)[["savings", "home_code"]]
            assert moved.to_numpy().any()
            counted = (after != case.applicants)[
                ["income", "age", "savings", "rate", "owner", "debts", "home_code"]
            ]
            assert answer.n_changes.tolist() == counted.sum(axis=1).tolist()

    def test_of_who_may_not_move_a_range_says_nothing(self) -> None:
        case = family("forest")
        guess = case.problem().schema
        some = rows_of(case.applicants, slice(20))
        plain, ranged = (
            self.method.explain(case.problem(schema=guess.override(age=stated)), some)
            for stated in ({"change": "none"}, {"change": "none", "low": 60, "high": 70})
        )
        assert same(plain.points, ranged.points)
        assert (plain.status == ranged.status).all()

    def test_what_is_fixed_and_missing_may_be_filled_where_that_is_said(self) -> None:
        case = family("xgboost")
        fixed = {"change": "none", "may_fill": True}
        problem = case.problem(schema=case.problem().schema.override(income=fixed, debts=fixed))
        answer = self.method.explain(problem, case.applicants)
        assert_lawful(answer, case, problem)
        for name in ("income", "debts"):
            before, after = case.applicants[name], answer.points[name]
            assert (after[before.notna()] == before[before.notna()]).all()
            seen = case.X[name]
            assert after[after.notna() & before.isna()].between(seen.min(), seen.max()).all()

    @pytest.mark.parametrize("name", ["xgboost-zero", "lightgbm-zero"])
    def test_nobody_comes_to_have_a_number_that_means_missing(self, name: str) -> None:
        case = family(name)
        problem = case.problem()
        answer = self.method.explain(problem, rows_of(case.applicants, slice(25)))
        assert_lawful(answer, case, problem)
        assert answer.ok.any()
        new = answer.points != answer.applicants
        lost = (new & (answer.points == 0)).any(axis=0)
        assert {name for name in lost.index if lost[name]} <= {
            "home_rent",
            "home_own",
            "home_other",
        }

    def test_rows_that_cannot_be_answered_do_not_stop_the_others(self) -> None:
        case = family("boosting")
        some = case.applicants[:8].copy()
        some.loc[2, "income"], some.loc[5, "rate"] = np.inf, np.nan
        answer = self.method.explain(case.problem(), some)
        assert answer.status[[2, 5]].tolist() == [robx.Status.INFEASIBLE] * 2
        assert answer.reason[2] == "income is infinite"
        assert answer.reason[5] == "rate is missing, and the model takes no missing values"
        rest = [0, 1, 3, 4, 6, 7]
        alone = self.method.explain(case.problem(), some.iloc[rest])
        assert_same_answers(answer, alone, rest)


def assert_same_answers(
    whole: robx.Counterfactuals, part: robx.Counterfactuals, rows: Any, *, exact: bool = True
) -> None:
    """Row k of the part is row rows[k] of the whole, to the last bit."""
    places = list(rows)
    assert same(rows_of(whole.points, places), part.points)
    assert (whole.status[places] == part.status).all()
    assert [whole.reason[i] for i in places] == list(part.reason)
    for name in ("cost", "score", "stability", "n_changes"):
        ours, theirs = getattr(whole, name)[places], getattr(part, name)
        if exact or name == "n_changes":
            assert ours.tobytes() == theirs.tobytes()
        else:
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)

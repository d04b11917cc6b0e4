"""Answers that change few features: found where they exist, and else the best within the limit."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier
from xgboost import XGBClassifier

import robx
from contracts import MethodContract, assert_lawful, assert_same_answers, rows_of
from families import family
from frugal_cases import MODEL, PEOPLE, QUICK, UNITS, X, Y
from robx.methods.few_changes import Options
from robx.methods.point_tests import say_failing
from speed import slow_but

Floats = NDArray[np.float64]
LIMITED = robx.Frugal(**QUICK, max_changes=2)


@pytest.mark.slow
class TestFrugalWithinALimit(MethodContract):
    method = robx.Frugal(
        n_targets=2, halvings=1, level=0.3, noise=robx.Noise(n_draws=16), max_changes=2
    )
    coverage = 0.5  # two changes are not always enough
    n_schemas = 4


# --- many columns, each of which tells a little ---------------------------------------------------


def credit_files(n: int, seed: int) -> Floats:
    """Twenty whole numbers with four causes, as in a credit file."""
    rng = np.random.default_rng(seed)
    mix = np.random.default_rng(0).normal(size=(4, 20))
    return np.rint(15 * (rng.normal(size=(n, 4)) @ mix + rng.normal(size=(n, 20))) + 50)


FILES = credit_files(700, 1)
WORTH = np.random.default_rng(2).uniform(0.2, 1.0, 20)
GOOD = np.median(FILES @ WORTH) < FILES @ WORTH
CREDIT = XGBClassifier(n_estimators=30, max_depth=3, n_jobs=1).fit(FILES, GOOD)
DECLINED = credit_files(120, 3)
DECLINED = DECLINED[CREDIT.predict_proba(DECLINED)[:, 1] <= 0.5][:24]


@pytest.fixture(scope="module")
def credit() -> robx.Problem:
    return robx.Problem(CREDIT, FILES)


@pytest.mark.parametrize("most", slow_but([2], [1, 2, 3]))
def test_everybody_is_told_the_best_that_few_changes_can_do(
    credit: robx.Problem, most: int
) -> None:
    free = robx.Frugal(**QUICK).explain(credit, DECLINED)
    assert free.ok.all()
    assert (free.n_changes > most).mean() > 0.5  # the limit does ask for something
    answer = robx.Frugal(**QUICK, max_changes=most).explain(credit, DECLINED)
    tau = answer.settings["tau"]
    assert answer.n_changes.max() <= most
    assert (CREDIT.predict_proba(answer.points)[answer.answered, 1] > 0.5).all()
    assert (answer.stability[answer.ok] >= tau).all()
    if most > 1:
        assert answer.answered.mean() > 0.9
        assert answer.ok.sum() > (free.n_changes <= most).sum()
    for i in np.flatnonzero(~answer.answered):
        said = "no accepted point that changes at most "
        assert re.fullmatch(
            f"{said}{most} features? was found; with [0-9]+ changes an answer passes",
            answer.reason[i],
        )
    best = np.flatnonzero(answer.status == robx.Status.UNSTABLE)
    assert len(best)
    for i in best:
        said = answer.reason[i]
        some = f"at most {most} feature{'s' if most > 1 else ''}"
        assert said.startswith(f"no point that changes {some} passed R >= {tau:.4g}, outlier")
        assert f"; the best seen has R = {say_failing(answer.stability[i])}, outlier score" in said
        assert f"{answer.measured['outlier_score'][i]:.3g}; with " in said
        (possible,) = re.findall(r"; with (\d+) changes an answer passes$", said)
        assert int(possible) > most
    assert not any("may help" in reason for reason in answer.reason)
    assert robx.Status.BUDGET not in answer.status


def test_with_as_many_changes_as_the_reason_names_an_answer_passes(credit: robx.Problem) -> None:
    answer = LIMITED.explain(credit, DECLINED)
    n_checked = 0
    for i in np.flatnonzero(answer.status == robx.Status.UNSTABLE)[:4]:
        (possible,) = re.findall(r"with (\d+) changes", answer.reason[i])
        more = replace(LIMITED, max_changes=int(possible)).explain(credit, DECLINED[i : i + 1])
        assert more.ok.all()
        n_checked += 1
    assert n_checked


# --- against all pairs ----------------------------------------------------------------------------


def every_pair(problem: robx.Problem, people: Any, i: int) -> Floats:
    """All legal points that change one or two features to values that accepted rows have."""
    applicants, points = problem.read(people), []
    values = [
        (columns, np.unique(problem.support.rows[:, columns], axis=0)[::3])
        for columns in problem.rules.features_of_columns
    ]
    for (one, some), (two, others) in combinations(values, 2):
        pairs = np.tile(applicants.matrix[i], (len(some), len(others), 1))
        pairs[:, :, one] = some[:, None]
        pairs[:, :, two] = others[None]
        points.append(pairs.reshape(-1, pairs.shape[2]))
    wanted = np.concatenate(points)
    tried, legal = problem.gate.admit(wanted, applicants, np.full(len(wanted), i))
    return np.asarray(tried[legal])


def test_hardly_an_answer_of_all_pairs_is_missed() -> None:
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 30, (500, 6)).astype(float)
    good = rows[:, 0] + rows[:, 1] + 0.7 * rows[:, 2] + np.maximum(rows[:, 3], rows[:, 4]) > 62
    model = GradientBoostingClassifier(n_estimators=25, random_state=0).fit(rows, good)
    problem = robx.Problem(model, rows)
    people = rng.integers(0, 18, (30, 6)).astype(float)
    people = people[model.predict_proba(people)[:, 1] <= 0.5][:16]
    method = replace(LIMITED, level=0.8, realism=None)
    answer, test = method.explain(problem, people), method.test(problem)
    possible = np.array([test(every_pair(problem, people, i)).any() for i in range(len(people))])
    assert 4 <= possible.sum() < len(people)  # some can, some cannot
    assert (possible & ~answer.ok).sum() <= 1


def test_the_best_found_is_nearest_to_passing_of_all_single_changes() -> None:
    method = robx.Frugal(**QUICK, max_changes=1, level=0.9)
    problem = robx.Problem(MODEL, X, UNITS)
    answer, test, options = (
        method.explain(problem, PEOPLE),
        method.test(problem),
        Options.of(problem),
    )
    people = problem.read(PEOPLE)
    best = np.flatnonzero(answer.status == robx.Status.UNSTABLE)
    assert len(best) > 5
    for i in best:
        wanted = np.where(options.columns, options.values, people.matrix[i])
        tried, legal = problem.gate.admit(wanted, people, np.full(len(wanted), i))
        tried = tried[legal & problem.gate.accepts(tried)]
        ours = test.lacks(answer.points[i : i + 1]).sum()
        assert ours > 0
        # Of the values of one feature, those of the highest score were measured.
        assert ours <= np.quantile(test.lacks(tried).sum(axis=1), 0.1) + 0.05


# --- what is one change ---------------------------------------------------------------------------


def test_groups_categories_and_missing_values_are_one_change_each() -> None:
    kinds: set[str] = set()
    for name in ("xgboost", "lightgbm", "forest"):
        case = family(name)
        problem = case.problem()
        if name == "lightgbm":
            problem = case.problem(schema=problem.schema.override(income={"may_fill": True}))
        for most in (1, 2):
            answer = replace(LIMITED, max_changes=most, level=0.4).explain(problem, case.applicants)
            assert_lawful(answer, case, problem)
            assert answer.n_changes.max() <= most
            assert (answer.answered | (answer.status == "already accepted")).mean() > 0.8
            for lines in answer.changes:
                assert len(lines) <= most
                kinds |= {line.split(":")[0] for line in lines}
            if name == "lightgbm":
                lacking = case.applicants["income"].isna().to_numpy()
                filled = answer.points["income"].notna().to_numpy() & lacking
                kinds |= {"filled"} if filled.any() else set()
    assert kinds >= {"filled", "income"}


def test_a_one_hot_group_is_one_change() -> None:
    rows = np.array([[a, *home] for a in range(10) for home in np.eye(3)])
    model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(
        rows, (rows[:, 0] >= 3) & (rows[:, 3] == 1)
    )
    features = (
        robx.Feature("a", "integer"),
        *(robx.Feature(f"home_{k}", "onehot", group="home") for k in "abc"),
    )
    problem = robx.Problem(model, rows, robx.Schema(features))
    method = robx.Frugal(**QUICK, level=0.0, realism=None, max_changes=2)
    answer = method.explain(problem, [[0.0, 1, 0, 0], [5.0, 1, 0, 0]])
    assert answer.ok.all()
    assert answer.n_changes.tolist() == [2, 1]
    assert [line[-1] for line in answer.changes] == ["home: a → c"] * 2


def test_what_follows_from_a_change_is_no_change_of_its_own() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"age": rng.integers(20, 60, 400), "years": rng.integers(0, 20, 400), "debts": 0.0}
    )
    table["debts"] = rng.integers(0, 40, 400).astype(float)
    model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(
        table, table["years"] + 0.2 * table["age"] - 0.1 * table["debts"] > 18
    )
    schema = robx.Schema.infer(table).override(
        age={"change": "none"}, years={"change": "increase"}, debts={"change": "none"}
    )
    schema = robx.Schema(schema.features, effects={"age": "+1 * years"})
    people = table[model.predict_proba(table)[:, 1] <= 0.5][:15]
    method = replace(LIMITED, max_changes=1, level=0.2)
    answer = method.explain(robx.Problem(model, table, schema), people)
    assert answer.ok.sum() > 5
    change = answer.points - people
    assert (change["age"] == change["years"]).all()
    assert (answer.n_changes[answer.answered] == 1).all()


def test_a_relation_that_takes_two_changes_is_kept() -> None:
    rows = np.array([[a, b, c] for a in range(6) for b in range(6) for c in range(2)], dtype=float)
    model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(rows, rows[:, 1] >= 4)
    features = tuple(robx.Feature(name, "integer", scale=5.0) for name in "abc")
    problem = robx.Problem(model, rows, robx.Schema(features, ("b <= a",)))
    method = robx.Frugal(**QUICK, level=0.0, realism=None, max_changes=2)
    answer = method.explain(problem, np.zeros((1, 3)))
    assert answer.ok.all()
    assert answer.points[0, 0] >= answer.points[0, 1] >= 4
    alone = replace(method, max_changes=1).explain(problem, np.zeros((1, 3)))
    assert alone.status.tolist() == [robx.Status.NOT_FOUND]
    (said,) = alone.reason
    assert said.startswith("no accepted point that changes at most 1 feature was found; with 2 ")


# --- laws -----------------------------------------------------------------------------------------


def test_any_batch_and_thread_count_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    case = family("lightgbm")
    some = rows_of(case.applicants, slice(12))
    whole = LIMITED.explain(case.problem(), some)
    assert whole.answered.sum() > 3
    for numbers, threads in ((1, 1), (2**22, 3)):  # one applicant at a time, and all
        monkeypatch.setattr("robx.methods.few_changes.MOST_NUMBERS", numbers)
        monkeypatch.setattr("robx.parallel.available_threads", lambda threads=threads: threads)
        backwards = LIMITED.explain(case.problem(), rows_of(some, slice(None, None, -1)))
        assert_same_answers(whole, backwards, range(11, -1, -1))
    alone = LIMITED.explain(case.problem(), rows_of(some, [7]))
    assert_same_answers(whole, alone, [7])


def test_a_longer_search_is_said_to_help_only_where_tests_ran_out(credit: robx.Problem) -> None:
    short = replace(LIMITED, max_tests=3)
    answer = short.explain(credit, DECLINED)
    early = [reason for reason in answer.reason if reason]
    assert early
    for status, reason in zip(answer.status, answer.reason, strict=True):
        assert status in {"ok", "unstable", "budget used up"}
        if reason:
            assert reason.endswith("; a search of more than max_tests = 3 points may help")
    longer = LIMITED.explain(credit, DECLINED)
    assert longer.ok.sum() > answer.ok.sum()  # and it does
    assert not any("may help" in reason for reason in longer.reason)


# --- every way in ---------------------------------------------------------------------------------


def test_explain_and_alternatives_keep_the_limit_too() -> None:
    answer = robx.explain(
        MODEL,
        X,
        PEOPLE[:8],
        y_train=Y,
        n_models=6,
        keep=None,
        n_answers=2,
        schema=UNITS,
        max_changes=2,
        **QUICK,
    )
    for one in (answer, *answer.alternatives):
        assert one.n_changes.max() <= 2
        for i in np.flatnonzero(one.status == robx.Status.UNSTABLE):
            assert "retrained score" in one.reason[i]
            assert np.isfinite(one.measured["retrained_score"][i])
    assert answer.answered.all()
    (other,) = answer.alternatives
    assert other.answered.any()
    changed = np.abs(answer.points - PEOPLE[:8]) > 0, np.abs(other.points - PEOPLE[:8]) > 0
    for i in np.flatnonzero(other.answered):
        assert (changed[0][i] & ~changed[1][i]).any()

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import LocalOutlierFactor
from xgboost import XGBClassifier

import robx
from robx.evaluation.log import Log
from robx.methods import Method
from robx.problem import Applicants, Found, Problem, Status
from robx.scenarios import Bootstrap, DropRows, OtherHalf, Scenario

X, Y, SCHEMA = robx.datasets.make_gaussians(400, d=3, separation=1.0, seed=1)


def boosted(**parameters: Any) -> XGBClassifier:
    return XGBClassifier(**{"n_estimators": 30, "max_depth": 3, "n_jobs": 1, **parameters})


STUDY = robx.Study(boosted(), X, Y, schema=SCHEMA)
NN, ROBUST = robx.NearestNeighbour(), robx.RobX()


def value(table: pd.DataFrame, metric: str, method: str = "NN", seed: Any = "all") -> float:
    row = table[(table.metric == metric) & (table.method == method) & (table.seed == seed)]
    assert len(row) == 1
    return float(row.value.iloc[0])


def without_time(table: pd.DataFrame) -> pd.DataFrame:
    return table[table.metric != "seconds"].reset_index(drop=True)


@dataclass(frozen=True, kw_only=True)
class Fallible(Method):
    """Answers every other applicant by the nearest neighbour, and counts how often it is asked."""

    asked: ClassVar[list[int]] = []

    def search(self, problem: Problem, people: Applicants, rows: NDArray[np.intp]) -> Found:
        self.asked.append(len(people))
        found = robx.NearestNeighbour().search(problem, people, rows)
        for i, row in enumerate(rows):
            if row % 2:
                found.refuse(i, Status.BUDGET, "tired")
        return found


# --- the figures ----------------------------------------------------------------------------------


def test_the_table_is_tidy_and_complete() -> None:
    scenarios = {"boot": Bootstrap(), "half": OtherHalf()}
    table = robx.evaluate(STUDY, {"NN": NN, "+": ROBUST}, scenarios, seeds=2, n_models=3)
    assert list(table.columns) == ["method", "scenario", "seed", "metric", "value", "low", "high"]
    keys = table[["method", "scenario", "seed", "metric"]]
    assert not keys.duplicated().any()
    assert set(table.seed) == {0, 1, "all"}
    common = {"coverage", "base_validity", "validity", "worst_model_validity", "end_to_end"}
    common |= {"all_models_validity", "cost_l1", "cost_l2", "n_changes", "lof", "lof_raw"}
    common |= {"stability", "seconds", "n_applicants", "n_answered", "n_models"}
    for method, more in (("NN", set[str]()), ("+", {"tau"})):
        for scenario in scenarios:
            for seed in (0, 1, "all"):
                cell = table[
                    (table.method == method) & (table.scenario == scenario) & (table.seed == seed)
                ]
                assert set(cell.metric) == common | more
    rest = table[~table.metric.isin(["n_applicants"])]
    assert (rest.low <= rest.value + 1e-12).all()
    assert (rest.value <= rest.high + 1e-12).all()


def by_hand(study: robx.Study, method: Method, scenario: Scenario, n: int) -> dict[str, float]:
    """Figures of seed 0, from the libraries alone."""
    rng_rows, aside = study.split(0)
    table, labels = study.X.to_numpy(), study.y
    start = rng_rows[scenario.base_rows(len(rng_rows), 0)]
    model = boosted().fit(study.X.iloc[start], labels[start])
    probability = model.predict_proba(study.X.iloc[aside])[:, 1]
    people = study.X.iloc[aside[probability <= 0.5]]
    problem = Problem(model, study.X.iloc[start], study.schema)
    answer = method.explain(problem, people)
    later = [
        new.predict_proba(answer.frame)[:, 1] > 0.5
        for new in scenario.models(
            study.estimator, study.X.iloc[rng_rows], labels[rng_rows], n, seed=0
        )
    ]
    scale = table[start].max(axis=0) - table[start].min(axis=0)
    moved = (answer.frame.to_numpy() - people.to_numpy()) / scale
    return {
        "coverage": answer.ok.mean(),
        "base_validity": (model.predict_proba(answer.frame)[:, 1] > 0.5)[answer.ok].mean(),
        "validity": np.mean(later, axis=0)[answer.ok].mean(),
        "worst_model_validity": min(new[answer.ok].mean() for new in later),
        "all_models_validity": np.all(later, axis=0)[answer.ok].mean(),
        "cost_l1": np.abs(moved).sum(axis=1)[answer.ok].mean(),
        "cost_l2": np.sqrt((moved**2).sum(axis=1))[answer.ok].mean(),
        "n_changes": (moved != 0).sum(axis=1)[answer.ok].mean(),
        "stability": answer.stability[answer.ok].mean(),
        "n_applicants": len(people),
    }


@pytest.mark.parametrize("scenario", [DropRows(5), OtherHalf(vary={"max_depth": [2, 4]})])
@pytest.mark.parametrize("method", [NN, ROBUST, Fallible()])
def test_the_figures_are_those_that_the_libraries_give_by_hand(
    method: Method, scenario: Scenario
) -> None:
    free = robx.Schema(robx.Feature(name) for name in X.columns)
    study = replace(STUDY, schema=free)
    table = robx.evaluate(study, {"NN": method}, scenario, seeds=1, n_models=4)
    wanted = by_hand(study, method, scenario, 4)
    for metric, expected in wanted.items():
        assert value(table, metric, seed=0) == pytest.approx(expected), metric
    product = wanted["coverage"] * wanted["base_validity"] * wanted["validity"]
    assert value(table, "end_to_end", seed=0) == pytest.approx(product)


def test_who_gets_no_answer_counts_as_a_failure() -> None:
    table = robx.evaluate(STUDY, {"NN": Fallible()}, Bootstrap(), seeds=1, n_models=2)
    assert value(table, "coverage", seed=0) == pytest.approx(0.5, abs=0.02)
    assert value(table, "end_to_end", seed=0) < 0.52


def test_where_nobody_is_answered_nothing_is_made_up() -> None:
    nobody = {"NN": robx.Conservative(tau=1.5)}
    table = robx.evaluate(STUDY, nobody, Bootstrap(), seeds=1, n_models=2)
    assert value(table, "coverage") == value(table, "end_to_end") == 0
    assert np.isnan(value(table, "validity"))
    assert np.isnan(value(table, "cost_l1"))


def test_all_is_the_mean_over_base_models_and_the_sum_of_applicants() -> None:
    table = robx.evaluate(STUDY, {"NN": NN}, Bootstrap(), seeds=3, n_models=3)
    for metric in ("validity", "cost_l1", "lof_raw"):
        each = [value(table, metric, seed=seed) for seed in range(3)]
        assert value(table, metric) == pytest.approx(np.mean(each))
    each = [value(table, "n_applicants", seed=seed) for seed in range(3)]
    assert value(table, "n_applicants") == sum(each)


def test_common_counts_only_whom_all_methods_answer() -> None:
    methods = {"NN": NN, "some": Fallible()}
    apart = robx.evaluate(STUDY, methods, Bootstrap(), seeds=1, n_models=2)
    together = robx.evaluate(STUDY, methods, Bootstrap(), seeds=1, n_models=2, common=True)
    assert value(apart, "cost_l1", "NN") != value(apart, "cost_l1", "some")
    assert value(together, "cost_l1", "NN") == value(together, "cost_l1", "some")
    assert value(together, "coverage", "NN") == 1
    assert value(together, "coverage", "some") == value(apart, "coverage", "some")


def test_outliers_are_those_of_scikit_learn_on_the_rows_that_were_asked_for() -> None:
    settings = {
        "all": robx.metrics.Outliers(),
        "good": robx.metrics.Outliers(contamination=0.1, fitted_on="accepted"),
    }
    tweak = robx.FeatureTweaking()
    table = robx.evaluate(STUDY, {"NN": tweak}, Bootstrap(), seeds=1, n_models=1, outliers=settings)
    base = STUDY.base(STUDY.base_rows(Bootstrap(), 0), 0)
    answer = tweak.explain(base.problem, base.applicants)
    scale = np.array([f.scale for f in base.problem.schema])
    points = answer.frame.to_numpy()[answer.ok] / scale
    rows = {"all": base.problem.all_rows, "good": base.problem.support.rows}
    for name, contamination in (("all", "auto"), ("good", 0.1)):
        fitted = LocalOutlierFactor(novelty=True, contamination=contamination)
        fitted.fit(rows[name] / scale)
        assert value(table, f"lof_{name}") == pytest.approx(fitted.predict(points).mean())
        raw = -fitted.score_samples(points).mean()
        assert value(table, f"lof_raw_{name}") == pytest.approx(raw)


def test_missing_values_and_categories_have_a_place_among_outliers() -> None:
    rng = np.random.default_rng(0)
    frame = X.assign(
        kind=pd.Categorical(rng.choice(["a", "b", "c"], len(X))),
        x0=X.x0.mask(rng.random(400) < 0.1),
    )
    study = robx.Study(boosted(enable_categorical=True), frame, Y)
    table = robx.evaluate(study, {"NN": NN}, Bootstrap(), seeds=1, n_models=2)
    assert np.isfinite(value(table, "lof_raw"))


def test_all_methods_are_measured_by_the_same_noise() -> None:
    methods = {"NN": NN, "loud": robx.RobX(tau=0.0, sigma=0.5)}  # which answer alike
    table = robx.evaluate(STUDY, methods, Bootstrap(), seeds=1, n_models=1)
    assert value(table, "stability", "NN") == value(table, "stability", "loud")


def test_a_point_among_repeated_rows_is_not_the_mean() -> None:
    rows = X.round(0)
    study = robx.Study(boosted(), rows, Y)
    table = robx.evaluate(study, {"NN": NN}, Bootstrap(), seeds=1, n_models=1)
    assert value(table, "lof_raw") <= 10


def test_the_strictest_model_s_share_lies_in_its_interval() -> None:
    table = robx.evaluate(STUDY, {"NN": NN}, Bootstrap(), seeds=5, n_models=20)
    rows = table[table.metric == "worst_model_validity"]
    assert ((rows.low <= rows.value) & (rows.value <= rows.high)).all()


def test_models_that_do_not_differ_are_counted_once() -> None:
    scenarios = {"same": robx.scenarios.NewSeed(), "boot": Bootstrap()}
    table = robx.evaluate(STUDY, {"NN": NN}, scenarios, seeds=1, n_models=4)
    counts = table[(table.metric == "n_models") & (table.seed == 0)].set_index("scenario").value
    assert counts["same"] == 1
    assert counts["boot"] == 4


def test_who_cannot_be_read_counts_as_a_failure_and_stops_nobody() -> None:
    people = X[300:].copy()
    people.iloc[0, 0] = np.nan
    model = LogisticRegression().fit(X[:200], Y[:200])
    later = [LogisticRegression(C=0.1).fit(X[200:300], Y[200:300])]
    problem = robx.Problem(model, X[:200])
    table = robx.evaluate(problem, {"NN": NN}, later, applicants=people)
    n = value(table, "n_applicants")
    assert value(table, "n_answered") == n - 1
    assert value(table, "coverage") == pytest.approx((n - 1) / n)


# --- the same table every time --------------------------------------------------------------------


def test_the_table_is_the_same_for_any_number_of_jobs_and_company_of_seeds() -> None:
    methods = {"NN": NN, "+": ROBUST}
    two = robx.evaluate(STUDY, methods, Bootstrap(), seeds=2, n_models=3, n_jobs=1)
    again = robx.evaluate(STUDY, methods, Bootstrap(), seeds=2, n_models=3, n_jobs=2)
    pd.testing.assert_frame_equal(without_time(two), without_time(again))
    alone = robx.evaluate(STUDY, methods, Bootstrap(), seeds=[1], n_models=3)
    pd.testing.assert_frame_equal(
        without_time(two[two.seed == 1]), without_time(alone[alone.seed == 1])
    )


def test_tables_of_all_kinds_give_the_same_figures() -> None:
    free = robx.Schema(robx.Feature(name) for name in X.columns)
    figures = []
    for table in (X, pl.from_pandas(X), X.to_numpy()):
        schema = free if hasattr(table, "columns") else None
        study = robx.Study(boosted(), table, list(Y), schema=schema)
        figures.append(without_time(robx.evaluate(study, {"NN": NN}, DropRows(3), n_models=2)))
    pd.testing.assert_frame_equal(figures[0], figures[1])
    assert len(figures[2]) == len(figures[0])


def test_scenarios_that_start_from_the_same_model_share_its_answers() -> None:
    Fallible.asked.clear()
    scenarios = {"boot": Bootstrap(), "drop": DropRows(2), "half": OtherHalf()}
    robx.evaluate(STUDY, {"NN": Fallible()}, scenarios, seeds=1, n_models=2)
    assert len([n for n in Fallible.asked if n > 1]) == 2  # and once for one, to warm up


# --- resuming -------------------------------------------------------------------------------------


def test_finished_cells_are_not_done_again(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    Fallible.asked.clear()
    scenarios = {"boot": Bootstrap(), "drop": DropRows(2)}
    first = robx.evaluate(STUDY, {"NN": Fallible()}, scenarios, seeds=2, n_models=2, log=log)
    asked = len(Fallible.asked)
    assert asked == 3
    again = robx.evaluate(STUDY, {"NN": Fallible()}, scenarios, seeds=2, n_models=2, log=log)
    assert len(Fallible.asked) == asked
    pd.testing.assert_frame_equal(first, again)
    robx.evaluate(STUDY, {"NN": Fallible()}, scenarios, seeds=3, n_models=2, log=log)
    assert len(Fallible.asked) == asked + 2  # one new seed, and a warm-up
    assert len(log.read_text().splitlines()) == 6


@pytest.mark.parametrize(
    "changed",
    [
        {"problem": replace(STUDY, threshold=0.6)},
        {"problem": replace(STUDY, estimator=boosted(max_depth=2))},
        {"problem": replace(STUDY, X=X * 2)},
        {"problem": replace(STUDY, y=np.roll(Y, 1))},
        {"problem": replace(STUDY, max_applicants=20)},
        {"methods": {"NN": robx.NearestNeighbour(norm=2)}},
        {"methods": {"NN": lambda rehearsal: NN}},
        {"scenario": DropRows(3)},
        {"n_models": 3},
        {"outliers": robx.metrics.Outliers(n_neighbors=5)},
        {"seeds": [1]},
    ],
    ids="".join,
)
def test_whatever_goes_into_a_cell_counts(tmp_path: Path, changed: dict[str, Any]) -> None:
    log = tmp_path / "log.jsonl"
    same: dict[str, Any] = {"problem": STUDY, "methods": {"NN": NN}, "scenario": DropRows(2)}
    robx.evaluate(**same, seeds=1, n_models=2, log=log)
    robx.evaluate(**{**same, "seeds": 1, "n_models": 2, **changed}, log=log)
    assert len(log.read_text().splitlines()) == 2


def test_functions_count_by_what_they_do_and_hold(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"

    def with_tau(tau: float) -> Any:
        return lambda rehearsal: robx.RobX(tau=tau)

    for tau in (0.6, 0.7, 0.6):
        robx.evaluate(STUDY, {"R": with_tau(tau)}, DropRows(2), seeds=1, n_models=2, log=log)
    assert len(log.read_text().splitlines()) == 2


SCRIPT = """
import sys
import robx
from robx.scenarios import Bootstrap
from xgboost import XGBClassifier
X, y, schema = robx.datasets.make_gaussians(400, d=3, seed=1)
study = robx.Study(XGBClassifier(n_estimators=30, max_depth=3, n_jobs=1), X, y, schema=schema)
methods = {"NN": robx.NearestNeighbour(), "+": robx.RobX()}
table = robx.evaluate(study, methods, Bootstrap(), seeds=4, n_models=5, log=sys.argv[1])
table[table.metric != "seconds"].to_csv(sys.argv[2], index=False)
"""


def test_an_evaluation_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    log, out = tmp_path / "log.jsonl", tmp_path / "table.csv"
    command = [sys.executable, "-c", SCRIPT]
    run = subprocess.Popen([*command, str(log), str(out)])
    deadline = time.monotonic() + 120
    while not log.exists() or log.read_bytes().count(b"\n") < 2:
        assert time.monotonic() < deadline
        assert run.poll() is None
        time.sleep(0.005)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    before = log.read_bytes().rpartition(b"\n")[0]
    assert before.count(b"\n") + 1 < 8
    assert not out.exists()
    subprocess.run([*command, str(log), str(out)], check=True)
    assert log.read_bytes().startswith(before)
    assert log.read_bytes().count(b"\n") == 8
    whole = tmp_path / "whole.csv"
    subprocess.run([*command, str(tmp_path / "fresh.jsonl"), str(whole)], check=True)
    assert out.read_bytes() == whole.read_bytes()


def test_a_torn_last_line_is_dropped_and_damage_elsewhere_is_an_error(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    scenarios = {"boot": Bootstrap(), "drop": DropRows(2)}
    robx.evaluate(STUDY, {"NN": NN}, scenarios, seeds=1, n_models=2, log=log)
    whole = log.read_bytes()
    log.write_bytes(whole[:-20])
    Log(log)
    assert log.read_bytes() == whole.splitlines(keepends=True)[0]
    robx.evaluate(STUDY, {"NN": NN}, scenarios, seeds=1, n_models=2, log=log)
    assert log.read_bytes().count(b"\n") == 2
    lines = whole.splitlines(keepends=True)
    for damaged in (b"{}\n", lines[0][:50] + b"\n", b"[1]\n", lines[0].replace(b"1", b"2")):
        log.write_bytes(damaged + lines[1])
        with pytest.raises(robx.InvalidInput, match="^Line 1 of 'log.jsonl' is"):
            Log(log)
    log.write_bytes(b"my notes")
    with pytest.raises(robx.InvalidInput, match="The end of 'log.jsonl' is no part of a log"):
        Log(log)
    assert log.read_bytes() == b"my notes"
    short = json.loads(lines[0])
    short["accepted"] += "1"
    log.write_text(json.dumps(short) + "\n")
    with pytest.raises(robx.InvalidInput, match="its rows differ in length"):
        Log(log)


# --- models that choose never judge ---------------------------------------------------------------


class Recorder(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Notes which rows it is fitted on, by their last column."""

    fitted: ClassVar[list[set[int]]] = []

    def fit(self, X: pd.DataFrame, y: Any) -> Recorder:
        self.fitted.append(set(X["id"].astype(int)))
        self.inner_ = LogisticRegression().fit(X.drop(columns="id"), y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.inner_.predict_proba(X.drop(columns="id"))


def test_what_is_chosen_is_chosen_before_and_apart_from_the_models_that_judge() -> None:
    rows = X.assign(id=np.arange(len(X), dtype=float))
    study = robx.Study(
        Recorder(), rows, Y, schema=robx.Schema.infer(rows).override(id={"change": "none"})
    )
    seen: list[int] = []
    rehearsed: list[set[int]] = []
    Recorder.fitted.clear()

    def chosen(rehearsal: robx.Rehearsal) -> robx.Conservative:
        seen.append(len(Recorder.fitted))
        rehearsal.models(OtherHalf(), n_models=2, n_jobs=1)
        rehearsed.extend(Recorder.fitted[seen[-1] :])
        assert set(rehearsal.X["id"]) == Recorder.fitted[0]
        assert set(rehearsal.applicants["id"]) <= Recorder.fitted[0]
        return robx.Conservative(tau=0.5, n_draws=16)

    robx.evaluate(study, {"R": chosen}, OtherHalf(), seeds=1, n_models=2, n_jobs=1)
    assert seen == [1]  # nothing but the base model was trained before
    base, judges = Recorder.fitted[0], Recorder.fitted[1 + len(rehearsed) :]
    assert len(rehearsed) == len(judges) == 2
    train, aside = study.split(0)
    for model in rehearsed:
        assert model < base
    for model in judges:
        assert not model & base
        assert model | base == set(train)
        assert not model & set(aside)


def test_models_that_tau_was_chosen_with_are_refused_as_judges() -> None:
    model = boosted().fit(X[:200], Y[:200])
    later = [boosted(max_depth=depth).fit(X[200:300], Y[200:300]) for depth in (2, 3, 4)]
    problem = robx.Problem(model, X[:200], SCHEMA)
    choice = robx.choose_tau(problem, X[300:350], later[:2])
    robust = {"R": robx.RobX(tau=choice.tau)}
    table = robx.evaluate(problem, robust, later[2:], applicants=X[350:])
    assert value(table, "validity", "R") > 0
    with pytest.raises(robx.InvalidInput, match="Model 1 of 2 was used to choose tau"):
        robx.evaluate(problem, robust, [later[2], later[0]], applicants=X[350:])
    # Nor in another guise.
    for guise in (robx.BlackBox(later[0]), later[0].predict_proba, copy.deepcopy(later[0])):
        with pytest.raises(robx.InvalidInput, match="Model 0 of 1 was used to choose tau"):
            robx.evaluate(problem, robust, [guise], applicants=X[350:])


def test_models_that_agree_on_what_both_have_learned_are_not_taken_for_one() -> None:
    rng = np.random.default_rng(0)
    apart = np.concatenate([rng.normal(0, 1, (150, 2)), rng.normal(12, 1, (150, 2))])
    study = robx.Study(RandomForestClassifier(10, random_state=0), apart, np.repeat([0, 1], 150))

    def chosen(rehearsal: robx.Rehearsal) -> robx.RobX:
        models = rehearsal.models(Bootstrap(), n_models=3)
        choice = robx.choose_tau(rehearsal.problem, rehearsal.applicants, models)
        return robx.RobX(tau=choice.tau)

    table = robx.evaluate(study, {"R": chosen}, Bootstrap(), seeds=1, n_models=3)
    assert value(table, "validity", "R") > 0.5


def test_an_evaluation_by_functions_resumes(tmp_path: Path) -> None:
    def two_columns(rows: Any) -> Any:
        first = np.clip(np.asarray(rows)[:, 0] / 10 + 0.5, 0, 1)
        return np.column_stack([1 - first, first])

    log = tmp_path / "log.jsonl"
    problem = robx.Problem(boosted().fit(X, Y), X, SCHEMA)
    methods = {"NN": NN, "L2": robx.NearestNeighbour(norm=2)}
    for judges in ([two_columns], [two_columns], [robx.BlackBox(two_columns)]):
        robx.evaluate(problem, methods, judges, applicants=X, log=log)
    assert len(log.read_text().splitlines()) == 2


def test_a_rehearsal_cannot_change_what_the_judges_are_made_from() -> None:
    study = replace(STUDY, estimator=boosted(n_estimators=7))

    def meddling(rehearsal: robx.Rehearsal) -> robx.NearestNeighbour:
        rehearsal.estimator.set_params(n_estimators=1)
        return NN

    robx.evaluate(study, {"NN": meddling}, Bootstrap(), seeds=1, n_models=1)
    assert study.estimator.n_estimators == 7


def test_a_rehearsal_that_asks_for_the_models_that_judge_does_not_get_them() -> None:
    """The same scenario, in a rehearsal, gives other models, also where it knows no chance."""
    vary = robx.scenarios.Hyperparameter(vary={"max_depth": [2, 4]})

    def chosen(rehearsal: robx.Rehearsal) -> robx.RobX:
        models = rehearsal.models(vary, n_models=2)
        return robx.RobX(tau=robx.choose_tau(rehearsal.problem, rehearsal.applicants, models).tau)

    table = robx.evaluate(STUDY, {"R": chosen}, vary, seeds=1, n_models=2)
    assert value(table, "validity", "R") > 0.9

    def cheat(rehearsal: robx.Rehearsal) -> robx.RobX:
        train, _ = STUDY.split(rehearsal.seed)
        models = list(vary.models(STUDY.estimator, X.iloc[train], Y.iloc[train], n_models=2))
        return robx.RobX(tau=robx.choose_tau(rehearsal.problem, rehearsal.applicants, models).tau)

    with pytest.raises(robx.InvalidInput, match="was used to choose tau"):
        robx.evaluate(STUDY, {"R": cheat}, vary, seeds=1, n_models=2)


# --- the harness does not flatter -----------------------------------------------------------------


def test_a_robx_that_tests_nothing_is_no_better_than_its_base() -> None:
    methods = {"NN": NN, "real": ROBUST, "broken": robx.RobX(tau=0.0)}
    table = robx.evaluate(STUDY, methods, OtherHalf(), seeds=3, n_models=2)
    base = value(table, "validity", "NN")
    assert value(table, "validity", "broken") == base
    assert base < 0.85
    assert value(table, "validity", "real") > base + 0.1


# --- a problem and given models -------------------------------------------------------------------


def test_candidates_for_a_model_in_production(tmp_path: Path) -> None:
    model = boosted().fit(X[:200], Y[:200])
    later = [boosted(max_depth=depth).fit(X[200:300], Y[200:300]) for depth in (2, 4)]
    later[1].save_model(tmp_path / "candidate.json")
    problem = robx.Problem(model, X[:200], SCHEMA)
    candidates = [later[0], tmp_path / "candidate.json"]
    table = robx.evaluate(problem, {"NN": NN}, candidates, applicants=X[300:])
    answer = NN.explain(problem, X[300:])
    kept = np.mean([new.predict_proba(answer.frame)[answer.ok, 1] > 0.5 for new in later])
    assert value(table, "validity") == pytest.approx(kept)
    assert value(table, "n_applicants") == (answer.status != Status.ACCEPTED).sum()
    assert set(table.scenario) == {"given models"}


def test_answers_that_were_handed_out_are_judged() -> None:
    model = boosted().fit(X[:200], Y[:200])
    problem = robx.Problem(model, X[:200], SCHEMA)
    people = X[300:]
    handed = NN.explain(problem, people)
    candidates = {
        "march": boosted(max_depth=2).fit(X[200:300], Y[200:300]),
        "april": boosted(max_depth=4).fit(X[200:300], Y[200:300]),
    }
    methods = {"given": robx.Given(points=handed.frame), "NN": NN}
    table = robx.evaluate(problem, methods, candidates, applicants=people)
    rows = table[(table.metric == "validity") & (table.seed == 0)]
    kept = rows.set_index(["scenario", "method"]).value
    for name, candidate in candidates.items():
        hand = (candidate.predict_proba(handed.frame)[handed.ok, 1] > 0.5).mean()
        assert kept[name, "given"] == kept[name, "NN"] == pytest.approx(hand)
    assert kept["march", "NN"] != kept["april", "NN"]


def test_a_bar_shows_how_far_it_is_if_asked_to(capsys: pytest.CaptureFixture[str]) -> None:
    for shown in (True, False, None):  # and by default only on a terminal
        robx.evaluate(STUDY, {"NN": NN}, Bootstrap(), seeds=2, n_models=1, progress=shown)
        seen = capsys.readouterr()
        assert seen.out == ""
        assert ("2/2" in seen.err and "NN, seed 1" in seen.err) == bool(shown)


def test_scenarios_may_come_as_a_list_under_their_own_names() -> None:
    some = [Bootstrap(), DropRows(2)]
    table = robx.evaluate(STUDY, {"NN": NN}, some, seeds=1, n_models=1)
    assert set(table.scenario) == {"bootstrap", "drop 2 rows"}
    with pytest.raises(robx.InvalidInput, match="Two scenarios have the same name"):
        robx.evaluate(STUDY, {"NN": NN}, [Bootstrap(), Bootstrap()], seeds=1)


# --- at the door ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"problem": X}, "evaluate takes a robx.Study, or a robx.Problem"),
        ({"methods": [NN]}, "must map names to methods"),
        ({"methods": {}}, "must map names to methods"),
        ({"methods": {1: NN}}, "Names of methods must be text"),
        ({"methods": {"NN": robx.NearestNeighbour}}, "'NN' must be a method, or a function"),
        ({"methods": {"NN": lambda _: 3}}, "The function for 'NN' must return a method. Got 3"),
        ({"scenario": "bootstrap"}, "must be a scenario, such as"),
        ({"scenario": {}}, "must be a scenario, such as"),
        ({"applicants": X}, "A Study sets applicants aside itself"),
        ({"seeds": 0}, "must be a number of seeds from 1"),
        ({"seeds": [1, 1]}, "must be a number of seeds from 1"),
        ({"seeds": [-1]}, "must be a number of seeds from 1"),
        ({"seeds": [0.5]}, "must be a number of seeds from 1"),
        ({"n_models": 0}, "'n_models' parameter of evaluate must be an integer from 1. Got 0"),
        ({"outliers": 3}, "'outliers' parameter of evaluate must be robx"),
        ({"log": "log.csv"}, "The log of an evaluation is a .jsonl file. Got 'log.csv'"),
        ({"log": "nowhere/log.jsonl"}, "The log's folder 'nowhere' does not exist"),
        ({"log": "."}, "The log of an evaluation is a .jsonl file"),
        ({"log": 3}, "'log' parameter of evaluate must be the path of a .jsonl file"),
        ({"common": "no"}, "'common' parameter of evaluate must be true or false"),
        ({"n_jobs": 0}, "'n_jobs' parameter of evaluate must be an integer other than 0"),
        ({"problem": replace(STUDY, threshold=0.0)}, "declines none of the 120 rows set aside"),
    ],
)
def test_what_makes_no_sense_is_refused(changed: dict[str, Any], said: str) -> None:
    sound = {"problem": STUDY, "methods": {"NN": NN}, "scenario": DropRows(1), "n_models": 1}
    with pytest.raises(robx.InvalidInput, match=said):
        robx.evaluate(**{**sound, **changed})


@pytest.mark.parametrize(
    "late",
    [
        {"scenario": {"a": Bootstrap(), "b": robx.scenarios.Hyperparameter({"deep": [3]})}},
        {"scenario": {"a": Bootstrap(), "b": DropRows(10**6)}},
        {"n_jobs": 0},
        {"log": "nowhere/log.jsonl"},
    ],
)
def test_what_is_wrong_is_found_before_anything_is_trained(late: dict[str, Any]) -> None:
    rows = X.assign(id=np.arange(len(X), dtype=float))
    Recorder.fitted.clear()
    with pytest.raises(robx.InvalidInput):
        robx.evaluate(
            robx.Study(Recorder(), rows, Y), {"NN": NN}, **{"scenario": Bootstrap(), **late}
        )
    assert Recorder.fitted == []


def test_what_makes_no_sense_with_a_problem_is_refused() -> None:
    model = RandomForestClassifier(5, random_state=0).fit(X, Y)
    problem = robx.Problem(model, X)
    with pytest.raises(robx.InvalidInput, match="A scenario trains models anew"):
        robx.evaluate(problem, {"NN": NN}, DropRows(1), applicants=X)
    with pytest.raises(robx.InvalidInput, match="needs the 'applicants' to answer"):
        robx.evaluate(problem, {"NN": NN}, [model])
    with pytest.raises(robx.InvalidInput, match="at least one retrained model"):
        robx.evaluate(problem, {"NN": NN}, [], applicants=X)
    good = X[problem.model.score(X) > 0.5]
    with pytest.raises(robx.InvalidInput, match="whom the model declines. Got none"):
        robx.evaluate(problem, {"NN": NN}, [model], applicants=good)
    with pytest.raises(robx.InvalidInput, match="which a Problem alone cannot give"):
        robx.evaluate(problem, {"NN": lambda _: NN}, [model], applicants=X)

"""The figures of an evaluation are right, and the same every time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import LocalOutlierFactor

import robx
from robx.methods import Method
from robx.problem import Problem
from robx.scenarios import Bootstrap, DropRows, OtherHalf, Scenario
from study_cases import (
    NN,
    ROBUST,
    STUDY,
    Fallible,
    X,
    Y,
    boosted,
    value,
    without_time,
)


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


def test_the_table_s_shares_are_those_of_the_plain_functions() -> None:
    base = STUDY.base(STUDY.base_rows(Bootstrap(), 0), 0)
    answer = NN.explain(base.problem, base.applicants)
    models = STUDY.changed(Bootstrap(), base, 5, None)
    kept = np.array([model.score(answer.points)[answer.ok] > 0.5 for model in models])
    table = robx.evaluate(STUDY, {"NN": NN}, Bootstrap(), seeds=1, n_models=5)
    for name in ("validity", "worst_model_validity", "all_models_validity"):
        assert value(table, name) == pytest.approx(getattr(robx.metrics, name)(kept))
    scale = np.array([feature.scale for feature in base.problem.schema])
    moved = answer.frame.to_numpy()[answer.ok], base.applicants.to_numpy()[answer.ok]
    for norm in (1, 2):
        cost = robx.metrics.cost(*moved, scale=scale, norm=norm)
        assert value(table, f"cost_l{norm}") == pytest.approx(cost.mean())
    assert value(table, "n_changes") == pytest.approx(robx.metrics.n_changes(*moved).mean())


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
    rows = {"all": base.problem.training, "good": base.problem.support.rows}
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
    methods = {
        "NN": NN,
        "loud": robx.RobX(tau=0.0, noise=robx.Noise(sigma=0.5)),
    }  # which answer alike
    table = robx.evaluate(STUDY, methods, Bootstrap(), seeds=1, n_models=1)
    assert value(table, "stability", "NN") == value(table, "stability", "loud")


def test_a_point_among_repeated_rows_is_not_the_mean() -> None:
    rows = X.round(0)
    study = robx.Study(boosted(), rows, Y)
    table = robx.evaluate(study, {"NN": NN}, Bootstrap(), seeds=1, n_models=1)
    assert value(table, "lof_raw") <= 10


@pytest.mark.slow
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


def test_a_robx_that_tests_nothing_is_no_better_than_its_base() -> None:
    methods = {"NN": NN, "real": ROBUST, "broken": robx.RobX(tau=0.0)}
    table = robx.evaluate(STUDY, methods, OtherHalf(), seeds=3, n_models=2)
    base = value(table, "validity", "NN")
    assert value(table, "validity", "broken") == base
    assert base < 0.85
    assert value(table, "validity", "real") > base + 0.1

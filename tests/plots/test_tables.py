from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import robx
from plot_cases import german, plane
from robx import plots
from study_cases import STUDY, value

# --- stability ------------------------------------------------------------------------------------


def test_a_problem_measures_rows_as_robx_stability_does_in_its_units() -> None:
    problem, _, model, X = german()
    table = plots.stability_table(problem, X[400:430])
    found = robx.stability(model, X[400:430], scale=problem.schema.noise_units)
    score = model.predict_proba(X[400:430])[:, 1]
    assert table.index.equals(X.index[400:430])
    assert table["score"].to_numpy() == pytest.approx(score, abs=1e-6)
    assert table["mean"].tolist() == found.mean.tolist()
    assert table["std"].tolist() == found.std.tolist()
    assert table["stability"].tolist() == found.value.tolist()


def test_without_rows_the_training_rows_are_measured() -> None:
    problem, X = plane()
    noise = robx.Noise(sigma=0.3, n_draws=64, rng=5)
    assert len(plots.stability_table(problem, noise=noise)) == len(X)
    own = plots.stability_table(problem, noise=noise).reset_index(drop=True)
    given = plots.stability_table(problem, X, noise=noise).reset_index(drop=True)
    pd.testing.assert_frame_equal(own, given)
    assert not own.equals(plots.stability_table(problem).reset_index(drop=True))


def test_a_model_alone_needs_units() -> None:
    X = np.random.default_rng(0).random((80, 2))
    forest = RandomForestClassifier(5, random_state=0).fit(X, X[:, 0] > 0.5)
    noise = robx.Noise(sigma=0.2, n_draws=32, draws="gaussian", rng=3)
    table = plots.stability_table(forest, X, noise=noise, scale=[2.0, 1.0])
    found = robx.stability(
        forest, X, sigma=0.2, n_draws=32, draws="gaussian", rng=3, scale=[2.0, 1.0]
    )
    assert table["stability"].tolist() == found.value.tolist()
    assert table["score"].tolist() == forest.predict_proba(X)[:, 1].tolist()


def test_rows_that_the_model_does_not_take_have_no_numbers() -> None:
    X = np.random.default_rng(0).random((80, 2))
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, X[:, 0] > 0.5)
    table = plots.stability_table(robx.Problem(tree, X), [[np.inf, 0.5], [0.9, 0.5]])
    assert table.isna().all(axis=1).tolist() == [True, False]
    assert len(plots.histograms(table, 0.5)) == 3


def test_what_makes_no_stability_table_is_refused() -> None:
    problem, _ = plane()
    with pytest.raises(robx.InvalidInput, match="a Problem uses the units of its schema"):
        plots.stability_table(problem, scale=[1, 1])
    with pytest.raises(robx.InvalidInput, match="needs the rows to measure"):
        plots.stability_table(problem.model)
    with pytest.raises(robx.InvalidInput, match="'noise' parameter of stability_table must be a"):
        plots.stability_table(problem, noise=0.1)  # type: ignore[arg-type]


# --- the frontier ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def evaluation() -> pd.DataFrame:
    methods = {"NN": robx.NearestNeighbour(), "A": robx.RobX(tau=0.5), "B": robx.RobX(tau=0.7)}
    scenarios = {"half": robx.scenarios.Bootstrap(), "seed": robx.scenarios.Bootstrap()}
    return robx.evaluate(STUDY, methods, scenarios, seeds=2, n_models=2, progress=False)


def test_the_frontier_has_the_figures_of_all_seeds(evaluation: pd.DataFrame) -> None:
    table = plots.frontier_table(evaluation)
    assert list(zip(table["scenario"], table["method"], strict=True)) == [
        (scenario, method) for scenario in ("half", "seed") for method in ("NN", "A", "B")
    ]
    half = evaluation[evaluation["scenario"] == "half"]
    for line in table[table["scenario"] == "half"].to_dict("records"):
        for metric in ("coverage", "validity", "cost_l1", "cost_l2", "n_changes"):
            assert line[metric] == value(half, metric, str(line["method"]))
        of_all = half[(half["seed"] == "all") & (half["method"] == line["method"])]
        ends = of_all.set_index("metric")[["low", "high"]]
        assert [line["low"], line["high"]] == ends.loc["validity"].tolist()
        assert [line["n_changes_low"], line["n_changes_high"]] == ends.loc["n_changes"].tolist()
        assert np.isnan(line["knob"])


def test_knobs_make_one_curve_of_several_methods(evaluation: pd.DataFrame) -> None:
    table = plots.frontier_table(evaluation, knobs={"A": ("RobX", 0.5), "B": ("RobX", 0.7)})
    assert table["method"].tolist() == ["NN", "RobX", "RobX"] * 2
    assert table["knob"].tolist()[1:3] == [0.5, 0.7]
    plots.frontier(table[table["scenario"] == "half"])


def test_what_is_no_evaluation_is_refused(evaluation: pd.DataFrame) -> None:
    with pytest.raises(robx.InvalidInput, match="'knobs' .* names 'C', which was not evaluated"):
        plots.frontier_table(evaluation, knobs={"C": ("RobX", 0.5)})
    with pytest.raises(robx.InvalidInput, match="Missing: validity."):
        plots.frontier_table(evaluation[evaluation["metric"] != "validity"])
    with pytest.raises(robx.InvalidInput, match="Missing: coverage, validity, cost_l1, cost_l2, n"):
        plots.frontier_table(evaluation[evaluation["seed"] == 0])
    with pytest.raises(robx.InvalidInput, match="as robx.evaluate returns. Missing: metric"):
        plots.frontier_table(evaluation.drop(columns="metric"))

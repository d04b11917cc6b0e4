from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

import robx
from oracles import toy_data

X, Y = toy_data(900, 4)


def fitted(rows: slice, seed: int = 0) -> Any:
    return RandomForestClassifier(30, max_depth=6, random_state=seed, n_jobs=1).fit(
        X[rows], Y[rows]
    )


@pytest.fixture(scope="module")
def problem() -> robx.Problem:
    return robx.Problem(fitted(slice(300)), X[:300])


@pytest.fixture(scope="module")
def later() -> list[Any]:
    return [fitted(slice(300, 600), seed) for seed in range(4)]


def accepted_r(problem: robx.Problem) -> NDArray[np.float64]:
    rows = X[:300][problem.model.score(X[:300]) > 0.5]
    return robx.stability(problem.model, rows, scale=[*problem.schema.noise_units.values()]).value


def test_the_quantile_rule_is_a_quantile_of_r_over_accepted_rows(problem: robx.Problem) -> None:
    choice = robx.choose_tau(problem, quantile=0.8)
    assert choice.tau == pytest.approx(np.quantile(accepted_r(problem), 0.8))
    assert choice.reason == f"the 80% quantile of R over {len(problem.support)} accepted rows"
    assert (np.diff(choice.table["tau"]) > 0).all()
    assert (np.diff(choice.table["passing"]) < 0).all()
    assert "tau = " in str(choice)
    assert float(choice) == choice.tau


def test_auto_takes_the_same_and_says_so(problem: robx.Problem) -> None:
    answer = robx.RobX().explain(problem, X[600:610])
    assert answer.settings["tau"] == robx.choose_tau(problem).tau
    assert answer.settings["tau_reason"] == robx.choose_tau(problem).reason
    assert (answer.stability[answer.ok] >= answer.settings["tau"]).all()


def test_a_sweep_shows_what_robustness_costs(problem: robx.Problem, later: list[Any]) -> None:
    choice = robx.choose_tau(problem, X[600:700], later, validity=0.95)
    table = choice.table
    assert table["validity"].iloc[-1] > table["validity"].iloc[0]
    assert table["cost"].iloc[-1] > table["cost"].iloc[0]
    assert (table["worst_validity"] <= table["validity"]).all()
    row = table[table["tau"] == choice.tau].iloc[0]
    assert row["validity"] >= 0.95
    assert (table[table["tau"] < choice.tau]["validity"] < 0.95).all()
    assert "4 retrained models accept at least 95%" in choice.reason


def test_the_sweep_counts_what_the_models_say(problem: robx.Problem, later: list[Any]) -> None:
    method = robx.RobX(base=None, norm=2)
    choice = robx.choose_tau(problem, X[600:660], later, method=method, taus=[0.6, 0.8])
    answer = robx.RobX(base=None, norm=2, tau=0.8).explain(problem, X[600:660])
    kept = np.array([model.predict_proba(answer.points)[:, 1] > 0.5 for model in later])
    line = choice.table.iloc[1]
    assert line["validity"] == pytest.approx(kept[:, answer.ok].mean())
    assert line["worst_validity"] == pytest.approx(kept[:, answer.ok].mean(axis=1).min())
    assert line["cost"] == pytest.approx(answer.cost[answer.ok].mean())
    assert line["coverage"] == answer.ok[answer.status != robx.Status.ACCEPTED].mean()


@pytest.mark.parametrize("wrap", [lambda model: model, robx.BlackBox])
def test_retrained_models_are_asked_about_the_same_class(later: list[Any], wrap: Any) -> None:
    model = fitted(slice(300))
    first = robx.BlackBox(model, target=0) if wrap is robx.BlackBox else model
    about_0 = robx.Problem(first, X[:300], target=0)
    method = robx.Conservative(tau=0.7, noise=robx.Noise(n_draws=64))
    choice = robx.choose_tau(about_0, X[600:640], later, method=method, taus=[0.7])
    assert choice.table["validity"].iloc[0] > 0.8
    with pytest.raises(robx.InvalidInput, match="scores the probability of"):
        robx.choose_tau(about_0, X[600:640], [robx.import_model(later[0], target=1)])


def test_a_row_that_cannot_be_answered_does_not_stop_the_sweep() -> None:
    boosted = GradientBoostingClassifier(n_estimators=10, random_state=0)
    model = boosted.fit(X[:300], Y[:300])
    people = X[600:640].copy()
    people[3, 1] = np.nan
    choice = robx.choose_tau(robx.Problem(model, X[:300]), people, [model], taus=[0.3, 0.6])
    assert (choice.table["validity"] == 1).all()


def test_a_target_that_nothing_reaches_is_said(problem: robx.Problem, later: list[Any]) -> None:
    choice = robx.choose_tau(problem, X[600:660], later, taus=[0.0, 0.05], validity=1.0)
    assert choice.reason.startswith("no tau reaches 100%; this one comes nearest")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quantile": 1.5}, "'quantile' parameter of choose_tau must be a number from 0 to 1"),
        ({"validity": "high"}, "'validity' parameter of choose_tau must be a number from 0 to 1"),
        ({"models": []}, "applicants and models together"),
        ({"applicants": X[600:605], "models": []}, "a list of at least one retrained model"),
        ({"method": robx.NearestNeighbour()}, "must be a RobX or Conservative"),
        ({"taus": [np.nan]}, "'taus' parameter of choose_tau must be a list of finite"),
        ({"taus": "many"}, "'taus' parameter of choose_tau must be a list of finite"),
    ],
)
def test_bad_input_is_refused(
    problem: robx.Problem, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(robx.InvalidInput, match=message):
        robx.choose_tau(problem, **arguments)


def test_nobody_to_ask_is_refused(problem: robx.Problem, later: list[Any]) -> None:
    welcome = X[:300][problem.model.score(X[:300]) > 0.5][:3]
    with pytest.raises(robx.InvalidInput, match="applicants whom the model declines"):
        robx.choose_tau(problem, welcome, later)
    with pytest.raises(robx.InvalidInput, match="at least one applicant"):
        robx.choose_tau(problem, X[:0], later)


def test_without_accepted_rows_there_is_no_tau() -> None:
    nobody = robx.Problem(fitted(slice(300)), X[:300], threshold=0.9999)
    with pytest.raises(robx.InvalidInput, match="No row of the support scores above 0.9999"):
        robx.choose_tau(nobody)
    answer = robx.RobX().explain(nobody, X[600:603])
    assert answer.status.tolist() == [robx.Status.NOT_FOUND] * 3
    assert answer.reason[0] == "no row of the support scores above 0.9999"

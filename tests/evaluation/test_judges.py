"""Models that choose never judge."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import robx
from robx.scenarios import Bootstrap, OtherHalf
from study_cases import (
    NN,
    SCHEMA,
    STUDY,
    Recorder,
    X,
    Y,
    boosted,
    value,
)


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
        return robx.Conservative(tau=0.5, noise=robx.Noise(n_draws=16))

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


@pytest.mark.slow
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

"""Given models, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import robx
from robx.answers import Status
from robx.scenarios import Bootstrap, DropRows
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


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"problem": X}, "evaluate takes a robx.Study, or a robx.Problem"),
        ({"methods": [NN]}, "must be a mapping from names to methods"),
        ({"methods": {}}, "must be a mapping from names to methods"),
        ({"methods": {1: NN}}, "The names of methods must be text"),
        ({"methods": {"NN": robx.NearestNeighbour}}, "'NN' must be a method, or a function of"),
        ({"methods": {"NN": lambda _: 3}}, "The function for 'NN' must return a method. Got 3"),
        ({"scenario": "bootstrap"}, "must be a scenario, such as"),
        ({"scenario": {}}, "must be a scenario, such as"),
        ({"applicants": X}, "A Study takes its applicants from its own rows"),
        ({"seeds": 0}, "must be a number of seeds from 1"),
        ({"seeds": [1, 1]}, "must be a number of seeds from 1"),
        ({"seeds": [-1]}, "must be a number of seeds from 1"),
        ({"seeds": [0.5]}, "must be a number of seeds from 1"),
        ({"n_models": 0}, "'n_models' parameter of evaluate must be an integer from 1. Got 0"),
        ({"outliers": 3}, "'outliers' parameter of evaluate must be robx"),
        ({"log": "log.csv"}, "The log of an evaluation must be a .jsonl file. Got 'log.csv'"),
        ({"log": "nowhere/log.jsonl"}, "The folder of the log, 'nowhere', does not exist"),
        ({"log": "."}, "The log of an evaluation must be a .jsonl file"),
        ({"key": 3}, "'key' parameter of evaluate must be text. Got 3 instead"),
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
    with pytest.raises(robx.InvalidInput, match="A scenario trains new models"):
        robx.evaluate(problem, {"NN": NN}, DropRows(1), applicants=X)
    with pytest.raises(robx.InvalidInput, match="needs at least one of the 'applicants'"):
        robx.evaluate(problem, {"NN": NN}, [model])
    with pytest.raises(robx.InvalidInput, match="at least one retrained model"):
        robx.evaluate(problem, {"NN": NN}, [], applicants=X)
    good = X[problem.model.score(X) > 0.5]
    with pytest.raises(robx.InvalidInput, match="whom the model declines. It accepts all"):
        robx.evaluate(problem, {"NN": NN}, [model], applicants=good)
    with pytest.raises(robx.InvalidInput, match="a Problem has no rehearsal"):
        robx.evaluate(problem, {"NN": lambda _: NN}, [model], applicants=X)

"""An evaluation that was stopped goes on where it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import robx
from robx.evaluation.log import Log
from robx.scenarios import Bootstrap, DropRows
from study_cases import (
    NN,
    SCHEMA,
    STUDY,
    Fallible,
    X,
    Y,
    boosted,
    value,
)


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


def nearest(rehearsal: robx.Rehearsal) -> robx.NearestNeighbour:
    return NN


@pytest.mark.parametrize(
    "changed",
    [
        {"problem": replace(STUDY, threshold=0.6)},
        {"problem": replace(STUDY, estimator=boosted(max_depth=2))},
        {"problem": replace(STUDY, X=X * 2)},
        {"problem": replace(STUDY, y=np.roll(Y, 1))},
        {"problem": replace(STUDY, max_applicants=20)},
        {"methods": {"NN": robx.NearestNeighbour(norm=2)}},
        {"methods": {"NN": nearest}},
        {"scenario": DropRows(3)},
        {"n_models": 3},
        {"outliers": robx.metrics.Outliers(n_neighbors=5)},
        {"seeds": [1]},
        {"key": "second"},
    ],
    ids="".join,
)
def test_whatever_goes_into_a_cell_counts(tmp_path: Path, changed: dict[str, Any]) -> None:
    log = tmp_path / "log.jsonl"
    same: dict[str, Any] = {"problem": STUDY, "methods": {"NN": NN}, "scenario": DropRows(2)}
    robx.evaluate(**same, seeds=1, n_models=2, log=log)
    robx.evaluate(**{**same, "seeds": 1, "n_models": 2, **changed}, log=log)
    assert len(log.read_text().splitlines()) == 2


def test_functions_count_by_what_they_hold(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"

    def with_tau(tau: float) -> Any:
        def chosen(rehearsal: robx.Rehearsal) -> robx.RobX:
            return robx.RobX(tau=tau)

        return chosen

    for tau in (0.6, 0.7, 0.6):
        robx.evaluate(STUDY, {"R": with_tau(tau)}, DropRows(2), seeds=1, n_models=2, log=log)
    assert len(log.read_text().splitlines()) == 2


def test_a_problem_that_has_been_worked_on_counts_as_the_same(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    problem = robx.Problem(boosted().fit(X, Y), X, SCHEMA)
    later = [boosted(max_depth=2).fit(X, Y)]
    for _ in range(2):
        robx.evaluate(problem, {"R": robx.RobX()}, later, applicants=X[:20], log=log)
        robx.choose_tau(problem)
    assert len(log.read_text().splitlines()) == 1
    robx.evaluate(problem, {"R": robx.RobX()}, later, applicants=X[:30], log=log)
    assert len(log.read_text().splitlines()) == 2


def chosen(rehearsal: robx.Rehearsal) -> robx.RobX:
    """Stand for a function whose body changes, which a log does not notice."""
    return robx.RobX(tau=TAUS[0])


TAUS = [0.6]


def test_another_key_is_needed_where_the_body_of_a_function_changes(tmp_path: Path) -> None:
    same: dict[str, Any] = {"problem": STUDY, "methods": {"R": chosen}, "scenario": DropRows(2)}
    taus = []
    for TAUS[0], key in ((0.6, ""), (0.9, ""), (0.9, "higher tau")):
        table = robx.evaluate(**same, seeds=1, n_models=2, log=tmp_path / "log.jsonl", key=key)
        taus.append(value(table, "tau", "R"))
    assert taus == pytest.approx([0.6, 0.6, 0.9])


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


@pytest.mark.slow
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
    with pytest.raises(robx.InvalidInput, match="The end of 'log.jsonl' is not part of a log"):
        Log(log)
    assert log.read_bytes() == b"my notes"
    short = json.loads(lines[0])
    short["accepted"] += "1"
    log.write_text(json.dumps(short) + "\n")
    with pytest.raises(robx.InvalidInput, match="its rows differ in length"):
        Log(log)

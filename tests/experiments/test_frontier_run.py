"""The frontier from one command, on very little."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from experiments.frontier.run import run
from experiments.frontier.spec import Frontier, load_frontier
from experiments.peers import Nice
from experiments.run import main
from experiments.spec import load_specs
from experiments.study import load
from sklearn.tree import DecisionTreeClassifier

import robx
from robx.evaluation import judged_cells
from robx.evaluation.table import tabulate
from speed import deep


def small() -> Frontier:
    """Few knobs, two changes."""
    spec = load_frontier()
    few: dict[str, tuple[float, ...]] = {
        "gamma": (0.5, 0.7),
        "tau": (0.3, 0.6),
        "level": (0.3, 0.6),
    }
    kept = {name: spec.scenarios[name] for name in ("moderate", "drop-rows")}
    return replace(spec, knobs={"german": few}, scenarios=kept)


@pytest.mark.slow
@deep
def test_a_run_writes_points_checks_a_page_and_a_picture(tmp_path: Path) -> None:
    out, log = tmp_path / "german", tmp_path / "cells.jsonl"
    data, few = load("german"), {"seeds": 1, "n_models": 2, "applicants": 3}
    run(data, small(), out, "make tables TABLE=frontier", **few, log=log)
    assert {path.name for path in out.iterdir()} == {
        "frontier.csv",
        "frontier-equal-validity.csv",
        "frontier-not-below.csv",
        "frontier.md",
        "frontier.png",
    }
    table = pd.read_csv(out / "frontier.csv")
    assert len(table) == 2 * (3 * 2 + 1 + 3 * 2 + 2 * 2 + 2 * 1 + 2)
    shown = ["validity", "low", "high", "cost_l1", "n_changes", "lof", "lof_raw", "coverage"]
    assert table.columns.tolist() == ["scenario", "method", "knob", *shown, "seconds", "tau"]
    assert table["validity"].between(0, 1).all()
    sparse = table.set_index(["scenario", "method", "knob"])["n_changes"]
    assert sparse["moderate", "NICE", 0.5] <= sparse["moderate", "NN", 0.5]
    equal = pd.read_csv(out / "frontier-equal-validity.csv")
    assert len(equal) == 2 * 2 * 8
    assert set(equal["met"]) <= {"met", "missed", "not compared"}
    page = (out / "frontier.md").read_text()
    assert "`make tables TABLE=frontier`" in page
    assert "dice-ml 0." in page
    assert "seeds 0 to 0" in page
    assert (out / "frontier.png").stat().st_size > 30_000

    # Again from the log: no cell is done twice, and the figures are the same.
    before, size = (out / "frontier.csv").read_text(), log.stat().st_size
    run(data, small(), out, "make tables TABLE=frontier", **few, log=log)
    assert log.stat().st_size == size
    assert (out / "frontier.csv").read_text() == before


def test_the_command_makes_it_only_when_it_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: list[str] = []
    monkeypatch.setattr("experiments.run.run", lambda *_: made.append("tables"))
    monkeypatch.setattr("experiments.run.run_frontier", lambda *_, **__: made.append("frontier"))
    monkeypatch.setattr("experiments.run.CACHE", tmp_path)
    for said, wanted in (
        ([], ["tables"]),
        (["--table", "frontier"], ["frontier"]),
        (["--table", "frontier", "--table", "moderate"], ["tables", "frontier"]),
    ):
        made.clear()
        monkeypatch.setattr("sys.argv", ["run", "--data", "german", *said])
        main()
        assert made == wanted
    assert "frontier" not in load_specs()


def test_what_came_of_each_applicant_makes_the_table_of_an_evaluation() -> None:
    X, y, schema = robx.datasets.make_gaussians(200, seed=0)
    study = robx.Study(DecisionTreeClassifier(max_depth=3, random_state=0), X, y, schema=schema)
    # The second has base models of its own, so that its cells come last.
    changes = {
        "first": robx.scenarios.Bootstrap(),
        "second": robx.scenarios.OtherHalf(),
        "third": robx.scenarios.DropRows(5),
    }
    methods = {"NN": robx.NearestNeighbour(), "NICE": Nice()}
    table = robx.evaluate(study, methods, changes, seeds=2, n_models=2)
    assert list(dict.fromkeys(table["scenario"])) == list(changes)
    cells = judged_cells(study, methods, changes, seeds=2, n_models=2)
    assert len(cells) == 2 * 3 * 2
    again = tabulate(cells, list(methods), list(changes), common=False)
    timed = table["metric"] == "seconds"
    pd.testing.assert_frame_equal(table[~timed], again[~timed])

"""The comparison with other tools: its page, and the parts of the benchmark that judge."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import robx

pytest.importorskip("dice_ml", reason="the comparison needs DiCE")

from benchmarks import peer_tables, peer_worker, peers
from benchmarks.common import boosted

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def committed_lines() -> list[peer_tables.Line]:
    return peer_tables.read_lines(RESULTS / "peers.csv")


class FakeJudge(peers.Judge):
    """Two columns, `history` and `job`; a row is accepted if its sum is above 10."""

    def __init__(self, people: list[list[float]]) -> None:
        class Model:
            def predict_proba(self, X: Any) -> Any:
                score = (np.asarray(X, dtype=float).sum(axis=1) > 10).astype(float)
                return np.column_stack([1 - score, score])

        class Half:
            model = Model()

        half: Any = Half()
        half.people = pd.DataFrame(people, columns=["history", "job"])
        self.german, self.people, self.split = half, np.array(people), 0

    def _worth(self, points: Any, people: Any) -> dict[str, float]:
        assert points.shape == people.shape
        return {"kept_other": 0.5}


def ran(*points: list[float] | None) -> peers.Run:
    head = {"setup": 1.0, "versions": {"tool": "1"}, "scores": [0.0] * len(points)}
    lines = [
        {
            "point": p,
            "seconds": float(i),
            "accepted": p is not None,
            "why": "" if p else "time limit",
        }
        for i, p in enumerate(points)
    ]
    return peers.Run(head, lines)


def test_the_committed_tables_are_those_of_the_committed_figures() -> None:
    assert peer_tables.markdown(committed_lines()) == (RESULTS / "peers.md").read_text(
        encoding="utf-8"
    )


def test_every_tool_was_installed_and_asked_about_everybody_in_the_committed_run() -> None:
    lines = committed_lines()
    assert all(line.installed and line.n == 40 for line in lines)
    asked = {(line.block, line.tool) for line in lines}
    assert asked >= {(block, tool) for block, tools in peers.BLOCKS.items() for tool in tools}


def test_the_worker_trains_the_model_that_it_was_given_again(tmp_path: Path) -> None:
    """XGBoost's file of a model does not say how it was trained."""
    german: Any = SimpleNamespace()
    german.X, german.y, _ = robx.datasets.load_german()
    german.model, german.people = boosted(german.X, german.y, 4), german.X[:5]
    peers.write_case(german, tmp_path)
    case = peer_worker.Case(tmp_path, [])
    for model in peer_worker.trained_again(case, n_models=2):
        again, own = model.get_params(), german.model.get_params()
        assert np.isnan([again.pop("missing"), own.pop("missing")]).all()
        assert again.pop("random_state") is not None  # each model has its own
        assert own.pop("random_state") == 0
        assert again == own
        assert model.get_booster().num_boosted_rounds() == 100
        assert deepest(model) == 4
    assert (case.model.predict_proba(case.people) == german.model.predict_proba(case.people)).all()


def deepest(model: Any) -> int:
    """Give the depth of the deepest leaf."""
    lines = "".join(model.get_booster().get_dump()).splitlines()
    return max(len(line) - len(line.lstrip("\t")) for line in lines)


def test_new_lines_take_the_places_of_old_ones_and_the_others_stay(tmp_path: Path) -> None:
    old = [
        peer_tables.Line("all free", "Frugal", True, cost=1.0),
        peer_tables.Line("all free", "OCEAN", True, cost=2.0),
        peer_tables.Line("all free", "OCEAN, rounded onwards", True, cost=2.5),
        peer_tables.Line("history and job locked", "Frugal", True, cost=3.0),
    ]
    new = [
        peer_tables.Line("all free", "Frugal", True, split=1, cost=4.0),
        peer_tables.Line("all free", "Frugal", True, cost=5.0),
        peer_tables.Line("all free", "RobX", True, cost=6.0),
    ]
    peer_tables.write_lines(peers.merged(old, new), tmp_path / "peers.csv")
    read = peer_tables.read_lines(tmp_path / "peers.csv")
    assert [line.cost for line in read] == [5.0, 6.0, 2.0, 2.5, 3.0, 4.0]
    [(name, splits, *_, cost, _, _)] = peer_tables.over_splits(read)
    assert (name, splits, cost) == ("Frugal, all free", "2", "4.50 [4.00, 5.00]")


def test_a_tool_that_is_missing_is_said_to_be() -> None:
    line = peers.Judge.line(FakeJudge([]), "all free", "NICE", peers.Run({"missing": "nice"}, []))
    assert "| NICE | not installed |" in peer_tables.markdown([line])


def test_points_are_judged_rounded_and_those_without_one_count_as_failures() -> None:
    judge = FakeJudge([[5.0, 5.0]] * 4)
    line = judge.line("all free", "tool", ran([5.0, 5.6], [5.0, 5.4], [9.0, 5.0], None))
    assert line.returned == 0.75
    assert line.accepted == 0.5
    assert line.locked_changed == pytest.approx(2 / 3)
    assert line.end_to_end == 0.25
    assert line.hung == 1
    assert (line.median_seconds, line.mean_seconds) == (1.5, 1.5)


class Says:
    """A model that gives every row the same score."""

    def __init__(self, score: float) -> None:
        self.score = score

    def predict_proba(self, X: Any) -> Any:
        return np.tile([1 - self.score, self.score], (len(X), 1))


def test_an_answer_is_worth_what_the_models_and_the_rows_say() -> None:
    rows = pd.DataFrame({"history": np.arange(40) % 5, "job": np.arange(40) % 8})
    german: Any = SimpleNamespace(people=rows[:2], retrained=[Says(0.9)] * 3)
    german.problem = robx.Problem(DecisionTreeClassifier().fit(rows, rows["job"] > 3), rows)
    german.elsewhere = [Says(0.9), Says(0.1), Says(0.2), Says(0.5)]
    points, people = np.array([[2.0, 7.0], [1.0, 99.0]]), np.array([[2.0, 0.0], [0.0, 7.0]])
    worth = peers.Judge(german)._worth(points, people)
    assert (worth["kept_same"], worth["kept_other"]) == (1.0, 0.25)
    assert (worth["kept_low"], worth["kept_high"]) == (0.25, 0.25)
    assert worth["cost"] == pytest.approx((7 / 7 + 1 / 4 + 92 / 7) / 2)
    assert worth["changes"] == 1.5
    assert worth["lof"] == 0.0  # one among the rows, one far from them
    assert 5 < worth["lof_raw"] <= 10


def test_another_model_than_the_others_is_noticed() -> None:
    given = ran([6.0, 6.0])
    given.head["scores"] = [0.3]
    with pytest.raises(RuntimeError, match="another model"):
        FakeJudge([[5.0, 5.0]]).line("all free", "tool", given)


def test_onwards_is_away_from_the_applicant() -> None:
    judge = FakeJudge([[100.0, 100.0], [100.0, 100.0], [100.0, 100.0]])
    points = np.array([[99.9992, 100.0003], [89.9992, 110.0003], [99.99999999, 103.9998]])
    onwards = judge.rounded(points, onwards=True)
    assert onwards.tolist() == [[99.0, 100.0], [89.0, 110.0], [100.0, 104.0]]
    nearest = judge.rounded(points, onwards=False)
    assert nearest.tolist() == [[100.0, 100.0], [90.0, 110.0], [100.0, 104.0]]


def test_a_process_that_falls_silent_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "HANGS", 0.5)
    out = tmp_path / "answers.jsonl"
    code = f"import time; open({str(out)!r}, 'w').write('1\\n'); time.sleep(60)"
    start = time.monotonic()
    assert not peers._watched([sys.executable, "-c", code], out)
    assert time.monotonic() - start < 20


def test_who_makes_a_tool_hang_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = []

    def watched(command: list[str], out: Path) -> bool:
        start = int(command[command.index("--start") + 1])
        starts.append(start)
        lines: list[dict[str, Any]] = [{"setup": 1.0}]
        answered = range(start, 1 if start == 0 else 4)  # the second applicant makes it hang
        lines += [{"seconds": 0.1, "point": [float(i)], "why": ""} for i in answered]
        out.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return start > 0

    monkeypatch.setattr(peers, "_watched", watched)
    found = peers.run("tool", "python", tmp_path, 4, ())
    assert starts == [0, 2]
    assert [line["point"] for line in found.lines] == [[0.0], None, [2.0], [3.0]]
    assert found.lines[1]["why"] == "time limit"


def test_a_failed_process_is_an_error_with_what_it_said(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no such thing')"]
    with pytest.raises(RuntimeError, match="no such thing"):
        peers._watched(command, tmp_path / "answers.jsonl")


def test_an_answer_a_failure_and_a_long_search_each_give_a_line() -> None:
    person = pd.DataFrame({"a": [1.0]})
    found = peer_worker.asked(lambda _: (np.array([2.0]), True), person, 5)
    assert (found["point"], found["accepted"], found["why"]) == ([2.0], True, "")
    failed = peer_worker.asked(lambda _: (np.array([np.nan]), True), person, 5)
    assert (failed["point"], failed["accepted"]) == (None, False)

    def broken(_: object) -> None:
        raise ValueError("no luck")

    assert peer_worker.asked(broken, person, 5)["why"] == "ValueError: no luck"
    late = peer_worker.asked(lambda _: time.sleep(30), person, 1)
    assert (late["point"], late["why"]) == (None, "time limit")


def test_who_hangs_after_everybody_was_answered_has_answered_everybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def watched(_: list[str], out: Path) -> bool:
        lines: list[dict[str, Any]] = [{"setup": 1.0}]
        lines += [{"seconds": 0.1, "point": [float(i)], "why": ""} for i in range(3)]
        out.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return False

    monkeypatch.setattr(peers, "_watched", watched)
    found = peers.run("tool", "python", tmp_path, 3, ())
    assert [line["point"] for line in found.lines] == [[0.0], [1.0], [2.0]]
    assert np.isnan(found.batch)

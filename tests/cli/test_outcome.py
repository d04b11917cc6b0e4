"""Nobody is advised to reach the outcome that they want to avoid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import robx
from cli_cases import Ran, Run

ASKS = "Error: Which outcome do applicants want?"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of which a quarter is bad; `bad.ubj` scores the bad outcome, `good.ubj` the good one."""
    place = tmp_path_factory.mktemp("outcome")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"debt": rng.integers(0, 100, 400), "age": rng.integers(20, 60, 400)})
    bad = (X["debt"] > 75).astype(int)
    for name, y in {"bad": bad, "good": 1 - bad}.items():
        model = XGBClassifier(n_estimators=5, max_depth=2, n_jobs=1).fit(X, y)
        model.save_model(place / f"{name}.ubj")
    for name in ("bad", "default", "y", "good"):
        X.assign(**{name: 1 - bad if name == "good" else bad}).to_csv(
            place / f"{name}.csv", index=False
        )
    X.to_csv(place / "plain.csv", index=False)
    X[bad == 1][:30].to_csv(place / "declined.csv", index=False)
    X[bad == 0][:30].to_csv(place / "fine.csv", index=False)
    X[:40].to_csv(place / "mixed.csv", index=False)
    return place


def explained(
    call: Run, place: Path, model: str, data: str, people: str, *more: object, label: bool = False
) -> Ran:
    words = ["--model", place / f"{model}.ubj", "--data", place / f"{data}.csv"]
    words += ["--label", data, "--models", 6, "--keep", "none"] if label else []
    words += ["--applicants", place / f"{people}.csv", "--method", "nearest"]
    return call("explain", *words, *more)


@pytest.mark.parametrize("people", ["declined", "fine", "mixed"])
@pytest.mark.parametrize("label", [True, False])
def test_a_label_that_names_a_bad_outcome_needs_a_target(
    place: Path, call: Run, people: str, label: bool
) -> None:
    ran = explained(call, place, "bad", "default", people, label=label)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[-1] == (
        f"{ASKS} By its name, 'default = 1' is one that they want to avoid. Use --target 0 if they "
        "do, or --target 1 if they want 'default = 1'."
    )


def test_with_the_target_the_declined_get_answers(place: Path, call: Run) -> None:
    for label in (True, False):
        ran = explained(
            call, place, "bad", "default", "declined", "--target", 0, "--json", label=label
        )
        assert ran.code == 0
        assert ran.json["counts"] == {"ok": 30}
        assert "Applicants want default = 0: the model accepts 7" in ran.err
        assert "none of these 30 applicants.\n" in ran.err


def test_labels_that_say_nothing_need_a_target_unless_the_applicants_were_declined(
    place: Path, call: Run
) -> None:
    ran = explained(call, place, "bad", "y", "mixed", label=True)
    assert ran.code == 2
    assert f"{ASKS} The labels in 'y', 0, 1, do not say it. With y = 1, the model acc" in ran.err
    assert ran.err.endswith("Add --target 1 if they want that, else --target 0.\n")
    ran = explained(call, place, "bad", "plain", "mixed")
    assert ran.code == 2
    assert f"{ASKS} Without --label, nothing says it. With class 1" in ran.err
    # The accepted share is 25 %, so 30 declined in a row are no accident; but only of `fine`.
    assert explained(call, place, "bad", "y", "fine").code == 0
    assert explained(call, place, "bad", "y", "declined").code == 2
    assert explained(call, place, "bad", "y", "mixed", "--target", 1).code == 0


def test_what_is_taken_for_granted_is_said_in_one_line_before_training(
    place: Path, call: Run
) -> None:
    ran = explained(call, place, "good", "good", "mixed", label=True)
    lines = ran.err.splitlines()
    said = next(i for i, line in enumerate(lines) if line.startswith("Applicants want good = 1: "))
    assert lines[said].endswith("If that is the wrong way round, use --target 0.")
    assert any("XGBoost's files do not say" in line for line in lines[said:])
    assert "Applicants want" not in explained(call, place, "good", "good", "mixed", "--quiet").err


def test_all_accepted_is_a_warning_also_for_those_who_want_quiet(place: Path, call: Run) -> None:
    ran = explained(call, place, "good", "good", "fine", "--quiet")
    assert ran.code == 0
    assert ran.err.startswith("Warning: Applicants want good = 1: the model accepts 7")
    assert "all of these 30 applicants. That is nearly always the wrong way round" in ran.err
    assert ran.err.count("\n") == 1


def test_classes_in_words_say_it_themselves(tmp_path: Path, call: Run, place: Path) -> None:
    import skops.io

    X = pd.read_csv(place / "plain.csv")
    bad = (X["debt"] > 75).to_numpy()
    people = ["--applicants", place / "mixed.csv", "--method", "nearest", "--json"]

    def with_classes(no: str, yes: str) -> Ran:
        y = np.where(bad, yes, no)
        model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
        skops.io.dump(model, tmp_path / "m.skops")
        X.assign(risk=y).to_csv(tmp_path / "t.csv", index=False)
        words = ["--model", tmp_path / "m.skops", "--data", tmp_path / "t.csv", "--label", "risk"]
        return call("explain", *words, "--models", 6, "--keep", "none", *people)

    assert with_classes("good", "late").code == 2  # the second of them is the default
    assert with_classes("paid", "bad").code == 0
    assert with_classes("a", "b").code == 2


@pytest.mark.parametrize("command", ["tau", "stability", "evaluate"])
def test_other_commands_ask_too(place: Path, call: Run, command: str) -> None:
    words: list[Any] = [command, "--model", place / "bad.ubj", "--data", place / "bad.csv"]
    ran = call(*words, "--label", "bad")
    assert ran.code == 2
    assert ASKS in ran.err


def test_a_file_of_answers_says_what_was_wanted_and_when(
    place: Path, call: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for name in ("a.json", "a.csv"):
        told = ["--target", 0, "--out", tmp_path / name]
        assert explained(call, place, "bad", "default", "declined", *told).code == 0
    origin = robx.Counterfactuals.load(tmp_path / "a.json").origin
    assert (origin["wanted"], origin["date"]) == ("default = 0", "2023-11-14")
    assert origin["schema"] == "guessed"
    table = pd.read_csv(tmp_path / "a.csv")
    assert set(table["robx_date"]) == {"2023-11-14"}
    assert set(table["robx_model"]) == {origin["model"]["digest"]}
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    ran = explained(call, place, "bad", "default", "declined", "--target", 0)
    assert ran.code == 2
    assert "SOURCE_DATE_EPOCH must be a number of seconds since 1970. Got 'soon'." in ran.err

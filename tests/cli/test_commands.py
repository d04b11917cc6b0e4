"""The commands around `robx explain`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from xgboost import XGBClassifier

import robx
from cli_cases import Run

PNG = b"\x89PNG"


@pytest.fixture
def model_and_data(folder: Path) -> list[object]:
    return ["--model", folder / "model.ubj", "--data", folder / "train.csv", "--label", "good"]


# --- schema ---------------------------------------------------------------------------------------


def test_a_schema_is_guessed_without_label_and_names(
    folder: Path, call: Run, tmp_path: Path
) -> None:
    out = tmp_path / "schema.yaml"
    ran = call("schema", folder / "train.csv", "--label", "good", "--out", out)
    assert ran.code == 0
    assert ran.out == ""
    names = [name for name in pd.read_csv(folder / "people.csv").columns if name != "who"]
    assert list(robx.Schema.load(out).names) == names
    by_people = call("schema", folder / "people.csv", "--id", "who", "--json").json
    assert [feature["name"] for feature in by_people["features"]] == names


def test_a_schema_that_was_edited_is_not_written_over(
    folder: Path, call: Run, tmp_path: Path
) -> None:
    out = tmp_path / "schema.yaml"
    out.write_text("mine", encoding="utf-8")
    assert call("schema", folder / "train.csv", "--out", out).code == 2
    assert out.read_text(encoding="utf-8") == "mine"
    assert call("schema", folder / "train.csv", "--out", out, "--force").code == 0
    assert robx.Schema.load(out).names


def test_a_schema_is_shown_to_people(folder: Path, call: Run) -> None:
    assert "savings     integer" in call("schema", folder / "train.csv").out


def test_a_guess_names_what_is_protected(call: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 200),
            "age": rng.integers(20, 70, 200),
            "wage": rng.integers(10, 90, 200),
        }
    )
    table.to_csv(tmp_path / "train.csv", index=False)
    ran = call("schema", tmp_path / "train.csv", "--out", tmp_path / "schema.yaml")
    assert "protected features are sex (fixed), age (may only rise); all others" in ran.err
    assert robx.Schema.load(tmp_path / "schema.yaml")["sex"].change == "none"
    assert call("schema", tmp_path / "train.csv", "--quiet").err == ""


def test_a_schema_that_is_left_out_is_remarked_on_once(
    folder: Path, call: Run, model_and_data: list[object]
) -> None:
    ran = call("stability", *model_and_data)
    assert ran.code == 0
    assert ran.err.count("No schema was given, so it was guessed from the training table") == 1
    assert "Warning" not in ran.err
    assert "warn" not in ran.err
    assert "No schema" not in call("stability", *model_and_data, "--quiet").err
    stated = call("stability", *model_and_data, "--schema", folder / "schema.yaml")
    assert "No schema" not in stated.err


# --- stability ------------------------------------------------------------------------------------


def test_stability_is_that_of_the_library(
    folder: Path, call: Run, model_and_data: list[object]
) -> None:
    words = ["--rows", folder / "people.csv", "--id", "who", "--json"]
    rows = call("stability", *model_and_data, *words).json
    people = pd.read_csv(folder / "people.csv").set_index("who")
    data = pd.read_csv(folder / "train.csv")[people.columns]
    problem = robx.Problem(folder / "model.ubj", data)
    units = problem.schema.noise_units
    ours = robx.stability(folder / "model.ubj", people, scale=units)
    assert [row["row"] for row in rows] == people.index.tolist()
    np.testing.assert_allclose([row["stability"] for row in rows], ours.value, atol=1e-9)


def test_stability_against_tau_with_a_plot(
    call: Run, model_and_data: list[object], tmp_path: Path
) -> None:
    plot, out = tmp_path / "r.png", tmp_path / "r.csv"
    words = ["stability", *model_and_data, "--tau", 0.6, "--plot", plot, "--out", out]
    ran = call(*words)
    assert ran.code == 0
    assert plot.read_bytes()[:4] == PNG
    table = pd.read_csv(out)
    accepted = (table["score"] > 0.5) & (table["stability"] >= 0.6)
    assert 0 < accepted.sum() < len(table)
    assert (table["stable"] == accepted).all()


# --- tau ------------------------------------------------------------------------------------------


def test_tau_by_quantile(folder: Path, call: Run, model_and_data: list[object]) -> None:
    said = call("tau", *model_and_data, "--schema", folder / "schema.yaml", "--json").json
    people = pd.read_csv(folder / "people.csv").set_index("who")
    data = pd.read_csv(folder / "train.csv")[people.columns]
    schema = robx.Schema.load(folder / "schema.yaml")
    problem = robx.Problem(folder / "model.ubj", data, schema)
    assert said["tau"] == pytest.approx(robx.choose_tau(problem).tau)
    assert "quantile" in said["reason"]


def test_tau_by_a_sweep_with_a_plot(
    folder: Path, call: Run, model_and_data: list[object], tmp_path: Path
) -> None:
    plot = tmp_path / "tau.svg"
    words = ["--applicants", folder / "people.csv", "--id", "who", "--models", 3, "--plot", plot]
    ran = call("tau", *model_and_data, *words, "--params", folder / "params.yaml")
    validity = [float(row["validity"][:-1]) for row in ran.rows if row["validity"]]
    assert validity[-1] >= validity[0]
    assert "tau = " in ran.err
    assert "<svg" in plot.read_text(encoding="utf-8")
    given = ["--model", folder / "model.ubj", "--data", folder / "train.csv"]
    assert call("tau", *given, "--applicants", folder / "people.csv").code == 2


# --- check ----------------------------------------------------------------------------------------


def test_check_counts_what_the_new_model_keeps(folder: Path, call: Run, recourse: Path) -> None:
    said = call("check", "--model", folder / "new.ubj", recourse, "--json").json
    answer = robx.Counterfactuals.load(recourse)
    model = XGBClassifier()
    model.load_model(folder / "new.ubj")
    accepts = model.predict_proba(answer.frame)[answer.ok, 1] > 0.5
    assert said["share"] == pytest.approx(accepts.mean())
    broken = call("check", "--model", folder / "new.ubj", recourse).rows
    assert len(broken) == (~accepts).sum()
    every = call("check", "--model", folder / "new.ubj", recourse, "--all").rows
    assert len(every) == answer.ok.sum()


def test_check_fails_below_the_share_that_is_asked_for(
    folder: Path, call: Run, recourse: Path, tmp_path: Path
) -> None:
    words = ["check", recourse, "--model", folder / "new.ubj"]
    assert call(*words, "--at-least", call(*words, "--json").json["share"]).code == 0
    (folder / "never.ubj").unlink(missing_ok=True)
    data = pd.read_csv(folder / "train.csv")
    names = robx.Counterfactuals.load(recourse).schema.names
    strict = XGBClassifier(n_estimators=2, scale_pos_weight=0.01)
    strict.fit(data[list(names)], data["good"]).save_model(tmp_path / "never.ubj")
    hard = ["check", recourse, "--model", tmp_path / "never.ubj", "--quiet"]
    assert call(*hard).code == 0
    assert call(*hard, "--at-least", 0.9).code == 1
    out = tmp_path / "kept.csv"
    assert call(*hard, "--out", out).code == 0
    assert not pd.read_csv(out)["kept"].any()


# --- report ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["html", "md", "json"])
def test_reports_say_how_many_are_answered(
    folder: Path, call: Run, recourse: Path, tmp_path: Path, ending: str
) -> None:
    out = tmp_path / f"report.{ending}"
    words = ["--new-model", folder / "new.ubj", "--title", "Spring"]
    words += ["--model", folder / "model.ubj", "--data", folder / "train.csv"]
    assert call("report", recourse, *words, "--out", out).code == 0
    text = out.read_text(encoding="utf-8")
    assert "Spring" in text
    answer = robx.Counterfactuals.load(recourse)
    name = str(answer.frame.index[answer.ok][0])
    assert name in text
    assert "such as the learning rate" in text  # which this file of XGBoost does not tell
    if ending == "json":
        json.loads(text)


def test_a_report_needs_the_whole_of_the_answers(folder: Path, call: Run, tmp_path: Path) -> None:
    ran = call("report", folder / "train.csv", "--out", tmp_path / "report.html")
    assert ran.code == 2
    assert "Traceback" not in ran.err
    assert not any(tmp_path.iterdir())


# --- evaluate -------------------------------------------------------------------------------------


def test_evaluate_compares_methods_after_a_change(
    folder: Path, call: Run, model_and_data: list[object], tmp_path: Path
) -> None:
    out = tmp_path / "table.csv"
    words = ["--params", folder / "params.yaml", "--seeds", 1, "--models", 3, "--most", 10]
    words += ["--change", "other-half", "--method", "nearest", "--method", "robx", "--out", out]
    rows = call("evaluate", *model_and_data, *words).rows
    assert [(row["scenario"], row["method"]) for row in rows] == [
        ("other-half", "NearestNeighbour"),
        ("other-half", "RobX"),
    ]
    table = pd.read_csv(out)
    whole = table[(table["seed"] == "all") & (table["metric"] == "validity")]
    assert [row["validity"] for row in rows] == [f"{value:.1%}" for value in whole["value"]]


def test_a_key_tells_runs_apart_in_the_same_log(folder: Path, call: Run, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    words = ["--model", folder / "model.ubj", "--data", folder / "train.csv", "--label", "good"]
    words += ["--method", "nearest", "--change", "drop-rows", "--seeds", 1, "--models", 1]
    words += ["--most", 3, "--log", log]

    def lines(*more: object) -> int:
        assert call("evaluate", *words, *more).code == 0
        return len(log.read_text(encoding="utf-8").splitlines())

    first = lines()
    assert lines() == first  # nothing is computed again
    assert lines("--key", "v2") > first
    without = [word for word in words if word not in {"--log", log}]
    ran = call("evaluate", *without, "--key", "v2")
    assert ran.code == 2
    assert "--key is for --log" in ran.err

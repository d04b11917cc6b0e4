from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from experiments.checks import Check, run_checks
from experiments.compare import side_by_side
from experiments.methods import where_validity_stops
from experiments.run import Options, check, evaluated, groups, main, pooled, run
from experiments.settings import BUILD, RESULTS
from experiments.spec import ROBX, Spec, load_specs
from experiments.study import Data, load

from speed import deep

SPECS = load_specs()
VALID = "on RobX, answers stay valid"


@pytest.fixture(scope="module")
def data() -> Data:
    return load("german")


def small(name: str, **changes: object) -> Spec:
    return replace(SPECS[name], norms=(1,), **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def broken(data: Data) -> pd.DataFrame:
    """The main table with a RobX that asks for nothing, and beside it one by the quantile rule."""
    spec = small("moderate")
    options = Options(seeds=3, n_models=8, tau=0.0)
    found = evaluated(data, [spec], options)
    return side_by_side(spec, "german", pooled(found, spec, "german"))


def validity(table: pd.DataFrame, method: str, rule: str) -> float:
    here = (table["method"] == method) & (table["tau_rule"] == rule)
    (value,) = table.loc[here & (table["metric"] == "validity"), "ours"]
    return float(value)


@pytest.mark.slow
@pytest.mark.parametrize("base", ["FT", "FOCUS", "FACE", "NN"])
@deep
def test_without_a_stability_test_robustness_is_gone(broken: pd.DataFrame, base: str) -> None:
    alone = validity(broken, base, "none")
    assert validity(broken, base + ROBX, "paper") == pytest.approx(alone, abs=1)
    assert validity(broken, base + ROBX, "auto") > alone + 8
    assert validity(broken, "CCF", "paper") == pytest.approx(validity(broken, "NN", "none"), abs=1)


@pytest.mark.slow
def test_the_checks_see_that_it_is_gone(broken: pd.DataFrame) -> None:
    def holding(rule: str) -> list[bool]:
        checks: list[Check] = run_checks(small("moderate"), "german", broken)
        return [c.holds for c in checks if c.check == VALID and c.tau_rule == rule]

    assert holding("paper") == [False] * 4
    assert sum(holding("auto")) >= 3  # in the full table all four


def test_tables_with_the_same_base_models_are_evaluated_together() -> None:
    together = groups([spec for spec in SPECS.values() if spec.methods])
    assert [[spec.name for spec in some] for some in together] == [
        ["moderate", "face-confidence", "focus-gamma", "tau-sweep"],
        ["minor-rows", "minor-hyperparameter", "introduction"],
        ["standard-scaling", "standard-scaling-gamma"],
    ]


@pytest.mark.slow
def test_a_run_writes_pages_figures_and_checks(data: Data, tmp_path: Path) -> None:
    few = {"german": ("CCF", "NN")}
    specs = [
        small("moderate"),
        small("minor-rows"),
        small("introduction"),
        small("tau-sweep", taus=(0.0, 0.6), methods=few),
        SPECS["histograms"],
    ]
    log = tmp_path / "cells.jsonl"
    options = Options(seeds=1, n_models=2, max_applicants=3, log=log)
    out = tmp_path / "german"
    run(data, specs, options, out, "python -m experiments.run --data german")
    names = {path.name for path in out.iterdir()}
    for spec in specs[:4]:
        assert {f"{spec.name}.md", f"{spec.name}.csv"} <= names
    pictures = {"histograms.png", "tau-sweep.png", "overview.png"}
    assert pictures <= names
    assert all((out / name).stat().st_size > 10_000 for name in pictures)
    page = (out / "moderate.md").read_text()
    assert "`python -m experiments.run --data german`" in page
    assert "| NN +RobX | auto | 2.21 |" in page
    assert "## The base models" in page
    assert "what must be seen" in (out / "checks.md").read_text()
    assert "[moderate change](moderate.md)" in (out / "README.md").read_text()

    # The introduction shows figures of the table of dropped rows.
    ours = {
        name: pd.read_csv(out / f"{name}.csv").query("metric == 'validity' and tau_rule == 'none'")
        for name in ("introduction", "minor-rows")
    }
    both = ours["introduction"].merge(ours["minor-rows"], on=["norm", "method"])
    assert len(both) == 4
    assert (both["ours_x"] == both["ours_y"]).all()

    # Again from the log: nothing is done twice, and the figures are the same.
    before, size = (out / "moderate.csv").read_text(), log.stat().st_size
    run(data, specs[:1], options, out, "python -m experiments.run --data german")
    assert log.stat().st_size == size
    assert (out / "moderate.csv").read_text() == before


def test_a_sweep_stops_where_validity_does() -> None:
    table = pd.DataFrame(
        {"tau": [0.5, 0.6, 0.7, 0.8], "validity": [0.7, 0.985, 0.99, float("nan")]}
    )
    assert where_validity_stops(table) == 0.6


def test_a_folder_without_tables_has_nothing_to_check(tmp_path: Path) -> None:
    from experiments.report import About

    assert check(tmp_path, About("german", 1, 1, 1, 0.93, "")) == []
    assert not list(tmp_path.iterdir())


def test_a_table_takes_its_own_scenario_and_all_base_models() -> None:
    spec = small("moderate", methods={"german": ("NN",)}, robx=False)
    lines = [
        ("L1 NN", "NN", scenario, seed, "validity", value)
        for scenario, shift in (("other-half", 0.0), ("drop-rows", 0.4))
        for seed, value in ((0, 0.1 + shift), (1, 0.3 + shift), ("all", 0.2 + shift))
    ]
    columns = ["asked", "method", "scenario", "seed", "metric", "value"]
    (line,) = pooled(pd.DataFrame(lines, columns=columns), spec, "german").to_dict("records")
    assert line["value"] == 0.2
    assert line["by_seed"] == [0.1, 0.3]


@pytest.mark.parametrize("option", [["--tau", "0"], ["--seeds", "2"], ["--applicants", "9"]])
def test_other_settings_do_not_overwrite_the_results(
    option: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    committed = ["--out", str(RESULTS)]
    monkeypatch.setattr("sys.argv", ["run", "--data", "german", *option, *committed])
    with pytest.raises(SystemExit):
        main()
    assert f"{option[0]} gives other results than the committed ones" in capsys.readouterr().err


def test_results_go_where_git_does_not_look_and_the_run_says_where(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = Path(__file__).parents[2]
    assert root / "build" / "tables" == BUILD
    assert "build/" in (root / ".gitignore").read_text(encoding="utf-8").splitlines()
    monkeypatch.setattr("experiments.run.BUILD", tmp_path)
    monkeypatch.setattr("experiments.run.CACHE", tmp_path / "cache")
    committed = {file: file.stat().st_mtime_ns for file in RESULTS.rglob("*")}
    monkeypatch.setattr("sys.argv", ["run", "--data", "german", "--table", "histograms"])
    main()
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"Results go to {tmp_path / 'german'}."
    assert said[1] == "german, part 1 of 1: histograms ..."
    assert said[2].startswith("  wrote histograms after ")
    assert said[3] == f"Wrote {tmp_path / 'german' / 'README.md'}, which lists everything."
    assert (tmp_path / "german" / "histograms.csv").exists()
    assert {file: file.stat().st_mtime_ns for file in RESULTS.rglob("*")} == committed


def test_make_tables_takes_a_folder() -> None:
    make = ["make", "--dry-run", "tables", "VENV=none", "PYTHON=true"]
    root = Path(__file__).parents[2]
    for told, wanted in (([], False), (["OUT=experiments/results"], True)):
        shown = subprocess.run(
            [*make, *told], cwd=root, capture_output=True, text=True, check=True
        ).stdout
        line = next(line for line in shown.splitlines() if "experiments.run" in line)
        assert ("--out experiments/results" in line) == wanted

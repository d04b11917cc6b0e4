from __future__ import annotations

import re
from pathlib import Path

import pytest

import robx
from cli_cases import Run

README = Path(__file__).parents[2] / "README.md"


def readme_figures() -> dict[str, list[str]]:
    """What the README shows of the demo's table."""
    shown = README.read_text(encoding="utf-8").split("answered  cost")[1].split("(Cost")[0]
    cells = [re.split(r"  +", line.strip()) for line in shown.splitlines()[2:] if line.strip()]
    return {line[0]: line[1:] for line in cells}


@pytest.mark.slow
def test_the_demo_shows_people_a_table_and_files_and_names_commands_that_work(
    call: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = call("demo")
    assert ran.code == 0, ran.err
    assert len(re.findall(r"^Applicant \d+: Accepted", ran.out, re.MULTILINE)) == 3
    lines = [line.split("\t") for line in ran.out.splitlines() if "\t" in line]
    names, figures = lines[0], {line[0]: line for line in lines[1:]}
    assert names[1:] == ["answered", "cost", "changes", "still accepted", "inliers (LOF)"]
    kept = {name: float(line[4].removesuffix("%")) / 100 for name, line in figures.items()}
    cost = {name: float(line[2]) for name, line in figures.items()}
    assert kept["Frugal"] > kept["Nearest neighbour"] + 0.1
    assert cost["Frugal"] < cost["RobX"]
    assert readme_figures() == {name: line[1:] for name, line in figures.items()}
    folder = tmp_path / "robx-demo"
    assert {file.name for file in folder.iterdir()} == {
        "applicants.csv",
        "model.skops",
        "new-model.skops",
        "recourse.json",
        "report.html",
        "schema.yaml",
        "train.csv",
    }
    # The table is about the very answers that were issued.
    answer = robx.Counterfactuals.load(folder / "recourse.json")
    assert figures["Frugal"][1].startswith(f"{answer.ok.sum()} of ")

    commands = re.findall(r"^  (robx .*)$", ran.err.replace("\\\n", " "), re.MULTILINE)
    assert len(commands) == 3
    monkeypatch.chdir(folder)
    for command in commands:
        done = call(*command.split()[1:])
        assert done.code == 0, (command, done.err)
    assert (folder / "mine.html").exists()

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import robx
from robx.cli import demo_case

ROOT = Path(__file__).parents[2]
README, SPLITS = ROOT / "README.md", Path(demo_case.__file__).with_name("demo_splits.csv")
METHODS = ["Nearest neighbour", "RobX", "Frugal"]


def tables(text: str) -> list[dict[str, list[str]]]:
    """Cells of the aligned tables in a text, by their first cell."""
    found: list[dict[str, list[str]]] = []
    for line in text.splitlines():
        cells = re.split(r"  +", line.strip())
        if cells[0] == "method":
            found.append({})
        elif cells[0] in METHODS:
            found[-1][cells[0]] = cells[1:]
    return found


def ran_in(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, without `robx` on the path."""
    folders = os.environ["PATH"].split(os.pathsep)
    path = os.pathsep.join(one for one in folders if shutil.which("robx", path=one) is None)
    own = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(words, cwd=folder, env=own, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_demo_shows_people_a_table_and_files_and_names_commands_that_work(
    tmp_path: Path,
) -> None:
    """In a process of its own, without `robx` on the path, and in a pipe."""
    ran = ran_in(tmp_path, sys.executable, "-m", "robx", "demo")
    assert ran.returncode == 0, ran.stderr
    assert len(re.findall(r"^Applicant \d+: Accepted", ran.stdout, re.MULTILINE)) == 3
    assert "\t" not in ran.stdout
    figures, splits = tables(ran.stdout)
    assert list(figures) == list(splits) == METHODS
    kept = {name: float(cells[3].rstrip("%")) for name, cells in figures.items()}
    assert kept["Frugal"] > kept["Nearest neighbour"] + 10
    assert tables(README.read_text(encoding="utf-8")) == [splits]
    folder = tmp_path / "robx-demo"
    assert {file.name for file in folder.iterdir()} == {
        *("applicants.csv", "model.skops", "new-model.skops", "recourse.json", "report.html"),
        *("pipeline.skops", "schema.yaml", "train.csv"),
    }
    # The table is about the very answers that were issued.
    answer = robx.Counterfactuals.load(folder / "recourse.json")
    assert figures["Frugal"][0].startswith(f"{answer.ok.sum()} of ")
    assert f"{answer.ok.sum()} get an answer that passes this test" in ran.stdout

    commands = re.findall(r"^  (\S+ -m robx .*)$", ran.stderr.replace("\\\n", " "), re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        done = ran_in(folder, "/bin/sh", "-c", command)
        assert done.returncode == 0, (command, done.stderr)
        assert "Warning" not in done.stderr
    assert (folder / "mine.html").exists()
    assert robx.Counterfactuals.load(folder / "from-pipeline.json").ok.any()


def test_the_demos_rules_are_those_of_a_bank() -> None:
    case = demo_case.german()
    schema = case.schema.fit(case.today.X)
    row = case.today.X.iloc[[0]]

    def allows(**changes: float) -> bool:
        old = row.assign(checking=1, employment=1, housing=0, amount=3000, credits=2, property=0)
        return not any(schema.violations(old.assign(**changes), old)[0])

    assert allows(checking=2)
    assert not allows(checking=0)  # no account
    assert allows(employment=2)
    assert not allows(employment=3)
    assert not allows(housing=1)  # to live for free
    assert allows(amount=2500)
    assert not allows(amount=2537)
    assert not allows(amount=4000)
    assert not allows(credits=3)
    assert not allows(property=3)  # a house


def test_the_splits_that_the_demo_tells_of_are_in_the_package() -> None:
    splits = pd.read_csv(SPLITS)
    assert splits["split"].nunique() >= 5
    assert splits.groupby("split")["method"].apply(list).map(lambda names: names == METHODS).all()
    assert (splits["answered"] <= splits["declined"]).all()
    mean = splits.groupby("method")[["answered", "declined", "still accepted"]].mean()
    assert mean["still accepted"]["Frugal"] > mean["still accepted"]["Nearest neighbour"]

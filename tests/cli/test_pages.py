from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from cli_cases import Run

README = Path(__file__).parents[2] / "README.md"


def test_the_commands_of_the_readme_work_as_they_stand(
    folder: Path, call: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"train.csv": "train.csv", "people.csv": "declined.csv"}
    names |= {"params.yaml": "params.yaml"}
    names |= {"model.ubj": "model.ubj", "new.ubj": "new-model.ubj"}
    for ours, theirs in names.items():
        shutil.copy(folder / ours, tmp_path / theirs)
    section = README.read_text(encoding="utf-8").split("## What goes in")[1].split("## ")[0]
    block = re.findall(r"```\n(.*?)```", section, re.DOTALL)[0]
    commands = block.replace("\\\n", " ").splitlines()
    assert [shlex.split(line, comments=True)[1] for line in commands] == [
        "schema",
        "explain",
        "report",
        "check",
    ]
    for line in commands:
        ran = call(*shlex.split(line, comments=True)[1:])
        assert ran.code == 0, (line, ran.err)
    assert (tmp_path / "report.html").exists()

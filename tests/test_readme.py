from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_examples_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    codes = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(codes) == 4
    for code in codes:
        exec(code, names)  # noqa: S102 - our own page
    answer, model = names["answer"], names["model"]
    assert answer.ok.sum() > 10
    assert (model.predict_proba(answer.frame)[answer.ok, 1] > 0.5).all()
    assert (tmp_path / "recourse.json").exists()
    assert len(answer.summary) == len(names["applicants"])
    before, after = names["applicants"]["savings"], answer.frame["savings"]
    assert (np.asarray(after) >= np.asarray(before)).all()
    assert answer.words(4)
    table = names["table"]
    kept = table[(table.seed == "all") & (table.metric == "validity")].set_index(
        ["scenario", "method"]
    )["value"]
    assert kept["other half", "NN + RobX"] > kept["other half", "NN"]


def test_no_placeholder_is_left() -> None:
    assert not re.findall(r"\b[A-Z]+_[A-Z]+\b", README)


def test_the_commands_it_names_exist() -> None:
    makefile = (Path(__file__).parents[1] / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`)make ([\w-]+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target

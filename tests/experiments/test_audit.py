from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from experiments.promises.real import load

import robx
from experiments import audit


def copied(problem: robx.Problem, X: pd.DataFrame) -> pd.DataFrame:
    """A method as others would write it: everybody gets the first accepted row."""
    return pd.DataFrame([problem.training[0]] * len(X), columns=X.columns, index=X.index)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "N_MODELS", 1)
    monkeypatch.setattr(audit, "N_PEOPLE", 4)
    monkeypatch.setattr(audit, "N_ROWS", 300)
    methods = {"Nearest neighbour": robx.NearestNeighbour(), "Mine": copied}
    monkeypatch.setattr(audit, "METHODS", methods)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_an_audit_has_a_line_for_each_method_and_change_and_a_page(tmp_path: Path) -> None:
    tables: Any = {"german": load("german", None)}
    lines = pd.DataFrame(audit.one(tables, "german", "xgboost", 0))
    assert len(lines) == 2 * 10
    assert set(lines["scenario"]) == set(audit.changes("xgboost", 210))
    assert set(audit.METRICS) <= set(lines)
    near = lines[lines["method"] == "Nearest neighbour"]
    assert (near["coverage"] == 1).all()
    assert near["base_validity"].min() == 1
    file = tmp_path / "audit.csv"
    lines.to_csv(file, index=False)
    audit.page(file)
    said = file.with_suffix(".md").read_text()
    assert "| Mine |" in said
    assert "## End to end, by change" in said


@pytest.mark.parametrize("library", audit.LIBRARIES)
def test_changes_are_of_ten_kinds_and_settings_exist(library: str) -> None:
    found = audit.changes(library, 700)
    assert len(found) == 10
    known = audit.drawing(library).get_params()
    assert known.get("subsample", 0.8) == 0.8
    assert set(audit.SETTINGS[library]) <= set(known)

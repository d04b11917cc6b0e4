"""The benchmark of latency: its committed figures, and that it runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks import latency
from benchmarks.applications import make_applications
from benchmarks.latency_tables import RESULTS, TABLES, markdown

import robx
from speed import deep

committed = pytest.mark.skipif(not RESULTS.exists(), reason="make bench-latency was not run yet")


@committed
def test_the_committed_tables_are_those_of_the_committed_figures() -> None:
    assert TABLES.read_text("utf-8") == markdown(json.loads(RESULTS.read_text("utf-8")))


@committed
def test_the_committed_figures_are_of_the_whole_benchmark() -> None:
    found = json.loads(RESULTS.read_text("utf-8"))
    sizes = latency.Sizes()
    assert found["sizes"] == json.loads(json.dumps(vars(sizes)))
    models = [line["model"].split()[0] for line in found["lines"]]
    assert models == ["XGBoost", "LightGBM", "HistGradientBoosting", *["RandomForest"] * 2]
    assert all(line["ok"] > 0.9 for line in found["lines"])


def test_applications_are_the_same_every_time_and_have_gaps_and_categories() -> None:
    X, y, schema = make_applications(500)
    again = make_applications(500)
    assert X.equals(again.X)
    assert y.equals(again.y)
    assert X.shape == (500, 23)
    assert len(X.select_dtypes("category").columns) == 3
    assert X.isna().any().sum() == 4
    assert 0.3 < y.mean() < 0.7
    assert [feature.name for feature in schema.features] == list(X.columns)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(robx, "Explainer"), reason="it is about the Explainer")
@deep
def test_the_benchmark_runs(tmp_path: Path) -> None:
    latency.main(["--quick", "--out", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    (line,) = found["lines"]
    assert line["model"] == "XGBoost 5x4"
    assert all(isinstance(v, str | bool) or v > 0 for v in line.values()), line
    assert "| XGBoost 5x4 |" in markdown(found)

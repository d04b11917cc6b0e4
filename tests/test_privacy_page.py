"""The page of results about privacy is that of the committed figures."""

from __future__ import annotations

from benchmarks.privacy import RESULTS, committed, page


def test_the_tables_are_those_of_the_committed_results() -> None:
    lines = committed()
    assert set(lines["k"]) == {"none", "5", "10", "20"}
    assert lines.groupby(["data", "k"]).size().min() >= 5
    assert page(lines) == (RESULTS / "privacy.md").read_text(encoding="utf-8")

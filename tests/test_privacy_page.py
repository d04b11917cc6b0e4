"""The figures on the page about privacy are those of the committed results."""

from __future__ import annotations

from benchmarks.privacy import PAGE, RESULTS, committed, on_page, page


def test_the_tables_are_those_of_the_committed_results() -> None:
    lines = committed()
    assert set(lines["k"]) == {"none", "5", "10", "20"}
    assert lines.groupby(["data", "k"]).size().min() >= 5
    text = PAGE.read_text(encoding="utf-8")
    assert on_page(lines, text) == text
    assert page(lines) == (RESULTS / "privacy.md").read_text(encoding="utf-8")

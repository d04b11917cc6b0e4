"""Write the committed figures of the comparison into its page and into the README.

    python -m benchmarks.peer_pages

Tests compare both with ``results/peers.csv``. What is said about the figures in words stays to be
read again.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.peer_tables import markdown, read_lines, short_spans, short_table

__all__ = ["filled_page", "filled_readme"]

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
README, PAGE = ROOT / "README.md", ROOT / "docs" / "explanation" / "comparison.md"


def filled_readme(text: str) -> str:
    """Replace the two tables of the README."""
    lines = read_lines(RESULTS / "peers.csv")
    for head, table in (
        (r"\| +\| accepted today", short_table(lines)),
        (r"\| \d+ splits: mean", short_spans(lines)),
    ):
        text = re.sub(rf"{head} .*?\n(?=\n)", table, text, flags=re.DOTALL)
    return text


def filled_page(text: str) -> str:
    """Replace the tables of the page."""
    tables = markdown(read_lines(RESULTS / "peers.csv"))
    return re.sub(
        r"(<!-- benchmarks/results/peers.md -->\n).*?(<!-- end -->)",
        lambda found: found[1] + tables + found[2],
        text,
        flags=re.DOTALL,
    )


def main() -> None:
    """Rewrite both."""
    for file, fill in ((README, filled_readme), (PAGE, filled_page)):
        file.write_text(fill(file.read_text(encoding="utf-8")), encoding="utf-8")
    tables = markdown(read_lines(RESULTS / "peers.csv"))
    (RESULTS / "peers.md").write_text(tables, encoding="utf-8")


if __name__ == "__main__":
    main()

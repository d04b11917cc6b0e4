"""Pages that are made from results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd


def markdown(table: pd.DataFrame) -> str:
    """Lay out a table; numbers with three digits."""

    def said(value: object) -> str:
        return f"{value:.3g}" if isinstance(value, float) else str(value)

    rows = [[str(name) for name in table.columns], ["---"] * len(table.columns)]
    rows += [[said(value) for value in row] for row in table.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def write_page(path: Path, *parts: str) -> None:
    """Write a page beside results, its parts as paragraphs."""
    path.with_suffix(".md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")

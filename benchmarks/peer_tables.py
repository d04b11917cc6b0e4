"""The figures of the comparison with other tools: their file, and their tables."""

from __future__ import annotations

import csv
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "FREE",
    "Line",
    "markdown",
    "over_splits",
    "read_lines",
    "row",
    "short_spans",
    "short_table",
    "write_lines",
]

#: The block in which every column may change.
FREE = "all free"


@dataclass(frozen=True)
class Line:
    """One tool: shares of all applicants, then means over the answers that the model accepts."""

    block: str
    tool: str
    installed: bool
    split: int = 0  # seed of the split of the data
    n: int = 0
    returned: float = np.nan  # a point, whatever it is worth
    accepted_raw: float = np.nan  # by the model, as returned
    accepted: float = np.nan  # by the model, rounded
    locked_changed: float = np.nan  # points that change history or job, of those returned
    kept_same: float = np.nan
    kept_other: float = np.nan
    kept_low: float = np.nan  # bootstrap over applicants, 95 %
    kept_high: float = np.nan
    end_to_end: float = np.nan  # of all applicants, accepted and kept on the other half
    cost: float = np.nan
    changes: float = np.nan
    lof: float = np.nan
    lof_raw: float = np.nan
    median_seconds: float = np.nan
    mean_seconds: float = np.nan
    batch_seconds: float = np.nan  # each, when asked about all at once
    setup_seconds: float = np.nan
    hung: int = 0
    versions: str = ""


def write_lines(lines: list[Line], file: Path) -> None:
    """Write all figures."""
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, [field.name for field in fields(Line)])
        writer.writeheader()
        writer.writerows(asdict(line) for line in lines)


def read_lines(file: Path) -> list[Line]:
    """Read figures back."""
    plain: dict[str, Any] = {"int": int, "float": float, "str": str, "bool": "True".__eq__}
    kinds = {field.name: plain[str(field.type)] for field in fields(Line)}
    with file.open(encoding="utf-8", newline="") as opened:
        return [
            Line(**{name: kinds[name](value) for name, value in row.items()})
            for row in csv.DictReader(opened)
        ]


# --- the table ------------------------------------------------------------------------------------

HEAD = (
    *("", "answered", "accepted today", "change history or job", "kept, 90 % of the same data"),
    *("kept, other half [95 %]", "accepted and kept, of all", "L1 cost", "changes", "LOF"),
    *("s each: median, mean", "set-up s", "out of time"),
)


def row(line: Line) -> list[str]:
    """Write the cells of one tool."""
    if not line.installed:
        return [line.tool, "not installed", *[""] * (len(HEAD) - 2)]

    def share(value: float) -> str:
        return "-" if np.isnan(value) else f"{value:.0%}".replace("%", " %")

    def number(value: float, digits: int) -> str:
        return "-" if np.isnan(value) else f"{value:.{digits}f}"

    kept = f"{share(line.kept_other)} [{line.kept_low:.0%}, {line.kept_high:.0%}]".replace("%", "")
    return [
        line.tool,
        share(line.returned),
        share(line.accepted),
        share(line.locked_changed),
        share(line.kept_same),
        "-" if np.isnan(line.kept_other) else kept.replace("  [", " % ["),
        share(line.end_to_end),
        number(line.cost, 2),
        number(line.changes, 1),
        number(line.lof, 2),
        f"{line.median_seconds:.3f}, {line.mean_seconds:.3f}",
        number(line.setup_seconds, 1),
        str(line.hung),
    ]


#: What is shown over splits: the name in the table, the field, and how it is written.
OVER_SPLITS = (
    ("accepted today", "accepted", "{:.1%}"),
    ("kept, 90 % of the same data", "kept_same", "{:.1%}"),
    ("kept, other half", "kept_other", "{:.1%}"),
    ("L1 cost", "cost", "{:.2f}"),
    ("changes", "changes", "{:.2f}"),
    ("LOF", "lof", "{:.2f}"),
)


def over_splits(lines: list[Line]) -> list[list[str]]:
    """Give mean and range over splits, for each tool that was asked on more than one."""
    rows = []
    for block, tool in dict.fromkeys((line.block, line.tool) for line in lines):
        own = [line for line in lines if (line.block, line.tool) == (block, tool)]
        if len(own) > 1:
            spans = [_span([getattr(line, f) for line in own], how) for _, f, how in OVER_SPLITS]
            rows.append([f"{tool}, {block}", str(len(own)), *spans])
    return rows


def _span(values: list[float], how: str) -> str:
    mean, low, high = (how.format(v) for v in (np.mean(values), min(values), max(values)))
    return f"{mean} [{low.rstrip('%')}, {high.rstrip('%')}]".replace("%", " %")


def markdown(lines: list[Line]) -> str:
    """Tables: one a block for the first split, and means over the splits."""
    text, first = [], [line for line in lines if line.split == 0]
    for block in dict.fromkeys(line.block for line in first):
        text += [f"**{block[0].upper()}{block[1:]}**", ""]
        text += _table(HEAD, [row(line) for line in first if line.block == block])
    batches = ", ".join(
        f"{line.tool} {line.batch_seconds:.3f}"
        for line in first
        if line.block == FREE and not np.isnan(line.batch_seconds)
    )
    text += [f"Seconds each when asked about all applicants at once, all free: {batches}.", ""]
    if spans := over_splits(lines):
        text += ["**All splits of the data, the one above included: mean [lowest, highest]**", ""]
        text += _table(("", "splits", *(name for name, _, _ in OVER_SPLITS)), spans)
    known = dict.fromkeys(line.versions for line in lines if line.versions)
    return "\n".join([*text, f"Versions: {'; '.join(known)}.", ""])


#: What the README shows of the first split: the name there, the field, and how it is written.
SHORT = (
    ("accepted today", "accepted", "{:.0%}"),
    ("kept, same data", "kept_same", "{:.0%}"),
    ("kept, other half", "kept_other", "{:.0%}"),
    ("L1 cost", "cost", "{:.2f}"),
    ("changes", "changes", "{:.1f}"),
    ("LOF", "lof", "{:.2f}"),
    ("s each", "median_seconds", "{:.3f}"),
)
#: Tools that the README leaves out: the same question again, and answers that are half lost.
LEFT_OUT = ("Closest", "OCEAN")


def short_table(lines: list[Line]) -> str:
    """Write the table of the README, robx's default in bold."""
    shown = [line for line in lines if line.split == 0 and line.block == FREE]
    rows = [
        [
            f"**{line.tool}**" if line.tool == "Frugal" else line.tool,
            *(how.format(getattr(line, name)).replace("%", " %") for _, name, how in SHORT),
        ]
        for line in shown
        if line.tool not in LEFT_OUT
    ]
    return "\n".join(_table(("", *(name for name, _, _ in SHORT)), rows))


def short_spans(lines: list[Line]) -> str:
    """Write the table of the README over splits: mean, lowest and highest of robx and DiCE."""
    wanted = {"kept_other", "cost", "changes"}
    shown = [(name, field, how) for name, field, how in OVER_SPLITS if field in wanted]
    rows = []
    for tool in ("Frugal", "RobX", "DiCE genetic"):
        own = [line for line in lines if (line.block, line.tool) == (FREE, tool)]
        rows.append(
            [tool, *(_span([getattr(line, f) for line in own], how) for _, f, how in shown)]
        )
    head = f"{len(own)} splits: mean [lowest, highest]"
    return "\n".join(_table((head, *(name for name, _, _ in shown)), rows))


def _table(head: tuple[str, ...], rows: list[list[str]]) -> list[str]:
    body = [f"| {' | '.join(cells)} |" for cells in rows]
    return [f"| {' | '.join(head)} |", "|" + " --- |" * len(head), *body, ""]

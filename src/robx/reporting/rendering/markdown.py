"""The summary as Markdown, with tables as GitHub shows them and without pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from robx.reporting.figures import number, rounded_down

__all__ = ["as_markdown"]

Plain = dict[str, Any]

#: Signs that mean something in Markdown.
SIGNS = re.compile(r"([\\`*_\[\]|#~])")


def as_markdown(summary: Plain) -> str:
    """Write a summary as Markdown. Applicants who are accepted already are only counted."""
    parts = [
        _first_lines(summary),
        _outcomes(summary),
        _validity(summary["validity"]),
        _applicants(summary),
        _settings(summary["settings"]),
        _limits(summary["limits"]),
        _provenance(summary["provenance"]),
    ]
    return "\n\n".join(block for part in parts for block in part) + "\n"


def _first_lines(summary: Plain) -> list[str]:
    told = summary["headline"]
    rows = [(one["value"], one["label"], one["note"]) for one in told["numbers"]]
    return [
        f"# {_text(summary['title'])}",
        *([_text(summary["date"])] if summary["date"] else []),
        f"**{_text(told['lead'])}**",
        *map(_text, told["sentences"]),
        *([_table(["", "", ""], rows)] if rows else []),
    ]


def _outcomes(summary: Plain) -> list[str]:
    rows = [(row["outcome"], row["people"], row["meaning"]) for row in summary["outcomes"]]
    blocks = ["## How it ended", _table(["Outcome", "People", "What it means"], rows, {1})]
    if summary["reasons"]:
        why = [(row["outcome"], _reason(row), row["people"]) for row in summary["reasons"]]
        blocks.append(_table(["Outcome", "Reason", "People"], why, {2}))
    return blocks


def _reason(row: Plain) -> str:
    obstacles = "; ".join(f"{one['what']}: {one['people']}" for one in row["obstacles"])
    return f"{row['reason']} ({obstacles})" if obstacles else str(row["reason"])


def _validity(rows: list[Plain]) -> list[str]:
    if not rows:
        return []
    cells = [(row["name"], row["said"], row["between"], row["words"]) for row in rows]
    head = ["Share", "Value", "Interval", "What it means"]
    return ["## How sure it is", _table(head, cells, {1, 2})]


def _applicants(summary: Plain) -> list[str]:
    rows = [row for row in summary["applicants"] if row["status"] != "already accepted"]
    head = ["Applicant", "Outcome", "What to change", "Changes", "Cost", "Score", "Stability"]
    head += ["Retrained models", "New models"][: 2 if summary["n_checks"] else 1]
    cells = [_applicant(row)[: len(head)] for row in rows]
    return [
        "## Applicants",
        _text(summary["asked"]["words"]),
        _table(head, cells, set(range(3, 8))),
    ]


def _applicant(row: Plain) -> list[str]:
    words = "; ".join(row["changes"])
    for other in row["alternatives"]:
        words += f"; or: {'; '.join(other['changes'])}"
    if row["reason"]:
        words += f"{' ' if words else ''}({row['reason']})"
    accepting = "" if row["accepting"] is None else f"{row['accepting']} "
    return [
        row["applicant"],
        row["outcome"],
        words,
        "" if row["n_changes"] is None else str(row["n_changes"]),
        *(number(row[name]) for name in ("cost", "score", "stability")),
        (accepting + rounded_down(row["validity_bound"])).strip(),
        row["kept_said"],
    ]


def _settings(settings: Plain) -> list[str]:
    return [
        "## Settings, and why",
        *map(_text, settings["words"]),
        *_pairs(settings["terms"]),
        *_pairs(settings["parameters"]),
    ]


def _limits(limits: list[Plain]) -> list[str]:
    return ["## Limits", *(f"**{_text(one['title'])}.** {_text(one['text'])}" for one in limits)]


def _provenance(provenance: Plain) -> list[str]:
    head = ["Feature", "Kind", "May change", "Levels"]
    schema = [
        (row["feature"], row["kind"], row["may_change"], ", ".join(row["levels"]))
        for row in provenance["schema"]
    ]
    held = "; ".join(provenance["relations"])
    return [
        "## Where this comes from",
        *(block for name in ("model", "data", "versions") for block in _pairs(provenance[name])),
        _table(head, schema),
        *([f"Always held: {_text(held)}."] if held else []),
    ]


def _pairs(pairs: list[Plain]) -> list[str]:
    return [_table(["", ""], [(pair["name"], pair["value"]) for pair in pairs])] if pairs else []


def _table(
    head: Sequence[str], rows: Iterable[Sequence[Any]], right: set[int] | None = None
) -> str:
    """Write a table; columns of numbers stand on the right."""
    rule = ["---:" if k in (right or set()) else "---" for k in range(len(head))]
    lines = [head, rule, *([_text(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(value: Any) -> str:
    r"""Take all meaning from signs that Markdown or HTML would read, and keep it in one line.

    Examples
    --------
    >>> print(_text("a|b <script> *x*"))
    a\|b &lt;script&gt; \*x\*
    """
    plain = " ".join(str(value).split())
    plain = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return SIGNS.sub(r"\\\1", plain)

"""The summary as Markdown, with tables as GitHub shows them and without pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from robx.metrics import percent
from robx.reports.figures import counted, number, rounded_down, spoken
from robx.reports.settings import extra
from robx.reports.summary import PARTS

Plain = dict[str, Any]

#: Signs that have a meaning in Markdown.
SIGNS = re.compile(r"([\\`*_\[\]|#~$])")
#: Invisible, behind an at sign, so that it mentions nobody.
JOINER = "\N{WORD JOINER}"


def as_markdown(summary: Plain) -> str:
    """Write a summary as Markdown. Applicants who are accepted already are only counted."""
    parts = [
        _first_lines(summary),
        _outcomes(summary),
        _validity(summary),
        _asked(summary["pictures"]),
        _applicants(summary),
        _settings(summary["settings"]),
        _privacy(summary["privacy"]),
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
    blocks = [f"## {PARTS['outcomes']}", _table(["Outcome", "People", "Meaning"], rows, {1})]
    if summary["reasons"]:
        why = [(row["outcome"], _reason(row), row["people"]) for row in summary["reasons"]]
        blocks.append(_table(["Outcome", "Reason", "People"], why, {2}))
    return blocks


def _reason(row: Plain) -> str:
    obstacles = "; ".join(f"{one['what']}: {one['people']}" for one in row["obstacles"])
    return f"{row['reason']} ({obstacles})" if obstacles else str(row["reason"])


def _validity(summary: Plain) -> list[str]:
    blocks = [f"## {PARTS['validity']}", *map(_text, summary["about_validity"])]
    cells = [
        (row["name"], row["said"] or "none", row["between"], _meaning(row))
        for row in summary["validity"]
    ]
    head = ["Share", "Value", "Interval", "Meaning"]
    return [*blocks, _table(head, cells, {1, 2})] if cells else blocks


def _meaning(row: Plain) -> str:
    return f"{row['words']} Model: {row['model']}." if row["model"] else str(row["words"])


def _asked(pictures: list[Plain]) -> list[str]:
    """Give the first picture as a table, and the example in words."""
    blocks = []
    for one in pictures:
        if one["kind"] == "asked":
            rows = [(row["feature"], row["people"], percent(row["share"])) for row in one["rows"]]
            table = _table(["Feature", "People", "Share"], rows, {1, 2})
            blocks += [f"## {PARTS['pictures']}", _text(one["words"]), table]
        if one["kind"] == "example":
            blocks.append(_text(f"{one['title']}. {'; '.join(one['changes'])}."))
    return blocks


def _applicants(summary: Plain) -> list[str]:
    rows = [row for row in summary["applicants"] if row["status"] != "already accepted"]
    left_out = len(summary["applicants"]) - len(rows)
    head = ["Applicant", "Outcome", "What to change", "Changes", "Cost", "Score", "Stability"]
    models = {"Retrained models": summary["n_models"], "New models": summary["n_checks"]}
    shown = [bool(there) for there in models.values()]
    head += [name for name, there in models.items() if there]
    cells = [[*_applicant(row), *_judged(row, shown)] for row in rows]
    blocks = [f"## {PARTS['applicants']}", *map(_text, summary["about_applicants"])]
    if left_out:
        blocks.append(f"Already accepted, and not listed: {counted(left_out, 'applicant')}.")
    return [*blocks, _table(head, cells, set(range(3, 8)))] if rows else blocks


def _applicant(row: Plain) -> list[str]:
    words = "; ".join(row["changes"])
    for other in row["alternatives"]:
        words += f"; or: {'; '.join(other['changes'])} ({other['said']})"
    if row["reason"]:
        words += f"{' ' if words else ''}({row['reason']})"
    measured = ", ".join(
        f"{spoken(name)} {number(value)}" for name, value in row["measured"].items()
    )
    return [
        row["applicant"],
        row["outcome"],
        words,
        "" if row["n_changes"] is None else str(row["n_changes"]),
        *(number(row[name]) for name in ("cost", "score")),
        number(row["stability"]) + (f" ({measured})" if measured else ""),
    ]


def _judged(row: Plain, shown: list[bool]) -> list[str]:
    """Say whether retrained and new models accept it, as far as there are any."""
    accepting = "" if row["accepting"] is None else f"{row['accepting']} "
    told = [(accepting + rounded_down(row["validity_bound"])).strip(), row["kept_said"]]
    return [cell for cell, there in zip(told, shown, strict=True) if there]


def _settings(settings: Plain) -> list[str]:
    return [
        f"## {PARTS['settings']}",
        *map(_text, settings["words"]),
        *_pairs(settings["terms"]),
        *_pairs(settings["parameters"]),
    ]


def _privacy(privacy: Plain) -> list[str]:
    rows = [(row["crowd"], row["answers"], percent(row["share"])) for row in privacy["crowds"]]
    table = [_table(["Crowd of the answer", "Answers", "Share"], rows, {1, 2})] if rows else []
    return [f"## {PARTS['privacy']}", *map(_text, privacy["words"]), *table]


def _limits(limits: list[Plain]) -> list[str]:
    return [
        f"## {PARTS['limits']}",
        *(f"**{_text(one['title'])}.** {_text(one['text'])}" for one in limits),
    ]


def _provenance(provenance: Plain) -> list[str]:
    numbers = ["unit", *extra(provenance["schema"])]
    head = ["Feature", "Kind", "May change", "Unit of cost", *map(str.capitalize, numbers[1:])]
    schema = [
        (
            *(row[name] for name in ("feature", "kind", "may_change")),
            *("" if row[name] is None else f"{row[name]:g}" for name in numbers),
            ", ".join(row["levels"]),
        )
        for row in provenance["schema"]
    ]
    checks = [pairs for pairs in provenance["checks"] if pairs]
    held = "; ".join(provenance["relations"])
    return [
        f"## {PARTS['provenance']}",
        *(block for name in ("model", "data", "versions") for block in _pairs(provenance[name])),
        *(block for k, one in enumerate(checks) for block in _pairs(one, f"New model {k + 1}")),
        _table([*head, "Levels"], schema, set(range(3, 3 + len(numbers)))),
        *([f"Rules for all features: {_text(held)}."] if held else []),
    ]


def _pairs(pairs: list[Plain], name: str = "") -> list[str]:
    return [_table([name, ""], [(pair["name"], pair["value"]) for pair in pairs])] if pairs else []


def _table(
    head: Sequence[str], rows: Iterable[Sequence[Any]], right: set[int] | None = None
) -> str:
    """Write a table; columns of numbers are aligned on the right."""
    rule = ["---:" if k in (right or set()) else "---" for k in range(len(head))]
    lines = [head, rule, *([_text(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(value: Any) -> str:
    r"""Escape signs that have a meaning in Markdown or HTML, and keep the text in one line.

    Examples
    --------
    >>> print(_text("a|b <script> *x*"))
    a\|b &lt;script&gt; \*x\*
    """
    plain = " ".join(str(value).split())
    plain = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return SIGNS.sub(r"\\\1", plain).replace("@", f"@{JOINER}")

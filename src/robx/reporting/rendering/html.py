"""The summary as one page: templates, style and script are put together into one text.

Templates only place what they are given. What has to be said in another form on the page than in
the summary is worked out in `_view`.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from robx.reporting.figures import counted, number, rounded_down
from robx.reporting.rendering.pictures import drawn

__all__ = ["as_html"]

Plain = dict[str, Any]

HERE = Path(__file__).parent
#: Parts of the page, in order: the name of the template, and the title.
PARTS = {
    "outcomes": "How it ended",
    "validity": "How sure it is",
    "pictures": "What is asked",
    "applicants": "Applicants",
    "settings": "Settings, and why",
    "limits": "Limits",
    "provenance": "Where this comes from",
}
#: Pictures that take the whole width.
BROAD = {"example", "support"}


def as_html(summary: Plain) -> str:
    """Make the page of a summary: one text that loads nothing."""
    return _environment().get_template("page.html.jinja").render(_view(summary))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["number"] = number
    pieces: Any = made.get_template("pieces.html.jinja").module
    made.globals.update(facts=pieces.facts, changes=pieces.changes)
    return made


def _view(summary: Plain) -> Plain:
    """Give the summary as the templates take it."""
    css, js = ((HERE / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    pictures = [
        {**one, "svg": Markup(drawn(one)), "broad": one["kind"] in BROAD}  # noqa: S704 - escaped
        for one in summary["pictures"]
    ]
    parts = [name for name in PARTS if name != "pictures" or pictures]
    versions = {pair["name"]: pair["value"] for pair in summary["provenance"]["versions"]}
    return {
        **summary,
        "policy": _policy(js),
        "css": Markup(css),  # noqa: S704 - our own files
        "js": Markup(js),  # noqa: S704
        "confidence": f"{100 * summary['confidence']:g}%" if summary["confidence"] else "",
        "parts": [{"id": name, "title": PARTS[name]} for name in parts],
        "version": versions.get("robx"),
        "outcomes": [
            {**row, "tone": tone, "people_said": f"{row['people']:,}"}
            for tone, row in enumerate(summary["outcomes"])
        ],
        "validity": [{**row, "range": _range(row)} for row in summary["validity"]],
        "pictures": pictures,
        "applicants": [_person(row) for row in summary["applicants"]],
        "provenance": {
            **summary["provenance"],
            "schema": [
                {**row, "unit_said": "" if row["unit"] is None else f"{row['unit']:g}"}
                for row in summary["provenance"]["schema"]
            ],
        },
    }


def _policy(script: str) -> str:
    """Allow this page its own style and this one script, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def _range(row: Plain) -> Plain | None:
    """Place a share and its interval on a track of 100 per cent."""
    if row["value"] is None or row["low"] is None:
        return None
    left, right = 100 * row["low"], 100 * row["high"]
    return {
        "left": f"{left:.2f}",
        "width": f"{right - left:.2f}",
        "at": f"{100 * row['value']:.2f}",
    }


def _person(row: Plain) -> Plain:
    others = row["alternatives"]
    return {
        **row,
        "bound": rounded_down(row["validity_bound"]),
        "others": counted(len(others), "other way", "other ways"),
        "alternatives": [{**other, "said": _said(other)} for other in others],
    }


def _said(other: Plain) -> str:
    """Say in one line how an alternative fares."""
    parts = [other["outcome"], f"cost {number(other['cost'])}", f"score {number(other['score'])}"]
    if other["accepting"] is not None:
        parts.append(f"accepted by {counted(other['accepting'], 'retrained model')}")
    return ", ".join(parts)

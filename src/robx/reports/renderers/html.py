"""The summary as one page: templates, style and script are put together into one text.

Templates only place what they are given. `_view` prepares what the page shows in another form than
the summary.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from robx.answers.notebook import isolated
from robx.metrics import percent
from robx.reports.figures import counted, number, rounded_down
from robx.reports.outcomes import outcome_of
from robx.reports.renderers.pictures import drawn
from robx.reports.settings import extra
from robx.reports.summary import PARTS

Plain = dict[str, Any]

HERE = Path(__file__).parent
#: How many names to print of those who have no row on paper.
MOST_NAMES = 60
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
    made.filters.update(
        number=number,
        shortly=lambda value: "" if value is None else f"{value:g}",
        isolated=lambda change: Markup(isolated(change)),  # noqa: S704 - escaped there
    )
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
        "parts": [{"id": name, "title": PARTS[name]} for name in parts],
        "version": versions.get("robx"),
        "outcomes": [
            {**row, "tone": outcome_of(row["status"]).tone, "people_said": f"{row['people']:,}"}
            for row in summary["outcomes"]
        ],
        "validity": [{**row, "range": _range(row)} for row in summary["validity"]],
        "pictures": pictures,
        "applicants": [_person(row) for row in summary["applicants"]],
        "accepted": _accepted(summary["applicants"]),
        "privacy": {**summary["privacy"], "rows": _shared(summary["privacy"]["crowds"])},
        "provenance": {**summary["provenance"], "extra": extra(summary["provenance"]["schema"])},
    }


def _shared(crowds: list[Plain]) -> list[Plain]:
    return [{**row, "said": f"{row['answers']:,}", "part": percent(row["share"])} for row in crowds]


def _policy(script: str) -> str:
    """Allow the page its own style and this one script, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def _range(row: Plain) -> Plain | None:
    """Place a share and its interval on a scale from 0 to 100%."""
    if row["value"] is None or row["low"] is None:
        return None
    places = {"left": row["low"], "width": row["high"] - row["low"], "at": row["value"]}
    return {name: f"{100 * share:.2f}" for name, share in places.items()}


def _person(row: Plain) -> Plain:
    return {
        **row,
        "bound": rounded_down(row["validity_bound"]),
        "others": counted(len(row["alternatives"]), "alternative"),
    }


def _accepted(rows: list[Plain]) -> Plain | None:
    """Name those who are accepted already, who have no rows on paper."""
    names = [row["applicant"] for row in rows if row["status"] == "already accepted"]
    if not names:
        return None
    more = len(names) - MOST_NAMES
    return {
        "said": f"Already accepted, and not listed here: {counted(len(names), 'applicant')}",
        "names": names[:MOST_NAMES],
        "rest": f" and {more:,} more" if more > 0 else "",
    }

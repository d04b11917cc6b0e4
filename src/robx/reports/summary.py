"""One summary of plain values, from which the page, the JSON and the Markdown are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from robx.answers import Counterfactuals
from robx.promises import Check
from robx.reports.applicants import about_rows, applicant_rows, asked_of_people
from robx.reports.headline import headline
from robx.reports.limits import limits
from robx.reports.outcomes import outcomes, reasons
from robx.reports.pictures import picture_tables
from robx.reports.privacy import privacy
from robx.reports.settings import chosen, provenance
from robx.reports.validity import about_validity, validity

FORMAT = 3
#: Parts of a report in order, which are also the names of templates, and their titles.
PARTS = {
    "outcomes": "Outcomes",
    "validity": "Reliability",
    "pictures": "What the answers ask for",
    "applicants": "Applicants",
    "settings": "Settings and reasons",
    "privacy": "Privacy",
    "limits": "Limits",
    "provenance": "Provenance",
}


def summarize(
    answers: Counterfactuals,
    checks: Sequence[Check],
    evaluation: Any,
    stability: Any,
    title: str,
    date: str | None,
) -> dict[str, Any]:
    """Gather everything that a report says, as values that JSON has.

    Parameters are those of `robx.report`, checked.
    """
    ended = outcomes(answers)
    sure = validity(answers, checks, evaluation)
    certificate = answers.certificate
    n_models = None if certificate is None else certificate.n_models
    counts = {row["status"]: row["people"] for row in ended}
    return {
        "robx_report": FORMAT,
        "title": title,
        "date": date,
        "headline": headline(answers, counts, sure),
        "outcomes": ended,
        "reasons": reasons(answers),
        "asked": asked_of_people(answers),
        "validity": sure,
        "about_validity": about_validity(answers, sure, evaluation),
        "pictures": picture_tables(answers, evaluation, stability),
        "n_models": n_models,
        "confidence": None if certificate is None else certificate.confidence,
        "n_checks": len(checks),
        "applicants": applicant_rows(answers, checks),
        "about_applicants": about_rows(answers),
        "settings": chosen(answers),
        "privacy": privacy(answers),
        "limits": limits(answers),
        "provenance": provenance(answers, checks),
    }

"""`report`: the answers for all applicants, to be read, shown and filed."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from robx.answers import Counterfactuals
from robx.errors import InvalidInput
from robx.files import atomically
from robx.parameters import check_table, require
from robx.promises import Check
from robx.reports.summary import summarize

TITLE = "Recourse report"
EVALUATION = ["method", "scenario", "seed", "metric", "value", "low", "high"]


@dataclass(frozen=True, eq=False)
class Report:
    """A report as a page, as Markdown and as JSON; see `robx.report`.

    Parameters
    ----------
    summary : dict
        Everything that the report says, as plain values, from which all three are made.
    """

    summary: dict[str, Any] = field(repr=False)

    @cached_property
    def html(self) -> str:
        """One page that needs no other file and no network."""
        from robx.reports.renderers.html import as_html  # noqa: PLC0415 - loads matplotlib

        return as_html(self.summary)

    @cached_property
    def markdown(self) -> str:
        """Text with tables as GitHub shows them, without pictures."""
        from robx.reports.renderers.markdown import as_markdown  # noqa: PLC0415 - as for html

        return as_markdown(self.summary)

    @cached_property
    def json(self) -> str:
        """The summary as JSON."""
        return json.dumps(self.summary, ensure_ascii=False, allow_nan=False, indent=1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a `.html`, `.md` or `.json` file."""
        file = Path(path)
        forms = {".html": "html", ".md": "markdown", ".json": "json"}
        if file.suffix.lower() not in forms:
            raise InvalidInput(f"A report is saved as .html, .md or .json. Got '{file.name}'.")
        text: str = getattr(self, forms[file.suffix.lower()])
        with atomically(file) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.summary['headline']['lead'])}</p>"

    def __repr__(self) -> str:
        return f"<Report: {self.summary['headline']['lead']}>"


def report(
    answers: Counterfactuals,
    *,
    checks: Sequence[Check] = (),
    evaluation: pd.DataFrame | None = None,
    stability: pd.DataFrame | None = None,
    title: str | None = None,
    date: str | None = None,
) -> Report:
    """Make a report of answers, for those who decide about them and those who validate them.

    Parameters
    ----------
    answers : Counterfactuals
    checks : sequence of Check
        Results of `robx.check` for new models.
    evaluation : DataFrame, optional
        Result of `robx.evaluate`, for the validity in trials and the cost of robustness.
    stability : DataFrame, optional
        Result of `robx.plots.stability_table` for the training rows, to show where tau lies.
    title : str, optional
    date : str, optional
        Shown below the title. No clock is read: the same answers make the same report.

    Returns
    -------
    Report
        With ``summary``, ``html``, ``markdown``, ``json`` and ``save(path)``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from robx import NearestNeighbour, Problem
    >>> X = np.random.default_rng(0).random((300, 2)).round(2)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, X[:, 0] > 0.5)
    >>> answers = NearestNeighbour().explain(Problem(forest, X), [[0.2, 0.5], [0.9, 0.5]])
    >>> report(answers)
    <Report: The model declines 1 of 2 applicants. For them a change was found that gets them
    accepted.>
    """
    if not isinstance(answers, Counterfactuals):
        raise InvalidInput(
            "report takes answers, as robx.explain returns or Counterfactuals.load reads them. Got "
            f"{type(answers).__name__}."
        )
    listed = isinstance(checks, list | tuple) and all(isinstance(one, Check) for one in checks)
    require(listed, checks, "checks", "report", "a list of results of robx.check")
    for check in checks:
        _check_fits(check, answers)
    for table, needed, maker in (
        (evaluation, EVALUATION, "robx.evaluate"),
        (stability, ["score", "mean", "stability"], "robx.plots.stability_table"),
    ):
        if table is not None:
            check_table(table, needed, "report", maker)
    for name, text in (("title", title), ("date", date)):
        require(text is None or isinstance(text, str), text, name, "report", "text, or None")
    return Report(summarize(answers, checks, evaluation, stability, title or TITLE, date))


def _check_fits(check: Check, answers: Counterfactuals) -> None:
    """Refuse a check of other answers."""
    same = len(check) == len(answers) and list(check.status) == list(answers.status)
    if not same:
        raise InvalidInput(
            f"A check of {len(check)} rows does not fit these {len(answers)} answers: number and "
            "status of the rows must be the same. Check these answers: robx.check(answers, model)."
        )

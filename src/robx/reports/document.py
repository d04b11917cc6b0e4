"""`report`: what came of all applicants, to be read, shown and filed."""

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
from robx.parameters import require
from robx.promises import Check
from robx.reports.summary import summarize

TITLE = "Recourse report"
#: What a table must have, by the parameter that takes it.
COLUMNS = {
    "evaluation": (
        ["method", "scenario", "seed", "metric", "value", "low", "high"],
        "robx.evaluate",
    ),
    "stability": (["score", "mean", "stability"], "robx.plots.stability_table"),
}


@dataclass(frozen=True, eq=False)
class Report:
    """A report, in the form that is asked for; see `robx.report`.

    Parameters
    ----------
    summary : dict
        Everything that it says, as plain values: the page, the JSON and the Markdown are made of
        this alone.
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
        if file.suffix not in forms:
            raise InvalidInput(f"A report is saved as .html, .md or .json. Got '{file.name}'.")
        text: str = getattr(self, forms[file.suffix])
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
    """Make a report of answers: for those who decide about them, and those who validate them.

    Parameters
    ----------
    answers : Counterfactuals
    checks : sequence of Check
        What `robx.check` says of new models.
    evaluation : DataFrame, optional
        What `robx.evaluate` gives, for the validity in trials and the price of robustness.
    stability : DataFrame, optional
        What `robx.plots.stability_table` gives for training rows, to show where tau lies.
    title : str, optional
    date : str, optional
        Shown below the title as it is. No clock is read: the same answers make the same report.

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
            "report takes the answers that robx.explain gives, or Counterfactuals.load reads. Got "
            f"{type(answers).__name__}."
        )
    listed = isinstance(checks, list | tuple) and all(isinstance(one, Check) for one in checks)
    require(listed, checks, "checks", "report", "a list of what robx.check gives")
    for check in checks:
        _check_fits(check, answers)
    for name, table in (("evaluation", evaluation), ("stability", stability)):
        _check_table(name, table)
    for name, text in (("title", title), ("date", date)):
        require(text is None or isinstance(text, str), text, name, "report", "text, or None")
    return Report(summarize(answers, checks, evaluation, stability, title or TITLE, date))


def _check_fits(check: Check, answers: Counterfactuals) -> None:
    """Refuse a check of other answers."""
    same = len(check) == len(answers) and list(check.status) == list(answers.status)
    if not same:
        raise InvalidInput(
            f"A check of {len(check)} rows does not fit these {len(answers)} answers, which must "
            "end as its own do. Make it of these: robx.check(answers, model)."
        )


def _check_table(name: str, table: Any) -> None:
    """Refuse a table of another shape."""
    if table is None:
        return
    columns, maker = COLUMNS[name]
    have = list(table.columns) if isinstance(table, pd.DataFrame) else []
    missing = [column for column in columns if column not in have]
    if missing:
        came = ", ".join(map(str, have)) or type(table).__name__
        raise InvalidInput(
            f"The '{name}' parameter of report must be a table as {maker} gives it, with columns "
            f"{', '.join(columns)}. Missing: {', '.join(missing)}. Got: {came}."
        )

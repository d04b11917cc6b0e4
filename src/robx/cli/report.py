"""`robx report`: answers as a page to show around."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import robx
from robx.cli.columns import features_of
from robx.cli.inputs import model_file
from robx.cli.options import FILE, HELP, takes
from robx.cli.outputs import NewFile, WritingCommand
from robx.cli.screen import listed, write
from robx.errors import InvalidInput


@click.command(
    cls=WritingCommand, short_help="Make a report of the answers: a page, Markdown or JSON."
)
@click.argument("recourse", type=FILE)
@click.option(
    "--out",
    type=NewFile(".html", ".md", ".json"),
    required=True,
    help="File for the report: .html, .md or .json.",
)
@click.option("--title", help="Title of the report.")
@click.option(
    "--new-model",
    "new_models",
    type=FILE,
    multiple=True,
    help="Model file of a newer model: the report says which promises it keeps. Repeat the option "
    "for each model.",
)
@click.option(
    "--model",
    "model_path",
    type=FILE,
    help=f"{HELP['model']} With --data, for a plot.",
)
@click.option(
    "--data", type=FILE, help="Table of the rows that the model was trained on, for the same plot."
)
@click.option("--evaluation", type=FILE, help="Table that `robx evaluate --out` wrote.")
@takes("unsafe_pickle", "quiet")
def report(
    recourse: str,
    out: str,
    title: str | None,
    new_models: tuple[str, ...],
    model_path: str | None,
    data: str | None,
    evaluation: str | None,
    unsafe_pickle: bool,
    quiet: bool,
) -> None:
    """Make a report of RECOURSE, a .json or .parquet file that `robx explain` wrote.

    The report is one file that needs no network: the figures, the settings and the reasons for
    them, plots, and a table of all applicants that can be searched.

    \b
    Examples
      robx report recourse.json --out report.html
      robx report recourse.json --new-model march.ubj --out report.html
      robx report recourse.json --model model.ubj --data train.csv --out report.md
    """
    from robx.answers.origin import utc_date
    from robx.files import read_table

    answers = robx.Counterfactuals.load(recourse)
    made = robx.report(
        answers,
        checks=[_checked(answers, path, utc_date(), unsafe_pickle) for path in new_models],
        evaluation=None if evaluation is None else read_table(evaluation, only_blanks_missing=True),
        stability=_stability(answers, model_path, data, unsafe_pickle),
        title=title,
        date=utc_date(),
    )
    write(made.save, out, quiet=quiet)


def _checked(answers: Any, path: str, date: str, unsafe_pickle: bool) -> Any:
    """Check the answers with a newer model, which goes by the name of its file."""
    model = model_file(path, unsafe_pickle=unsafe_pickle).model
    found = robx.check(answers, model, date=date)
    return replace(found, model={**found.model, "file": Path(path).name})


def _stability(answers: Any, model_path: str | None, data: str | None, unsafe_pickle: bool) -> Any:
    """Measure the stability of the training rows, for a plot."""
    if (model_path is None) != (data is None):
        raise InvalidInput("--model and --data go together: the plot needs both.")
    if model_path is None or data is None:
        return None
    from robx.files import read_table

    file = model_file(model_path, unsafe_pickle=unsafe_pickle)
    target, threshold = answers.origin.get("target"), answers.origin.get("threshold", 0.5)
    rows, names = read_table(data), list(answers.schema.names)
    lacking = [name for name in names if name not in rows.columns]
    if lacking:
        raise InvalidInput(
            f"'{data}' lacks columns that the answers have: {listed(lacking)}. --data takes the "
            "table that the model was trained on."
        )
    file.sources = lambda: (rows[names],)
    features, _ = features_of(rows[names], data, file.imported(target))
    problem = robx.Problem(file.model, features, answers.schema, target, threshold)
    return robx.plots.stability_table(problem, features)

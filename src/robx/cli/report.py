"""`robx report`: answers as a page to show around."""

from __future__ import annotations

from typing import Any

import click

import robx
from robx.cli.features import features_of
from robx.cli.inputs import check_out, load_models
from robx.cli.options import FILE, MODEL_HELP, takes
from robx.cli.screen import wrote
from robx.cli.words import listed
from robx.errors import InvalidInput


@click.command(short_help="Make a page, or Markdown, of the answers.")
@click.argument("recourse", type=FILE)
@click.option("--out", type=FILE, required=True, help="File to write: .html, .md or .json.")
@click.option("--title", help="Headline of the report.")
@click.option(
    "--new-model",
    "new_models",
    type=FILE,
    multiple=True,
    help="A model that came later, to see which promises it keeps; once for each.",
)
@click.option("--model", "model_path", type=FILE, help=f"{MODEL_HELP} With --data, for a plot.")
@click.option("--data", type=FILE, help="What it was trained on, for a plot of its stability.")
@click.option("--evaluation", type=FILE, help="A table that `robx evaluate --out` has written.")
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
    """Make a report of RECOURSE, a .json or .parquet file of `robx explain`.

    One file that needs no network: the figures, the settings and why, plots, and a table of all
    applicants that can be searched.

    \b
    Examples
      robx report recourse.json --out report.html
      robx report recourse.json --new-model march.ubj --out report.html
      robx report recourse.json --model model.ubj --data train.csv --out report.md
    """
    from robx.files import read_table

    check_out(out, (".html", ".md", ".json"))
    answers = robx.Counterfactuals.load(recourse)
    later = load_models(new_models, unsafe_pickle=unsafe_pickle)
    made = robx.report(
        answers,
        checks=[robx.check(answers, model) for model in later],
        evaluation=None if evaluation is None else read_table(evaluation),
        stability=_stability(answers, model_path, data, unsafe_pickle),
        title=title,
    )
    made.save(out)
    wrote(out, quiet=quiet)


def _stability(answers: Any, model_path: str | None, data: str | None, unsafe_pickle: bool) -> Any:
    """Stabilities of the training rows, for a plot."""
    if (model_path is None) != (data is None):
        raise InvalidInput("--model and --data go together: the plot needs both.")
    if model_path is None or data is None:
        return None
    from robx.files import read_table

    (model,) = load_models([model_path], unsafe_pickle=unsafe_pickle)
    target, threshold = answers.origin.get("target"), answers.origin.get("threshold", 0.5)
    rows = read_table(data)
    lacking = [name for name in answers.schema.names if name not in rows.columns]
    if lacking:
        raise InvalidInput(
            f"'{data}' lacks columns that the answers have: {listed(lacking)}. --data takes what "
            "the model was trained on."
        )
    features, _ = features_of(
        rows[list(answers.schema.names)], data, robx.import_model(model, target)
    )
    problem = robx.Problem(model, features, answers.schema, target, threshold)
    return robx.plots.stability_table(problem, features)

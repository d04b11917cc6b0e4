"""`robx explain`: recourse for the applicants in a file."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import robx
from robx.cli.fitting import (
    check_retrained,
    fitted,
    method_options,
    model_options,
    promise_options,
)
from robx.cli.inputs import Inputs, with_inputs
from robx.cli.options import FILE, POSITIVE, takes
from robx.cli.outputs import NewFile, WritingCommand
from robx.cli.screen import remark, show_json, show_table, shows_progress, write
from robx.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from robx import Counterfactuals, Explainer, Problem

#: Parameters that go with an explainer's file; all others are for fitting.
WITH_FILE = frozenset(
    ("explainer_path", "people_path", "applicants", "id_column", "n_answers", "out", "as_json")
) | {"quiet", "force", "help"}
FORMATS = {"cost": ".2f", "score": ".2f", "stability": ".2f", "validity_bound": ".1%"}


@click.command(cls=WritingCommand, short_help="Tell declined applicants what to change.")
@click.argument("explainer_path", metavar="[FILE", type=FILE, required=False)
@click.argument("people_path", metavar="APPLICANTS]", type=FILE, required=False)
@takes("model", "data", "label", "schema", "applicants", optional=True)
@click.option(
    "--out",
    type=NewFile(".json", ".parquet", ".csv"),
    help="File for the answers: .json or .parquet for everything, .csv for the table.",
)
@promise_options
@method_options
@click.option(
    "--answers",
    "n_answers",
    type=POSITIVE,
    default=1,
    help="Number of different answers to look for.",
)
@model_options
@takes("json")
@with_inputs
def explain(
    inputs: Inputs,
    explainer_path: str | None,
    people_path: str | None,
    applicants: str | None,
    out: str | None,
    n_answers: int,
    as_json: bool,
    **settings: Any,
) -> None:
    """Tell declined applicants what to change, so that it holds after a retraining.

    FILE is an explainer that `robx fit` wrote, and APPLICANTS a table, .csv or .parquet. Without
    them, an explainer is fitted from --model and --data, asked about --applicants, and not kept.

    With --label, or with six or more models in --retrained, every answer is certified. The outcome
    that applicants want is 1, or the second of two classes, unless --target names another one; the
    command says which it takes, and asks if labels do not tell.

    \b
    Examples
      robx explain credit.robx declined.csv --id id --out recourse.json
      robx explain --model model.ubj --params params.yaml --data train.csv --label good \\
          --applicants declined.csv --id id --schema schema.yaml --out recourse.json
      robx explain --model model.txt --data train.csv --label default --target 0 \\
          --applicants declined.csv --method robx --tau 0.7 --out recourse.csv
      robx explain --model model.skops --data train.csv --label good \\
          --applicants declined.csv --max-changes 2 --answers 3 --json
    """
    ctx = click.get_current_context()
    if explainer_path is not None:
        if people_path is not None and applicants is not None:
            raise click.UsageError(
                f"Name the applicants once: '{people_path}', or --applicants {applicants}.", ctx
            )
        explainer, people = _kept(ctx, inputs, explainer_path, people_path or applicants, out)
    else:
        for needed in ("model_path", "data", "applicants"):
            _require(ctx, needed)
        check_retrained(inputs, settings["retrained"])
        people = _people(inputs, str(applicants), out)
        explainer = fitted(inputs, people, **settings)
    with warnings.catch_warnings():  # that all are accepted was said above
        warnings.simplefilter("ignore", robx.WrongWayRound)
        shown = shows_progress(inputs.quiet)
        answer = explainer.explain(people, n_answers=n_answers, progress=shown).dated()
    _refuse_unreached(answer, settings["tau"])
    write(answer.save, out, quiet=inputs.quiet)
    _show(answer, as_json=as_json, out=out, quiet=inputs.quiet)


def _kept(
    ctx: click.Context, inputs: Inputs, path: str, applicants: str | None, out: str | None
) -> tuple[Explainer, pd.DataFrame]:
    """Load an explainer, and read the applicants; an option of fitting comes too late."""
    from robx.cli.outcome import is_warning, stated_again

    for param in ctx.command.params:
        if param.name not in WITH_FILE and _is_given(ctx, str(param.name)):
            raise InvalidInput(
                f"{param.opts[0]} is for fitting, and '{path}' is fitted already. Leave it out, or "
                "fit another explainer with `robx fit`."
            )
    if applicants is None:
        raise click.UsageError(
            "Name a table of applicants behind the explainer, as in `robx explain credit.robx "
            "declined.csv`.",
            ctx,
        )
    explainer = robx.Explainer.load(path)
    problem = explainer.problem
    people = _people(inputs, applicants, out, problem)
    wanted = str(explainer.describe()["wanted"])
    line = stated_again(wanted, problem.model, people, problem.threshold)
    remark(line, quiet=inputs.quiet and not is_warning(line))
    if explainer.promise is not None:
        remark(str(explainer.promise), quiet=inputs.quiet)
    return explainer, people


def _people(
    inputs: Inputs, path: str, out: str | None, problem: Problem | None = None
) -> pd.DataFrame:
    """Read the applicants, and refuse a file for their answers that these cannot be saved to."""
    from robx.answers.files import check_path

    people = inputs.people(path, problem)
    if out is not None:
        check_path(out, [str(name) for name in people.columns])
    return people


def _is_given(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _require(ctx: click.Context, name: str) -> None:
    """Ask for an option as click does."""
    if ctx.params[name] is None:
        param = next(one for one in ctx.command.params if one.name == name)
        raise click.MissingParameter(ctx=ctx, param=param)


def _refuse_unreached(answer: Counterfactuals, tau: float | None) -> None:
    """Refuse a tau that no answer reaches: it is a mistake rather than a result."""
    best = answer.stability[answer.answered]
    if tau is not None and len(best) and not answer.ok.any():
        raise InvalidInput(
            f"No answer reaches --tau {tau:g}: the most stable point that was found has a "
            f"stability of {best.max():.3g}. Choose a lower tau; `robx tau` shows what is reached."
        )


def _show(answer: Counterfactuals, *, as_json: bool, out: str | None, quiet: bool) -> None:
    table = answer.summary.rename_axis("applicant").reset_index()
    counts = {str(name): int(n) for name, n in table["status"].value_counts().items()}
    holds_all = out is not None and out.lower().endswith(".json")
    if answer.alternatives and not as_json and not holds_all:
        remark("Only the first answers are here: a .json file (--out) holds all.", quiet=quiet)
    if as_json:
        records = table.to_dict("records")
        for other in answer.alternatives:
            lines = other.summary.drop(columns="reason").to_dict("records")
            for record, line, answered in zip(records, lines, other.answered, strict=True):
                record.setdefault("alternatives", []).extend([line] if answered else [])
        show_json({"method": answer.method, "counts": counts, "applicants": records})
    elif out is not None:
        click.echo(f"{answer}")
        first = next(iter(answer.ok.nonzero()[0]), None)
        if first is not None:
            click.echo(
                f"Example, applicant {table['applicant'][first]}: {answer.words(int(first))}"
            )
    else:
        columns = ["applicant", "status", "cost", "score", "stability", "validity_bound", "changes"]
        show_table(table[[name for name in columns if name in table]], FORMATS)

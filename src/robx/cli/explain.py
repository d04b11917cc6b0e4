"""`robx explain`: recourse for the applicants in a file."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import click

import robx
from robx.cli.inputs import Inputs, load_models, made_method, with_inputs
from robx.cli.options import POSITIVE, MethodName, number_of_models, takes
from robx.cli.outputs import NewFile, WritingCommand
from robx.cli.screen import remark, show_json, show_table, shows_progress, write
from robx.errors import InvalidInput

if TYPE_CHECKING:
    from robx import Counterfactuals

MIN_MODELS = 6
FORMATS = {"cost": ".2f", "score": ".2f", "stability": ".2f", "validity_bound": ".1%"}


@click.command(cls=WritingCommand, short_help="Tell declined applicants what to change.")
@takes("model", "data", "label", "schema", "applicants")
@click.option(
    "--out",
    type=NewFile(".json", ".parquet", ".csv"),
    help="File for the answers: .json or .parquet for everything, .csv for the table.",
)
@click.option(
    "--method",
    type=MethodName(),
    default="frugal",
    help="Method that finds the answers; RobX is the paper's algorithm.",
)
@click.option("--tau", type=float, help="Minimum stability, for RobX and conservative.")
@click.option(
    "--level", type=click.FloatRange(0, 1), help="How robust answers must be, 0 to 1, for Frugal."
)
@click.option(
    "--max-changes", type=POSITIVE, help="Maximum number of features to change, for Frugal."
)
@click.option(
    "--price-per-change",
    type=click.FloatRange(0),
    help="What each changed feature costs on top of how far it moves, for Frugal.",
)
@click.option("--norm", type=click.Choice(["1", "2"]), help="Norm of the cost: L1 (default) or L2.")
@click.option(
    "--answers",
    "n_answers",
    type=POSITIVE,
    default=1,
    help="Number of different answers to look for.",
)
@number_of_models(48, MIN_MODELS, "Number of models to train with --label.")
@takes("retrained", "seed", "json")
@with_inputs
def explain(
    inputs: Inputs,
    applicants: str,
    out: str | None,
    method: str,
    n_answers: int,
    n_models: int,
    retrained: tuple[str, ...],
    seed: int,
    as_json: bool,
    **parameters: Any,
) -> None:
    """Tell declined applicants what to change, so that it holds after a retraining.

    With --label, or with six or more models in --retrained, every answer is certified. The outcome
    that applicants want is 1, or the second of two classes, unless --target names another one; the
    command says which it takes, and asks if labels do not tell.

    \b
    Examples
      robx explain --model model.ubj --params params.yaml --data train.csv --label good \\
          --applicants declined.csv --id id --schema schema.yaml --out recourse.json
      robx explain --model model.txt --data train.csv --label default --target 0 \\
          --applicants declined.csv --method robx --tau 0.7 --out recourse.csv
      robx explain --model model.skops --data train.csv --label good \\
          --applicants declined.csv --max-changes 2 --answers 3 --json
    """
    from robx.answers.files import check_path

    if retrained and (inputs.label is not None or len(retrained) < MIN_MODELS):
        raise InvalidInput(
            f"--retrained is used instead of --label, and at least {MIN_MODELS} times. Got "
            f"{len(retrained)}{' and --label' if inputs.label else ''}."
        )
    people = inputs.people(applicants)
    if out is not None:
        check_path(out, [str(name) for name in people.columns])
    parameters["norm"] = None if parameters["norm"] is None else int(parameters["norm"])
    chosen = made_method(method, parameters)
    given = {name: value for name, value in parameters.items() if value is not None}
    later = load_models(retrained, unsafe_pickle=inputs.unsafe_pickle)
    labels = inputs.y
    inputs.state_wanted(people)
    answer = _explained(
        inputs.model,
        inputs.X,
        people,
        y_train=labels,
        estimator=inputs.estimator,
        models=later or None,
        schema=inputs.schema,
        target=inputs.target,
        threshold=inputs.threshold,
        n_answers=n_answers,
        n_models=n_models,
        seed=seed,
        progress=shows_progress(inputs.quiet),
        **(given if method == "frugal" else {"method": chosen}),
    )
    answer = _noted(answer, inputs)
    _refuse_unreached(answer, parameters["tau"])
    write(answer.save, out, quiet=inputs.quiet)
    _show(answer, as_json=as_json, is_written=out is not None, quiet=inputs.quiet)


def _explained(*given: Any, **parameters: Any) -> Counterfactuals:
    """Call the library, whose warning about the target the command has said in its own way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", robx.WrongWayRound)
        return robx.explain(*given, **parameters)


def _noted(answer: Counterfactuals, inputs: Inputs) -> Counterfactuals:
    """Note when answers are issued, for which outcome, and how the model was trained again."""
    notes = {"wanted": inputs.wanted.said}
    if inputs.recipe is not None:
        notes["trained_again"] = inputs.recipe.words
    return answer.noted(**notes).dated()


def _refuse_unreached(answer: Counterfactuals, tau: float | None) -> None:
    """Refuse a tau that no answer reaches: it is a mistake rather than a result."""
    best = answer.stability[answer.answered]
    if tau is not None and len(best) and not answer.ok.any():
        raise InvalidInput(
            f"No answer reaches --tau {tau:g}: the most stable point that was found has a "
            f"stability of {best.max():.3g}. Choose a lower tau; `robx tau` shows what is reached."
        )


def _show(answer: Counterfactuals, *, as_json: bool, is_written: bool, quiet: bool) -> None:
    table = answer.summary.rename_axis("applicant").reset_index()
    counts = {str(name): int(n) for name, n in table["status"].value_counts().items()}
    if answer.alternatives and not as_json:
        remark("Only the first answers are shown: --out saves them all, as .json.", quiet=quiet)
    if as_json:
        records = table.to_dict("records")
        for other in answer.alternatives:
            lines = other.summary.drop(columns="reason").to_dict("records")
            for record, line, answered in zip(records, lines, other.answered, strict=True):
                record.setdefault("alternatives", []).extend([line] if answered else [])
        show_json({"method": answer.method, "counts": counts, "applicants": records})
    elif is_written:
        click.echo(f"{answer}")
        first = next(iter(answer.ok.nonzero()[0]), None)
        if first is not None:
            click.echo(
                f"Example, applicant {table['applicant'][first]}: {answer.words(int(first))}"
            )
    else:
        columns = ["applicant", "status", "cost", "score", "stability", "validity_bound", "changes"]
        show_table(table[[name for name in columns if name in table]], FORMATS)

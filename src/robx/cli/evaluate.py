"""`robx evaluate`: how many answers still hold after the model changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import robx
from robx.cli.inputs import Inputs, made_method, with_inputs
from robx.cli.options import FILE, METHODS, POSITIVE, MethodName, number_of_models, takes
from robx.cli.outputs import WritingCommand
from robx.cli.screen import show_records, shows_progress, write_table
from robx.errors import InvalidInput

if TYPE_CHECKING:
    from robx import Rehearsal

SHOWN = ("coverage", "validity", "worst_model_validity", "cost_l1", "n_changes", "lof", "seconds")
SHARES = ("coverage", "validity", "low", "high", "worst_model_validity")
FORMATS = {"cost_l1": ".2f", "n_changes": ".1f", "lof": ".2f", "seconds": ".3f"}
FORMATS |= dict.fromkeys(SHARES, ".1%")
#: How many models, trained on a base model's own rows, Frugal searches with.
N_SEARCHING = 16
#: How the model may change, by the names of `robx.scenarios` and what they take.
CHANGES: dict[str, tuple[Any, ...]] = {
    "other-half": ("OtherHalf",),
    "bootstrap": ("Bootstrap",),
    "drop-rows": ("DropRows", 10),
    "new-seed": ("NewSeed",),
}


@click.command(cls=WritingCommand, short_help="Compare methods after the model has changed.")
@takes("model", "data", "needed_label", "schema")
@click.option(
    "--method",
    "methods",
    type=MethodName(),
    multiple=True,
    default=("nearest", "robx", "frugal"),
    help="Method to compare. Repeat the option for each method.",
)
@click.option(
    "--change",
    "changes",
    type=click.Choice(list(CHANGES)),
    multiple=True,
    default=("other-half", "drop-rows"),
    help="How new models differ: trained on the other half of the rows, on a bootstrap sample of "
    "them, on ten rows less, or with another seed. Repeat the option for each change.",
)
@click.option("--seeds", type=POSITIVE, default=3, help="Number of base models.")
@number_of_models(10, 1, "Number of new models for each base model and change.")
@click.option("--most", type=POSITIVE, help="Maximum number of applicants for a base model.")
@takes("out_table")
@click.option(
    "--log", type=FILE, help="File that records progress, .jsonl: a stopped run continues from it."
)
@click.option(
    "--key",
    default="",
    help="Text that tells this run from others with the same --log: change it after a change of "
    "code or data that the log cannot notice.",
)
@takes("json")
@with_inputs
def evaluate(
    inputs: Inputs,
    methods: tuple[str, ...],
    changes: tuple[str, ...],
    seeds: int,
    n_models: int,
    most: int | None,
    out: str | None,
    log: str | None,
    key: str,
    as_json: bool,
) -> None:
    """Measure how many answers of each method still hold after the model changes.

    Base models like the one in the file are trained on a part of --data. Each method answers the
    applicants whom they decline in the other part. Then new models are trained, and score the
    answers.

    \b
    Examples
      robx evaluate --model model.ubj --params params.yaml --data train.csv --label good
      robx evaluate --model model.txt --data train.csv --label good \\
          --method robx --method frugal --change other-half --seeds 5 --out table.csv
      robx evaluate --model model.txt --data train.csv --label good --log run.jsonl --key v2
    """
    if key and log is None:
        raise InvalidInput("--key is for --log, which names the file that records progress.")
    inputs.wanted.refuse_bad()
    study = robx.Study(
        inputs.estimator,
        inputs.X,
        inputs.y,
        schema=inputs.schema,
        target=inputs.target,
        threshold=inputs.threshold,
        max_applicants=most,
    )
    table = robx.evaluate(
        study,
        {METHODS[n]: _with_models if n == "frugal" else made_method(n, {}) for n in methods},
        {name: getattr(robx.scenarios, CHANGES[name][0])(*CHANGES[name][1:]) for name in changes},
        seeds=seeds,
        n_models=n_models,
        log=log,
        key=key,
        progress=shows_progress(inputs.quiet),
    )
    write_table(table, out, quiet=inputs.quiet)
    show_records(overview(table), FORMATS, as_json=as_json)


def _with_models(rehearsal: Rehearsal) -> Any:
    """Make the method that `robx.explain` uses with labels."""
    return robx.Frugal(models=rehearsal.retrainings(N_SEARCHING))


def overview(table: Any) -> Any:
    """Give a line for each change and method, over all base models."""
    whole = table[table["seed"] == "all"]
    keys = ["scenario", "method"]
    lines = whole.pivot_table("value", keys, "metric", sort=False)[list(SHOWN)]
    ends = whole[whole["metric"] == "validity"].set_index(keys)[["low", "high"]]
    lines.insert(2, "low", ends["low"])
    lines.insert(3, "high", ends["high"])
    return lines.reset_index()

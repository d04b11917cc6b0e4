"""`robx evaluate`: what would still be honoured after the model changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import robx
from robx.cli.inputs import TABLES, Inputs, check_out, made_method, with_inputs
from robx.cli.options import FILE, METHODS, takes
from robx.cli.screen import show_json, show_table, shows_progress, wrote

if TYPE_CHECKING:
    from robx import Rehearsal

SHOWN = ("coverage", "validity", "worst_model_validity", "cost_l1", "n_changes", "lof", "seconds")
SHARES = ("coverage", "validity", "low", "high", "worst_model_validity")
FORMATS = {"cost_l1": ".2f", "n_changes": ".1f", "lof": ".2f", "seconds": ".3f"}
FORMATS |= dict.fromkeys(SHARES, ".1%")
#: Of the models that are trained from a base model's own rows, so many help to search.
N_SEARCHING = 16


#: How the model may change, by the names of `robx.scenarios` and what they take.
CHANGES: dict[str, tuple[str, tuple[int, ...]]] = {
    "other-half": ("OtherHalf", ()),
    "bootstrap": ("Bootstrap", ()),
    "drop-rows": ("DropRows", (10,)),
    "new-seed": ("NewSeed", ()),
}


@click.command(short_help="Compare methods after the model has changed.")
@takes("model", "data", "needed_label", "schema")
@click.option(
    "--method",
    "methods",
    type=click.Choice(list(METHODS)),
    multiple=True,
    default=("nearest", "robx", "default"),
    show_default=True,
    help="Once for each.",
)
@click.option(
    "--change",
    "changes",
    type=click.Choice(list(CHANGES)),
    multiple=True,
    default=("other-half", "drop-rows"),
    show_default=True,
    help="What new models are: trained on the other half of the rows, on a bootstrap of them, on "
    "ten less, or with another seed. Once for each.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="How many base models.",
)
@click.option(
    "--models",
    "n_models",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="New models for each base model and change.",
)
@click.option("--most", type=click.IntRange(min=1), help="Most applicants for a base model.")
@click.option("--out", type=FILE, help="File for the tidy table: .csv or .parquet.")
@click.option("--log", type=FILE, help="A .jsonl file: a stopped run goes on where it was.")
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
    as_json: bool,
) -> None:
    """Find out how much of what methods hand out is honoured after the model changes.

    Models like the one in the file are trained on parts of --data; each method answers those whom
    they decline among the rest; then new models are trained and asked about the answers.

    \b
    Examples
      robx evaluate --model model.ubj --params params.yaml --data train.csv --label good
      robx evaluate --model model.txt --data train.csv --label good \\
          --method robx --method default --change other-half --seeds 5 --out table.csv
    """
    from robx.files import write_table

    check_out(out, TABLES)
    study = robx.Study(
        inputs.estimator,
        inputs.X,
        inputs.y,
        schema=inputs.schema,
        target=inputs.wish,
        threshold=inputs.threshold,
        max_applicants=most,
    )
    table = robx.evaluate(
        study,
        {name: _with_models if name == "default" else made_method(name, {}) for name in methods},
        {name: _scenario(*CHANGES[name]) for name in changes},
        seeds=seeds,
        n_models=n_models,
        log=log,
        progress=shows_progress(inputs.quiet),
    )
    if out is not None:
        write_table(table, out)
        wrote(out, quiet=inputs.quiet)
    shown = overview(table)
    if as_json:
        show_json(shown.to_dict("records"))
    else:
        show_table(shown, FORMATS)


def _scenario(name: str, given: tuple[int, ...]) -> Any:
    return getattr(robx.scenarios, name)(*given)


def _with_models(rehearsal: Rehearsal) -> Any:
    """Give the method that `robx.explain` takes with labels."""
    return robx.Frugal(models=rehearsal.retrainings(N_SEARCHING))


def overview(table: Any) -> Any:
    """A line for each change and method, over all base models, of what `evaluate` found."""
    whole = table[table["seed"] == "all"]
    keys = ["scenario", "method"]
    lines = whole.pivot_table("value", keys, "metric", sort=False)[list(SHOWN)]
    ends = whole[whole["metric"] == "validity"].set_index(keys)[["low", "high"]]
    lines.insert(2, "low", ends["low"])
    lines.insert(3, "high", ends["high"])
    return lines.reset_index()

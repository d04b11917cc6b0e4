"""`robx tau`: how much stability to ask for."""

from __future__ import annotations

from typing import Any

import click

import robx
from robx.cli.inputs import Inputs, load_models, with_inputs
from robx.cli.options import FILE, number_of_models, takes
from robx.cli.outputs import WritingCommand
from robx.cli.screen import remark, show_json, show_table, write, write_table
from robx.errors import InvalidInput

SHARES = ("quantile", "passing", "validity", "worst_validity", "coverage")
FORMATS = {"tau": ".3f", "cost": ".2f", "n_changes": ".1f", **dict.fromkeys(SHARES, ".1%")}


@click.command(cls=WritingCommand, short_help="Choose the minimum stability for RobX.")
@takes("model", "data", "label", "schema")
@click.option("--applicants", type=FILE, help="Table of applicants for a sweep: .csv or .parquet.")
@takes("retrained")
@number_of_models(16, 1, "Number of models to train with --label.")
@click.option(
    "--validity",
    type=click.FloatRange(0, 1),
    default=0.97,
    help="Share of the answers that retrained models must accept.",
)
@takes("plot", "out_table", "seed", "json")
@with_inputs
def tau(
    inputs: Inputs,
    applicants: str | None,
    retrained: tuple[str, ...],
    n_models: int,
    validity: float,
    plot: str | None,
    out: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Choose tau, the minimum stability of an answer of RobX.

    Without --applicants, tau is a quantile of the stability of the accepted rows. With
    --applicants, and --label or --retrained, it is the result of a sweep: the smallest tau whose
    answers retrained models accept.

    \b
    Examples
      robx tau --model model.ubj --data train.csv
      robx tau --model model.ubj --data train.csv --label good --applicants declined.csv \\
          --plot tau.png
      robx tau --model model.ubj --data train.csv --applicants declined.csv \\
          --retrained jan.ubj --retrained feb.ubj --json
    """
    if applicants is None:
        choice = robx.choose_tau(inputs.problem)
        drawn: Any = robx.plots.stability_table(inputs.problem, inputs.X)
    else:
        later = _later(inputs, retrained, n_models, seed)
        people = inputs.people(applicants)
        choice = robx.choose_tau(inputs.problem, people, later, validity=validity)
        drawn = choice.table
    draw = robx.plots.histograms if applicants is None else robx.plots.tau_sweep
    write_table(choice.table, out, quiet=inputs.quiet)
    write(lambda path: robx.plots.save(draw(drawn, choice.tau), path), plot, quiet=inputs.quiet)
    if as_json:
        records = choice.table.to_dict("records")
        show_json({"tau": choice.tau, "reason": choice.reason, "table": records})
    else:
        remark(f"tau = {choice.tau:.4g}: {choice.reason}.", quiet=inputs.quiet)
        show_table(choice.table, FORMATS)


def _later(inputs: Inputs, retrained: tuple[str, ...], n_models: int, seed: int) -> list[Any]:
    """Give the models that judge the answers: given, or trained on random thirds of the rows."""
    if bool(retrained) == (inputs.y is not None):
        raise InvalidInput("A sweep needs retrained models: give --label or --retrained, not both.")
    if retrained:
        return load_models(retrained, unsafe_pickle=inputs.unsafe_pickle)
    return list(robx.retrainings(inputs.estimator, inputs.X, inputs.y, n_models, seed))

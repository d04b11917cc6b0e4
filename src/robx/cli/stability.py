"""`robx stability`: how stable the model is around each row of a table."""

from __future__ import annotations

import click

import robx
from robx.cli.inputs import Inputs, with_inputs
from robx.cli.options import FILE, takes
from robx.cli.outputs import WritingCommand
from robx.cli.screen import show_records, write, write_table

FORMATS = dict.fromkeys(("score", "mean", "std", "stability"), ".3f")


@click.command(cls=WritingCommand, short_help="Measure how stable the model is around rows.")
@takes("model", "data", "ignored_label", "schema")
@click.option("--rows", type=FILE, help="Table of the rows to measure. Default: those of --data.")
@click.option("--tau", type=float, help="Say of each row whether its stability reaches this.")
@takes("out_table", "plot", "json")
@with_inputs
def stability(
    inputs: Inputs,
    rows: str | None,
    tau: float | None,
    out: str | None,
    plot: str | None,
    as_json: bool,
) -> None:
    """Measure the score of each row, its mean and standard deviation nearby, and the stability.

    The stability is R = mean - standard deviation.

    \b
    Examples
      robx stability --model model.ubj --data train.csv --label good --plot stability.png
      robx stability --model model.ubj --data train.csv --rows declined.csv --tau 0.7
    """
    measured = inputs.X if rows is None else inputs.people(rows)
    table = robx.plots.stability_table(inputs.problem, measured)
    if tau is not None:
        table["stable"] = (table["score"] > inputs.threshold) & (table["stability"] >= tau)
    table = table.rename_axis("row").reset_index()
    write_table(table, out, quiet=inputs.quiet)
    histograms = robx.plots.histograms
    write(lambda path: robx.plots.save(histograms(table, tau), path), plot, quiet=inputs.quiet)
    if as_json or out is None:
        show_records(table, FORMATS, as_json=as_json)

"""`robx stability`: how stable the model is around each row of a table."""

from __future__ import annotations

import click

import robx
from robx.cli.inputs import PICTURES, TABLES, Inputs, check_out, with_inputs
from robx.cli.options import FILE, takes
from robx.cli.screen import show_json, show_table, wrote

FORMATS = dict.fromkeys(("score", "mean", "std", "stability"), ".3f")


@click.command(short_help="Measure how stable the model is around rows.")
@takes("model", "data", "ignored_label", "schema")
@click.option("--rows", type=FILE, help="Rows to measure; those of --data unless given.")
@click.option("--tau", type=float, help="Say of each row whether its stability reaches this.")
@click.option("--out", type=FILE, help="File for the table: .csv or .parquet.")
@click.option("--plot", type=FILE, help="File for the histograms: .png, .svg or .pdf.")
@takes("json")
@with_inputs
def stability(
    inputs: Inputs,
    rows: str | None,
    tau: float | None,
    out: str | None,
    plot: str | None,
    as_json: bool,
) -> None:
    """Measure the score M, its mean and spread around each row, and the stability R = mean - std.

    \b
    Examples
      robx stability --model model.ubj --data train.csv --label good --plot stability.png
      robx stability --model model.ubj --data train.csv --rows declined.csv --tau 0.7
    """
    from robx.files import write_table

    check_out(out, TABLES)
    check_out(plot, PICTURES, "--plot")
    measured = inputs.X if rows is None else inputs.people(rows)
    table = robx.plots.stability_table(inputs.problem, measured)
    if tau is not None:
        table["stable"] = (table["score"] > inputs.threshold) & (table["stability"] >= tau)
    table = table.rename_axis("row").reset_index()
    if out is not None:
        write_table(table, out)
        wrote(out, quiet=inputs.quiet)
    if plot is not None:
        robx.plots.save(robx.plots.histograms(table, tau), plot)
        wrote(plot, quiet=inputs.quiet)
    if as_json:
        show_json(table.to_dict("records"))
    elif out is None:
        show_table(table, FORMATS)

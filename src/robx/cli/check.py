"""`robx check`: which promises a new model keeps."""

from __future__ import annotations

import click

import robx
from robx.cli.inputs import TABLES, check_out, load_models
from robx.cli.labels import class_named
from robx.cli.options import FILE, takes
from robx.cli.screen import remark, show_json, show_table, wrote

BROKEN = 1
FORMATS = {"score_before": ".2f", "score_now": ".2f"}


@click.command(short_help="See which promises a new model keeps.")
@click.argument("recourse", type=FILE)
@takes("model")
@click.option("--out", type=FILE, help="File for the table: .csv or .parquet.")
@click.option(
    "--at-least",
    type=click.FloatRange(0, 1),
    help="Exit with 1 if the new model keeps a smaller share of the promises.",
)
@click.option("--target", metavar="LABEL", help="The wish; else as in the file.")
@click.option(
    "--threshold", type=float, help="Accepted are scores above this; else as in the file."
)
@click.option("--all", "all_rows", is_flag=True, help="List promises that are kept, too.")
@takes("unsafe_pickle", "json", "quiet")
def check(
    recourse: str,
    model_path: str,
    out: str | None,
    at_least: float | None,
    target: str | None,
    threshold: float | None,
    all_rows: bool,
    unsafe_pickle: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """See which of the promises in RECOURSE a new model keeps.

    RECOURSE is a file of `robx explain`: .json, .parquet or .csv.

    \b
    Examples
      robx check --model march.ubj recourse.parquet
      robx check --model march.ubj recourse.json --out kept.csv
      robx check --model march.ubj recourse.json --at-least 0.97 || echo "do not release"
    """
    from robx.files import write_table

    check_out(out, TABLES)
    (new,) = load_models([model_path], unsafe_pickle=unsafe_pickle)
    kept = robx.check(recourse, new, target=class_named(target, new), threshold=threshold)
    if out is not None:
        write_table(kept.table, out)
        wrote(out, quiet=quiet)
    if as_json:
        show_json(kept.to_dict())
    else:
        remark(kept.words, quiet=quiet)
        table = kept.table[kept.promised & (all_rows | ~kept.kept)]
        columns = ["applicant", "score_before", "score_now", "kept", "reason", "changes"]
        silent = not table["reason"].any()
        show_table(table[[n for n in columns if n != "reason" or not silent]], FORMATS)
    return BROKEN if at_least is not None and not kept.share >= at_least else 0

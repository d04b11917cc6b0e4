"""`robx check`: which promises a new model keeps."""

from __future__ import annotations

import click

import robx
from robx.cli.columns import class_named
from robx.cli.inputs import model_file
from robx.cli.options import FILE, takes
from robx.cli.outputs import WritingCommand
from robx.cli.screen import remark, show_json, show_table, write_table

BROKEN = 1
FORMATS = {"score_before": ".2f", "score_now": ".2f"}


@click.command(cls=WritingCommand, short_help="See which promises a new model keeps.")
@click.argument("recourse", type=FILE)
@takes("model", "out_table")
@click.option(
    "--at-least",
    type=click.FloatRange(0, 1),
    help="Exit with code 1 if the new model keeps a smaller share of the promises.",
)
@click.option(
    "--target", metavar="LABEL", help="Outcome that counts as accepted. Default: as in RECOURSE."
)
@click.option(
    "--threshold", type=float, help="A score above this is accepted. Default: as in RECOURSE."
)
@click.option("--all", "all_rows", is_flag=True, help="List the promises that are kept, too.")
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

    RECOURSE is a file that `robx explain` wrote: .json, .parquet or .csv.

    \b
    Examples
      robx check --model march.ubj recourse.parquet
      robx check --model march.ubj recourse.json --out kept.csv
      robx check --model march.ubj recourse.json --at-least 0.97 || echo "do not release"
    """
    new = model_file(model_path, unsafe_pickle=unsafe_pickle)
    kept = robx.check(recourse, new.model, target=class_named(target, new), threshold=threshold)
    write_table(kept.table, out, quiet=quiet)
    if as_json:
        show_json(kept.to_dict())
    else:
        remark(kept.words, quiet=quiet)
        table = kept.table[kept.promised & (all_rows | ~kept.kept)]
        columns = ["applicant", "score_before", "score_now", "kept", "reason", "changes"]
        silent = not table["reason"].any()
        show_table(table[[n for n in columns if n != "reason" or not silent]], FORMATS)
    return BROKEN if at_least is not None and not kept.share >= at_least else 0

"""`robx check`: which promises a new model keeps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import robx
from robx.cli.columns import class_named
from robx.cli.inputs import model_file
from robx.cli.options import FILE, HELP, takes
from robx.cli.outputs import NewFile, WritingCommand
from robx.cli.screen import listed, remark, show_json, show_table, write
from robx.errors import InvalidInput

if TYPE_CHECKING:
    from robx import Check

BROKEN = 1
FORMATS = {"score_before": ".2f", "score_now": ".2f"}
SHARES = dict.fromkeys(("share", "low", "high"), ".1%")
SHOWN = ("file", "applicant", "score_before", "score_now", "kept", "reason", "changes")


@click.command(cls=WritingCommand, short_help="See which promises a new model keeps.")
@click.argument("recourse", type=FILE, nargs=-1, required=True)
@click.option("--model", "model_path", type=FILE, help=f"The new model. {HELP['model']}")
@click.option(
    "--out",
    type=NewFile(".json", ".csv", ".parquet"),
    help="File for the result, with threshold, date and digests of the models: .json, .csv or "
    ".parquet.",
)
@click.option(
    "--at-least",
    type=click.FloatRange(0, 1),
    help="Exit with code 1 if the new model keeps a smaller share of the promises.",
)
@click.option(
    "--of",
    "figure",
    type=click.Choice(["share", "lower-bound"]),
    default="share",
    help="What --at-least applies to: the share of these promises, or the lower end of its "
    "interval.",
)
@click.option(
    "--by",
    "column",
    metavar="COLUMN",
    help="Count by groups of applicants: a column of theirs. Numbers are cut at quartiles.",
)
@click.option(
    "--applicants",
    type=FILE,
    help="Table with further columns of the applicants, for --by: .csv or .parquet.",
)
@click.option("--id", "id_column", metavar="COLUMN", help="Column of --applicants that names them.")
@click.option(
    "--target", metavar="LABEL", help="Outcome that counts as accepted. Default: as in RECOURSE."
)
@click.option(
    "--threshold", type=float, help="A score above this is accepted. Default: as in RECOURSE."
)
@click.option("--all", "all_rows", is_flag=True, help="List the promises that are kept, too.")
@takes("unsafe_pickle", "json", "quiet")
def check(
    recourse: tuple[str, ...],
    model_path: str | None,
    out: str | None,
    at_least: float | None,
    figure: str,
    column: str | None,
    applicants: str | None,
    id_column: str | None,
    target: str | None,
    threshold: float | None,
    all_rows: bool,
    unsafe_pickle: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """See which of the promises in RECOURSE a new model keeps.

    RECOURSE are files that `robx explain` wrote (.json, .parquet or .csv), and folders of them.
    Without --model, the first of the files is the new model.

    \b
    Examples
      robx check --model march.ubj recourse.parquet
      robx check march.ubj issued/ --out kept.csv
      robx check march.ubj january.json february.json --by purpose
      robx check march.ubj issued/ --at-least 0.95 --of lower-bound || echo "do not release"
    """
    from robx.answers.origin import utc_date

    model_path, files = _told_apart(model_path, recourse)
    if column is None and applicants is not None:
        raise InvalidInput("--applicants is for --by, which names a column to count by.")
    new = model_file(model_path, unsafe_pickle=unsafe_pickle)
    kept = robx.check(
        list(files),
        new.model,
        target=class_named(target, new),
        threshold=threshold,
        date=utc_date(),
    )
    kept = replace(kept, model={**kept.model, "file": Path(model_path).name})
    groups = None if column is None else _groups(kept, column, applicants, id_column)
    write(kept.save, out, quiet=quiet)
    if as_json:
        more = {} if groups is None else {"by": {column: groups.to_dict("records")}}
        show_json({**kept.to_dict(), **more})
    else:
        remark(kept.words, quiet=quiet)
        _show(kept, groups, all_rows=all_rows)
    return _exit_code(kept, at_least, figure, quiet=quiet)


def _told_apart(model: str | None, files: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Tell the new model from the answers."""
    if model is not None:
        return model, files
    if len(files) < 2:
        raise InvalidInput(
            "check needs a new model and answers: robx check new-model.ubj recourse.json. Got only "
            f"'{files[0]}'."
        )
    return files[0], files[1:]


def _groups(kept: Check, column: str, applicants: str | None, id_column: str | None) -> Any:
    """Count by a column of the answers, or of a table of the same applicants."""
    if applicants is None:
        return kept.by(column)
    from robx.files import read_table

    table = read_table(applicants, text=() if id_column is None else (id_column,))
    lacking = [name for name in (column, id_column) if name and name not in table.columns]
    if lacking:
        raise InvalidInput(
            f"'{applicants}' has no column '{lacking[0]}'. It has {listed(table.columns)}."
        )
    names = table.index if id_column is None else table[id_column]
    values = dict(zip(map(str, names), table[column], strict=True))
    if len(values) < len(table):
        raise InvalidInput(
            f"Some applicants in '{applicants}' share a '{id_column}'. Name another column (--id)."
        )
    unknown = [name for name in map(str, kept.applicants) if name not in values]
    if unknown:
        raise InvalidInput(
            f"'{applicants}' lacks {len(unknown)} of the applicants, such as '{unknown[0]}'. Name "
            "the column by which they go in the answers (--id)."
        )
    return kept.by([values[str(name)] for name in kept.applicants], column)


def _show(kept: Check, groups: Any, *, all_rows: bool) -> None:
    if groups is not None:
        show_table(groups, SHARES)
        return
    table = kept.table[kept.promised & (all_rows | ~kept.kept)]
    silent = not table["reason"].any()
    shown = [n for n in SHOWN if n in table and not (n == "reason" and silent)]
    show_table(table[shown], FORMATS)


def _exit_code(kept: Check, at_least: float | None, figure: str, *, quiet: bool) -> int:
    if at_least is None:
        return 0
    if not kept.is_evidence:
        remark("There is no promise of another model to judge --at-least by.", quiet=quiet)
        return BROKEN
    value = kept.share if figure == "share" else kept.low
    if value >= at_least:
        return 0
    what = "share" if figure == "share" else "lower bound"
    digits = (f"{value:.{n}%}" for n in (1, 3, 6))  # as many as tell it from the limit
    shown = next((s for s in digits if float(s[:-1]) < 100 * at_least), f"{value:%}")
    remark(f"The {what}, {shown}, is below --at-least {100 * at_least:g}%.", quiet=quiet)
    return BROKEN

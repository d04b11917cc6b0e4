"""`robx schema`: guess what columns are, for somebody to say what may change."""

from __future__ import annotations

from pathlib import Path

import click

import robx
from robx.cli.inputs import check_out
from robx.cli.options import FILE, takes
from robx.cli.screen import remark, show_json
from robx.errors import InvalidInput

NOTE = (
    "Nothing is taken to be fixed: only you know that. Look at every feature in {file}, set\n"
    "`change` to none, increase or decrease where it applies, and give levels their names."
)


@click.command(short_help="Guess what the columns of a table are, to edit.")
@click.argument("data", type=FILE)
@click.option("--label", metavar="COLUMN", help="Column with the outcomes: not a feature.")
@takes("id")
@click.option("--out", type=FILE, help="File to write: .yaml or .json; else it is printed.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@takes("json", "quiet")
def schema(
    data: str,
    label: str | None,
    id_column: str | None,
    out: str | None,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Guess the schema of DATA (.csv or .parquet): what each column is.

    \b
    Examples
      robx schema train.csv --label good                      # look at the guesses
      robx schema train.csv --label good --out schema.yaml    # a file to edit
    """
    from robx.files import read_table

    check_out(out, (".yaml", ".yml", ".json"))
    X = read_table(data)
    for name in (label, id_column):
        if name is not None and name not in X.columns:
            raise InvalidInput(f"'{data}' has no column '{name}'. Check the spelling.")
    guessed = robx.Schema.infer(X.drop(columns=[n for n in (label, id_column) if n is not None]))
    if out is not None:
        if Path(out).exists() and not force:
            raise InvalidInput(f"'{out}' is there already. --force writes over it.")
        guessed.save(out)
        remark(NOTE.format(file=out), quiet=quiet)
    if as_json:
        show_json(guessed.to_dict())
    elif out is None:
        click.echo(str(guessed))

"""`robx schema`: guess what columns are, for somebody to say what may change."""

from __future__ import annotations

import click

import robx
from robx.cli.options import FILE, takes
from robx.cli.outputs import NewFile, WritingCommand
from robx.cli.screen import remark, show_json
from robx.errors import InvalidInput

NOTE = (
    "Wrote {file}. Only you know what else must not change. Look at every feature, set `change`\n"
    "to none, increase or decrease where it applies, and name levels."
)


@click.command(cls=WritingCommand, short_help="Guess the schema of a table, to edit it.")
@click.argument("data", type=FILE)
@click.option("--label", metavar="COLUMN", help="Column with the outcomes, which is not a feature.")
@takes("id")
@click.option(
    "--out",
    type=NewFile(".yaml", ".yml", ".json"),
    help="File for the schema: .yaml or .json. Without it, the schema is printed.",
)
@takes("json", "quiet")
def schema(
    data: str,
    label: str | None,
    id_column: str | None,
    out: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Guess the schema of DATA (.csv or .parquet): what each column is, and its values.

    \b
    Examples
      robx schema train.csv --label good                      # look at the guesses
      robx schema train.csv --label good --out schema.yaml    # a file to edit
    """
    from robx.files import read_table
    from robx.schema.guess import guess_words

    X = read_table(data)
    for name in (label, id_column):
        if name is not None and name not in X.columns:
            raise InvalidInput(f"'{data}' has no column '{name}'. Check the spelling.")
    guessed = robx.Schema.infer(X.drop(columns=[n for n in (label, id_column) if n is not None]))
    said = guess_words(guessed.features, [one.names for one in guessed.together])
    remark(f"These are guesses: {said}.", quiet=quiet)
    if out is not None:
        guessed.save(out)
        remark(NOTE.format(file=out), quiet=quiet)
    if as_json:
        show_json(guessed.to_dict())
    elif out is None:
        click.echo(str(guessed))

"""`robx fit`: an explainer in one file, to be asked many times."""

from __future__ import annotations

from typing import Any

import click

from robx.cli.fitting import (
    check_retrained,
    fitted,
    method_options,
    model_options,
    promise_options,
)
from robx.cli.inputs import Inputs, with_inputs
from robx.cli.options import takes
from robx.cli.outputs import NewFile, WritingCommand
from robx.cli.screen import show_json, write


@click.command(cls=WritingCommand, short_help="Fit an explainer and keep it in one file.")
@takes("model", "data", "label", "schema")
@click.option("--out", type=NewFile(".robx"), required=True, help="File for the explainer: .robx.")
@promise_options
@method_options
@model_options
@takes("json")
@with_inputs
def fit(
    inputs: Inputs, out: str, retrained: tuple[str, ...], as_json: bool, **settings: Any
) -> None:
    """Fit an explainer: import the model, train it again, and keep all that answers need.

    `robx explain FILE` then answers without the model, its library or the training table. The file
    holds the accepted training rows, which are personal data: only its owner may read a new one.

    \b
    Examples
      robx fit --model model.ubj --params params.yaml --data train.csv --label good \\
          --schema schema.yaml --out credit.robx
      robx show credit.robx
      robx explain credit.robx declined.csv --id id --out recourse.json
    """
    from robx.answers.origin import utc_date

    check_retrained(inputs, retrained)
    explainer = fitted(inputs, None, retrained=retrained, **settings)
    write(lambda path: explainer.save(path, date=utc_date()), out, quiet=inputs.quiet)
    if as_json:
        show_json(explainer.describe())
    else:
        click.echo(repr(explainer))

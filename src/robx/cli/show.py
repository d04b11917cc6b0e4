"""`robx show`: what an explainer's file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import robx
from robx.cli.options import FILE, takes
from robx.cli.screen import show_json, show_table


@click.command(short_help="Say what an explainer's file holds.")
@click.argument("file", type=FILE)
@takes("json")
def show(file: str, as_json: bool) -> None:
    """Say what FILE, an explainer that `robx fit` wrote, holds: model, rows, method, versions.

    \b
    Examples
      robx show credit.robx
      robx show credit.robx --json
    """
    import pandas as pd

    from robx.explainer.description import lines

    loaded = robx.Explainer.load(file)
    about: dict[str, Any] = {**loaded.describe(), "bytes": Path(file).stat().st_size}
    if as_json:
        show_json(about)
        return
    about["bytes"] = f"{about['bytes']:,}"
    show_table(pd.DataFrame(lines(about), columns=["what", "value"]))

"""`robx completion`: let the shell complete commands, options and files."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(short_help="Let the shell complete commands and files.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that lets SHELL complete robx's commands, options and files.

    \b
    Examples
      eval "$(robx completion bash)"                          # in ~/.bashrc
      eval "$(robx completion zsh)"                           # in ~/.zshrc
      robx completion fish > ~/.config/fish/completions/robx.fish
    """
    maker = get_completion_class(shell)
    if maker is None:  # pragma: no cover - click knows all three
        raise click.UsageError(f"click does not know {shell}.")
    click.echo(maker(ctx.find_root().command, {}, "robx", "_ROBX_COMPLETE").source())

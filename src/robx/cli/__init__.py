"""The `robx` command: one small file a command, each thin over the public API.

`inputs` reads what the options name, `options` are those that commands share, `screen` is what
people and other programs see. Commands load the rest of robx when they run, so that ``robx --help``
comes at once.

Exit codes: 0 done; 1 `robx check` found fewer kept promises than asked for; 2 the input does not
fit, with one sentence on what to do; 70 a fault of robx; 130 stopped by ctrl-C.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

import robx
from robx.errors import RobxError

__all__ = ["main", "robx_command", "run"]

#: Each is the function of that name in the module of that name, in the order of the help page.
COMMANDS = (
    "demo",
    "schema",
    "explain",
    "report",
    "check",
    "stability",
    "tau",
    "evaluate",
    "completion",
)
BAD_INPUT, FAULT, INTERRUPTED = 2, 70, 130


class Commands(click.Group):
    """A group whose commands are loaded when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """See `click.Group`."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """See `click.Group`."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"robx.cli.{cmd_name}"), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """See `click.Group`."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:  # whoever read our output has stopped, such as `head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        return result


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(robx.__version__, prog_name="robx")
def robx_command() -> None:
    """Tell declined applicants what to change, so that it holds after a retraining.

    \b
    Begin with
      robx demo               see it at work, get files to try
      robx schema --help      say what may change
      robx explain --help     recourse for your own applicants

    \b
    Exit codes
      0    done
      1    `robx check --at-least` found fewer promises kept
      2    the input does not fit: one sentence says what to do
      70   a fault of robx
      130  stopped by ctrl-C
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and give its exit code."""
    try:
        result = robx_command.main(arguments, prog_name="robx", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return BAD_INPUT
    except (RobxError, OSError) as error:
        click.echo(f"Error: {_one_line(error)}", err=True)
        return BAD_INPUT
    except SystemExit:  # click's, for whoever has stopped to read the help
        return 0
    except (KeyboardInterrupt, click.Abort):
        click.echo("\nStopped. Nothing was left half-written.", err=True)
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("ROBX_DEBUG"):
            raise
        said = f"{type(error).__name__}: {_one_line(error)}"
        click.echo(
            f"Error: this is a fault of robx, not yours ({said}). Please report it, with what the "
            "same command says under ROBX_DEBUG=1.",
            err=True,
        )
        return FAULT
    return result if isinstance(result, int) else 0


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())

"""The `robx` command: one small file for each command, thin over the public API.

`options` are those that commands share, `inputs` reads what they name, `screen` is what users and
other programs see, and `wording` has the library's errors speak of options. Commands load the rest
of robx when they run, so that ``robx --help`` is fast.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

import robx
from robx.cli.screen import warnings_as_remarks
from robx.cli.wording import in_options
from robx.errors import RobxError

__all__ = ["main", "robx_command", "run"]

#: Each is the function of that name in the module of that name, in the order of the help text.
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
        except BrokenPipeError:  # the reader of our output, such as `head`, has stopped
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        return result


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.version_option(robx.__version__, prog_name="robx")
def robx_command() -> None:
    """Tell declined applicants what to change, so that it holds after a retraining.

    \b
    Start with
      robx demo               see robx at work, and get files to try
      robx schema --help      say what may change
      robx explain --help     find recourse for your own applicants

    \b
    Exit codes
      0    success
      1    the new model keeps fewer promises than `robx check --at-least` requires
      2    invalid input: the message says what to do
      70   an internal error of robx
      130  stopped by Ctrl-C
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        with warnings_as_remarks():
            result = robx_command.main(arguments, prog_name="robx", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return BAD_INPUT
    except RobxError as error:
        click.echo(f"Error: {in_options(_one_line(error))}", err=True)
        return BAD_INPUT
    except OSError as error:
        click.echo(f"Error: {_one_line(error)}", err=True)
        return BAD_INPUT
    except SystemExit:  # click's, where the reader of the help has stopped
        return 0
    except (KeyboardInterrupt, click.Abort):
        click.echo("\nStopped. No file was left half-written.", err=True)
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("ROBX_DEBUG"):
            raise
        said = f"{type(error).__name__}: {_one_line(error)}"
        click.echo(
            f"Error: this is an internal error of robx ({said}). Please report it, with the output "
            "of the same command under ROBX_DEBUG=1.",
            err=True,
        )
        return FAULT
    return result if isinstance(result, int) else 0


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())

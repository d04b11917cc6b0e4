"""The `robx` command: one small file for each command, thin over the public API.

`options` are those that commands share, `inputs` reads what they name, `outputs` looks at the files
that they will write, `screen` is what users and other programs see, `wording` has the library's
errors speak of options, and `process` is how a command ends. Commands load the rest of robx when
they run, so that ``robx --help`` is fast.
"""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

import robx
from robx.cli.process import discard_output, flush_output, leave, set_up, stop_code
from robx.cli.screen import remark, warnings_as_remarks
from robx.cli.wording import in_options
from robx.errors import RobxError

__all__ = ["main", "robx_command", "run"]

#: Each is the function of that name in the module of that name, in the order of the help text.
COMMANDS = (
    "demo",
    "schema",
    "explain",
    "fit",
    "show",
    "report",
    "check",
    "stability",
    "tau",
    "evaluate",
    "compile",
    "completion",
)
BAD_INPUT, FAULT = 2, 70


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
            flush_output()
        except BrokenPipeError as error:
            if not discard_output(error):
                raise
            return 0  # the reader of our output, such as `head`, has stopped
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
      robx fit --help         keep an explainer, and answer at once

    \b
    Exit codes
      0    success
      1    the new model keeps fewer promises than `robx check --at-least` requires
      2    invalid input: the message says what to do
      70   an internal error of robx
      130  stopped by Ctrl-C
      143  stopped by SIGTERM
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    set_up()
    leave(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        with warnings_as_remarks():
            result = robx_command.main(arguments, prog_name="robx", standalone_mode=False)
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        return BAD_INPUT
    except (RobxError, OSError) as error:
        said = in_options(_one_line(error)) if isinstance(error, RobxError) else _one_line(error)
        if isinstance(error, OSError) and discard_output(error):
            said = f"Standard output cannot be written: {error.strerror}. Redirect it elsewhere."
        remark(f"Error: {said}")
        return BAD_INPUT
    except SystemExit:  # click's, where the reader of the help has stopped
        return 0
    except (KeyboardInterrupt, click.Abort) as error:
        # click takes the end of any file for that of its input, and no command asks for input.
        if isinstance(error.__cause__, EOFError):
            return _fault(error.__cause__)
        remark("\nStopped. No file was left half-written.")
        return stop_code(error)
    except Exception as error:
        return _fault(error)
    return result if isinstance(result, int) else 0


def _fault(error: Exception) -> int:
    """Say that it is not the user's doing."""
    if os.environ.get("ROBX_DEBUG"):
        raise error
    said = f"{type(error).__name__}: {_one_line(error)}"
    remark(
        f"Error: this is an internal error of robx ({said}). Please report it, with the output of "
        "the same command under ROBX_DEBUG=1."
    )
    return FAULT


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())

"""The command as a process: signals that end it, and outputs that nobody reads.

Only the command installs handlers of signals. A program that imports robx keeps its own.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import click

#: What a shell adds to the number of the signal that ended a process.
BY_SIGNAL = 128
INTERRUPTED = BY_SIGNAL + signal.SIGINT


class Stopped(KeyboardInterrupt):
    """A signal to end; it passes through the code as ctrl-C does, which cleans up."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def set_up() -> None:
    """Make signals clean up, outputs exist, and a library say less."""
    for name in ("SIGTERM", "SIGHUP"):  # of which Windows has one
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # else as in nohup
            signal.signal(number, _stop)
    # For users without a home it describes its temporary folder, which it removes.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us: nobody listens
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123


def _stop(number: int, _frame: object) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # once is enough, and `timeout` sends it twice
    raise Stopped(number)


def stop_code(error: BaseException) -> int:
    """Give the exit code after ctrl-C or a signal, which click passes on as its own error."""
    cause = error if isinstance(error, Stopped) else error.__cause__
    return BY_SIGNAL + cause.number if isinstance(cause, Stopped) else INTERRUPTED


def leave(code: int) -> NoReturn:
    """End the process; after a signal without waiting for threads, which may train for long."""
    if code <= BY_SIGNAL:
        sys.exit(code)
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    atexit._run_exitfuncs()
    _end_children()
    os._exit(code)


def _end_children() -> None:
    """End what a library runs, as when the signal came just as it was started (on Linux)."""
    for file in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            for child in file.read_text().split():
                os.kill(int(child), signal.SIGTERM)


def flush_output() -> None:
    """Write what was printed, to learn whether that can be done."""
    sys.stdout.flush()


def discard_output(error: OSError) -> bool:
    """Tell whether an error is that of standard output; if so, nothing more is written to it."""
    last = traceback.extract_tb(error.__traceback__)[-1].name
    if last not in {click.echo.__name__, flush_output.__name__}:
        return False
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True

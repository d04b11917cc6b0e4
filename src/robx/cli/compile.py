"""`robx compile`: compile everything now, as when a container is built."""

from __future__ import annotations

import click

from robx.cli.options import takes
from robx.cli.screen import remark, show_json


@click.command(short_help="Compile the kernels now, not at the first answer.")
@takes("json")
def compile(as_json: bool) -> None:  # noqa: A001 - the name of the command
    """Compile robx's kernels now, so that the first answer of a new process need not wait.

    The code is kept in the folder that NUMBA_CACHE_DIR names, or where robx is installed, or in
    your folder for caches: the first that can be written to. It is found there by every process
    with the same processor and versions of Python, numba and robx, whoever runs it, also if the
    folder is read-only by then.

    \b
    Examples
      robx compile
      RUN pip install robx && robx compile      # in a Dockerfile
    """
    from robx.compilation import compile_all

    done = compile_all()
    if as_json:
        show_json(
            {
                "compiled": done.n_compiled,
                "found": done.n_found,
                "not_kept": done.n_lost,
                "folders": list(done.folders),
                "seconds": round(done.seconds, 3),
            }
        )
        return
    click.echo(
        f"Compiled {done.n_compiled} functions in {done.seconds:.1f} s, and found "
        f"{done.n_found} that were compiled before."
    )
    for folder in done.folders:
        click.echo(f"The code is in {folder}.")
    if done.n_lost:
        remark(
            f"{done.n_lost} of them could not be kept, so that every process compiles them again. "
            "Set NUMBA_CACHE_DIR to a folder that you can write to."
        )

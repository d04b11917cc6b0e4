"""What users see, and what other programs read.

Results go to standard output, remarks and progress to standard error. A table is aligned on a
terminal, and separated by tabs, with a line of names, where the output is piped. Numbers are
rounded in both; `--json` and files have all digits.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any, TextIO

import click

from robx.cli.wording import in_options
from robx.errors import RobxWarning

ELLIPSIS = "…"
#: A column that is cut keeps at least so many letters.
MIN_WIDTH = 12
#: Standard output, while it is kept for JSON.
_for_json: list[TextIO] = []


def remark(text: str, *, quiet: bool = False) -> None:
    """Say something that is not part of the result, and goes on if nobody listens."""
    if not quiet:
        with suppress(OSError):
            click.echo(text, err=True)


@contextmanager
def warnings_as_remarks() -> Iterator[None]:
    """Show each warning that robx gives once, as a remark of the command that runs."""
    shown: set[str] = set()
    show = warnings.showwarning

    def remarked(message: Any, category: Any, *where: Any, **more: Any) -> None:
        if not issubclass(category, RobxWarning):
            show(message, category, *where, **more)
        elif str(message) not in shown:
            shown.add(str(message))
            context = click.get_current_context(silent=True)
            remark(
                in_options(str(message)),
                quiet=context is not None and bool(context.params.get("quiet")),
            )

    with warnings.catch_warnings():
        warnings.simplefilter("always", RobxWarning)
        warnings.showwarning = remarked
        yield


def write(save: Callable[[str], object], path: str | None, *, quiet: bool) -> None:
    """Write a file, if one is named, and say so."""
    if path is not None:
        save(path)
        remark(f"Wrote {path}.", quiet=quiet)


def write_table(table: Any, path: str | None, *, quiet: bool) -> None:
    """Write a table to a file, if one is named, and say so."""
    from robx import files

    write(lambda file: files.write_table(table, file), path, quiet=quiet)


def shows_progress(quiet: bool) -> bool:
    """Whether to show a progress bar."""
    return not quiet and sys.stderr.isatty()


def either(names: Sequence[str]) -> str:
    """Name some, of which one is to be chosen.

    Examples
    --------
    >>> either([".csv", ".parquet", ".json"])
    '.csv, .parquet or .json'
    >>> either([".robx"])
    '.robx'
    """
    return " or ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), names[-1]])


def listed(names: Iterable[object], most: int = 12) -> str:
    """Name some, and count the rest.

    Examples
    --------
    >>> listed("abcd", most=2)
    'a, b and 2 more'
    """
    from robx import parameters

    return parameters.listed([*names], most, str)


@contextmanager
def json_only(as_json: bool) -> Iterator[None]:
    """Keep standard output for `show_json`: what libraries print as they train goes elsewhere."""
    if not as_json:
        yield
        return
    _for_json.append(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _for_json.pop()


def show_json(value: Any) -> None:
    """Print plain values; NaN becomes null."""
    text = json.dumps(_plain(value), ensure_ascii=False, indent=2, allow_nan=False)
    click.echo(text, file=_for_json[-1] if _for_json else None)


def show_records(frame: Any, formats: Mapping[str, str], *, as_json: bool) -> None:
    """Print a pandas table as JSON, or as `show_table` does."""
    if as_json:
        show_json(frame.to_dict("records"))
    else:
        show_table(frame, formats)


def show_table(frame: Any, formats: Mapping[str, str] | None = None, *, indent: str = "") -> None:
    """Print a pandas table without its index: for users on a terminal, for programs elsewhere.

    `formats` says how the numbers of a column are shown, such as ".1%".
    """
    names, said = [str(name) for name in frame.columns], formats or {}
    rows = frame.to_numpy(dtype=object).tolist()
    cells = [[_shown(c, said.get(n)) for c, n in zip(r, names, strict=True)] for r in rows]
    if not sys.stdout.isatty():
        for row in [names, *cells]:
            click.echo("\t".join(" ".join(cell.split()) for cell in row))
        return
    if not rows:
        return
    right = [frame[name].dtype.kind in "iuf" for name in frame.columns]
    for line in aligned(names, cells, right, shutil.get_terminal_size().columns - len(indent)):
        click.echo(indent + line)


def aligned(
    names: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], width: int
) -> list[str]:
    """Lay a table out in columns; the last column is cut where the terminal ends.

    Examples
    --------
    >>> rows = [["Ann", "0.5"], ["Bo", "12"]]
    >>> for line in aligned(["who", "cost"], rows, right=[False, True], width=80):
    ...     print(line)
    who  cost
    ---  ----
    Ann   0.5
    Bo     12
    """
    columns = [list(column) for column in zip(names, *rows, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    if widths:
        space = width - sum(widths[:-1]) - 2 * len(widths[:-1])
        widths[-1] = min(widths[-1], max(space, MIN_WIDTH))
    lines = [names, ["-" * size for size in widths], *rows]
    return ["  ".join(map(_fit, line, widths, right)).rstrip() for line in lines]


def _fit(cell: str, width: int, right: bool) -> str:
    shown = cell if len(cell) <= width else cell[: width - 1] + ELLIPSIS
    return shown.rjust(width) if right else shown.ljust(width)


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _shown(cell: Any, how: str | None) -> str:
    if _is_missing(cell):
        return ""
    if how is None and isinstance(cell, float):
        how = ".3g"
    return format(cell, how) if how else str(cell)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if hasattr(value, "tolist"):  # numpy's
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float) else str(value)

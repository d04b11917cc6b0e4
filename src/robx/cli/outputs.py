"""Files that a command writes: whether that can be done is known before any work is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from robx.cli.screen import either, json_only
from robx.errors import InvalidInput


class NewFile(click.Path):
    """A file to write, of some ending."""

    def __init__(self, *endings: str) -> None:
        super().__init__()
        self.endings = endings

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """See `click.ParamType`."""
        file, option = Path(value), param.opts[0]
        if file.suffix.lower() not in self.endings:
            printed = value == "-" or str(value).startswith("/dev/")
            hint = f" To print the result, leave {option} out." if printed else ""
            raise InvalidInput(
                f"{option} takes a file ending in {either(self.endings)}. Got '{value}'.{hint}"
            )
        if file.is_dir() or not file.parent.is_dir():
            what = "is a folder" if file.is_dir() else "is in a folder that does not exist"
            raise InvalidInput(
                f"{option} '{value}' {what}. Make the folder, or name a file in another one."
            )
        return super().convert(value, param, ctx)

    def files(self, value: str) -> list[Path]:
        """Name the files that will be written."""
        return [Path(value)]


class NewFolder(click.Path):
    """A folder to write files of these names to; it need not be there."""

    def __init__(self, *names: str) -> None:
        super().__init__(file_okay=False)
        self.names = names

    def files(self, value: str) -> list[Path]:
        """Name the files that will be written."""
        return [Path(value) / name for name in self.names]


class WritingCommand(click.Command):
    """A command that writes files, and takes --force to overwrite what is there.

    Before it runs, each file is refused that cannot be written, that the command reads, or that is
    there without --force.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        text = "Overwrite existing files."
        self.params.append(click.Option(["--force"], is_flag=True, help=text))

    def invoke(self, ctx: click.Context) -> Any:
        """See `click.Command`."""
        force = ctx.params.pop("force")
        read = list(self._files_read(ctx))
        written: list[tuple[str, Path]] = []
        for param in self.params:
            value = ctx.params.get(str(param.name))
            if isinstance(param.type, NewFile | NewFolder) and value is not None:
                written += [(param.opts[0], file) for file in param.type.files(value)]
        for place, (option, file) in enumerate(written):
            _check(option, file, [*read, *written[:place]], force=force)
        with json_only(bool(ctx.params.get("as_json"))):
            return super().invoke(ctx)

    def _files_read(self, ctx: click.Context) -> Iterator[tuple[str, Path]]:
        for param in self.params:
            value = ctx.params.get(str(param.name))
            if type(param.type) is click.Path and value is not None:
                name = param.opts[0] if isinstance(param, click.Option) else param.make_metavar(ctx)
                for path in [value] if isinstance(value, str) else value:
                    yield from ((name, file) for file in _files_at(Path(path)))


def _files_at(path: Path) -> Iterable[Path]:
    """Give a file itself, and of a folder all files in it."""
    return path.iterdir() if path.is_dir() else [path]


def _check(option: str, file: Path, others: Sequence[tuple[str, Path]], *, force: bool) -> None:
    """Refuse a file that is another of the same command, is there, or cannot be written."""
    from robx.files import check_target

    is_there = file.exists()
    for name, other in others:
        if _is_same(file, other):
            raise InvalidInput(
                f"{option} '{file}' and {name} '{other}' are the same file. Name another file to "
                "write to."
            )
    if is_there and not force:
        raise InvalidInput(f"'{file}' exists already. --force overwrites it.")
    if file.parent.exists():
        check_target(file)
    else:  # a new folder of files
        check_target(next(one for one in file.parents[1:] if one.exists()) / file.name)


def _is_same(one: Path, other: Path) -> bool:
    """Whether two paths are one file, whatever links lead there."""
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there
        return os.path.realpath(one) == os.path.realpath(other)

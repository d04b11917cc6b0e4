"""Every page does what it says: its code runs in order, and what it shows comes out.

In a page, ```` ```python ```` and ```` ```console ```` blocks run one after the other in an empty
folder. A ```` ```text ```` (or yaml, json) block directly after one is what it prints, a last
expression as a prompt would show it; ``...`` stands for anything. In a console block, lines that
begin with ``$`` are commands and the others what they print. Another version of XGBoost trains
other models: with one, the code is run, and what it prints is not compared.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import os
import re
import runpy
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

DOCS = Path(__file__).parents[1] / "docs"
MADE = {"_build", "auto_gallery", "generated"}
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if not MADE & set(page.parts)]
EXAMPLES = sorted((DOCS / "gallery").glob("*.py"))
RUN, SHOWN = {"python", "console"}, {"text", "yaml", "json"}
FENCE = re.compile(r"^(`{3,})(\S*)[^\n]*\n(.*?)^\1[ ]*$", re.MULTILINE | re.DOTALL)
#: The version that the pages were made with.
SAME_MODELS = xgboost.__version__ == "3.2.0"
#: Seconds that a command may take.
LONGEST = 300
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """Code of a page, where it stands, and what the page says that it prints."""

    page: str
    line: int
    language: str
    code: str
    shown: str | None


def blocks_of(text: str, page: str = "page") -> list[Block]:
    """Find what is to be run; what is shown must follow something that shows it."""
    found: list[Block] = []
    end = -1
    for match in FENCE.finditer(text):
        language, body = match.group(2), match.group(3)
        line = text.count("\n", 0, match.start(3))
        if language in RUN:
            found.append(Block(page, line, language, body, None))
            end = match.end()
        elif language in SHOWN:
            if end < 0 or text[end : match.start()].strip():
                pytest.fail(f"{page}:{line}: what is shown here follows no code that shows it")
            found[-1] = replace(found[-1], shown=body)
            end = -1
        elif language.startswith("{"):
            found += [replace(one, line=line + one.line) for one in blocks_of(body, page)]
        elif language:
            pytest.fail(f"{page}:{line}: nobody runs or checks a block of {language!r}")
    return found


def run(blocks: list[Block], folder: Path, *, compared: bool = True) -> None:
    """Run code in order, as one session, and compare what it prints."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks:
        if block.language == "python":
            pairs = [(block.shown, run_python(block, names))]
        else:
            pairs = list(run_console(block, folder))
        for wanted, got in pairs if compared else ():
            compare(block, wanted, got)


def run_python(block: Block, names: dict[str, Any]) -> str:
    """Run statements; a last expression is shown where the page shows something."""
    tree = ast.parse("\n" * block.line + block.code)
    last = tree.body[-1] if block.shown is not None else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if isinstance(last, ast.Expr):
            tree.body.pop()
        exec(compile(tree, block.page, "exec"), names)  # noqa: S102 - our own page
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), block.page, "eval"), names)  # noqa: S307
            if value is not None:
                printed.write(f"{value!r}\n")
    return printed.getvalue()


def run_console(block: Block, folder: Path) -> Iterator[tuple[str | None, str]]:
    """Run commands one after the other, each of which must succeed; give wanted and seen."""
    commands = list(commands_of(block.code))
    if not commands:
        pytest.fail(f"{block.page}:{block.line}: a console block has commands after '$ '")
    for command, inline in commands:
        code, printed = run_shell(command, folder)
        if code != 0:
            pytest.fail(f"{block.page}:{block.line}: $ {command}\nended with {code}:\n{printed}")
        yield inline, printed
    yield block.shown, printed


def run_shell(command: str, folder: Path) -> tuple[int, str]:
    """Run a command on a terminal; give its exit code and what people see."""
    ours, theirs = os.openpty()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    seen = {"PATH": path, "COLUMNS": "100", "TERM": "dumb", "TQDM_DISABLE": "1"}
    with subprocess.Popen(
        ["/bin/bash", "-c", command],
        cwd=folder,
        env={**os.environ, **seen},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        late = threading.Timer(LONGEST, process.kill)
        late.start()
        os.close(theirs)
        printed = b""
        with os.fdopen(ours, "rb", buffering=0) as terminal, contextlib.suppress(OSError):
            while part := terminal.read(4096):  # ends with an error on Linux
                printed += part
        late.cancel()
    return process.returncode, printed.decode().replace("\r\n", "\n")


def commands_of(code: str) -> Iterator[tuple[str, str | None]]:
    """Give each command of a console block with what stands below it."""
    for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        command, _, output = part.replace("\\\n", " ").partition("\n")
        yield re.sub(r"\s+", " ", command), output if output.strip() else None


def compare(block: Block, wanted: str | None, got: str) -> None:
    """Compare what is shown with what came."""
    right = wanted is None or doctest.OutputChecker().check_output(wanted, got, FLAGS)
    if not right:
        pytest.fail(f"{block.page}:{block.line} shows\n{wanted}\nand this came:\n{got}")


# --- the pages -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_code_of_a_page_runs_and_shows_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of(page.read_text(encoding="utf-8"), str(page.relative_to(DOCS)))
    run(blocks, tmp_path, compared=SAME_MODELS)


@pytest.mark.slow
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_an_example_of_the_gallery_runs_and_draws(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = runpy.run_path(str(script), run_name="__main__")
    drawn: list[Any] = np.ravel(np.array(names.get("axes", names.get("ax")))).tolist()
    assert all(isinstance(ax, Axes) and ax.has_data() for ax in drawn)


# --- what the pages must have --------------------------------------------------------------------

ROOMS = ("robx", "robx.datasets", "robx.metrics", "robx.plots", "robx.scenarios")


def listed() -> set[str]:
    """Full names of everything that the reference lists."""
    names = set()
    for page in (DOCS / "reference").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        tables = re.findall(r"currentmodule:: (\S+)\n\.\. autosummary::\n((?:   .*\n|\n)+)", text)
        for room, table in tables:
            names |= {f"{room}.{name}" for name in re.findall(r"^   (\w+)$", table, re.MULTILINE)}
    return names


def test_the_reference_lists_every_public_name_and_nothing_else() -> None:
    rooms = {room: import_module(room) for room in ROOMS}
    public = {f"{room}.{name}" for room, module in rooms.items() for name in module.__all__}
    assert listed() == public - set(rooms)


def test_the_reference_shows_the_help_of_every_command() -> None:
    from robx.cli import COMMANDS

    page = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    assert re.findall(r"^```\{robx-help\} (\w+)$", page, re.MULTILINE) == list(COMMANDS)


def test_every_page_is_in_a_table_of_contents() -> None:
    found = {DOCS / "index.md"}
    for page in PAGES:
        for table in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            names = re.findall(r"^(?:.*<)?([\w/-]+)>?$", table, re.MULTILINE)
            found |= {page.parent / f"{name}.md" for name in names}
    assert set(PAGES) <= found


# --- what is ours in building them ---------------------------------------------------------------


def extension(name: str) -> dict[str, Any]:
    """Load an extension of the pages, without Sphinx."""
    return runpy.run_path(str(DOCS / "_ext" / f"{name}.py"))


@pytest.mark.parametrize(
    "page",
    [
        '<script defer src="https://cdn.example/a.js"></script>',
        "<img alt='x' src='//cdn.example/a.png'>",
        '<link rel="stylesheet" href="http://fonts.example/css">',
        '<style>@import "https://fonts.example/css";</style>',
        '<p style="background: url(https://example.org/a.png)">',
    ],
)
def test_what_a_page_would_fetch_from_elsewhere_is_found(page: str) -> None:
    assert len(extension("offline")["find_outside"](page)) == 1


def test_links_to_follow_and_files_beside_the_page_are_no_matter() -> None:
    page = '<a href="https://example.org">x</a> <script src="a.js"></script> <img src="a.png">'
    assert extension("offline")["find_outside"](page) == []
    assert extension("offline")["find_outside"]("a { color: red }", style=True) == []


def test_links_out_of_the_pages_lead_to_copies_and_others_stay(tmp_path: Path) -> None:
    rewrite = extension("outside")["rewrite"]
    (tmp_path / "docs" / "more").mkdir(parents=True)
    (tmp_path / "results").mkdir()
    text = "[a](../../README.md) [b](../page.md#x) [c](../../results) [d](e.md)"
    assert rewrite(text, tmp_path / "docs" / "more", tmp_path / "docs") == (
        "[a](<path:../../README.md>) [b](../page.md#x) `c` [d](e.md)"
    )


def test_a_thumbnail_is_a_small_drawing_without_a_legend(tmp_path: Path) -> None:
    pytest.importorskip("sphinx_gallery", reason="the pages are built with it")
    figure = Figure(figsize=(8, 4), layout="constrained")
    ax = figure.subplots()
    ax.plot([1, 2], label="a line")
    legend = ax.legend()
    paths = [str(tmp_path / f"{k}.png") for k in range(3)]
    names = {"ax": ax}
    told = {"example_globals": names, "image_path_iterator": iter(paths)}
    scrape = extension("axes_scraper")["scrape"]
    shown = scrape(None, told, {"src_dir": str(tmp_path)})
    assert "1.png" in shown
    assert "0.png" not in shown  # the gallery takes it as the thumbnail
    with Image.open(paths[0]) as first, Image.open(paths[1]) as second:
        small, full = first.size, second.size
    assert full == (8 * 160, 4 * 160)
    assert small[0] / 200 < 0.7 * 8  # inches: text is larger beside the rest
    assert legend.get_visible()
    assert tuple(figure.get_size_inches()) == (8, 4)
    assert scrape(None, told, {"src_dir": str(tmp_path)}) == ""  # each figure once


# --- the runner itself ---------------------------------------------------------------------------


def test_a_page_that_shows_something_else_is_noticed(tmp_path: Path) -> None:
    page = "```python\nx = 2\n```\n\n```python\nx + 1\n```\n\n```text\n4\n```\n"
    with pytest.raises(pytest.fail.Exception, match="page:5 shows\n4\n\nand this came:\n3"):
        run(blocks_of(page), tmp_path)
    run(blocks_of(page.replace("4", "3")), tmp_path)


def test_a_page_with_code_that_fails_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        run(blocks_of("```python\n1 / 0\n```\n"), tmp_path)


def test_a_command_that_fails_or_prints_something_else_is_noticed(tmp_path: Path) -> None:
    run(blocks_of("```console\n$ echo a \\\n    b > file\n$ cat file\na b\n```\n"), tmp_path)
    with pytest.raises(pytest.fail.Exception, match="and this came:\na b"):
        run(blocks_of("```console\n$ cat file\na c\n```\n"), tmp_path)
    with pytest.raises(pytest.fail.Exception, match="cat nowhere"):
        run(blocks_of("```console\n$ cat nowhere\n```\n"), tmp_path)


def test_a_console_block_shows_what_people_see_on_a_terminal(tmp_path: Path) -> None:
    show = "$ test -t 1 && echo wide $COLUMNS; echo aside >&2"
    run(blocks_of(f"```console\n{show}\nwide 100\naside\n```\n"), tmp_path)
    with pytest.raises(pytest.fail.Exception, match="has commands after"):
        run(blocks_of("```console\nls\n```\n"), tmp_path)


def test_output_without_code_and_blocks_that_nobody_runs_are_noticed() -> None:
    with pytest.raises(pytest.fail.Exception, match="follows no code"):
        blocks_of("```python\n1\n```\n\nWords.\n\n```text\n1\n```\n")
    with pytest.raises(pytest.fail.Exception, match="'bash'"):
        blocks_of("```bash\nls\n```\n")


def test_code_after_indented_or_longer_fences_is_found() -> None:
    page = "````{tab-item} A\n\n```python\n1\n```\n````\n\n```python\n2\n```\n"
    assert [block.code for block in blocks_of(page)] == ["1\n", "2\n"]

"""Links to files of the project that are no pages: a copy is put beside the pages.

Markdown links such as ``../experiments/README.md`` work in the repository; in the built pages they
lead to a copy of the file, and a link to a folder is only its words.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(((?:\.\./)+[^)\s#]+)(#[^)\s]*)?\)")


def rewrite(text: str, folder: Path, source: Path) -> str:
    """Turn links out of the source folder into links to copies."""

    def turned(match: re.Match[str]) -> str:
        words, target = match.group(1), match.group(2)
        file = (folder / target).resolve()
        if file.is_relative_to(source.resolve()):
            return match.group(0)
        if file.is_dir():
            return f"`{words}`" if "`" not in words else words
        return f"[{words}](<path:{target}>)"

    return LINK.sub(turned, text)


def read(app: Any, docname: str, content: list[str]) -> None:
    """Rewrite a page as it is read."""
    page = Path(app.env.doc2path(docname))
    if page.suffix == ".md":
        content[0] = rewrite(content[0], page.parent, Path(app.srcdir))


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", read)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

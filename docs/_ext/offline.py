"""Warn where a built page would fetch something from the network.

Links that a reader may follow are no matter; scripts, styles, pictures, fonts and frames are. A
warning is an error in `make docs`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

#: What a browser loads by itself.
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\b(?:src|data|srcset)\s*=\s*["']?\s*(?:https?:)?//[^\s"'>]+"""
    r"""|<link\b(?![^>]*\brel=["']?(?:canonical|author|license|help))[^>]*?\bhref\s*=\s*["']?\s*(?:https?:)?//[^\s"'>]+""",
    re.IGNORECASE,
)
STYLED = re.compile(
    r"""(?:@import\s+|url\(\s*)["']?(?:https?:)?//[^\s"')]+""",
    re.IGNORECASE,
)


def find_outside(text: str, *, style: bool = False) -> list[str]:
    """List what a page or a style sheet would fetch from elsewhere."""
    found = [] if style else LOADED.findall(text)
    return found + STYLED.findall(text)


def check(app: Any, exception: Exception | None) -> None:
    """Look through everything that was built."""
    if exception is not None or app.builder.format != "html":
        return
    from sphinx.util import logging  # noqa: PLC0415 - so that the rest can be tested without

    logger = logging.getLogger(__name__)
    for file in sorted(Path(app.outdir).rglob("*")):
        if file.suffix in {".html", ".css", ".svg"}:
            text = file.read_text(encoding="utf-8")
            for what in find_outside(text, style=file.suffix == ".css"):
                logger.warning("%s fetches %s", file.relative_to(app.outdir), what)


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("build-finished", check)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

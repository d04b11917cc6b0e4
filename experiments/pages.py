"""What pages take from results.

    python -m experiments.pages

A page marks what comes from results, and this command writes it there:

    <!-- benchmarks/results/latency.md --> ... <!-- end -->
    <!-- experiments/results/promises/real.md#at-equal-validity --> ... <!-- end -->
    <!-- = frugal_of_robx -->53 to 64 %<!-- end -->

The first is a whole file, the second one section of a file, without its heading; the third is a
figure of `experiments.quoted`, which works it out from committed results. A test fails where a page
says something else.
"""

from __future__ import annotations

import re
from pathlib import Path

from experiments.quoted import quoted

__all__ = ["MARKED", "PAGES", "ROOT", "filled"]

ROOT = Path(__file__).resolve().parents[1]
MADE = {"_build", "auto_gallery", "generated"}
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not MADE & set(page.parts)),
]
MARKED = re.compile(r"<!-- (= \w+|[\w./-]+\.md(?:#[\w-]+)?) -->(.*?)<!-- end -->", re.DOTALL)
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def filled(text: str) -> str:
    """Give a page with everything that it takes from results.

    Examples
    --------
    >>> filled("Nothing here is marked.")
    'Nothing here is marked.'
    """
    return MARKED.sub(lambda mark: f"<!-- {mark[1]} -->{_content(mark[1])}<!-- end -->", text)


def _content(name: str) -> str:
    if name.startswith("= "):
        found = quoted(name.removeprefix("= "))
        return f"\n{found}\n" if "\n" in found else found
    file, _, section = name.partition("#")
    text = (ROOT / file).read_text(encoding="utf-8")
    return f"\n\n{(_section(text, section, name) if section else text).strip()}\n\n"


def _section(text: str, slug: str, name: str) -> str:
    headings = list(HEADING.finditer(text))
    for heading, after in zip(headings, [*headings[1:], None], strict=True):
        if re.sub(r"[^a-z0-9]+", "-", heading[1].lower()).strip("-") == slug:
            return text[heading.end() : None if after is None else after.start()]
    raise ValueError(f"There is no section {name}.")


def main() -> None:
    """Rewrite every page."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if filled(text) != text:
            page.write_text(filled(text), encoding="utf-8")
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()

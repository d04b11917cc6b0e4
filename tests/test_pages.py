"""What pages take from results is what the results say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from experiments.promises import parts, real, simulated
from experiments.quoted import percent, quoted

from experiments import pages


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: str(page.relative_to(pages.ROOT)))
def test_a_page_says_what_the_results_say(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("<!-- end -->") == len(pages.MARKED.findall(text)), "a mark is not known"
    assert pages.filled(text) == text, "run python -m experiments.pages"


def test_a_page_that_says_something_else_is_found() -> None:
    wrong = "<!-- = peers_short -->none<!-- end -->"
    assert pages.filled(wrong) != wrong
    head = "<!-- benchmarks/results/latency.md -->"
    assert pages.filled(f"{head}<!-- end -->").startswith(f"{head}\n\n`predict_proba`")


def test_a_section_ends_where_the_next_one_begins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "x.md").write_text("# A\n\none\n\n## B, and c\n\ntwo\n\n## D\n\nthree\n")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    mark = "<!-- x.md#b-and-c -->"
    assert pages.filled(f"{mark}old<!-- end -->") == f"{mark}\n\ntwo\n\n<!-- end -->"
    with pytest.raises(ValueError, match=r"no section x\.md#e"):
        pages.filled("<!-- x.md#e --><!-- end -->")


def test_a_figure_that_nobody_works_out_is_refused() -> None:
    with pytest.raises(ValueError, match="No figure is called 'luck'"):
        quoted("luck")


def test_shares_are_said_as_a_range() -> None:
    assert percent(0.531, 0.64) == "53 to 64 %"
    assert percent(0.64, 0.531, 0.6) == "53 to 64 %"
    assert percent(0.5) == percent(0.501, 0.499) == "50 %"


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("simulated", simulated.simulated_page),
        ("real", real.real_page),
        ("parts", parts.parts_page),
    ],
)
def test_the_pages_about_promises_are_those_of_the_committed_lines(
    name: str, write: object, tmp_path: Path
) -> None:
    lines = simulated.RESULTS / f"{name}.csv"
    for file in lines.parent.glob("*.csv"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    copy = tmp_path / lines.name
    write(copy)  # type: ignore[operator]
    assert copy.with_suffix(".md").read_text() == lines.with_suffix(".md").read_text()


# --- no figure without a file ---------------------------------------------------------------------

#: What looks like a measured figure: a share, a multiple, a time, a size, or a decimal fraction.
FIGURE = re.compile(
    r"(?<![\w.=-])[-+]?\d[\d,]*(?:\.\d+)?\s?"
    r"(?:%|x\b|times\b|ms\b|µs\b|[kM]B\b|GB\b|seconds?\b|minutes?\b|s\b)"
    r"|(?<![\w.=-])\d*\.\d+(?![\w.])"
)
#: Settings, definitions, versions and laws, which look the same. By page, in the page's words.
SETTINGS = yaml.safe_load((Path(__file__).parent / "pages_settings.yaml").read_text("utf-8"))
#: Pages with figures from before they had to come from files.
UNCHECKED = {"docs/reproduction.md"}


def figures_left(text: str, settings: list[str]) -> list[str]:
    """Figures of a page that are neither code, nor from results, nor settings."""
    text = re.sub(r"^(`{3,}).*?^\1[ ]*$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`]*`", "", pages.MARKED.sub("", text))
    text = " ".join(re.sub(r"\]\([^)]*\)", "]", text).split())
    for phrase in settings:
        assert phrase in text, f"is no longer on the page: {phrase!r}"
        text = text.replace(phrase, "")
    return [text[max(found.start() - 40, 0) : found.end()] for found in FIGURE.finditer(text)]


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: str(page.relative_to(pages.ROOT)))
def test_a_page_has_no_figure_without_a_file(page: Path) -> None:
    name = str(page.relative_to(pages.ROOT))
    left = figures_left(page.read_text(encoding="utf-8"), SETTINGS.get(name, []))
    assert bool(left) == (name in UNCHECKED), left


def test_a_figure_without_a_file_is_found() -> None:
    assert figures_left("It takes 5 ms.", []) == ["It takes 5 ms"]
    assert figures_left("It costs 0.37, or 60 % of that.", ["0.37"]) == ["It costs , or 60 %"]
    assert not figures_left("`keep=0.95`, x = 3, level=0.7, version 2, 64 of 64.", [])
    assert not figures_left("It costs <!-- = peers_short -->0.4<!-- end -->.", [])

from __future__ import annotations

import re

from report_cases import EVIL, certified, made, two_ways
from robx.reporting import report
from robx.reporting.rendering.markdown import as_markdown


def tables(text: str) -> list[list[str]]:
    found = [block.split("\n") for block in text.strip().split("\n\n")]
    return [lines for lines in found if lines[0].startswith("|")]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_every_table_is_one_that_github_shows() -> None:
    text = report(certified(10, 9, 0, 8), title=EVIL).markdown
    assert len(tables(text)) >= 8
    assert_even(text)


def assert_even(text: str) -> None:
    """All lines of a table have the same number of cells, and the second is a rule."""
    for lines in tables(text):
        assert len({len(cells(line)) for line in lines}) == 1
        assert all(re.fullmatch(r"---:?", cell) for cell in cells(lines[1]))


def test_the_declined_are_listed_and_the_accepted_only_counted() -> None:
    text = report(certified(10, 9, 0, 8)).markdown
    (people,) = [lines for lines in tables(text) if cells(lines[0])[0] == "Applicant"]
    names = [cells(line)[0] for line in people[2:]]
    assert names == ["bob", "dee", "hal", "eve", "cy", "flo", "gus"]
    assert cells(people[2]) == [
        *("bob", "Answered", "savings: none → some", "1", "0.50", "0.80", "0.81", "10 ≥ 82.9%")
    ]
    assert "| Already accepted | 1 |" in text


def test_other_ways_stand_with_the_first() -> None:
    text = report(two_ways()).markdown
    assert "savings: none → much; amount: 500 → 250; or: amount: 500 → 90" in text


def test_the_words_of_the_summary_are_all_there() -> None:
    summary = report(certified(10, 9, 0, 8)).summary
    text = as_markdown(summary).replace("\\", "").replace("&gt;", ">")
    assert summary["headline"]["lead"] in text
    for sentence in [*summary["headline"]["sentences"], *summary["settings"]["words"]]:
        assert sentence in text
    for one in summary["limits"]:
        assert one["text"] in text
    assert "| digest | abc123 |" in text


def test_signs_of_markdown_and_html_are_only_text() -> None:
    answers = made(method=EVIL, reason=(f"{EVIL}\nb",) * 8)
    text = report(answers, title=EVIL).markdown
    assert "<" not in text
    assert "![" not in text
    assert_even(text)
    assert text.split("\n")[0] == (
        "# &lt;/script&gt;&lt;img src=x onerror=\"alert('1')\"&gt; &amp; \\|\\*\\_\\`\\[x\\](y)"
    )

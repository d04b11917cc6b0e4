from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from report_cases import EVIL, SCHEMA, certified, checked, made, two_ways
from robx.reports import report
from robx.reports.renderers.markdown import as_markdown
from robx.schema import Schema


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
        *("bob", "Answered", "savings: none → some", "1", "0.50", "0.80", "0.81", "10 ≥ 74.1%")
    ]
    assert "| Already accepted | 1 |" in text
    assert "Already accepted, and not listed: 1 applicant." in text


def test_other_ways_stand_with_the_first() -> None:
    text = report(two_ways()).markdown
    assert (
        "savings: none → much; amount: 500 → 250; or: amount: 500 → 90 (Answered, cost 1.25, "
        in text
    )


def test_the_words_of_the_summary_are_all_there() -> None:
    summary = report(certified(10, 9, 0, 8)).summary
    text = as_markdown(summary).replace("\\", "").replace("&gt;", ">")
    assert summary["headline"]["lead"] in text
    for sentence in [*summary["headline"]["sentences"], *summary["settings"]["words"]]:
        assert sentence in text
    for sentence in [*summary["about_validity"], *summary["about_applicants"]]:
        assert sentence in text
    for one in summary["limits"]:
        assert one["text"] in text
    assert "| digest | abc123 |" in text


def test_what_the_page_says_of_nothing_is_said_here_too() -> None:
    assert "## Reliability\n\nNothing was measured: no retrained" in report(made()).markdown


def test_columns_for_models_are_there_only_where_models_are() -> None:
    assert "Retrained models |" not in report(made()).markdown
    checks = [checked(made(), ["bob"])]
    text = report(made(), checks=checks).markdown
    assert "| Stability | New models |" in text
    assert "| 0.50 | 0.80 | 0.81 | kept |" in text
    assert "| Stability | Retrained models |" in report(certified(1, 1, 1, 1)).markdown


def test_what_else_was_measured_stands_with_the_stability() -> None:
    answers = made(measured={"margin": np.full(8, 5.25)})
    assert "| 0.81 (margin 5.25) |" in report(answers).markdown


def test_units_weights_and_checked_models_are_told() -> None:
    age, savings, amount = SCHEMA.features
    heavy = Schema((age, savings.replaced(weight=3), amount))
    checks = [replace(checked(made(), []), model={"source": "XGBoost 4", "digest": "f" * 20})]
    text = report(made(heavy), checks=checks).markdown
    assert "| Feature | Kind | May change | Unit of cost | Weight | Levels |" in text
    assert "| savings | ordinal | may only rise | 2 | 3 | none, some, much |" in text
    assert f"Model: XGBoost 4, digest {'f' * 12}." in text
    assert f"| digest | {'f' * 20} |" in text


def test_no_formula_begins_and_nobody_is_called() -> None:
    text = report(made(), title="$x$ @octocat").markdown
    assert text.startswith("# \\$x\\$ @\u2060octocat\n")


def test_signs_of_markdown_and_html_are_only_text() -> None:
    answers = made(method=EVIL, reason=(f"{EVIL}\nb",) * 8)
    text = report(answers, title=EVIL).markdown
    assert "<" not in text
    assert "![" not in text
    assert_even(text)
    assert text.split("\n")[0] == (
        "# &lt;/script&gt;&lt;img src=x onerror=\"alert('1')\"&gt; &amp; \\|\\*\\_\\`\\[x\\](y)"
    )

"""The page in a real browser: it works, asks nothing of the network, and can be printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from browser import Page, browser
from report_cases import EVIL, certified
from robx.answers import Counterfactuals
from robx.reports import report

pytestmark = pytest.mark.slow

N = 40


def many() -> Counterfactuals:
    """Give 40 people, five times the eight; their costs go up from one to the next."""
    some = certified(10, 9, 3, 8)
    certificate = some.certificate
    assert certificate is not None
    people = pd.concat([some.applicants] * 5, ignore_index=True)
    people.index = pd.Index([f"{k}" for k in range(N - 1)] + [f"last {EVIL}"])
    return replace(
        some,
        applicants=people,
        points=pd.concat([some.points] * 5, ignore_index=True),
        status=np.tile(some.status, 5),
        reason=some.reason * 5,
        cost=np.arange(N) / 10,
        score=np.tile(some.score, 5),
        stability=np.where(
            np.arange(N) < 8, -np.tile(some.stability, 5), np.tile(some.stability, 5)
        ),
        n_changes=np.tile(some.n_changes, 5),
        certificate=replace(
            certificate,
            accepting=np.tile(certificate.accepting, 5),
            covers=np.tile(certificate.covers, 5),
        ),
    )


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    with browser() as page:
        yield page


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    values = np.linspace(0, 1, 50)
    measured = pd.DataFrame({"score": values, "mean": values, "stability": values})
    report(many(), title=EVIL, stability=measured).save(path)
    return path


@pytest.fixture
def page(tab: Page, file: Path) -> Page:
    tab.size(1280, 1000)
    tab.prefer("light")
    tab.open(file)
    return tab


def column(page: Page, number: int, *, of_all: bool = False) -> list[str]:
    """Give what stands in a column of the rows that are seen, or of all."""
    cells: list[str] = page.run(
        "return Array.from(document.querySelectorAll('#people tbody tr'))"
        ".filter((row) => arguments[1] || row.offsetParent !== null)"
        ".map((row) => row.cells[arguments[0]].textContent.trim())",
        number,
        of_all,
    )
    return cells


def test_it_opens_without_a_complaint_and_asks_for_nothing(page: Page, file: Path) -> None:
    assert page.text("h1") == EVIL
    assert page.complaints() == []
    assert page.requests() == [file.as_uri()]


def test_complaints_and_requests_would_be_seen(tab: Page, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text("<title>.</title><img src='gone.png'><script>console.warn('!')</script>")
    tab.open(bad)
    assert len(tab.complaints()) == 2
    assert (tmp_path / "gone.png").as_uri() in tab.requests()


def test_a_search_shows_what_fits_and_says_how_many(page: Page) -> None:
    assert page.text("#shown") == "40 applicants"
    page.type("#find", "much AMOUNT")
    assert page.text("#shown") == "5 of 40 applicants"
    assert column(page, 2) == ["savings: none → muchamount: 500 → 250"] * 5
    page.type("#find", "\ue00c")  # escape
    assert page.text("#shown") == "40 applicants"
    page.type("#find", "budget used")
    assert column(page, 1) == ["Budget used up"] * 5
    page.type("#find", "\ue00c")
    page.type("#find", "nobody is like this")
    assert page.text("#shown") == "0 of 40 applicants"
    assert column(page, 0) == []
    assert page.complaints() == []


def test_an_outcome_can_be_chosen(page: Page) -> None:
    page.type("#outcome", "Budget used up")
    assert page.text("#shown") == "5 of 40 applicants"
    assert column(page, 1) == ["Budget used up"] * 5


def test_long_tables_are_shown_in_part_and_then_whole(page: Page) -> None:
    assert len(column(page, 0)) == 25
    assert page.text("#more") == "Show all 40"
    page.press("#more")
    assert len(column(page, 0)) == 40
    assert page.run("return document.getElementById('more').hidden")


def test_rows_are_put_in_order_by_a_click_and_by_the_keyboard(page: Page) -> None:
    costs = [float(text) for text in column(page, 4, of_all=True) if text]
    assert costs != sorted(costs)
    page.press("#people th:nth-child(5) button")
    up = column(page, 4, of_all=True)
    assert [float(text) for text in up[:20]] == sorted(costs)
    assert up[20:] == [""] * 20
    button = page.driver.find_element("css selector", "#people th:nth-child(5) button")
    button.send_keys("\ue007")  # enter
    down = column(page, 4, of_all=True)
    assert [float(text) for text in down[:20]] == sorted(costs, reverse=True)
    assert down[20:] == [""] * 20
    heads = "return Array.from(document.querySelectorAll('th[aria-sort]')).map((h) => h.ariaSort)"
    assert page.run(heads) == ["descending"]
    page.press("#people th:nth-child(8) button")
    models = [text.split()[0] for text in column(page, 7, of_all=True) if text]
    assert models == ["3"] * 5 + ["8"] * 5 + ["9"] * 5 + ["10"] * 5
    page.press("#people th:nth-child(7) button")
    stabilities = column(page, 6, of_all=True)
    assert stabilities[:5] == ["-0.90", "-0.85", "-0.82", "-0.81", "-0.70"]
    assert stabilities[24:26] == ["0.90", ""]
    page.press("#people th:first-child button")
    assert column(page, 0)[:4] == ["0", "1", "2", "3"]
    assert page.complaints() == []


def brightness(page: Page) -> tuple[float, float]:
    """How bright paper and ink are."""
    script = "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
    paper, ink = (np.mean([int(n) for n in re.findall(r"\d+", c)[:3]]) for c in page.run(script))
    return float(paper), float(ink)


def test_it_is_light_or_dark_as_the_reader_prefers(page: Page) -> None:
    light, picture = brightness(page), page.picture()
    page.prefer("dark")
    dark, other = brightness(page), page.picture()
    assert light[0] > 240
    assert light[1] < 60
    assert dark[0] < 40
    assert dark[1] > 200
    assert picture != other


def test_print_is_light_and_shows_every_row_and_every_detail(page: Page) -> None:
    page.prefer("dark", "print")
    assert brightness(page)[0] > 240
    assert len(column(page, 0)) == 35  # and five who are accepted already, whose names are listed
    assert page.text(".paper").endswith("5 applicants: 0, 8, 16, 24, 32.")
    assert page.run("return getComputedStyle(document.getElementById('more')).display") == "none"
    # Chromium repeats a header on every sheet, unless there is a button in it.
    heads = "return getComputedStyle(document.querySelector('#people thead')).display"
    assert page.run(heads) == "table-header-group"
    button = "return getComputedStyle(document.querySelector('#people th button')).display"
    assert page.run(button) == "contents"
    page.prefer("dark")
    printed = page.printed()
    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 3


def test_a_search_leaves_nobody_out_of_print(page: Page) -> None:
    page.type("#find", "much")
    assert len(column(page, 0)) == 5
    assert page.run("return document.querySelector('.paper').offsetParent") is None
    page.prefer("light", "print")
    assert len(column(page, 0)) == 35


def test_a_search_looks_at_words_and_not_at_numbers(page: Page) -> None:
    for number in ("0.95", "74.1", "1.90"):  # a score, a bound, a cost
        assert number in page.text("#people")
        page.type("#find", number)
        assert page.text("#shown") == "0 of 40 applicants"
        page.type("#find", "\ue00c")
    page.type("#find", "500")  # an amount
    assert page.text("#shown") == "10 of 40 applicants"


def test_details_are_open_while_it_is_printed(page: Page) -> None:
    closed = "return document.querySelectorAll('details:not([open])').length"
    before = page.run(closed)
    assert before >= 1
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.run(closed) == 0
    page.run("dispatchEvent(new Event('afterprint'))")
    assert page.run(closed) == before


def test_on_a_phone_nothing_is_wider_than_the_screen(page: Page) -> None:
    page.size(390, 844)
    assert page.run("return document.documentElement.scrollWidth") <= 390
    width = "return document.querySelector(arguments[0]).getBoundingClientRect().width"
    assert 330 < page.run(width, "#people") <= 390
    assert page.run(width, "#people td:nth-child(3)") > 330
    assert len(column(page, 0)) == 25
    page.type("#find", "much")
    assert len(column(page, 0)) == 5


def test_on_a_phone_plots_are_moved_sideways_and_this_is_said(page: Page) -> None:
    hint = "return getComputedStyle(document.querySelector('.swipe')).display"
    assert page.run(hint) == "none"
    page.size(390, 844)
    assert page.run(hint) == "block"
    sizes = page.run(
        "return Array.from(document.querySelectorAll('.plot')).map((p) => {"
        " const t = p.querySelector('text'), s = p.querySelector('svg');"
        " return [p.scrollWidth > p.clientWidth, parseFloat(getComputedStyle(t).fontSize)"
        " * s.getBoundingClientRect().width / s.viewBox.baseVal.width] })"
    )
    assert len(sizes) == 4
    assert all(moves for moves, _ in sizes)
    assert all(size >= 9 for _, size in sizes)


def test_without_javascript_the_table_is_whole(page: Page, file: Path) -> None:
    page.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.driver.refresh()
        rows = page.driver.find_elements("css selector", "#people tbody tr")
        assert len([row for row in rows if row.is_displayed()]) == 40
        assert not page.driver.find_element("css selector", "#controls").is_displayed()
    finally:
        page.command("Emulation.setScriptExecutionDisabled", value=False)


def test_a_missing_browser_is_a_failure_only_where_it_is_a_must(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("browser.shutil.which", lambda _: None)
    monkeypatch.delenv("ROBX_NEED_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no chromium"), browser():
        pass
    monkeypatch.setenv("ROBX_NEED_BROWSER", "1")
    with pytest.raises(pytest.fail.Exception, match="ROBX_NEED_BROWSER is set"), browser():
        pass

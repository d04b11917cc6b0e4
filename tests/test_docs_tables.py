"""Wide tables of the pages, in a browser: what does not fit is announced, on a phone too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import Page, browser

STATIC = Path(__file__).parents[1] / "docs" / "_static"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browser() as opened:
        yield opened


def write_page(folder: Path, n_columns: int) -> Path:
    """Write a table as the theme writes it, with our style and script."""
    cells = "".join(f"<td>column&nbsp;{k}</td>" for k in range(n_columns))
    file = folder / "page.html"
    file.write_text(
        '<!doctype html><html data-theme="light"><head>'
        '<meta name="viewport" content="width=device-width">'
        f'<link rel="stylesheet" href="{(STATIC / "robx.css").as_uri()}">'
        f'<script src="{(STATIC / "robx.js").as_uri()}"></script></head><body>'
        '<article class="bd-article"><div class="pst-scrollable-table-container">'
        f'<table class="table"><tr>{cells}</tr></table></div></article></body></html>',
        encoding="utf-8",
    )
    return file


def seen(page: Page) -> dict[str, bool]:
    """Tell what a reader sees of the cue: shadows at both sides, the hint, the keyboard's way."""
    found: dict[str, bool] = page.run(
        """
        const wrapper = document.querySelector(".wide-table");
        const shadow = (side) => Number(getComputedStyle(wrapper, side).opacity) > 0;
        const hint = wrapper.querySelector(".table-hint");
        for (const animation of document.getAnimations()) animation.finish();
        return {
          left: shadow("::before"), right: shadow("::after"),
          hint: hint.getBoundingClientRect().height > 0,
          keyboard: wrapper.querySelector("[tabindex='0']") !== null,
          fits: document.documentElement.scrollWidth <= window.innerWidth,
        };
        """
    )
    return found


def scroll_to(page: Page, left: int) -> None:
    page.driver.execute_async_script(
        """
        const [left, done] = arguments;
        document.querySelector(".pst-scrollable-table-container").scrollLeft = left;
        requestAnimationFrame(() => requestAnimationFrame(done));
        """,
        left,
    )


@pytest.mark.parametrize("width", [390, 1280])
def test_a_table_that_does_not_fit_shows_where_there_is_more(
    page: Page, tmp_path: Path, width: int
) -> None:
    page.size(width, 800)
    page.open(write_page(tmp_path, 30))
    assert seen(page) == {
        "left": False,
        "right": True,
        "hint": True,
        "keyboard": True,
        "fits": True,
    }
    scroll_to(page, 100)
    assert seen(page)["left"]
    assert seen(page)["right"]
    scroll_to(page, 100_000)
    assert seen(page)["left"]
    assert not seen(page)["right"]
    assert page.complaints() == []


def test_a_table_that_fits_says_nothing(page: Page, tmp_path: Path) -> None:
    page.size(1280, 800)
    page.open(write_page(tmp_path, 3))
    assert seen(page) == {
        "left": False,
        "right": False,
        "hint": False,
        "keyboard": False,
        "fits": True,
    }
    page.size(200, 800)  # and does once the window is narrow
    scroll_to(page, 0)
    assert seen(page)["right"]

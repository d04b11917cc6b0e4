from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pandas as pd
import pytest

from report_cases import EVIL
from robx.reporting.rendering.spread import HEIGHT, WIDTH, spread

TABLE = pd.DataFrame({"score": [0.52, 0.53, 0.99, 1.0], "stability": [0.51, 0.93, 0.93, 0.93]})


def bars(text: str) -> list[tuple[float, float]]:
    found = re.findall(r'<rect x="([\d.]+)" .*?height="([\d.]+)"', text)
    return [(float(x), float(height)) for x, height in found]


def test_bars_are_as_high_as_there_are_rows() -> None:
    heights = [height for _, height in bars(spread(TABLE, 0.9, "Answers"))]
    assert heights == pytest.approx([HEIGHT * n / 3 for n in (2, 2, 1, 3)], abs=0.01)


def test_tau_stands_where_it_cuts_and_only_among_stabilities() -> None:
    text = spread(TABLE, 0.9, "Answers")
    assert text.count("stroke-dasharray") == 1
    (x,) = re.findall(r'x1="([\d.]+)"[^>]*stroke-dasharray', text)
    last = bars(text)[-1][0]  # from 0.9 to 0.95
    assert float(x) == pytest.approx(last - 0.75, abs=0.01)
    assert float(x) > WIDTH
    assert "tau 0.9" in text


@pytest.mark.parametrize("tau", [None, 1.5, -0.2])
def test_a_tau_that_is_none_or_beyond_is_not_drawn(tau: float | None) -> None:
    assert "dasharray" not in spread(TABLE, tau, "Answers")


def test_what_it_shows_is_also_said() -> None:
    text = spread(TABLE, 0.9, EVIL)
    label = str(ET.fromstring(text).get("aria-label"))  # noqa: S314 - our own text
    assert label.startswith(f"{EVIL}. Median score 0.76, eight in ten from 0.52 to 1.00.")
    assert "Median stability R 0.93" in label


def test_missing_numbers_and_numbers_beyond_one_are_taken_in() -> None:
    odd = pd.DataFrame({"score": [1.7, -3.0, None], "stability": [None, None, None]})
    assert len(bars(spread(odd, None, "Answers"))) == 2

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from report_cases import EVIL
from robx.reports.renderers.histogram import EDGE, GAP, HEAD, HEIGHT, WIDTH, spread

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


@pytest.mark.parametrize(("tau", "anchor"), [(0.97, "end"), (0.02, "start"), (0.5, "middle")])
def test_the_name_of_tau_is_not_cut_at_an_edge(tau: float, anchor: str) -> None:
    assert f'text-anchor="{anchor}">tau {tau:g}<' in spread(TABLE, tau, "Answers")


@pytest.mark.parametrize("tau", [0.675, 0.68, 0.93, 0.0, 1.0, 0.7 - 1e-12])
def test_no_bar_of_what_reached_tau_begins_before_it(tau: float) -> None:
    values = [tau, tau, max(tau, 0.93), 1.0]
    text = spread(pd.DataFrame({"score": [0.5] * 4, "stability": values}), tau, "Answers")
    place = float(re.findall(r'x1="([\d.]+)"[^>]*stroke-dasharray', text)[0])
    right = [x for x, _ in bars(text) if x > WIDTH + GAP]
    assert min(right) >= place
    below = spread(
        pd.DataFrame({"score": [0.5], "stability": [np.nextafter(0.675, 0)]}), 0.675, "Answers"
    )
    (line,) = re.findall(r'x1="([\d.]+)"[^>]*stroke-dasharray', below)[:1]
    assert bars(below)[-1][0] < float(line)


def test_the_line_of_tau_leaves_out_the_number_above_a_bar() -> None:
    many = pd.DataFrame({"score": [0.5] * 120, "stability": [0.91] * 120})
    text = spread(many, 0.9, "Answers")
    numbers = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>120<', text)
    x, foot = (float(one) for one in numbers[-1])
    lines = re.findall(r'x1="([\d.]+)" y1="([\d.]+)" x2="[\d.]+" y2="([\d.]+)"[^>]*dash', text)
    assert lines
    assert all(abs(float(place) - x) < 12 for place, _, _ in lines)  # it would be crossed
    for _, top, bottom in lines:
        assert float(bottom) <= foot - 9 or float(top) >= foot
    assert float(lines[-1][2]) == HEAD + HEIGHT


def test_stabilities_below_nothing_stand_below_nothing() -> None:
    odd = pd.DataFrame({"score": [0.5, 0.5], "stability": [-0.3, 0.9]})
    text = spread(odd, 0.5, "Answers")
    assert ">-0.5<" in text
    (first, _), (second, _) = bars(text)[1:]
    left = WIDTH + GAP + EDGE
    assert first - left == pytest.approx(WIDTH * 0.2 / 1.5, abs=WIDTH / 20)
    assert second - left == pytest.approx(WIDTH * 1.4 / 1.5, abs=WIDTH / 20)


def test_what_it_shows_is_also_said() -> None:
    text = spread(TABLE, 0.9, EVIL)
    label = str(ET.fromstring(text).get("aria-label"))  # noqa: S314 - our own text
    assert label.startswith(f"{EVIL}. Median score 0.76, eight in ten from 0.52 to 1.00.")
    assert "Median stability R 0.93" in label


def test_missing_numbers_and_numbers_beyond_one_are_taken_in() -> None:
    odd = pd.DataFrame({"score": [1.7, -3.0, None], "stability": [None, None, None]})
    assert len(bars(spread(odd, None, "Answers"))) == 2

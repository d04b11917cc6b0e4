from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd

from report_cases import EVIL, certified, made
from robx.answers import Status
from robx.answers.notebook import as_html


def rows(text: str) -> list[str]:
    return text.split("<tr>")[2:]


def test_a_notebook_shows_who_was_declined_with_what_to_change() -> None:
    text = made()._repr_html_()
    assert text == as_html(made())
    assert "Counterfactuals by RobX: 3 ok, 1 already accepted, 2 infeasible, 1 unstable" in text
    assert len(rows(text)) == 7
    assert rows(text)[0].startswith(
        "<td><bdi>bob</bdi></td><td>ok</td>"
        "<td><bdi>savings</bdi>: <bdi>none</bdi> → <bdi>some</bdi></td>"
    )
    assert '<td class="n">0.50</td><td class="n">0.80</td><td class="n">0.81</td>' in rows(text)[0]
    assert "ann" not in text
    hint = "no point passed R &gt;= 0.8; the best seen has R = 0.7"
    assert f'<td title="{hint}">unstable</td>' in text


def test_who_has_no_answer_has_a_reason_and_no_numbers() -> None:
    gus = rows(as_html(made()))[5]
    assert '<span class="q">none of the 9 nearest rows is accepted</span>' in gus
    assert gus.count('<td class="n"></td>') == 3


def test_retrained_models_are_counted_where_there_are_any() -> None:
    text = as_html(certified(10, 9, 3, 8))
    assert "accepted by, of 10" in text
    assert '<td class="n">9</td>' in rows(text)[2]
    assert "accepted by" not in as_html(made())


def test_what_is_rounded_to_nothing_is_not_below_it() -> None:
    text = as_html(made(stability=np.full(8, -0.001)))
    assert "-0.00" not in text
    assert '<td class="n">0.00</td>' in text


def test_long_lists_are_cut_and_the_rest_counted() -> None:
    text = as_html(made(), max_rows=3)
    assert len(rows(text)) == 3
    assert "and 4 more" in text
    assert "more</p>" not in as_html(made(), max_rows=7)


def test_nobody_to_show_is_no_table() -> None:
    accepted = replace(made(), status=np.array([Status.ACCEPTED] * 8))
    assert "8 already accepted" in as_html(accepted)
    assert "<table" not in as_html(accepted)


def test_whatever_stands_in_the_data_is_only_text() -> None:
    some = made()
    evil = replace(
        some,
        applicants=some.applicants.set_index(pd.Index([EVIL] * 8)),
        reason=(EVIL,) * 8,
        method=EVIL,
    )
    text = as_html(evil)
    assert "<img" not in text
    assert "</script" not in text
    assert text.count("&lt;img src=x") == 1 + 2 * 7


def test_its_colours_are_the_notebooks_own() -> None:
    style = as_html(made()).split("<style>")[1].split("</style>")[0]
    assert re.findall(r"[;{]color:(\w+)", style) == ["inherit"]
    assert "background:none" in style

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from report_cases import EVIL, SCHEMA, certified, checked, made, two_ways
from robx.answers import Counterfactuals
from robx.reports import report
from robx.schema import Feature, Schema

#: Elements that have no end.
VOID = {"meta", "input", "br", "img", "link"}


class Page(HTMLParser):
    """What a browser would make of a page: its elements, ids and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"style", "script"}:
            self.text.append(data)

    def count(self, tag: str) -> int:
        return sum(one == tag for one, _ in self.tags)


def evil() -> Counterfactuals:
    """Give answers in which everything that can be is hostile."""
    names = [EVIL, f"b{EVIL}", f"c{EVIL}"]
    age, _, amount = SCHEMA.features
    schema = Schema(
        (
            age.replaced(name=names[0]),
            Feature(
                names[1], "ordinal", levels=(0, 1, 2), labels=(EVIL, f"1{EVIL}", "<b>"), scale=2
            ),
            amount.replaced(name=names[2]),
        )
    )
    plain = made(schema)
    return replace(
        certified(10, 9, 0, 8, schema=schema),
        applicants=plain.applicants.set_index(pd.Index([f"{k}{EVIL}" for k in range(8)])),
        reason=tuple(EVIL if reason else "" for reason in plain.reason),
        method=EVIL,
        settings={"tau": 0.8, "tau_reason": EVIL, EVIL: EVIL},
        origin={
            "model": {"source": EVIL},
            "target": EVIL,
            "threshold": 0.5,
            "versions": {"robx": EVIL},
        },
    )


def rich() -> str:
    return report(two_ways(), title="Loans").html


def test_a_page_is_whole_and_every_id_is_its_own() -> None:
    page = Page(rich())
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids)) > 10
    named = [
        name
        for _, attrs in page.tags
        for key in ("aria-labelledby", "aria-controls", "for")
        for name in (attrs.get(key) or "").split()
    ]
    linked = [str(a["href"])[1:] for tag, a in page.tags if tag == "a"]
    assert {*named, *linked} <= set(ids)
    assert len(linked) == 9


def test_headings_go_down_one_level_at_a_time() -> None:
    levels = [int(tag[1]) for tag, _ in Page(rich()).tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_nothing_is_loaded_from_elsewhere() -> None:
    text = rich()
    page = Page(text)
    for tag, attrs in page.tags:
        assert tag not in {"link", "iframe", "object", "embed", "base", "form"}
        assert not {"src", "srcset", "action", "data"} & set(attrs)
        for key in ("href", "xlink:href"):
            assert (attrs.get(key) or "#").startswith("#")
        assert not [name for name in attrs if name.startswith("on")]
    without_names = re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)
    assert "http" not in re.sub(r"http-equiv", "", without_names)
    assert not re.search(r"url\((?!#)", text)
    assert "@import" not in text


def test_the_policy_allows_this_one_script() -> None:
    text = rich()
    (policy,) = [str(attrs["content"]) for _, attrs in Page(text).tags if attrs.get("http-equiv")]
    (script,) = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert allowed["default-src"] == "'none'"
    assert allowed["script-src"] == f"'sha256-{digest}'"
    assert allowed["style-src"] == "'unsafe-inline'"
    assert allowed["img-src"] == "data:"


def test_whatever_stands_in_the_data_is_only_text() -> None:
    harmless, hostile = (
        Page(report(certified(10, 9, 0, 8)).html),
        Page(report(evil(), title=EVIL, date=EVIL).html),
    )
    assert hostile.count("script") == 1
    for tag in ("img", "b", "style", "a"):
        assert hostile.count(tag) == harmless.count(tag)
    said = "".join(hostile.text)
    assert said.count(EVIL) > 30
    for _, attrs in hostile.tags:
        assert "onerror" not in attrs


def rows_of(text: str) -> list[str]:
    body = re.search(r'<table id="people".*?<tbody>(.*?)</tbody>', text, flags=re.DOTALL)
    assert body is not None
    return re.findall(r"<tr\b.*?</tr>", body[1], flags=re.DOTALL)


def seen(row: str) -> list[str]:
    cells = re.findall(r"<(?:td|th)[^>]*>(.*?)</(?:td|th)>", row, flags=re.DOTALL)
    return [
        " ".join(re.sub(r"<[^>]*>", " ", re.sub("</?bdi>", "", cell)).split()) for cell in cells
    ]


def test_the_table_says_of_everybody_what_is_known() -> None:
    rows = [seen(row) for row in rows_of(report(certified(10, 9, 3, 8)).html)]
    assert rows[0] == [
        "bob",
        "Answered",
        "savings: none → some",
        "1",
        "0.50",
        "0.80",
        "0.81",
        "10 ≥ 74.1%",
    ]
    assert rows[3][0:2] == ["eve", "Best found"]
    assert rows[3][2].startswith("savings: none → some no point passed R &gt;= 0.8;")
    assert rows[6][3:] == ["", "", "", "", ""]
    assert rows[7] == ["ann", "Already accepted", "", "", "", "0.90", "0.85", ""]


def test_other_ways_can_be_opened() -> None:
    text = "".join(rows_of(rich()))
    assert text.count("<details>") == 1
    assert "<summary>1 alternative</summary>" in text
    assert "<bdi>amount</bdi>: <bdi>500</bdi> → <bdi>90</bdi>" in text
    assert "Answered, cost 1.25, score 0.95" in text


def test_other_ways_are_accepted_by_some_of_all_models() -> None:
    answers = two_ways()
    certificate = certified(10, 9, 3, 8).certificate
    both = replace(
        answers,
        certificate=certificate,
        alternatives=(replace(answers.alternatives[0], certificate=certificate),),
    )
    assert "accepted by 9 of 10 retrained models" in "".join(rows_of(report(both).html))


def test_every_name_and_value_keeps_its_own_direction() -> None:
    first = rows_of(report(made()).html)[0]
    assert '<th scope="row"><bdi>bob</bdi></th>' in first
    assert "<li><bdi>savings</bdi>: <bdi>none</bdi> → <bdi>some</bdi></li>" in first


def test_what_else_was_measured_stands_below_the_stability() -> None:
    answers = made(measured={"margin": np.full(8, 5.25), "outlier score": np.full(8, 1.0)})
    rows = [seen(row) for row in rows_of(report(answers).html)]
    assert rows[0][6] == "0.81 margin 5.25 outlier score 1.00"
    assert rows[-1][6] == "0.85"


def test_who_has_no_row_on_paper_is_named_there() -> None:
    text = report(made()).html
    assert [row.startswith('<tr class="fine">') for row in rows_of(text)] == [False] * 7 + [True]
    said = "Already accepted, and not listed here: 1 applicant: <bdi>ann</bdi>."
    assert f'<p class="paper">{said}</p>' in text
    some = made()
    times = 70
    arrays: dict[str, Any] = {
        name: np.tile(getattr(some, name)[:1], times)
        for name in ("status", "cost", "score", "stability", "n_changes")
    }
    many = replace(
        some,
        applicants=pd.concat([some.applicants[:1]] * times, ignore_index=True),
        points=pd.concat([some.points[:1]] * times, ignore_index=True),
        reason=("",) * times,
        **arrays,
    )
    (paper,) = re.findall(r'<p class="paper">(.*?)</p>', report(many).html)
    assert paper.startswith("Already accepted, and not listed here: 70 applicants:")
    assert paper.endswith("<bdi>59</bdi> and 10 more.")
    assert paper.count("<bdi>") == 60


def test_checked_models_are_named_with_their_share_and_their_origin() -> None:
    model = {"kind": "trees", "digest": "0123456789abcdef", "source": "XGBoost 4", "n_trees": 7}
    checks = [replace(checked(made(), ["bob"]), model=model)] * 2
    found = report(made(), checks=checks)
    assert found.html.count("Model: XGBoost 4, 7 trees, digest 0123456789ab.") == 2
    assert "<h3>New model 2</h3>" in found.html
    assert found.html.count("0123456789abcdef") == 2
    assert found.summary["headline"]["sentences"][2].startswith("New model 2 keeps 1 of 3")


def test_weight_and_noise_have_columns_only_where_they_are_stated() -> None:
    age, savings, amount = SCHEMA.features
    heavy = Schema((age, savings.replaced(weight=3), amount.replaced(noise=10)))
    text = report(made(heavy)).html
    assert '<th scope="col" class="n">Weight</th><th scope="col" class="n">Noise</th>' in text
    assert '<td class="n extra" data-name="weight">3</td>' in text
    assert '<td class="n extra" data-name="noise">10</td>' in text
    assert ">Weight<" not in report(made()).html


def test_the_example_is_also_said_in_words() -> None:
    text = report(made()).html
    title = "A typical (median-cost) answer: applicant bob"
    example = text[text.index(title) :].split("</figure>")[0]
    said = "<li><bdi>savings</bdi>: <bdi>none</bdi> → <bdi>some</bdi></li>"
    assert said in example.split("</svg>")[1]


def test_each_outcome_keeps_its_shade() -> None:
    score = made().score.copy()
    plain = report(made()).html
    score[2] = np.nan
    unread = report(replace(made(), score=score)).html
    for text in (plain, unread):
        assert '<span class="key tone-5"></span>Already accepted' in text
    assert '<span class="key tone-4"></span>Not readable' in unread


def test_columns_for_models_are_there_only_where_models_are() -> None:
    assert "Retrained" not in report(made()).html
    assert "Retrained" in report(certified(1, 1, 1, 1)).html
    assert len(seen(rows_of(report(made()).html)[0])) == 7


def test_an_interval_is_placed_on_its_track() -> None:
    found = report(certified(10, 9, 0, 8))
    row = found.summary["validity"][0]
    assert f'<b style="left:{100 * row["value"]:.2f}%">' in found.html
    left, width = 100 * row["low"], 100 * (row["high"] - row["low"])
    assert f'<i style="left:{left:.2f}%;width:{width:.2f}%">' in found.html


def test_five_thousand_applicants_make_a_page_of_a_few_megabytes() -> None:
    some = certified(10, 9, 0, 8)
    times = 625
    certificate = some.certificate
    assert certificate is not None
    many: dict[str, Any] = {
        name: np.tile(getattr(some, name), times)
        for name in ("status", "cost", "score", "stability", "n_changes")
    }
    votes: dict[str, Any] = {
        name: np.tile(getattr(certificate, name), times) for name in ("accepting", "covers")
    }
    answers = replace(
        some,
        applicants=pd.concat([some.applicants] * times, ignore_index=True),
        points=pd.concat([some.points] * times, ignore_index=True),
        reason=some.reason * times,
        certificate=replace(certificate, **votes),
        **many,
    )
    text = report(answers).html
    assert len(rows_of(text)) == 5000
    assert len(text) < 3_000_000
    assert "For 1,875 of them" in text


def test_without_pictures_there_is_no_section_for_them() -> None:
    nobody = replace(made(), status=np.array([made().status[2]] * 8))
    text = report(nobody).html
    assert "<figure" not in text
    assert 'href="#pictures"' not in text
    assert "Nothing was measured" in text

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import robx
from report_cases import made
from robx.answers import Crowds

#: For bob, dee, eve and hal, who have answers.
SIZES = np.array([0, 1, 0, 0, 30, 0, 0, 4])
WHOLE = np.array([False, True, False, False, False, False, False, False])
SENTENCE = (
    "Of 4 answers, 1 (25%) has a crowd of one among 200 accepted training rows, and 1 (25%) equals "
    "a training row in every column."
)


def shared(k: int | None = None) -> robx.Counterfactuals:
    answers = made()
    origin = {**answers.origin} | ({} if k is None else {"k_anonymous": k})
    crowds = Crowds(SIZES, WHOLE, answers.answered, 200, k)
    return replace(answers, crowds=crowds, origin=origin)


def part(answers: robx.Counterfactuals) -> dict[str, Any]:
    found: dict[str, Any] = robx.report(answers).summary["privacy"]
    return found


def test_every_form_says_how_many_people_share_the_answers() -> None:
    report = robx.report(shared())
    told = report.summary["privacy"]
    assert SENTENCE in told["words"]
    assert (told["alone"], told["whole"], told["answers"]) == (1, 1, 4)
    assert told["median"] == 2.5
    counts = {row["crowd"]: row["answers"] for row in told["crowds"]}
    assert counts == {
        "no training row": 1,
        "1 row": 1,
        "2 to 4 rows": 1,
        "5 to 19 rows": 0,
        "20 rows or more": 1,
    }
    for text in (report.html, report.markdown):
        assert SENTENCE in text
        assert "20 rows or more" in text


def test_it_says_that_rows_stood_for_several_people() -> None:
    words = " ".join(part(shared(10))["words"])
    assert "rows that stand for at least 10 training people each (k-anonymous, k = 10)" in words
    assert "trained on the true rows" in words
    data = robx.report(shared(10)).summary["provenance"]["data"]
    assert {"name": "people that a row of the search stands for, at least", "value": "10"} in data
    assert "k-anonymous" not in " ".join(part(shared())["words"])


def test_alternatives_are_counted_too() -> None:
    answers = shared()
    assert part(replace(answers, alternatives=(shared(),)))["answers"] == 8


def test_answers_of_which_nothing_is_known_say_so() -> None:
    told = part(made())
    assert told["words"][-1] == "It was not measured how many training people share the answers."
    assert told["crowds"] == []
    assert robx.report(made()).html
    nobody = replace(shared(), crowds=Crowds(SIZES, WHOLE, np.zeros(len(SIZES), dtype=bool), 200))
    assert part(nobody)["answers"] == 0

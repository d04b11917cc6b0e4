from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from report_cases import certified, made
from robx.problem import Counterfactuals, Status
from robx.reporting import report


def headline(answers: Counterfactuals, **more: Any) -> dict[str, Any]:
    told: dict[str, Any] = report(answers, **more).summary["headline"]
    return told


def test_the_lead_says_how_many_were_declined_and_answered() -> None:
    assert headline(made())["lead"] == (
        "The model declines 7 of 8 applicants. For 3 of them a change was found that gets them "
        "accepted and passes the test of stability."
    )


def test_a_method_without_a_test_of_stability_claims_none() -> None:
    lead = headline(made(settings={"norm": 1}))["lead"]
    assert lead.endswith("For 3 of them a change was found that gets them accepted.")


def test_all_and_none_are_said_in_words() -> None:
    everybody = replace(made(), status=np.array([Status.OK] * 8))
    assert "declines 8 of 8 applicants. For all of them" in headline(everybody)["lead"]
    nobody = replace(made(), status=np.array([Status.BUDGET] * 8))
    assert "For none of them a change was found" in headline(nobody)["lead"]
    accepted = replace(made(), status=np.array([Status.ACCEPTED] * 8))
    told = headline(accepted)
    assert told["lead"] == "The model accepts all of 8 applicants: nobody needs to change."
    assert (told["numbers"], told["sentences"]) == ([], [])


def test_the_sentences_say_how_sure_it_is_and_what_became_of_the_others() -> None:
    sentences = headline(certified(10, 9, 0, 8))["sentences"]
    assert sentences[0].startswith("Of 10 retrained models, 90% accept an answer, on average")
    best, none, gave_up = sentences[1:]
    assert best.startswith("For 1 the best change that was found is accepted today but did not")
    assert none == "For 2 no change within the rules was found."
    assert gave_up == "For 1 the search gave up."


def test_that_no_model_was_asked_is_said() -> None:
    assert "there is no certificate" in headline(made())["sentences"][0]
    assert "no certificate" not in " ".join(headline(certified(1, 2, 3, 4))["sentences"])


def test_the_numbers_are_the_ones_behind_the_words() -> None:
    numbers = headline(certified(10, 9, 0, 8))["numbers"]
    assert [(one["value"], one["label"], one["sure"]) for one in numbers] == [
        ("7", "declined", False),
        ("3", "answered", False),
        ("1.3", "changes", False),
        ("90%", "of retrained models accept", True),
    ]
    assert numbers[0]["note"] == "of 8 applicants"
    assert numbers[1]["note"] == "42.9% of the declined"
    assert numbers[2]["note"] == "on average; mean cost 0.72"
    assert numbers[3]["note"].startswith("95% interval ")
